"""What refusals for the rate teach: whether they repeat, and whether holding everybody back is of any use.

One refusal among answers is its own request's affair: pausing everybody for each made a run with 2.5 % of
them 1.6 times longer (measured). And refusals need not be about the rate: some servers refuse every first
try, or so many at random, and a hold changes nothing there.

Pure: the caller gives the time, seconds of one monotonic clock, and counts the sends.
"""

from __future__ import annotations

import math
from collections import deque

#: So many of the last refusals are remembered by the number of their send.
REMEMBERED = 64
#: Refusals repeat when half of so many last sends were refused.
_ROW = 8
#: Seconds of a first hold where the server names no wait; doubled for each further one without an answer.
_HOLD, _LONGEST_HOLD = 1.0, 20.0
#: A hold that answers ended, but after which refusals repeat within so many sends, is of no use. After so
#: many such holds in a row nobody is held back for so many seconds, as long as questions get through: of so
#: many refusals no more than this share was of a third try or a later one.
_SOON, _USELESS, _FREE_SECONDS, _LATE_TRIES_AMONG, _LATE_TRIES = 24, 3, 30.0, 32, 0.2


class Refusals:
    """The refusals of one endpoint; sends are known by their number, from 1."""

    __slots__ = (
        "_answers",
        "_free_until",
        "_late_tries",
        "_next_hold",
        "_refused",
        "_sent_before_hold",
        "_useless_holds",
    )

    def __init__(self) -> None:
        self._refused: deque[float] = deque(maxlen=REMEMBERED)
        self._late_tries: deque[bool] = deque(maxlen=_LATE_TRIES_AMONG)
        self._next_hold = _HOLD / 2  # the first is doubled, too
        self._answers = self._useless_holds = 0
        self._sent_before_hold = self._free_until = -math.inf

    def add_answer(self) -> None:
        """A request was not refused."""
        self._answers += 1

    def add(self, number: float, tries: int) -> None:
        """The send of this number was refused, which had been tried so many times before."""
        self._refused.append(number)
        self._late_tries.append(tries >= 2)

    def among(self, sends: float, number: float) -> int:
        """Refusals among the last `sends` sends up to this one."""
        return sum(number - sends < other <= number for other in self._refused)

    def repeat(self, number: float) -> bool:
        """Whether so many of the last sends up to this one were refused that it is not their own affair."""
        return 2 * self.among(_ROW, number) >= min(_ROW, number)

    @property
    def holds_help(self) -> bool:
        """Whether holds have been of use, as far as is known."""
        return self._useless_holds == 0

    def is_free(self, now: float) -> bool:
        """Whether nobody is to be held back, because holds were seen to be of no use."""
        late = sum(self._late_tries) > _LATE_TRIES * len(self._late_tries)
        return now < self._free_until and not late

    def next_hold(self, wait: float | None, number: float, *, sent: float, now: float) -> float | None:
        """Seconds to hold everybody back after refusals that repeat; None for not at all.

        Args:
            wait: what the server asks for, in seconds; None where it does not say.
            number: of the send that was refused last.
            sent: how many were sent up to now.
            now: the time.
        """
        if self._useless_holds >= _USELESS:
            self._useless_holds, self._free_until = 1, now + _FREE_SECONDS
        if wait is None and self.is_free(now):
            self._sent_before_hold = sent
            return None
        if not self._answers:
            self._next_hold = min(2 * self._next_hold, _LONGEST_HOLD)
        else:
            self._next_hold = _HOLD
            soon = number - self._sent_before_hold <= _SOON
            self._useless_holds = max(0, self._useless_holds + (1 if soon else -1))
        self._answers = 0
        self._sent_before_hold = sent
        return self._next_hold if wait is None else wait
