from __future__ import annotations

import random

import pytest

from m3ke_async.hold import Hold


@pytest.fixture
def hold() -> Hold:
    return Hold(random.Random(1))  # noqa: S311 - repeatable, guards nothing


def test_without_a_hold_nothing_waits(hold: Hold) -> None:
    assert not hold.is_careful
    assert not hold.is_on(0.0)
    assert hold.wait(0.0) == 0
    hold.grant(0.0, lag=0.1, is_waited_for=True)
    assert hold.wait(0.0) == 0


def test_nobody_goes_before_the_hold_is_over(hold: Hold) -> None:
    assert hold.begin(20.0, 100.0)
    assert hold.is_on(119.9)
    assert not hold.is_on(120.0)
    assert 20 <= hold.wait(100.0) <= 20.1


def test_a_shorter_hold_does_not_end_a_longer_one(hold: Hold) -> None:
    hold.begin(20.0, 100.0)
    wait = hold.wait(100.0)
    assert not hold.begin(5.0, 110.0)
    assert hold.wait(100.0) == wait
    assert hold.begin(20.0, 110.0)
    assert hold.wait(110.0) >= 20


def test_behind_it_they_go_faster_and_faster(hold: Hold) -> None:
    hold.begin(20.0, 100.0)
    now = 100.0
    times: list[float] = []
    while len(times) < 1000:
        now += hold.wait(now)
        times.append(now - 120)
        hold.grant(now, lag=0.1, is_waited_for=True)
    # The n-th comes after the sum of the first n parts of 0.1 s, which is its logarithm.
    assert [times[n - 1] for n in (10, 100, 1000)] == pytest.approx([0.28, 0.52, 0.75], rel=0.25)


def test_behind_a_short_one_they_are_not_spaced_by_more_than_it_lasted(hold: Hold) -> None:
    hold.begin(0.01, 0.0)
    now = hold.wait(0.0)
    assert now <= 0.011
    hold.grant(now, lag=0.1, is_waited_for=True)
    assert hold.wait(now) <= 0.0015


def test_care_ends_when_nobody_waits_a_second_behind_it(hold: Hold) -> None:
    hold.begin(1.0, 0.0)
    for now, waited_for, careful in ((1.1, False, True), (2.5, True, True), (2.6, False, False)):
        hold.grant(now, lag=0.1, is_waited_for=waited_for)
        assert hold.is_careful is careful
    assert hold.wait(0.0) == 0
