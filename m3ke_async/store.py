"""ReplyStore: every reply that was paid for, in one SQLite file that all runs share.

A reply is committed before anybody counts it. WAL with `synchronous=NORMAL` survives
SIGKILL at any moment; a power cut may cost the last moments, never the file. Many
processes may use one file: transactions are single statements, and a writer waits for
another. WAL needs a local disk: it does not work on network file systems.

What the file does not take goes to a spare one; a damaged file is moved aside and mended,
one that was taken away is made again. Failures are kept beside the replies, with the raw
body, and are never replies.
"""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from m3ke_async.carve import carve
from m3ke_async.claims import Claims
from m3ke_async.database import (
    GET,
    PUT,
    copy_all,
    fill,
    is_damage,
    open_database,
    open_to_read,
    remove_side_files,
)
from m3ke_async.errors import M3keError, UsageError
from m3ke_async.mend import finish_mending, mend
from m3ke_async.reply_row import DamageError, dump_reply, load_reply
from m3ke_async.scrub import scrub_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from m3ke_async.reply_row import Row
    from m3ke_async.request import ChatRequest, Reply, RequestKey

T = TypeVar("T")

#: Bytes of a raw body that are kept with a failure.
_KEPT_BODY = 16 * 1024

_GET_FAILURE = "SELECT kind, message, body, attempts FROM failures WHERE key = ?"
_KEEP_OLD = """
INSERT INTO superseded
SELECT key, reply, provider, model, run FROM replies WHERE key = ?1 AND reply != ?2
"""
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
    """The file did not do: disk full, no permission, damaged.

    Attributes:
        kept: whether what was to be written is durable all the same, in a spare file.
    """

    def __init__(self, message: str, *, kept: bool = False) -> None:
        super().__init__(message)
        self.kept = kept


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

    @classmethod
    def kept(cls, kind: str, message: str, body: bytes, attempts: int, secrets: tuple[str, ...]) -> Failure:
        """A failure whose body is cut and holds no secrets."""
        text = scrub_all(body[:_KEPT_BODY].decode("utf-8", "surrogateescape"), secrets)
        return cls(kind, message, text.encode("utf-8", "surrogateescape"), attempts)


class ReplyStore:
    """Replies by request key.

    Args:
        path: the SQLite file; it and its folder are made where they are missing.
        spares: files to write to where `path` cannot be written, the first that does;
            they are absorbed and removed when `path` can be written again. Without
            them, a read-only store can be read.
        run: name of the run that writes, kept with each reply.
        warn: is told, in one line, of a file that was mended, made again or is read-only.
        copies: replies that are kept elsewhere, for a damaged file that has them no more.

    Attributes:
        path: the SQLite file.
        claims: on requests that are on their way.

    Raises:
        UsageError: the folder cannot be written, or a newer version wrote the file.
    """

    def __init__(
        self,
        path: Path,
        *,
        spares: tuple[Path, ...] = (),
        run: str = "",
        warn: Callable[[str], None] = lambda line: None,
        copies: Callable[[], Iterable[Row]] = lambda: (),
    ) -> None:
        self.path, self._spares, self._run, self._warn, self._copies = path, spares, run, warn, copies
        self._others: list[sqlite3.Connection] = []  # are read after the one that is written
        self._wrote = self._told = False
        self.claims = Claims(path.with_name(f".{path.name}.claims"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            finish_mending(path)
        except OSError as error:
            raise UsageError(
                f"cannot make the folder {path.parent}: {error.strerror}; choose another by --results"
            ) from None
        self._at, self._file = path, _identity(path)
        try:
            self._use(path)
        except (sqlite3.DatabaseError, DamageError) as error:
            self._recover(error)
        if self._at == path:
            for spare in spares:
                if spare.exists():
                    self._absorb(spare)

    def _use(self, path: Path) -> None:
        """Read and write this file from now on."""
        self._db = open_database(path)
        self._at, self._file = path, _identity(path)

    def _recover(self, error: sqlite3.DatabaseError | DamageError) -> None:
        """Do what can still be done with a file that does not open as a store."""
        code = getattr(error, "sqlite_errorname", "")
        if code.startswith("SQLITE_READONLY") or (code == "SQLITE_CANTOPEN" and self.path.is_file()):
            reader = open_to_read(self.path)
            for spare in self._spares:
                try:
                    self._use(spare)
                except (sqlite3.DatabaseError, DamageError):
                    continue
                self._others = [reader]
                self._warn(
                    f"the reply store {self.path} is read-only; it is read, and new replies go to {spare}"
                )
                return
            self._db = reader
        elif is_damage(error):
            try:
                self._mend(error)
            except (OSError, sqlite3.Error, DamageError) as trouble:
                raise UsageError(_cannot_mend(self.path, error, trouble)) from None
        else:
            raise UsageError(
                f"cannot use the reply store {self.path}: {error}; choose another folder by --results"
            ) from None

    def get(self, key: bytes) -> Reply | None:
        """The stored reply to the request with this key.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._find(GET, key, lambda row: load_reply(key, row[0]))

    def put(self, request: ChatRequest | RequestKey, reply: Reply, *, replace: bool = False) -> None:
        """Keep a reply; it is durable when this returns.

        The first reply to a request stays the valid one, unless `replace`: then the
        earlier one moves to the table `superseded`.

        Raises:
            StoreError: the file does not take it; where not even a spare one does, the
                caller still holds the reply.
        """
        raw = dump_reply(request.key, reply)
        row = (request.key, raw, request.provider, reply.model, self._run)
        self._write(lambda database: _put(database, row, replace=replace))

    def put_failure(self, request: ChatRequest | RequestKey, failure: Failure) -> None:
        """Keep why a request has no reply.

        Raises:
            StoreError: as of `put`.
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
        self._write(lambda database: database.execute(_FAIL, row))

    def get_failure(self, key: bytes) -> Failure | None:
        """The last failure of the request with this key.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._find(_GET_FAILURE, key, lambda row: Failure(*row))

    def _find(self, statement: str, key: bytes, made: Callable[[Any], T]) -> T | None:
        """What the row of a key means, from the spare file before the read-only one."""
        for database in (self._db, *self._others):
            try:
                found = _row(database, statement, key, made)
            except (sqlite3.Error, DamageError) as error:
                if not is_damage(error):
                    raise StoreError(f"cannot read {self.path}: {error}") from error
                if database is not self._db:
                    self._say_damaged(error)
                    continue
                try:
                    self._mend_open(error)
                    found = _row(self._db, statement, key, made)
                except (OSError, sqlite3.Error, DamageError) as trouble:
                    raise StoreError(_cannot_mend(self._at, error, trouble)) from error
            if found is not None:
                return found
        return None

    def _say_damaged(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            self._warn(
                f"the reply store {self.path} is damaged ({error}) and read-only: "
                "what it gives no more is asked again"
            )

    def _write(self, write: Callable[[sqlite3.Connection], object]) -> None:
        """Write to the file at its place, made again or mended, or else to a spare one."""
        self._wrote = True
        trouble: Exception | None = None
        try:
            write(self._db)
        except sqlite3.Error as error:
            trouble = error
        gone = self.is_gone
        if trouble is None and not gone:
            return
        try:
            if gone:
                self._make_again()
            elif is_damage(trouble):
                self._mend_open(trouble)
            if gone or is_damage(trouble):
                write(self._db)
                return
        except (OSError, sqlite3.Error, DamageError, UsageError) as error:
            trouble = error
        self._write_spare(write, trouble, gone=gone)

    def _write_spare(
        self, write: Callable[[sqlite3.Connection], object], trouble: Exception | None, *, gone: bool
    ) -> None:
        for spare in self._spares:
            try:
                spare.parent.mkdir(parents=True, exist_ok=True)
                database = open_database(spare)
                if gone:
                    copy_all(self._db, database)  # it ends with this process
                write(database)
            except (OSError, sqlite3.Error, DamageError, UsageError):
                continue
            self._others.insert(0, self._db)
            self._db, self._at, self._file = database, spare, _identity(spare)
            kept = f"; it is kept in {spare}, which the next command takes over"
            raise StoreError(f"cannot write to {self.path}: {trouble}{kept}", kept=True) from trouble
        raise StoreError(f"cannot write to {self.path}: {trouble}") from trouble

    @property
    def is_gone(self) -> bool:
        """Whether the file was removed or moved away: what is written to it then ends with this process."""
        return _identity(self._at) != self._file

    def _make_again(self) -> None:
        """Put a file with the same content where it was."""
        self._at.parent.mkdir(parents=True, exist_ok=True)
        if not self._at.exists():
            remove_side_files(self._at)  # they belong to the file that is gone
        database = open_database(self._at)
        try:
            copy_all(self._db, database)
        except BaseException:
            database.close()
            raise
        self._db.close()
        self._db, self._file = database, _identity(self._at)
        self._warn(
            f"the reply store {self._at} was moved or removed while it was in use: "
            "it was made again, with the replies that were in it; other files are not in its folder any more"
        )

    def _mend_open(self, error: Exception | None) -> None:
        self._db.close()
        try:
            self._mend(error)
        except BaseException:
            self._db = sqlite3.connect(self._at, isolation_level=None)  # what is whole can still be read
            raise

    def _mend(self, error: Exception | None) -> None:
        """Move a damaged file aside, and go on with what can be read of it."""
        path, file = self._at, self._file
        became = mend(path, self._copies, is_damaged=lambda: _identity(path) == file)
        self._use(path)
        if became is not None:
            self._warn(f"the reply store {path} is damaged ({error}): {became}")

    def _absorb(self, spare: Path) -> None:
        """Take over what was written to a spare file while this one could not be written."""
        try:
            open_database(spare).close()
            self._db.execute("ATTACH ? AS spare", (str(spare),))
            try:
                self._db.executescript(_ABSORB)
            except sqlite3.Error:
                self._db.rollback()
                raise
            finally:
                self._db.execute("DETACH spare")
        except (sqlite3.Error, DamageError) as error:
            if not is_damage(error):
                self._db.close()
                raise StoreError(f"cannot take over {spare} into {self.path}: {error}") from error
            rescued = fill(self._db, carve(spare))
            self._warn(
                f"the spare reply store {spare} is damaged ({error}): {rescued:,} replies were rescued"
            )
            spare.rename(spare.with_name(f"{spare.name}.damaged-{time.time_ns()}"))
            return
        spare.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; what was put is in it already."""
        if self._wrote and self.is_gone:
            try:
                self._make_again()
            except (OSError, sqlite3.Error, DamageError, UsageError) as error:
                self._warn(
                    f"the reply store {self._at} was moved or removed while it was in use, and cannot be "
                    f"made again ({error}): its replies are lost unless it was moved"
                )
        self.claims.close()
        for database in (self._db, *self._others):
            database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _row(database: sqlite3.Connection, statement: str, key: bytes, made: Callable[[Any], T]) -> T | None:
    row = database.execute(statement, (key,)).fetchone()
    return None if row is None else made(row)


def _put(database: sqlite3.Connection, row: Row, *, replace: bool) -> None:
    if not replace:
        database.execute(PUT, row)
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        database.execute(_KEEP_OLD, row[:2])
        database.execute("DELETE FROM replies WHERE key = ?", row[:1])
        database.execute(PUT, row)
        database.execute("COMMIT")
    except sqlite3.Error:
        database.rollback()
        raise


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at a path; None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - for every reply, and twice as fast
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _cannot_mend(path: Path, error: Exception, trouble: Exception) -> str:
    return f"the reply store {path} is damaged ({error}) and cannot be mended: {trouble}; move it away"
