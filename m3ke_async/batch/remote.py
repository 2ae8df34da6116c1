"""Batches and files as a provider describes them; words differ among those that copy OpenAI's API."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from m3ke_async.text import one_line

_ENDED = frozenset({"completed", "expired", "cancelled", "canceled", "failed"})

#: Characters; a longer name is none.
_LONGEST_ID = 500

#: Words for a batch that does not fit beside those that are under way: it can be made again later.
_QUEUE_FULL = re.compile(r"token_limit_exceeded|enqueued token|too many .*batch", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RemoteBatch:
    """A batch as its provider describes it.

    Attributes:
        id: the provider's name for it.
        status: the provider's word, in lower case.
        file_id: of its requests; None where it is not told.
        results: ids or addresses of the files of replies and of errors, those that there are.
        total, done: requests, and those that were answered or failed; None is unknown.
        answered: requests that got a reply, by the provider's count; None is unknown.
        ended_at: Unix time; None while it goes on, or where it is not told.
        trouble: why it failed, where it did.
    """

    id: str
    status: str
    file_id: str | None = None
    results: tuple[str, ...] = ()
    total: int | None = None
    done: int | None = None
    answered: int | None = None
    ended_at: float | None = None
    trouble: str | None = None

    @property
    def is_ended(self) -> bool:
        """Whether nothing more will come."""
        return self.status in _ENDED

    @property
    def progress(self) -> str:
        """Its status, and how much is done where that is told."""
        done = "" if self.total is None else f", {self.done or 0:,} of {self.total:,} done"
        return f"{self.status}{done}"

    @property
    def found_no_room(self) -> bool:
        """Whether it was not begun, because others are under way."""
        return self.status == "failed" and bool(_QUEUE_FULL.search(self.trouble or ""))

    @classmethod
    def from_json(cls, table: Any) -> RemoteBatch:
        """The batch that a provider describes.

        Raises:
            ValueError: it describes none.
        """
        table = table.get("job", table) if isinstance(table, dict) else table
        if not _has_id(table):
            raise ValueError("no batch")
        counts = table["request_counts"] if isinstance(table.get("request_counts"), dict) else {}
        total, answered, failed = (
            counts[name] if type(counts.get(name)) is int else None
            for name in ("total", "completed", "failed")
        )
        done = [count for count in (answered, failed) if count is not None]
        ends = [table.get(f"{word}_at") for word in _ENDED]
        results = (table.get("output_file_id"), table.get("error_file_id"))
        file_id = table.get("input_file_id")
        return cls(
            id=table["id"],
            status=one_line(str(table.get("status")).lower(), limit=60),
            file_id=file_id if isinstance(file_id, str) else None,
            results=tuple(one for one in results if isinstance(one, str) and one),
            total=total,
            done=sum(done) if done else None,
            answered=answered,
            ended_at=next((float(end) for end in ends if type(end) in (int, float) and end), None),
            trouble=_trouble(table),
        )


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """An uploaded file; the name is None where the provider does not tell it."""

    id: str
    name: str | None

    @classmethod
    def from_json(cls, table: Any) -> RemoteFile:
        """The file that a provider describes.

        Raises:
            ValueError: it describes none.
        """
        table = _unframed(table)
        if not _has_id(table):
            raise ValueError("no file")
        name = table.get("filename")
        return cls(table["id"], name if isinstance(name, str) else None)


def page_of(answer: Any) -> tuple[list[Any], bool]:
    """Entries of a page, and whether more follow; some providers send the bare list.

    Raises:
        ValueError: it is no page: nothing in it would otherwise pass for nothing there.
    """
    answer = _unframed(answer)
    if isinstance(answer, list):
        return answer, False
    if isinstance(answer, dict) and isinstance(answer.get("data"), list):
        return answer["data"], bool(answer.get("has_more"))
    raise ValueError("no list")


def _has_id(table: Any) -> bool:
    """Whether it has a name that can be asked for and shown."""
    id_ = table.get("id") if isinstance(table, dict) else None
    return isinstance(id_, str) and 0 < len(id_) <= _LONGEST_ID and id_.isprintable()


def _unframed(answer: Any) -> Any:
    """What SiliconFlow says of files without its frame of `code`, `message` and `data`.

    Source: docs.siliconflow.cn, API reference, upload-file and get-file-list (2026-11-30).
    """
    inner = answer.get("data") if isinstance(answer, dict) else None
    return inner if isinstance(inner, dict) else answer


def _trouble(table: dict[str, Any]) -> str | None:
    """What a batch says of its failure: the first of its errors."""
    errors, error = table.get("errors"), table.get("error")
    entries = errors.get("data") if isinstance(errors, dict) else errors
    first = entries[0] if isinstance(entries, list) and entries else error
    if isinstance(first, dict):
        line = f"line {first['line']}" if isinstance(first.get("line"), int) else None
        first = ": ".join(str(part) for part in (first.get("code"), line, first.get("message")) if part)
    return one_line(first, limit=240) if isinstance(first, str) and first else None
