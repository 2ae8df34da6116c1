"""A run on disk: its folder, the name of that, and the files in it.

results/replies.sqlite        every reply, of all runs
results/<run>/run.json        settings, versions, data hashes, counts, times
             /answers.jsonl   a line a question
             /scores.json     every number that the reports show
             /predictions/    the test split in M3KE's own layout
             /submission.json the same as the authors of a suite take it, where they do
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import DataError, UsageError
from m3ke_async.files import write_json
from m3ke_async.places import spare_store
from m3ke_async.record_form import RECORD_VERSION, load_record
from m3ke_async.request import dump_json
from m3ke_async.shard import WHOLE, Shard
from m3ke_async.text import one_line
from m3ke_async.verified import claimed, hash_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STORE_NAME = "replies.sqlite"

_UNSAFE = re.compile(r"[^a-z0-9.]+")
_NAME = re.compile(r"[^\W_][\w.-]{0,99}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunDir:
    """The folder of one run."""

    path: Path

    @property
    def quoted(self) -> str:
        """The folder as it stands in a command that a user may copy."""
        return shlex.quote(str(self.path))

    @property
    def store(self) -> Path:
        """The reply store beside the runs."""
        return self.path.parent / STORE_NAME

    @property
    def spare_stores(self) -> tuple[Path, ...]:
        """Where replies go while the store cannot be written."""
        return self.path / STORE_NAME, spare_store(self.store)

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
    def submission(self) -> Path:
        """The letters of a hidden split, as its authors take them."""
        return self.path / "submission.json"

    @property
    def scores(self) -> Path:
        """Every number."""
        return self.path / "scores.json"

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each result file that is there, by which one that has changed is told."""
        files = [
            self.answers,
            self.unclear,
            self.failed,
            self.scores,
            self.submission,
            *sorted(self.predictions.glob("*.jsonl")),
        ]
        return {file.relative_to(self.path).as_posix(): hash_file(file) for file in files if file.is_file()}

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

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Be alone at work on the run, and remove what killed commands had begun to write.

        Raises:
            UsageError: another process is at work on it.
        """
        with claimed(self.path) as alone:
            if not alone:
                raise UsageError(f"another process is at work on {self.path}: wait for it, or stop it")
            self._sweep()
            yield

    def _sweep(self) -> None:
        for left in self.path.glob(".*.tmp"):
            left.unlink(missing_ok=True)
        for left in self.path.glob(".predictions-*"):
            shutil.rmtree(left, ignore_errors=True)

    def read(self) -> dict[str, Any] | None:
        """The content of run.json; None where there is none.

        Raises:
            DataError: it is damaged, or of another version.
        """
        try:
            raw = self.run_json.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise DataError(
                f"cannot be read: {error.strerror}; choose another --results or --name", file=self.run_json
            ) from None
        return load_record(raw, self.run_json)

    def record(self) -> dict[str, Any]:
        """The content of run.json, which has to be there.

        Raises:
            UsageError: it is not, or it is damaged.
        """
        record = self.read()
        if record is None:
            raise UsageError(f"{self.path} holds no run.json; give the folder of a run")
        return record

    def check_same(
        self, record: Mapping[str, Any] | None, identity: Mapping[str, Any], *, instead: str
    ) -> None:
        """See that the run which lies here, if one does, is the one of this identity: a folder holds one.

        Args:
            record: the content of run.json.
            identity: as of `Evaluation.identity`.
            instead: what to choose where it is another one.

        Raises:
            UsageError: it is.
        """
        changed = differences(record["identity"], identity) if record else []
        if changed:
            raise UsageError(
                f"{self.path} holds a run with other settings ({'; '.join(changed)}); choose {instead}"
            )

    def write(self, table: dict[str, Any]) -> None:
        """Write run.json, also where the folder was removed meanwhile."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.run_json, {"version": RECORD_VERSION, **table})


def find_run(run: str, results: str) -> RunDir:
    """A run by its path, or by its name below the results folder.

    Raises:
        UsageError: there is none.
    """
    for path in (Path(run), Path(results) / run):
        if os.path.isfile(path / "run.json"):  # noqa: PTH113 - pathlib raises on odd names
            return RunDir(path)
    raise UsageError(
        f"no run at {one_line(run, limit=100)!r}, nor of that name in {one_line(results, limit=100)}: "
        "`m3ke runs` lists what is there, --results names another folder"
    )


def run_name(
    identity: Mapping[str, Any],
    *,
    provider: str,
    model: str,
    split: str,
    shots: int,
    shard: Shard = WHOLE,
) -> str:
    """A readable folder name that is safe on every file system and differs for every identity."""
    digest = blake2b(dump_json(dict(identity), sort=True), digest_size=4).hexdigest()
    slug = _UNSAFE.sub("-", f"{provider}-{model}".lower()).strip("-.")[:60].rstrip("-.")
    return f"{slug}-{split}-{shots}shot-{digest}{shard.suffix}"


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
