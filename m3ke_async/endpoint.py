"""One endpoint as the engine sees it: how to reach it, and how much it takes now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from m3ke_async.address import Address
    from m3ke_async.breaker import Breaker
    from m3ke_async.concurrency import AdaptiveConcurrency
    from m3ke_async.faults import Decision
    from m3ke_async.pace import Pace, Reservation
    from m3ke_async.wire.transport import Transport


#: So many failures in a row make an endpoint suspicious, where there is another one to ask.
_ROW = 3


@dataclass(slots=True, eq=False)
class Endpoint:
    """An address with its own pool, pace, concurrency and breaker.

    Attributes:
        active: workers that have a question for it, those who wait for admission included.
        has_replied: whether any reply came from it.
    """

    address: Address
    transport: Transport
    pace: Pace
    concurrency: AdaptiveConcurrency
    breaker: Breaker
    active: int = 0
    has_replied: bool = False

    @property
    def is_well(self) -> bool:
        """Whether its last answers were not failures in a row."""
        return self.breaker.row < _ROW

    def is_open(self, now: float) -> bool:
        """Whether nothing keeps everybody from asking it, neither its breaker nor a wait it named."""
        return self.breaker.wait(now) <= 0 and not self.pace.is_held(now)

    def takes_more(self, now: float) -> bool:
        """Whether one more request may start."""
        return self.active < self.concurrency.limit and self.breaker.wait(now) <= 0

    def begin(self, now: float) -> None:
        """A worker takes it; when the breaker is half-open, this request is its probe."""
        self.active += 1
        self.breaker.allows(now)

    def answered(self, now: float, latency: float) -> None:
        """The server did its part, whatever the answer says."""
        self.pace.answered()
        self.breaker.on_success()
        self.concurrency.on_answer(now, latency, self.active)

    def refused(self, now: float, decision: Decision, reservation: Reservation) -> None:
        """The server did not answer this time."""
        if decision.slow_down:
            if self.pace.refused(decision.wait, reservation):
                self.concurrency.on_refusal(now, self.active)
            elif self.pace.is_free(now):
                self.concurrency.on_vain_refusals()
        else:
            self.pace.answered()
            self.breaker.on_failure(now, self.active)
