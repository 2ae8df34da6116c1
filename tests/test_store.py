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
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async import database as database_module
from m3ke_async.database import SCHEMA_VERSION
from m3ke_async.errors import UsageError
from m3ke_async.reply_row import dump_reply, load_reply
from m3ke_async.request import ChatRequest, Reply, Usage
from m3ke_async.store import Failure, Kept, ReplyStore, StoreError
from tests.command import ROOT

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


def rows(path: Path, table: str) -> list[tuple[Any, ...]]:
    database = sqlite3.connect(path)
    try:
        return database.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
    finally:
        database.close()


def superseded(path: Path) -> list[str]:
    """Texts of the replies that others took the place of."""
    return [load_reply(*row[:2]).text for row in rows(path, "superseded")]


# Replies


def test_a_power_cut_may_cost_the_last_moments_and_never_the_file(path: Path) -> None:
    with ReplyStore(path) as store:
        pragmas = [
            store._file.database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        ]
    assert pragmas == ["wal", 1]  # NORMAL: the log is synchronised before its pages go into the file


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
    assert superseded(path) == ["A"]


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


def test_another_store_that_follows_ends_with_the_same(path: Path, tmp_path: Path) -> None:
    kept: list[Kept] = []

    class Follower:
        def add(self, one: Kept) -> None:
            kept.append(one)

    with ReplyStore(path) as store, ReplyStore(tmp_path / "other.sqlite") as other:
        store.follower = Follower()
        store.put(request(1), Reply("A"))
        store.put_failure(request(2), Failure("timeout", "late"))
        store.put(request(2), Reply("B"))
        store.put(request(1), Reply("C"), replace=True)
        store.put(request(1), Reply("D"))
        store.put_failure(request(3), Failure("reset", "gone"))
        store.put(request(1), Reply("E"), replace=True)
        other.put_all(kept)
    for table in ("replies", "superseded", "failures"):
        assert rows(other.path, table) == rows(path, table)
    assert superseded(other.path) == ["A", "C"]


def full(store: ReplyStore) -> None:
    """Let the file be as large as it may get."""
    pages = store._file.database.execute("PRAGMA page_count").fetchone()[0]
    store._file.database.execute(f"PRAGMA max_page_count = {pages}")


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
        store._file.database.execute("PRAGMA max_page_count = 1000000")
        store.put(request(1), long, replace=replace)
        assert store.get(request(1).key) == long
        store.put_failure(request(2), Failure("timeout", "x"))


def test_a_replacement_that_fails_half_way_leaves_the_old_reply(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put(request(), Reply("A"))
        store._file.database.execute(
            "CREATE TEMP TRIGGER no BEFORE INSERT ON main.replies BEGIN SELECT RAISE(FAIL, 'no'); END"
        )
        with pytest.raises(StoreError, match="no"):
            store.put(request(), Reply("B"), replace=True)
        assert store.get(request().key) == Reply("A")
        store._file.database.execute("DROP TRIGGER no")
        store.put(request(), Reply("B"), replace=True)
        assert store.get(request().key) == Reply("B")
    assert len(rows(path, "superseded")) == 1


def test_a_failure_that_cannot_be_written_is_an_error(path: Path) -> None:
    with ReplyStore(path) as store:
        full(store)
        with pytest.raises(StoreError, match="cannot write to"):
            store.put_failure(request(), Failure("timeout", "x", b"x" * 100_000))


# Damage: test_carve.py has the kinds of it


MANY = 300


def filled(path: Path) -> None:
    """A store of many replies, a few of them longer than a page, and one that was replaced."""
    with ReplyStore(path) as store:
        store.put(request(), Reply("old", received_at=1.0))
        for number in range(MANY):
            store.put(request(number), answer(number), replace=number == 0)
        store.put_failure(request(MANY), Failure("timeout", "x"))


def answer(number: int) -> Reply:
    return Reply(f"第{number}题：B。" + "长" * (number % 50 * 60), received_at=2.0 + number)


def overwrite(path: Path, start: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * length)


def found_again(store: ReplyStore) -> int:
    """How many replies are there; those that are, are as they were."""
    found = [store.get(request(number).key) for number in range(MANY)]
    assert all(reply in (None, answer(number)) for number, reply in enumerate(found))
    return len(found) - found.count(None)


@pytest.mark.parametrize(
    ("start", "length", "least"),
    [(0, 100, MANY), (4096, 4096, MANY - 60), (4096 * 20 + 100, 1, MANY - 1), (4096 * 20, 4096, MANY - 60)],
    ids=["the header", "the root of the tree", "a byte", "a page"],
)
def test_a_store_with_damaged_pages_is_mended_when_it_is_opened(
    path: Path, start: int, length: int, least: int
) -> None:
    filled(path)
    whole = path.stat().st_size
    overwrite(path, start, length)
    warnings: list[str] = []
    with ReplyStore(path, warn=warnings.append) as store:
        found = found_again(store)
        assert found >= least
    if start == 4096 * 20 + 100 and not warnings:
        return  # the byte was in no row
    (aside,) = (file for file in path.parent.glob("replies.sqlite.damaged-*") if "-wal" not in file.name)
    assert aside.stat().st_size == whole
    (warning,) = warnings
    assert f"the reply store {path} is damaged (" in warning
    assert f"it was moved to {aside.name}; of its replies {found:,} were rescued" in warning
    with ReplyStore(path, warn=pytest.fail) as store:
        assert found_again(store) == found
        store.put(request(MANY), Reply("A"))


def test_a_truncated_store_gives_what_is_left(path: Path) -> None:
    filled(path)
    os.truncate(path, path.stat().st_size // 2)
    warnings: list[str] = []
    with ReplyStore(path, warn=warnings.append) as store:
        assert 50 < found_again(store) < MANY
    assert len(warnings) == 1


def test_a_reply_whose_letter_has_changed_on_the_disk_is_no_reply(path: Path) -> None:
    """SQLite itself does not see it."""
    filled(path)
    content = path.read_bytes()
    path.write_bytes(content.replace("第7题：B".encode(), "第7题：C".encode()))
    assert path.read_bytes() != content
    warnings: list[str] = []
    with ReplyStore(path, warn=warnings.append) as store:
        assert store.get(request(7).key) is None
        assert found_again(store) == MANY - 1
    (warning,) = warnings
    assert "a reply has changed on the disk" in warning


def test_what_a_damaged_store_has_no_more_is_taken_from_its_copies(path: Path) -> None:
    filled(path)
    path.write_bytes(path.read_bytes().replace("第7题：B".encode(), "第7题：C".encode()))
    copy = (request(7).key, dump_reply(request(7).key, Reply("copy")), "vllm", None, "run")
    other = (request(8).key, dump_reply(request(8).key, Reply("other")), "vllm", None, "run")
    warnings: list[str] = []
    with ReplyStore(path, warn=warnings.append, copies=lambda: [copy, other]) as store:
        assert store.get(request(7).key) == Reply("copy")
        assert store.get(request(8).key) == answer(8)  # the store's own goes first
    assert f"{MANY - 1:,} were rescued and 1 taken from the answers.jsonl of runs" in warnings[0]


def test_damage_that_comes_while_the_store_is_in_use_is_mended_and_costs_no_new_reply(path: Path) -> None:
    warnings: list[str] = []
    with ReplyStore(path, warn=warnings.append) as store:
        filled(path)
        store._file.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        overwrite(path, 4096, path.stat().st_size - 4096)
        store.put(request(MANY), Reply("new"))
        assert store.get(request(MANY).key) == Reply("new")
    assert len(warnings) == 1
    with ReplyStore(path, warn=pytest.fail) as store:
        assert store.get(request(MANY).key) == Reply("new")


@pytest.mark.parametrize("content", [None, b""])
def test_a_log_whose_file_is_gone_still_gives_its_replies(path: Path, content: bytes | None) -> None:
    """SQLite would delete it."""
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.test_store import filled\n"
        "import m3ke_async.store\n"
        "m3ke_async.store.ReplyStore.close = lambda store: None\n"
        "filled(Path(sys.argv[1]))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False, cwd=ROOT)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with ReplyStore(path) as store:
        assert found_again(store) > MANY // 4


def test_a_store_of_the_first_version_gets_checksums(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put(request(), Reply("A"))
        store._file.database.execute("UPDATE replies SET reply = ?", (b'{"text":"A"}',))
        store._file.database.execute("PRAGMA user_version = 1")
    with ReplyStore(path, warn=pytest.fail) as store:
        assert store.get(request().key) == Reply("A")


# A file that is taken away while it is in use


def test_a_removed_store_is_made_again_with_all_that_was_in_it(path: Path) -> None:
    warnings: list[str] = []
    filled(path)
    with ReplyStore(path, warn=warnings.append) as store:
        shutil.rmtree(path.parent)
        store.put(request(MANY), Reply("new"))
        with ReplyStore(path, warn=pytest.fail) as other:
            assert other.get(request(MANY).key) == Reply("new")
        store.put(request(MANY + 1), Reply("next"))
    (warning,) = warnings
    assert f"{path} was moved or removed while it was in use" in warning
    with ReplyStore(path, warn=pytest.fail) as store:
        assert found_again(store) == MANY
        assert store.get(request(MANY).key) == Reply("new")
        assert store.get(request(MANY + 1).key) == Reply("next")
    assert superseded(path) == ["old"]


def test_a_store_that_is_removed_after_the_last_reply_is_made_again_when_it_is_closed(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put(request(), Reply("A"))
        shutil.rmtree(path.parent)
    with ReplyStore(path) as store:
        assert store.get(request().key) == Reply("A")


def test_a_removed_store_that_was_only_read_stays_away(path: Path) -> None:
    filled(path)
    with ReplyStore(path) as store:
        found_again(store)
        shutil.rmtree(path.parent)
    assert not path.parent.exists()


def test_the_file_alone_may_be_removed_while_two_use_it(path: Path) -> None:
    with ReplyStore(path) as one, ReplyStore(path) as two:
        one.put(request(0), Reply("A"))
        path.unlink()
        two.put(request(1), Reply("B"))
        one.put(request(2), Reply("C"))
        two.put(request(3), Reply("D"))
    with ReplyStore(path, warn=pytest.fail) as store:
        assert [store.get(request(number).key) for number in range(4)] == [Reply(text) for text in "ABCD"]


def test_a_moved_folder_keeps_what_it_had_and_the_run_goes_on_where_it_was(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put(request(0), Reply("A"))
        path.parent.rename(path.parent.with_name("moved"))
        store.put(request(1), Reply("B"))
    for place, wanted in ((path, "AB"), (path.parent.with_name("moved") / path.name, "A")):
        with ReplyStore(place, warn=pytest.fail) as store:
            for number, text in enumerate(wanted):
                assert store.get(request(number).key) == Reply(text)


def test_where_it_cannot_be_made_again_a_spare_file_takes_all(path: Path, tmp_path: Path) -> None:
    spare = tmp_path / "spare" / "replies.sqlite"
    with ReplyStore(path, spares=(spare,)) as store:
        store.put(request(0), Reply("A"))
        shutil.rmtree(path.parent)
        path.parent.write_text("a file in the folder's place")
        with pytest.raises(StoreError, match="which the next command takes over") as caught:
            store.put(request(1), Reply("B"))
        assert caught.value.kept
        assert str(spare) in str(caught.value)
        assert [store.get(request(number).key) for number in (0, 1)] == [Reply("A"), Reply("B")]
    path.parent.unlink()
    with ReplyStore(path, spares=(spare,)) as store:
        assert [store.get(request(number).key) for number in (0, 1)] == [Reply("A"), Reply("B")]


def test_what_is_lost_is_said_when_nothing_takes_it(path: Path) -> None:
    warnings: list[str] = []
    with ReplyStore(path, warn=warnings.append) as store:
        store.put(request(0), Reply("A"))
        shutil.rmtree(path.parent)
        path.parent.write_text("a file in the folder's place")
        with pytest.raises(StoreError, match="cannot write to") as caught:
            store.put(request(1), Reply("B"))
        assert not caught.value.kept
        assert store.get(request(0).key) == Reply("A")
    (warning,) = warnings
    assert "its replies are lost unless it was moved" in warning


# A file that does not take more


def test_what_the_store_does_not_take_is_kept_in_the_first_spare_file_that_does(
    path: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    spares = (tmp_path / "file" / "replies.sqlite", tmp_path / "spare" / "replies.sqlite")
    long = Reply("长" * 100_000)
    with ReplyStore(path, spares=spares) as store:
        store.put(request(0), Reply("A"))
        full(store)
        with pytest.raises(StoreError, match="full; it is kept in") as caught:
            store.put(request(1), long)
        assert caught.value.kept
        assert str(spares[1]) in str(caught.value)
        store.put(request(2), Reply("C"))
        store.put_failure(request(3), Failure("timeout", "x"))
        found = [store.get(request(number).key) for number in range(3)]
        assert found == [Reply("A"), long, Reply("C")]
    with ReplyStore(path, spares=spares) as store:
        assert [store.get(request(number).key) for number in range(3)] == found
        assert store.get_failure(request(3).key) == Failure("timeout", "x")
    assert not spares[1].exists()


@pytest.mark.parametrize("content", [b"", b"\xa5" * 9000])
def test_a_spare_file_that_is_not_whole_stops_nobody(path: Path, tmp_path: Path, content: bytes) -> None:
    spare = tmp_path / "spare.sqlite"
    spare.write_bytes(content)
    with ReplyStore(path, spares=(spare,)) as store:
        store.put(request(), Reply("A"))
    assert not spare.exists()


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


def test_an_empty_file_is_a_new_store(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with ReplyStore(path, warn=pytest.fail) as store:
        store.put(request(), Reply("A"))


def test_a_file_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    with ReplyStore(path) as store:
        store.put(request(), Reply("A"))
        store._file.database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
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
    with bound_by_permissions(), ReplyStore(kept, spares=(spare,), warn=warnings.append) as store:
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
    with bound_by_permissions(), ReplyStore(kept, spares=(spare,)) as store:  # still read-only
        assert store.get(request(0).key) == Reply("new")
        assert store.get_failure(request(2).key) == Failure("timeout", "x")


def test_the_spare_file_comes_home_when_the_store_can_be_written_again(kept: Path, spare: Path) -> None:
    fill_spare(kept, spare)
    kept.chmod(0o644)
    with ReplyStore(kept, spares=(spare,), warn=pytest.fail) as store:
        assert store.get(request(0).key) == Reply("new")  # as the run that asked for it saw it
        assert store.get(request(1).key) == Reply("B")
        assert store.get_failure(request(2).key) == Failure("timeout", "x")
    assert not list(spare.parent.glob("replies.sqlite*"))
    assert superseded(kept) == ["old"]  # nothing paid is lost


@pytest.mark.parametrize("folder_mode", [0o755, 0o555, 0o777])
@pytest.mark.parametrize("with_spare", [False, True])
def test_without_a_place_to_write_a_read_only_store_is_read(
    kept: Path, folder_mode: int, *, with_spare: bool
) -> None:
    spares = (kept.parent / "none" / "replies.sqlite",) if with_spare else ()
    kept.parent.chmod(folder_mode)
    with bound_by_permissions(), ReplyStore(kept, spares=spares) as store:
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
    set_up = database_module._set_up

    def set_up_later(database: sqlite3.Connection, file: Path) -> None:
        if trouble:
            raise trouble.pop()
        set_up(database, file)

    monkeypatch.setattr(database_module, "_set_up", set_up_later)
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
    monkeypatch.setattr("m3ke_async.database.BUSY_TIMEOUT", 0.05)
    with pytest.raises(UsageError, match="locked; choose another folder by --results"):
        ReplyStore(path)
    other.close()
