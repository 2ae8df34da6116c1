"""Task and Suite: reads M3KE and other suites from a folder, a zip, or a file.

Loading reads every row once, checks it, and lets it go; asking streams the rows again. A suite
therefore holds names, sizes and hashes, however many questions there are.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from m3ke_async.archive import no_splits, open_container, written
from m3ke_async.assets import asset
from m3ke_async.errors import DataError, UsageError
from m3ke_async.manifest import Cluster, Level, Split
from m3ke_async.nearest import one_of
from m3ke_async.places import user_path
from m3ke_async.rows import LETTERS, Question, RowError, m3ke_row
from m3ke_async.suites.detect import detect
from m3ke_async.suites.layout import M3KE_LAYOUT, load_layout
from m3ke_async.suites.table import csv_rows, json_rows
from m3ke_async.suites.taxonomy import SuiteName
from m3ke_async.text import normalised, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from m3ke_async.archive import Container, Line, Member, Stamp
    from m3ke_async.suites.layout import Layout

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

#: The suite whose files lie there.
AUTO = "auto"
#: What `--suite` takes.
SUITE_NAMES = (AUTO, *map(str, SuiteName))
#: Five shots at most, and one more where the asked question itself is left out.
POOL_SIZE = 6


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
    """One subject, in M3KE at one level; `parts` holds the splits that are there.

    `cluster` and `level` are None where the suite has none.
    """

    name: str
    subject: str
    cluster: str | None
    level: str | None
    path: Path
    parts: dict[Split, Part]
    layout: Layout = field(default=M3KE_LAYOUT, repr=False)
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
        return _stream(self.path, part, self.layout)

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
    """Tasks sorted by name, where they lie, and of which suite they are."""

    path: Path
    tasks: tuple[Task, ...]
    layout: Layout = field(default=M3KE_LAYOUT, repr=False)

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
        return replace(self, tasks=tuple(task for task in self.tasks if task.name in chosen))

    def _near(self, glob: str) -> str:
        spellings = {normalised(text): task.name for task in self.tasks for text in (task.name, task.subject)}
        near = get_close_matches(normalised(glob).strip("*"), spellings, n=3, cutoff=0.5)
        names = dict.fromkeys(spellings[text] for text in near)
        return f"near it: {'; '.join(names)}" if names else f"the {len(self.tasks)} tasks are in {self.path}"


def _matches(task: Task, glob: str) -> bool:
    pattern = normalised(glob)
    # One published name lacks a letter; names of other suites hold no category.
    spelt_right = "-".join(filter(None, (task.subject, task.cluster, task.level)))
    return any(fnmatchcase(normalised(text), pattern) for text in (task.name, task.subject, spelt_right))


def sample_suite_path() -> Path:
    """Folder of the labelled sample suite that ships with the package."""
    return asset("data", "sample")


def load_suite(path: str | Path, name: str = AUTO) -> Suite:
    """Read and check a folder with `dev/` and `test/`, the same inside `data/`, a zip of either, or a file.

    Args:
        path: where it lies; splits may be absent. `sample` is the sample suite.
        name: one of `SuiteName`, or `auto` for the one whose files lie there.

    Raises:
        UsageError: there is no suite of this name, or the files may be those of several.
        DataError: nothing there, a zip that is not safe, or a row that is not right; the message
            names file, line and field.
    """
    if path == "sample":
        path = sample_suite_path()
    path = user_path(path)
    tasks: dict[str, Task] = {}
    with open_container(path) as container:
        name = one_of("--suite", name, SUITE_NAMES)
        layout = detect(container, path) if name == AUTO else load_layout(SuiteName(name))
        members = container.members(layout.splits, layout.suffixes)
        if not members:
            raise no_splits(path, layout.splits, layout.suffixes)
        for member in members:
            place = layout.place(member)
            # Names that differ in case or width alone would share a file on some disks.
            task = tasks.setdefault(
                normalised(place.name),
                Task(place.name, place.subject, place.cluster, place.level, path, {}, layout),
            )
            if member.split in task.parts:
                other = task.parts[member.split].member.label
                raise DataError(f"is the same task as {other}; keep one of them", file=member.label)
            task.parts[member.split] = _check(container, member, layout)
    return Suite(path, tuple(sorted(tasks.values(), key=lambda task: task.name)), layout)


def _check(container: Container, member: Member, layout: Layout) -> Part:
    """Read every row of a file once and keep none."""
    stamp = container.stamp(member)
    digest = sha256()
    size = labelled = 0
    ascending, last = True, -1
    for _, row in _rows(_hashed(_lines(container, member), digest.update), member, layout):
        size += 1
        labelled += row.answer is not None
        if isinstance(row.id, int) and row.id > last:
            last = row.id
        else:
            ascending = False
    if not ascending:  # the usual file counts up, which needs no memory of ids
        _refuse_duplicates(container, member, layout)
    return Part(member, stamp, size, labelled, digest.hexdigest())


def _hashed(lines: Iterator[Line], update: Callable[[bytes], None]) -> Iterator[Line]:
    for line in lines:
        update(line[2])
        update(b"\n")
        yield line


def _refuse_duplicates(container: Container, member: Member, layout: Layout) -> None:
    """Compare ids as text, as an answer key in CSV has them; 8 bytes a row, and sorted once."""

    def rows() -> Iterator[tuple[int, Question]]:
        return _rows(_lines(container, member), member, layout)

    hashes = array("q", (hash(str(row.id)) for _, row in rows()))
    suspects = {one for one, other in pairwise(sorted(hashes)) if one == other}
    del hashes
    first: dict[str, int] = {}
    for number, row in rows() if suspects else ():
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


def _stream(path: Path, part: Part, layout: Layout) -> Iterator[Question]:
    with open_container(path) as container:
        if container.stamp(part.member) != part.stamp:
            raise DataError("has changed since it was loaded; run the command again", file=part.member.label)
        for _, row in _rows(_lines(container, part.member), part.member, layout):
            yield row


def _lines(container: Container, member: Member) -> Iterator[Line]:
    """A text in CSV may hold blank lines; in JSONL they are none of the rows."""
    lines = container.lines(member)
    return lines if member.suffix == ".csv" else written(lines)


def _rows(lines: Iterator[Line], member: Member, layout: Layout) -> Iterator[tuple[int, Question]]:
    if member.suffix == ".csv":
        return csv_rows(lines, member, layout)
    return _m3ke_rows(lines, member) if layout.name is SuiteName.M3KE else json_rows(lines, member)


def _m3ke_rows(lines: Iterator[Line], member: Member) -> Iterator[tuple[int, Question]]:
    for number, offset, text in lines:
        try:
            yield number, m3ke_row(text, offset)
        except RowError as error:
            raise DataError(str(error), file=member.label, line=number, field=error.field) from None
