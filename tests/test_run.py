"""Whole runs over sockets: each reply to its own question, hangs, waits, and running inside another loop."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async import evaluate, evaluate_sync
from m3ke_async.errors import ExitCode, M3keError, StoppedError, UsageError
from m3ke_async.reopen import rescore
from m3ke_async.request import Outcome
from m3ke_async.rundir import STORE_NAME, RunDir
from m3ke_async.verified import claimed
from tests import fake_time
from tests.asking import ask, ask_over, lines, quick, unmeasured
from tests.questions import marks, write_suite
from tests.server import (
    DRIP,
    HALF,
    HANG,
    HEADERS,
    RESET,
    Server,
    Wire,
    error,
    in_thread,
    raw,
    reply,
    right,
    right_reply,
)

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.run import RunResult
    from tests.server import Act


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


# -- each reply to its own question ----------------------------------------------------------


async def test_replies_in_any_order_are_joined_to_their_questions(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 3, 100)
    runs: list[RunResult] = []
    for seed, tasks in enumerate((["Task 0[012]*"], ["Task 02*", "Task 00*", "Task 01*", "Task 02*"])):
        rng = random.Random(seed)  # noqa: S311 - repeatable delays
        server.default = lambda mark, rng=rng: right_reply(mark).after(rng.uniform(0, 0.02))  # type: ignore[misc]
        runs.append(await ask(suite, server.url, tmp_path / f"{seed}", tasks=tasks, concurrency=50))
    assert [run.scores.total.accuracy for run in runs] == [1.0, 1.0]
    assert [line["choice"] for line in lines(runs[0])] == [right(mark) for mark in marks(3, 100)]
    assert unmeasured(runs[0]) == unmeasured(runs[1])
    orders = [[seen.mark for seen in server.seen[start : start + 300]] for start in (0, 300)]
    assert orders[0] != sorted(orders[0])


def test_result_files_are_the_same_to_the_byte_whatever_the_order_of_the_replies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made-up time: each reply takes as long in both runs, but other ones are asked together."""
    suite = write_suite(tmp_path / "suite", 3, 20)
    contents, orders = [], []
    for concurrency in (3, 40):
        wire = Wire()
        wire.default = lambda mark: right_reply(mark).after(float(1 + int(mark.split("-")[1]) * 7 % 5))
        with monkeypatch.context() as patch:
            ask_over(patch, wire)
            result = fake_time.run(
                ask(suite, "http://t/v1", tmp_path / f"{concurrency}", concurrency=concurrency)
            )
        contents.append([(result.path / name).read_bytes() for name in ("answers.jsonl", "scores.json")])
        orders.append([seen.mark for seen in wire.seen])
    assert contents[0] == contents[1]
    assert orders[0] != orders[1]


# -- hangs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "kind"), [(HANG, "timeout"), (HEADERS, "timeout"), (DRIP, "timeout"), (HALF, "connection")]
)
async def test_two_requests_that_never_end_do_not_hold_up_the_others_or_the_end(
    server: Server, tmp_path: Path, act: Any, kind: str
) -> None:
    server.script = {"Q0-3": [act], "Q0-70": [act]}
    on_disk_when_tried_again: list[int] = []

    def on_request(seen: Any) -> None:
        if seen.mark == "Q0-3" and seen.attempt == 2:
            database = sqlite3.connect(tmp_path / "results" / STORE_NAME)
            on_disk_when_tried_again.append(database.execute("SELECT count(*) FROM replies").fetchone()[0])
            database.close()

    server.on_request = on_request
    async with asyncio.timeout(15):
        result = await ask(
            write_suite(tmp_path / "suite", 1, 100),
            server.url,
            tmp_path / "results",
            timeout=0.4,
            max_attempts=2,
        )
    assert result.exit_code is ExitCode.INCOMPLETE
    assert result.scores.total.outcomes[Outcome.ANSWERED] == 98
    failed = {line["id"]: line["failure"] for line in lines(result) if line["outcome"] == "failed"}
    assert failed.keys() == {3, 70}
    assert all(failure.startswith(f"{kind}: ") for failure in failed.values())
    assert server.counts["Q0-3"] == server.counts["Q0-70"] == 2
    if kind == "timeout":
        assert on_disk_when_tried_again == [98]


async def test_no_connection_is_left_when_a_run_ends(server: Server, tmp_path: Path) -> None:
    acts = [HANG, HEADERS, DRIP, HALF, RESET, error(500), error(429)]
    server.script = {f"Q0-{row}": [act] for row, act in enumerate(acts, start=20)}
    server.default = lambda mark: right_reply(mark).after(0.01)
    await ask(
        write_suite(tmp_path / "suite", 1, 100),
        server.url,
        tmp_path / "results",
        timeout=0.3,
        max_attempts=1,
        concurrency=30,
    )
    for _ in range(100):
        if not server.connections:
            break
        await asyncio.sleep(0.005)
    assert server.connections == set()


async def test_more_questions_than_connections_is_no_trouble(server: Server, tmp_path: Path) -> None:
    server.default = lambda mark: right_reply(mark).after(0.3)
    result = await ask(
        write_suite(tmp_path / "suite", 2, 300), server.url, tmp_path / "results", concurrency=150
    )
    assert result.exit_code is ExitCode.COMPLETE
    assert set(server.counts.values()) == {1}
    assert server.max_in_flight == server.opened == 150


async def test_a_server_that_closes_each_connection_is_asked_once_a_question(
    server: Server, tmp_path: Path
) -> None:
    server.default = lambda mark: closing(right_reply(mark))
    result = await ask(write_suite(tmp_path / "suite", 1, 60), server.url, tmp_path / "results")
    assert result.exit_code is ExitCode.COMPLETE
    assert set(server.counts.values()) == {1}


def closing(act: Act) -> Act:
    """The same, and it says that the connection ends."""
    return replace(act, headers={"Connection": "close"}).then_close()


async def test_a_server_that_closes_each_connection_without_notice_costs_no_try(
    server: Server, tmp_path: Path
) -> None:
    server.default = lambda mark: right_reply(mark).then_close()
    result = await ask(
        write_suite(tmp_path / "suite", 1, 60), server.url, tmp_path / "results", max_attempts=1
    )
    assert result.exit_code is ExitCode.COMPLETE
    assert (result.ledger.requests, dict(result.ledger.retries)) == (60, {})
    assert set(server.paid.values()) == {1}


# -- waits that servers ask for ------------------------------------------------------------------

NOW = datetime.now(UTC)


def http(seconds: float) -> str:
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


#: Headers of a 429, and the wait that they ask for; None is no hint.
RETRY_AFTER: dict[str, tuple[dict[str, str], float | None]] = {
    "absent": ({}, None),
    "empty": ({"Retry-After": ""}, None),
    "2": ({"Retry-After": "2"}, 2.0),
    "0": ({"Retry-After": "0"}, None),
    "0.5": ({"Retry-After": "0.5"}, 0.5),
    "blanks": ({"Retry-After": " 3 "}, 3.0),
    "negative": ({"Retry-After": "-5"}, None),
    "nan": ({"Retry-After": "nan"}, None),
    "inf": ({"Retry-After": "inf"}, None),
    "words": ({"Retry-After": "soon"}, None),
    "date ahead": ({"Retry-After": http(30), "Date": http(0)}, 30.0),
    "date past": ({"Retry-After": http(-30), "Date": http(0)}, None),
    "clock an hour off": ({"Retry-After": http(3630), "Date": http(3600)}, 30.0),
    "foreign bytes": ({"Retry-After": "\udcff2"}, None),
    "milliseconds win": ({"Retry-After-Ms": "250", "Retry-After": "9"}, 0.25),
}


@pytest.mark.parametrize(("headers", "wait"), RETRY_AFTER.values(), ids=RETRY_AFTER.keys())
def test_a_refused_question_is_sent_twice_and_not_before_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], wait: float | None
) -> None:
    monkeypatch.undo()  # the true backoff, in made-up time
    wire = Wire()
    refusal = error(429, **{name.replace("-", "_"): value for name, value in headers.items()})
    wire.script["Q0-0"] = [refusal, right_reply("Q0-0")]
    ask_over(monkeypatch, wire)
    result = fake_time.run(ask(write_suite(tmp_path / "suite", 1, 1), "http://t/v1", tmp_path / "results"))
    assert result.exit_code is ExitCode.COMPLETE
    first, second = wire.times("Q0-0")
    if wait is None:  # the ordinary backoff, which never spins
        assert 0.25 <= second - first <= 3.0
    else:
        assert wait <= second - first <= max(1.5, 1.2 * wait + 0.5)


# -- inside other programs -------------------------------------------------------------------------


def options(url: str, folder: Path) -> dict[str, Any]:
    return {"base_url": url, "results": str(folder / "results"), "concurrency": 4}


def check(result: RunResult) -> None:
    assert result.exit_code is ExitCode.COMPLETE
    assert [line["choice"] for line in lines(result)] == [right(mark) for mark in marks(1, 6)]


def test_the_synchronous_form_works_twice_in_a_row(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    with in_thread() as server:
        for temperature in (0.0, 1.0):
            check(evaluate_sync("custom/m", suite, temperature=temperature, **options(server.url, tmp_path)))
        assert set(server.counts.values()) == {2}


async def test_the_synchronous_form_works_inside_a_running_loop(tmp_path: Path) -> None:
    with in_thread() as server:
        check(
            evaluate_sync("custom/m", write_suite(tmp_path / "suite", 1, 6), **options(server.url, tmp_path))
        )


def test_the_synchronous_form_works_in_a_thread(tmp_path: Path) -> None:
    suite, results = write_suite(tmp_path / "suite", 1, 6), []
    with in_thread() as server:
        thread = Thread(
            target=lambda: results.append(evaluate_sync("custom/m", suite, **options(server.url, tmp_path)))
        )
        thread.start()
        thread.join()
    check(results[0])


async def test_the_coroutine_works_in_a_loop_beside_other_work(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    given = options(server.url, tmp_path)
    both = await asyncio.gather(
        evaluate("custom/m", suite, **given), evaluate("custom/m", suite, temperature=1.0, **given)
    )
    for result in both:
        check(result)


async def test_only_a_provider_that_stops_the_run_raises(server: Server, tmp_path: Path) -> None:
    suite, given = write_suite(tmp_path / "suite", 1, 6), options(server.url, tmp_path)
    server.script = {"Q0-2": [error(401, "bad key")]}
    with pytest.raises(StoppedError):
        await evaluate("custom/m", suite, **given)
    server.script = {"Q0-2": [error(500)]}
    result = await evaluate("custom/m", suite, max_attempts=2, **given)
    assert result.exit_code is ExitCode.INCOMPLETE
    with pytest.raises(UsageError):
        await evaluate("custom/m", suite, shots=9, **given)


# -- tasks ---------------------------------------------------------------------------------------


async def test_unknown_tasks_are_refused_with_the_nearest_before_anything_is_sent(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 3, 2)
    with pytest.raises(UsageError, match="Task 01"):
        await ask(suite, server.url, tmp_path / "results", tasks=["Tusk 01-Natural Sciences-High school"])
    assert (len(server.seen), server.looks) == (0, 0)


async def test_a_suite_that_changes_during_the_run_is_an_error_and_loses_no_reply(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 2, 50)
    server.default = lambda mark: reply(f"答案：{right(mark)}").after(0.005)

    def change(seen: Any) -> None:
        if len(server.seen) == 10:
            for path in suite.rglob("*.jsonl"):
                path.write_text(path.read_text("utf-8").replace("题意", "题目"), "utf-8")

    server.on_request = change
    with pytest.raises(M3keError, match="changed"):
        raise_reason(await ask(suite, server.url, tmp_path / "results", concurrency=1))
    database = sqlite3.connect(tmp_path / "results" / STORE_NAME)
    stored = database.execute("SELECT count(*) FROM replies").fetchone()[0]
    database.close()
    assert stored == server.paid.total()


def raise_reason(result: RunResult) -> None:
    if result.stopped is not None:
        raise result.stopped


async def test_a_run_that_another_process_is_at_work_on_is_refused(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 5)
    done = await ask(suite, server.url, tmp_path / "results", name="mine", limit=1)
    (done.path / "run.json").unlink()
    sent = len(server.seen)
    with claimed(done.path) as alone:
        assert alone
        with pytest.raises(UsageError, match="another process is at work"):
            await ask(suite, server.url, tmp_path / "results", name="mine")
    assert len(server.seen) == sent
    assert (await ask(suite, server.url, tmp_path / "results", name="mine")).exit_code is ExitCode.COMPLETE


async def test_a_fresh_run_that_was_stopped_is_not_complete_and_goes_on(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 1, 12)
    await ask(suite, server.url, tmp_path / "results")
    stopped = await ask(suite, server.url, tmp_path / "results", fresh=True, max_requests=5, concurrency=1)
    assert stopped.exit_code is ExitCode.INCOMPLETE
    assert len(server.seen) == 12 + 5
    done = await ask(suite, server.url, tmp_path / "results", fresh=True)
    assert done.exit_code is ExitCode.COMPLETE
    assert len(server.seen) == 12 + 12


async def test_one_question_that_always_gets_a_web_page_does_not_end_the_run(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 1, 20)
    page = raw(b"<html>forbidden</html>", 403, Content_Type="text/html")
    server.script = {"Q0-7": [page]}
    for _ in range(2):
        result = await ask(suite, server.url, tmp_path / "results")
        assert result.exit_code is ExitCode.INCOMPLETE
        assert result.scores.total.answered == 19
    assert max(count for mark, count in server.counts.items() if mark != "Q0-7") == 1


async def test_a_web_page_between_answers_is_asked_again(server: Server, tmp_path: Path) -> None:
    page = raw(b"<html>please wait</html>", Content_Type="text/html")
    server.script = {f"Q0-{row}": [page, right_reply(f"Q0-{row}")] for row in (7, 8, 9)}
    result = await ask(write_suite(tmp_path / "suite", 1, 20), server.url, tmp_path / "results")
    assert result.exit_code is ExitCode.COMPLETE
    assert {server.counts[mark] for mark in server.script} == {2}


async def test_refusals_of_every_question_stop_the_run_though_some_were_answered_before(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 1, 60)
    page = raw(b"<html>forbidden</html>", 403, Content_Type="text/html")
    server.default = lambda mark: right_reply(mark) if len(server.seen) < 20 else page
    result = await ask(suite, server.url, tmp_path / "results", concurrency=1)
    assert isinstance(result.stopped, StoppedError)
    assert len(server.seen) < 30


async def test_one_server_that_refuses_everything_does_not_keep_questions_from_the_other(
    tmp_path: Path,
) -> None:
    suite = write_suite(tmp_path / "suite", 2, 40)
    async with Server() as good, Server() as bad:
        bad.default = lambda mark: error(429, "slow down", retry_after="300")
        result = await ask(suite, [good.url, bad.url], tmp_path / "results", timeout=20.0)
        assert result.exit_code is ExitCode.COMPLETE
        assert len(bad.seen) < 20


@pytest.mark.parametrize("status", [403, 404])
async def test_one_server_with_another_route_fails_no_question(tmp_path: Path, status: int) -> None:
    suite = write_suite(tmp_path / "suite", 2, 40)
    async with Server() as good, Server() as bad:
        good.default = lambda mark: right_reply(mark).after(0.01)
        bad.default = lambda mark: error(status).after(0.02)
        result = await ask(suite, [good.url, bad.url], tmp_path / "results", concurrency=4)
        assert result.exit_code is ExitCode.COMPLETE
        assert len(bad.seen) <= (8 if status == 404 else 4)  # as many again at its neighbouring address


async def test_tokens_of_a_reply_without_text_are_counted_as_spent(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 3)
    blank = {
        "choices": [{"message": {"content": None}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 8000},
    }
    server.script = {"Q0-1": [raw(blank)]}
    result = await ask(suite, server.url, tmp_path / "results")
    assert result.ledger.wasted_tokens == 50
    assert result.ledger.completion_tokens >= 8000


@pytest.mark.parametrize("tokens", [2**63, 10**400, 2**64 - 1])
async def test_an_absurd_usage_is_unknown_and_costs_no_reply(
    server: Server, tmp_path: Path, tokens: int
) -> None:
    body = {
        "choices": [{"message": {"content": "答案：A"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 1},
    }
    server.default = lambda mark: raw(body, x_ratelimit_limit_requests="9" * 400)
    result = await ask(write_suite(tmp_path / "suite", 1, 4), server.url, tmp_path / "results")
    assert result.scores.total.answered == 4
    assert result.scores.usage.prompt_tokens is None


async def test_a_run_whose_replies_were_lost_asks_them_again(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    done = await ask(suite, server.url, tmp_path / "results")
    for file in (tmp_path / "results").glob("replies.sqlite*"):
        file.unlink()
    (done.path / "answers.jsonl").write_text("", "utf-8")
    rescore(RunDir(done.path), warn=pytest.fail)
    assert (await ask(suite, server.url, tmp_path / "results")).exit_code is ExitCode.COMPLETE
    assert len(server.seen) == 12


async def test_two_signals_leave_a_ledger_of_what_was_sent(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 30)
    server.script = {"Q0-9": [HANG]}
    hung = asyncio.Event()
    server.on_request = lambda seen: hung.set() if seen.mark == "Q0-9" else None
    running = asyncio.create_task(ask(suite, server.url, tmp_path / "results", name="mine", concurrency=1))
    await hung.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    record = RunDir(tmp_path / "results" / "mine").read()
    assert record is not None
    assert (record["state"], record["ledger"]["requests"], record["ledger"]["replies"]) == ("stopped", 10, 9)
    assert record["ledger"]["retries"] == {"cut off": 1}
    assert record["ledger"]["wasted_tokens"] > 0
