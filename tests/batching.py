"""Runs by batches for tests: a suite of six questions, and commands at a scripted server."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.batch.asking import Steps, ask_in_batches
from m3ke_async.batch.offline import read_results
from m3ke_async.batch.state import Batches, Stage
from m3ke_async.providers import load_profile
from m3ke_async.run import RunResult, run
from m3ke_async.rundir import RunDir
from tests.asking import Notes, lines, settings
from tests.questions import marks, write_suite
from tests.server import right

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.batch_server import BatchServer

KEY = "sk-test-0123456789abcdef"


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of milliseconds, for tests over sockets, whose time is real."""
    monkeypatch.setattr("m3ke_async.batch.waiting._SOON", 0.01)
    monkeypatch.setattr("m3ke_async.batch.waiting._SELDOM", 0.01)
    monkeypatch.setattr("m3ke_async.batch.client._SETTLE", 0.01)
    monkeypatch.setattr("m3ke_async.retry.BACKOFF_START", 0.002)


class Bench:
    """A suite, a results folder, and runs by batches at a server."""

    def __init__(self, folder: Path, server: BatchServer) -> None:
        self.suite = write_suite(folder / "suite", tasks=2, rows=3)
        self.results, self.url, self.notes = folder / "results", server.url, Notes()

    async def run(
        self,
        steps: Steps = Steps.ALL,
        *,
        provider: str = "openai",
        made: str | None = None,
        **options: Any,
    ) -> RunResult:
        given = settings(
            self.suite, self.url, self.results, model=f"{provider}/m", batch=True, name="r", **options
        )
        asking: partial[Any] = partial(ask_in_batches, steps=steps, made=made)
        keys = dict.fromkeys(load_profile(provider).key_env, KEY)
        return await run(given, display=self.notes, environ=keys, asking=asking)

    async def read(self, file: Path, *, name: str = "r", **options: Any) -> RunResult:
        given = settings(self.suite, self.url, self.results, model="openai/m", name=name, **options)
        asking: partial[Any] = partial(read_results, file=file)
        return await run(given, display=self.notes, environ={}, asking=asking, sends=False)

    @property
    def batches(self) -> Batches:
        return Batches.read(RunDir(self.results / "r"))

    @property
    def said(self) -> str:
        return "\n".join([*self.notes.said, *self.notes.warned])


def letters(result: RunResult) -> dict[str, str | None]:
    return {f"Q{int(line['task'][5:7])}-{line['id']}": line["choice"] for line in lines(result)}


RIGHT = {mark: right(mark) for mark in marks(2, 3)}


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


@contextmanager
def killed_before(stage: Stage) -> Iterator[None]:
    """A command that is killed before it has noted that a part has come to this stage."""
    put = Batches.put

    def die(self: Batches, part: Any, **changes: Any) -> Any:
        if changes.get("stage") is stage:
            raise Killed
        return put(self, part, **changes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Batches, "put", die)
        with pytest.raises(Killed):
            yield
