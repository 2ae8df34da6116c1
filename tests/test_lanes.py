"""Each worker takes a whole task at a time, and every item is handed out once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.lanes import Lane, Lanes

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator


def make(*sizes: int, lead: bool = False) -> Lanes[str]:
    """Lanes a, b, c... of so many items: a0, a1..."""
    return Lanes(
        (iter([f"{chr(97 + lane)}{item}" for item in range(size)]) for lane, size in enumerate(sizes)),
        lead=lead,
    )


def take(lanes: Lanes[str], own: Lane[str] | None = None) -> tuple[Lane[str], str]:
    taken = lanes.take(own)
    assert taken is not None
    return taken


def test_each_worker_opens_a_lane_of_its_own_while_there_are_unopened_ones() -> None:
    lanes = make(3, 3, 3)
    assert [take(lanes)[1] for _ in range(3)] == ["a0", "b0", "c0"]


def test_a_worker_stays_in_its_lane_until_it_is_drained_and_then_opens_the_next() -> None:
    lanes = make(3, 1, 2)
    lane, item = take(lanes)
    took = [item]
    while (taken := lanes.take(lane)) is not None:
        lanes.leave(lane, led=True)
        lane, item = taken
        took.append(item)
    assert took == ["a0", "a1", "a2", "b0", "c0", "c1"]


def test_a_worker_without_a_lane_helps_where_the_fewest_are_at_work() -> None:
    lanes = make(5, 5)
    first, second = take(lanes)[0], take(lanes)[0]
    take(lanes, first)  # two are at work in a now
    assert take(lanes)[1] == "b1"
    assert second.workers == 2


def test_the_siblings_of_a_leader_wait_until_it_is_back() -> None:
    lanes = make(3, lead=True)
    leader, item = take(lanes)
    assert item == "a0"
    assert lanes.take(None) is None
    lanes.leave(leader, led=True)
    assert [take(lanes)[1] for _ in range(2)] == ["a1", "a2"]


def test_without_examples_nobody_waits_for_a_leader() -> None:
    lanes = make(3, lead=False)
    assert [take(lanes)[1] for _ in range(3)] == ["a0", "a1", "a2"]


def test_another_leads_where_the_first_item_needed_no_request() -> None:
    lanes = make(3, lead=True)
    lane, _ = take(lanes)
    lanes.leave(lane, led=False)
    assert take(lanes)[1] == "a1"
    assert lanes.take(None) is None


def test_a_worker_of_a_lane_that_is_being_led_takes_another_one() -> None:
    lanes = make(2, 2, lead=True)
    lane, _ = take(lanes)
    assert take(lanes, lane)[1] == "b0"


def test_a_lane_is_opened_when_a_worker_first_takes_it() -> None:
    opened = []

    def lane(name: str) -> Iterator[str]:
        opened.append(name)
        yield name

    lanes = Lanes((lane(name) for name in "abc"), lead=False)
    assert opened == []
    take(lanes)
    assert opened == ["a"]


def test_empty_lanes_are_passed() -> None:
    lanes = make(0, 0, 1, 0)
    assert take(lanes)[1] == "c0"
    assert lanes.take(None) is None


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), max_size=8), st.booleans(), st.integers(1, 5), st.randoms())
def test_every_item_is_handed_out_once_in_lane_order_and_nobody_is_left_waiting(
    sizes: list[int], lead: bool, workers: int, rng: random.Random
) -> None:
    lanes = make(*sizes, lead=lead)
    lane_of: list[Lane[str] | None] = [None] * workers
    busy: dict[int, Lane[str]] = {}
    took: list[str] = []
    while True:
        free = [worker for worker in range(workers) if worker not in busy]
        worker = rng.choice(free) if free and (rng.random() < 0.6 or not busy) else None
        if worker is not None and (taken := lanes.take(lane_of[worker])) is not None:
            lane_of[worker] = busy[worker] = taken[0]
            took.append(taken[1])
            if lead:  # until the leader is back, one at a time
                assert taken[0].led or taken[0].workers == 1
        elif busy:
            done = rng.choice(sorted(busy))
            lanes.leave(busy.pop(done), led=rng.random() < 0.8)
        else:
            break  # nobody is at work and there is nothing to take
    wanted = [f"{chr(97 + lane)}{item}" for lane, size in enumerate(sizes) for item in range(size)]
    assert sorted(took) == sorted(wanted)
    for name in {item[0] for item in took}:
        own = [item for item in took if item[0] == name]
        assert own == sorted(own)
