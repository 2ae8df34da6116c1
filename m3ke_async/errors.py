"""The errors that m3ke-async raises on purpose, and the exit codes they end the command with.

    M3keError
     +-- UsageError           the command or its settings are wrong; nothing was sent
     |    +-- DataError       a suite, template, key or provider file is wrong
     +-- IncompleteError      some questions have no reply; run again to go on
     |    +-- InterruptedRunError  by the user
     +-- StoppedError         the provider stopped the run: key, money, model

A message is one line: what happened, to what, and what to do next.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class ExitCode(IntEnum):
    """What the `m3ke` command returns to the shell."""

    COMPLETE = 0
    ERROR = 1
    USAGE = 2
    INCOMPLETE = 3
    STOPPED = 4
    INTERRUPTED = 130


class M3keError(Exception):
    """Base of the errors below; its text is one line for people."""

    exit_code = ExitCode.ERROR


class UsageError(M3keError):
    """The command or its settings are wrong; nothing was sent."""

    exit_code = ExitCode.USAGE


class DataError(UsageError):
    """A file that the user gave cannot be used.

    Attributes are None where they do not apply: `line` counts from 1.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        self.file, self.line, self.field = file, line, field
        where = f"{file}" if file is not None else ""
        if line is not None:
            where += f", line {line}"
        if field is not None:
            where += f", field {field!r}"
        super().__init__(f"{where}: {message}" if where else message)


class IncompleteError(M3keError):
    """Some questions have no reply yet; the same command goes on."""

    exit_code = ExitCode.INCOMPLETE


class InterruptedRunError(IncompleteError):
    """The user stopped the run; the same command goes on.

    Attributes:
        at_once: whether the user asked twice, and does not wait for result files either.
    """

    exit_code = ExitCode.INTERRUPTED
    at_once = False


class StoppedError(M3keError):
    """The provider stopped the run (key, money, model); what was answered is kept."""

    exit_code = ExitCode.STOPPED


def system_error(error: OSError) -> str:
    """What the system did not do, in the middle of a run, as one line for people."""
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}; replies that came are kept, and the same command goes on"
