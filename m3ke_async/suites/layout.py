"""The files of each suite: their names, their columns, which splits are there. Facts in `data/suites/`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from m3ke_async.assets import asset
from m3ke_async.errors import DataError
from m3ke_async.manifest import LONGEST_NAME, M3KE_SPLITS, Split, parse_task_name
from m3ke_async.nearest import nearest
from m3ke_async.suites.taxonomy import M3KE, Mean, SuiteName, Taxonomy
from m3ke_async.text import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.archive import Member

#: The wording of M3KE's paper, for suites of one's own as well.
DEFAULT_TEMPLATE = "m3ke-zh/1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task stands in its suite."""

    name: str
    subject: str
    cluster: str | None
    level: str | None


@dataclass(frozen=True, slots=True)
class Layout:
    """How a suite lies on the disk, and how it is asked.

    Attributes:
        taxonomy: its categories.
        template: the prompt of its paper.
        splits: those that it has.
        suffixes: of its files.
        hidden: splits without published answers; everywhere else a row without one is damaged. Nothing is
            known of a suite that is M3KE's or the user's own.
        file: name of a file without its suffix.
        header: whether a CSV file begins with the names of its columns.
        id: name of the column with the id; None where a row's number from 0 is its id.
        submission: whether its authors take submissions in C-Eval's form.
        subjects: by name of the task, its subject and cluster; empty where any name is a task.
    """

    taxonomy: Taxonomy
    template: str = DEFAULT_TEMPLATE
    splits: tuple[Split, ...] = tuple(Split)
    suffixes: tuple[str, ...] = (".csv",)
    hidden: tuple[Split, ...] = tuple(Split)
    file: str = "{subject}"
    header: bool = True
    id: str | None = None
    submission: bool = False
    subjects: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def name(self) -> SuiteName:
        """Of the suite."""
        return self.taxonomy.name

    def takes_submission(self, split: Split) -> bool:
        """Whether the answers of this split are its authors', who score what is handed in."""
        return self.submission and split in self.hidden

    def stem(self, member: Member) -> str:
        """The name of the task in the name of a file; '' where the file is named otherwise."""
        before, after = self.file.format(subject="/", split=member.split).split("/")
        fits = member.stem.startswith(before) and member.stem.endswith(after)
        return member.stem[len(before) : len(member.stem) - len(after)] if fits else ""

    def place(self, member: Member) -> Place:
        """The task that a file belongs to.

        Raises:
            DataError: the file's name is none of this suite.
        """
        if self.name is SuiteName.M3KE:
            return self.task(parse_task_name(member.stem, member.label).name)
        if self.name is SuiteName.TABLE:
            return self.task(own_name(member))
        name = self.stem(member)
        if name not in self.subjects:
            wanted = self.file.format(subject="<subject>", split=member.split)
            raise DataError(
                f"the name is not {wanted}.csv with one of the {len(self.subjects)} subjects of "
                f"{self.taxonomy.title}{nearest(name, self.subjects)}; rename or remove the file, "
                "or give --suite table",
                file=member.label,
            )
        return self.task(name)

    def task(self, name: str) -> Place:
        """Where a task of this name stands."""
        if self.name is SuiteName.M3KE:
            known = parse_task_name(name)
            return Place(known.name, known.subject, known.cluster, known.level)
        subject, cluster = self.subjects.get(name, (name, None))
        return Place(name, subject, cluster, None)


def own_name(member: Member) -> str:
    """A file's name without suffix and split, for a suite whose tasks may have any name.

    Raises:
        DataError: the name cannot be shown, or is too long for a file of results.
    """
    stem = member.stem.removesuffix(f"_{member.split}")
    if not stem.strip() or printable(stem) != stem or "\n" in stem or "\t" in stem:
        raise DataError(
            f"the name {one_line(member.stem)!r} is empty or holds control characters; rename the file",
            file=member.label,
        )
    if len(f"{stem}.jsonl".encode("utf-8", "surrogatepass")) > LONGEST_NAME or Path(stem).name != stem:
        raise DataError(
            f"the name {one_line(stem, limit=60)!r} cannot be a file's: at most {LONGEST_NAME} bytes with "
            "'.jsonl', and no slash; rename the file",
            file=member.label,
        )
    return stem


M3KE_LAYOUT = Layout(M3KE, splits=M3KE_SPLITS, suffixes=(".jsonl",))
TABLE_LAYOUT = Layout(Taxonomy(SuiteName.TABLE, "table"), suffixes=(".csv", ".jsonl"))
#: Suites whose facts stand in `data/suites/`.
PUBLISHED = (SuiteName.CEVAL, SuiteName.CMMLU, SuiteName.MMLU)


@cache
def load_layout(name: SuiteName) -> Layout:
    """The layout of a suite."""
    if name is SuiteName.M3KE:
        return M3KE_LAYOUT
    if name is SuiteName.TABLE:
        return TABLE_LAYOUT
    table = tomllib.loads(asset("data", "suites", f"{name}.toml").read_text(encoding="utf-8"))
    subjects = {
        task: (subject, cluster)
        for cluster, tasks in table["categories"].items()
        for task, subject in tasks.items()
    }
    return Layout(
        taxonomy=Taxonomy(
            name=name,
            title=table["title"],
            clusters=tuple(table["categories"]),
            average=Mean(table["average"]),
            tasks=len(subjects),
        ),
        template=table["template"],
        splits=tuple(map(Split, table["splits"])),
        hidden=tuple(map(Split, table["hidden"])),
        file=table["file"],
        header=table["header"],
        id=table.get("id"),
        submission=table["submission"],
        subjects=subjects,
    )
