"""Question, Task, Suite: reads M3KE, and suites of the same layout, from a folder or a zip.

Loading reads every row once, checks it, and lets it go; asking streams the rows again. A suite
therefore holds names, sizes and hashes, however many questions there are.
"""

from __future__ import annotations

import json
import os
import unicodedata
from array import array
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.archive import open_container
from m3ke_async.assets import asset
from m3ke_async.errors import DataError, UsageError
from m3ke_async.manifest import Cluster, Level, Split, parse_task_name
from m3ke_async.text import normalised, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from m3ke_async.archive import Container, Line, Member, Stamp

__all__ = [
    "LETTERS",
    "POOL_SIZE",
    "Cluster",
    "Level",
    "Question",
    "Split",
    "Suite",
    "Task",
    "load_suite",
    "sample_suite_path",
]

LETTERS = "ABCD"
#: Five shots at most, and one more where the asked question itself is left out.
POOL_SIZE = 6

_TEXTS = ("question", *LETTERS)
_ROW = itemgetter("id", *_TEXTS)
_ANSWERS = (None, "", *LETTERS)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Question:
    """One row; texts are as in the file. `answer` is the right letter, None where unlabelled."""

    id: int | str
    question: str
    options: tuple[str, str, str, str]
    answer: str | None

    @property
    def option_map(self) -> dict[str, str]:
        """Option texts by letter."""
        return dict(zip(LETTERS, self.options, strict=True))


@dataclass(frozen=True, slots=True)
class Part:
    """One split of a task, as it was at load.

    Attributes:
        member: the file.
        stamp: tells whether the file has changed since.
        size: rows.
        labelled: rows with an answer.
        sha256: hex, over the rows with LF line ends: the file's own hash unless it has a byte order
            mark, blank lines or CRLF (M3KE.zip and checkouts on Windows have CRLF, the repository LF).
    """

    member: Member
    stamp: Stamp
    size: int
    labelled: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Task:
    """One subject at one level; `parts` holds the splits that are there."""

    name: str
    subject: str
    cluster: Cluster
    level: Level
    path: Path
    parts: dict[Split, Part]
    _pool: list[tuple[Question, ...]] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def sizes(self) -> dict[Split, int]:
        """Rows by split; a split that is not there is not in it."""
        return {split: part.size for split, part in self.parts.items()}

    @property
    def labelled(self) -> dict[Split, int]:
        """Rows with an answer by split."""
        return {split: part.labelled for split, part in self.parts.items()}

    @property
    def sha256(self) -> dict[Split, str]:
        """`Part.sha256` by split."""
        return {split: part.sha256 for split, part in self.parts.items()}

    def questions(self, split: Split) -> Iterator[Question]:
        """Stream the questions in file order.

        Raises:
            UsageError: at the call, when the task has no such split.
            DataError: while reading, when the file has changed since the suite was loaded.
        """
        part = self.parts.get(split)
        if part is None:
            raise UsageError(f"{self.path}: task {self.name!r} has no {split} split")
        return _stream(self.path, part)

    @property
    def dev(self) -> tuple[Question, ...]:
        """The few-shot pool: the first labelled dev rows in file order, at most `POOL_SIZE`.

        Raises:
            UsageError: the task has no dev split.
        """
        if not self._pool:
            labelled = (row for row in self.questions(Split.DEV) if row.answer is not None)
            self._pool.append(tuple(islice(labelled, POOL_SIZE)))
        return self._pool[0]


@dataclass(frozen=True, slots=True)
class Suite:
    """Tasks sorted by name, and where they lie."""

    path: Path
    tasks: tuple[Task, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex over task names, splits and the hashes of their rows."""
        digest = sha256()
        for task in self.tasks:
            for split, part in sorted(task.parts.items()):
                digest.update(f"{task.name}\0{split}\0{part.sha256}\n".encode())
        return digest.hexdigest()

    def size(self, split: Split) -> int:
        """Rows of a split over all tasks. Raises UsageError when no task has it."""
        return sum(part.size for part in self._parts(split))

    def labelled(self, split: Split) -> int:
        """Rows with an answer. Raises UsageError when no task has the split."""
        return sum(part.labelled for part in self._parts(split))

    def _parts(self, split: Split) -> list[Part]:
        parts = [task.parts[split] for task in self.tasks if split in task.parts]
        if not parts:
            raise UsageError(f"{self.path} has no {split} split; give --split or another --data")
        return parts

    def select(self, globs: str | Iterable[str]) -> Suite:
        """The tasks whose name or subject matches one of the globs.

        Case, white space and the width of characters do not matter; a glob may be a list with commas.
        What is a task's whole name means this task, with whatever commas and brackets are in it.

        Raises:
            UsageError: a glob matches nothing; the message names the nearest tasks.
        """
        wanted = [globs] if isinstance(globs, str) else list(globs)
        names = {normalised(task.name): task.name for task in self.tasks}
        chosen = {names[spelt] for item in wanted if (spelt := normalised(item)) in names}
        lists = (item.split(",") for item in wanted if normalised(item) not in names)
        for glob in (part for parts in lists for part in parts if part.strip()):
            found = {task.name for task in self.tasks if _matches(task, glob)}
            if not found:
                raise UsageError(f"no task matches {one_line(glob.strip())!r}; {self._near(glob)}")
            chosen |= found
        if not chosen:
            raise UsageError("the list of tasks is empty; leave it out for all tasks")
        return Suite(self.path, tuple(task for task in self.tasks if task.name in chosen))

    def _near(self, glob: str) -> str:
        spellings = {normalised(text): task.name for task in self.tasks for text in (task.name, task.subject)}
        near = get_close_matches(normalised(glob).strip("*"), spellings, n=3, cutoff=0.5)
        names = dict.fromkeys(spellings[text] for text in near)
        return f"near it: {'; '.join(names)}" if names else f"the {len(self.tasks)} tasks are in {self.path}"


def _matches(task: Task, glob: str) -> bool:
    pattern = normalised(glob)
    spelt_right = f"{task.subject}-{task.cluster}-{task.level}"  # one published name lacks a letter
    return any(fnmatchcase(normalised(text), pattern) for text in (task.name, task.subject, spelt_right))


def sample_suite_path() -> Path:
    """Folder of the labelled sample suite that ships with the package."""
    return asset("data", "sample")


def load_suite(path: str | Path) -> Suite:
    """Read and check a folder with `dev/` and `test/`, the same inside `data/`, or a zip of either.

    One of the two splits may be absent. `sample` is the sample suite.

    Raises:
        DataError: nothing there, a zip that is not safe, or a row that is not right; the message
            names file, line and field.
    """
    if path == "sample":
        path = sample_suite_path()
    path = Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib's raises where the user is unknown
    tasks: dict[str, Task] = {}
    with open_container(path) as container:
        for member in container.members():
            name = parse_task_name(member.stem, member.label)
            # Names that differ in case or width alone would share a file on some disks.
            task = tasks.setdefault(
                normalised(name.name), Task(name.name, name.subject, name.cluster, name.level, path, {})
            )
            if member.split in task.parts:
                other = task.parts[member.split].member.label
                raise DataError(f"is the same task as {other}; keep one of them", file=member.label)
            task.parts[member.split] = _check(container, member)
    return Suite(path, tuple(sorted(tasks.values(), key=lambda task: task.name)))


def _check(container: Container, member: Member) -> Part:
    """Read every row of a file once and keep none."""
    stamp = container.stamp(member)
    digest = sha256()
    size = labelled = 0
    ascending, last = True, -1
    for line in container.lines(member):
        row = _question(member, line)
        size += 1
        labelled += row.answer is not None
        if isinstance(row.id, int) and row.id > last:
            last = row.id
        else:
            ascending = False
        digest.update(line[2])
        digest.update(b"\n")
    if not ascending:  # the usual file counts up, which needs no memory of ids
        _refuse_duplicates(container, member)
    return Part(member, stamp, size, labelled, digest.hexdigest())


def _refuse_duplicates(container: Container, member: Member) -> None:
    """Compare ids as text, as an answer key in CSV has them; 8 bytes a row, and sorted once."""
    hashes = array("q", (hash(str(row.id)) for _, row in _rows(container, member)))
    suspects = {one for one, other in pairwise(sorted(hashes)) if one == other}
    del hashes
    first: dict[str, int] = {}
    for number, row in _rows(container, member) if suspects else ():
        text = str(row.id)
        if hash(text) not in suspects:
            continue
        if text in first:
            raise DataError(
                f"{one_line(text, limit=80)!r} is the id of line {first[text]} too; make it unique",
                file=member.label,
                line=number,
                field="id",
            )
        first[text] = number


def _rows(container: Container, member: Member) -> Iterator[tuple[int, Question]]:
    for line in container.lines(member):
        yield line[0], _question(member, line)


def _stream(path: Path, part: Part) -> Iterator[Question]:
    with open_container(path) as container:
        if container.stamp(part.member) != part.stamp:
            raise DataError("has changed since it was loaded; run the command again", file=part.member.label)
        for _, row in _rows(container, part.member):
            yield row


def _question(member: Member, line: Line) -> Question:
    number, offset, text = line
    try:
        return _parse(text, offset)
    except _RowError as error:
        raise DataError(str(error), file=member.label, line=number, field=error.field) from None


class _RowError(Exception):
    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


def _parse(text: bytes, offset: int) -> Question:
    """Check a row that begins at byte `offset` of its file."""
    row = _decode(text, offset)
    if type(row) is not dict:
        raise _RowError("is not a JSON object; a row is one object on one line")
    try:
        id_, *texts = _ROW(row)
    except KeyError as error:
        raise _RowError("is missing", error.args[0]) from None
    for name, value in zip(_TEXTS, texts, strict=True):
        if type(value) is not str:
            raise _RowError(f"must be a text, not {_shown(value)}", name)
    if type(id_) is float:
        id_ = json.loads(text)["id"]  # orjson makes floats of integers beyond 64 bits
        if type(id_) is int:
            raise _RowError("is a number beyond 64 bits; write it as a text", "id")
    if type(id_) is not int and not (type(id_) is str and id_.strip()):
        raise _RowError(f"must be a whole number or a text, not {_shown(id_)}", "id")
    answer = row.get("answer")
    if answer not in _ANSWERS:
        answer = _letter(answer)
    question, a, b, c, d = texts
    return Question(id_, question, (a, b, c, d), answer or None)


def _decode(text: bytes, offset: int) -> Any:
    """JSON by orjson, and what that refuses but a reader of M3KE may meet by the standard module.

    That is a lone surrogate in an escape, or NaN in a field that nobody reads.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    if offset == 0 and text.startswith(_UTF16_MARKS):
        raise _RowError(f"byte 0 (0x{text[0]:02x}) begins a UTF-16 file; save it as UTF-8")
    if b"\0" in text:
        at = offset + text.index(b"\0")
        raise _RowError(f"byte {at} is 0, as in a UTF-16 file; save it as UTF-8")
    try:
        return json.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        at, byte = offset + error.start, text[error.start]
        raise _RowError(f"byte {at} (0x{byte:02x}) is not UTF-8; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise _RowError(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 1,000 brackets
        raise _RowError(f"is not JSON that can be read: {one_line(str(error))}") from None


def _letter(answer: object) -> str:
    """'b', ' B ' and a full-width 'Ｂ' are B; blanks are ''."""
    letter = unicodedata.normalize("NFKC", answer).strip().upper() if isinstance(answer, str) else None
    if letter is None or letter not in _ANSWERS:
        expected = "must be one of A, B, C, D, or empty where unknown"
        raise _RowError(f"{expected}, not {_shown(answer)}", "answer")
    return letter


def _shown(value: object) -> str:
    return one_line(repr(value), limit=40)
