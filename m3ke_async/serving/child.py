"""A server as a child process: started with a log, watched, and ended without leaving anything behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, Self

from m3ke_async.errors import StoppedError, UsageError
from m3ke_async.verified import writing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

LOOPBACK = "127.0.0.1"
#: Seconds to end by itself once its input is closed.
GRACE = 15.0
#: Bytes at the log's end that are read for a message.
_TAIL = 200_000
_ILLEGAL_INSTRUCTION = {-4, 0xC000001D}  # POSIX, Windows
_KILLED = {-9, 128 + 9}


class Server(Protocol):
    """A server that lives inside an `async with` block.

    Attributes:
        base_url: `http://127.0.0.1:PORT/v1`, while it runs.
        slots: requests that are answered at a time; None where it takes what comes.
    """

    base_url: str
    slots: int | None

    async def __aenter__(self) -> Self:
        """Start it and wait until it answers."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        ...

    async def ended(self) -> StoppedError:
        """Wait until it ends on its own; returns the error to raise."""
        ...


async def spawn(
    command: tuple[str, ...], log: Path, *, variables: Mapping[str, str] | None = None, answers: bool = False
) -> asyncio.subprocess.Process:
    """Start a process that ends when its standard input closes, and so with this one.

    Args:
        command: argument by argument.
        log: where it writes.
        variables: of the environment, beside this process's own, which count more.
        answers: whether its standard output is read here, and does not go to the log.

    Raises:
        UsageError: the log cannot be written.
    """
    with writing(log), log.open("wb") as file:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if answers else file,
            stderr=file,
            env={**(variables or {}), **os.environ},
            # Ctrl-C in a terminal reaches every process of its group: this one has to live
            # until the requests in flight are answered.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )


async def stop(process: asyncio.subprocess.Process, grace: float = GRACE) -> None:
    """Close the child's input, which ends it; kill it and its group where that is not enough."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        async with asyncio.timeout(grace):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def ending(status: int) -> str:
    """How a process ended, in words."""
    if status in _ILLEGAL_INSTRUCTION:
        return (
            "was stopped by this CPU, which lacks an instruction that it needs (AVX2, most often); "
            "ask a server elsewhere: custom/NAME --base-url URL"
        )
    if status in _KILLED:
        return "was killed by the system, most often for want of memory (take a smaller model or free some)"
    return f"ended with status {status}"


def log_lines(log: Path) -> list[str]:
    """The last lines of a log that hold anything."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        # A progress bar overwrites its line by carriage returns.
        return [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return []


def check_port(port: int) -> None:
    """Make sure that a server can listen on a port of this machine.

    Raises:
        UsageError: it cannot.
    """
    with socket.socket() as probe:
        if os.name == "posix":  # a port that was used a moment ago is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise UsageError(
                f"cannot listen on port {port} ({error.strerror}): stop what does, or give another --port"
            ) from error


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
