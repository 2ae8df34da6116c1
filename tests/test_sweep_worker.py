"""A cell and the keeper, without a cluster: a whole run arrives; a lost cell goes on from what was kept."""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from m3ke_async.batch.line import request_line
from m3ke_async.batch.state import Batches, Part, Stage
from m3ke_async.errors import UsageError
from m3ke_async.listing import State, list_runs
from m3ke_async.lookup import find_evaluation
from m3ke_async.pace import Pace
from m3ke_async.progress import Silent
from m3ke_async.rundir import RunDir
from m3ke_async.store import Kept
from m3ke_async.store_file import StoreError, StoreFile
from m3ke_async.suite import load_suite
from m3ke_async.sweep.keeper import Keeper
from m3ke_async.sweep.shares import Shares
from m3ke_async.sweep.stream import Stream
from m3ke_async.sweep.worker import _Lease, evaluate_cell
from m3ke_async.target import find_target
from m3ke_async.verified import claimed, is_claimed
from tests.asking import ask, quick, settings
from tests.questions import write_suite
from tests.server import error, reply, right_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from m3ke_async.reply_row import Row
    from m3ke_async.settings import RunSettings
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

    def begin(self, cell: int, runs: Sequence[str], policy: str) -> Begun:
        return self.call(self.keeper.begin, cell, runs, policy)

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
    assert (result.run, result.complete, result.trouble) == (
        alone.path.name,
        False,
        "1 question has no reply; the same command goes on",
    )
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


async def test_replies_to_what_the_model_takes_instead_are_not_asked_again(
    server: Server, desk: Desk, tmp_path: Path
) -> None:
    refusal = error(400, "temperature is not supported", param="temperature")
    server.default = lambda mark: refusal if "temperature" in server.seen[-1].body else right_reply(mark)
    suite, results = write_suite(tmp_path / "suite", 1, 6), tmp_path / "results"
    await ask(suite, server.url, results, limit=4)
    asked = len(server.seen)
    result = await evaluate_cell(0, settings(suite, server.url, results), desk)
    assert result.complete
    assert (len(server.seen) - asked, len(desk.kept)) == (1 + 2, 2)  # it is refused once more


async def test_replies_held_to_a_letter_by_what_was_proven_are_not_asked_again(
    server: Server, desk: Desk, tmp_path: Path
) -> None:
    server.default = lambda mark: reply("B" if "guided_choice" in server.seen[-1].body else "不知道")
    suite, results = write_suite(tmp_path / "suite", 1, 6), tmp_path / "results"
    held: dict[str, Any] = {"model": "vllm/m", "answer": "constrained"}
    await ask(suite, server.url, results, limit=4, **held)
    server.seen.clear()
    assert (await evaluate_cell(0, settings(suite, server.url, results, **held), desk)).complete
    assert sorted({seen.mark for seen in server.seen}) == ["Q0-4", "Q0-5", "proof"]


async def test_a_cell_goes_on_where_a_server_was_added_on_whatever_machine_it_is(
    server: Server, desk: Desk, tmp_path: Path
) -> None:
    suite, elsewhere = write_suite(tmp_path / "suite", 1, 6), tmp_path / "results are on another machine"
    first, second = server.url, server.url.replace("127.0.0.1", "localhost")
    for shots, one, other in ((0, first, second), (1, second, first)):
        server.script["Q0-3"] = [error(400, "no")]
        begun = await ask(suite, one, tmp_path / "results", shots=shots)
        server.script.clear()
        desk.kept.clear()
        result = await evaluate_cell(0, settings(suite, (other, one), elsewhere, shots=shots), desk)
        assert (result.run, result.complete, len(desk.kept)) == (begun.path.name, True, 1)
    assert not elsewhere.exists()


def put_batch(directory: RunDir, cell: RunSettings, questions: int) -> None:
    """Let the first questions of a cell be in a batch of this run that is under way."""
    suite = load_suite(str(cell.data))
    evaluation = find_evaluation(cell, suite, find_target(cell, Silent()))
    requests = [item.request for task in suite.tasks for item in evaluation.items(task)][:questions]
    batches, part = (
        Batches(directory),
        Part("m3ke-0123456789abcdef", questions, "http://x", stage=Stage.SUBMITTED),
    )
    batches.put(part)
    batches.file(part).parent.mkdir()
    batches.file(part).write_bytes(b"".join(request_line(request, "/v1") for request in requests))


async def test_what_is_in_batches_under_way_is_not_asked_as_well(
    server: Server, desk: Desk, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    cell = settings(write_suite(tmp_path / "suite", 1, 6), server.url, results)
    put_batch(RunDir(results / "other"), cell, 4)
    result = await evaluate_cell(0, cell, desk)
    assert (len(server.seen), result.complete) == (2, False)
    other = results / "other"
    assert result.trouble == (
        f"4 questions are in batches of {other}, and left to them: "
        f"m3ke batch collect {other}, then the same command again"
    )
    put_batch(RunDir(results / str(result.run)), cell, 1)
    result = await evaluate_cell(0, cell, desk)
    assert len(server.seen) == 2
    assert "1 question of this run is in batches that are under way" in str(result.trouble)


async def test_two_cells_that_are_one_run_are_not_at_it_together(
    server: Server, desk: Desk, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    cell = settings(write_suite(tmp_path / "suite", 1, 6), server.url, results)
    server.default = lambda mark: reply("B").after(0.1)
    one, other = await asyncio.gather(
        evaluate_cell(0, cell, desk), evaluate_cell(1, replace(cell, concurrency=2), desk)
    )
    assert (one.complete, other.complete, len(server.seen)) == (True, False, 6)
    assert "another cell of this sweep is at work" in str(other.trouble)
    assert not is_claimed(results / str(one.run))


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


async def test_a_full_disk_beside_the_results_is_told_and_the_folder_given_up(
    server: Server, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, results = write_suite(tmp_path / "suite", 1, 6), tmp_path / "results"

    def write(keeper: Keeper, run: str, record: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(results / run / "run.json"))

    monkeypatch.setattr(Keeper, "_write", write)
    result = await evaluate_cell(0, settings(suite, server.url, results), desk)
    assert result.trouble == (
        f"{results / str(result.run) / 'run.json'}: No space left on device; "
        "replies that came are kept, and the same command goes on"
    )
    assert (len(desk.kept), is_claimed(results / str(result.run))) == (6, False)


@pytest.mark.parametrize("spare", [True, False])
async def test_a_full_disk_at_the_store_costs_no_reply(
    server: Server, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, spare: bool
) -> None:
    monkeypatch.setattr("m3ke_async.sweep.stream._AGAIN", 0.05)
    put_all, times = desk.keeper._store.put_all, 0

    def put_later(kept: Sequence[Kept]) -> None:
        nonlocal times
        times += 1
        if spare or times > 8:
            put_all(kept)
        if times <= 8:
            raise StoreError("cannot write: disk full", kept=spare)

    monkeypatch.setattr(desk.keeper._store, "put_all", put_later)
    server.default = lambda mark: reply("B").after(0.1)
    cell = settings(write_suite(tmp_path / "suite", 1, 60), server.url, tmp_path / "results", concurrency=4)
    result = await evaluate_cell(0, cell, desk)
    keys = {kept.row[0] for kept in desk.kept}
    assert len(desk.call(desk.keeper._store.rows, keys)) == len(keys) == len(server.seen)
    assert desk.keeper.warnings() == ["cannot write: disk full; make room"]
    assert result.complete is spare
    if not spare:
        assert len(server.seen) < 60
        assert result.trouble == "cannot write: disk full; make room, then run the command again"


async def test_a_reply_that_the_disk_of_the_cell_does_not_take_is_kept_all_the_same(
    server: Server, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, times = StoreFile.write, 0

    def fails_once(file: StoreFile, what: Any) -> None:
        nonlocal times
        times += "m3ke-cell-" in str(file.path)
        if times == 2:
            raise StoreError("cannot write: disk full; it is kept in a spare file", kept=True)
        write(file, what)

    monkeypatch.setattr(StoreFile, "write", fails_once)
    cell = settings(write_suite(tmp_path / "suite", 1, 6), server.url, tmp_path / "results", concurrency=1)
    result = await evaluate_cell(0, cell, desk)
    assert "disk full" in str(result.trouble)
    assert len(desk.kept) == len(server.seen)


async def test_what_killed_cells_left_is_removed_and_what_others_use_is_not(
    server: Server, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, used, new = (tmp_path / f"m3ke-cell-{name}" for name in ("left", "used", "new"))
    for folder in (left, used, new):
        (folder / "run").mkdir(parents=True)
    for folder in (left, used):
        os.utime(folder, (1_000_000_000, 1_000_000_000))
    cell = settings(write_suite(tmp_path / "suite", 1, 2), server.url, tmp_path / "results")
    with claimed(used):
        os.utime(used, (1_000_000_000, 1_000_000_000))
        assert (await evaluate_cell(0, cell, desk)).complete
    assert [folder.exists() for folder in (left, used, new)] == [False, True, True]


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


async def test_a_cell_whose_lease_is_with_others_hardly_uses_the_limit(
    server: Server, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("m3ke_async.sweep.worker._RENEW", 0.001)
    given = [1.0, 0.0, 0.5]
    shares: list[float] = []

    class Endpoint:
        pace, address = Pace(), find_target(settings(tmp_path, server.url, tmp_path), Silent()).addresses[0]

    def lease(limit: str, holder: str, want: float) -> float:
        return given.pop(0) if given else 0.5

    monkeypatch.setattr(desk, "lease", lease)
    monkeypatch.setattr(Endpoint.pace, "set_share", shares.append)
    target = find_target(settings(tmp_path, server.url, tmp_path), Silent())
    lease_ = _Lease(desk, target, Endpoint())  # type: ignore[arg-type]
    await lease_.get()
    renewing = asyncio.create_task(lease_.renew())
    while len(shares) < 3:  # noqa: ASYNC110 - it comes from another thread
        await asyncio.sleep(0.001)
    renewing.cancel()
    assert shares[0] == 1.0
    assert 0 < shares[1] < 0.001
    assert shares[2] == 0.5


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
