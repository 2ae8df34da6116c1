from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.limits import WINDOW
from m3ke_async.pace import Pace, Reservation
from m3ke_async.request import Usage
from tests import fake_time

CHARS = 100


@dataclass(frozen=True, slots=True)
class Limits:
    requests_per_minute: float | None = None
    remaining_requests: float | None = None
    reset_requests_s: float | None = None
    tokens_per_minute: float | None = None
    remaining_tokens: float | None = None
    reset_tokens_s: float | None = None


def seconds() -> float:
    """Seconds since the clock began."""
    return fake_time.loop().time() - fake_time.START


def seeded(requests: float | None = None, tokens: float | None = None) -> Pace:
    return Pace(requests, tokens, rng=random.Random(7))  # noqa: S311


async def admit_all(pace: Pace, number: int, *, max_tokens: int = 10) -> list[float]:
    """When each of `number` requests that all ask at once was let through, in the order of asking."""

    async def one() -> float:
        await pace.admit(CHARS, max_tokens)
        return seconds()

    return await asyncio.gather(*(one() for _ in range(number)))


def rows(pace: Pace, reservations: list[Reservation], refused: str) -> list[bool]:
    """Report each send in turn: x was refused, anything else answered."""
    held = []
    for reservation, mark in zip(reservations, refused, strict=True):
        if mark == "x":
            held.append(pace.refused(1.0, reservation))
        else:
            pace.answered()
    return held


# -- no limit ----------------------------------------------------------------------------------------


def test_without_limits_nobody_waits() -> None:
    assert max(fake_time.run(admit_all(Pace(), 1000))) < 1e-3


async def test_without_limits_admission_costs_microseconds() -> None:
    pace = Pace()
    best = min([await _cost(pace) for _ in range(5)])
    assert best < 20e-6  # 2 on an idle machine; the bound is for loaded ones


async def _cost(pace: Pace) -> float:
    start = time.perf_counter()
    for _ in range(1000):
        await pace.admit(CHARS, 10)
    return (time.perf_counter() - start) / 1000


# -- one queue -----------------------------------------------------------------------------------------


@given(
    st.sampled_from([None, 30, 600, 60_000]),
    st.sampled_from([None, 5000, 100_000]),
    st.lists(
        st.tuples(
            st.floats(0, 3), st.integers(0, 3000), st.integers(1, 2000), st.floats(0, 2), st.integers(0, 9)
        ),
        min_size=1,
        max_size=30,
    ),
)
@settings(max_examples=60, deadline=None)
def test_first_come_first_sent_within_every_limit_and_nobody_waits_for_ever(
    requests: int | None, tokens: int | None, arrivals: list[tuple[float, int, int, float, int]]
) -> None:
    sent: list[tuple[int, Reservation]] = []

    async def one(pace: Pace, number: int) -> None:
        _, chars, most, latency, fate = arrivals[number]
        reservation = await pace.admit(chars, most)
        sent.append((number, reservation))
        await asyncio.sleep(latency)
        if fate == 0:
            reservation.refund()
        elif fate < 8:
            reservation.settle(Usage(chars // 2, most // 2))

    async def main() -> None:
        pace, tasks = seeded(requests, tokens), []
        for number, arrival in enumerate(arrivals):
            await asyncio.sleep(arrival[0])
            tasks.append(asyncio.create_task(one(pace, number)))
        await asyncio.gather(*tasks)

    fake_time.run(main())
    assert [number for number, _ in sent] == list(range(len(arrivals)))
    times = [reservation.at for _, reservation in sent]
    if requests is not None:
        for first, last in zip(times, times[requests:], strict=False):
            assert last - first > 60
    if tokens is not None:
        for index, (_, reservation) in enumerate(sent):
            charges = [
                other.charge.tokens
                for _, other in sent[: index + 1]
                if other.charge and other.at > reservation.at - WINDOW
            ]
            assert sum(charges) <= tokens + max(charges)


def test_a_large_request_is_not_overtaken_by_small_ones() -> None:
    async def main() -> list[str]:
        pace, order = seeded(tokens=6000), []

        async def one(name: str, chars: int) -> None:
            await pace.admit(chars, 1)
            order.append(name)

        await asyncio.gather(one("a", 100), one("LARGE", 5000), *(one(name, 10) for name in "bcdef"))
        return order

    assert fake_time.run(main()) == ["a", "LARGE", *"bcdef"]


def test_who_is_cancelled_while_waiting_takes_nothing() -> None:
    async def main() -> list[float]:
        pace = seeded(60)
        tasks = [asyncio.create_task(pace.admit(CHARS, 1)) for _ in range(10)]
        await asyncio.sleep(0.5)
        for task in tasks[1:9]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return [tasks[9].result().at - fake_time.START]

    assert fake_time.run(main()) == [pytest.approx(1.005, abs=0.01)]


def test_who_is_cancelled_at_the_moment_of_leave_gives_the_tokens_back() -> None:
    async def main() -> float:
        pace = seeded(tokens=6000)
        await pace.admit(1000, 1)
        waiting = asyncio.create_task(pace.admit(1000, 1))
        await asyncio.sleep(0)
        grant = pace._grant

        def grant_and_cancel(reservation: Reservation, now: float) -> None:
            grant(reservation, now)
            fake_time.loop().call_soon(waiting.cancel)

        pace._grant = grant_and_cancel  # type: ignore[method-assign]
        await asyncio.gather(waiting, return_exceptions=True)
        return pace._tokens.in_window(fake_time.loop().time())

    assert fake_time.run(main()) == pytest.approx(1001)


def test_a_limiter_made_outside_works_in_one_loop_after_another() -> None:
    pace = seeded(600, 100_000)
    for _ in range(2):
        assert fake_time.run(admit_all(pace, 20))[-1] >= 1.8


def test_a_loop_that_ended_while_others_waited_leaves_no_dead_queue() -> None:
    pace = seeded(60)

    async def give_up() -> None:
        tasks = [asyncio.create_task(pace.admit(CHARS, 1)) for _ in range(5)]
        await asyncio.sleep(0.1)
        del tasks

    fake_time.run(give_up())
    assert len(fake_time.run(admit_all(pace, 3))) == 3


# -- tokens ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("usage", [Usage(40, 5), Usage(70, 400), Usage(180, 60)])
def test_the_rate_is_used_up_although_usage_is_unlike_the_estimate(usage: Usage) -> None:
    async def main() -> int:
        pace, used = seeded(tokens=200_000), 0

        async def worker() -> None:
            nonlocal used
            while True:
                reservation = await pace.admit(CHARS, 400)
                if seconds() >= 60:
                    return
                used += (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
                await asyncio.sleep(1.0)
                reservation.settle(usage)

        await asyncio.gather(*(worker() for _ in range(200)))
        return used

    assert 0.97 * 200_000 <= fake_time.run(main()) <= 200_000 + 580


def test_unknown_usage_stays_charged_as_reserved() -> None:
    async def main() -> float:
        pace = seeded(tokens=6000)
        (await pace.admit(CHARS, 50)).settle(Usage(None, None))
        return pace._tokens.in_window(fake_time.loop().time())

    assert fake_time.run(main()) == 150


def test_a_reservation_is_settled_or_refunded_once() -> None:
    async def main() -> float:
        pace = seeded(tokens=6000)
        reservation = await pace.admit(CHARS, 50)
        reservation.settle(Usage(90, 30))
        reservation.refund()
        reservation.settle(Usage(1, 1))
        return pace._tokens.in_window(fake_time.loop().time())

    assert fake_time.run(main()) == 120


class Bucket:
    """A server's token bucket of one second, charged with max_tokens on arrival and never given back."""

    def __init__(self, per_minute: float) -> None:
        self.per_minute = per_minute
        self.level = self.full = per_minute / 60
        self.at = 0.0
        self.refused = 0
        self.charged = 0.0

    def limits(self) -> Limits:
        return Limits(
            tokens_per_minute=self.per_minute, remaining_tokens=int(max(0, self.level)), reset_tokens_s=1.0
        )

    def take(self, tokens: float) -> bool:
        now = seconds()
        self.level = min(self.full, self.level + (now - self.at) * self.per_minute / 60)
        self.at = now
        if tokens > self.level:
            self.refused += 1
            return False
        self.level -= tokens
        self.charged += tokens
        return True


def ask_until(bucket: Bucket, end: float, *, says: bool) -> None:
    """A hundred workers ask a server that charges 400 of `max_tokens`, of which 12 are used."""

    async def worker(pace: Pace) -> None:
        while seconds() < end:
            reservation = await pace.admit(CHARS, 400)
            said = bucket.limits() if says else Limits()
            if bucket.take(70 + 400):
                await asyncio.sleep(0.3)
                reservation.settle(Usage(70, 12))
                pace.answered()
            else:
                await asyncio.sleep(0.02)
                reservation.refund()
                pace.refused(1.0, reservation)
            pace.observe(said, reservation)

    async def main() -> None:
        pace = seeded(tokens=bucket.per_minute)
        await asyncio.gather(*(worker(pace) for _ in range(100)))

    fake_time.run(main())


def test_a_server_that_charges_max_tokens_on_arrival_is_met_by_what_it_says_is_left() -> None:
    bucket = Bucket(500_000)
    ask_until(bucket, 60, says=True)
    assert bucket.refused == 0
    assert bucket.charged >= 0.98 * 500_000


def test_a_server_that_charges_max_tokens_and_is_silent_is_found_out_by_its_refusals() -> None:
    bucket = Bucket(500_000)
    ask_until(bucket, 60, says=False)
    assert 0 < bucket.refused <= 10
    assert bucket.charged >= 0.95 * 500_000


# -- limits from replies -------------------------------------------------------------------------------


def test_limits_that_a_reply_names_are_adopted() -> None:
    async def main() -> list[float]:
        pace = seeded()
        pace.observe(Limits(requests_per_minute=60), await pace.admit(CHARS))
        return await admit_all(pace, 4)

    times = fake_time.run(main())
    assert [round(b - a, 1) for a, b in pairwise(times)] == [1.0, 1.0, 1.0]


def test_limits_that_were_set_override_those_of_replies() -> None:
    async def main() -> list[float]:
        pace = seeded(600)
        pace.observe(Limits(requests_per_minute=60, tokens_per_minute=1e9), await pace.admit(CHARS))
        return await admit_all(pace, 4)

    assert fake_time.run(main())[-1] < 0.5


@pytest.mark.parametrize("given", [600, None])
def test_a_share_of_a_limit_is_kept_to_whether_it_was_given_or_adopted(given: float | None) -> None:
    async def main() -> list[float]:
        pace = seeded(given)
        pace.set_share(0.25)
        pace.observe(Limits(requests_per_minute=600), await pace.admit(CHARS))
        return await admit_all(pace, 4)

    times = fake_time.run(main())
    assert [round(b - a, 1) for a, b in pairwise(times)] == [0.4, 0.4, 0.4]


def test_a_share_is_of_tokens_too_and_reaches_those_who_wait_already() -> None:
    async def main() -> list[float]:
        pace = seeded(None, 60 * (CHARS + 10))  # one of these a second
        pace.set_share(0.01)
        admitted = asyncio.create_task(admit_all(pace, 5))
        await asyncio.sleep(1)
        pace.set_share(1.0)
        return await admitted

    assert 4 < fake_time.run(main())[-1] < 8


def test_a_reply_without_limits_changes_nothing() -> None:
    async def main() -> list[float]:
        pace = seeded()
        pace.observe(Limits(), await pace.admit(CHARS))
        return await admit_all(pace, 1000)

    assert max(fake_time.run(main())) < 1e-3


def test_the_pace_eases_before_nothing_is_left() -> None:
    """Another process uses the same key: 20 of 600 a minute are left, and we know only 6,000."""

    async def main() -> list[float]:
        pace = seeded(6000)
        reservation = await pace.admit(CHARS)
        pace.observe(Limits(requests_per_minute=600, remaining_requests=20), reservation)
        return await admit_all(pace, 60)

    times = fake_time.run(main())
    at_once = sum(moment < 0.5 for moment in times)
    assert 14 <= at_once <= 21
    assert (60 - at_once) / (times[-1] - times[at_once]) == pytest.approx(600 / 60, rel=0.1)


def test_nothing_left_and_no_rate_known_waits_for_the_reset() -> None:
    async def main() -> list[float]:
        pace = seeded()
        pace.observe(Limits(remaining_requests=0, reset_requests_s=7.0), await pace.admit(CHARS))
        return await admit_all(pace, 3)

    assert fake_time.run(main())[0] == pytest.approx(7.0, abs=0.01)


def test_a_new_rate_reaches_those_who_wait_already() -> None:
    async def main() -> list[float]:
        pace = seeded(3)
        admitted = asyncio.create_task(admit_all(pace, 5))
        await asyncio.sleep(1)
        pace.set_rate(600, None)
        return await admitted

    times = fake_time.run(main())
    assert times[-1] < 1.5


def test_no_limit_any_more_lets_everybody_go() -> None:
    async def main() -> list[float]:
        pace = seeded(3, 100)
        admitted = asyncio.create_task(admit_all(pace, 50))
        await asyncio.sleep(1)
        pace.set_rate(None, None)
        return await admitted

    assert fake_time.run(main())[-1] == pytest.approx(1.0, abs=0.01)


# -- refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sends", "held"),
    [
        ("x", [True]),
        (".x", [True]),
        ("..x", [False]),
        ("........x", [False]),
        ("....xxxx", [False, False, False, True]),
        ("x.......x.......x", [True, False, False]),
        ("...x...x...x...x", [False, False, False, False]),
    ],
)
def test_everybody_is_held_when_half_of_the_last_sends_were_refused(sends: str, held: list[bool]) -> None:
    async def main() -> list[bool]:
        pace = seeded()
        return rows(pace, [await pace.admit(CHARS) for _ in sends], sends)

    assert fake_time.run(main()) == held


def test_one_refusal_among_answers_slows_nobody_else() -> None:
    async def main() -> list[float]:
        pace = seeded()
        sends = [await pace.admit(CHARS) for _ in range(20)]
        rows(pace, sends, "." * 19 + "x")
        return await admit_all(pace, 100)

    assert max(fake_time.run(main())) < 1e-3


def test_refusals_that_come_back_before_the_answers_are_one_in_twenty_all_the_same() -> None:
    async def main() -> bool:
        pace = seeded()
        sends = [await pace.admit(CHARS) for _ in range(400)]
        return any(rows(pace, sends[19::20], "x" * 20))

    assert not fake_time.run(main())


@pytest.mark.parametrize("wait", [0.5, 3.0, 45.0])
def test_a_hold_lasts_at_least_as_long_as_the_server_asked(wait: float) -> None:
    async def main() -> list[float]:
        pace = seeded()
        pace.refused(wait, await pace.admit(CHARS))
        return await admit_all(pace, 10)

    times = fake_time.run(main())
    assert wait <= times[0] <= wait + 0.11


def test_without_a_wait_from_the_server_holds_double_up_to_a_cap_and_answers_end_the_row() -> None:
    async def main() -> list[float]:
        pace, waits = seeded(), []
        for _ in range(8):
            for _ in range(50):  # one wave counts once
                pace.refused(None, Reservation(pace, CHARS, None))
            start = seconds()
            reservation = await pace.admit(CHARS)
            waits.append(seconds() - start)
        for _ in range(8):
            pace.answered()
            reservation = await pace.admit(CHARS)
        pace.refused(None, reservation)
        return waits

    waits = fake_time.run(main())
    for wait, expected in zip(waits, [1, 2, 4, 8, 16, 20, 20, 20], strict=True):
        assert expected <= wait <= expected + 0.2


def test_holds_after_which_refusals_repeat_at_once_end_for_a_while_where_questions_get_through() -> None:
    async def main(tries: int) -> list[bool]:
        pace, held = seeded(), []
        for _ in range(40):  # every other send is refused, whatever the pause before it
            (await pace.admit(CHARS)).refund()
            pace.answered()
            pace.refused(None, await pace.admit(CHARS, None, tries))
            held.append(pace.is_held(asyncio.get_running_loop().time()))
        return held

    assert fake_time.run(main(tries=0)) == [True] * 4 + [False] * 36
    assert all(fake_time.run(main(tries=2)))  # third tries are refused as well: pausing is all that is left


def test_what_was_sent_before_goes_before_what_was_not() -> None:
    async def main() -> list[str]:
        pace, order = seeded(60), []

        async def one(name: str, tries: int) -> None:
            await pace.admit(CHARS, None, tries)
            order.append(name)

        await pace.admit(CHARS)
        names = [("new 1", 0), ("again 1", 1), ("new 2", 0), ("again 2", 3)]
        await asyncio.gather(*(one(name, tries) for name, tries in names))
        return order

    assert fake_time.run(main()) == ["again 1", "again 2", "new 1", "new 2"]


def test_a_leave_that_is_given_to_a_longer_prompt_takes_its_tokens() -> None:
    async def main() -> float:
        pace = seeded(None, 1000)
        (await pace.admit(100, 100)).give_to(700, 1)
        await pace.admit(100, 100)
        return seconds()

    assert fake_time.run(main()) == pytest.approx(800 / 1000 * 60, rel=0.02)


def test_after_a_hold_they_do_not_wake_together() -> None:
    async def main() -> list[float]:
        pace = seeded()
        pace.hold(5.0)
        return await admit_all(pace, 500)

    times = fake_time.run(main())
    assert times == sorted(times)
    assert 5.0 <= times[0] <= 5.1
    since = [moment - times[0] for moment in times]
    assert sum(moment < 0.05 for moment in since) <= 4
    assert sum(moment < 0.2 for moment in since) <= 20
    assert 0.4 <= since[-1] <= 1.2


def test_after_a_hold_a_rate_saves_up_no_burst() -> None:
    async def main() -> list[float]:
        pace = seeded(600)
        await pace.admit(CHARS)
        pace.hold(30.0)
        return await admit_all(pace, 20)

    times = fake_time.run(main())
    assert min(b - a for a, b in pairwise(times)) >= 0.09


def test_two_endpoints_do_not_wake_at_the_same_moment() -> None:
    async def main() -> tuple[float, float]:
        first, second = (Pace(rng=random.Random(seed)) for seed in (1, 2))  # noqa: S311
        first.hold(1.0)
        second.hold(1.0)
        return (await admit_all(first, 1))[0], (await admit_all(second, 1))[0]

    first, second = fake_time.run(main())
    assert abs(first - second) > 0.005


def test_without_waiters_the_care_after_a_hold_ends() -> None:
    async def main() -> list[float]:
        pace = seeded()
        pace.hold(1.0)
        await asyncio.sleep(3.0)
        await pace.admit(CHARS)
        return await admit_all(pace, 500)

    assert max(fake_time.run(main())) == pytest.approx(3.0, abs=0.01)


def test_refusals_under_a_known_limit_lower_the_rate_for_a_minute() -> None:
    async def main() -> list[int]:
        pace, counts = seeded(6000), []

        async def count(duration: float) -> int:
            end, number = seconds() + duration, 0
            while seconds() < end:
                await pace.admit(CHARS)
                pace.answered()
                number += 1
            return number

        counts.append(await count(10))
        for _ in range(3):
            await count(0.1)
            pace.refused(1.0, await pace.admit(CHARS))
        counts.append(await count(10))
        await count(60)
        counts.append(await count(10))
        return counts

    before, during, after = fake_time.run(main())
    assert during == pytest.approx(0.95 * before, rel=0.01)
    assert after == pytest.approx(before, rel=0.01)
