"""What is odd about a suite: against the published M3KE, and row by row.

Each finding has a rule, and every count is the number of places that the rule gives. Texts are
compared as they are, since normalising makes one of `Co` and `CO`, or of `10²` and `102`. Only the
rule about shots normalises, as prompts do when they drop an example that equals the question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from m3ke_async.manifest import M3KE_SPLITS, Split, load_manifest
from m3ke_async.suite import LETTERS
from m3ke_async.text import counted, normalised, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from m3ke_async.manifest import Source
    from m3ke_async.suite import Question, Suite, Task

#: M3KE's rows have 74 characters in the mean, question and options together.
LONG_ROW = 500

#: Words of a question that point at a picture or table, none of which M3KE holds.
PICTURE_WORDS = (
    r"如图(?![书形纸像片])",
    r"[下上右左附]图(?!书)",
    r"图示(?!法)",
    r"(?:^|[若据按对即从各，。；,;])图中",
    r"[幅各]图",
    r"图[0-9０-９]",
    r"漫画[所中]",
    r"[下上右左附]表(?![示现达述明面演彰白露态决情])",
)
_PICTURE = re.compile("|".join(PICTURE_WORDS))

#: Finding -> what one of its places is. The order is that of the report.
RULES = {
    "empty option": "a row with an option that is empty or white space",
    "equal options": "a row with two options of the same text",
    "duplicate row": "a row whose question and options stand in an earlier row of its split, in any task",
    "shared question": "a row whose question stands in an earlier row of its split, in any task",
    "dev row in test": "a dev row whose question and options stand in a test row, in any task",
    "dev question in test": "a test row whose question stands in a dev row, in any task",
    "shot equals question": "a row whose question, normalised, is that of another row in its task's shots",
    "needs a picture": "a row whose question points at a picture or table",
    "long row": f"a row of more than {LONG_ROW} characters in question and options",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A row."""

    task: str
    split: Split
    id: int | str

    def __str__(self) -> str:
        return f"{self.task}/{self.split} {one_line(str(self.id), limit=40)}"


@dataclass(frozen=True, slots=True)
class SplitSummary:
    """Counts of one split; `keys` are the known right answers by letter."""

    tasks: int
    rows: int
    labelled: int
    keys: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found.

    Attributes:
        path: the folder or zip.
        source: the published M3KE that was compared with.
        published: files of M3KE, as `<task>/<split>`, whose rows are exactly the published ones.
        changed: files of M3KE with other rows, each with how they differ.
        missing: files of M3KE that are not there.
        extra: files of tasks that M3KE does not have.
        suite: name of the suite by its published subjects; None where it is M3KE or one's own.
        subjects: how many of them are there.
        absent: names of those that are not.
        splits: counts by split.
        findings: places by the names in `RULES`.
    """

    path: Path
    source: Source
    published: tuple[str, ...]
    changed: Mapping[str, str]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    suite: str | None
    subjects: int
    absent: tuple[str, ...]
    splits: Mapping[Split, SplitSummary]
    findings: Mapping[str, tuple[Place, ...]]

    @property
    def whole(self) -> bool:
        """Whether this is M3KE at the pinned commit, all of it and nothing else."""
        return not (self.changed or self.missing or self.extra)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self) | {"path": str(self.path), "whole": self.whole}


def check(suite: Suite) -> Report:
    """Compare a suite with the manifest and read every row; memory grows with the rows.

    Raises:
        DataError: a file has changed since the suite was loaded.
    """
    manifest = load_manifest()
    facts = {(task.name, split): task for task in manifest.tasks for split in M3KE_SPLITS}
    parts = {(task.name, split): part for task in suite.tasks for split, part in task.parts.items()}
    changed: dict[str, str] = {}
    published: list[str] = []
    for (name, split), part in parts.items():
        fact = facts.get((name, split))
        if fact is None:
            continue
        if part.sha256 == fact.sha256[split]:
            published.append(f"{name}/{split}")
        elif part.size == fact.sizes[split]:
            changed[f"{name}/{split}"] = "other rows"
        else:
            changed[f"{name}/{split}"] = f"{counted(part.size, 'row')} instead of {fact.sizes[split]:,}"
    findings, keys = _read(suite)
    return Report(
        path=suite.path,
        source=manifest.source,
        published=tuple(published),
        changed=changed,
        missing=tuple(f"{name}/{split}" for name, split in facts if (name, split) not in parts),
        extra=tuple(f"{name}/{split}" for name, split in parts if (name, split) not in facts),
        suite=suite.layout.taxonomy.title if suite.layout.subjects else None,
        subjects=len(suite.tasks),
        absent=tuple(sorted(suite.layout.subjects.keys() - {task.name for task in suite.tasks})),
        splits={
            split: SplitSummary(len(sizes), sum(sizes), sum(keys[split].values()), dict(keys[split]))
            for split in Split
            if (sizes := [part.size for (_, own), part in parts.items() if own is split])
        },
        findings={name: tuple(findings[name]) for name in RULES},
    )


class _Seen:
    """Texts of one split read so far."""

    def __init__(self) -> None:
        self.questions: set[str] = set()
        self.rows: set[tuple[str, ...]] = set()


def _read(suite: Suite) -> tuple[dict[str, list[Place]], dict[Split, Counter[str]]]:
    findings: dict[str, list[Place]] = defaultdict(list)
    keys: dict[Split, Counter[str]] = {split: Counter(dict.fromkeys(LETTERS, 0)) for split in Split}
    seen = {split: _Seen() for split in Split}
    for split in Split:  # dev first: test rows are compared with it
        for task in suite.tasks:
            shots = Counter(normalised(shot.question) for shot in _shots(task))
            for row in task.questions(split) if split in task.parts else ():
                itself = split is Split.DEV and row in task.dev
                rules = [*_odd_alone(row), *_odd_beside(row, seen[split])]
                if split is Split.TEST and row.question in seen[Split.DEV].questions:
                    rules.append("dev question in test")
                if shots[normalised(row.question)] > itself:
                    rules.append("shot equals question")
                for rule in rules:
                    findings[rule].append(Place(task.name, split, row.id))
                keys[split].update(row.answer or "")
    for task in suite.tasks:
        findings["dev row in test"] += [
            Place(task.name, Split.DEV, row.id)
            for row in (task.questions(Split.DEV) if Split.DEV in task.parts else ())
            if (row.question, *row.options) in seen[Split.TEST].rows
        ]
    return findings, keys


def _shots(task: Task) -> tuple[Question, ...]:
    return task.dev if Split.DEV in task.parts else ()


def _odd_alone(row: Question) -> Iterator[str]:
    if not all(option.strip() for option in row.options):
        yield "empty option"
    if len(set(row.options)) < len(row.options):
        yield "equal options"
    if _PICTURE.search(row.question):
        yield "needs a picture"
    if len(row.question) + sum(map(len, row.options)) > LONG_ROW:
        yield "long row"


def _odd_beside(row: Question, seen: _Seen) -> Iterator[str]:
    text = (row.question, *row.options)
    if text in seen.rows:
        yield "duplicate row"
    if row.question in seen.questions:
        yield "shared question"
    seen.rows.add(text)
    seen.questions.add(row.question)


def format_report(report: Report) -> str:
    """The report as plain lines."""
    return "\n".join(_report_lines(report))


def _report_lines(report: Report) -> Iterator[str]:
    commit = f"M3KE at {report.source.commit[:7]} ({report.source.date})"
    yield f"{report.path}"
    if report.suite is not None:
        of = report.subjects + len(report.absent)
        yield f"This is {report.suite}, {report.subjects} of {of} subjects; its rows are not compared."
        yield from _listed("missing", report.absent)
    elif report.whole:
        yield f"This is {commit}, whole: all {len(report.published)} files have the published rows."
    elif report.published or report.changed:
        yield f"This is not {commit} as published. Files with the published rows: {len(report.published)}."
        yield from _listed("with other rows", [f"{name} ({how})" for name, how in report.changed.items()])
        yield from _listed("missing", report.missing)
        yield from _listed("not of M3KE", report.extra)
    else:
        yield "This is a suite of its own: no file is named as one of M3KE's."
    for split, summary in report.splits.items():
        letters = ", ".join(f"{letter} {count:,}" for letter, count in summary.keys.items())
        known = (
            f"{summary.labelled:,} with a known answer ({letters})" if summary.labelled else "no answer known"
        )
        yield f"{split}: tasks {summary.tasks}, questions {summary.rows:,}, {known}"
    for name, places in report.findings.items():
        by_split = Counter(place.split for place in places)
        counts = ", ".join(f"{split} {count:,}" for split, count in by_split.items()) or "none"
        yield f"{name}: {counts} ({RULES[name]})"
        if places:
            yield f"    {_some([str(place) for place in places], 3)}"


def _listed(what: str, names: list[str] | tuple[str, ...]) -> Iterator[str]:
    if names:
        yield f"{len(names)} {what}: {_some(names, 5)}"


def _some(names: list[str] | tuple[str, ...], limit: int) -> str:
    rest = f"; and {len(names) - limit:,} more" if len(names) > limit else ""
    return "; ".join(names[:limit]) + rest
