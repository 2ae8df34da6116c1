"""Results of batches that cannot be read: told and tried again, never taken for a batch without replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.batch.asking import Steps
from m3ke_async.errors import ExitCode, IncompleteError, StoppedError
from m3ke_async.request import Outcome
from tests.batch_server import BatchServer, Fault, all_right, answered, in_thread, refused
from tests.batching import RIGHT, Bench, letters, quick
from tests.command import m3ke
from tests.questions import write_suite

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
async def server() -> AsyncIterator[BatchServer]:
    async with BatchServer() as started:
        started.stages = ["completed"]
        yield started


@pytest.fixture
def bench(tmp_path: Path, server: BatchServer) -> Bench:
    return Bench(tmp_path, server)


#: What a provider may send with status 200 in place of results.
NO_RESULTS = (
    b"<html><body>Sign in</body></html>\n",
    b'{"error": {"message": "try again"}}\n',
    b'{"data": [],\n "cut',
    b"\x1f\x8b\x08\x00\x00",
    b"null\n",
    json.dumps(answered("ab" * 16, "答案：A")).encode(),  # somebody else's
    b"",
    b"\n\n",
)

NEXT = (
    "collect again later; where that stays so, take the console's file of results by "
    "m3ke batch read {run} FILE, and give the batch up by m3ke batch cancel {run}"
)


@pytest.mark.parametrize("content", NO_RESULTS)
async def test_an_answer_that_is_no_results_is_told_and_the_next_command_tries_again(
    bench: Bench, server: BatchServer, content: bytes
) -> None:
    await bench.run(Steps.SUBMIT)
    server.faults["download"] = [Fault(200, content)]
    result = await bench.run(Steps.COLLECT)
    assert isinstance(result.stopped, IncompleteError)
    assert str(result.stopped).startswith("batch-2: ")
    assert str(result.stopped).endswith(NEXT.format(run=result.path))
    assert "\n" not in str(result.stopped)
    assert bench.batches.open
    result = await bench.run(Steps.COLLECT)
    assert letters(result) == RIGHT
    assert (result.ledger.requests, set(server.bills.values())) == (6, {1})


async def test_a_command_that_waits_tries_again_itself(bench: Bench, server: BatchServer) -> None:
    server.faults["download"] = [Fault(200, content) for content in NO_RESULTS]
    result = await bench.run()
    assert letters(result) == RIGHT
    assert "holds no line about its questions; collect again later" in bench.said
    assert "it says that 6 requests were answered, and its results hold none" in bench.said
    assert "and were left out" not in bench.said
    assert (result.ledger.requests, server.bills.total()) == (6, 6)


async def test_what_cannot_be_read_is_not_asked_live_as_well(bench: Bench, server: BatchServer) -> None:
    await bench.run(Steps.SUBMIT)
    server.faults["download"] = [Fault(200, b"<html>")]
    result = await bench.run(Steps.COLLECT, then="live")
    assert isinstance(result.stopped, IncompleteError)
    assert not server.live
    assert letters(await bench.run(Steps.COLLECT, then="live")) == RIGHT
    assert not server.live


async def test_where_the_provider_does_not_count_a_strange_file_alone_tells(
    bench: Bench, server: BatchServer
) -> None:
    server.shape = lambda batch: {key: value for key, value in batch.items() if key != "request_counts"}
    server.faults["download"] = [Fault(200, b"<html>")]
    result = await bench.run()
    assert letters(result) == RIGHT
    assert server.calls["download"] == 2


async def test_results_that_are_not_named_yet_are_waited_for(bench: Bench, server: BatchServer) -> None:
    def shape(batch: dict[str, Any]) -> dict[str, Any]:
        return {
            **batch,
            "output_file_id": None if server.calls["retrieve"] < 3 else batch.get("output_file_id"),
        }

    server.shape = shape
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


def half_refused(lines: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Replies to three questions, and errors of the others."""
    return all_right(lines[:3])[0], [refused(line["custom_id"], 500, "no") for line in lines[3:]]


@pytest.mark.parametrize("unread", [0, 1])
async def test_one_file_that_cannot_be_read_leaves_the_other_counted_once(
    bench: Bench, server: BatchServer, unread: int
) -> None:
    server.results = half_refused
    server.shape = lambda batch: {**batch, "request_counts": None}
    await bench.run(Steps.SUBMIT)
    scripts: list[Any] = [None, None]
    scripts[unread] = Fault(200, b"<html>")
    server.faults["download"] = scripts
    result = await bench.run(Steps.COLLECT)
    assert bench.batches.open
    assert result.scores.usage.replies == (0 if unread == 0 else 3)  # what could be read is kept
    result = await bench.run(Steps.COLLECT)
    assert (result.ledger.requests, result.ledger.replies) == (6, 3)
    assert result.scores.total.outcomes[Outcome.FAILED] == 3
    assert not bench.batches.open


async def test_errors_that_cannot_be_read_hold_nothing_back_where_all_replies_came(
    bench: Bench, server: BatchServer
) -> None:
    server.results = lambda lines: (half_refused(lines)[0], [{"line": 4, "message": "no"}])
    result = await bench.run()
    assert result.scores.usage.replies == 3
    assert not bench.batches.open


async def test_where_nothing_was_answered_nothing_can_be_lost(bench: Bench, server: BatchServer) -> None:
    server.results = lambda lines: ([], [{"line": 1, "message": "no"}])
    result = await bench.run()
    assert not bench.batches.open
    assert result.exit_code == ExitCode.INCOMPLETE


@pytest.mark.parametrize("fault", [Fault(200, b"<html>"), Fault(403), Fault(500)])
async def test_cancel_gives_up_what_was_told_and_only_that(
    bench: Bench, server: BatchServer, fault: Fault
) -> None:
    server.results = half_refused
    await bench.run(Steps.SUBMIT)
    await bench.run(Steps.CANCEL)
    assert bench.batches.open  # nobody has looked at the results yet
    server.faults["download"] = [fault]
    result = await bench.run(Steps.COLLECT, max_attempts=1)
    assert isinstance(result.stopped, StoppedError if fault.status == 403 else IncompleteError)
    assert f"give the batch up by m3ke batch cancel {result.path}" in str(result.stopped)
    server.faults["download"] = [fault]
    await bench.run(Steps.CANCEL, max_attempts=1)
    assert "batch-2: what could not be read of its results is given up" in bench.said
    (part,) = bench.batches.parts.values()
    assert (part.is_open, part.replies, part.failed) == (False, 0, 3)
    assert part.reason == "results could not be read"
    server.results = all_right
    assert letters(await bench.run()) == RIGHT


async def test_cancel_takes_what_can_be_read_by_then(bench: Bench, server: BatchServer) -> None:
    await bench.run(Steps.SUBMIT)
    server.faults["download"] = [Fault(200, b"<html>")]
    await bench.run(Steps.COLLECT)
    result = await bench.run(Steps.CANCEL)
    assert letters(result) == RIGHT
    assert (result.ledger.requests, result.exit_code) == (6, ExitCode.COMPLETE)
    assert "given up" not in bench.said


def test_results_from_the_console_are_read_and_the_batch_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    suite, results = write_suite(tmp_path / "suite", tasks=1, rows=4), tmp_path / "results"

    def run(*arguments: Any) -> Any:
        return m3ke("batch", *arguments, "--results", results)

    with in_thread() as server:
        server.stages = ["completed"]
        run("submit", "openai/m", "--base-url", server.url, "--data", suite, "--name", "r")
        server.faults["download"] = [Fault(200, b"<html>")] * 3
        ran = run("collect", "r", "--quiet")
        assert (ran.code, "batch-2: a file of its results" in ran.error) == (ExitCode.INCOMPLETE, True)
        assert run("status", "r").out.endswith("after submission; its results could not be read\n")
        (batch,) = server.batches.values()
        (tmp_path / "console").write_bytes(server.files[batch["output_file_id"]][1])
        assert run("read", "r", tmp_path / "console").code == ExitCode.COMPLETE
        assert run("cancel", "r").code == ExitCode.COMPLETE
        assert run("collect", "r").code == ExitCode.COMPLETE
        assert set(server.bills.values()) == {1}
