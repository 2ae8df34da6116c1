from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

from m3ke_async.breaker import Breaker, State

if TYPE_CHECKING:
    from tests.conftest import FakeClock


def _fail(breaker: Breaker, clock: FakeClock, times: int, *, every: float, in_flight: int = 1) -> None:
    for _ in range(times):
        breaker.on_failure(clock(), in_flight)
        clock.advance(every)


@pytest.fixture
def opened(clock: FakeClock) -> Breaker:
    breaker = Breaker()
    _fail(breaker, clock, 20, every=1.0)
    assert breaker.state is State.OPEN
    return breaker


def test_a_new_breaker_lets_everything_through(clock: FakeClock) -> None:
    breaker = Breaker()
    assert breaker.allows(clock())
    assert breaker.wait(clock()) == 0


def test_twenty_failures_in_a_row_pause_everybody(opened: Breaker, clock: FakeClock) -> None:
    assert not opened.allows(clock())
    assert 0 < opened.wait(clock()) <= 5


@pytest.mark.parametrize(
    ("times", "every", "in_flight"),
    [
        (19, 10.0, 1),  # too few
        (500, 0.001, 1),  # one moment: a restart fails all at once
        (100, 1.0, 400),  # most have not been answered yet: slow, not dead
    ],
)
def test_no_row_opens_it_that_is_short_sudden_or_fewer_than_in_flight(
    clock: FakeClock, times: int, every: float, in_flight: int
) -> None:
    breaker = Breaker()
    _fail(breaker, clock, times, every=every, in_flight=in_flight)
    assert breaker.state is State.CLOSED


def test_one_success_ends_a_row(clock: FakeClock) -> None:
    breaker = Breaker()
    _fail(breaker, clock, 19, every=1.0)
    breaker.on_success()
    _fail(breaker, clock, 19, every=1.0)
    assert breaker.state is State.CLOSED


@pytest.mark.parametrize("concurrency", [1, 50, 500])
def test_five_percent_random_faults_never_open_it(clock: FakeClock, concurrency: int) -> None:
    rng = random.Random(concurrency)  # noqa: S311
    breaker = Breaker()
    for _ in range(20_000):
        clock.advance(rng.expovariate(concurrency))
        if rng.random() < 0.05:
            breaker.on_failure(clock(), concurrency)
        else:
            breaker.on_success()
        assert breaker.state is State.CLOSED


def test_faults_before_the_first_slow_answer_do_not_open_it(clock: FakeClock) -> None:
    """500 requests at a server that needs 30 s for an answer and 10 ms for a fault."""
    breaker = Breaker()
    in_flight = 500
    for tries in range(4):
        for _ in range(int(500 * 0.05 ** (tries + 1)) + 1):
            breaker.on_failure(clock(), in_flight)
            clock.advance(0.1)
        clock.advance(2.0)
    assert breaker.state is State.CLOSED


def test_after_the_pause_one_probe_goes_and_its_success_closes(opened: Breaker, clock: FakeClock) -> None:
    clock.advance(opened.wait(clock()))
    assert opened.allows(clock())
    assert not opened.allows(clock())
    opened.on_success()
    assert opened.state is State.CLOSED
    assert opened.allows(clock())


def test_each_failed_probe_doubles_the_pause_up_to_a_minute(opened: Breaker, clock: FakeClock) -> None:
    pauses = []
    for _ in range(6):
        clock.advance(opened.wait(clock()))
        assert opened.allows(clock())
        opened.on_failure(clock(), 1)
        pauses.append(opened.wait(clock()))
    assert pauses == [10, 20, 40, 60, 60, 60]


def test_the_pause_is_short_again_after_a_success(opened: Breaker, clock: FakeClock) -> None:
    clock.advance(opened.wait(clock()))
    opened.allows(clock())
    opened.on_failure(clock(), 1)
    opened.on_success()
    _fail(opened, clock, 20, every=1.0)
    assert opened.wait(clock()) <= 5


def test_failures_from_before_the_pause_do_not_lengthen_it(opened: Breaker, clock: FakeClock) -> None:
    before = opened.wait(clock())
    for _ in range(500):
        opened.on_failure(clock(), 500)
    assert opened.wait(clock()) == before


def test_a_late_success_from_before_the_pause_ends_it(opened: Breaker, clock: FakeClock) -> None:
    opened.on_success()
    assert opened.allows(clock())


def test_a_probe_that_vanishes_is_replaced(opened: Breaker, clock: FakeClock) -> None:
    clock.advance(opened.wait(clock()))
    assert opened.allows(clock())
    wait = opened.wait(clock())
    assert 0 < wait < math.inf
    clock.advance(wait)
    assert opened.allows(clock())


def test_a_fatal_answer_opens_it_for_good(clock: FakeClock) -> None:
    breaker = Breaker()
    breaker.on_fatal()
    breaker.on_success()
    breaker.on_failure(clock(), 1)
    clock.advance(1e6)
    assert not breaker.allows(clock())
    assert breaker.wait(clock()) == math.inf
