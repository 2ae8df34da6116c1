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
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from m3ke_async.claims import Claims
from m3ke_async.database import GET, PUT
from m3ke_async.reply_row import dump_reply, load_reply
from m3ke_async.scrub import scrub_all
from m3ke_async.store_file import StoreError, StoreFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from m3ke_async.reply_row import Row
    from m3ke_async.request import ChatRequest, Reply, RequestKey

__all__ = ["Failure", "Follower", "Kept", "ReplyStore", "StoreError"]

#: Key, kind, message, body, attempts, Unix time, run: the columns of a failure.
FailureRow: TypeAlias = tuple[bytes, str, str, bytes, int, float, str]

#: Bytes of a raw body that are kept with a failure.
_KEPT_BODY = 16 * 1024

_GET_ROW = "SELECT * FROM replies WHERE key = ?"
_REPLY_COLUMNS = 5
_GET_FAILURE = "SELECT kind, message, body, attempts, failed_at FROM failures WHERE key = ?"
_KEEP_OLD = """
INSERT INTO superseded
SELECT key, reply, provider, model, run FROM replies WHERE key = ?1 AND reply != ?2
"""
_FAIL = """
INSERT OR REPLACE INTO failures (key, kind, message, body, attempts, failed_at, run)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a question has no reply.

    Attributes:
        kind: the decision's short name, such as `timeout`.
        message: one line for people.
        body: the last raw body, cut to 16 KiB; empty where none came.
        attempts: how often it was sent.
        failed_at: Unix time; 0 before it was stored.
    """

    kind: str
    message: str
    body: bytes = b""
    attempts: int = 0
    failed_at: float = field(default=0.0, compare=False)

    @classmethod
    def kept(cls, kind: str, message: str, body: bytes, attempts: int, secrets: tuple[str, ...]) -> Failure:
        """A failure whose body is cut and holds no secrets."""
        text = scrub_all(body[:_KEPT_BODY].decode("utf-8", "surrogateescape"), secrets)
        return cls(kind, message, text.encode("utf-8", "surrogateescape"), attempts)


@dataclass(frozen=True, slots=True)
class Kept:
    """A row that a store has kept: of a reply, or of a failure.

    Attributes:
        row: with the columns of its table.
        replace: whether it takes the place of an earlier reply.
    """

    row: Row | FailureRow
    replace: bool = False


class Follower(Protocol):
    """Wants to know of what a store keeps."""

    def add(self, kept: Kept) -> None:
        """It was put."""


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
        follower: is told of everything that is put, after it is durable here or the file did not take it.

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
        self.path, self._run = path, run
        self.follower: Follower | None = None
        self.claims = Claims(path.with_name(f".{path.name}.claims"))
        self._file = StoreFile(path, spares, warn, copies)

    def get(self, key: bytes) -> Reply | None:
        """The stored reply to the request with this key.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._file.find(GET, key, lambda row: load_reply(key, row[0]))

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
        try:
            self._file.write(lambda database: _put(database, row, replace=replace))
        finally:
            if self.follower is not None:
                self.follower.add(Kept(row, replace=replace))

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
        try:
            self._file.write(lambda database: database.execute(_FAIL, row))
        finally:
            if self.follower is not None:
                self.follower.add(Kept(row))

    def put_all(self, kept: Iterable[Kept]) -> None:
        """Keep what other stores have kept, in their order and in one transaction.

        Raises:
            StoreError: as of `put`.
        """
        rows = list(kept)
        self._file.write(lambda database: _put_all(database, rows))

    def rows(self, keys: Iterable[bytes]) -> list[Row]:
        """The replies with these keys, as far as there are any, for another store to keep.

        Raises:
            StoreError: the file cannot be read.
        """
        found = (self._file.find(_GET_ROW, key, _whole_row) for key in keys)
        return [row for row in found if row is not None]

    def get_failure(self, key: bytes) -> Failure | None:
        """The last failure of the request with this key.

        Raises:
            StoreError: the file cannot be read.
        """
        return self._file.find(_GET_FAILURE, key, lambda row: Failure(*row))

    @property
    def is_gone(self) -> bool:
        """Whether the file was removed or moved away: what is written to it then ends with this process."""
        return self._file.is_gone

    def close(self) -> None:
        """Close the file; what was put is in it already."""
        self._file.close()
        self.claims.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _whole_row(row: Row) -> Row:
    load_reply(row[0], row[1])  # what is damaged is asked again rather than passed on
    return row


def _put_all(database: sqlite3.Connection, kept: Iterable[Kept]) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        for (columns, replace), alike in groupby(kept, _kind):
            rows = [one.row for one in alike]
            if replace:
                for row in rows:
                    database.execute(_KEEP_OLD, row[:2])
                    database.execute("DELETE FROM replies WHERE key = ?", row[:1])
                    database.execute(PUT, row)
            else:
                database.executemany(PUT if columns == _REPLY_COLUMNS else _FAIL, rows)
        database.execute("COMMIT")
    except sqlite3.Error:
        database.rollback()
        raise


def _kind(one: Kept) -> tuple[int, bool]:
    """How many columns a row has, and whether it replaces another."""
    return len(one.row), one.replace


def _put(database: sqlite3.Connection, row: Row, *, replace: bool) -> None:
    if not replace:
        database.execute(PUT, row)
        return
    _put_all(database, [Kept(row, replace=True)])
