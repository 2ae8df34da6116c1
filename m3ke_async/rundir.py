"""A run on disk: the name of its folder, and run.json.

results/replies.sqlite        every reply, of all runs
results/<run>/run.json        settings, versions, data hashes, counts, times
             /answers.jsonl   a line a question
             /scores.json     every number that the reports show
             /predictions/    the test split in M3KE's own layout
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.errors import DataError, UsageError
from m3ke_async.files import write_json
from m3ke_async.request import dump_json
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

RUN_VERSION = 1
STORE_NAME = "replies.sqlite"

#: What run.json must hold to be read again.
_FIELDS = (
    "state",
    "identity",
    "settings",
    "provider",
    "model",
    "data",
    "is_m3ke",
    "rules",
    "ledger",
    "answers_bytes",
)

_UNSAFE = re.compile(r"[^a-z0-9.]+")
_NAME = re.compile(r"[^\W_][\w.-]{0,99}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunDir:
    """The folder of one run."""

    path: Path

    @property
    def store(self) -> Path:
        """The reply store beside the runs."""
        return self.path.parent / STORE_NAME

    @property
    def spare_store(self) -> Path:
        """Where replies go while the store is read-only."""
        return self.path / STORE_NAME

    @property
    def run_json(self) -> Path:
        """Settings and state."""
        return self.path / "run.json"

    @property
    def answers(self) -> Path:
        """A line a question."""
        return self.path / "answers.jsonl"

    @property
    def unclear(self) -> Path:
        """The lines of the answers without a letter that a reader might find."""
        return self.path / "unclear.jsonl"

    @property
    def failed(self) -> Path:
        """The lines of the answers that failed: no reply after all tries."""
        return self.path / "failed.jsonl"

    @property
    def predictions(self) -> Path:
        """The test split in M3KE's own layout."""
        return self.path / "predictions"

    @property
    def scores(self) -> Path:
        """Every number."""
        return self.path / "scores.json"

    def answers_size(self) -> int | None:
        """Bytes of answers.jsonl, by which a file that was touched is told; None where there is none."""
        try:
            return self.answers.stat().st_size
        except FileNotFoundError:
            return None

    def prepare(self) -> None:
        """Make the folder and prove that it can be written, before anything is sent.

        Raises:
            UsageError: it cannot.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise UsageError(
                f"cannot write to the folder {self.path}: {error.strerror}; choose another by --results"
            ) from None

    def read(self) -> dict[str, Any] | None:
        """The content of run.json; None where there is none.

        Raises:
            DataError: it is damaged, or of another version.
        """
        try:
            table = orjson.loads(self.run_json.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise DataError(
                f"cannot be read: {error.strerror}; choose another --results or --name", file=self.run_json
            ) from None
        except orjson.JSONDecodeError as error:
            raise DataError(
                f"is damaged ({error}); remove it, and run the same command again", file=self.run_json
            ) from None
        if not isinstance(table, dict) or table.get("version") != RUN_VERSION:
            raise DataError(
                "is of another version of m3ke-async; use another --results or --name", file=self.run_json
            )
        if missing := [name for name in _FIELDS if name not in table]:
            raise DataError(
                "is missing; remove the file, and run the same command again",
                file=self.run_json,
                field=missing[0],
            )
        return table

    def write(self, table: dict[str, Any]) -> None:
        """Write run.json."""
        write_json(self.run_json, {"version": RUN_VERSION, **table})


def find_run(run: str, results: str) -> RunDir:
    """A run by its path, or by its name below the results folder.

    Raises:
        UsageError: there is none.
    """
    for path in (Path(run), Path(results) / run):
        if os.path.isfile(path / "run.json"):  # noqa: PTH113 - pathlib raises on odd names
            return RunDir(path)
    raise UsageError(
        f"no run at {one_line(run, limit=100)!r}: give the path of a run's folder, which holds run.json"
    )


def run_name(identity: Mapping[str, Any], *, provider: str, model: str, split: str, shots: int) -> str:
    """A readable folder name that is safe on every file system and differs for every identity."""
    digest = blake2b(dump_json(dict(identity), sort=True), digest_size=4).hexdigest()
    slug = _UNSAFE.sub("-", f"{provider}-{model}".lower()).strip("-.")[:60].rstrip("-.")
    return f"{slug}-{split}-{shots}shot-{digest}"


def checked_name(name: str) -> str:
    """A name that the user gave for the folder.

    Raises:
        UsageError: it could leave the results folder, or no file system takes it.
    """
    safe = _NAME.fullmatch(name) and not name.endswith(".") and not _RESERVED.fullmatch(name)
    if not safe or name.casefold().startswith(STORE_NAME):
        raise UsageError(
            f"--name {one_line(name)!r}: use letters, digits, '-', '_' and '.', such as qwen-5shot"
        )
    return name


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """How two identities differ, a phrase a field."""
    return [
        f"{name} was {_shown(old.get(name))}, now {_shown(new.get(name))}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


def _shown(value: Any) -> str:
    return one_line(dump_json(value).decode(), limit=60)
