"""One endpoint as the engine sees it: how to reach it, and how much it takes now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from m3ke_async.rules import Kind

if TYPE_CHECKING:
    from m3ke_async.address import Address
    from m3ke_async.breaker import Breaker
    from m3ke_async.concurrency import AdaptiveConcurrency
    from m3ke_async.faults import Decision
    from m3ke_async.pace import Pace, Reservation
    from m3ke_async.wire.transport import Transport


#: Statuses of an address where nothing takes questions, though its neighbour may.
NOTHING_THERE = frozenset({404, 405})

#: So many failures in a row make an endpoint suspicious, where there is another one to ask.
_ROW = 3


@dataclass(slots=True, eq=False)
class Endpoint:
    """An address with its own pool, pace, concurrency and breaker.

    Attributes:
        active: workers that have a question for it, those who wait for admission included.
        has_replied: whether any reply came from it.
        given: its address as it was before it moved.
    """

    address: Address
    transport: Transport
    pace: Pace
    concurrency: AdaptiveConcurrency
    breaker: Breaker
    active: int = 0
    has_replied: bool = False
    given: Address = field(init=False)

    def __post_init__(self) -> None:
        self.given = self.address

    @property
    def is_well(self) -> bool:
        """Whether its last answers were not failures in a row."""
        return self.breaker.row < _ROW

    def move(self, address: Address) -> None:
        """Ask at another address of the same server from now on."""
        self.address = address
        self.transport.move(address)

    def named(self, kind: Kind, route: str = "") -> str:
        """Where a refusal came from: both addresses where nothing is at either."""
        moved = kind is Kind.WRONG_ADDRESS and self.address is not self.given
        tried = (self.given, self.address) if moved else (self.address,)
        return " and ".join(f"{address.public}{route}" for address in tried)

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
