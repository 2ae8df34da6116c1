"""What a batch cost is counted once, whoever takes its results, how often, and in whatever order."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.batch.asking import Steps
from m3ke_async.batch.storing import Storer
from m3ke_async.tally import Ledger
from tests.batch_server import BatchServer, Fault, all_right, answered, not_asked, refused
from tests.batching import RIGHT, Bench, Killed, letters, quick

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterator
    from pathlib import Path

    from m3ke_async.run import RunResult


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


def mixed(lines: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Three replies, a blank that cost tokens as well, a refusal, and a question that was not asked."""
    ids = [line["custom_id"] for line in lines]
    replies = [*all_right(lines[:3])[0], answered(ids[3], "")]
    return replies, [refused(ids[4], 500, "The server had an error"), not_asked(ids[5])]


def console_file(server: BatchServer, file: Path, lines: slice = slice(None)) -> Path:
    """The results of the last batch as its provider's console gives them."""
    replies, errors = server.results(server.lines([*server.batches.values()][-1]))
    file.write_text("\n".join(map(json.dumps, [*replies, *errors][lines])), "utf-8")
    return file


def counts(*ledgers: Ledger) -> dict[str, Any]:
    """What ledgers count together of the numbers that a batch changes."""
    first, *others = ledgers
    table = sum(others, start=first).to_json()
    return {name: table[name] for name in ONCE}


#: Of six requests with the `mixed` results.
ONCE: dict[str, Any] = {
    "requests": 5,
    "replies": 3,
    "prompt_tokens": 30,
    "completion_tokens": 8,
    "wasted_tokens": 10,
    "retries": {"empty": 1, "server_error": 1},
    "batch_prompt_tokens": 40,
    "batch_completion_tokens": 8,
}

#: Commands; `half` reads every second line, `unread` collects what cannot be read, as `lost` is cancelled.
ORDERS = [
    "collect",
    "read collect",
    "read collect read",
    "collect read",
    "half read collect",
    "read read collect",
    "read unread cancel",
    "unread read cancel",
    "unread read lost",
    "half unread read collect",
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("fresh", [False, True])
async def test_the_same_results_are_counted_once(
    bench: Bench, server: BatchServer, tmp_path: Path, order: str, *, fresh: bool
) -> None:
    before = (await bench.run()).ledger if fresh else Ledger()
    server.results = mixed
    await bench.run(Steps.SUBMIT, fresh=fresh)
    for step in order.split():
        if step in {"read", "half"}:
            every = slice(0, None, 2 if step == "half" else 1)
            result = await bench.read(console_file(server, tmp_path / step, every), fresh=fresh)
        else:
            server.faults["download"] = [
                Fault(200, b"<html>") for _ in range(2 * (step in {"unread", "lost"}))
            ]
            steps = Steps.CANCEL if step in {"cancel", "lost"} else Steps.COLLECT
            result = await bench.run(steps, fresh=fresh)
    assert counts(result.ledger - before) == ONCE
    assert result.scores.usage.replies == (6 if fresh else 3)
    assert bool(bench.batches.open) == (order == "read")


async def test_what_a_batch_asks_anew_is_read_though_the_run_has_another_reply(
    bench: Bench, server: BatchServer, tmp_path: Path
) -> None:
    server.results = lambda lines: (
        [],
        [refused(line["custom_id"], 400, "blocked", "content_filter") for line in lines],
    )
    await bench.run()
    server.results = all_right
    await bench.run(Steps.SUBMIT, retry_filtered=True)
    file = console_file(server, tmp_path / "console")
    for _ in range(2):
        result = await bench.read(file)
    assert letters(result) == RIGHT
    assert letters(await bench.run(Steps.COLLECT)) == RIGHT
    assert ((await bench.run(Steps.COLLECT)).ledger.replies, server.bills.total()) == (12, 12)


async def test_a_request_that_fails_alike_in_another_batch_is_counted_again(
    bench: Bench, server: BatchServer
) -> None:
    server.results = lambda lines: ([], [refused(line["custom_id"], 500, "no") for line in lines])
    await bench.run()
    assert (await bench.run()).ledger.retries == {"server_error": 12}


async def test_two_runs_that_read_the_same_results_count_them_once_together(
    bench: Bench, server: BatchServer, tmp_path: Path
) -> None:
    server.results = mixed
    await bench.run(Steps.SUBMIT)
    other = await bench.read(console_file(server, tmp_path / "console", slice(0, None, 2)), name="other")
    result = await bench.run(Steps.COLLECT)
    assert other.ledger.requests
    assert counts(other.ledger, result.ledger) == ONCE
    assert result.scores.usage.replies == 3
    assert [(part.replies, part.failed) for part in bench.batches.parts.values()] == [(3, 3)]


@pytest.mark.parametrize("step", ["read", "collect"])
@pytest.mark.parametrize("line", range(1, 7))
@pytest.mark.parametrize("stored", [False, True])
async def test_a_kill_costs_the_ledger_no_more_than_was_not_recorded_and_counts_nothing_twice(
    bench: Bench,
    server: BatchServer,
    tmp_path: Path,
    step: str,
    line: int,
    *,
    stored: bool,
) -> None:
    """Killed before or after a line is stored and counted, where the ledger is written line by line."""
    server.results = mixed
    await bench.run(Steps.SUBMIT)
    file = console_file(server, tmp_path / "console")

    def command() -> Awaitable[RunResult]:
        return bench.read(file) if step == "read" else bench.run(Steps.COLLECT)

    with killed_at_line(line, stored=stored), pytest.raises(Killed):
        await command()
    await command()
    ledger = (await bench.run(Steps.COLLECT)).ledger
    lost = int(stored and line < 6)  # the last line was not asked
    assert ledger.requests == ONCE["requests"] - lost
    assert (await bench.read(file)).scores.usage.replies == 3


@contextmanager
def killed_at_line(line: int, *, stored: bool) -> Iterator[None]:
    """A command that ends without writing anything more, before or after this line of results is taken."""
    from m3ke_async import record, run

    take, write, taken = Storer.take, record.write_record, 0

    def take_or_die(self: Storer, raw: bytes) -> None:
        nonlocal taken
        taken += 1
        if taken == line and not stored:
            raise Killed
        take(self, raw)
        if taken == line:
            raise Killed

    def write_unless_dead(*arguments: Any, **options: Any) -> None:
        if taken < line:
            write(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("m3ke_async.batch.storing._RECORD", 1)
        patch.setattr(Storer, "take", take_or_die)
        patch.setattr(record, "write_record", write_unless_dead)
        patch.setattr(run, "write_record", write_unless_dead)
        yield
