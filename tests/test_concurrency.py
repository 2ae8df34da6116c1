"""The controller against simulated servers: events in a heap, no clock, no loop."""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import pytest

from m3ke_async.concurrency import AdaptiveConcurrency

if TYPE_CHECKING:
    from collections.abc import Callable

UNLIMITED = 10**9


class Limit(Protocol):
    @property
    def limit(self) -> int: ...


class ByHand:
    def __init__(self, limit: int) -> None:
        self.limit = limit


@dataclass
class Run:
    """Questions asked of a server with `slots`, which queues the rest.

    Attributes:
        latency: seconds that a slot needs for a question, of the time and a source of chance.
        client: seconds that the client's only processor needs for a question, half before, half after.
        allowed: requests in flight above which the server refuses; refused ones are sent again 1 s later.
    """

    control: Limit
    slots: int
    latency: Callable[[random.Random, float], float]
    questions: int = 2000
    client: float = 0.0
    allowed: int = UNLIMITED
    seed: int = 1

    span: float = 0.0
    refusals: int = 0
    limits: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)  # noqa: S311
        self._events: list[tuple[float, int, str, float]] = []
        self._number = 0
        self._queue: deque[float] = deque()
        self._free = self.slots
        self._todo, self._in_flight, self._busy_until, self._held_until = self.questions, 0, 0.0, 0.0
        self._row: deque[bool] = deque(maxlen=8)
        self._send(0.0)
        left = self.questions
        while left:
            now, _, event, sent = heapq.heappop(self._events)
            getattr(self, f"_{event}")(now, sent)
            left -= event == "answer"
        self.span = now

    def _at(self, time: float, event: str, sent: float = 0.0) -> None:
        self._number += 1
        heapq.heappush(self._events, (time, self._number, event, sent))

    def _work(self, now: float) -> float:
        self._busy_until = max(self._busy_until, now) + self.client / 2
        return self._busy_until

    def _send(self, now: float, _sent: float = 0.0) -> None:
        while self._todo and self._in_flight < self.control.limit and now >= self._held_until:
            self._todo -= 1
            self._in_flight += 1
            sent = self._work(now)
            self._at(sent, "arrive", sent)

    def _arrive(self, now: float, sent: float) -> None:
        serving = self.slots - self._free + len(self._queue)
        if serving >= self.allowed:
            self._at(now + 0.02, "refuse", sent)
        elif self._free:
            self._free -= 1
            self._at(now + self.latency(self._rng, now), "served", sent)
        else:
            self._queue.append(sent)

    def _served(self, now: float, sent: float) -> None:
        if self._queue:
            self._at(now + self.latency(self._rng, now), "served", self._queue.popleft())
        else:
            self._free += 1
        self._at(self._work(now), "answer", sent)

    def _answer(self, now: float, sent: float) -> None:
        self._row.append(False)
        if isinstance(self.control, AdaptiveConcurrency):
            self.control.on_answer(now, now - sent, self._in_flight)
        self.limits.append(self.control.limit)
        self._in_flight -= 1
        self._send(now)

    def _refuse(self, now: float, _sent: float) -> None:
        self.refusals += 1
        self._row.append(True)
        if 2 * sum(self._row) >= len(self._row):  # as Pace does
            self._held_until = max(self._held_until, now + 1)
            self._at(self._held_until, "send")
            if isinstance(self.control, AdaptiveConcurrency):
                self.control.on_refusal(now, self._in_flight)
        self._in_flight -= 1
        self._at(now + 1 + self._rng.random() / 2, "retry")
        self._send(now)

    def _retry(self, now: float, _sent: float) -> None:
        self._todo += 1
        self._send(now)


def fixed(seconds: float) -> Callable[[random.Random, float], float]:
    return lambda _rng, _now: seconds


def lognormal(median: float, sigma: float) -> Callable[[random.Random, float], float]:
    return lambda rng, _now: median * math.exp(rng.gauss(0, sigma))


LATENCIES = {
    "fixed": fixed(0.2),
    "lognormal 0.3": lognormal(0.2, 0.3),
    "lognormal 1.0": lognormal(0.2, 1.0),
}


@pytest.mark.parametrize("client", [0.0, 0.0005])
@pytest.mark.parametrize("latency", LATENCIES)
@pytest.mark.parametrize("slots", [2, 16, 64, 300])
def test_two_thousand_questions_take_hardly_longer_than_with_the_best_number_by_hand(
    slots: int, latency: str, client: float
) -> None:
    def mean_span(control: Callable[[], Limit]) -> float:
        return sum(
            Run(control(), slots, LATENCIES[latency], client=client, seed=seed).span for seed in (1, 2, 3)
        )

    best = min(mean_span(partial(ByHand, number)) for number in (slots, int(slots * 1.3), 2 * slots))
    assert best / mean_span(AdaptiveConcurrency) >= 0.93


@pytest.mark.parametrize("latency", ["fixed", "lognormal 0.3"])
@pytest.mark.parametrize("slots", [16, 64, 200])
def test_the_limit_settles_between_the_slots_and_twice_as_many(slots: int, latency: str) -> None:
    run = Run(AdaptiveConcurrency(), slots, LATENCIES[latency], questions=20_000)
    settled = run.limits[len(run.limits) // 2 :]
    assert 0.9 * slots <= sum(settled) / len(settled) <= 2 * slots
    assert run.limits[-1] <= 2.5 * slots


@pytest.mark.parametrize("sigma", [0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_noise_alone_never_makes_the_limit_collapse(sigma: float, seed: int) -> None:
    run = Run(AdaptiveConcurrency(), UNLIMITED, lognormal(0.2, sigma), questions=20_000, seed=seed)
    assert sum(run.limits) / len(run.limits) >= 0.8 * 512


@pytest.mark.parametrize("seed", range(3))
def test_a_server_that_becomes_slower_by_itself_does_not_starve_the_run(seed: int) -> None:
    def slower_later(rng: random.Random, now: float) -> float:
        return (0.2 if now < 4 else 0.8) * math.exp(rng.gauss(0, 0.3))

    run = Run(AdaptiveConcurrency(), UNLIMITED, slower_later, questions=20_000, seed=seed)
    by_hand = Run(ByHand(512), UNLIMITED, slower_later, questions=20_000, seed=seed)
    assert by_hand.span / run.span >= 0.8
    assert run.limits[-1] >= 400


def test_where_the_client_is_the_slow_part_more_requests_are_not_tried() -> None:
    run = Run(AdaptiveConcurrency(), UNLIMITED, fixed(0.0001), questions=20_000, client=0.0005)
    assert run.limits[-1] <= 16
    assert run.span <= 1.01 * 20_000 * 0.0005


def test_a_server_that_allows_fifty_in_flight_is_not_refused_for_long() -> None:
    run = Run(AdaptiveConcurrency(start=32), UNLIMITED, fixed(0.2), questions=5000, allowed=50)
    assert 25 <= run.limits[-1] <= 60
    assert run.refusals < 0.3 * 5000
    assert run.span < 1.5 * 5000 / 50 * 0.2


def test_a_small_start_doubles_with_each_round_trip() -> None:
    control = AdaptiveConcurrency(start=8)
    limits, now = [], 0.0
    for _ in range(4):
        now += 1.0
        for _ in range(control.limit):
            control.on_answer(now, 1.0, control.limit)
        limits.append(control.limit)
    assert limits == [16, 32, 64, 128]


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    control = AdaptiveConcurrency(start=64)
    for second in range(1000):
        control.on_answer(float(second), 0.5, 20)
    assert control.limit == 64


def test_refusals_of_one_wave_cut_once_and_the_limit_stays_below_what_was_refused() -> None:
    control = AdaptiveConcurrency(upper=100, start=100)
    for _ in range(50):
        control.on_refusal(10.0, 100)
    assert control.limit == 70
    control.on_refusal(11.5, 70)
    assert control.limit == 49
    for answer in range(5000):
        control.on_answer(12 + answer / 250, 0.2, control.limit)
    assert control.limit == 63  # 0.9 of the 70 that were refused
    for answer in range(5000):
        control.on_answer(80 + answer / 250, 0.2, control.limit)
    assert control.limit == 100


def test_cuts_for_refusals_that_were_in_vain_are_taken_back() -> None:
    control = AdaptiveConcurrency(start=100)
    control.on_refusal(10.0, 100)
    control.on_refusal(12.0, 70)
    assert control.limit < 50
    control.on_vain_refusals()
    assert control.limit == 100


def test_equal_bounds_are_a_fixed_number() -> None:
    run = Run(control := AdaptiveConcurrency(upper=20, lower=20), 4, fixed(0.2), questions=3000)
    control.on_refusal(1e6, 20)
    assert set(run.limits) == {20}
    assert control.limit == 20


def test_an_answer_in_no_time_is_no_error() -> None:
    control = AdaptiveConcurrency(start=4)
    for _ in range(1000):
        control.on_answer(1.0, 0.0, control.limit)
    assert control.limit == 512
