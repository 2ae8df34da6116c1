"""The circuit breaker of one endpoint: a dead server is asked by one request at a time.

    CLOSED --- a long row of failures ---> OPEN --- pause over ---> HALF_OPEN (one probe)
      ^                                     ^                          |       |
      |                                     +---- probe fails, longer -+       |
      +------------------------------------------------------- any success ----+
    a fatal answer (key, money, model) opens it for good.

Pure: the caller gives the time, seconds of one monotonic clock.
"""

from __future__ import annotations

import math
from enum import Enum

#: A row opens the breaker when it is this long, longer than what is in flight, and lasts so many seconds. At
#: 5 % random faults 20 in a row come once in 10^26 requests. A server that answers in 30 s and fails at once
#: shows no success for as long, but has most requests still in flight. One that restarts fails all at once.
_ROW, _ROW_SECONDS = 20, 3.0
#: Seconds before the first probe, doubled after each that fails.
_PAUSE, _LONGEST_PAUSE = 5.0, 60.0


class State(Enum):
    """Whether requests may go: all, none, one, none ever again."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"
    FATAL = "fatal"


class Breaker:
    """Counts failures that say something about the endpoint: 5xx, connections, time-outs; not refusals."""

    __slots__ = ("_pause", "_row_since", "_until", "row", "state")

    def __init__(self) -> None:
        self.state = State.CLOSED
        self.row = 0
        self._row_since = 0.0
        self._pause = _PAUSE
        self._until = -math.inf

    def allows(self, now: float) -> bool:
        """Whether a request may go now. While half-open, each yes is the leave of the one probe.

        A probe that ends without a word (its task was cancelled) is replaced after a pause.
        """
        if self.state is State.CLOSED:
            return True
        if self.state is State.FATAL or now < self._until:
            return False
        self.state = State.HALF_OPEN
        self._until = now + self._pause
        return True

    def wait(self, now: float) -> float:
        """Seconds until `allows` may say yes; inf after a fatal answer."""
        if self.state is State.CLOSED:
            return 0.0
        if self.state is State.FATAL:
            return math.inf
        return max(0.0, self._until - now)

    def on_success(self) -> None:
        """The endpoint answered, be it to a request from before the pause."""
        if self.state is not State.FATAL:
            self.state = State.CLOSED
            self.row = 0
            self._pause = _PAUSE

    def on_failure(self, now: float, in_flight: int) -> None:
        """A request failed while `in_flight` others had no reply yet."""
        if self.state is State.HALF_OPEN:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._open(now)
        elif self.state is State.CLOSED:
            if self.row == 0:
                self._row_since = now
            self.row += 1
            if self.row >= max(_ROW, in_flight) and now - self._row_since >= _ROW_SECONDS:
                self._open(now)

    def on_fatal(self) -> None:
        """The endpoint said what no retry can change."""
        self.state = State.FATAL

    def _open(self, now: float) -> None:
        self.state = State.OPEN
        self._until = now + self._pause
