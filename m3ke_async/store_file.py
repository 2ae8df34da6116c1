"""The SQLite file of a store as a thing that lasts, whatever becomes of the one on the disk.

What the file does not take goes to a spare one; a damaged file is moved aside and mended, one that
was taken away is made again, one that is read-only is read beside a spare one.
"""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any, TypeVar

from m3ke_async.carve import carve
from m3ke_async.database import copy_all, fill, is_damage, open_database, open_to_read, remove_side_files
from m3ke_async.errors import M3keError, UsageError
from m3ke_async.mend import finish_mending, mend
from m3ke_async.reply_row import DamageError
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from m3ke_async.reply_row import Row

T = TypeVar("T")

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


class StoreFile:
    """The file of a store, and what stands in for it.

    Args:
        path: as of `ReplyStore`; so are the others.
        spares: files to write to in its place.
        warn: is told what became of the file.
        copies: replies that are kept elsewhere.

    Attributes:
        path: the file.
        database: what is written now, of the file or of a spare one.

    Raises:
        UsageError: the folder cannot be written, or a newer version wrote the file.
    """

    def __init__(
        self,
        path: Path,
        spares: tuple[Path, ...],
        warn: Callable[[str], None],
        copies: Callable[[], Iterable[Row]],
    ) -> None:
        self.path, self._spares, self._warn, self._copies = path, spares, warn, copies
        self._others: list[sqlite3.Connection] = []  # are read after the one that is written
        self._wrote = self._told = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            finish_mending(path)
        except OSError as error:
            raise UsageError(
                f"cannot make the folder {path.parent}: {error.strerror}; choose another by --results"
            ) from None
        self._at, self._inode = path, _identity(path)
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
        self.database = open_database(path)
        self._at, self._inode = path, _identity(path)

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
            self.database = reader
        elif is_damage(error):
            try:
                self._mend(error)
            except (OSError, sqlite3.Error, DamageError) as trouble:
                raise UsageError(_cannot_mend(self.path, error, trouble)) from None
        else:
            raise UsageError(
                f"cannot use the reply store {self.path}: {error}; choose another folder by --results"
            ) from None

    def find(self, statement: str, key: bytes, made: Callable[[Any], T]) -> T | None:
        """What the row of a key means, from a spare file before the one that cannot be written.

        Args:
            statement: gives the row.
            key: its only parameter.
            made: what becomes of the row; may raise a DamageError.

        Raises:
            StoreError: the file cannot be read.
        """
        for database in (self.database, *self._others):
            try:
                found = _row(database, statement, key, made)
            except (sqlite3.Error, DamageError) as error:
                if not is_damage(error):
                    raise StoreError(f"cannot read {self.path}: {error}") from error
                if database is not self.database:
                    self._say_damaged(error)
                    continue
                try:
                    self._mend_open(error)
                    found = _row(self.database, statement, key, made)
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

    def write(self, write: Callable[[sqlite3.Connection], object]) -> None:
        """Write to the file at its place, made again or mended, or else to a spare one.

        Raises:
            StoreError: the file does not take it; a spare one may have.
        """
        self._wrote = True
        trouble: Exception | None = None
        try:
            write(self.database)
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
                write(self.database)
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
                    copy_all(self.database, database)  # it ends with this process
                write(database)
            except (OSError, sqlite3.Error, DamageError, UsageError):
                continue
            self._others.insert(0, self.database)
            self.database, self._at, self._inode = database, spare, _identity(spare)
            kept = f"; it is kept in {spare}, which the next command takes over"
            raise StoreError(f"cannot write to {self.path}: {trouble}{kept}", kept=True) from trouble
        raise StoreError(f"cannot write to {self.path}: {trouble}") from trouble

    @property
    def is_gone(self) -> bool:
        """Whether the file was removed or moved away: what is written to it then ends with this process."""
        return _identity(self._at) != self._inode

    def _make_again(self) -> None:
        """Put a file with the same content where it was."""
        self._at.parent.mkdir(parents=True, exist_ok=True)
        if not self._at.exists():
            remove_side_files(self._at)  # they belong to the file that is gone
        database = open_database(self._at)
        try:
            copy_all(self.database, database)
        except BaseException:
            database.close()
            raise
        self.database.close()
        self.database, self._inode = database, _identity(self._at)
        self._warn(
            f"the reply store {self._at} was moved or removed while it was in use: "
            "it was made again, with the replies that were in it; other files are not in its folder any more"
        )

    def _mend_open(self, error: Exception | None) -> None:
        self.database.close()
        try:
            self._mend(error)
        except BaseException:
            self.database = sqlite3.connect(self._at, isolation_level=None)  # what is whole can still be read
            raise

    def _mend(self, error: Exception | None) -> None:
        """Move a damaged file aside, and go on with what can be read of it."""
        path, file = self._at, self._inode
        became = mend(path, self._copies, is_damaged=lambda: _identity(path) == file)
        self._use(path)
        if became is not None:
            self._warn(f"the reply store {path} is damaged ({error}): {became}")

    def _absorb(self, spare: Path) -> None:
        """Take over what was written to a spare file while this one could not be written."""
        try:
            open_database(spare).close()
            self.database.execute("ATTACH ? AS spare", (str(spare),))
            try:
                self.database.executescript(_ABSORB)
            except sqlite3.Error:
                self.database.rollback()
                raise
            finally:
                self.database.execute("DETACH spare")
        except (sqlite3.Error, DamageError) as error:
            if not is_damage(error):
                self.database.close()
                raise StoreError(f"cannot take over {spare} into {self.path}: {error}") from error
            rescued = fill(self.database, carve(spare))
            self._warn(
                f"the spare reply store {spare} is damaged ({error}): "
                f"{counted(rescued, 'reply was', 'replies were')} rescued"
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
        for database in (self.database, *self._others):
            database.close()


def _row(database: sqlite3.Connection, statement: str, key: bytes, made: Callable[[Any], T]) -> T | None:
    row = database.execute(statement, (key,)).fetchone()
    return None if row is None else made(row)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at a path; None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - for every reply, and twice as fast
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _cannot_mend(path: Path, error: Exception, trouble: Exception) -> str:
    return f"the reply store {path} is damaged ({error}) and cannot be mended: {trouble}; move it away"
