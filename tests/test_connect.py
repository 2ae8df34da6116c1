"""The first look at the servers, several of them, and none."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode, IncompleteError, StoppedError, UsageError
from tests.asking import Notes, ask, ended, lines, quick, run_arguments, start
from tests.questions import marks, write_suite
from tests.server import RESET, Server, error, right, right_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable
    from pathlib import Path

    from tests.server import Act


@pytest.fixture
async def servers() -> AsyncIterator[tuple[Server, Server]]:
    async with AsyncExitStack() as stack:
        yield (await stack.enter_async_context(Server()), await stack.enter_async_context(Server()))


@pytest.fixture
def server(servers: tuple[Server, Server]) -> Server:
    return servers[0]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite", 3, 10)


# -- the list of models --------------------------------------------------------------------


@pytest.mark.parametrize("models", [None, (), ("other",), ("m",)])
async def test_the_first_question_goes_alone_until_it_is_answered_whatever_the_list_says(
    server: Server,
    suite: Path,
    tmp_path: Path,
    models: tuple[str, ...] | None,
) -> None:
    alone: list[int] = []
    server.models = models
    server.default = lambda mark: right_reply(mark).after(0.02)
    server.on_request = lambda seen: alone.append(server.paid.total())
    assert (await ask(suite, server.url, tmp_path / "results")).exit_code is ExitCode.COMPLETE
    assert alone[0] == 0
    assert min(alone[1:]) >= 1
    assert server.max_in_flight == 8


async def test_a_model_that_is_not_listed_is_asked_with_a_warning_that_names_the_nearest(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.models, notes = ("mm", "unlike"), Notes()
    await ask(suite, server.url, tmp_path / "results", notes=notes)
    (warning,) = notes.warned
    assert "'m'" in warning
    assert "mm" in warning


FATAL = {
    "bad key": error(401, "Incorrect API key provided"),
    "forbidden": error(403, "not for you"),
    "no model": error(404, "The model `m` does not exist"),
    "wrong address": error(404, "Not Found"),
    "no money": error(402, "pay"),
    "bad parameter": error(
        400, "Unknown parameter: 'model_kwargs'", code="unknown_parameter", param="model_kwargs"
    ),
}


@pytest.mark.parametrize("models", [None, ("other",)])
@pytest.mark.parametrize("act", FATAL.values(), ids=FATAL.keys())
async def test_what_every_question_would_meet_is_met_once_and_nothing_is_sent_after_it(
    server: Server, suite: Path, tmp_path: Path, act: Act, models: tuple[str, ...] | None
) -> None:
    server.models = models
    server.default = lambda mark: act
    result = await ask(suite, server.url, tmp_path / "results")
    assert isinstance(result.stopped, StoppedError)
    assert result.exit_code is ExitCode.STOPPED
    assert len(server.seen) == (2 if act is FATAL["wrong address"] else 1)  # the neighbouring address as well
    assert lines(result) == []  # no question failed: the run did


async def test_a_stopped_run_goes_on_when_the_cause_is_gone(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.models = None
    server.script = {"Q1-3": [error(402, "pay"), right_reply("Q1-3")]}
    first = await ask(suite, server.url, tmp_path / "results", concurrency=1)
    assert first.exit_code is ExitCode.STOPPED
    second = await ask(suite, server.url, tmp_path / "results")
    assert second.exit_code is ExitCode.COMPLETE
    assert {mark: count for mark, count in server.counts.items() if count > 1} == {"Q1-3": 2}


# -- nobody there ----------------------------------------------------------------------------


async def test_a_server_that_is_not_there_is_one_line_and_code_3(suite: Path, tmp_path: Path) -> None:
    async with Server() as gone:
        url = gone.url
    end = await ended(await start(*run_arguments(suite, url, tmp_path / "results", "--quiet")))
    assert end.code == 3
    (line,) = end.err.splitlines()
    assert line.startswith(f"m3ke: nothing answers at {url} (Connection refused): is the server running?")
    assert "is the server running?" in line


async def test_a_server_that_goes_away_ends_the_run_with_what_it_answered(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("m3ke_async.attempts._SILENCE", 0.05)
    monkeypatch.setattr("m3ke_async.breaker._ROW", 8)
    monkeypatch.setattr("m3ke_async.breaker._ROW_SECONDS", 0.02)
    monkeypatch.setattr("m3ke_async.breaker._PAUSE", 0.05)
    async with Server() as server:
        server.default = lambda mark: right_reply(mark) if len(server.seen) <= 12 else RESET
        result = await ask(suite, server.url, tmp_path / "results", max_attempts=50)
        assert isinstance(result.stopped, IncompleteError)
        assert "no reply for" in str(result.stopped)
        assert result.exit_code is ExitCode.INCOMPLETE
        assert result.scores.total.missing == 18
        server.default = right_reply
        again = await ask(suite, server.url, tmp_path / "results")
    assert again.exit_code is ExitCode.COMPLETE


# -- several addresses -----------------------------------------------------------------------


async def test_several_servers_share_one_run_and_its_replies_are_one_models(
    servers: tuple[Server, Server], suite: Path, tmp_path: Path
) -> None:
    for one in servers:
        one.default = lambda mark: right_reply(mark).after(0.02)
    urls = [one.url for one in servers]
    result = await ask(suite, urls, tmp_path / "results", concurrency=4)
    assert result.exit_code is ExitCode.COMPLETE
    assert [one.max_in_flight for one in servers] == [4, 4]
    assert min(len(one.seen) for one in servers) >= 10
    assert sum((one.counts for one in servers), start=servers[0].counts - servers[0].counts).total() == 30
    # the least address stands for all of them: with it alone, nothing is asked again
    again = await ask(suite, min(urls), tmp_path / "results", name="alone")
    assert again.exit_code is ExitCode.COMPLETE
    assert sum(len(one.seen) for one in servers) == 30
    assert [line["choice"] for line in lines(again)] == [right(mark) for mark in marks(3, 10)]


async def test_a_run_goes_on_whatever_the_order_and_the_number_of_its_servers(
    servers: tuple[Server, Server], suite: Path, tmp_path: Path
) -> None:
    one, other = sorted((server.url for server in servers), reverse=True)
    results = tmp_path / "results"
    began = await ask(suite, one, results, max_requests=5)
    await ask(suite, [one, other], results, max_requests=5)
    ended = await ask(suite, [other, one], results)
    assert ended.path == began.path
    assert (ended.exit_code, ended.ledger.requests) == (ExitCode.COMPLETE, ended.scores.total.asked)
    assert await count_asked(servers, ask(suite, [one, other], results)) == 0
    # without a run to go on with, too, the order does not matter
    both = await ask(suite, [one, other], results, limit=2, max_requests=1)
    assert (await ask(suite, [other, one], results, limit=2)).path == both.path


async def count_asked(servers: tuple[Server, ...], asking: Awaitable[object]) -> int:
    """Questions that servers get meanwhile."""
    before = sum(len(server.seen) for server in servers)
    await asking
    return sum(len(server.seen) for server in servers) - before


async def test_servers_of_different_models_are_refused_before_anything_is_asked(
    servers: tuple[Server, Server], suite: Path, tmp_path: Path
) -> None:
    servers[1].models = ("other",)
    with pytest.raises(UsageError, match=r"do not serve the same model .*other"):
        await ask(suite, [one.url for one in servers], tmp_path / "results")
    assert [len(one.seen) for one in servers] == [0, 0]


async def test_a_fatal_answer_of_one_server_does_not_stop_the_others(
    servers: tuple[Server, Server], suite: Path, tmp_path: Path
) -> None:
    servers[0].default = lambda mark: error(401, "Incorrect API key provided")
    notes = Notes()
    result = await ask(suite, [one.url for one in servers], tmp_path / "results", notes=notes)
    assert result.exit_code is ExitCode.COMPLETE
    assert len(servers[0].seen) <= 8
    assert any(servers[0].url in line and "left out" in line for line in notes.warned)


async def test_a_server_that_breaks_every_connection_does_not_stop_the_others(
    servers: tuple[Server, Server], suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("m3ke_async.breaker._ROW_SECONDS", 0.0)
    servers[0].default = lambda mark: RESET
    servers[1].default = lambda mark: right_reply(mark).after(0.01)
    result = await ask(suite, [one.url for one in servers], tmp_path / "results", max_attempts=40)
    assert result.exit_code is ExitCode.COMPLETE
    assert len(servers[0].seen) < 60


async def test_one_of_several_servers_that_is_not_there_is_left_out(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    async with Server() as gone:
        url = gone.url
    notes = Notes()
    result = await ask(suite, [url, server.url], tmp_path / "results", notes=notes)
    assert result.exit_code is ExitCode.COMPLETE
    (warning,) = notes.warned
    assert warning.startswith(f"{url} is left out: nothing answers")


async def test_when_no_server_is_there_the_run_ends(suite: Path, tmp_path: Path) -> None:
    async with Server() as one, Server() as other:
        urls = [one.url, other.url]
    result = await ask(suite, urls, tmp_path / "results")
    assert result.exit_code is ExitCode.INCOMPLETE
    assert "nothing answers" in str(result.stopped)
