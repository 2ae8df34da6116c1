"""What was sent in batches, on disk before the next step: batch.json and the files beside it.

    results/<run>/batch.json          a part a file: how far it is, the provider's ids
    results/<run>/batch/<name>.jsonl  the requests of a part, until its results are in the store

A part goes one way, and is written down before each step that another command could not undo:

    written -> uploading -> uploaded -> creating -> submitted -> closed

`creating` says that a batch may have been made of the file: whoever finds it looks at the provider's
list before making one, so that no file is billed twice.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.batch.line import prompt_chars
from m3ke_async.errors import DataError
from m3ke_async.files import sync_folder, write_json
from m3ke_async.rundir import RunDir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VERSION = 1
_NAME = re.compile(r"m3ke-[0-9a-f]{16}")
FILE_NAME, FOLDER_NAME = "batch.json", "batch"


class Stage(StrEnum):
    """How far a part is."""

    WRITTEN = "written"  # it may be forgotten; from here on it may not
    UPLOADING = "uploading"
    UPLOADED = "uploaded"
    CREATING = "creating"
    SUBMITTED = "submitted"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Part:
    """One file of requests, and the batch that was made of it.

    Attributes:
        name: of the file, here and at the provider, without its ending.
        requests: lines of the file.
        address: of the provider, without any key.
        replace: whether its replies take the place of earlier ones.
        stage: how far it is.
        file_id, batch_id: the provider's names, once they are known.
        dead: batches of this file that the provider did not begin.
        status: the provider's last word.
        submitted_at: Unix time; 0 before.
        unread: whether its batch had ended, and replies could not be read.
        replies, failed: what came, once it is closed.
        reason: why nothing came.
    """

    name: str
    requests: int
    address: str
    replace: bool = False
    stage: Stage = Stage.WRITTEN
    file_id: str | None = None
    batch_id: str | None = None
    dead: tuple[str, ...] = ()
    status: str = ""
    submitted_at: float = 0.0
    unread: bool = False
    replies: int = 0
    failed: int = 0
    reason: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the provider may have it, and its results are not in the store yet."""
        return self.stage not in {Stage.WRITTEN, Stage.CLOSED}

    @property
    def age(self) -> float:
        """Seconds since it was submitted."""
        return max(0.0, time.time() - self.submitted_at)

    @property
    def waits_for_room(self) -> bool:
        """Whether the provider began no batch of it, because others are under way."""
        return self.stage is Stage.UPLOADED and bool(self.dead)

    @classmethod
    def from_json(cls, table: Any) -> Part:
        """The part that a table describes.

        Raises:
            ValueError, TypeError: it describes none.
        """
        part = cls(**{**table, "stage": Stage(table["stage"]), "dead": tuple(table["dead"])})
        texts = (part.name, part.address, part.status, *part.dead)
        ids = (part.file_id, part.batch_id, part.reason)
        numbers = (part.requests, part.submitted_at, part.replies, part.failed)
        if (
            not all(isinstance(text, str) for text in texts)
            or not all(text is None or isinstance(text, str) for text in ids)
            or not all(isinstance(number, int | float) for number in numbers)
            or not all(isinstance(word, bool) for word in (part.replace, part.unread))
            or not _NAME.fullmatch(part.name)  # it becomes a path
        ):
            raise ValueError("a field is of another kind")
        return part


@dataclass(slots=True)
class Batches:
    """The parts of one run.

    Attributes:
        run: the run's folder.
        parts: by name, in the order in which they were written.
    """

    run: RunDir
    parts: dict[str, Part] = field(default_factory=dict)

    @classmethod
    def read(cls, run: RunDir) -> Batches:
        """What batch.json says; no parts where there is none.

        Raises:
            DataError: it is damaged, or of another version.
        """
        file = run.path / FILE_NAME
        try:
            table = orjson.loads(file.read_bytes())
            if table["version"] != _VERSION:
                raise ValueError("it is of another version")
            parts = [Part.from_json(one) for one in table["parts"]]
        except (FileNotFoundError, NotADirectoryError):
            parts = []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"cannot be used ({error}), and it says which batches are under way: restore it, or move it "
                "away once the provider's console shows none",
                file=file,
            ) from None
        return cls(run, {part.name: part for part in parts})

    @property
    def open(self) -> list[Part]:
        """Parts whose results may still come."""
        return [part for part in self.parts.values() if part.is_open]

    def file(self, part: Part) -> Path:
        """The requests of a part."""
        return self.run.path / FOLDER_NAME / f"{part.name}.jsonl"

    def put(self, part: Part, **changes: Any) -> Part:
        """Write a part down as it is now; durable when this returns."""
        part = replace(part, **changes)
        self.parts[part.name] = part
        self._save()
        return part

    def close(self, part: Part, **changes: Any) -> None:
        """Write down that nothing more will come of a part, whose file is of no use any more."""
        self.put(part, stage=Stage.CLOSED, **changes)
        self._tidy()

    def drop_unsent(self) -> None:
        """Forget what was written and not sent."""
        unsent = [name for name, part in self.parts.items() if part.stage is Stage.WRITTEN]
        for name in unsent:
            del self.parts[name]
        if unsent:
            self._save()
        self._tidy()

    def _tidy(self) -> None:
        """Remove files that belong to no open part."""
        kept = {self.file(part).name for part in self.open}
        for file in (self.run.path / FOLDER_NAME).glob("*"):
            if file.name not in kept and file.is_file():
                file.unlink(missing_ok=True)
        if not kept:
            with suppress(OSError):  # it is not there, or somebody keeps something in it
                (self.run.path / FOLDER_NAME).rmdir()

    def requests(self, part: Part) -> Iterator[tuple[bytes, int]]:
        """Key and prompt's characters of each request of a part; nothing where its file is gone."""
        try:
            with self.file(part).open("rb") as lines:
                yield from filter(None, map(prompt_chars, lines))
        except FileNotFoundError:
            return

    def _save(self) -> None:
        self.run.path.mkdir(parents=True, exist_ok=True)
        table = {"version": _VERSION, "parts": [asdict(part) for part in self.parts.values()]}
        write_json(self.run.path / FILE_NAME, table)
        sync_folder(self.run.path)


def under_way(results: Path) -> dict[bytes, Path]:
    """The requests in open batches of all runs in a results folder: the run's folder by the request's key.

    Raises:
        DataError: nobody knows them all, since a file was lost or damaged.
    """
    found: dict[bytes, Path] = {}
    for file in sorted(results.glob(f"*/{FILE_NAME}")):
        batches = Batches.read(RunDir(file.parent))
        for part in batches.open:
            keys = [key for key, _ in batches.requests(part)]
            # Its own run may have closed it just now, with all replies in the store.
            if len(keys) < part.requests and Batches.read(batches.run).parts[part.name].is_open:
                raise DataError(
                    "is not whole any more, and it says what is in a batch: restore it, or first "
                    f"m3ke batch collect {batches.run.quoted}, or cancel",
                    file=batches.file(part),
                )
            found |= dict.fromkeys(keys, file.parent)
    return found
