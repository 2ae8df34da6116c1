from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from m3ke_async.limits import LAG, PACE_SHARE, WINDOW, RequestPace, Room, TokenEstimate, TokenPace
from tests import fake_time


def most_within(seconds: float, amounts: list[tuple[float, float]]) -> float:
    """The largest sum of amounts whose times lie within one window [t, t + seconds)."""
    most = total = 0.0
    first = 0
    for time, amount in amounts:
        total += amount
        while amounts[first][0] <= time - seconds:
            total -= amounts[first][1]
            first += 1
        most = max(most, total)
    return most


# -- requests ---------------------------------------------------------------------------------------


async def _take(pace: RequestPace, number: int, *, work: float = 0.0) -> list[float]:
    times = []
    for _ in range(number):
        await pace.wait()
        now = fake_time.loop().time()
        pace.take(now)
        times.append(now - fake_time.START)
        fake_time.loop().work(work)
    return times


@pytest.mark.parametrize("per_minute", [3, 7, 60, 200, 3500, 10_000, 100_000])
def test_at_least_99_percent_of_the_rate_is_used_and_no_minute_holds_more(per_minute: int) -> None:
    number = max(8, min(3 * per_minute, 20_000))
    times = fake_time.run(_take(RequestPace(per_minute), number))
    assert (number - 1) / times[-1] >= 0.99 * per_minute / 60
    assert most_within(60.0, [(time, 1) for time in times]) <= per_minute


@pytest.mark.parametrize("per_minute", [3, 60, 600, 3500])
def test_requests_are_spaced_from_the_first(per_minute: int) -> None:
    times = fake_time.run(_take(RequestPace(per_minute), 30))
    gap = 60 / per_minute
    assert times[0] == pytest.approx(0, abs=1e-6)
    assert times[1] >= 0.99 * gap
    assert most_within(1.0, [(time, 1) for time in times]) <= max(1, 1.02 / gap + 1)


def test_at_high_rates_a_few_go_together_so_that_timers_are_not_too_short() -> None:
    times = fake_time.run(_take(RequestPace(100_000), 2000))
    assert min(gap for gap in (b - a for a, b in pairwise(times)) if gap > 0) >= 0.002
    assert most_within(0.02, [(time, 1) for time in times]) <= 2 * 100_000 / 60 * 0.02 + 2


@pytest.mark.parametrize("per_minute", [60, 3500, 100_000])
def test_timers_that_come_late_cost_no_rate(per_minute: int) -> None:
    number = max(20, per_minute // 60)
    times = fake_time.run(_take(RequestPace(per_minute), number, work=0.3 * 60 / per_minute))
    assert (number - 1) / times[-1] >= 0.98 * per_minute / 60


def test_a_pause_saves_up_no_burst() -> None:
    async def main() -> list[float]:
        pace = RequestPace(600)
        await _take(pace, 5)
        await asyncio.sleep(600)
        return await _take(pace, 30)

    times = fake_time.run(main())
    assert most_within(1.0, [(time, 1) for time in times]) <= 10 + 1 + 10 * LAG


@given(
    st.sampled_from([3, 10, 59, 600]),
    st.lists(st.floats(0, 90), min_size=1, max_size=25),
    st.lists(st.sampled_from(["go", "rest"]), max_size=25),
)
@settings(max_examples=60, deadline=None)
def test_no_window_over_the_limit_whatever_the_pauses(
    per_minute: int, pauses: list[float], acts: list[str]
) -> None:
    async def main() -> list[float]:
        pace, times = RequestPace(per_minute), []
        for index, pause in enumerate(pauses):
            await asyncio.sleep(pause)
            if acts[index : index + 1] == ["rest"]:
                pace.rest()
            times += await _take(pace, 4)
        return times

    times = fake_time.run(main())
    assert most_within(60.0, [(time, 1) for time in times]) <= per_minute


def test_a_new_rate_keeps_the_distance_to_the_last_request() -> None:
    async def main() -> list[float]:
        pace = RequestPace(60)
        times = await _take(pace, 3)
        pace.set_rate(600)
        times += await _take(pace, 3)
        pace.set_rate(6)
        times += await _take(pace, 2)
        pace.set_rate(None)
        return times + await _take(pace, 3)

    times = fake_time.run(main())
    gaps = [round(b - a, 2) for a, b in pairwise(times)]
    assert gaps == [1.01, 1.01, 0.1, 0.1, 0.1, 10.05, 10.05, 0, 0, 0]


def test_a_pace_made_before_a_loop_works_in_one_loop_after_another() -> None:
    pace = RequestPace(60)
    for _ in range(2):
        assert fake_time.run(_take(pace, 2)) == pytest.approx([0, 1 / 0.995], abs=1e-6)


def test_ready_says_whether_one_may_go_and_does_not_wait() -> None:
    async def main() -> list[bool]:
        pace = RequestPace(60)
        said = [await pace.ready()]
        pace.take(fake_time.loop().time())
        said.append(await pace.ready())
        await asyncio.sleep(1.1)
        return [*said, await pace.ready(), await RequestPace(None).ready()]

    assert fake_time.run(main()) == [True, False, True, True]


# -- tokens -----------------------------------------------------------------------------------------


def _send_all(pace: TokenPace, amounts: list[float], now: float = 1000.0) -> list[tuple[float, float]]:
    """Each sent as soon as it may be, one after the other."""
    sent = []
    for amount in amounts:
        for _ in range(1000):
            wait = pace.wait(amount, now)
            if wait == 0:
                break
            now += wait + 1e-6
        else:
            pytest.fail("a dead wait")
        pace.reserve(amount, now)
        sent.append((now, amount))
    return sent


@given(st.integers(100, 500_000), st.lists(st.floats(1, 1e6), min_size=1, max_size=60))
@example(10_000, [9000.0, 1000.0, 9000.0, 1000.0, 9000.0])
@settings(max_examples=150, deadline=None)
def test_no_window_of_tokens_exceeds_the_limit_but_by_one_request_alone(
    limit: int, amounts: list[float]
) -> None:
    sent = _send_all(TokenPace(limit), amounts)
    for index, (time, amount) in enumerate(sent):
        within = [other for start, other in sent[: index + 1] if start > time - WINDOW]
        assert sum(within) <= limit * (1 + 1e-9) or within == [amount]


def test_no_minute_of_a_server_holds_more_tokens_than_its_limit() -> None:
    pace = TokenPace(1000.0)
    pace.reserve(900.0, 100.0)
    paid_off = 100.0 + 900 / 1000 * 60 / PACE_SHARE
    assert paid_off < 160
    assert pace.wait(100.0, paid_off) == 0  # fits beside it
    assert paid_off + pace.wait(200.0, paid_off) > 160  # does not, in any minute


def test_equal_requests_use_the_whole_rate() -> None:
    sent = _send_all(TokenPace(500_000), [700.0] * 3000)
    assert sum(amount for _, amount in sent[:-1]) / (sent[-1][0] - sent[0][0]) >= 0.99 * 500_000 / 60


def test_mixed_requests_use_nearly_the_whole_rate() -> None:
    amounts = [100.0 + (index * 7919) % 1700 for index in range(3000)]
    sent = _send_all(TokenPace(500_000), amounts)
    assert sum(amounts[:-1]) / (sent[-1][0] - sent[0][0]) >= 0.985 * 500_000 / 60


def test_a_request_above_the_whole_limit_goes_alone() -> None:
    times = [time - 1000 for time, _ in _send_all(TokenPace(1000), [500.0, 5000.0, 500.0])]
    assert times[0] == 0
    assert times[1] >= WINDOW
    assert times[2] >= times[1] + WINDOW


def test_a_reply_that_used_less_lets_the_next_one_go_sooner() -> None:
    pace = TokenPace(6000)
    charge = pace.reserve(3000, now=0.0)
    assert charge is not None
    assert pace.wait(1000, now=1.0) == pytest.approx(30 / 0.995 - 1)
    pace.settle(charge, 300)
    assert pace.wait(1000, now=1.0) == pytest.approx(3 / 0.995 - 1)


def test_a_reply_that_used_more_is_paid_by_those_after_it() -> None:
    pace = TokenPace(6000)
    charge = pace.reserve(100, now=0.0)
    assert charge is not None
    pace.settle(charge, 3000)
    assert pace.wait(100, now=1.0) == pytest.approx(30 / 0.995 - 1)


@given(
    st.lists(
        st.tuples(
            st.floats(0, 20),
            st.floats(0, 3000),
            st.sampled_from(["settle", "refund", "keep"]),
            st.floats(0, 5000),
        ),
        max_size=40,
    )
)
@settings(deadline=None)
def test_what_is_reserved_is_settled_refunded_or_still_charged(
    acts: list[tuple[float, float, str, float]],
) -> None:
    pace, now, charges = TokenPace(10_000), 0.0, []
    for pause, reserved, act, used in acts:
        now += pause
        charge = pace.reserve(reserved, now)
        assert charge is not None
        final = {"settle": used, "refund": 0.0, "keep": reserved}[act]
        pace.settle(charge, final)
        charges.append((now, final))
    expected = sum(amount for time, amount in charges if time + WINDOW > now)
    assert pace.in_window(now) == pytest.approx(expected, abs=1e-6)
    assert pace.in_window(now + WINDOW) == 0


def test_settling_after_the_window_changes_no_window() -> None:
    pace = TokenPace(6000)
    charge = pace.reserve(1000, now=0.0)
    assert charge is not None
    assert pace.in_window(70.0) == 0
    pace.settle(charge, 200)
    assert pace.in_window(70.0) == 0


def test_debt_is_paid_at_the_new_rate_after_a_change() -> None:
    pace = TokenPace(6000)
    pace.reserve(3000, now=0.0)
    pace.set_rate(60_000, now=0.0)
    assert pace.wait(100, now=0.0) == pytest.approx(3 / 0.995)
    pace.set_rate(None, now=0.0)
    assert pace.wait(1e9, now=0.0) == 0
    assert pace.reserve(1e9, now=0.0) is None


# -- what the server says is left -------------------------------------------------------------------


def test_without_a_report_there_is_no_wait() -> None:
    assert Room().wait(1e9, total=1e9, now=0.0) == 0


def test_what_was_sent_since_is_taken_off_and_the_refill_added() -> None:
    room = Room()
    room.report(100, total=10, at=0.0, per_minute=6000, reset=None)
    assert room.wait(1, total=10, now=0.0) == 0
    assert room.wait(1, total=10 + 88, now=0.0) == 0  # a margin of 10 and one more
    wait = room.wait(1, total=10 + 108, now=0.0)
    assert wait == pytest.approx(20 / 99.5, abs=0.002)
    assert room.wait(1, total=10 + 108, now=wait) == pytest.approx(0, abs=1e-9)


def test_only_the_report_of_the_latest_request_counts() -> None:
    room = Room()
    room.report(0, total=50, at=5.0, per_minute=60, reset=None)
    room.report(1000, total=40, at=4.0, per_minute=60, reset=None)
    assert room.wait(1, total=50, now=5.0) > 0


@pytest.mark.parametrize(("reset", "until"), [(12.0, 17.0), (None, 65.0), (-3.0, 5.0)])
def test_without_a_known_rate_everybody_waits_for_the_reset(reset: float | None, until: float) -> None:
    room = Room()
    room.report(-7, total=1, at=5.0, per_minute=None, reset=reset)
    assert room.wait(1, total=1, now=5.0) == pytest.approx(until - 5.0)
    assert room.wait(1, total=1, now=until) == 0


def test_a_budget_of_one_has_no_margin() -> None:
    room = Room()
    room.report(1, total=1, at=0.0, per_minute=3, reset=None)
    assert room.wait(1, total=1, now=0.0) == 0


# -- the estimate -----------------------------------------------------------------------------------


def test_the_first_estimate_is_high() -> None:
    estimate = TokenEstimate()
    assert estimate.prompt(300) == 300
    assert estimate.completion(16) == 16
    assert estimate.completion(None) == 256


def test_usage_corrects_the_estimate_within_a_few_replies() -> None:
    estimate = TokenEstimate()
    for _ in range(5):
        estimate.learn(300, 210, 12)
    assert estimate.prompt(300) == pytest.approx(210, rel=0.05)
    assert estimate.completion(1024) == pytest.approx(12)
    assert estimate.completion(8) == 8


def test_the_estimate_follows_other_prompts() -> None:
    estimate = TokenEstimate()
    for _ in range(100):
        estimate.learn(300, 210, 12)
    for _ in range(150):
        estimate.learn(300, 100, 400)
    assert estimate.tokens_per_char == pytest.approx(1 / 3, rel=0.1)
    assert estimate.completion(None) == pytest.approx(400, rel=0.1)
