"""Budgets of one command: they stop it cleanly, it can go on, and all that was spent counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode, IncompleteError, UsageError
from m3ke_async.report.ledger import ledger_lines
from m3ke_async.request import Reply, Usage
from m3ke_async.tally import Budget, Ledger, Price, exceeded
from tests.asking import ask, ended, lines, quick, run_arguments, start, unmeasured
from tests.questions import write_suite
from tests.server import USAGE, Server, error, reply, right, right_reply
from tests.test_schemas import faults

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server import Act


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


# -- what counts -------------------------------------------------------------------------

PRICE = Price(prompt=2.0, completion=10.0)


def used(requests: int = 0, **tokens: int) -> Ledger:
    ledger = Ledger(requests=requests)
    for name, count in tokens.items():
        setattr(ledger, name, count)
    return ledger


@pytest.mark.parametrize(
    ("budget", "ledger", "seconds", "names"),
    [
        (Budget(), used(requests=10**9, prompt_tokens=10**12), 1e9, None),
        (Budget(requests=5), used(requests=4), 0, None),
        (Budget(requests=5), used(requests=5), 0, "--max-requests 5"),
        (Budget(tokens=100), used(prompt_tokens=50, completion_tokens=49), 0, None),
        (Budget(tokens=100), used(prompt_tokens=50, completion_tokens=50), 0, "--max-tokens-total 100"),
        (Budget(tokens=100), used(prompt_tokens=50, wasted_tokens=50), 0, "--max-tokens-total 100"),
        (Budget(cost=1.0), used(prompt_tokens=499_999), 0, None),
        (Budget(cost=1.0), used(prompt_tokens=500_000), 0, "--max-cost 1.0"),
        (Budget(cost=1.0), used(completion_tokens=100_000), 0, "--max-cost 1.0"),
        (Budget(cost=1.0), used(wasted_tokens=500_000), 0, "--max-cost 1.0"),
        (Budget(seconds=60.0), used(), 59.9, None),
        (Budget(seconds=60.0), used(), 60.0, "--max-time 60"),
    ],
)
def test_a_limit_is_used_up_by_everything_that_was_spent(
    budget: Budget, ledger: Ledger, seconds: float, names: str | None
) -> None:
    phrase = exceeded(budget, ledger, PRICE, seconds)
    assert (phrase is None) if names is None else (phrase is not None and names in phrase)


def test_replies_without_usage_are_counted_by_their_estimate_and_said_to_be() -> None:
    ledger = Ledger()
    ledger.add_reply(Reply("B", usage=Usage(7, 3)), estimate=100)
    ledger.add_reply(Reply("B"), estimate=100)
    ledger.add_failure("server_error", estimate=40)
    assert (ledger.prompt_tokens, ledger.completion_tokens, ledger.wasted_tokens) == (107, 3, 40)
    assert (ledger.replies, ledger.unreported) == (2, 1)
    assert ledger.cost(PRICE) == pytest.approx((147 * 2 + 3 * 10) / 1e6)


def test_ledgers_of_several_commands_add_up_and_survive_run_json() -> None:
    first, second = used(3, replies=2), used(4, wasted_tokens=9)
    first.retries["timeout"] = 1
    second.retries.update({"timeout": 2, "overload": 1})
    both = Ledger.from_json((first + second).to_json())
    assert (both.requests, both.replies, both.wasted_tokens) == (7, 2, 9)
    assert both.retries == {"timeout": 3, "overload": 1}


# -- runs ----------------------------------------------------------------------------------


async def test_requests_are_counted_exactly_and_the_same_command_goes_on(
    server: Server, tmp_path: Path
) -> None:
    suite, results = write_suite(tmp_path / "suite", 2, 10), tmp_path / "results"
    codes = []
    for _ in range(3):
        result = await ask(suite, server.url, results, max_requests=8)
        codes.append(result.exit_code)
    assert codes == [ExitCode.INCOMPLETE, ExitCode.INCOMPLETE, ExitCode.COMPLETE]
    assert len(server.seen) == 20
    assert set(server.counts.values()) == {1}
    assert result.ledger.requests == 20


async def test_a_limit_that_is_just_enough_stops_nothing(server: Server, tmp_path: Path) -> None:
    result = await ask(
        write_suite(tmp_path / "suite", 2, 10), server.url, tmp_path / "results", max_requests=20
    )
    assert result.exit_code is ExitCode.COMPLETE


async def test_a_run_that_was_stopped_is_marked_partial_and_scores_what_there_is(
    server: Server, tmp_path: Path
) -> None:
    result = await ask(
        write_suite(tmp_path / "suite", 2, 10), server.url, tmp_path / "results", max_requests=8
    )
    assert isinstance(result.stopped, IncompleteError)
    assert "run it again to go on" in str(result.stopped)
    assert result.scores.total.incomplete
    assert result.scores.total.missing == 12
    assert len(lines(result)) == 8


async def test_the_scores_do_not_depend_on_how_often_a_budget_stopped_the_run(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 3, 7)
    server.script = {
        "Q0-2": [reply("答案：A")],
        "Q1-1": [reply("不知道")],
        "Q2-2": [reply("", finish="length")],
    }
    whole = await ask(suite, server.url, tmp_path / "whole")
    for _ in range(6):
        parts = await ask(suite, server.url, tmp_path / "parts", max_requests=4)
    assert parts.exit_code is ExitCode.COMPLETE
    assert unmeasured(parts) == unmeasured(whole)
    assert parts.scores.total == whole.scores.total


async def test_tokens_overshoot_by_no_more_than_is_in_flight(server: Server, tmp_path: Path) -> None:
    server.default = lambda mark: right_reply(mark).after(0.01)
    result = await ask(
        write_suite(tmp_path / "suite", 1, 60), server.url, tmp_path / "results", max_tokens_total=240
    )
    assert result.exit_code is ExitCode.INCOMPLETE
    assert 20 <= len(server.seen) <= 28  # 12 tokens each, eight at once


async def test_money_counts_what_failed_after_it_was_billed_and_what_tells_no_usage(
    server: Server, tmp_path: Path
) -> None:
    def act(mark: str) -> Act:
        return error(500) if int(mark.split("-")[1]) % 3 == 0 else reply("答案：A", usage=None)

    server.default = act
    result = await ask(
        write_suite(tmp_path / "suite", 1, 300),
        server.url,
        tmp_path / "results",
        max_cost=0.01,
        price="10,30",
        max_attempts=2,
    )
    assert isinstance(result.stopped, IncompleteError)
    assert "--max-cost" in str(result.stopped)
    ledger = result.ledger
    assert ledger.unreported == ledger.replies > 0
    assert ledger.wasted_tokens > 0
    cost = ledger.cost(Price(10, 30))
    one = cost / ledger.requests
    assert 0.01 <= cost <= 0.01 + 9 * one
    # nothing was reported, so that every attempt costs the same estimate
    assert len(server.seen) == pytest.approx(0.01 / one, abs=9)


async def test_a_money_budget_without_a_price_is_refused_before_anything_is_sent(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite")
    with pytest.raises(UsageError, match="--price"):
        await ask(suite, server.url, tmp_path / "results", max_cost=1.0)
    assert (len(server.seen), server.looks) == (0, 0)
    result = await ask(suite, server.url, tmp_path / "results", max_requests=2, max_tokens_total=1000)
    assert result.exit_code is ExitCode.INCOMPLETE  # the others work without one
    assert len(server.seen) == 2


async def test_time_ends_a_run_that_only_waits(server: Server, tmp_path: Path) -> None:
    server.default = lambda mark: error(500, retry_after="60")
    result = await ask(write_suite(tmp_path / "suite"), server.url, tmp_path / "results", max_time=0.2)
    assert isinstance(result.stopped, IncompleteError)
    assert "--max-time" in str(result.stopped)
    assert result.exit_code is ExitCode.INCOMPLETE
    assert set(server.counts.values()) == {1}


async def test_the_command_stops_with_code_3_and_one_line(server: Server, tmp_path: Path) -> None:
    suite, results = write_suite(tmp_path / "suite", 1, 9), tmp_path / "results"
    first = await ended(await start(*run_arguments(suite, server.url, results, "--max-requests", "5")))
    assert first.code == 3
    (line,) = (line for line in first.err.splitlines() if line.startswith("m3ke:"))
    assert "5 requests were sent (--max-requests 5); run it again to go on" in line
    assert "Traceback" not in first.err
    assert (await ask(suite, server.url, results)).exit_code is ExitCode.COMPLETE
    assert len(server.seen) == 9


@pytest.fixture
def provider_that_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A provider whose replies say what they cost."""
    (tmp_path / "providers").mkdir()
    text = 'title = "Mine"\nhosting = "proxy"\n\n[usage]\ncost = "cost"\n'
    (tmp_path / "providers" / "mine.toml").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return "mine/m"


async def test_what_replies_say_that_they_cost_is_counted_kept_and_bounded(
    server: Server, tmp_path: Path, provider_that_tells: str
) -> None:
    suite, usage = write_suite(tmp_path / "suite", 1, 40), USAGE | {"cost": 0.25}
    server.default = lambda mark: reply(f"答案：{right(mark)}", usage=usage)
    result = await ask(
        suite, server.url, tmp_path / "results", model=provider_that_tells, max_cost=1.0, concurrency=1
    )
    assert result.exit_code is ExitCode.INCOMPLETE
    assert "1.0000 was spent (--max-cost 1.0)" in str(result.stopped)
    assert (result.ledger.charged, result.ledger.charges) == (1.0, 4)
    assert "Charged: 1.0000 USD, as the provider says in 4 replies" in ledger_lines(result.ledger, None)
    known = [line["usage"]["cost"] for line in lines(result) if line["reply"] is not None]
    assert known == [0.25] * 4
    # kept in run.json and in the store: going on adds to it
    again = await ask(suite, server.url, tmp_path / "results", model=provider_that_tells, concurrency=1)
    assert again.exit_code is ExitCode.COMPLETE
    assert (again.ledger.charged, again.ledger.charges) == (10.0, 40)
    assert [line["usage"]["cost"] for line in lines(again)] == [0.25] * 40
    assert [faults("answers", line) for line in lines(again)] == [[]] * 40


async def test_a_reply_without_text_that_was_charged_counts(
    server: Server, tmp_path: Path, provider_that_tells: str
) -> None:
    suite, usage = write_suite(tmp_path / "suite", 1, 1), USAGE | {"cost": 0.25}
    server.default = lambda mark: reply("", usage=usage)
    result = await ask(suite, server.url, tmp_path / "results", model=provider_that_tells)
    ledger = result.ledger
    assert ledger.replies == 0 < ledger.requests
    assert (ledger.charged, ledger.charges) == (0.25 * ledger.requests, ledger.requests)
