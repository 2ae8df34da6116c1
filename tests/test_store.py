from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from m3ke_async import store as store_module
from m3ke_async.errors import UsageError
from m3ke_async.request import ChatRequest, Reply, Usage
from m3ke_async.store import SCHEMA_VERSION, Failure, ReplyStore, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

FULL = Reply(
    text="答案：B\n\ud83d".encode("utf-8", "backslashreplace").decode(),
    reasoning="想",
    finish_reason="stop",
    refusal=True,
    usage=Usage(10, 2, 0, 1),
    model="m-2",
    fingerprint="fp",
    latency=0.123456789,
    attempts=3,
    received_at=1_700_000_000.5,
)


def request(number: int = 0) -> ChatRequest:
    return ChatRequest("vllm", "http://h/v1", b'{"n":%d}' % number)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "replies.sqlite"


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect(path)
    try:
        return database.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
    finally:
        database.close()


# Replies


@pytest.mark.parametrize("reply", [FULL, Reply(""), Reply("A", usage=Usage(0, 0)), Reply("\0\n\u2028")])
def test_a_reply_comes_back_as_it_was(path: Path, reply: Reply) -> None:
    with ReplyStore(path) as store:
        assert store.get(request().key) is None
        store.put(request(), reply)
        assert store.get(request().key) == reply
    with ReplyStore(path) as store:
        assert store.get(request().key) == reply
        assert store.get(request(1).key) is None


def test_a_lone_surrogate_is_stored_as_its_escape(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put(request(), Reply("坏\ud83d"))
        assert store.get(request().key) == Reply("坏\\ud83d")


def test_the_first_reply_stays(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put(request(), Reply("A"))
        store.put(request(), Reply("B"))
        assert store.get(request().key) == Reply("A")


def test_a_replaced_reply_is_kept_aside(path: Path) -> None:
    with ReplyStore(path, run="one") as store:
        store.put(request(), Reply("A"))
        store.put(request(), Reply("B"), replace=True)
        store.put(request(1), Reply("C"), replace=True)
        assert (store.get(request().key), store.get(request(1).key)) == (Reply("B"), Reply("C"))
    assert [row[1] for row in rows(path, "superseded")] == [b'{"text":"A"}']


def test_a_reply_is_kept_with_its_provider_model_and_run(path: Path) -> None:
    with ReplyStore(path, run="my-run") as store:
        store.put(request(), Reply("A", model="m-2"))
    assert rows(path, "replies")[0][2:] == ("vllm", "m-2", "my-run")


def test_a_reply_is_on_disk_when_put_returns(path: Path) -> None:
    """A process that is killed at once after `put` has lost nothing."""
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from m3ke_async.request import ChatRequest, Reply\n"
        "from m3ke_async.store import ReplyStore\n"
        "store = ReplyStore(Path(sys.argv[1]))\n"
        "for n in range(20):\n"
        "    store.put(ChatRequest('vllm', 'http://h/v1', b'{\"n\":%d}' % n), Reply('A'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -signal.SIGKILL
    with ReplyStore(path) as store:
        assert all(store.get(request(n).key) == Reply("A") for n in range(20))


def test_another_process_sees_a_reply_at_once(path: Path) -> None:
    with ReplyStore(path) as one, ReplyStore(path) as other:
        one.put(request(), Reply("A"))
        assert other.get(request().key) == Reply("A")


# Failures


def test_a_failure_is_kept_and_is_no_reply(path: Path) -> None:
    failure = Failure("timeout", "no answer came in time", b"\xff\x00raw", 6)
    with ReplyStore(path) as store:
        assert store.get_failure(request().key) is None
        store.put_failure(request(), failure)
        assert store.get(request().key) is None
        assert store.get_failure(request().key) == failure


def test_the_last_failure_counts(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put_failure(request(), Failure("timeout", "one"))
        store.put_failure(request(), Failure("rate_limit", "two"))
        assert store.get_failure(request().key) == Failure("rate_limit", "two")


# What goes wrong with the file


def full(store: ReplyStore) -> None:
    """Let the file be as large as it may get."""
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")


@pytest.mark.parametrize("replace", [False, True])
def test_a_full_disk_is_an_error_and_the_store_goes_on_when_there_is_room(
    path: Path, *, replace: bool
) -> None:
    long = Reply("长" * 100_000)
    with ReplyStore(path) as store:
        store.put(request(), Reply("A"))
        full(store)
        with pytest.raises(StoreError, match="full"):
            store.put(request(), long, replace=True) if replace else store.put(request(1), long)
        assert store.get(request().key) == Reply("A")
        store._db.execute("PRAGMA max_page_count = 1000000")
        store.put(request(1), long, replace=replace)
        assert store.get(request(1).key) == long
        store.put_failure(request(2), Failure("timeout", "x"))


def test_a_replacement_that_fails_half_way_leaves_the_old_reply(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put(request(), Reply("A"))
        store._db.execute(
            "CREATE TEMP TRIGGER no BEFORE INSERT ON main.replies BEGIN SELECT RAISE(FAIL, 'no'); END"
        )
        with pytest.raises(StoreError, match="no"):
            store.put(request(), Reply("B"), replace=True)
        assert store.get(request().key) == Reply("A")
        store._db.execute("DROP TRIGGER no")
        store.put(request(), Reply("B"), replace=True)
        assert store.get(request().key) == Reply("B")
    assert len(rows(path, "superseded")) == 1


def test_a_failure_that_cannot_be_written_is_an_error(path: Path) -> None:
    with ReplyStore(path) as store:
        full(store)
        with pytest.raises(StoreError, match="cannot write to"):
            store.put_failure(request(), Failure("timeout", "x", b"x" * 100_000))


@pytest.mark.parametrize("content", [b"\x93\x01\xfe", b"{}" * 5000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_moved_aside_and_a_new_one_begun(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    warnings: list[str] = []
    with ReplyStore(path, warn=warnings.append) as store:
        store.put(request(), Reply("A"))
        assert store.get(request().key) == Reply("A")
    (aside,) = path.parent.glob("replies.sqlite.damaged-*")
    assert aside.read_bytes() == content
    assert len(warnings) == 1
    assert str(path) in warnings[0]
    assert aside.name in warnings[0]


def test_damage_inside_the_file_is_an_error_that_says_what_to_do(path: Path) -> None:
    with ReplyStore(path) as store:
        for number in range(200):
            store.put(request(number), Reply("字" * 100))
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with ReplyStore(path) as store, pytest.raises(StoreError, match="move the file away"):
        store.get(request().key)


def test_an_empty_file_is_a_new_store(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with ReplyStore(path, warn=pytest.fail) as store:
        store.put(request(), Reply("A"))


def test_a_file_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put(request(), Reply("A"))
        store._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(UsageError, match="newer m3ke-async"):
        ReplyStore(path)
    assert len(rows(path, "replies")) == 1


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="choose another by --results") as caught:
        ReplyStore(tmp_path / "file" / "replies.sqlite")
    assert "\n" not in str(caught.value)


def test_a_folder_in_the_stores_place_is_one_line(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(UsageError, match="cannot use the reply store"):
        ReplyStore(path)


# A store that can only be read


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that another user can look into, as pytest's own cannot be."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for inner in [folder, *folder.rglob("*")]:
        inner.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """For root, whom none bind, be somebody else for a moment."""
    if sys.platform == "win32":
        pytest.skip("Windows has no such permissions")
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def kept(shared_folder: Path) -> Path:
    path = shared_folder / "results" / "replies.sqlite"
    with ReplyStore(path) as store:
        store.put(request(), Reply("old"))
    path.chmod(0o444)
    return path


@pytest.fixture
def spare(kept: Path) -> Path:
    run = kept.parent / "run"
    run.mkdir()
    run.chmod(0o777)
    return run / "replies.sqlite"


def fill_spare(kept: Path, spare: Path) -> list[str]:
    """Ask once more what has a reply, ask something new, and fail once; returns the warnings."""
    warnings: list[str] = []
    with bound_by_permissions(), ReplyStore(kept, spare=spare, warn=warnings.append) as store:
        assert store.get(request(0).key) == Reply("old")
        store.put(request(0), Reply("new"), replace=True)
        store.put(request(1), Reply("B"))
        store.put_failure(request(2), Failure("timeout", "x"))
        assert store.get(request(0).key) == Reply("new")
        assert store.get(request(1).key) == Reply("B")
    return warnings


@pytest.mark.parametrize("folder_mode", [0o755, 0o777])
def test_new_replies_go_to_the_spare_file_when_the_store_is_read_only(
    kept: Path, spare: Path, folder_mode: int
) -> None:
    kept.parent.chmod(folder_mode)
    (warning,) = fill_spare(kept, spare)
    assert str(kept) in warning
    assert str(spare) in warning
    with bound_by_permissions(), ReplyStore(kept, spare=spare) as store:  # still read-only
        assert store.get(request(0).key) == Reply("new")
        assert store.get_failure(request(2).key) == Failure("timeout", "x")


def test_the_spare_file_comes_home_when_the_store_can_be_written_again(kept: Path, spare: Path) -> None:
    fill_spare(kept, spare)
    kept.chmod(0o644)
    with ReplyStore(kept, spare=spare, warn=pytest.fail) as store:
        assert store.get(request(0).key) == Reply("new")  # as the run that asked for it saw it
        assert store.get(request(1).key) == Reply("B")
        assert store.get_failure(request(2).key) == Failure("timeout", "x")
    assert not list(spare.parent.glob("replies.sqlite*"))
    assert [row[1] for row in rows(kept, "superseded")] == [b'{"text":"old"}']  # nothing paid is lost


@pytest.mark.parametrize("folder_mode", [0o755, 0o555, 0o777])
@pytest.mark.parametrize("with_spare", [False, True])
def test_without_a_place_to_write_a_read_only_store_is_read(
    kept: Path, folder_mode: int, *, with_spare: bool
) -> None:
    spare = kept.parent / "none" / "replies.sqlite" if with_spare else None
    kept.parent.chmod(folder_mode)
    with bound_by_permissions(), ReplyStore(kept, spare=spare) as store:
        assert store.get(request(0).key) == Reply("old")
        assert store.get_failure(request(0).key) is None
        with pytest.raises(StoreError, match="cannot write to"):
            store.put(request(1), Reply("B"))


# Many processes (C18)


def put_many(path: Path, worker: int, start: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    with ReplyStore(path, run=f"run-{worker}") as store:
        for number in range(worker * 50, worker * 50 + 100):  # half in common with the next one
            store.put(request(number), Reply(str(worker)))
            assert store.get(request(number).key) is not None


def test_four_processes_begin_and_fill_one_file_together(path: Path) -> None:
    path.parent.mkdir()
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(4)
    workers = [context.Process(target=put_many, args=(path, worker, start)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    with ReplyStore(path) as store:
        found = [store.get(request(number).key) for number in range(250)]
    assert None not in found
    assert {reply.text for reply in found[:50] if reply} == {"0"}


def test_processes_that_lock_each_other_out_at_the_start_try_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not wait itself when two connections switch a new file to WAL."""
    locked = sqlite3.OperationalError("database is locked")
    locked.sqlite_errorname = "SQLITE_BUSY"
    trouble, pauses = [locked, locked], list[float]()
    set_up = store_module._set_up

    def set_up_later(database: sqlite3.Connection, file: Path) -> None:
        if trouble:
            raise trouble.pop()
        set_up(database, file)

    monkeypatch.setattr(store_module, "_set_up", set_up_later)
    monkeypatch.setattr(time, "sleep", pauses.append)
    with ReplyStore(path) as store:
        store.put(request(), Reply("A"))
    assert len(pauses) == 2


def test_a_file_that_stays_locked_is_one_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ReplyStore(path):
        pass
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("m3ke_async.store.BUSY_TIMEOUT", 0.05)
    with pytest.raises(UsageError, match="locked; choose another folder by --results"):
        ReplyStore(path)
    other.close()
