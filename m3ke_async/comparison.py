"""What a comparison of runs came to, ready for reports and JSON. Computed in compare.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from m3ke_async.intervals import wilson
from m3ke_async.paired import SIGNIFICANT

if TYPE_CHECKING:
    from m3ke_async.intervals import Interval

COMPARISON_VERSION = 1


class Verdict(StrEnum):
    """Which of two runs is better, where that can be seen."""

    FIRST = "first"
    SECOND = "second"
    NONE = "no difference seen"


@dataclass(frozen=True, slots=True)
class Paired:
    """The labelled questions of a group that both runs have a reply to.

    Attributes:
        name: of the cluster or level, or `all`.
        both, first_only, second_only, neither: questions by which run has them right.
        p: of the exact McNemar test.
        p_adjusted: the same by Holm, among the clusters, among the levels, or among the pairs of runs.
        interval: 95 %, of `difference`; None where no question tells the runs apart.
        least: the difference that would have been seen four times in five; None where none would.
    """

    name: str
    both: int
    first_only: int
    second_only: int
    neither: int
    p: float
    p_adjusted: float
    interval: Interval | None
    least: float | None

    @property
    def n(self) -> int:
        """Questions."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def accuracies(self) -> tuple[float, float]:
        """Of the two runs on these questions."""
        return (self.both + self.first_only) / self.n, (self.both + self.second_only) / self.n

    @property
    def difference(self) -> float:
        """The second accuracy less the first."""
        return (self.second_only - self.first_only) / self.n

    @property
    def verdict(self) -> Verdict:
        """Which run is better, by `p_adjusted`."""
        if self.p_adjusted >= SIGNIFICANT:
            return Verdict.NONE
        return Verdict.SECOND if self.second_only > self.first_only else Verdict.FIRST

    def to_json(self) -> dict[str, Any]:
        """The counts and all that follows from them."""
        return asdict(self) | {
            "n": self.n,
            "accuracies": self.accuracies,
            "difference": self.difference,
            "verdict": self.verdict.value,
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """The questions of a task, or all, where both runs chose a letter.

    Attributes:
        name: of the task, or `all`.
        n: questions where both chose a letter.
        same: of these, with one and the same letter.
        kappa: Cohen's; None where chance alone explains everything.
        without: further questions with a reply from both, where at least one chose no letter.
    """

    name: str
    n: int
    same: int
    kappa: float | None
    without: int

    @property
    def share(self) -> float | None:
        """Of the questions where both chose a letter, those with the same one."""
        return self.same / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval around `share`."""
        return wilson(self.same, self.n) if self.n else None

    def to_json(self) -> dict[str, Any]:
        """The counts and all that follows from them."""
        return asdict(self) | {"share": self.share, "interval": self.interval}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two of the runs.

    Attributes:
        first, second: their numbers, from 1.
        shared: questions that both have a reply to; all below is about these.
        left_out: questions that only one of them has a line for, or that failed in one.
        total: None where no right letter is known.
        clusters, levels: those with labelled questions.
        agreement: of all shared questions.
        tasks: the same by task.
    """

    first: int
    second: int
    shared: int
    left_out: int
    total: Paired | None
    clusters: tuple[Paired, ...]
    levels: tuple[Paired, ...]
    agreement: Agreement
    tasks: tuple[Agreement, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything."""
        return {
            "first": self.first,
            "second": self.second,
            "shared": self.shared,
            "left_out": self.left_out,
            "total": self.total.to_json() if self.total else None,
            "clusters": [group.to_json() for group in self.clusters],
            "levels": [group.to_json() for group in self.levels],
            "agreement": self.agreement.to_json(),
            "tasks": [task.to_json() for task in self.tasks],
        }


@dataclass(frozen=True, slots=True)
class Disputed:
    """A question to which the runs chose different letters; `choices` in the order of the runs."""

    task: str
    id: int | str
    choices: tuple[str | None, ...]
    key: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs or more; the first one is compared with each of the others.

    Attributes:
        runs: name and model of each.
        unlike: why they do not ask the same, where they were compared all the same.
        notes: what else differs, and what makes a run unfit.
        pairs: the first run with each of the others.
        fleiss: Fleiss' kappa of all runs, over `fleiss_n` questions where all chose a letter; None for two.
        fleiss_n: those questions.
        disputed: questions with different letters, those with the fewest agreeing runs first.
    """

    runs: tuple[tuple[str, str], ...]
    unlike: tuple[str, ...]
    notes: tuple[str, ...]
    pairs: tuple[Pair, ...]
    fleiss: float | None
    fleiss_n: int
    disputed: tuple[Disputed, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything, for `--json`."""
        return {
            "version": COMPARISON_VERSION,
            "runs": [{"name": name, "model": model} for name, model in self.runs],
            "unlike": list(self.unlike),
            "notes": list(self.notes),
            "pairs": [pair.to_json() for pair in self.pairs],
            "fleiss_kappa": self.fleiss,
            "fleiss_n": self.fleiss_n,
            "disputed": [asdict(question) for question in self.disputed],
        }
