"""A pause for everybody at one endpoint, and the care behind it: one after another, faster and faster.

After a long pause the n-th request goes about `_RAMP` / n seconds after the one before, so that their number
grows by half each 40 ms.

Pure: the caller gives the time, seconds of one monotonic clock.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

#: Seconds between the first two requests, as a mean; a tenth of the pause where that is less.
_RAMP = 0.1
#: Care ends when nobody waits so many seconds after the pause.
_CARE_SECONDS = 1.0


class Hold:
    """When requests may go during a pause and behind it.

    Args:
        rng: spreads the requests.
    """

    __slots__ = ("_count", "_next", "_rng", "_step", "_until")

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._until = -math.inf
        self._next: float | None = None  # when the next may go; None without care
        self._step, self._count = _RAMP, 0

    @property
    def is_careful(self) -> bool:
        """Whether requests are held back, or spaced since they were."""
        return self._next is not None

    def is_on(self, now: float) -> bool:
        """Whether the pause lasts."""
        return now < self._until

    def begin(self, seconds: float, now: float) -> bool:
        """Pause for at least so many seconds from now; whether that is longer than before."""
        if now + seconds <= self._until:
            return False
        self._until = now + seconds
        self._step = min(_RAMP, seconds / 10)
        self._next = self._until + self._rng.uniform(0, self._step)
        self._count = 0
        return True

    def wait(self, now: float) -> float:
        """Seconds until the next request may go."""
        return 0.0 if self._next is None else max(0.0, self._next - now)

    def grant(self, now: float, *, lag: float, is_waited_for: bool) -> None:
        """A request goes now.

        Args:
            now: the time.
            lag: seconds that the schedule may be behind and catch up.
            is_waited_for: whether others wait.
        """
        if self._next is None:
            return
        if not is_waited_for and now >= self._until + _CARE_SECONDS:
            self._next = None
            return
        self._count += 1
        after = max(self._next, now - lag)
        self._next = after + self._rng.uniform(0.5, 1.5) * self._step / self._count
