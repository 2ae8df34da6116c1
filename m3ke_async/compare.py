"""Runs side by side, question by question: paired where the right letter is known, agreement everywhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from m3ke_async.answer import read_answers
from m3ke_async.comparison import Agreement, Comparison, Disputed, Pair, Paired
from m3ke_async.errors import UsageError
from m3ke_async.paired import cohen_kappa, fleiss_kappa, holm, least_difference, mcnemar, resampled
from m3ke_async.repeats import asks_of, majority
from m3ke_async.request import Outcome
from m3ke_async.rundir import find_run
from m3ke_async.suites.layout import load_layout
from m3ke_async.suites.taxonomy import SuiteName
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from m3ke_async.answer import Answer
    from m3ke_async.rundir import RunDir

#: A question: its task, and its id there.
Place: TypeAlias = "tuple[str, int | str]"

#: What makes two runs ask the same.
_SAME = ("suite", "shots", "template", "wording")
#: Of that, what is too long to be shown: a hash, and whole texts.
_LONG = {"suite": "suite or tasks", "wording": "wording of the template"}
#: Settings that a difference follows from, where it has another name.
_CAUSES = {"suite": ("tasks",), "fewshot": ("fewshot", "shots"), "wording": ("template",)}
#: What runs that are compared are about.
_SUBJECT = ("model", "address")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a run made of a question: the letter, the right one where known, and whether a reply came."""

    choice: str | None
    key: str | None
    failed: bool


@dataclass(frozen=True, slots=True)
class Side:
    """One run, as it takes part.

    Attributes:
        name: of its folder.
        model: `provider/model`.
        state: of the run, as in run.json.
        asked: what it asked and how, by name, without the model.
        readings: by question.
        suite: that they are of.
    """

    name: str
    model: str
    state: str
    asked: Mapping[str, Any]
    readings: Mapping[Place, Reading]
    suite: SuiteName = SuiteName.M3KE


def compare_runs(
    *runs: str | Path,
    results: str | Path = "results",
    force: bool = False,
    varied: Collection[str] = (),
    warn: Callable[[str], None] = lambda line: None,
) -> Comparison:
    """Compare the first run on disk with each of the others.

    Args:
        runs: paths of their folders, or their names.
        results: where names are looked up.
        force: whether to compare runs that do not ask the same.
        varied: settings that the runs are meant to differ in, which is not remarked on.
        warn: is told of damaged lines, which are left out.

    Raises:
        UsageError: as of `load_side` and `compare`.
    """
    sides = [load_side(find_run(str(run), str(results)), warn) for run in runs]
    return compare(sides, force=force, varied=varied)


def load_side(directory: RunDir, warn: Callable[[str], None]) -> Side:
    """Read a run's run.json and answers.jsonl.

    Args:
        directory: of the run.
        warn: is told of damaged lines, which are left out.

    Raises:
        UsageError: there is no run, or it has no answers.
    """
    record = directory.record()
    settings, identity = record["settings"], record["identity"]
    readings = _readings(
        read_answers(directory.answers, warn),
        asks_of(rotate=identity.get("rotate", False), samples=identity.get("samples", 1)),
    )
    if not readings:
        raise UsageError(
            f"{directory.path} has no answers: ask first, or write them again with m3ke score RUN"
        )
    how = {"policy": settings.get("policy"), "rules": record["rules"]}
    asked = {name: value for name, value in identity.items() if name not in _SUBJECT} | how
    suite = SuiteName(settings.get("suite", SuiteName.M3KE))  # runs are older than other suites
    return Side(directory.path.name, str(settings.get("model")), str(record["state"]), asked, readings, suite)


def _readings(answers: Iterable[Answer], asks: int) -> dict[Place, Reading]:
    """One reading a question, by majority where it was asked more than once; none where an ask is missing."""
    readings: dict[Place, Reading] = {}
    for (task, id_), group in groupby(answers, attrgetter("task", "id")):
        asked = list(group)
        if len(asked) == asks:
            outcome, choice = majority([(answer.outcome, answer.choice) for answer in asked])
            readings[task, id_] = Reading(choice, asked[0].key, outcome is Outcome.FAILED)
    return readings


def compare(sides: Sequence[Side], *, force: bool = False, varied: Collection[str] = ()) -> Comparison:
    """Compare the first run with each of the others.

    Args:
        sides: two runs or more.
        force: whether to compare runs that do not ask the same.
        varied: settings that the runs are meant to differ in, which is not remarked on.

    Raises:
        UsageError: fewer than two runs, runs that do not ask the same, runs of different splits, runs without
            a common question, or different right letters to one question.
    """
    if len(sides) < 2:
        raise UsageError("give two runs or more to compare")
    # Every split counts its ids from 0: a key of one would mark the answers to other questions.
    splits = [str(side.asked.get("split")) for side in sides]
    if len(set(splits)) > 1:
        raise UsageError(
            f"the runs differ in split ({', '.join(splits)}), and have no question in common; "
            "compare runs of one split"
        )
    unlike = _differences(sides, varied, same=True)
    if unlike and not force:
        raise UsageError(
            f"the runs differ in {', '.join(unlike)}; --force compares the questions of equal task and id"
        )
    keys = _keys(sides)
    pairs = [_pair(sides, number, keys) for number in range(1, len(sides))]
    together = [replies for place in sides[0].readings if (replies := _letters(sides, place)) is not None]
    several = len(sides) > 2
    return Comparison(
        runs=tuple((side.name, side.model) for side in sides),
        unlike=tuple(unlike),
        notes=(*_differences(sides, varied, same=False), *_unfit(sides)),
        pairs=tuple(_adjusted(pairs)),
        fleiss=fleiss_kappa(map(Counter, together), len(sides)) if several else None,
        fleiss_n=len(together) if several else 0,
        disputed=tuple(_disputed(sides, keys)),
    )


def _differences(sides: Sequence[Side], varied: Collection[str], *, same: bool) -> list[str]:
    """In what the runs differ: what makes them ask the same, or all else; a phrase each."""
    names = dict.fromkeys(name for side in sides for name in side.asked)
    lines = []
    for name in names:
        values = [side.asked.get(name) for side in sides]
        if (name in _SAME) != same or all(value == values[0] for value in values) or _is_meant(name, varied):
            continue
        if name in _LONG:
            apart = [str(number) for number, value in enumerate(values, 1) if value != values[0]]
            lines.append(f"{_LONG[name]} (run {', '.join(apart)} not as run 1)")
        else:
            shown = (one_line(str(value), limit=60) for value in values)
            lines.append(f"{name.replace('_', '-')} ({', '.join(shown)})")
    return lines


def _is_meant(name: str, varied: Collection[str]) -> bool:
    if name == "suite" and "data" in varied:
        return False  # equal ids of two suites are other questions
    return any(cause in varied for cause in _CAUSES.get(name, (name,)))


def _unfit(sides: Sequence[Side]) -> list[str]:
    return [
        f"run {number} is {side.state}: questions without a reply are left out"
        for number, side in enumerate(sides, 1)
        if side.state != "complete"
    ]


def _keys(sides: Sequence[Side]) -> dict[Place, str]:
    """The right letters that any of the runs knows."""
    keys: dict[Place, str] = {}
    for number, side in enumerate(sides, 1):
        for place, reading in side.readings.items():
            if reading.key is not None and keys.setdefault(place, reading.key) != reading.key:
                task, id_ = place
                raise UsageError(
                    f"run {number} has {reading.key} as the right answer to {id_} of {task}, another run "
                    f"{keys[place]}: they asked other questions, or were scored with other keys"
                )
    return keys


def _pair(sides: Sequence[Side], number: int, keys: Mapping[Place, str]) -> Pair:
    one, other = sides[0].readings, sides[number].readings
    shared = [
        place
        for place, reading in one.items()
        if place in other and not (reading.failed or other[place].failed)
    ]
    if not shared:
        raise UsageError(
            f"runs 1 and {number + 1} have no question in common that both have a reply to; "
            "compare runs that ask the same, once both have begun"
        )
    by_task: dict[str, list[Place]] = {}
    right: dict[str, Counter[tuple[bool, bool]]] = {}
    for place in shared:
        by_task.setdefault(place[0], []).append(place)
        if (key := keys.get(place)) is not None:
            counts = right.setdefault(place[0], Counter())
            counts[one[place].choice == key, other[place].choice == key] += 1
    layout = load_layout(sides[0].suite)
    groups = {task: layout.task(task) for task in right}

    def pooled(tasks: Iterable[str]) -> Counter[tuple[bool, bool]]:
        return sum((right[task] for task in tasks), Counter())

    clusters = {
        str(cluster): pooled(task for task, place in groups.items() if place.cluster == cluster)
        for cluster in layout.taxonomy.clusters
    }
    levels = {
        str(level): pooled(task for task, place in groups.items() if place.level == level)
        for level in layout.taxonomy.levels
    }
    total = pooled(right)
    return Pair(
        first=1,
        second=number + 1,
        shared=len(shared),
        left_out=len(one.keys() | other.keys()) - len(shared),
        total=_paired("all", total) if total else None,
        clusters=_family(clusters),
        levels=_family(levels),
        agreement=_agreement("all", shared, one, other),
        tasks=tuple(_agreement(task, places, one, other) for task, places in by_task.items()),
    )


def _paired(name: str, counts: Counter[tuple[bool, bool]]) -> Paired:
    n, first, second = counts.total(), counts[True, False], counts[False, True]
    p = mcnemar(first, second)
    interval, least = resampled(first, second, n), least_difference(first + second, n)
    return Paired(name, counts[True, True], first, second, counts[False, False], p, p, interval, least)


def _family(groups: Mapping[str, Counter[tuple[bool, bool]]]) -> tuple[Paired, ...]:
    """Groups that are tested together, so that Holm's correction is among them."""
    tested = [_paired(name, counts) for name, counts in groups.items() if counts]
    return tuple(
        replace(one, p_adjusted=p) for one, p in zip(tested, holm([one.p for one in tested]), strict=True)
    )


def _adjusted(pairs: Sequence[Pair]) -> list[Pair]:
    """The same pairs, their overall tests corrected for being several."""
    chances = iter(holm([pair.total.p for pair in pairs if pair.total]))
    return [
        replace(pair, total=replace(pair.total, p_adjusted=next(chances))) if pair.total else pair
        for pair in pairs
    ]


def _agreement(
    name: str, places: Iterable[Place], one: Mapping[Place, Reading], other: Mapping[Place, Reading]
) -> Agreement:
    letters: Counter[tuple[str, str]] = Counter()
    without = 0
    for place in places:
        first, second = one[place].choice, other[place].choice
        if first is None or second is None:
            without += 1
        else:
            letters[first, second] += 1
    same = sum(count for (first, second), count in letters.items() if first == second)
    return Agreement(name, letters.total(), same, cohen_kappa(letters), without)


def _letters(sides: Sequence[Side], place: Place) -> list[str] | None:
    """What all runs chose; None where one of them has no letter."""
    found = [side.readings[place].choice for side in sides if place in side.readings]
    letters = [letter for letter in found if letter is not None]
    return letters if len(letters) == len(sides) else None


def _disputed(sides: Sequence[Side], keys: Mapping[Place, str]) -> list[Disputed]:
    """The fewest agreeing runs first, and of equal ones those of the task with the largest share of them."""
    found = []
    places = dict.fromkeys(place for side in sides for place in side.readings)
    for place in places:
        readings = [side.readings.get(place) for side in sides]
        choices = tuple(reading.choice if reading else None for reading in readings)
        if len({letter for letter in choices if letter is not None}) > 1:
            found.append(Disputed(*place, choices, keys.get(place)))
    asked, disputed = Counter(task for task, _ in places), Counter(question.task for question in found)
    return sorted(
        found,
        key=lambda question: (_agreeing(question.choices), -disputed[question.task] / asked[question.task]),
    )


def _agreeing(choices: Iterable[str | None]) -> int:
    """Pairs of runs with the same letter."""
    return sum(one == other for one, other in combinations(filter(None, choices), 2))
