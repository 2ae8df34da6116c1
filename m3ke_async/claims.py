"""Which requests are on their way, so that two processes on one store do not both buy one.

A claim is a lock on one byte of a file, at the place that the request's key names: the operating
system drops it with the process, however that ends, and none is ever stale. A table of claims
would cost a commit a question and outlive a kill; a look into the store before sending would not
see what is in flight, which is most of what two processes ask in the same order.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Claims:
    """Claims of this process on requests; others' processes see them at once.

    Where the file or its system knows no such locks, every claim is granted. Runs inside one
    process do not see each other's.

    Args:
        path: of the file; made at the first claim, and left empty.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._is_open = False

    def take(self, key: bytes) -> bool:
        """Whether no other process is asking the request with this key."""
        if not self._is_open:
            self._is_open = True
            with suppress(OSError):
                self._file = self._path.open("ab")
        return self._file is None or _lock(self._file, _place(key))

    def release(self, key: bytes) -> None:
        """The request is answered or given up."""
        if self._file is not None:
            _unlock(self._file, _place(key))

    def close(self) -> None:
        """Release all."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _place(key: bytes) -> int:
    return int.from_bytes(key[:8], "big") >> 2  # as large as a file's place may be


if sys.platform == "win32":

    def _lock(file: IO[bytes], place: int) -> bool:
        return True

    def _unlock(file: IO[bytes], place: int) -> None:
        pass

else:
    import fcntl

    def _lock(file: IO[bytes], place: int) -> bool:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # the file system knows no locks
            return True
        return True

    def _unlock(file: IO[bytes], place: int) -> None:
        with suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
