"""Files with a known SHA-256: locked while they are fetched, named only when they are right."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from m3ke_async.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Seconds: who looks whether a folder is claimed holds a free claim for less than that.
_GLANCE = 0.05

#: Called with the bytes that are there and the bytes of the whole, None where unknown.
Progress = Callable[[int, int | None], None]


class DownloadError(UsageError):
    """A file could not be had, or is not the file that it should be."""


def has_file(path: Path, *, sha256: str | None, size: int | None) -> bool:
    """Whether the file is there, with this size and hash as far as they are known."""
    try:
        if not path.is_file() or (size is not None and path.stat().st_size != size):
            return False
        return sha256 is None or hash_file(path) == sha256
    except FileNotFoundError:
        return False


def hash_file(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def settle(part: Path, target: Path, *, sha256: str | None, origin: str) -> None:
    """Give a complete part its final name; a part with another SHA-256 is deleted.

    Raises:
        DownloadError: the hash is wrong.
    """
    if sha256 is not None and (found := hash_file(part)) != sha256:
        part.unlink()
        raise DownloadError(
            f"{origin} is not the published file: its SHA-256 is {found}, not {sha256}; it was deleted"
        )
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(target)


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Make the target's folder, and turn what the file system refuses into one line."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise UsageError(
            f"cannot write in {target.parent}: {error.strerror or error}; free it or choose another folder"
        ) from error


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Keep other processes from fetching the same file; they wait, and then find it there.

    The operating system drops the lock with the process, however that ends. The empty lock
    file stays: to delete it would let two processes hold two locks of one name.
    """
    with target.with_name(f".{target.name}.lock").open("ab") as file:
        _lock(file)
        yield


@contextmanager
def claimed(target: Path) -> Iterator[bool]:
    """Claim a folder for this process, without waiting for another's work; whether nobody else has it.

    The operating system drops the claim with the process, however that ends.
    """
    with (target / ".lock").open("ab") as file:
        alone = _try_lock(file)
        if not alone:
            time.sleep(_GLANCE)
            alone = _try_lock(file)
        yield alone


def is_claimed(target: Path) -> bool:
    """Whether a process is at work on a folder; nothing is written, and a free claim is let go at once."""
    try:
        with (target / ".lock").open("rb") as file:
            return not _try_lock(file)
    except OSError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _lock(file: IO[bytes]) -> None:
        while True:
            with suppress(OSError):  # it gives up after ten seconds
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                return

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # the file system knows no locks
            return True
        return True

    def _lock(file: IO[bytes]) -> None:
        # Where a file system knows no locks, the hash still guards the final file.
        with suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
