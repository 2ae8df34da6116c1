"""What is to be asked: each question once at a time, equal requests once, waiting ones when due."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from m3ke_async.backlog import Ask, Backlog, Job, Pause
from m3ke_async.lanes import Lanes
from tests.asking import make_ask

if TYPE_CHECKING:
    from collections.abc import Sequence

MANY = 100


def make(*lanes: Sequence[str | None]) -> Backlog:
    """A backlog of lanes of marks; None is a pause between stored replies."""
    opened = (iter([None if mark is None else make_ask(mark) for mark in lane]) for lane in lanes)
    return Backlog(Lanes[Ask | None](opened, lead=False))


def take(backlog: Backlog, now: float = 0.0, room: int = MANY) -> Job:
    job = backlog.take(None, now, room=room)
    assert isinstance(job, Job)
    return job


def mark(job: Job) -> str:
    return str(job.ask.question.id)


def drain(backlog: Backlog, now: float = 0.0) -> list[str]:
    """Marks of all that can be taken now."""
    taken = []
    while isinstance(job := backlog.take(None, now, room=MANY), Job):
        taken.append(mark(job))
    return taken


def test_a_question_that_is_due_again_goes_before_new_ones() -> None:
    backlog = make(["Q0-0", "Q0-1"])
    first = take(backlog)
    backlog.again(first, due=5.0)
    assert mark(take(backlog, now=4.9)) == "Q0-1"
    assert take(backlog, now=5.0) is first


def test_a_question_that_was_never_sent_stands_back_for_one_that_is_due_again() -> None:
    backlog = make(["Q0-0", "Q0-1", "Q0-2"])
    first, second = take(backlog), take(backlog)
    first.attempts = 1
    backlog.again(first, due=5.0)
    assert backlog.turn(second, now=4.9) is second
    assert backlog.turn(second, now=5.0) is first
    assert backlog.waiting == 0
    assert backlog.turn(first, now=9.0) is first
    assert drain(backlog) == ["Q0-1", "Q0-2"]


def test_waiting_questions_come_back_in_the_order_in_which_they_are_due() -> None:
    backlog = make(["Q0-0", "Q0-1", "Q0-2"])
    jobs = [take(backlog) for _ in range(3)]
    for job, due in zip(jobs, (3.0, 1.0, 2.0), strict=True):
        backlog.again(job, due)
    assert backlog.due() == 1.0
    assert drain(backlog, now=9.0) == ["Q0-1", "Q0-2", "Q0-0"]
    assert backlog.due() is None


def test_two_that_are_due_at_the_same_time_are_no_problem() -> None:
    backlog = make(["Q0-0", "Q0-1"])
    for job in [take(backlog), take(backlog)]:
        backlog.again(job, due=1.0)
    assert drain(backlog, now=1.0) == ["Q0-0", "Q0-1"]


def test_a_second_question_with_the_same_request_is_not_asked_while_the_first_is_on_its_way() -> None:
    backlog = make(["Q0-0", "Q0-0", "Q0-1"], ["Q0-0"])
    first = take(backlog)
    assert drain(backlog) == ["Q0-1"]
    assert backlog.close(first) == 3


def test_nor_while_the_first_waits_for_another_try() -> None:
    backlog = make(["Q0-0", "Q0-0"])
    first = take(backlog)
    backlog.again(first, due=5.0)
    assert drain(backlog) == []
    assert take(backlog, now=5.0) is first
    assert backlog.close(first) == 2


def test_a_waiting_question_may_end_by_a_late_reply() -> None:
    backlog = make(["Q0-0", "Q0-1"])
    late, other = take(backlog), take(backlog)
    backlog.again(late, due=5.0)
    backlog.again(other, due=6.0)
    assert backlog.close(late) == 1
    assert (backlog.waiting, backlog.open) == (1, 1)
    assert backlog.due() == 6.0
    assert take(backlog, now=6.0) is other


def test_no_new_question_is_begun_while_as_many_wait_as_may_be_in_flight() -> None:
    backlog = make(["Q0-0", "Q0-1", "Q0-2"])
    for _ in range(2):
        backlog.again(take(backlog, room=2), due=9.0)
    assert backlog.take(None, 0.0, room=2) is None
    assert backlog.take(None, 9.0, room=2) is not None


@pytest.mark.parametrize("end", ["close", "again"])
def test_open_counts_what_was_taken_and_has_not_ended(end: str) -> None:
    backlog = make(["Q0-0"])
    job = take(backlog)
    assert (backlog.open, backlog.waiting) == (1, 0)
    if end == "close":
        backlog.close(job)
        assert (backlog.open, backlog.waiting) == (0, 0)
    else:
        backlog.again(job, due=1.0)
        assert (backlog.open, backlog.waiting) == (1, 1)


def test_a_pause_between_stored_replies_lets_others_run_and_loses_nothing() -> None:
    backlog = make([None, "Q0-0", None, "Q0-1"])
    taken = [backlog.take(None, 0.0, room=MANY) for _ in range(4)]
    assert [job if isinstance(job, Pause) else mark(job) for job in taken if job is not None] == [
        Pause.PAUSE,
        "Q0-0",
        Pause.PAUSE,
        "Q0-1",
    ]


def test_a_worker_goes_on_in_the_lane_of_its_question() -> None:
    backlog = make(["Q0-0", "Q0-1"], ["Q1-0"])
    job = take(backlog)
    backlog.leave(job)
    following = backlog.take(job.lane, 0.0, room=MANY)
    assert isinstance(following, Job)
    assert mark(following) == "Q0-1"


def test_what_waits_is_forgotten_when_the_run_is_over() -> None:
    backlog = make(["Q0-0"])
    backlog.again(take(backlog), due=1.0)
    backlog.clear()
    assert (backlog.waiting, backlog.due()) == (0, None)
