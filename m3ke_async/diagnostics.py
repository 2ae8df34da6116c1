"""What a run tells of itself without right answers: favourite letters and lengths, and who answered."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from math import erfc, exp, pi, sqrt
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from m3ke_async.intervals import wilson
from m3ke_async.suite import LETTERS
from m3ke_async.wire.letters import outside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.intervals import Interval
    from m3ke_async.suite import Question

#: Five are expected of each letter, the usual least for a chi-square test.
_ENOUGH_LETTERS = 20


@dataclass(frozen=True, slots=True)
class Evenness:
    """Pearson's chi-square test of letters against a quarter each, on three degrees of freedom.

    Source: K. Pearson, Philosophical Magazine 50 (1900).
    """

    chi_square: float
    p: float


def evenness(letters: Mapping[str, int]) -> Evenness | None:
    """The test of these counts of A to D; None for fewer than twenty letters."""
    n = sum(letters.values())
    if n < _ENOUGH_LETTERS:
        return None
    expected = n / len(LETTERS)
    found = sum((letters[letter] - expected) ** 2 for letter in LETTERS) / expected
    # the upper tail of chi-square, which has a closed form on three degrees of freedom
    return Evenness(found, erfc(sqrt(found / 2)) + sqrt(2 * found / pi) * exp(-found / 2))


#: Whether an option is chosen, and whether it is right; None where the right letter is not known.
_Pick: TypeAlias = tuple[bool, bool | None]


@dataclass(frozen=True, slots=True)
class Picks:
    """How often an option of some kind is chosen where there is one, or is the right one.

    Attributes:
        n: questions that have such an option and a chosen letter.
        chosen: of these, questions where it is chosen.
        labelled: of these, questions whose right letter is known.
        right: of the labelled ones, questions where it is right.
    """

    n: int = 0
    chosen: int = 0
    labelled: int = 0
    right: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.chosen <= self.n or not 0 <= self.right <= self.labelled <= self.n:
            raise ValueError("the counts of long or short options do not add up")

    @property
    def share(self) -> float | None:
        """Of the choices; a quarter by chance."""
        return self.chosen / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval around `share`."""
        return wilson(self.chosen, self.n) if self.n else None

    @property
    def right_share(self) -> float | None:
        """How often it is the right one."""
        return self.right / self.labelled if self.labelled else None

    @classmethod
    def counted(cls, cells: Counter[_Pick]) -> Self:
        """From how often each kind of pick was made."""
        return cls(
            cells.total(),
            sum(n for (chosen, _), n in cells.items() if chosen),
            sum(n for (_, right), n in cells.items() if right is not None),
            sum(n for (_, right), n in cells.items() if right),
        )

    def to_json(self) -> dict[str, Any]:
        """The counts and what follows from them."""
        shares = {"share": self.share, "interval": self.interval, "right_share": self.right_share}
        return asdict(self) | shares


@dataclass(frozen=True, slots=True)
class Served:
    """Who answered, by the replies' own words, and how often."""

    model: str | None
    fingerprint: str | None
    replies: int

    def __post_init__(self) -> None:
        if self.replies < 1 or not all(
            isinstance(name or "", str) for name in (self.model, self.fingerprint)
        ):
            raise ValueError("who answered is not told as it should be")


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Findings that need the questions and the replies themselves.

    Attributes:
        longest: questions where one option is longer than all others.
        shortest: questions where one option is shorter than all others.
        served: models and fingerprints that the replies name, the most frequent first.
        outside: the probability that is on no letter where answers begin, as a mean over the replies that
            come with probabilities; None where none does.
        examples: how many prompts had how many examples; empty where that is not known.
    """

    longest: Picks
    shortest: Picks
    served: tuple[Served, ...]
    outside: float | None = None
    examples: Mapping[int, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As it stands in scores.json."""
        return {
            "longest": self.longest.to_json(),
            "shortest": self.shortest.to_json(),
            "served": [asdict(one) for one in self.served],
            "outside": self.outside,
            "examples": {str(shots): n for shots, n in self.examples.items()},
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """What `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: where it is something else.
        """
        counts = ("n", "chosen", "labelled", "right")
        longest, shortest = (
            Picks(*(value[name][count] for count in counts)) for name in ("longest", "shortest")
        )
        served = tuple(Served(**one) for one in value["served"])
        examples = {int(shots): int(n) for shots, n in dict(value.get("examples", {})).items()}
        return cls(longest, shortest, served, value.get("outside"), examples)


class Diagnosis:
    """Collects what `Diagnostics` tells; its size does not depend on how many questions there are."""

    __slots__ = ("_examples", "_longest", "_outside", "_served", "_shortest", "_with_letters")

    def __init__(self) -> None:
        self._longest: Counter[_Pick] = Counter()
        self._shortest: Counter[_Pick] = Counter()
        self._served: Counter[tuple[str | None, str | None]] = Counter()
        self._outside, self._with_letters = 0.0, 0
        self._examples: Counter[int] = Counter()

    def add_prompt(self, shots: int) -> None:
        """Count a prompt with so many examples."""
        self._examples[shots] += 1

    def add_choice(self, question: Question, choice: str, key: str | None) -> None:
        """Look at the lengths of the options of a question with a chosen letter."""
        lengths = [len(text.strip()) for text in question.options]
        for cells, length in ((self._longest, max(lengths)), (self._shortest, min(lengths))):
            if lengths.count(length) == 1:
                letter = LETTERS[lengths.index(length)]
                cells[choice == letter, None if key is None else key == letter] += 1

    def add_reply(
        self, model: str | None, fingerprint: str | None, letters: tuple[float, ...] | None = None
    ) -> None:
        """Remember who answered, where the reply says it, and add up what is on no letter."""
        if letters is not None:
            self._outside += outside(letters)
            self._with_letters += 1
        if model is not None or fingerprint is not None:
            self._served[model, fingerprint] += 1

    def found(self) -> Diagnostics:
        """All of it."""
        ranked = sorted(self._served.items(), key=lambda item: (-item[1], str(item[0])))
        served = tuple(Served(*who, n) for who, n in ranked)
        mean = round(self._outside / self._with_letters, 6) if self._with_letters else None
        examples = dict(sorted(self._examples.items()))
        return Diagnostics(
            Picks.counted(self._longest), Picks.counted(self._shortest), served, mean, examples
        )
