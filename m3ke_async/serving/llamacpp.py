"""A llama.cpp server for one run: started on a free loopback port, stopped with the run.

async with LocalServer(model, log=run_dir / "server.log") as server:
    ...  # server.base_url
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import httpx

from m3ke_async.errors import StoppedError, UsageError
from m3ke_async.extras import how_to_install
from m3ke_async.serving.child import check_port, ending, log_lines, spawn, stop
from m3ke_async.serving.machine import cores
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from types import TracebackType

    from m3ke_async.models import LocalModel

#: Requests that are answered at a time.
SLOTS = 4
#: Tokens of a slot: five shots, the question, and a reply.
CONTEXT = 2048
#: Mebibytes of prompts kept outside the slots. With more tasks side by side than slots, each keeps its
#: examples: on 2 cores, 8 tasks on 4 slots took 5.6 CPU-seconds a five-shot question instead of 9.1.
CACHE_MIB = 512
_CHILD = Path(__file__).with_name("llamacpp_child.py")
#: Seconds to end by itself.
_GRACE = 5
#: Time and level at the start of llama.cpp's lines.
_STAMP = re.compile(r"^[\d.]+ [A-Z]\s+")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the child is told."""

    model: str
    name: str
    slots: int
    context: int
    threads: int
    port: int
    cache_mib: int


def identity(name: str, sha256: str) -> str:
    """What stands for a local model's address in a request's identity: its port changes, this does not.

    Raises:
        UsageError: the server is not installed.
    """
    return f"local:{name}:{sha256[:16]}:xllamacpp-{_version()}"


def _version() -> str:
    try:
        return importlib.metadata.version("xllamacpp")
    except importlib.metadata.PackageNotFoundError as error:
        raise UsageError(f"the local server is not installed: {how_to_install('local')}") from error


class LocalServer:
    """An asynchronous context manager: the server lives inside it.

    Attributes:
        base_url: `http://127.0.0.1:PORT/v1`, while it runs.
        slots: requests that are answered at a time.
        settings: what the child is told.
        command: that starts it.
    """

    def __init__(
        self,
        model: LocalModel,
        *,
        log: Path,
        slots: int = SLOTS,
        context: int = CONTEXT,
        threads: int | None = None,
        port: int = 0,
        start_timeout: float = 300,
        command: tuple[str, ...] = (sys.executable, "-P", str(_CHILD)),
    ) -> None:
        self.base_url = ""
        self.slots: int | None = slots
        self.settings = Settings(
            model=str(model.path),
            name=model.name,
            slots=slots,
            context=context,
            threads=threads or cores(),
            port=port,
            cache_mib=CACHE_MIB,
        )
        self._log = log
        self._start_timeout = start_timeout
        self.command = (*command, json.dumps(asdict(self.settings)))
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        """Start it and wait until it answers.

        Raises:
            UsageError: it is not installed, the file is not one that it can load, the CPU is too
                old, or it does not answer in time.
        """
        _version()
        if self.settings.port:
            check_port(self.settings.port)
        self._process = process = await spawn(self.command, self._log, answers=True)
        try:
            async with asyncio.timeout(self._start_timeout):
                self.base_url = f"{await self._address(process)}/v1"
                await self._check()
        except BaseException as error:
            await stop(process, _GRACE)
            if isinstance(error, TimeoutError):
                raise UsageError(
                    self._problem(f"did not start in {self._start_timeout:g} seconds")
                ) from error
            if isinstance(error, httpx.HTTPError):
                raise UsageError(self._problem("does not answer")) from error
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            await stop(self._process, _GRACE)

    async def ended(self) -> StoppedError:
        """Wait until the server, once started, ends on its own; returns the error to raise."""
        if self._process is None:
            raise RuntimeError("the server was not started")
        return StoppedError(self._problem(ending(await self._process.wait())))

    async def _address(self, process: asyncio.subprocess.Process) -> str:
        """The address that the child answers with."""
        if process.stdout is None:
            raise RuntimeError("the child has no pipe")
        line = await process.stdout.readline()
        if not line:
            raise UsageError(self._problem(ending(await process.wait())))
        answer: dict[str, str] = json.loads(line)
        if "error" in answer:
            raise UsageError(self._problem(f"cannot load {self.settings.model} ({answer['error']})", 0))
        return answer["url"]

    async def _check(self) -> None:
        """Wait for its health, and make sure that it serves this model."""
        async with httpx.AsyncClient(trust_env=False) as client:
            while (await client.get(f"{self.base_url}/health")).status_code == 503:  # noqa: ASYNC110
                await asyncio.sleep(0.2)  # another process, which still loads, has no event to wait for
            models = (await client.get(f"{self.base_url}/models")).json()
        if [row["id"] for row in models["data"]] != [self.settings.name]:
            raise UsageError(self._problem("serves another model than it was given"))

    def _problem(self, what: str, line: int = -1) -> str:
        """A message with one line of the log: after a failed load the first is the cause, else the last."""
        lines = [_STAMP.sub("", found) for found in log_lines(self._log)]
        words = one_line(lines[line]) if lines else "it printed nothing"
        return f"the local server {one_line(what)}: {words} (log: {self._log})"
