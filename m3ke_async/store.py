"""ReplyStore: every reply that was paid for, in one SQLite file that all runs share.

A reply is committed before anybody counts it. WAL with `synchronous=NORMAL` survives
SIGKILL at any moment; a power cut may cost the last moments, never the file. Many
processes may use one file: transactions are single statements, and a writer waits for
another. WAL needs a local disk: it does not work on network file systems.

Failures are kept beside the replies, with the raw body, and are never replies.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import orjson

from m3ke_async.errors import M3keError, UsageError
from m3ke_async.request import ChatRequest, Reply, Usage, dump_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: `PRAGMA user_version` of the file; raised when the tables change.
SCHEMA_VERSION = 1

#: Seconds that a writer waits for another process, and between two tries to open the file.
BUSY_TIMEOUT, _BUSY_PAUSE = 30.0, 0.05

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

_GET = "SELECT reply FROM replies WHERE key = ?"
_GET_FAILURE = "SELECT kind, message, body, attempts FROM failures WHERE key = ?"
_PUT = "INSERT OR IGNORE INTO replies (key, reply, provider, model, run) VALUES (?, ?, ?, ?, ?)"
_KEEP_OLD = "INSERT INTO superseded SELECT key, reply, provider, model, run FROM replies WHERE key = ?"
_FAIL = """
INSERT OR REPLACE INTO failures (key, kind, message, body, attempts, failed_at, run)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""


# What the spare file holds goes first: the run that wrote it has counted it.
_ABSORB = """
BEGIN IMMEDIATE;
INSERT INTO superseded SELECT * FROM spare.superseded;
INSERT INTO superseded
    SELECT own.key, own.reply, own.provider, own.model, own.run
    FROM replies AS own JOIN spare.replies AS other ON own.key = other.key AND own.reply != other.reply;
INSERT OR REPLACE INTO replies SELECT * FROM spare.replies;
INSERT OR REPLACE INTO failures SELECT * FROM spare.failures;
COMMIT;
"""


class StoreError(M3keError):
    """The file did not do: disk full, no permission, damaged."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a question has no reply.

    Attributes:
        kind: the decision's short name, such as `timeout`.
        message: one line for people.
        body: the last raw body, cut to 16 KiB; empty where none came.
        attempts: how often it was sent.
    """

    kind: str
    message: str
    body: bytes = b""
    attempts: int = 0


class ReplyStore:
    """Replies by request key.

    Args:
        path: the SQLite file; it and its folder are made where they are missing.
        spare: a file to write to where `path` turns out to be read-only; it is
            absorbed and removed when `path` can be written again. Without it, or where
            it cannot be written either, a read-only store can be read.
        run: name of the run that writes, kept with each reply.
        warn: is told, in one line, of a file that had to be moved aside or is read-only.

    Raises:
        UsageError: the folder cannot be written, or a newer version wrote the file.
    """

    def __init__(
        self,
        path: Path,
        *,
        spare: Path | None = None,
        run: str = "",
        warn: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.path, self._run = path, run
        self._read_only: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot make the folder {path.parent}: {error.strerror}; choose another by --results"
            ) from None
        try:
            self._db = _open(path)
        except sqlite3.DatabaseError as error:
            self._db = self._recover(error, spare, warn)
        else:
            if spare is not None and spare.exists():
                self._absorb(spare)

    def _recover(
        self, error: sqlite3.DatabaseError, spare: Path | None, warn: Callable[[str], None]
    ) -> sqlite3.Connection:
        """What can still be done with a file that does not open as a store."""
        code = getattr(error, "sqlite_errorname", "")
        if code.startswith("SQLITE_READONLY") or (code == "SQLITE_CANTOPEN" and self.path.is_file()):
            reader = _open_to_read(self.path)
            try:
                database = _open(spare) if spare is not None else reader
            except sqlite3.DatabaseError:
                return reader
            if spare is not None:
                self._read_only = reader
                warn(f"the reply store {self.path} is read-only; it is read, and new replies go to {spare}")
            return database
        if code in {"SQLITE_NOTADB", "SQLITE_CORRUPT"}:
            aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
            self.path.rename(aside)
            for suffix in ("-wal", "-shm"):  # they belong to the damaged file, and may hold replies
                with suppress(FileNotFoundError):
                    self.path.with_name(self.path.name + suffix).rename(f"{aside}{suffix}")
            warn(
                f"the reply store {self.path} is damaged ({error}); "
                f"it was moved to {aside.name} and a new one begun"
            )
            return _open(self.path)
        raise UsageError(
            f"cannot use the reply store {self.path}: {error}; choose another folder by --results"
        ) from None

    def get(self, key: bytes) -> Reply | None:
        """The stored reply to the request with this key.

        Raises:
            StoreError: the file cannot be read.
        """
        row = self._find(_GET, key)
        return _load(row[0]) if row else None

    def put(self, request: ChatRequest, reply: Reply, *, replace: bool = False) -> None:
        """Keep a reply; it is durable when this returns.

        The first reply to a request stays the valid one, unless `replace`: then the
        earlier one moves to the table `superseded`.

        Raises:
            StoreError: it could not be written; the caller still holds the reply.
        """
        row = (request.key, _dump(reply), request.provider, reply.model, self._run)
        if not replace:
            self._write(_PUT, row)
            return
        self._write("BEGIN IMMEDIATE", ())
        try:
            self._write(_KEEP_OLD, (request.key,))
            self._write("DELETE FROM replies WHERE key = ?", (request.key,))
            self._write(_PUT, row)
            self._write("COMMIT", ())
        except StoreError:
            self._db.rollback()
            raise

    def put_failure(self, request: ChatRequest, failure: Failure) -> None:
        """Keep why a request has no reply.

        Raises:
            StoreError: it could not be written.
        """
        row = (
            request.key,
            failure.kind,
            failure.message,
            failure.body,
            failure.attempts,
            time.time(),
            self._run,
        )
        self._write(_FAIL, row)

    def get_failure(self, key: bytes) -> Failure | None:
        """The last failure of the request with this key.

        Raises:
            StoreError: the file cannot be read.
        """
        row = self._find(_GET_FAILURE, key)
        return Failure(*row) if row else None

    def _find(self, statement: str, key: bytes) -> Any:
        """The row of a key, from the spare file before the read-only one."""
        try:
            row = self._db.execute(statement, (key,)).fetchone()
            if row is None and self._read_only is not None:
                row = self._read_only.execute(statement, (key,)).fetchone()
        except sqlite3.Error as error:
            raise StoreError(
                f"cannot read {self.path}: {error}; move the file away to begin a new one"
            ) from error
        return row

    def _write(self, statement: str, row: tuple[Any, ...]) -> None:
        try:
            self._db.execute(statement, row)
        except sqlite3.Error as error:
            raise StoreError(f"cannot write to {self.path}: {error}") from error

    def _absorb(self, spare: Path) -> None:
        """Take over what was written to the spare file while this one was read-only."""
        try:
            self._db.execute("ATTACH ? AS spare", (str(spare),))
            self._db.executescript(_ABSORB)
            self._db.execute("DETACH spare")
        except sqlite3.Error as error:
            self._db.close()
            raise StoreError(f"cannot take over {spare} into {self.path}: {error}") from error
        spare.unlink()

    def close(self) -> None:
        """Close the file; what was put is in it already."""
        self._db.close()
        if self._read_only is not None:
            self._read_only.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _open(path: Path) -> sqlite3.Connection:
    # Processes that begin a file together can lock each other out; SQLite then does not wait itself.
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        # autocommit: every statement is a transaction of its own
        database = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None)
        try:
            _set_up(database, path)
        except BaseException as error:
            database.close()
            busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(_BUSY_PAUSE)
        else:
            return database


def _set_up(database: sqlite3.Connection, path: Path) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise UsageError(
            f"the reply store {path} was written by a newer m3ke-async; "
            "upgrade, or choose another folder by --results"
        )
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    if version < SCHEMA_VERSION:
        database.executescript(_SCHEMA)
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    # A read-only file opens without complaint, and even BEGIN IMMEDIATE makes do with reading it:
    # better to know before anything is paid.
    database.execute("BEGIN IMMEDIATE")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.execute("ROLLBACK")


def _open_to_read(path: Path) -> sqlite3.Connection:
    """The store for reading, also in a folder that cannot hold SQLite's side files."""
    uri = path.resolve().as_uri()
    for mode in ("mode=ro", "immutable=1"):
        reader = sqlite3.connect(f"{uri}?{mode}", uri=True)
        try:
            reader.execute(_GET, (b"",))
        except sqlite3.Error:
            reader.close()
        else:
            return reader
    raise UsageError(f"the reply store {path} cannot be read; choose another folder by --results")


_REPLY_DEFAULTS = {
    field.name: field.default for field in fields(Reply) if field.name not in {"text", "usage"}
}


_USAGE = tuple(field.name for field in fields(Usage))


def _dump(reply: Reply) -> bytes:
    row: dict[str, Any] = {"text": reply.text}
    for name, default in _REPLY_DEFAULTS.items():
        value = getattr(reply, name)
        if value != default:
            row[name] = value
    usage = {name: value for name in _USAGE if (value := getattr(reply.usage, name)) is not None}
    if usage:
        row["usage"] = usage
    return dump_json(row)


def _load(raw: bytes) -> Reply:
    row = orjson.loads(raw)
    usage = row.pop("usage", None)
    return Reply(**row, usage=Usage(**usage) if usage else Usage())
