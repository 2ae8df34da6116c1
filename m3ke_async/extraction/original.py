"""Where each character of a shortened text stood in the text that it came from."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Cuts:
    """The stretches that were taken out of a text.

    Attributes:
        places: where in the shortened text each cut lies, ascending.
        shifts: how many characters are gone in all up to and with each cut.
    """

    places: tuple[int, ...] = ()
    shifts: tuple[int, ...] = ()

    def origin(self, place: int) -> int:
        """Where the character at `place` of the shortened text stood."""
        before = bisect_right(self.places, place)
        return place + self.shifts[before - 1] if before else place


_NONE = Cuts()


def without(text: str, stretches: Sequence[tuple[int, int]], *, mark: str = "") -> tuple[str, Cuts]:
    """The text without the stretches (ascending, apart), each replaced by `mark`, and the way back."""
    if not stretches:
        return text, _NONE
    pieces: list[str] = []
    places: list[int] = []
    gone: list[int] = []
    place = length = 0
    for start, end in stretches:
        pieces += [text[place:start], mark]
        length += start - place + len(mark)
        places.append(length)
        gone.append(end - start - len(mark))
        place = end
    pieces.append(text[place:])
    return "".join(pieces), Cuts(tuple(places), tuple(accumulate(gone)))
