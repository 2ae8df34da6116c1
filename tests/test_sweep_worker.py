"""A cell and the keeper, without a cluster: a whole run arrives; a lost cell goes on from what was kept."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from m3ke_async.errors import UsageError
from m3ke_async.listing import State, list_runs
from m3ke_async.rundir import RunDir
from m3ke_async.store import Kept
from m3ke_async.sweep.keeper import Keeper
from m3ke_async.sweep.shares import Shares
from m3ke_async.sweep.stream import Stream
from m3ke_async.sweep.worker import evaluate_cell
from m3ke_async.verified import claimed, is_claimed
from tests.asking import ask, quick, settings
from tests.questions import write_suite
from tests.server import error, reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from m3ke_async.reply_row import Row
    from m3ke_async.sweep.keeper import Begun
    from tests.server import Server


T = TypeVar("T")


class Desk:
    """The keeper in a thread of its own, as an actor is, and the shares; it remembers what it was told."""

    def __init__(self, results: Path) -> None:
        self.thread = ThreadPoolExecutor(1)
        self.keeper = self.call(Keeper, results)
        self.shares = Shares(time.monotonic)
        self.kept: list[Kept] = []
        self.lost = False
        self.leases: list[tuple[str, float]] = []

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        return self.thread.submit(function, *arguments).result()

    def begin(self, cell: int, run: str, policy: str) -> Begun:
        return self.call(self.keeper.begin, cell, run, policy)

    def known(self, keys: Sequence[bytes]) -> list[Row]:
        return self.call(self.keeper.known, keys)

    def keep(self, run: str, kept: Sequence[Kept], record: bytes | None) -> None:
        if self.lost:
            raise RuntimeError("the machine is gone")
        self.kept += kept
        self.call(self.keeper.keep, run, kept, record)

    def finish(self, run: str, files: dict[str, bytes], record: bytes) -> None:
        self.call(self.keeper.finish, run, files, record)

    def leave(self, run: str) -> None:
        self.call(self.keeper.leave, run)

    def lease(self, limit: str, holder: str, want: float) -> float:
        self.leases.append((limit, want))
        return self.shares.lease(limit, holder, want)

    def release(self, limit: str, holder: str) -> None:
        self.shares.release(limit, holder)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "results")
    yield desk
    desk.call(desk.keeper.close)
    desk.thread.shutdown()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


async def test_the_run_of_a_cell_is_the_one_that_m3ke_run_makes(
    server: Server, desk: Desk, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 2, 6)
    server.script["Q1-2"] = [error(400, "no")]
    alone = await ask(suite, server.url, tmp_path / "alone")
    result = await evaluate_cell(0, settings(suite, server.url, tmp_path / "results"), desk)
    assert (result.run, result.complete, result.trouble) == (alone.path.name, False, None)
    assert desk.keeper.begun() == {0: alone.path.name}
    assert (len(desk.kept), desk.keeper.begun()) == (12, {})
    directory = RunDir(tmp_path / "results" / alone.path.name)
    record = directory.read()
    assert record is not None
    assert record["settings"]["results"] == str(tmp_path / "results")
    assert record["hashes"] == directory.hashes()
    server.script.clear()
    again = await ask(suite, server.url, tmp_path / "results")  # an ordinary command goes on with it
    assert (again.ledger.requests, again.ledger.replies) == (13, 12)
    assert again.path == directory.path


async def test_a_lost_cell_asks_only_what_was_not_kept(server: Server, desk: Desk, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 2, 20)
    cell = settings(suite, server.url, tmp_path / "results", concurrency=1)

    def on_request(seen: Any) -> None:
        desk.lost = len(desk.kept) >= 8

    server.on_request = on_request
    server.default = lambda mark: reply("B").after(0.03)
    with pytest.raises(RuntimeError, match="the machine is gone"):
        await evaluate_cell(0, cell, desk)
    kept, asked = len(desk.kept), len(server.seen)
    assert 8 <= kept < asked < 40
    server.on_request = lambda seen: None
    desk.lost = False
    result = await evaluate_cell(0, cell, desk)
    assert result.complete
    assert len(server.seen) == asked + 40 - kept
    assert len(desk.kept) == 40


async def test_replies_of_earlier_runs_are_not_asked_again(
    server: Server, desk: Desk, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    await ask(suite, server.url, tmp_path / "results", limit=4)
    result = await evaluate_cell(0, settings(suite, server.url, tmp_path / "results"), desk)
    assert result.complete
    assert (len(server.seen), len(desk.kept)) == (6, 2)


async def test_a_complete_cell_is_left_as_it_is(server: Server, desk: Desk, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    whole = await ask(suite, server.url, tmp_path / "results")
    before = (whole.path / "run.json").read_bytes()
    result = await evaluate_cell(0, settings(suite, server.url, tmp_path / "results"), desk)
    assert (result.run, result.complete) == (whole.path.name, True)
    assert (whole.path / "run.json").read_bytes() == before
    assert not is_claimed(whole.path)


async def test_the_folder_is_claimed_and_up_to_date_while_the_cell_runs(
    server: Server, desk: Desk, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    server.default = lambda mark: reply("B").after(0.3)
    cell = settings(suite, server.url, tmp_path / "results", concurrency=1)
    task = asyncio.create_task(evaluate_cell(0, cell, desk))
    while not (found := list_runs(tmp_path / "results")):  # noqa: ASYNC110 - it comes from another thread
        await asyncio.sleep(0.05)
    assert found[0].state is State.RUNNING
    await task
    assert list_runs(tmp_path / "results")[0].state is State.COMPLETE


async def test_a_run_that_another_process_is_at_is_not_begun(
    server: Server, desk: Desk, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    whole = await ask(suite, server.url, tmp_path / "results", limit=3)
    with claimed(whole.path):
        result = await evaluate_cell(0, settings(suite, server.url, tmp_path / "results", limit=3), desk)
    assert (result.complete, "another process is at work" in str(result.trouble)) == (False, True)


@pytest.mark.parametrize(
    ("options", "trouble"),
    [
        ({"model": "nobody/m"}, "nobody"),
        ({"tasks": ["Nothing*"]}, "no task matches"),
        ({"data": "/none"}, "/none"),
    ],
)
async def test_settings_that_cannot_work_are_a_result_with_the_reason(
    server: Server, desk: Desk, tmp_path: Path, options: dict[str, Any], trouble: str
) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    result = await evaluate_cell(0, settings(suite, server.url, tmp_path / "results", **options), desk)
    assert (result.complete, trouble in str(result.trouble)) == (False, True)


async def test_cells_on_one_key_name_the_same_limit_and_no_key_is_in_the_name(
    server: Server, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = write_suite(tmp_path / "suite", 1, 2)
    for key in ("sk-one", "sk-one", "sk-two"):
        monkeypatch.setenv("SOME_KEY", key)
        cell = settings(
            suite, server.url, tmp_path / "results", api_key_env="SOME_KEY", shots=len(desk.leases)
        )
        assert (await evaluate_cell(0, cell, desk)).complete
    first, second, third = [limit for limit, _ in desk.leases]
    assert first == second != third
    assert "sk" not in first


def test_what_cannot_be_sent_is_told_at_the_next_reply() -> None:
    def send(kept: list[Kept]) -> None:
        raise UsageError("gone")

    stream = Stream(send)
    row = (b"k", b"r", "custom", None, "run")
    stream.add(Kept(row))
    with pytest.raises(UsageError, match="gone"):
        stream.close()
    with pytest.raises(UsageError, match="gone"):
        stream.add(Kept(row))
