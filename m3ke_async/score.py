"""Answers to scores, in one pass: the memory is by task, never by question."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from m3ke_async.answer import Answer
from m3ke_async.diagnostics import Diagnostics
from m3ke_async.errors import DataError
from m3ke_async.repeats import RepeatCounts, Repeats, asks_of, majority
from m3ke_async.request import Outcome
from m3ke_async.rotation import ROTATIONS
from m3ke_async.shard import WHOLE, Shard
from m3ke_async.statistics import Averages, GroupScore, TaskScore, averages, pool
from m3ke_async.suite import LETTERS, Split
from m3ke_async.suites.taxonomy import M3KE, Taxonomy
from m3ke_async.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from m3ke_async.suite import Task

__all__ = ["Answer", "Scores", "UsageTotal", "score"]

#: Stands in scores.json; another form gets another number.
SCORES_VERSION = 2

_OTHER_FORM = "not written by this version; write it again with: m3ke score RUN"


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """Tokens and time of all replies; a sum is None where no reply reported it.

    Attributes:
        replies: answers with a reply, whatever is in it.
        attempts: requests sent, retries included.
        prompt_tokens: sum.
        completion_tokens: sum.
        cached_tokens: sum, of the prompt tokens.
        reasoning_tokens: sum, of the completion tokens.
        cached_share: cached tokens over the prompt tokens of the replies that report cached tokens.
        latency_mean: seconds.
    """

    replies: int
    attempts: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    cached_share: float | None
    latency_mean: float | None


class _UsageSums:
    """Sums that grow answer by answer; whole numbers only, so that their order cannot matter."""

    __slots__ = ("attempts", "cached_of", "microseconds", "replies", "sums", "timed")

    def __init__(self) -> None:
        self.replies = self.attempts = self.cached_of = self.microseconds = self.timed = 0
        self.sums: dict[str, int] = {}

    def add(self, answer: Answer) -> None:
        usage, sums = answer.usage, self.sums
        self.attempts += answer.attempts
        if answer.reply is not None:
            self.replies += 1
        if answer.latency is not None:
            self.timed += 1
            self.microseconds += round(answer.latency * 1_000_000)
        if (tokens := usage.prompt_tokens) is not None:
            sums["prompt_tokens"] = sums.get("prompt_tokens", 0) + tokens
        if (tokens := usage.completion_tokens) is not None:
            sums["completion_tokens"] = sums.get("completion_tokens", 0) + tokens
        if (tokens := usage.cached_tokens) is not None:
            sums["cached_tokens"] = sums.get("cached_tokens", 0) + tokens
            self.cached_of += usage.prompt_tokens or 0
        if (tokens := usage.reasoning_tokens) is not None:
            sums["reasoning_tokens"] = sums.get("reasoning_tokens", 0) + tokens

    def total(self) -> UsageTotal:
        cached = self.sums.get("cached_tokens")
        return UsageTotal(
            replies=self.replies,
            attempts=self.attempts,
            prompt_tokens=self.sums.get("prompt_tokens"),
            completion_tokens=self.sums.get("completion_tokens"),
            cached_tokens=cached,
            reasoning_tokens=self.sums.get("reasoning_tokens"),
            cached_share=None if cached is None or not self.cached_of else cached / self.cached_of,
            latency_mean=self.microseconds / self.timed / 1_000_000 if self.timed else None,
        )


@dataclass(frozen=True, slots=True)
class Scores:
    """Every number that the reports show.

    Attributes:
        split: what was asked.
        limit: questions asked per task at most; None is all.
        tasks: by name; the suite's tasks that a selection leaves out are here with 0 asked.
        taxonomy: what the suite divides its tasks into.
        clusters: by cluster, those that the suite has, in the order of the published tables.
        levels: by level, those that the suite has, from primary school up.
        total: all questions pooled.
        averages: the four averages.
        usage: tokens and time.
        diagnostics: what questions and replies tell besides; None where only the answers were at hand.
        repeats: how the asks of a question agree; None where each question is asked once.
    """

    split: Split
    limit: int | None
    taxonomy: Taxonomy
    tasks: dict[str, TaskScore]
    clusters: dict[str, GroupScore]
    levels: dict[str, GroupScore]
    total: GroupScore
    averages: Averages
    usage: UsageTotal
    diagnostics: Diagnostics | None = None
    repeats: Repeats | None = None

    def shots(self, wanted: int) -> int:
        """Examples that prompts had at most, by which a run is called; as wanted where that is not known."""
        return max(self.diagnostics.examples if self.diagnostics else (), default=wanted)

    def to_json(self) -> dict[str, Any]:
        """The content of scores.json."""
        return {
            "version": SCORES_VERSION,
            "split": self.split,
            "limit": self.limit,
            # M3KE's scores.json is older than other suites.
            **({} if self.taxonomy == M3KE else {"suite": self.taxonomy.to_json()}),
            "total": self.total.to_json(),
            "averages": asdict(self.averages),
            "clusters": {str(cluster): group.to_json() for cluster, group in self.clusters.items()},
            "levels": {str(level): group.to_json() for level, group in self.levels.items()},
            "tasks": {name: task.to_json() for name, task in self.tasks.items()},
            "usage": asdict(self.usage),
            "diagnostics": self.diagnostics.to_json() if self.diagnostics else None,
            "repeats": self.repeats.to_json() if self.repeats else None,
        }

    @classmethod
    def from_json(cls, value: Any, *, file: str | Path | None = None) -> Scores:
        """The scores that `to_json` wrote; groups and averages are computed again from the tasks.

        Raises:
            DataError: where it is of another version, damaged, or its counts do not add up.
        """
        try:
            if value["version"] != SCORES_VERSION:
                raise DataError(_OTHER_FORM, file=file)
            tasks = [TaskScore.from_json(task) for task in value["tasks"].values()]
            scores = _assemble(
                Split(value["split"]),
                value["limit"],
                Taxonomy.from_json(value["suite"]) if "suite" in value else M3KE,
                tasks,
                UsageTotal(**value["usage"]),
            )
            told, repeats = value["diagnostics"], value["repeats"]
            return replace(
                scores,
                diagnostics=None if told is None else Diagnostics.from_json(told),
                repeats=None if repeats is None else Repeats.from_json(repeats),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{_OTHER_FORM} ({one_line(str(error))})", file=file) from None


def score(
    tasks: Iterable[Task],
    answers: Iterable[Answer],
    *,
    split: Split,
    selected: Collection[str] | None = None,
    limit: int | None = None,
    taxonomy: Taxonomy = M3KE,
    rotate: bool = False,
    samples: int = 1,
    shard: Shard = WHOLE,
    left_out: Mapping[str, Collection[object]] | None = None,
) -> Scores:
    """Count the answers, in any order, each question once.

    Where a question is asked more than once its answers stand side by side; it counts by their majority, and
    as missing while one of them is.

    Args:
        tasks: all tasks of the suite, so that an average over a part of them is known to be partial.
        answers: the run's answers; read once, none is kept.
        split: what was asked.
        selected: names of the tasks that the run asks; None is all.
        limit: questions asked per task at most; None is all.
        taxonomy: of the suite.
        rotate: whether each question is asked in the four orders of its options.
        samples: how often each of these is asked.
        shard: which of the questions within the limit are asked.
        left_out: of these, questions that are not asked, by task.

    Raises:
        DataError: where an answer belongs to another task or split, or where a task has more answers than
            questions.
    """
    present = [task for task in tasks if task.sizes.get(split, 0)]
    cells: dict[str, dict[_Cell, int]] = {task.name: {} for task in present}
    sums, counted = _UsageSums(), RepeatCounts(ROTATIONS if rotate else 1, samples)
    asks = asks_of(rotate=rotate, samples=samples)
    for asked in _by_question(answers, asks):
        first = asked[0]
        counts = cells.get(first.task)
        if counts is None or first.split != split:
            raise DataError(f"an answer to {one_line(first.task)}, {first.split}, is not of this run")
        for answer in asked:
            sums.add(answer)
        if len(asked) < asks:
            continue
        if asks > 1:
            counted.add(asked)
            cell = (*majority([(answer.outcome, answer.choice) for answer in asked]), first.key)
        else:
            cell = (first.outcome, first.choice, first.key)
        counts[cell] = counts.get(cell, 0) + 1
    scored = []
    for task in present:
        size = task.sizes[split]
        wanted = shard.size(task.name, size if limit is None else min(size, limit))
        wanted -= len((left_out or {}).get(task.name, ()))
        chosen = wanted if selected is None or task.name in selected else 0
        scored.append(_task_score(task, split, chosen, cells[task.name]))
    scores = _assemble(split, limit, taxonomy, scored, sums.total())
    return replace(scores, repeats=counted.found() if asks > 1 else None)


def _by_question(answers: Iterable[Answer], asks: int) -> Iterator[Sequence[Answer]]:
    """The answers to one question after another."""
    if asks == 1:
        yield from ((answer,) for answer in answers)
        return
    for (task, id_), group in groupby(answers, attrgetter("task", "id")):
        asked = tuple(group)
        if len(asked) > asks:
            raise DataError(
                f"{len(asked)} answers to question {id_} of {one_line(task)}, which was asked {asks} times;"
                " write them again with: m3ke score RUN"
            )
        yield asked


#: Outcome, choice and key: at most 7 x 5 x 5 of them per task, however many answers there are.
_Cell = tuple[Outcome, str | None, str | None]


def _task_score(task: Task, split: Split, asked: int, cells: dict[_Cell, int]) -> TaskScore:
    outcomes, letters = dict.fromkeys(Outcome, 0), dict.fromkeys(LETTERS, 0)
    labelled = labelled_answered = correct = 0
    for (outcome, choice, key), n in cells.items():
        outcomes[outcome] += n
        if choice is not None:
            letters[choice] += n
        if key is not None:
            labelled += n
            if choice is not None:
                labelled_answered += n
                correct += n * (choice == key)
    lines = sum(outcomes.values())
    if lines > asked:
        raise DataError(
            f"{task.name} has {counted(lines, 'answer')} to {counted(asked, 'question')}; "
            "write them again with: m3ke score RUN"
        )
    missing, known = asked - lines, task.labelled.get(split, 0)
    return TaskScore(
        name=task.name,
        size=task.sizes[split],
        asked=asked,
        missing=missing,
        outcomes=outcomes,
        letters=letters,
        labelled=labelled,
        labelled_answered=labelled_answered,
        # More labels than the suite has come from a key file, which may cover the missing ones too.
        labelled_missing=missing if labelled > known else min(missing, known - labelled),
        correct=correct,
        subject=task.subject,
        cluster=task.cluster,
        level=task.level,
    )


def _assemble(
    split: Split, limit: int | None, taxonomy: Taxonomy, tasks: list[TaskScore], usage: UsageTotal
) -> Scores:
    by_cluster = {name: [task for task in tasks if task.cluster == name] for name in taxonomy.clusters}
    by_level = {name: [task for task in tasks if task.level == name] for name in taxonomy.levels}
    for groups, found in ((by_cluster, "cluster"), (by_level, "level")):
        if groups and sum(map(len, groups.values())) < len(tasks):
            raise ValueError(f"a task has no {found} of {taxonomy.title}")
    clusters = {cluster: pool(cluster, group) for cluster, group in by_cluster.items() if group}
    levels = {level: pool(level, group) for level, group in by_level.items() if group}
    total = pool("all", tasks)
    return Scores(
        split=split,
        limit=limit,
        taxonomy=taxonomy,
        tasks={task.name: task for task in tasks},
        clusters=clusters,
        levels=levels,
        total=total,
        averages=averages(total, tasks, list(clusters.values()), taxonomy),
        usage=usage,
    )
