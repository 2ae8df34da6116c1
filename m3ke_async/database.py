"""The SQLite file of the store: its tables, and how it is opened, checked and filled."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.reply_row import DamageError, Row, load_reply, seal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

#: `PRAGMA user_version` of the file; raised when the tables or their rows change.
SCHEMA_VERSION = 2

#: Seconds that a writer waits for another process, and between two tries to open the file.
BUSY_TIMEOUT, _BUSY_PAUSE = 30.0, 0.05

#: Files of up to so many bytes are checked when they are opened, at 1 GB a second; damage in
#: larger ones shows where it is met.
_CHECKED_BYTES = 256 * 2**20

#: Pages of SQLite's log, of 4 KiB each, before they are moved into the file: the disk is waited for then,
#: and everything else with it; four times as many as by default take a third off the time of a commit.
_LOG_PAGES = 4000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    key BLOB PRIMARY KEY, reply BLOB NOT NULL, provider TEXT NOT NULL, model TEXT, run TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS superseded (
    key BLOB NOT NULL, reply BLOB NOT NULL, provider TEXT NOT NULL, model TEXT, run TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS failures (
    key BLOB PRIMARY KEY, kind TEXT NOT NULL, message TEXT NOT NULL, body BLOB NOT NULL,
    attempts INTEGER NOT NULL, failed_at REAL NOT NULL, run TEXT NOT NULL
) WITHOUT ROWID;
"""
_TABLES = {"replies", "superseded", "failures"}

#: What SQLite puts beside its file, by suffix.
SIDE_FILES = ("-wal", "-shm")

GET = "SELECT reply FROM replies WHERE key = ?"
PUT = "INSERT OR IGNORE INTO replies (key, reply, provider, model, run) VALUES (?, ?, ?, ?, ?)"


def is_damage(error: BaseException | None) -> bool:
    """Whether an error says that the file's content is not what was written."""
    name = getattr(error, "sqlite_errorname", "")
    return isinstance(error, DamageError) or name == "SQLITE_NOTADB" or name.startswith("SQLITE_CORRUPT")


def open_database(path: Path) -> sqlite3.Connection:
    """The file for reading and writing; made where it is not there.

    Raises:
        sqlite3.DatabaseError: it cannot be written, or is no SQLite file.
        DamageError: it is not whole.
        UsageError: a newer version wrote it.
    """
    if _lost_its_pages(path):
        raise DamageError("its pages are gone and its log is not")
    # Processes that begin a file together can lock each other out; SQLite then does not wait itself.
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        # autocommit: every statement is a transaction of its own
        database = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None)
        try:
            _set_up(database, path)
            _check(database, path)
        except BaseException as error:
            database.close()
            busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(_BUSY_PAUSE)
        else:
            return database


def _lost_its_pages(path: Path) -> bool:
    """Whether there is a log without its file: SQLite would begin anew and delete what is in it."""
    try:
        return not _size(path) and _size(path.with_name(f"{path.name}-wal")) > 0
    except OSError:
        return False


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def remove_side_files(path: Path) -> None:
    """Remove what belongs to a file that is not there any more."""
    for suffix in SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _set_up(database: sqlite3.Connection, path: Path) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise UsageError(
            f"the reply store {path} was written by a newer m3ke-async; "
            "upgrade, or choose another folder by --results"
        )
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    if version < SCHEMA_VERSION:
        database.executescript(_SCHEMA)
    # A read-only file opens without complaint, and even BEGIN IMMEDIATE makes do with reading it:
    # better to know before anything is paid.
    database.execute("BEGIN IMMEDIATE")
    if database.execute("PRAGMA user_version").fetchone()[0] == 1:  # replies had no checksums
        database.create_function("seal", 2, seal, deterministic=True)
        database.execute("UPDATE replies SET reply = seal(key, reply)")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.execute("COMMIT" if version < SCHEMA_VERSION else "ROLLBACK")


def _check(database: sqlite3.Connection, path: Path) -> None:
    """See whether the tables are there and their pages are whole.

    Raises:
        DamageError: they are not.
    """
    found = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if not found >= _TABLES:
        raise DamageError("its tables are not there")
    if path.stat().st_size <= _CHECKED_BYTES:
        (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise DamageError(" ".join(verdict.split()))


def open_to_read(path: Path) -> sqlite3.Connection:
    """The store for reading, also in a folder that cannot hold SQLite's side files.

    Raises:
        UsageError: it cannot be read.
    """
    uri = path.resolve().as_uri()
    for mode in ("mode=ro", "immutable=1"):
        reader = sqlite3.connect(f"{uri}?{mode}", uri=True)
        try:
            reader.execute(GET, (b"",))
        except sqlite3.Error:
            reader.close()
        else:
            return reader
    raise UsageError(f"the reply store {path} cannot be read; choose another folder by --results")


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        database.rollback()
        raise


def fill(database: sqlite3.Connection, rows: Iterable[Row]) -> int:
    """Add replies in one transaction; of two to one request the one that came later stays.

    Returns:
        How many requests have a reply now that had none.
    """
    with _transaction(database):
        return sum(_add(database, row) for row in rows)


def _add(database: sqlite3.Connection, row: Row) -> bool:
    if database.execute(PUT, row).rowcount:
        return True
    key, reply = row[:2]
    known = database.execute(GET, (key,)).fetchone()[0]
    if load_reply(key, reply).received_at > load_reply(key, known).received_at:
        database.execute("DELETE FROM replies WHERE key = ?", (key,))
        database.execute(PUT, row)
    return False


def copy_all(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy what is in a file, as far as it can be read, to another one that may hold some of it."""
    fill(target, _replies(source))
    for table, columns in (("superseded", 5), ("failures", 7)):
        marks = ", ".join("?" * columns)
        with suppress(sqlite3.DatabaseError), _transaction(target):
            target.executemany(
                f"INSERT OR REPLACE INTO {table} VALUES ({marks})",  # noqa: S608 - two fixed names
                source.execute(f"SELECT * FROM {table}"),  # noqa: S608 - as above
            )


def _replies(source: sqlite3.Connection) -> Iterator[Row]:
    """The replies of a file; where a part cannot be read, those before and after it."""
    for order in ("ASC", "DESC"):
        try:
            yield from source.execute(f"SELECT * FROM replies ORDER BY key {order}")  # noqa: S608 - as above
        except sqlite3.DatabaseError:
            continue
        return
