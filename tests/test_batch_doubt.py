"""A batch that was perhaps made, where no list tells of it: the user's word, and no second bill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.batch.asking import Steps
from m3ke_async.batch.state import Stage
from m3ke_async.errors import ExitCode, IncompleteError, StoppedError, UsageError
from tests.batch_server import BatchServer, Fault, in_thread
from tests.batching import RIGHT, Bench, killed_before, letters, quick
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


def close_list(server: BatchServer) -> None:
    """Answer nothing that can be read where all batches are asked for."""
    server.list_shape = lambda entries, more: {"batches": entries}


async def leave_in_doubt(bench: Bench, server: BatchServer, *, made: bool) -> str:
    """A part of which a batch was perhaps made, at a provider whose list cannot be read; the file's id."""
    server.faults["create"] = [Fault(0, after=made)]
    close_list(server)
    await bench.run(Steps.SUBMIT, max_attempts=2)
    (part,) = bench.batches.open
    assert (part.stage, len(server.batches)) == (Stage.CREATING, int(made))
    assert part.file_id is not None
    return part.file_id


@pytest.mark.parametrize(
    ("fault", "kind"), [(Fault(403), StoppedError), (Fault(404), StoppedError), (Fault(503), IncompleteError)]
)
@pytest.mark.parametrize("steps", [Steps.SUBMIT, Steps.COLLECT, Steps.CANCEL])
async def test_whoever_cannot_know_is_told_how_to_find_out(
    bench: Bench, server: BatchServer, steps: Steps, fault: Fault, kind: type[Exception]
) -> None:
    file = await leave_in_doubt(bench, server, made=True)
    server.faults["list"] = [fault] * 2
    result = await bench.run(steps, max_attempts=2)
    assert isinstance(result.stopped, kind)
    command = "cancel" if steps is Steps.CANCEL else "collect"
    assert str(result.stopped).endswith(
        f"so it is not known whether a batch was made of {file}: if that stays so, look for one in the "
        f"provider's console, and give its id, or none: m3ke batch {command} {result.path} --made ID|none"
    )
    assert "\n" not in str(result.stopped)
    assert server.calls["create"] == 1


async def test_the_command_that_lost_the_answer_tells_of_it_as_well(
    bench: Bench, server: BatchServer
) -> None:
    server.faults["create"] = [Fault(500, after=True)]
    close_list(server)
    result = await bench.run(max_attempts=2)
    assert f"m3ke batch collect {result.path} --made ID|none" in str(result.stopped)
    assert server.calls["create"] == 1


async def test_the_batch_that_the_console_shows_is_collected(bench: Bench, server: BatchServer) -> None:
    await leave_in_doubt(bench, server, made=True)
    (made,) = server.batches
    result = await bench.run(Steps.COLLECT, made=made)
    assert letters(result) == RIGHT
    assert f"{made} (completed) is taken for 6 questions" in bench.said
    assert set(server.bills.values()) == {1}


async def test_where_the_console_shows_none_one_is_made(bench: Bench, server: BatchServer) -> None:
    await leave_in_doubt(bench, server, made=False)
    await bench.run(Steps.COLLECT, made="none")
    assert letters(await bench.run(Steps.COLLECT)) == RIGHT
    assert (set(server.bills.values()), server.calls["upload"]) == ({1}, 1)


async def test_the_batch_that_the_console_shows_is_cancelled(bench: Bench, server: BatchServer) -> None:
    await leave_in_doubt(bench, server, made=True)
    server.stages = ["in_progress"]
    await bench.run(Steps.CANCEL, made=next(iter(server.batches)))
    assert server.calls["cancel"] == 1
    assert [part.status for part in bench.batches.open] == ["cancelling"]


async def test_where_the_console_shows_none_cancel_drops_the_part(bench: Bench, server: BatchServer) -> None:
    await leave_in_doubt(bench, server, made=False)
    await bench.run(Steps.CANCEL, made="none")
    assert not bench.batches.open
    assert not server.bills


@pytest.mark.parametrize("steps", [Steps.COLLECT, Steps.CANCEL])
async def test_a_list_that_can_be_read_goes_before_the_users_word(
    bench: Bench, server: BatchServer, steps: Steps
) -> None:
    with killed_before(Stage.SUBMITTED):
        await bench.run(Steps.SUBMIT)
    await bench.run(steps, made="none")
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


async def test_the_word_is_about_what_was_and_not_about_what_comes_of_it(
    bench: Bench, server: BatchServer
) -> None:
    await leave_in_doubt(bench, server, made=False)
    server.faults["create"] = [Fault(500, after=True)]
    result = await bench.run(Steps.COLLECT, made="none", max_attempts=2)
    assert "--made ID|none" in str(result.stopped)
    assert [part.stage for part in bench.batches.open] == [Stage.CREATING]
    assert set(server.bills.values()) == {1}


async def test_a_batch_of_another_file_is_not_taken(bench: Bench, server: BatchServer) -> None:
    file = await leave_in_doubt(bench, server, made=True)
    server.batches["batch-other"] = {"id": "batch-other", "status": "completed", "input_file_id": "file-x"}
    with pytest.raises(UsageError, match=f"batch-other is no batch of {file}"):
        await bench.run(Steps.COLLECT, made="batch-other")
    assert [part.stage for part in bench.batches.open] == [Stage.CREATING]


async def test_a_batch_that_found_no_room_is_not_taken_again(bench: Bench, server: BatchServer) -> None:
    await leave_in_doubt(bench, server, made=True)
    (part,), (made,) = bench.batches.open, server.batches
    bench.batches.put(part, dead=(made,))
    with pytest.raises(UsageError, match="is no batch of"):
        await bench.run(Steps.COLLECT, made=made)


async def test_a_word_about_what_is_in_no_doubt_is_refused(bench: Bench, server: BatchServer) -> None:
    await bench.run(Steps.SUBMIT)
    for made in ("none", "batch-2"):
        with pytest.raises(UsageError, match=r"none of .*/r is in doubt: leave it out"):
            await bench.run(Steps.COLLECT, made=made)


async def test_a_list_that_does_not_tell_the_files_does_not_pass_for_an_empty_one(
    bench: Bench, server: BatchServer
) -> None:
    listed = server.list_shape
    server.list_shape = lambda entries, more: listed(
        [{key: value for key, value in entry.items() if key != "input_file_id"} for entry in entries], more
    )
    server.faults["create"] = [Fault(500, after=True)]
    result = await bench.run()
    assert "does not say of which file batch-2 was made; so it is not known whether" in str(result.stopped)
    assert set(server.bills.values()) == {1}
    assert letters(await bench.run(Steps.COLLECT, made="batch-2")) == RIGHT


@pytest.mark.parametrize("steps", [Steps.COLLECT, Steps.CANCEL])
async def test_what_is_in_doubt_holds_back_no_other_batch(
    bench: Bench, server: BatchServer, steps: Steps
) -> None:
    server.stages = ["in_progress"]
    await bench.run(Steps.SUBMIT, max_requests=3)
    server.faults["create"] = [Fault(0, after=True)]
    close_list(server)
    await bench.run(Steps.SUBMIT, max_attempts=2)
    batches = bench.batches
    submitted, doubted = batches.open
    batches.parts = {part.name: part for part in (doubted, submitted)}
    batches.put(submitted)
    result = await bench.run(steps, max_attempts=2)
    assert "--made ID|none" in str(result.stopped)
    assert server.calls["retrieve"] == 1
    assert server.calls["cancel"] == (steps is Steps.CANCEL)


def test_the_commands_take_the_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    suite, results = write_suite(tmp_path / "suite", tasks=1, rows=4), tmp_path / "results"

    def run(*arguments: Any) -> Any:
        return m3ke("batch", *arguments, "--results", results)

    with in_thread() as server:
        server.stages = ["completed"]
        server.faults["create"] = [Fault(0, after=True)]
        server.faults["list"] = [Fault(403)] * 5
        ran = run("submit", "openai/m", "--base-url", server.url, "--data", suite, "--name", "r")
        assert ran.code == ExitCode.STOPPED
        assert f"m3ke batch collect {results / 'r'} --made ID|none" in ran.err
        ran = run("collect", "r", "--made", "batch-9", "--quiet")
        assert (ran.code, "does not know batch-9: give the id" in ran.error) == (ExitCode.USAGE, True)
        ran = run("collect", "r", "--made", *server.batches)
        assert ran.code == ExitCode.COMPLETE, ran.err
        assert set(server.bills.values()) == {1}
        assert run("cancel", "r", "--made", "none").code == ExitCode.COMPLETE  # nothing is under way
