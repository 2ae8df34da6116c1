"""An engine at work: started by its command, waited for, and ended with the block.

async with EngineServer(launch, log=path, say=print) as server:
    ...  # server.base_url
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import httpx

from m3ke_async.errors import M3keError, StoppedError, UsageError
from m3ke_async.serving.causes import find_cause
from m3ke_async.serving.child import check_port, ending, log_lines, spawn, stop
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from m3ke_async.serving.launch import Launch

E = TypeVar("E", bound=M3keError)

_KEEPER = Path(__file__).with_name("keeper.py")
_HEALTH = "/health"
#: Seconds between two looks, and of one.
_PAUSE, _LOOK = 0.5, 5.0
#: Seconds between two lines about the progress.
_TELL = 10.0
#: Seconds in which a server that loads prints something.
_SILENCE = 900.0
#: Last lines of the log that a failure shows.
_SHOWN = 8


class EngineServer:
    """An asynchronous context manager: the engine lives inside it.

    Args:
        launch: what to start.
        log: where it writes.
        say: is told how the loading goes.
        silence: seconds without a word after which a loading server is given up.

    Attributes:
        base_url: `http://127.0.0.1:PORT/v1`.
        slots: requests that are computed at a time; None where it takes what comes.
    """

    def __init__(
        self, launch: Launch, *, log: Path, say: Callable[[str], None], silence: float = _SILENCE
    ) -> None:
        self.base_url = f"{launch.address}/v1"
        self.slots = launch.slots
        self._launch = launch
        self._log = log
        self._say = say
        self._silence = silence
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        """Start it and wait until it answers.

        Raises:
            UsageError: it is not installed, its port is in use, or it ends or falls silent while it loads.
        """
        if self._launch.missing:
            raise UsageError(f"{self._launch.engine.name} is not installed: {self._launch.missing}")
        check_port(self._launch.port)
        self._process = process = await spawn(
            (sys.executable, "-P", str(_KEEPER), *self._launch.command),
            self._log,
            variables={"PYTHONUNBUFFERED": "1", **self._launch.variables},
        )
        try:
            await self._ready(process)
        except BaseException:
            await stop(process)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            await stop(self._process)

    async def ended(self) -> StoppedError:
        """Wait until the server, once started, ends on its own; returns the error to raise."""
        if self._process is None:
            raise RuntimeError("the server was not started")
        return self._failure(StoppedError, ending(await self._process.wait()))

    async def _ready(self, process: asyncio.subprocess.Process) -> None:
        """Wait for its health."""
        loop = asyncio.get_running_loop()
        started = told = heard = loop.time()
        size = 0
        end = asyncio.ensure_future(process.wait())
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=_LOOK) as client:
                while not await _is_healthy(client, f"{self._launch.address}{_HEALTH}"):
                    await asyncio.wait({end}, timeout=_PAUSE)
                    if end.done():
                        raise self._failure(UsageError, f"{ending(end.result())} while it loaded")
                    now = loop.time()
                    if (written := self._log.stat().st_size) != size:
                        size, heard = written, now
                    if now - heard > self._silence:
                        raise self._failure(
                            UsageError,
                            f"has printed nothing for {self._silence / 60:.0f} minutes while it loads",
                        )
                    if now - told >= _TELL:
                        told = now
                        last = one_line((log_lines(self._log) or ["no word yet"])[-1], limit=120)
                        self._say(f"{self._launch.engine.name} loads ({now - started:.0f} s): {last}")
        finally:
            end.cancel()
        self._say(f"{self._launch.engine.name} answers after {loop.time() - started:.0f} s")

    def _failure(self, kind: type[E], what: str) -> E:
        """The error, with the log's last lines as its notes."""
        lines = log_lines(self._log)
        cause = find_cause("\n".join(lines))
        error = kind(f"{self._launch.engine.name} {what}{f': {cause}' if cause else ''} (log: {self._log})")
        for line in lines[-_SHOWN:]:
            error.add_note(one_line(line))
        return error


async def _is_healthy(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(url)).is_success
    except httpx.HTTPError:
        return False
