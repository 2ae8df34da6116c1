"""What counts say: accuracies, bounds, intervals, averages. The formulae stand in docs/scores.md."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from m3ke_async.diagnostics import evenness
from m3ke_async.intervals import over_tasks, wilson
from m3ke_async.request import Outcome
from m3ke_async.rows import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3ke_async.diagnostics import Evenness
    from m3ke_async.intervals import Interval
    from m3ke_async.suites.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of a group of questions; every rate is computed from these counts alone.

    Attributes:
        name: of the task, cluster or level.
        size: questions that the suite has in this group.
        asked: questions that the run asks; fewer than `size` with a limit or a selection of tasks.
        missing: asked questions without a line in the answers.
        outcomes: lines by outcome, all seven.
        letters: answers by letter, all four.
        labelled: lines whose right letter is known. Accuracies are over these.
        labelled_answered: lines whose right letter is known and that are answered.
        labelled_missing: missing questions whose right letter is or may be known.
        correct: labelled lines with the right letter.
    """

    name: str
    size: int
    asked: int
    missing: int
    outcomes: dict[Outcome, int]
    letters: dict[str, int]
    labelled: int
    labelled_answered: int
    labelled_missing: int
    correct: int

    def __post_init__(self) -> None:
        lines = sum(self.outcomes.values())
        ordered = (
            0 <= self.correct <= self.labelled_answered <= min(self.answered, self.labelled)
            and self.labelled <= lines
            and 0 <= self.labelled_missing <= self.missing
            and self.asked <= self.size
            and min(self.outcomes.values()) >= 0 <= min(self.letters.values())
        )
        if not ordered or self.asked != lines + self.missing or self.answered != sum(self.letters.values()):
            raise ValueError(f"the counts of {self.name!r} do not add up")

    @property
    def answered(self) -> int:
        """Lines with exactly one letter chosen."""
        return self.outcomes[Outcome.ANSWERED]

    @property
    def owed(self) -> int:
        """Asked questions without a reply: without a line, or failed."""
        return self.missing + self.outcomes[Outcome.FAILED]

    @property
    def incomplete(self) -> bool:
        """Whether questions are owed."""
        return self.owed > 0

    @property
    def accuracy(self) -> float | None:
        """Right answers over labelled lines, unanswered ones counted as wrong; None without labels."""
        return self.correct / self.labelled if self.labelled else None

    @property
    def accuracy_answered(self) -> float | None:
        """Right answers over labelled and answered lines; None where there are none."""
        return self.correct / self.labelled_answered if self.labelled_answered else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval around `accuracy`."""
        return wilson(self.correct, self.labelled) if self.labelled else None

    @property
    def bounds(self) -> Interval | None:
        """Accuracy if every unanswered or missing labelled question were wrong, and if it were right."""
        if not self.labelled:
            return None
        n = self.labelled + self.labelled_missing
        return self.correct / n, (self.correct + n - self.labelled_answered) / n

    @property
    def rates(self) -> dict[Outcome, float] | None:
        """Shares of the outcomes among the lines; None where there are none."""
        lines = sum(self.outcomes.values())
        return {outcome: n / lines for outcome, n in self.outcomes.items()} if lines else None

    @property
    def evenness(self) -> Evenness | None:
        """Whether the letters are spread evenly; None where they are too few."""
        return evenness(self.letters)

    def to_json(self) -> dict[str, Any]:
        """The counts and the rates that follow from them, ready for JSON."""
        counts = {field.name: getattr(self, field.name) for field in fields(self)}
        rates = self.rates
        return counts | {
            "outcomes": {outcome.value: n for outcome, n in self.outcomes.items()},
            "accuracy": self.accuracy,
            "accuracy_answered": self.accuracy_answered,
            "interval": self.interval,
            "bounds": self.bounds,
            "rates": None if rates is None else {outcome.value: share for outcome, share in rates.items()},
            "evenness": asdict(self.evenness) if self.evenness else None,
        }


@dataclass(frozen=True, slots=True)
class TaskScore(Counts):
    """The counts of one task and where it belongs, as of `suite.Task`."""

    subject: str
    cluster: str | None
    level: str | None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The task as `to_json` wrote it; the rates are computed again.

        Raises:
            KeyError, TypeError, ValueError: where a field is missing or wrong.
        """
        given = {field.name: value[field.name] for field in fields(cls)}
        given["outcomes"] = {outcome: value["outcomes"][outcome] for outcome in Outcome}
        given["letters"] = {letter: value["letters"][letter] for letter in LETTERS}
        return cls(**given)


@dataclass(frozen=True, slots=True)
class GroupScore(Counts):
    """The pooled counts of a cluster, a level or everything.

    Attributes:
        tasks: tasks of the suite in this group.
        tasks_scored: tasks that have an accuracy.
        task_mean: plain mean of those tasks' accuracies; None where there are none.
    """

    tasks: int
    tasks_scored: int
    task_mean: float | None


def pool(name: str, tasks: Sequence[TaskScore]) -> GroupScore:
    """The tasks' counts added up."""
    accuracies = [task.accuracy for task in tasks if task.accuracy is not None]
    return GroupScore(
        name=name,
        size=sum(task.size for task in tasks),
        asked=sum(task.asked for task in tasks),
        missing=sum(task.missing for task in tasks),
        outcomes={outcome: sum(task.outcomes[outcome] for task in tasks) for outcome in Outcome},
        letters={letter: sum(task.letters[letter] for task in tasks) for letter in LETTERS},
        labelled=sum(task.labelled for task in tasks),
        labelled_answered=sum(task.labelled_answered for task in tasks),
        labelled_missing=sum(task.labelled_missing for task in tasks),
        correct=sum(task.correct for task in tasks),
        tasks=len(tasks),
        tasks_scored=len(accuracies),
        task_mean=sum(accuracies) / len(accuracies) if accuracies else None,
    )


@dataclass(frozen=True, slots=True)
class Average:
    """A mean, and what it is the mean of.

    Attributes:
        value: None where nothing is labelled.
        n: how many numbers it is the mean of: questions, tasks or clusters.
        covered: names of the groups in it.
        absent: names of the groups that belong in it and have no accuracy.
        partial: whether any question of the suite is not in it.
        interval: 95 %, over tasks (`intervals.over_tasks`); None where the tasks do not tell one.
    """

    value: float | None
    n: int
    covered: tuple[str, ...]
    absent: tuple[str, ...]
    partial: bool
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Averages:
    """Four numbers that are all called average elsewhere.

    Attributes:
        over_questions: every question counts the same.
        over_tasks: every task counts the same.
        over_clusters_pooled: M3KE's own Average: the mean of the four clusters, each one pooled over
            its questions.
        over_clusters_task_mean: the same, each cluster being the mean of its tasks. M3KE's authors do
            not say which of the two they used.
    """

    over_questions: Average
    over_tasks: Average
    over_clusters_pooled: Average
    over_clusters_task_mean: Average


def averages(
    total: GroupScore, tasks: Sequence[TaskScore], clusters: Sequence[GroupScore], taxonomy: Taxonomy
) -> Averages:
    """The four averages; partial where a question, a task or a cluster of the suite is not in it."""
    partial = total.labelled < total.size or len(tasks) < (taxonomy.tasks or 0)
    task_names = _split_names((task.name, task.accuracy) for task in tasks)
    found = {group.name: group for group in clusters}
    covered, absent = _split_names(
        (name, found[name].accuracy if name in found else None) for name in taxonomy.clusters
    )
    scored = [task for task in tasks if task.labelled]
    counts = [[(task.correct, task.labelled) for task in scored if task.cluster == name] for name in covered]
    together = [[count for group in counts for count in group]]

    def over_clusters(values: list[float | None], *, pooled: bool) -> Average:
        interval = over_tasks(counts, pooled=pooled)
        return Average(_mean(values), len(covered), covered, absent, partial or bool(absent), interval)

    return Averages(
        over_questions=Average(
            total.accuracy, total.labelled, *task_names, partial, over_tasks(together, pooled=True)
        ),
        over_tasks=Average(
            total.task_mean, total.tasks_scored, *task_names, partial, over_tasks(together, pooled=False)
        ),
        over_clusters_pooled=over_clusters([group.accuracy for group in clusters], pooled=True),
        over_clusters_task_mean=over_clusters([group.task_mean for group in clusters], pooled=False),
    )


def _split_names(pairs: Iterable[tuple[str, float | None]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names: tuple[list[str], list[str]] = [], []
    for name, accuracy in pairs:
        names[accuracy is None].append(str(name))
    return tuple(names[0]), tuple(names[1])


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
