"""Tasks and answers made of a few words, for the tests of scores and reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from m3ke_async.answer import Answer
from m3ke_async.request import Outcome, Usage
from m3ke_async.suite import Cluster, Level, Split

if TYPE_CHECKING:
    from m3ke_async.suite import Task


@dataclass(frozen=True)
class _Task:
    """What scoring reads of a task."""

    name: str
    subject: str
    cluster: Cluster
    level: Level
    sizes: dict[Split, int] = field(default_factory=dict)
    labelled: dict[Split, int] = field(default_factory=dict)


def make_task(
    subject: str,
    cluster: Cluster = Cluster.ARTS,
    level: Level = Level.COLLEGE,
    *,
    size: int = 10,
    labelled: int | None = None,
    split: Split = Split.DEV,
) -> Task:
    """A task of `size` questions, all labelled unless told otherwise."""
    known = size if labelled is None else labelled
    name = f"{subject}-{cluster}-{level}"
    return cast("Task", _Task(name, subject, cluster, level, {split: size}, {split: known}))


def answer(
    task: Task,
    number: int | str,
    choice: str | None = "A",
    key: str | None = "A",
    *,
    outcome: Outcome | None = None,
    split: Split = Split.DEV,
    usage: Usage = Usage(),  # noqa: B008 - frozen
    latency: float | None = 0.5,
) -> Answer:
    """An answer: right by default, unparsed where it has no choice and no outcome is given."""
    if outcome is None:
        outcome = Outcome.UNPARSED if choice is None else Outcome.ANSWERED
    reply = None if outcome is Outcome.FAILED else choice or "？"
    return Answer(
        task.name,
        split,
        number,
        "00" * 16,
        outcome,
        choice,
        key=key,
        reply=reply,
        usage=usage,
        latency=latency,
    )


def answers(
    task: Task, *, right: int = 0, wrong: int = 0, unparsed: int = 0, failed: int = 0
) -> list[Answer]:
    """That many answers of each kind, ids from 0; the key is A and a wrong answer is B."""
    kinds = [("A", None)] * right + [("B", None)] * wrong
    lines: list[tuple[str | None, Outcome | None]] = [*kinds]
    lines += [(None, Outcome.UNPARSED)] * unparsed + [(None, Outcome.FAILED)] * failed
    return [answer(task, number, choice, outcome=outcome) for number, (choice, outcome) in enumerate(lines)]
