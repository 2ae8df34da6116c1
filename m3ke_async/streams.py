"""Standard streams that are closed, full, or read by nobody: no reason to end a run."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing import TextIO


def open_closed_streams() -> None:
    """Open what the shell closed (`>&-`) to nowhere.

    Else the next file that is opened takes the stream's number, and what is printed goes into it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - it stays open


def drop(stream: TextIO) -> None:
    """Let a stream that takes nothing more go nowhere, so that its buffer does not raise at exit."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)


def forgiving(stream: TextIO) -> TextIO:
    """The same stream for what may be missed: where it takes nothing more, nothing happens."""
    return cast("TextIO", _Forgiving(stream))


class _Forgiving:
    """Writes and flushes as far as that goes; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, as far as it goes."""
        try:
            return self._stream.write(text)
        except OSError:
            drop(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush, as far as it goes."""
        try:
            self._stream.flush()
        except OSError:
            drop(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
