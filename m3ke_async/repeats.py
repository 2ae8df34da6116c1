"""Questions that are asked several times: one answer by majority, and how far the answers agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from m3ke_async.diagnostics import evenness
from m3ke_async.intervals import wilson
from m3ke_async.request import Outcome
from m3ke_async.rotation import ROTATIONS, shown_letter
from m3ke_async.suite import LETTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.answer import Answer
    from m3ke_async.diagnostics import Evenness
    from m3ke_async.intervals import Interval


def asks_of(*, rotate: bool, samples: int) -> int:
    """How often a run with these settings asks each question."""
    return (ROTATIONS if rotate else 1) * samples


def majority(asked: Sequence[tuple[Outcome, str | None]]) -> tuple[Outcome, str | None]:
    """What all asks of a question come to.

    The letter that most of them chose; letters that are equally frequent are ambiguous. Where none chose
    a letter, their most frequent outcome. A question of which one ask failed has failed, so that the next
    run completes it.

    Args:
        asked: outcome and letter of each ask, the letters being those of the question itself.
    """
    if len(asked) == 1:
        return asked[0]
    outcomes = Counter(outcome for outcome, _ in asked)
    if outcomes[Outcome.FAILED]:
        return Outcome.FAILED, None
    letters = Counter(letter for _, letter in asked if letter is not None).most_common(2)
    if not letters:
        return min(outcomes, key=lambda outcome: (-outcomes[outcome], list(Outcome).index(outcome))), None
    if len(letters) == 2 and letters[0][1] == letters[1][1]:
        return Outcome.AMBIGUOUS, None
    return Outcome.ANSWERED, letters[0][0]


@dataclass(frozen=True, slots=True)
class Repeats:
    """How the asks of one question agree, over the questions that have a reply to each.

    Attributes:
        rotations: orders of the options, 1 or 4.
        samples: requests an order.
        questions: that have a reply to each ask.
        shown: chosen letters as they stood before the model, over all these asks.
        consistent: questions whose asks all chose one and the same option.
        agreeing: asks that chose what most asks of their question chose.
        labelled: questions whose right letter is known.
        right_asks: asks of these with the right option.
        right_always: of these, questions whose asks all chose the right option.
    """

    rotations: int
    samples: int
    questions: int
    shown: dict[str, int]
    consistent: int
    agreeing: int
    labelled: int
    right_asks: int
    right_always: int

    def __post_init__(self) -> None:
        asked = self.questions * self.asks
        ordered = (
            0 <= self.consistent <= self.questions
            and 0 <= self.agreeing <= asked
            and 0 <= self.right_always <= self.labelled <= self.questions
            and 0 <= self.right_asks <= self.labelled * self.asks
            and min(self.shown[letter] for letter in LETTERS) >= 0
        )
        if not ordered or sum(self.shown.values()) > asked:
            raise ValueError("the counts of questions asked more than once do not add up")

    @property
    def asks(self) -> int:
        """Requests a question."""
        return self.rotations * self.samples

    @property
    def consistency(self) -> float | None:
        """Share of questions with one option throughout."""
        return self.consistent / self.questions if self.questions else None

    @property
    def agreement(self) -> float | None:
        """Share of the asks that chose what most asks of their question chose."""
        return self.agreeing / (self.questions * self.asks) if self.questions else None

    @property
    def accuracy_of_one(self) -> float | None:
        """Accuracy of a single ask, on average."""
        return self.right_asks / (self.labelled * self.asks) if self.labelled else None

    @property
    def accuracy_always(self) -> float | None:
        """Share of questions that are right in every ask; over the four orders that is CircularEval."""
        return self.right_always / self.labelled if self.labelled else None

    @property
    def interval_always(self) -> Interval | None:
        """Wilson's 95 % interval around `accuracy_always`."""
        return wilson(self.right_always, self.labelled) if self.labelled else None

    @property
    def evenness(self) -> Evenness | None:
        """Whether all places were chosen equally often; None without the four orders or with several samples.

        Samples of one order are alike, and a test that takes them for independent sees what is not there.
        """
        return evenness(self.shown) if self.rotations > 1 and self.samples == 1 else None

    def to_json(self) -> dict[str, Any]:
        """The counts and what follows from them."""
        spread = self.evenness
        return asdict(self) | {
            "asks": self.asks,
            "consistency": self.consistency,
            "agreement": self.agreement,
            "accuracy_of_one": self.accuracy_of_one,
            "accuracy_always": self.accuracy_always,
            "interval_always": self.interval_always,
            "evenness": asdict(spread) if spread else None,
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """What `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: where it is something else.
        """
        return cls(**{field.name: value[field.name] for field in fields(cls)})


class RepeatCounts:
    """Counts questions one after another into `Repeats`."""

    __slots__ = ("_counts", "_rotations", "_samples", "_shown")

    def __init__(self, rotations: int, samples: int) -> None:
        self._rotations, self._samples = rotations, samples
        self._shown = dict.fromkeys(LETTERS, 0)
        self._counts: Counter[str] = Counter()

    def add(self, asked: Sequence[Answer]) -> None:
        """Count a question with all its asks."""
        if any(answer.outcome is Outcome.FAILED for answer in asked):
            return
        letters = Counter(answer.choice for answer in asked if answer.choice is not None)
        most = max(letters.values(), default=0)
        counts = self._counts
        counts["questions"] += 1
        counts["consistent"] += most == len(asked)
        counts["agreeing"] += most
        for answer in asked:
            if answer.choice is not None:
                self._shown[shown_letter(answer.choice, answer.rotation or 0)] += 1
        if (key := asked[0].key) is not None:
            counts["labelled"] += 1
            counts["right_asks"] += letters[key]
            counts["right_always"] += letters[key] == len(asked)

    def found(self) -> Repeats:
        """All of it."""
        names = ("questions", "consistent", "agreeing", "labelled", "right_asks", "right_always")
        return Repeats(
            rotations=self._rotations,
            samples=self._samples,
            shown=dict(self._shown),
            **{name: self._counts[name] for name in names},
        )
