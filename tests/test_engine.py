"""The engine under made-up time: attempts, waits, deadlines, budgets, endpoints, and what is never lost."""

from __future__ import annotations

import asyncio
import json
import zlib
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.attempts import MAX_WAIT
from m3ke_async.concurrency import AdaptiveConcurrency
from m3ke_async.engine import _ROOM, GRACE
from m3ke_async.errors import DataError, IncompleteError, StoppedError
from m3ke_async.keeping import _STORE_TRIES
from m3ke_async.request import Reply
from m3ke_async.retry import RETRY_BUDGET
from m3ke_async.store import Kept, ReplyStore, StoreError
from m3ke_async.tally import Budget, Price
from tests import fake_time
from tests.asking import Bench, make_ask
from tests.questions import marks
from tests.server import DRIP, HALF, HANG, HEADERS, RESET, Gate, Wire, error, raw, reply, right, right_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from m3ke_async.request import ChatRequest
    from m3ke_async.wire.transport import Response
    from tests.server import Act, Seen


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplyStore]:
    with ReplyStore(tmp_path / "replies.sqlite") as opened:
        yield opened


@pytest.fixture
def wire() -> Wire:
    return Wire()


def bench(store: ReplyStore, wire: Wire | tuple[Wire, ...], *tasks: Iterable[str], **options: Any) -> Bench:
    """An engine that asks these marks, a list a task."""
    wires = wire if isinstance(wire, tuple) else (wire,)
    return Bench(wires, tasks, store, **options)


def run(asking: Bench) -> float:
    """Run it to its end; the seconds that it took."""

    async def main() -> float:
        await asking.run()
        return asyncio.get_running_loop().time() - fake_time.START

    return fake_time.run(main())


def slow(mark: str) -> Act:
    """A right answer after a second."""
    return right_reply(mark).after(1.0)


# -- answers ---------------------------------------------------------------------------


def test_every_question_is_asked_once_and_gets_its_own_reply(store: ReplyStore, wire: Wire) -> None:
    asking = bench(store, wire, marks(1, 20), marks(3, 20)[20:])
    run(asking)
    assert set(wire.counts.values()) == {1}
    assert {mark: reply.text for mark, reply in asking.replies.items()} == {
        mark: f"答案：{right(mark)}" for mark in asking.replies
    }
    assert len(asking.replies) == asking.tally.answered == 60


def test_a_reply_is_in_the_store_before_it_is_counted(store: ReplyStore, wire: Wire) -> None:
    stored: list[bool] = []

    def on_reply(ask: object, reply: Reply) -> None:
        with ReplyStore(store.path) as other:  # another reader sees it: it is committed
            stored.append(other.get(make_ask(f"Q0-{len(stored)}").request.key) == reply)

    asking = bench(store, wire, marks(1, 9), concurrency=1, on_reply=on_reply)
    counted: list[int] = []

    class Counts:
        def add(self, kept: Kept) -> None:
            counted.append(asking.tally.answered)

    store.follower = Counts()  # is told when the reply is durable
    run(asking)
    assert stored == [True] * 9
    assert counted == list(range(9))


def test_the_reply_tells_its_attempts_and_the_latency_of_the_one_that_succeeded(
    store: ReplyStore, wire: Wire
) -> None:
    wire.script["Q0-0"] = [error(500).after(9.0), RESET, right_reply("Q0-0").after(2.0)]
    asking = bench(store, wire, ["Q0-0"])
    run(asking)
    got = asking.replies["Q0-0"]
    assert got.attempts == 3
    assert got.latency == pytest.approx(2.0)


def test_a_second_try_takes_a_fresh_connection(
    store: ReplyStore, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.script = {"Q0-0": [RESET, error(500), right_reply("Q0-0")]}
    fresh: list[tuple[str, bool]] = []
    asked = wire.ask

    async def ask(body: bytes, **how: bool) -> Response:
        fresh.append((json.loads(body)["messages"][0]["content"], how["fresh"]))
        return await asked(body, **how)

    monkeypatch.setattr(wire, "ask", ask)
    run(bench(store, wire, marks(1, 2), concurrency=1))
    assert sorted(fresh) == [("Q0-0", False), ("Q0-0", True), ("Q0-0", True), ("Q0-1", False)]


def test_what_was_sent_once_more_at_once_is_counted_and_is_no_attempt(
    store: ReplyStore, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = wire.ask

    async def ask(body: bytes, **how: bool) -> Response:
        return replace(await asked(body, **how), resent=True)

    monkeypatch.setattr(wire, "ask", ask)
    asking = bench(store, wire, marks(1, 3))
    run(asking)
    ledger = asking.tally.ledger
    assert (ledger.resent, ledger.requests, ledger.retries.total()) == (3, 3, 0)


def test_requests_start_in_lots_so_that_connections_are_not_opened_all_at_once(
    store: ReplyStore, wire: Wire
) -> None:
    wire.default = slow
    run(bench(store, wire, marks(1, 300), concurrency=300))
    starts = [round(seen.at, 3) for seen in wire.seen]
    assert wire.max_in_flight == 300
    assert max(starts.count(at) for at in starts) <= 64
    assert starts[-1] - starts[0] < 0.5


def test_never_more_are_in_flight_than_allowed(store: ReplyStore, wire: Wire) -> None:
    wire.default = lambda mark: right_reply(mark).after(0.1 + int(mark.split("-")[1]) % 7 / 10)
    run(bench(store, wire, marks(1, 100), concurrency=5))
    assert wire.max_in_flight == 5


def test_tasks_are_bounded_by_what_is_in_flight_not_by_the_questions(store: ReplyStore, wire: Wire) -> None:
    most = 0

    def count(seen: Seen) -> None:
        nonlocal most
        most = max(most, len(asyncio.all_tasks()))

    wire.on_request = count
    wire.default = lambda mark: right_reply(mark).after(0.01)
    wire.script = {f"Q0-{row}": [error(500), right_reply("Q0-0")] for row in range(0, 1500, 10)}
    run(bench(store, wire, marks(1, 1500), concurrency=16))
    assert most <= 16 + 3


def test_questions_are_built_as_they_are_asked(store: ReplyStore, wire: Wire) -> None:
    built: list[int] = []

    def lane() -> Iterator[str]:
        for row in range(500):
            built.append(row)
            yield f"Q0-{row}"

    ahead: list[int] = []
    wire.on_request = lambda seen: ahead.append(len(built) - len(wire.seen))
    run(bench(store, wire, lane(), concurrency=4))
    assert max(ahead) <= 4


# -- lanes and equal requests ------------------------------------------------------------


def test_where_examples_are_shared_one_request_of_a_task_goes_before_the_others(
    store: ReplyStore, wire: Wire
) -> None:
    wire.default = slow
    run(bench(store, wire, marks(1, 6), marks(2, 6)[6:], lead=True, concurrency=12))
    for task in "01":
        first, *others = (seen.at for seen in wire.seen if seen.mark.startswith(f"Q{task}"))
        assert first == pytest.approx(fake_time.START, abs=0.01)
        assert min(others) >= first + 1.0


def test_the_others_are_not_held_back_by_a_leader_that_fails(store: ReplyStore, wire: Wire) -> None:
    wire.default = slow
    wire.script["Q0-0"] = [error(500, retry_after="50"), slow("Q0-0")]
    asking = bench(store, wire, marks(1, 6), lead=True)
    run(asking)
    assert max(wire.times("Q0-5")) < fake_time.START + 10
    assert len(asking.replies) == 6


def test_what_another_process_bought_since_it_was_looked_for_is_not_asked(
    store: ReplyStore, wire: Wire
) -> None:
    asking = bench(store, wire, marks(1, 3))
    store.put(make_ask("Q0-1").request, Reply("答案：B"))
    run(asking)
    assert set(wire.counts) == {"Q0-0", "Q0-2"}
    assert (asking.tally.stored, asking.tally.answered) == (1, 2)


def test_equal_requests_are_sent_once_also_when_both_would_be_in_flight(
    store: ReplyStore, wire: Wire
) -> None:
    wire.default = slow
    asking = bench(store, wire, ["Q0-0", "Q0-0", "Q0-1"], ["Q0-0", "Q1-0"])
    run(asking)
    assert wire.counts == {"Q0-0": 1, "Q0-1": 1, "Q1-0": 1}
    assert asking.tally.answered == 5


def test_equal_requests_share_a_failure_too(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [error(500).after(1.0)]
    asking = bench(store, wire, ["Q0-0", "Q0-0", "Q0-1"], attempts=3)
    run(asking)
    assert wire.counts["Q0-0"] == 3
    assert (asking.tally.answered, asking.tally.failed) == (1, 2)


# -- attempts and waits --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (error(500), "server_error"),
        (error(429), "rate_limit"),
        (error(503), "overload"),
        (error(408), "timeout"),
        (RESET, "connection"),
        (HALF, "connection"),
        (raw(b"{not json"), "malformed"),
        (raw({"choices": []}), "no_choices"),
        (raw({"error": {"message": "no", "code": 500}}), "server_error"),
        (HANG, "timeout"),
        (HEADERS, "timeout"),
        (DRIP, "timeout"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("attempts", [1, 4])
def test_what_always_fails_is_sent_exactly_so_many_times_and_then_recorded(
    store: ReplyStore, wire: Wire, act: Act, kind: str, attempts: int
) -> None:
    wire.script["Q0-1"] = [act]
    asking = bench(store, wire, marks(1, 5), attempts=attempts)
    run(asking)
    assert wire.counts == {mark: attempts if mark == "Q0-1" else 1 for mark in marks(1, 5)}
    failure = store.get_failure(make_ask("Q0-1").request.key)
    assert failure is not None
    assert (failure.kind, failure.attempts) == (kind, attempts)
    assert store.get(make_ask("Q0-1").request.key) is None
    assert (asking.tally.answered, asking.tally.failed, dict(asking.tally.failures)) == (4, 1, {kind: 1})
    assert asking.tally.ledger.retries[kind] == attempts


def test_a_quota_that_may_be_for_good_is_tried_as_often_as_others_and_then_stops_the_run(
    store: ReplyStore, wire: Wire
) -> None:
    wire.default = lambda mark: error(429, "You exceeded your current quota", code="insufficient_quota")
    asking = bench(store, wire, marks(1, 50), attempts=4, concurrency=1, probe=True)
    with pytest.raises(StoppedError, match="check the account's credit"):
        run(asking)
    assert wire.counts == {"Q0-0": 4}


def test_a_waiting_question_holds_no_slot(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [error(500, retry_after="100"), right_reply("Q0-0")]
    wire.default = slow
    run(bench(store, wire, marks(1, 10), concurrency=1))
    others = [seen.at for seen in wire.seen if seen.mark != "Q0-0"]
    assert others[-1] < fake_time.START + 10
    assert wire.times("Q0-0")[1] >= fake_time.START + 100


def test_the_server_is_never_asked_before_the_time_it_named(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [error(429, retry_after="7"), error(503, retry_after="11"), right_reply("Q0-0")]
    run(bench(store, wire, ["Q0-0"]))
    first, second, third = wire.times("Q0-0")
    assert 7 <= second - first < 9
    assert 11 <= third - second < 14


def test_repeated_refusals_hold_back_everybody_and_nobody_wakes_together(
    store: ReplyStore, wire: Wire
) -> None:
    refused_until = fake_time.START + 20

    def act(mark: str) -> Act:
        now = asyncio.get_running_loop().time()
        return error(429, retry_after="20") if now < refused_until else slow(mark)

    wire.default = act
    asking = bench(store, wire, marks(1, 60), concurrency=16)
    run(asking)
    early = [seen.at for seen in wire.seen if seen.at < refused_until]
    late = [seen.at for seen in wire.seen if seen.at >= refused_until]
    assert len(early) <= 16  # one wave; new questions do not run into the same wall
    assert len(asking.replies) == 60
    assert len(set(late[:16])) == 16
    gaps = [after - before for before, after in pairwise(late[:8])]
    assert min(gaps) > 0.001
    assert late[7] - late[0] > 0.05


def test_one_refusal_among_answers_slows_nobody_else(store: ReplyStore, wire: Wire) -> None:
    wire.default = slow
    wire.script["Q0-20"] = [error(429, retry_after="30"), right_reply("Q0-20")]
    run(bench(store, wire, marks(1, 40), concurrency=4))
    assert max(wire.times("Q0-39")) < fake_time.START + 12
    assert wire.times("Q0-20")[1] - wire.times("Q0-20")[0] >= 30


def refused(mark: str, attempt: int) -> float:
    """A number from 0 to 1, the same in every run."""
    return zlib.crc32(f"{mark}/{attempt}".encode()) / 2**32


@pytest.mark.parametrize(
    "refuses",
    [
        lambda mark, attempt: attempt == 1,
        lambda mark, attempt: attempt == 1 and mark.startswith("Q0"),
        lambda mark, attempt: refused(mark, attempt) < 0.2,
        lambda mark, attempt: refused(mark, attempt) < 0.4,
    ],
    ids=["every first try", "the first tries of one task", "a fifth", "two fifths"],
)
@pytest.mark.parametrize("concurrency", [16, None], ids=["fixed", "auto"])
def test_refusals_that_are_not_about_the_rate_do_not_make_the_run_crawl(
    store: ReplyStore, wire: Wire, refuses: Callable[[str, int], bool], concurrency: int | None
) -> None:
    tasks = [marks(task + 1, 200)[-200:] for task in range(4)]
    for mark in chain(*tasks):
        wire.script[mark] = [
            error(429).after(0.02) if refuses(mark, attempt) else right_reply(mark).after(0.2)
            for attempt in range(1, 9)
        ]
    asking = bench(store, wire, *tasks, attempts=8, concurrency=16)
    engine = asking.build()
    if concurrency is None:
        asking.endpoints[0].concurrency = AdaptiveConcurrency(start=16)

    async def main() -> float:
        await engine.run()
        return asyncio.get_running_loop().time() - fake_time.START

    seconds = fake_time.run(main())
    assert asking.tally.answered == 800
    assert seconds < 4 * 800 * 0.22 / 16  # four times as long as the answers alone take


def test_what_is_due_again_goes_before_what_was_never_sent(store: ReplyStore, wire: Wire) -> None:
    wire.default = slow
    for mark in marks(1, 8):
        wire.script[mark] = [error(429), slow(mark)]
    run(bench(store, wire, marks(1, 40), concurrency=8))
    again = [place for place, seen in enumerate(wire.seen) if seen.attempt == 2]
    assert max(again) < 8 + 8 + 8  # of 48 requests


def test_a_wait_beyond_all_measure_ends_the_run_and_says_how_long(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-2"] = [error(429, retry_after=str(int(MAX_WAIT) + 100))]
    asking = bench(store, wire, marks(1, 50), concurrency=1)
    with pytest.raises(IncompleteError, match="asked to wait 700 s"):
        run(asking)
    assert len(wire.seen) == 3
    assert asking.tally.failed == 0


def test_no_question_is_tried_for_longer_than_its_time(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [error(500, retry_after="500")]
    asking = bench(store, wire, ["Q0-0"], attempts=100)
    assert run(asking) <= RETRY_BUDGET
    assert asking.tally.failed == 1


def test_new_questions_are_not_begun_while_many_wait_for_another_try(store: ReplyStore, wire: Wire) -> None:
    wire.default = lambda mark: error(500, retry_after="100")
    asking = bench(store, wire, marks(1, 200), concurrency=4, attempts=2)
    touched: set[str] = set()
    wire.on_request = lambda seen: touched.add(seen.mark) if seen.at < fake_time.START + 99 else None
    with pytest.raises(IncompleteError):
        run(asking)
    assert len(touched) <= _ROOM + 4


def test_what_was_refused_takes_no_tokens_from_the_pace(store: ReplyStore, wire: Wire) -> None:
    # 10 characters and 64 tokens at most: two of these do not fit into a minute's 100 tokens
    wire.script["Q0-0"] = [error(500), right_reply("Q0-0")]
    run(bench(store, wire, ["Q0-0"], tpm=100.0))
    assert wire.times("Q0-0")[1] < fake_time.START + 5


def test_no_question_waits_for_leave_that_the_budget_would_refuse(store: ReplyStore, wire: Wire) -> None:
    asking = bench(store, wire, marks(1, 3), tpm=100.0, concurrency=1, budget=Budget(requests=1))

    async def main() -> float:
        with pytest.raises(IncompleteError, match="--max-requests 1"):
            await asking.run()
        return asyncio.get_running_loop().time() - fake_time.START

    assert fake_time.run(main()) < 5  # the second one would have leave after half a minute
    assert wire.counts == {"Q0-0": 1}


def test_an_error_inside_a_200_did_take_tokens(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [raw({"error": {"message": "no", "code": 500}}), right_reply("Q0-0")]
    run(bench(store, wire, ["Q0-0"], tpm=100.0))
    assert wire.times("Q0-0")[1] > fake_time.START + 30


# -- deadlines and late replies ------------------------------------------------------------


@pytest.mark.parametrize("act", [HANG, HEADERS, DRIP])
def test_a_request_that_never_ends_ends_at_its_deadline_and_stops_nobody(
    store: ReplyStore, wire: Wire, act: Act
) -> None:
    wire.script = {"Q0-0": [act], "Q0-1": [act]}
    asking = bench(store, wire, marks(1, 100), timeout=30.0, attempts=2, concurrency=2)
    answered_at: list[float] = []
    wire.on_request = lambda seen: answered_at.append(asyncio.get_running_loop().time())
    assert run(asking) < 30 + 30 + 5 + 30 + 60
    assert (asking.tally.answered, asking.tally.failed) == (98, 2)
    assert wire.counts["Q0-0"] == wire.counts["Q0-1"] == 2


def test_a_late_reply_is_used_and_not_bought_twice(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [right_reply("Q0-0").after(40.0)]
    asking = bench(store, wire, marks(1, 3), timeout=30.0)
    run(asking)
    assert wire.counts["Q0-0"] == 1
    assert asking.replies["Q0-0"].latency == pytest.approx(40.0)
    ledger = asking.tally.ledger
    assert (ledger.requests, ledger.replies, ledger.wasted_tokens, +ledger.retries) == (3, 3, 0, {})
    assert (asking.tally.answered, asking.tally.failed, asking.tally.waiting) == (3, 0, 0)
    assert store.get(make_ask("Q0-0").request.key) == asking.replies["Q0-0"]


def test_a_late_reply_is_used_though_its_question_was_about_to_be_asked_again(
    store: ReplyStore, wire: Wire
) -> None:
    wire.script["Q0-0"] = [right_reply("Q0-0").after(70.0)]
    asking = bench(store, wire, marks(1, 3), timeout=30.0)

    async def main() -> None:
        engine = asking.build()
        # from 50 to 110 s nobody is sent: the second try, due after 60 s, waits for its pace
        asyncio.get_running_loop().call_later(50.0, lambda: asking.endpoints[0].pace.hold(60.0))
        await engine.run()

    fake_time.run(main())
    assert wire.counts["Q0-0"] == 1
    assert asking.tally.answered == 3


def test_a_reply_after_the_second_try_was_sent_changes_nothing(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [reply("答案：B").after(90.0), reply("答案：C").after(29.0)]
    asking = bench(store, wire, marks(1, 3), timeout=30.0)
    run(asking)
    assert wire.counts["Q0-0"] == 2
    assert asking.replies["Q0-0"].text == "答案：C"
    assert asking.tally.answered == 3


def test_the_deadline_gives_the_slot_to_the_next_question(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [HANG]
    asking = bench(store, wire, marks(1, 3), timeout=30.0, concurrency=1, attempts=1)
    run(asking)
    assert wire.times("Q0-1")[0] == pytest.approx(fake_time.START + 30, abs=0.1)


# -- what stops a run ----------------------------------------------------------------------


FATAL = {
    "401": error(401, "bad key"),
    "403": error(403, "not for you"),
    "404": error(404, "no such model"),
    "402": error(402, "pay"),
    "parameter": error(
        400, "Unknown parameter: 'temperature'", code="unknown_parameter", param="temperature"
    ),
}


@pytest.mark.parametrize("act", FATAL.values(), ids=FATAL.keys())
def test_a_fatal_answer_to_the_first_question_is_the_only_request(
    store: ReplyStore, wire: Wire, act: Act
) -> None:
    wire.default = lambda mark: act.after(1.0)
    asking = bench(store, wire, marks(1, 50), marks(2, 50), probe=True)
    with pytest.raises(StoppedError) as stopped:
        run(asking)
    assert len(wire.seen) == 1
    assert "\n" not in str(stopped.value)
    assert asking.tally.failed == 0


def test_the_refused_parameter_is_named(store: ReplyStore, wire: Wire) -> None:
    wire.default = lambda mark: FATAL["parameter"]
    with pytest.raises(StoppedError, match="temperature"):
        run(bench(store, wire, marks(1, 9), probe=True))


def test_after_a_fatal_answer_nothing_is_sent_and_what_is_in_flight_is_kept(
    store: ReplyStore, wire: Wire
) -> None:
    wire.default = slow
    wire.script["Q0-3"] = [error(401).after(0.5)]
    asking = bench(store, wire, marks(1, 50), concurrency=8)
    with pytest.raises(StoppedError):
        run(asking)
    assert len(wire.seen) == 8
    assert len(asking.replies) == 7
    assert all(store.get(make_ask(mark).request.key) for mark in asking.replies)


def test_the_first_question_goes_alone_until_it_is_answered(store: ReplyStore, wire: Wire) -> None:
    wire.default = slow
    wire.script["Q0-0"] = [error(500), RESET, slow("Q0-0")]
    run(bench(store, wire, marks(1, 20), probe=True))
    assert [seen.mark for seen in wire.seen[:3]] == ["Q0-0"] * 3
    assert wire.seen[3].at >= wire.seen[2].at + 1.0
    assert wire.max_in_flight == 8


def test_when_the_first_question_hangs_it_is_tried_again_and_the_run_goes_on(
    store: ReplyStore, wire: Wire
) -> None:
    wire.script["Q0-0"] = [HANG, right_reply("Q0-0")]
    asking = bench(store, wire, marks(1, 5), probe=True, timeout=10.0)
    run(asking)
    assert len(asking.replies) == 5


def test_when_the_first_five_are_all_refused_the_setting_is_wrong(store: ReplyStore, wire: Wire) -> None:
    wire.default = lambda mark: error(400, "the tone is wrong")
    asking = bench(store, wire, marks(1, 100), concurrency=1)
    with pytest.raises(StoppedError, match=r"first 5 questions were all refused.*the tone is wrong"):
        run(asking)
    assert len(wire.seen) == 5


def test_a_refused_question_among_answered_ones_stops_nothing(store: ReplyStore, wire: Wire) -> None:
    wire.script = {f"Q0-{row}": [error(400, "not this one")] for row in range(10, 30)}
    asking = bench(store, wire, marks(1, 60))
    run(asking)
    assert (asking.tally.answered, asking.tally.failed) == (40, 20)
    assert set(wire.counts.values()) == {1}


@pytest.mark.parametrize(("blanks", "stops"), [(10, False), (11, True)])
def test_more_than_a_fifth_of_the_first_fifty_without_text_stops_the_run(
    store: ReplyStore, wire: Wire, blanks: int, stops: bool
) -> None:
    wire.script = {f"Q0-{row}": [reply("", finish="length")] for row in range(20, 20 + blanks)}
    asking = bench(store, wire, marks(1, 200), concurrency=1)
    if stops:
        with pytest.raises(StoppedError, match=r"11 of the first 50 .*--max-tokens"):
            run(asking)
    else:
        run(asking)
    assert len(wire.seen) == (50 if stops else 200)


def test_replies_with_no_content_at_all_count_as_blanks(store: ReplyStore, wire: Wire) -> None:
    wire.script = {f"Q0-{row}": [reply(None)] for row in range(5, 20)}
    with pytest.raises(StoppedError, match="have no text"):
        run(bench(store, wire, marks(1, 200), concurrency=1))
    assert len(wire.seen) == 50


def test_the_content_check_is_no_blank_and_stops_nothing(store: ReplyStore, wire: Wire) -> None:
    wire.script = {f"Q0-{row}": [error(400, "no", code="content_filter")] for row in range(40)}
    asking = bench(store, wire, marks(1, 60))
    run(asking)
    assert asking.tally.answered == 60
    assert set(wire.counts.values()) == {1}
    assert asking.replies["Q0-0"].filtered


# -- a server that is gone -------------------------------------------------------------------


def test_a_server_that_stays_silent_ends_the_run_not_the_questions(store: ReplyStore, wire: Wire) -> None:
    dead = fake_time.START + 60

    def act(mark: str) -> Act:
        return slow(mark) if asyncio.get_running_loop().time() < dead else RESET

    wire.default = act
    asking = bench(store, wire, marks(1, 5000), attempts=100)
    with pytest.raises(IncompleteError, match="no reply for"):
        run(asking)
    lasted = wire.seen[-1].at - dead
    assert 250 < lasted < 500
    assert asking.tally.failed == 0
    assert len(wire.seen) - len(asking.replies) < 300  # a dead server is asked one by one


def test_a_server_that_comes_back_within_minutes_costs_no_question(store: ReplyStore, wire: Wire) -> None:
    def act(mark: str) -> Act:
        now = asyncio.get_running_loop().time() - fake_time.START
        return RESET if 20 < now < 110 else slow(mark)

    wire.default = act
    asking = bench(store, wire, marks(1, 400), attempts=6)
    run(asking)
    assert len(asking.replies) == 400
    assert asking.tally.failed == 0


# -- several endpoints -------------------------------------------------------------------


def test_the_least_busy_endpoint_is_asked(store: ReplyStore) -> None:
    fast, lame = Wire(), Wire()
    fast.default = slow
    lame.default = lambda mark: right_reply(mark).after(9.0)
    asking = bench(store, (fast, lame), marks(1, 400), concurrency=8)
    run(asking)
    assert len(fast.seen) + len(lame.seen) == 400
    assert len(fast.seen) > 5 * len(lame.seen)
    assert fast.max_in_flight == lame.max_in_flight == 8


def test_two_endpoints_share_the_work_evenly_when_they_are_equal(store: ReplyStore) -> None:
    wires = (Wire(), Wire())
    for wire in wires:
        wire.default = slow
    run(bench(store, wires, marks(1, 200), concurrency=4))
    assert {len(wire.seen) for wire in wires} == {100}


def test_few_questions_are_spread_over_the_endpoints(store: ReplyStore) -> None:
    wires = (Wire(), Wire(), Wire())
    for wire in wires:
        wire.default = slow
    run(bench(store, wires, marks(1, 6), concurrency=8))
    assert [len(wire.seen) for wire in wires] == [2, 2, 2]


def test_a_dead_endpoint_is_left_out_and_costs_no_question(store: ReplyStore) -> None:
    alive, dead = Wire(), Wire()
    alive.default = slow
    dead.default = lambda mark: RESET
    asking = bench(store, (alive, dead), marks(1, 300), concurrency=8)
    run(asking)
    assert len(asking.replies) == 300
    assert asking.tally.failed == 0
    assert len(dead.seen) < 150


def test_an_endpoint_with_a_fatal_answer_is_left_out_and_the_other_goes_on(store: ReplyStore) -> None:
    alive, shut = Wire(), Wire()
    alive.default = slow
    shut.default = lambda mark: error(401, "bad key")
    asking = bench(store, (shut, alive), marks(1, 50), probe=True)
    run(asking)
    assert len(asking.replies) == 50
    assert len(shut.seen) == 1
    assert len(asking.warned) == 1
    assert "a.test" in asking.warned[0]
    assert "left out" in asking.warned[0]
    assert {reply.attempts for reply in asking.replies.values()} == {1}


def test_the_run_stops_when_all_endpoints_gave_a_fatal_answer(store: ReplyStore) -> None:
    wires = (Wire(), Wire())
    for wire in wires:
        wire.default = lambda mark: error(401, "bad key")
    with pytest.raises(StoppedError):
        run(bench(store, wires, marks(1, 50), probe=True))
    assert [len(wire.seen) for wire in wires] == [1, 1]


# -- budgets -------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("most", [1, 7, 33])
def test_the_number_of_requests_is_kept_exactly_failed_ones_included(
    store: ReplyStore, wire: Wire, most: int, concurrency: int
) -> None:
    wire.default = lambda mark: slow(mark) if int(mark.split("-")[1]) % 3 else error(500)
    asking = bench(store, wire, marks(1, 100), concurrency=concurrency, budget=Budget(requests=most))
    with pytest.raises(IncompleteError, match=rf": {most} requests? (was|were) sent"):
        run(asking)
    assert len(wire.seen) == asking.tally.ledger.requests == most


def test_tokens_stop_the_run_with_no_more_beyond_than_is_in_flight(store: ReplyStore, wire: Wire) -> None:
    wire.default = slow
    asking = bench(store, wire, marks(1, 200), concurrency=4, budget=Budget(tokens=240))
    with pytest.raises(IncompleteError, match="max-tokens-total 240"):
        run(asking)
    assert 20 <= len(wire.seen) <= 20 + 4  # 12 tokens each
    assert len(asking.replies) == len(wire.seen)


def test_money_counts_failed_attempts_and_replies_without_usage(store: ReplyStore, wire: Wire) -> None:
    def act(mark: str) -> Act:
        number = int(mark.split("-")[1])
        return error(500) if number % 2 else reply("答案：A", usage=None)

    wire.default = act
    # 10 characters a prompt are 10 tokens while no usage says otherwise; 1 a token
    asking = bench(
        store, wire, marks(1, 500), concurrency=1, budget=Budget(cost=200), price=Price(1e6, 1e6), attempts=2
    )
    with pytest.raises(IncompleteError, match="max-cost 200"):
        run(asking)
    assert len(wire.seen) == 20
    assert asking.tally.ledger.unreported == len(asking.replies)


def test_time_stops_the_run_also_while_everybody_waits(store: ReplyStore, wire: Wire) -> None:
    wire.default = lambda mark: error(500, retry_after="500")
    asking = bench(store, wire, marks(1, 4), budget=Budget(seconds=60))

    async def main() -> float:
        with pytest.raises(IncompleteError, match="60 seconds have passed"):
            await asking.run()
        return asyncio.get_running_loop().time() - fake_time.START

    assert fake_time.run(main()) == pytest.approx(60, abs=0.1)
    assert asking.tally.failed == 0


def test_a_budget_that_is_larger_than_the_work_changes_nothing(store: ReplyStore, wire: Wire) -> None:
    asking = bench(store, wire, marks(1, 10), budget=Budget(11, 10**6, 10.0, 1e6), price=Price(0.0, 0.0))
    run(asking)
    assert len(asking.replies) == 10


# -- stopping ------------------------------------------------------------------------------


def stop_at(asking: Bench, number: int, *, again: float | None = None) -> float:
    """Run, stop when the request with this number is sent, abort some seconds later; when it ended."""

    async def main() -> float:
        engine, loop = asking.build(), asyncio.get_running_loop()

        def on_request(seen: Seen) -> None:
            if len(asking.wires[0].seen) == number:
                engine.stop(IncompleteError("stop"))
                if again is not None:
                    loop.call_later(again, engine.abort)

        asking.wires[0].on_request = on_request
        with pytest.raises(IncompleteError, match=r"^stop$"):
            await engine.run()
        return loop.time() - fake_time.START

    return fake_time.run(main())


@pytest.mark.parametrize("concurrency", [1, 32])
def test_after_a_stop_nothing_is_sent_and_what_is_in_flight_is_kept(
    store: ReplyStore, wire: Wire, concurrency: int
) -> None:
    wire.default = slow
    asking = bench(store, wire, marks(1, 300), concurrency=concurrency)
    stop_at(asking, 100)
    assert len(wire.seen) == 100
    assert len(asking.replies) == 100
    assert all(store.get(make_ask(mark).request.key) for mark in asking.replies)


def test_what_hangs_gets_a_grace_and_no_more(store: ReplyStore, wire: Wire) -> None:
    wire.default = lambda mark: HANG
    asking = bench(store, wire, marks(1, 9), timeout=1000.0)
    assert stop_at(asking, 8) == pytest.approx(GRACE, abs=0.5)


def test_an_overdue_reply_has_the_same_grace_as_any_other_in_flight(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [right_reply("Q0-0").after(40.0)]
    wire.default = lambda mark: HANG
    asking = bench(store, wire, marks(1, 2), timeout=30.0)

    async def main() -> float:
        engine, loop = asking.build(), asyncio.get_running_loop()
        loop.call_later(35.0, lambda: engine.stop(IncompleteError("stop")))
        with pytest.raises(IncompleteError, match=r"^stop$"):
            await engine.run()
        return loop.time() - fake_time.START

    assert fake_time.run(main()) <= 35.0 + GRACE + 0.1
    assert list(asking.replies) == ["Q0-0"]
    assert store.get(make_ask("Q0-0").request.key) == asking.replies["Q0-0"]


def test_a_second_stop_ends_at_once_and_loses_nothing_that_was_answered(
    store: ReplyStore, wire: Wire
) -> None:
    wire.default = lambda mark: HANG if mark == "Q0-7" else slow(mark)
    asking = bench(store, wire, marks(1, 9), timeout=1000.0)
    assert stop_at(asking, 8, again=3.0) == pytest.approx(3.0, abs=0.1)
    assert len(asking.replies) == 7
    assert all(store.get(make_ask(mark).request.key) for mark in asking.replies)


def test_those_who_wait_for_their_pace_are_not_sent_after_a_stop(store: ReplyStore, wire: Wire) -> None:
    asking = bench(store, wire, marks(1, 100), concurrency=4)
    wire.default = slow

    async def main() -> float:
        engine, loop = asking.build(), asyncio.get_running_loop()
        loop.call_later(5.5, lambda: asking.endpoints[0].pace.hold(100.0))
        loop.call_later(20.0, lambda: engine.stop(IncompleteError("stop")))
        with pytest.raises(IncompleteError, match=r"^stop$"):
            await engine.run()
        return loop.time() - fake_time.START

    assert fake_time.run(main()) == pytest.approx(20.0, abs=0.1)
    assert len(wire.seen) == 24
    assert len(asking.replies) == 24


# -- mistakes and disks ----------------------------------------------------------------------


class BrokenError(Exception):
    """A mistake of ours."""


def test_a_mistake_in_one_worker_is_raised_and_the_replies_of_the_others_are_kept(
    store: ReplyStore, wire: Wire
) -> None:
    wire.default = slow
    count = 0

    def on_reply(ask: object, reply: Reply) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise BrokenError

    with pytest.raises(BrokenError):
        run(bench(store, wire, marks(1, 50), on_reply=on_reply))
    assert len(wire.seen) <= 2 * 8
    assert all(store.get(make_ask(seen.mark).request.key) for seen in wire.seen)


@pytest.mark.parametrize(("row", "concurrency"), [(0, 4), (1, 4), (3, 4), (20, 4), (64, 99), (70, 99)])
@pytest.mark.parametrize("act", [slow, right_reply])
def test_a_suite_that_changes_while_it_is_read_is_an_error_and_no_shorter_suite(
    store: ReplyStore, wire: Wire, row: int, concurrency: int, act: Any
) -> None:
    def lane() -> Iterator[str]:
        yield from marks(1, row)
        raise DataError("has changed")

    wire.default = act
    with pytest.raises(DataError, match="has changed"):
        run(bench(store, wire, lane(), concurrency=concurrency))
    assert all(store.get(make_ask(seen.mark).request.key) for seen in wire.seen)


class FullDisk:
    """Refuses to write for a while."""

    def __init__(self, store: ReplyStore, monkeypatch: pytest.MonkeyPatch, *, times: int) -> None:
        self.left = times
        put = store.put

        def refuse(request: ChatRequest, reply: Reply, *, replace: bool = False) -> None:
            if self.left:
                self.left -= 1
                raise StoreError("cannot write: database or disk is full")
            put(request, reply, replace=replace)

        monkeypatch.setattr(store, "put", refuse)


def test_a_full_disk_stops_the_run_and_loses_no_reply(
    store: ReplyStore, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.default = slow
    asking = bench(store, wire, marks(1, 100), concurrency=8)
    FullDisk(store, monkeypatch, times=20)
    with pytest.raises(IncompleteError, match="disk is full; make room"):
        run(asking)
    assert len(wire.seen) == 8
    assert len(asking.replies) == 8
    assert all(store.get(make_ask(seen.mark).request.key) for seen in wire.seen)
    assert len([line for line in asking.warned if "wait in memory" in line]) == 1


def test_a_late_reply_is_not_lost_on_a_full_disk(
    store: ReplyStore, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.default = lambda mark: right_reply(mark).after(35.0)
    asking = bench(store, wire, marks(1, 3), timeout=30.0)
    FullDisk(store, monkeypatch, times=5)
    with pytest.raises(IncompleteError, match="make room"):
        run(asking)
    assert len(asking.replies) >= 1
    assert store.get(make_ask("Q0-0").request.key) is not None


def test_a_disk_that_stays_full_ends_the_run_all_the_same(
    store: ReplyStore, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.default = slow
    asking = bench(store, wire, marks(1, 20), concurrency=4, probe=False)
    FullDisk(store, monkeypatch, times=10**9)
    with pytest.raises(IncompleteError, match="make room"):
        run(asking)
    assert asking.replies == {}
    assert len(wire.seen) == 4
    assert len(asking.warned) == 2  # that they wait, and that they are lost: not once a reply


def test_who_insists_on_leaving_is_not_kept_by_a_full_disk(
    store: ReplyStore, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = bench(store, wire, marks(1, 20), concurrency=4)
    FullDisk(store, monkeypatch, times=10**9)

    async def main() -> float:
        engine, loop = asking.build(), asyncio.get_running_loop()
        loop.call_later(5.5, engine.abort)
        with pytest.raises(IncompleteError, match="make room"):
            await engine.run()
        return loop.time() - fake_time.START

    assert fake_time.run(main()) == pytest.approx(5.5, abs=0.1)


def test_replies_are_written_as_long_as_tries_are_left_though_the_grace_is_over(
    store: ReplyStore, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = bench(store, wire, marks(1, 1), timeout=10.0)
    FullDisk(store, monkeypatch, times=_STORE_TRIES - 1)
    with pytest.raises(IncompleteError):
        run(asking)
    assert store.get(make_ask("Q0-0").request.key) is not None


# -- other processes on the same store -----------------------------------------------------


class Elsewhere:
    """Claims that another process holds until a time."""

    def __init__(self, until: dict[str, float]) -> None:
        self._until = {make_ask(mark).request.key: fake_time.START + time for mark, time in until.items()}
        self.released: list[bytes] = []

    def take(self, key: bytes) -> bool:
        return asyncio.get_running_loop().time() >= self._until.get(key, 0.0)

    def release(self, key: bytes) -> None:
        self.released.append(key)

    def close(self) -> None:
        pass


def test_what_another_process_is_asking_is_waited_for_and_taken_from_the_store(
    store: ReplyStore, wire: Wire
) -> None:
    asking = bench(store, wire, marks(1, 4))
    store.claims = elsewhere = Elsewhere({"Q0-1": 7.0, "Q0-2": 3.0})  # type: ignore[assignment]
    theirs = Reply("theirs")

    async def main() -> None:
        asyncio.get_running_loop().call_later(6.9, store.put, make_ask("Q0-1").request, theirs)
        await asking.run()

    fake_time.run(main())
    assert sorted(seen.mark for seen in wire.seen) == ["Q0-0", "Q0-2", "Q0-3"]  # they gave one up
    assert store.get(make_ask("Q0-1").request.key) == theirs
    assert (asking.tally.stored, asking.tally.answered, asking.tally.waiting) == (1, 3, 0)
    assert len(elsewhere.released) == 4


def test_another_process_that_never_ends_holds_nobody_up_for_ever(store: ReplyStore, wire: Wire) -> None:
    asking = bench(store, wire, marks(1, 2), timeout=30.0)
    store.claims = Elsewhere({"Q0-1": 1e9})  # type: ignore[assignment]
    assert 60 < run(asking) < 70
    assert len(asking.replies) == 2


def test_a_stop_does_not_wait_for_another_process(store: ReplyStore, wire: Wire) -> None:
    asking = bench(store, wire, marks(1, 40), budget=Budget(requests=3))
    store.claims = Elsewhere({f"Q0-{row}": 1e9 for row in range(0, 40, 2)})  # type: ignore[assignment]
    with pytest.raises(IncompleteError, match="--max-requests 3"):
        run(asking)
    assert len(wire.seen) == 3


# -- the ledger ----------------------------------------------------------------------------


def test_the_ledger_counts_attempts_waits_and_what_was_wasted(store: ReplyStore, wire: Wire) -> None:
    wire.script["Q0-0"] = [error(429, retry_after="5"), error(500), right_reply("Q0-0")]
    wire.script["Q0-1"] = [RESET, right_reply("Q0-1")]
    asking = bench(store, wire, marks(1, 10))
    seconds = run(asking)
    ledger = asking.tally.ledger
    assert (ledger.requests, ledger.replies) == (13, 10)
    assert ledger.retries == {"rate_limit": 1, "server_error": 1, "connection": 1}
    assert (ledger.prompt_tokens, ledger.completion_tokens, ledger.unreported) == (100, 20, 0)
    assert ledger.wasted_tokens > 0
    assert ledger.seconds_waited >= 5.0
    assert ledger.seconds == pytest.approx(seconds)
    assert asking.tally.in_flight == 0


def test_the_next_try_is_known_while_questions_wait(store: ReplyStore, wire: Wire) -> None:
    asking = bench(store, wire, ["Q0-0"])
    wire.script["Q0-0"] = [error(500, retry_after="50"), right_reply("Q0-0")]

    async def main() -> tuple[float | None, float | None]:
        engine = asking.build()
        task = asyncio.create_task(engine.run())
        await asyncio.sleep(10)
        waiting = engine.next_try
        await task
        return waiting, engine.next_try

    waiting, after = fake_time.run(main())
    assert waiting == pytest.approx(42, abs=4)
    assert after is None


def test_gates_let_replies_arrive_in_any_order(store: ReplyStore, wire: Wire) -> None:
    gates = {mark: Gate() for mark in marks(1, 4)}
    wire.default = lambda mark: right_reply(mark).behind(gates[mark])
    asking = bench(store, wire, marks(1, 4))

    async def main() -> None:
        task = asyncio.create_task(asking.run())
        for mark in ("Q0-2", "Q0-0", "Q0-3", "Q0-1"):
            await asyncio.sleep(1)
            gates[mark].open()
        await task

    fake_time.run(main())
    assert list(asking.replies) == ["Q0-2", "Q0-0", "Q0-3", "Q0-1"]
    assert {mark: got.text[-1] for mark, got in asking.replies.items()} == {
        mark: right(mark) for mark in gates
    }
    assert all(json.loads(seen.raw)["messages"][-1]["content"] == seen.mark for seen in wire.seen)
