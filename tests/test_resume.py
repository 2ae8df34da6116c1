"""Interrupted runs go on: nothing that was answered is asked again, nothing is missing or double."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import re
import shlex
import shutil
import signal
import sqlite3
import tempfile
from collections import Counter
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from m3ke_async.carve import carve
from m3ke_async.errors import ExitCode, IncompleteError, StoppedError, UsageError
from m3ke_async.progress import describe
from m3ke_async.request import Outcome
from m3ke_async.rundir import STORE_NAME, RunDir
from m3ke_async.store import ReplyStore, StoreError
from tests import fake_time
from tests.asking import (
    ROOT,
    Notes,
    ask,
    ask_over,
    ended,
    lines,
    quick,
    run_arguments,
    start,
    unmeasured,
)
from tests.command import m3ke
from tests.questions import marks, task_name, write_suite
from tests.server import (
    HANG,
    RESET,
    Gate,
    Server,
    Wire,
    completion,
    error,
    raw,
    reply,
    right,
    right_reply,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from m3ke_async.request import ChatRequest, Reply
    from m3ke_async.run import RunResult
    from m3ke_async.tally import Tally
    from tests.server import Act, Seen


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Three tasks of ten questions."""
    return write_suite(tmp_path / "suite", 3, 10)


ALL = marks(3, 10)


def signed(mark: str) -> Act:
    """A right answer with its mark as the fingerprint, by which it is known in the store."""
    message = {"role": "assistant", "content": f"答案：{right(mark)}"}
    return raw({**completion(message), "system_fingerprint": mark})


def stored_marks(results: Path) -> list[str]:
    """Marks of the signed replies in the store."""
    path = results / STORE_NAME
    if not path.exists():
        return []
    database = sqlite3.connect(path)
    try:
        rows = database.execute("SELECT reply FROM replies").fetchall()
    except sqlite3.OperationalError:  # it was begun, but has no tables yet
        return []
    finally:
        database.close()
    return [orjson.loads(row[0])["fingerprint"] for row in rows]


def check_complete(result: RunResult, wanted: list[str]) -> None:
    """Every question has one line, in the suite's order, and its own right letter."""
    written = lines(result)
    assert [line["choice"] for line in written] == [right(mark) for mark in wanted]
    assert [(line["task"], line["id"]) for line in written] == [
        (task_name(int(task)), int(row)) for task, row in (mark[1:].split("-") for mark in wanted)
    ]
    assert result.exit_code is ExitCode.COMPLETE


# -- asking again, or not ----------------------------------------------------------------


async def test_a_finished_run_sends_nothing_and_looks_at_nothing(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    first = await ask(suite, server.url, tmp_path / "results")
    sent, looks = len(server.seen), server.looks
    again = await ask(suite, server.url, tmp_path / "results")
    assert (len(server.seen), server.looks) == (sent, looks)
    assert again.scores == first.scores
    assert again.exit_code is ExitCode.COMPLETE
    check_complete(again, ALL)


async def test_after_a_resume_the_scores_are_of_all_questions(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    broken = {mark: [RESET] for mark in ("Q0-1", "Q0-5", "Q1-0", "Q1-7")}
    filtered = {mark: [error(400, "no", code="content_filter")] for mark in ("Q0-2", "Q1-3", "Q1-4")}
    results = tmp_path / "results"
    server.script = {**broken, **filtered}
    first = await ask(suite, server.url, results, max_attempts=2, tasks=["Task 00*", "Task 01*"], name="r")
    assert first.exit_code is ExitCode.INCOMPLETE
    assert (first.scores.total.outcomes[Outcome.FAILED], first.scores.total.missing) == (4, 0)

    server.script = {}
    server.seen.clear()
    second = await ask(suite, server.url, results)  # the whole suite: ten questions are missing
    assert {seen.mark for seen in server.seen} == {*broken, *(f"Q2-{row}" for row in range(10))}
    total = second.scores.total
    assert (total.outcomes[Outcome.ANSWERED], total.outcomes[Outcome.FILTERED]) == (27, 3)
    assert sum(total.outcomes.values()) + total.missing == total.asked == 30

    server.seen.clear()
    third = await ask(suite, server.url, results, retry_filtered=True)
    assert {seen.mark for seen in server.seen} == set(filtered)
    check_complete(third, ALL)
    undisturbed = await ask(suite, server.url, tmp_path / "undisturbed")
    assert third.scores.total == undisturbed.scores.total
    assert unmeasured(third) == unmeasured(undisturbed)


async def test_only_what_failed_is_asked_where_that_is_wanted(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.script = {"Q0-0": [RESET], "Q1-0": [error(500)]}
    first = await ask(suite, server.url, tmp_path / "results", max_attempts=1, max_requests=15)
    failed = first.scores.total.outcomes[Outcome.FAILED]
    assert failed == 2
    server.script = {}
    server.seen.clear()
    second = await ask(suite, server.url, tmp_path / "results", retry_failed=True)
    assert sorted(seen.mark for seen in server.seen) == ["Q0-0", "Q1-0"]
    assert second.scores.total.missing == 15
    check_complete(await ask(suite, server.url, tmp_path / "results"), ALL)


class FirstFrame(Notes):
    """A display that remembers how far a run is before it asks."""

    line = ""

    @asynccontextmanager
    async def watch(
        self, tally: Tally, recent: Callable[[], Counter[Outcome]], next_try: Callable[[], float | None]
    ) -> AsyncIterator[None]:
        self.line = describe(tally, 0.0, Counter(), None)
        yield


async def test_a_resumed_run_knows_at_once_how_many_are_stored(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    async def first_line(**options: Any) -> str:
        frame = FirstFrame()
        await ask(suite, server.url, tmp_path / "results", notes=frame, concurrency=1, **options)
        return frame.line

    assert await first_line(max_requests=5) == "0 of 30 · 0.0/s"
    assert await first_line(max_requests=10) == "5 of 30 · 5 stored · 0.0/s"
    assert await first_line(max_requests=5) == "15 of 30 · 15 stored · 0.0/s"
    assert await first_line(max_requests=5, retry_filtered=True) == "0 of 30 · 0.0/s"  # not all stand
    (tmp_path / "results" / STORE_NAME).unlink()
    assert await first_line() == "0 of 30 · 0.0/s"


async def test_a_command_that_stops_at_once_does_not_forget_how_many_are_stored(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.script = {"Q0-0": [RESET, error(401, "no", code="invalid_api_key")]}
    first = await ask(suite, server.url, tmp_path / "results", max_attempts=1)
    counts = RunDir(first.path).record()["counts"]
    assert (counts["stored"], counts["answered"], counts["failed"]) == (0, 29, 1)
    second = await ask(suite, server.url, tmp_path / "results", max_attempts=1)
    assert isinstance(second.stopped, StoppedError)
    counts = RunDir(first.path).record()["counts"]
    assert (counts["stored"], counts["answered"], counts["failed"]) == (29, 0, 0)


async def test_fresh_asks_everything_again_and_keeps_the_old_replies_aside(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    server.default = lambda mark: reply("答案：A")
    await ask(suite, server.url, results)
    server.default = right_reply
    fresh = await ask(suite, server.url, results, fresh=True)
    assert set(server.counts.values()) == {2}
    check_complete(fresh, ALL)
    database = sqlite3.connect(results / STORE_NAME)
    counts = [
        database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - two fixed names
        for table in ("replies", "superseded")
    ]
    database.close()
    assert counts == [30, 30]
    check_complete(await ask(suite, server.url, results), ALL)
    assert set(server.counts.values()) == {2}


async def test_a_fresh_reply_that_fails_leaves_the_old_one_in_place(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    await ask(suite, server.url, tmp_path / "results")
    server.script["Q1-1"] = [error(500)]
    await ask(suite, server.url, tmp_path / "results", fresh=True, max_attempts=2)
    check_complete(await ask(suite, server.url, tmp_path / "results"), ALL)


async def test_a_fresh_run_with_failures_is_incomplete_and_asks_only_them_anew(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    await ask(suite, server.url, tmp_path / "results")
    server.script["Q1-1"] = [error(500)]
    fresh = await ask(suite, server.url, tmp_path / "results", fresh=True, max_attempts=2)
    assert fresh.exit_code is ExitCode.INCOMPLETE
    assert "1 question could not be asked anew and kept the reply from before" in str(fresh.stopped)
    server.counts.clear()
    server.script.clear()
    check_complete(await ask(suite, server.url, tmp_path / "results", fresh=True), ALL)
    assert server.counts == {"Q1-1": 1}


async def test_what_failed_is_sent_again_and_what_the_model_said_is_not(
    server: Server, tmp_path: Path
) -> None:
    suite, results = write_suite(tmp_path / "suite", 1, 12), tmp_path / "results"
    again = {
        "Q0-0": error(429),
        "Q0-1": error(500),
        "Q0-2": raw({"error": {"message": "no", "code": 500}}),
        "Q0-3": reply(""),
        "Q0-4": raw({"choices": []}),
    }
    kept = {
        "Q0-5": reply("不知道"),
        "Q0-6": reply("", finish="length"),
        "Q0-7": reply("", finish="content_filter"),
        "Q0-8": reply("答案：A"),
        "Q0-9": reply(None, refusal="no"),
    }
    server.script = {mark: [act] for mark, act in {**again, **kept}.items()}
    first = await ask(suite, server.url, results, max_attempts=2)
    assert first.scores.total.outcomes[Outcome.FAILED] == len(again)
    server.script = {}
    server.seen.clear()
    second = await ask(suite, server.url, results)
    assert {seen.mark for seen in server.seen} == set(again)
    outcomes = {f"Q0-{line['id']}": line["outcome"] for line in lines(second)}
    assert all(outcomes[mark] == "answered" for mark in again)
    assert [outcomes[mark] for mark in kept][1:] == ["truncated", "filtered", "answered", "refused"]


# -- one identity, one reply ---------------------------------------------------------------


async def test_whatever_changes_a_request_is_asked_anew_and_equal_ones_never(
    server: Server, tmp_path: Path
) -> None:
    suite, wanted = write_suite(tmp_path / "suite", 1, 6), marks(1, 6)
    variants: list[dict[str, Any]] = [
        {},
        {"shots": 3},
        {"shots": 4},
        {"shots": 3, "fewshot": "turns"},
        {"system": "你是学生。"},
        {"temperature": 0.5},
        {"max_tokens": 16},
        {"template": "m3ke-en/1"},
    ]
    for variant in variants:
        before = len(server.seen)
        check_complete(await ask(suite, server.url, tmp_path / "results", **variant), wanted)
        assert len(server.seen) - before == 6, variant
    sent = len(server.seen)
    for variant in variants:
        check_complete(await ask(suite, server.url, tmp_path / "results", **variant, name="again"), wanted)
        shutil.rmtree(tmp_path / "results" / "again")
    await ask(suite, server.url, tmp_path / "results", temperature=0.0, name="zero")
    assert len(server.seen) == sent


async def test_the_same_model_at_another_address_is_another_one(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    async with Server() as other:
        await ask(suite, server.url, tmp_path / "results")
        await ask(suite, other.url, tmp_path / "results")
    assert (len(server.seen), len(other.seen)) == (30, 30)


async def test_equal_rows_are_asked_once_and_answered_each(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 2, 5, again=["Q0-1", "Q1-2", "Q1-2"])
    gate = Gate()
    server.default = lambda mark: right_reply(mark).behind(gate)
    server.script["Q0-0"] = [right_reply("Q0-0")]  # the first goes alone
    server.on_request = lambda seen: gate.open() if len(server.seen) == 8 else None
    result = await ask(suite, server.url, tmp_path / "results")
    assert set(server.counts.values()) == {1}
    check_lines = [line["choice"] for line in lines(result)]
    assert check_lines == [right(mark) for mark in [*marks(2, 5), "Q0-1", "Q1-2", "Q1-2"]]


async def test_other_settings_under_the_same_name_are_refused_with_what_differs(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    await ask(suite, server.url, tmp_path / "results", name="mine")
    sent = len(server.seen)
    with pytest.raises(UsageError, match=r"shots was 0, now 2.*temperature was 0.0, now 1.0"):
        await ask(suite, server.url, tmp_path / "results", name="mine", shots=2, temperature=1.0)
    assert len(server.seen) == sent


# -- files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[:-20],
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: content + b"\0" * 512,
        lambda content: content + b'{"task": "half',
    ],
)
async def test_a_torn_answers_file_is_written_again_without_asking(
    server: Server, suite: Path, tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    first = await ask(suite, server.url, tmp_path / "results")
    answers = first.path / "answers.jsonl"
    whole = answers.read_bytes()
    answers.write_bytes(spoil(whole))
    await ask(suite, server.url, tmp_path / "results")
    assert answers.read_bytes() == whole
    assert len(server.seen) == 30


RESULT_FILES = [
    "answers.jsonl",
    "unclear.jsonl",
    "failed.jsonl",
    "scores.json",
    f"predictions/{task_name(1)}.jsonl",
]


@pytest.mark.parametrize("name", RESULT_FILES)
@pytest.mark.parametrize("gone", [True, False])
async def test_a_result_file_that_is_gone_or_has_changed_is_written_again(
    server: Server, tmp_path: Path, name: str, *, gone: bool
) -> None:
    suite = write_suite(tmp_path / "suite", 3, 10, split="test")
    server.script["Q1-5"] = [reply("不知道")]
    first = await ask(suite, server.url, tmp_path / "results", split="test")
    file = first.path / name
    whole, times = file.read_bytes(), file.stat()
    if gone or not whole:
        file.unlink()
    else:  # of the same size and age
        file.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    await ask(suite, server.url, tmp_path / "results", split="test")
    assert file.read_bytes() == whole
    assert len(server.seen) == 30


def test_a_kill_costs_no_more_than_seconds_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, results, wire = write_suite(tmp_path / "suite", 3, 10), tmp_path / "results", Wire()
    ask_over(monkeypatch, wire)
    wire.default = lambda mark: right_reply(mark).after(1.0)
    wire.script = {mark: [error(500), right_reply(mark).after(1.0)] for mark in ("Q0-3", "Q1-1")}
    sent: list[float] = []

    def look(seen: Seen) -> None:
        """What would be known if the command were killed now."""
        now = asyncio.get_running_loop().time()
        (file,) = results.glob("*/run.json")
        record = orjson.loads(file.read_bytes())
        assert record["state"] == "running"
        assert record["ledger"]["requests"] >= sum(1 for time in sent if time < now - 4.0)
        assert record["ledger"]["seconds"] <= now - fake_time.START
        sent.append(now)

    wire.on_request = look
    result = fake_time.run(ask(suite, "http://test/v1", results, concurrency=2))
    assert sent[-1] - sent[0] > 10
    assert result.ledger.requests == len(sent) == 32


def test_what_comes_after_the_last_request_is_in_the_ledger_before_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, results, wire = write_suite(tmp_path / "suite", 1, 20), tmp_path / "results", Wire()
    ask_over(monkeypatch, wire)
    wire.default = lambda mark: right_reply(mark).after(1.0 + int(mark.rpartition("-")[2]))

    async def main() -> None:
        run = asyncio.create_task(ask(suite, "http://test/v1", results, concurrency=20, timeout=60.0))
        await asyncio.sleep(15.0)
        (file,) = results.glob("*/run.json")
        assert orjson.loads(file.read_bytes())["ledger"]["replies"] >= 10
        await run

    fake_time.run(main())


async def test_two_runs_fill_one_store_at_the_same_time(server: Server, suite: Path, tmp_path: Path) -> None:
    server.default = lambda mark: right_reply(mark).after(0.005)
    halves = (["Task 00*", "Task 01*"], ["Task 01*", "Task 02*"])
    results = await asyncio.gather(
        *(ask(suite, server.url, tmp_path / "results", tasks=tasks) for tasks in halves)
    )
    assert [result.exit_code for result in results] == [ExitCode.COMPLETE] * 2
    check_complete(await ask(suite, server.url, tmp_path / "results"), ALL)
    assert sum(server.counts.values()) <= 40


async def test_two_processes_fill_one_store_at_the_same_time_and_buy_nothing_twice(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    server.default = lambda mark: right_reply(mark).after(0.05)
    commands = [
        run_arguments(suite, server.url, results, "--name", name, "--tasks", tasks)
        for name, tasks in (("one", "Task 00*,Task 01*"), ("two", "Task 00*,Task 01*,Task 02*"))
    ]
    both = await asyncio.gather(*[ended(process) for process in [await start(*one) for one in commands]])
    assert [process.code for process in both] == [0, 0], both
    assert (len(server.seen), set(server.counts.values())) == (30, {1})
    check_complete(await ask(suite, server.url, results), ALL)
    assert len(server.seen) == 30


async def test_a_damaged_store_is_moved_aside_with_a_warning(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    results, notes = tmp_path / "results", Notes()
    results.mkdir()
    (results / STORE_NAME).write_bytes(b"\x01\x02\x03" * 999)
    check_complete(await ask(suite, server.url, results, notes=notes), ALL)
    assert [line for line in notes.warned if "damaged" in line and "moved" in line]
    (aside,) = results.glob(f"{STORE_NAME}.damaged-*")
    assert aside.read_bytes() == b"\x01\x02\x03" * 999


def spoil(store: Path, share: float) -> None:
    """Overwrite the file from this share of it on, but for its header."""
    size = store.stat().st_size
    with store.open("r+b") as file:
        file.seek(max(4096, int(size * share)))
        file.write(b"\xa5" * size)
        file.truncate(size)


@pytest.mark.parametrize("share", [0.0, 0.5])
async def test_what_a_damaged_store_lost_is_taken_from_the_answers_of_its_runs(
    server: Server, suite: Path, tmp_path: Path, share: float
) -> None:
    results, notes = tmp_path / "results", Notes()
    await ask(suite, server.url, results)
    spoil(results / STORE_NAME, share)
    check_complete(await ask(suite, server.url, results, notes=notes, name="other"), ALL)
    assert len(server.seen) == 30
    (warning,) = notes.warned
    assert "is damaged (" in warning
    assert "taken from the answers.jsonl of runs" in warning


async def test_of_a_damaged_store_only_what_is_lost_is_asked_again(server: Server, tmp_path: Path) -> None:
    suite, results, notes = write_suite(tmp_path / "suite", 3, 60), tmp_path / "results", Notes()
    server.default = signed
    first = await ask(suite, server.url, results)
    shutil.rmtree(first.path)
    spoil(results / STORE_NAME, 0.5)
    second = await ask(suite, server.url, results, notes=notes)
    check_complete(second, marks(3, 60))
    found = re.search(r"of its replies (\d+) were rescued", notes.warned[0])
    assert found is not None
    assert 40 < int(found[1]) < 160
    assert len(server.seen) == 180 + 180 - int(found[1])
    assert unmeasured(second) == unmeasured(await ask(suite, server.url, tmp_path / "undisturbed"))


async def test_answers_that_have_changed_are_not_put_into_a_damaged_store(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    first = await ask(suite, server.url, results)
    answers = first.path / "answers.jsonl"
    answers.write_bytes(answers.read_bytes().replace("答案：A".encode(), "答案：B".encode()))
    spoil(results / STORE_NAME, 0.0)
    check_complete(await ask(suite, server.url, results), ALL)
    assert len(server.seen) == 60


async def test_a_results_folder_that_is_removed_meanwhile_is_made_again_and_nothing_is_lost(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    results, notes = tmp_path / "results", Notes()
    server.on_request = lambda seen: shutil.rmtree(results) if len(server.seen) in (10, 20, 30) else None
    check_complete(await ask(suite, server.url, results, notes=notes), ALL)
    assert [line for line in notes.warned if "was moved or removed while it was in use" in line]
    server.on_request = lambda seen: None
    (results / "again").mkdir()
    check_complete(await ask(suite, server.url, results, name="again"), ALL)
    assert set(server.counts.values()) == {1}


async def test_a_reply_that_the_store_does_not_take_is_kept_elsewhere_and_comes_home(
    server: Server, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("m3ke_async.rundir.spare_store", lambda store: tmp_path / "other disk" / "s.sqlite")
    results = tmp_path / "results"
    server.on_request = lambda seen: fill_up() if len(server.seen) == 10 else None
    stores: list[ReplyStore] = []
    init = ReplyStore.__init__

    def remember(store: ReplyStore, *args: Any, **named: Any) -> None:
        stores.append(store)
        init(store, *args, **named)

    def fill_up() -> None:
        pages = stores[0]._file.database.execute("PRAGMA page_count").fetchone()[0]
        stores[0]._file.database.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(ReplyStore, "__init__", remember)
    server.default = lambda mark: reply(f"答案：{right(mark)}" + "。" * 5000)
    first = await ask(suite, server.url, results, name="mine")
    assert isinstance(first.stopped, IncompleteError)
    spare = results / "mine" / STORE_NAME
    assert f"it is kept in {spare}, which the next command takes over; make room" in str(first.stopped)
    assert first.scores.usage.replies == len(server.seen) < 30
    server.on_request = lambda seen: None
    check_complete(await ask(suite, server.url, results, name="mine"), ALL)
    assert set(server.counts.values()) == {1}
    assert not spare.exists()


async def test_a_store_of_a_newer_version_is_refused_before_anything_is_sent(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    with sqlite3.connect(results / STORE_NAME) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(UsageError, match="newer"):
        await ask(suite, server.url, results)
    assert len(server.seen) == 0


def make_read_only(store: Path) -> Callable[[], None]:
    """SQLite does not write to a file whose header asks for a later version; how to undo it.

    Permissions would not do: they do not bind the superuser, who may run the tests.
    """
    content = bytearray(store.read_bytes())
    was, content[18] = content[18], 9
    store.write_bytes(content)

    def undo() -> None:
        now = bytearray(store.read_bytes())
        now[18] = was
        store.write_bytes(now)

    return undo


async def test_a_read_only_store_is_read_and_new_replies_come_home_later(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    results, notes = tmp_path / "results", Notes()
    await ask(suite, server.url, results, tasks=["Task 00*"])
    undo = make_read_only(results / STORE_NAME)
    check_complete(await ask(suite, server.url, results, notes=notes, name="mine"), ALL)
    assert set(server.counts.values()) == {1}
    assert [line for line in notes.warned if "read-only" in line]
    undo()
    (results / "mine" / "scores.json").unlink()
    check_complete(await ask(suite, server.url, results, name="mine"), ALL)
    check_complete(await ask(suite, server.url, results, name="other"), ALL)  # from the shared store
    assert set(server.counts.values()) == {1}


def stores_in(folder: Path) -> list[Path]:
    return [*folder.rglob(f"*{STORE_NAME}")]


async def test_what_only_reads_makes_no_spare_store(server: Server, suite: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    await ask(suite, server.url, results, name="mine")
    make_read_only(results / STORE_NAME)
    for command in (("explain", results / "mine", task_name(0), "0"), ("score", results / "mine")):
        ran = m3ke(*command)
        assert (ran.code, ran.err) == (0, "")
    assert m3ke("report", results / "mine", "--format", "html").err == ""
    assert stores_in(tmp_path) == [results / STORE_NAME]


async def test_a_full_disk_loses_nothing_that_was_answered(
    server: Server, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, left = ReplyStore.put, 12

    def refuse(store: ReplyStore, request: ChatRequest, got: Reply, *, replace: bool = False) -> None:
        nonlocal left
        if len(stored_marks(tmp_path / "results")) >= 10 and left:
            left -= 1
            raise StoreError(f"cannot write to {store.path}: database or disk is full")
        put(store, request, got, replace=replace)

    monkeypatch.setattr(ReplyStore, "put", refuse)
    server.default = lambda mark: signed(mark).after(0.002)
    first = await ask(suite, server.url, tmp_path / "results")
    assert isinstance(first.stopped, IncompleteError)
    assert "make room" in str(first.stopped)
    assert set(stored_marks(tmp_path / "results")) == {seen.mark for seen in server.seen}
    check_complete(await ask(suite, server.url, tmp_path / "results"), ALL)
    assert set(server.counts.values()) == {1}


async def test_where_the_disk_takes_nothing_more_the_run_is_incomplete_and_goes_on(
    server: Server, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    server.on_request = lambda seen: monkeypatch.setattr("m3ke_async.files.os.fsync", refuse)
    with pytest.raises(IncompleteError, match=r"cannot be written .*: No space left on device"):
        await ask(suite, server.url, tmp_path / "results")
    monkeypatch.undo()
    check_complete(await ask(suite, server.url, tmp_path / "results"), ALL)
    assert set(server.counts.values()) == {1}


async def test_a_mistake_while_scoring_costs_no_reply(
    server: Server, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("m3ke_async.results.score", fail)
        with pytest.raises(ZeroDivisionError):
            await ask(suite, server.url, tmp_path / "results")
    assert len(server.seen) == 30
    check_complete(await ask(suite, server.url, tmp_path / "results"), ALL)
    assert len(server.seen) == 30


# -- signals -------------------------------------------------------------------------------


async def stop_by(
    server: Server, suite: Path, results: Path, *signals: signal.Signals, concurrency: int = 8
) -> tuple[int, str]:
    """Start the command, answer ten questions, send the signals while as many as may be are in flight.

    After one signal those are answered, after two they never are.
    """
    gate, in_flight = Gate(), asyncio.Event()
    server.default = lambda mark: signed(mark) if len(server.seen) <= 10 else signed(mark).behind(gate)
    server.on_request = lambda seen: (
        in_flight.set() if server.in_flight == concurrency and len(server.seen) > 10 else 0
    )
    process = await start(*run_arguments(suite, server.url, results, "--concurrency", f"{concurrency}"))
    assert process.stderr is not None
    await in_flight.wait()
    process.send_signal(signals[0])
    said = ""
    while "stopping" not in said:
        said += (await process.stderr.readline()).decode()
    await asyncio.sleep(0.05)
    if len(signals) == 1:
        gate.open()
    else:
        process.send_signal(signals[1])
    async with asyncio.timeout(5):
        rest = await ended(process)
    return rest.code, said + rest.err


@pytest.mark.parametrize(
    ("number", "concurrency"), [(signal.SIGINT, 1), (signal.SIGINT, 8), (signal.SIGTERM, 8)]
)
async def test_the_first_signal_drains_and_the_same_command_goes_on(
    server: Server, suite: Path, tmp_path: Path, number: signal.Signals, concurrency: int
) -> None:
    results = tmp_path / "results"
    code, said = await stop_by(server, suite, results, number, concurrency=concurrency)
    assert code == 130
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    start_of_command = " -m m3ke_async "
    assert last.startswith("m3ke: interrupted; every reply is kept; go on with: ")
    assert shlex.split(last.partition(start_of_command)[2]) == run_arguments(
        suite, server.url, results, "--concurrency", f"{concurrency}"
    )
    assert len(server.seen) == 10 + concurrency
    assert sorted(stored_marks(results)) == sorted(seen.mark for seen in server.seen)
    (answers,) = results.glob("*/answers.jsonl")
    assert len(answers.read_bytes().splitlines()) == 10 + concurrency
    server.default = signed
    check_complete(await ask(suite, server.url, results), ALL)
    assert set(server.counts.values()) == {1}


async def test_the_second_signal_leaves_at_once_and_loses_nothing_that_was_answered(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    code, said = await stop_by(server, suite, results, signal.SIGINT, signal.SIGINT)
    assert code == 130
    assert "Traceback" not in said
    answered = stored_marks(results)
    assert len(answered) == 10
    server.default = signed
    check_complete(await ask(suite, server.url, results), ALL)
    assert all(server.counts[mark] == 1 for mark in answered)
    assert len(server.seen) == 30 + 8


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_before_the_first_question_is_one_line_too(
    server: Server, suite: Path, tmp_path: Path, number: signal.Signals
) -> None:
    looked = asyncio.Event()

    def look() -> bool:
        looked.set()
        return False

    server.look = look
    process = await start(*run_arguments(suite, server.url, tmp_path / "results", "--quiet"))
    await looked.wait()
    process.send_signal(number)
    end = await ended(process)
    assert end.code == 130
    # a terminal shows ^C first, so that an empty line stands before the message
    last = end.err.removeprefix("\n")
    assert last.startswith("m3ke: interrupted; every reply is kept; go on with: ")
    assert last.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_while_the_command_is_still_loaded_is_one_line_too(
    server: Server, suite: Path, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "click.py").write_text(
        f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep(60)\n"  # in the midst of an import
    )
    process = await start(
        *run_arguments(suite, server.url, tmp_path / "results"), PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}"
    )
    end = await ended(process)
    assert end.code == 130
    assert end.err.startswith("m3ke: interrupted; every reply is kept; go on with: ")
    assert end.err.count("\n") == 1


async def test_ten_kills_at_random_moments_cost_only_what_was_in_flight(
    server: Server, tmp_path: Path
) -> None:
    suite, results = write_suite(tmp_path / "suite", 3, 60), tmp_path / "results"
    rng = random.Random()  # noqa: S311 - any moment will do
    server.default = lambda mark: signed(mark).after(rng.uniform(0.0, 0.02))
    asked_in_vain, twice = 0, []
    for _ in range(10):
        answered = set(stored_marks(results))
        before, moment, last = len(server.seen), asyncio.Event(), rng.randint(1, 24)

        def on_request(
            seen: Seen,
            answered: set[str] = answered,
            moment: asyncio.Event = moment,
            last: int = before + last,
        ) -> None:
            if seen.mark in answered:
                twice.append(seen.mark)
            if len(server.seen) == last:
                moment.set()

        server.on_request = on_request
        process = await start(*run_arguments(suite, server.url, results))
        died = asyncio.create_task(ended(process))
        came = asyncio.create_task(moment.wait())
        await asyncio.wait({died, came}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(rng.uniform(0.0, 0.03))
        with suppress(ProcessLookupError):
            process.kill()
        end = await died
        came.cancel()
        assert end.code in (0, -signal.SIGKILL), end
        now = set(stored_marks(results))
        assert answered <= now
        asked_in_vain += len(server.seen) - before - len(now - answered)
    assert twice == []
    assert asked_in_vain <= 10 * 8

    before, left = len(server.seen), set(marks(3, 60)) - set(stored_marks(results))
    final = await ended(await start(*run_arguments(suite, server.url, results, "--json")))
    assert final.code == 0, final
    assert sorted(seen.mark for seen in server.seen[before:]) == sorted(left)
    assert sorted(stored_marks(results)) == sorted(marks(3, 60))
    mine = await ask(suite, server.url, results)
    check_complete(mine, marks(3, 60))
    undisturbed = await ask(suite, server.url, tmp_path / "undisturbed")
    assert mine.scores.total == undisturbed.scores.total
    assert unmeasured(mine) == unmeasured(undisturbed)
    assert orjson.loads(final.out)["scores"]["total"] == orjson.loads(
        orjson.dumps(undisturbed.scores.total.to_json())
    )


# -- every order of events -------------------------------------------------------------------

_TASKS, _ROWS = 2, 12
_MARKS = marks(_TASKS, _ROWS)


def carved(store: Path) -> set[bytes]:
    """Keys of the replies that can be had from a file, whatever has become of it."""
    return {row[0] for row in carve(store)}


class KillAndResume(RuleBasedStateMachine):
    """Runs that are cancelled, stopped, and spoilt in any order, against a set of answered questions."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.suite = write_suite(self.folder / "suite", _TASKS, _ROWS)
        self.results = self.folder / "results"
        self.wire = Wire()
        self.wire.default = lambda mark: signed(mark).after(0.1 + int(re.sub(r"\D", "", mark)) % 7 / 10)
        self.patch = pytest.MonkeyPatch()
        ask_over(self.patch, self.wire)
        self.answered: set[str] = set()

    def teardown(self) -> None:
        self.wire.script = {}
        self._go()
        self.patch.undo()
        written = [orjson.loads(line) for line in self._answers().read_bytes().splitlines()]
        assert [line["choice"] for line in written] == [right(mark) for mark in _MARKS]
        assert [line["outcome"] for line in written] == ["answered"] * len(_MARKS)
        shutil.rmtree(self.folder)

    def _answers(self) -> Path:
        (path,) = self.results.glob("*/answers.jsonl")
        return path

    def _go(
        self, *, cancel_after: int | None = None, remove_after: int | None = None, **options: Any
    ) -> None:
        """Run; cancelled at its n-th request, that is, without any goodbye, or robbed of its folder there."""
        sent: list[str] = []

        async def main() -> None:
            task = asyncio.ensure_future(
                ask(self.suite, "http://test/v1", self.results, timeout=3.0, max_attempts=2, **options)
            )

            def on_request(seen: Seen) -> None:
                sent.append(seen.mark)
                if len(sent) == cancel_after:
                    asyncio.get_running_loop().call_later(0.25, task.cancel)
                if len(sent) == remove_after:
                    shutil.rmtree(self.results)

            self.wire.on_request = on_request
            with suppress(asyncio.CancelledError):
                await task

        fake_time.run(main())
        assert self.answered.isdisjoint(sent), "an answered question was sent again"
        now = set(stored_marks(self.results))
        assert self.answered <= now
        self.answered = now

    @rule(after=st.integers(1, 20))
    def killed(self, after: int) -> None:
        self._go(cancel_after=after)

    @rule(most=st.integers(1, 10))
    def stopped_by_a_budget(self, most: int) -> None:
        self._go(max_requests=most)

    @rule(after=st.integers(1, 20))
    def robbed_of_its_folder(self, after: int) -> None:
        self._go(remove_after=after)

    @precondition(lambda self: (self.results / STORE_NAME).exists())
    @rule(page=st.integers(0, 3))
    def the_store_loses_a_page_without_replies(self, page: int) -> None:
        """Its header, or the roots of its tables, which hold none while there are few."""
        store = self.results / STORE_NAME
        before = carved(store)
        content = bytearray(store.read_bytes())
        content[page * 4096 : page * 4096 + 100] = b"\xa5" * 100
        (self.folder / "spoilt").write_bytes(content)
        if carved(self.folder / "spoilt") == before:
            store.write_bytes(content)
            ReplyStore(store).close()

    @rule(mark=st.sampled_from(_MARKS), act=st.sampled_from([HANG, RESET, error(500), error(429)]))
    def a_question_fails(self, mark: str, act: Act) -> None:
        self.wire.script[mark] = [act]

    @rule()
    def the_server_recovers(self) -> None:
        self.wire.script = {}

    @rule()
    def runs_to_its_end(self) -> None:
        self._go()
        assert set(_MARKS) - set(self.wire.script) <= self.answered

    @precondition(lambda self: any(self.results.glob("*/answers.jsonl")))
    @rule(share=st.floats(0, 1))
    def the_answers_are_torn(self, share: float) -> None:
        content = self._answers().read_bytes()
        self._answers().write_bytes(content[: int(len(content) * share)])

    @invariant()
    def every_answered_question_is_stored_once(self) -> None:
        stored = stored_marks(self.results)
        assert len(stored) == len(set(stored))
        assert set(stored) == self.answered


KillAndResume.TestCase.settings = hypothesis_settings(max_examples=10, stateful_step_count=7, deadline=None)
test_any_order_of_kills_stops_and_failures_ends_in_the_same_answers = KillAndResume.TestCase
