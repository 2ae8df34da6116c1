"""Runs and engines for tests: short settings, a display that remembers, made-up time."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson

from m3ke_async.address import parse_address
from m3ke_async.backlog import Ask, Backlog
from m3ke_async.breaker import Breaker
from m3ke_async.concurrency import AdaptiveConcurrency
from m3ke_async.course import Means
from m3ke_async.endpoint import Endpoint
from m3ke_async.engine import Engine, EngineSettings
from m3ke_async.lanes import Lanes
from m3ke_async.pace import Pace
from m3ke_async.progress import Silent
from m3ke_async.providers import load_profile
from m3ke_async.request import ChatRequest, canonical_body
from m3ke_async.retry import RetryPolicy
from m3ke_async.run import RunResult, run
from m3ke_async.settings_checks import make_settings
from m3ke_async.suite import Question
from m3ke_async.tally import Budget, Price, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pytest

    from m3ke_async.request import Reply
    from m3ke_async.settings import RunSettings
    from m3ke_async.store import ReplyStore
    from m3ke_async.wire.transport import Transport
    from tests.server import Wire

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[1]

_PROFILE = load_profile("custom")


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests over sockets, whose time is real: backoffs and holds of milliseconds.

    And the first question goes alone until it is answered, however busy the machine is.
    """
    monkeypatch.setattr("m3ke_async.retry.BACKOFF_START", 0.002)
    monkeypatch.setattr("m3ke_async.refusals._HOLD", 0.002)
    monkeypatch.setattr("m3ke_async.hold._RAMP", 0.001)
    monkeypatch.setattr("m3ke_async.keeping._STORE_PAUSE", 0.002)
    monkeypatch.setattr("m3ke_async.preflight._LOOK_PAUSE", 0.002)
    monkeypatch.setattr("m3ke_async.preflight._ALONE_FACTOR", 1e4)


class Notes(Silent):
    """A display that remembers what it was told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.warned: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(line)

    def warn(self, line: str) -> None:
        self.warned.append(line)


def settings(
    suite: Path, url: str | Iterable[str], results: Path, *, model: str = "custom/m", **options: Any
) -> RunSettings:
    """Settings of a run that asks this address; eight at once unless told otherwise."""
    urls = [url] if isinstance(url, str) else list(url)
    given = {"base_url": urls, "data": str(suite), "results": str(results), "concurrency": 8, "timeout": 5.0}
    return make_settings(model, {**given, **options})


async def ask(
    suite: Path, url: str | Iterable[str], results: Path, *, notes: Notes | None = None, **options: Any
) -> RunResult:
    """Run it."""
    return await run(settings(suite, url, results, **options), display=notes or Notes(), environ={})


def ask_over(monkeypatch: pytest.MonkeyPatch, *wires: Wire) -> None:
    """Let the endpoints of runs, in the order of their addresses, be these wires."""
    queue = list(wires)

    def transport(*args: object, **named: object) -> Wire:
        queue.append(queue[0])
        return queue.pop(0)

    monkeypatch.setattr("m3ke_async.connect.Transport", transport)


def lines(result: RunResult) -> list[dict[str, Any]]:
    """The lines of answers.jsonl."""
    return [orjson.loads(line) for line in (result.path / "answers.jsonl").read_bytes().splitlines()]


def unmeasured(result: RunResult) -> list[dict[str, Any]]:
    """The same without what is measured, or depends on how often something failed."""
    measured = ("latency", "attempts")
    return [{name: value for name, value in line.items() if name not in measured} for line in lines(result)]


# -- an engine alone -------------------------------------------------------------------


def make_ask(mark: str) -> Ask:
    """The question with this mark, as the engine takes it."""
    body = canonical_body({"model": "m", "messages": [{"role": "user", "content": mark}]})
    request = ChatRequest("custom", "http://test/v1", body, prompt_chars=10)
    return Ask(request, Question(mark, mark, ("一", "二", "三", "四"), None))


@dataclass
class Bench:
    """An engine with its parts; `replies` by mark.

    Attributes:
        wires: one an endpoint.
        questions: marks, a list a task.
        store: where replies go.
        tpm: tokens a minute.
    """

    wires: tuple[Wire, ...]
    questions: Iterable[Iterable[str]]
    store: ReplyStore
    attempts: int = 6
    timeout: float = 30.0
    concurrency: int = 8
    lead: bool = False
    probe: bool = False
    budget: Budget = field(default_factory=Budget)
    price: Price | None = None
    tpm: float | None = None
    tally: Tally = field(default_factory=Tally)
    replies: dict[str, Reply] = field(default_factory=dict)
    warned: list[str] = field(default_factory=list)
    on_reply: Callable[[Ask, Reply], None] | None = None
    endpoints: tuple[Endpoint, ...] = ()
    engine: Engine = field(init=False)

    def build(self) -> Engine:
        """Make the engine; inside the loop."""
        self.endpoints = tuple(
            Endpoint(
                parse_address(f"http://{chr(97 + number)}.test/v1"),
                cast("Transport", wire),
                Pace(None, self.tpm, random.Random(1)),  # noqa: S311 - repeatable, guards nothing
                AdaptiveConcurrency(lower=self.concurrency, upper=self.concurrency),
                Breaker(),
            )
            for number, wire in enumerate(self.wires)
        )
        self.engine = Engine(
            Means(
                backlog=Backlog(Lanes((self._lane(task) for task in self.questions), lead=self.lead)),
                endpoints=self.endpoints,
                store=self.store,
                retry=RetryPolicy(max_attempts=self.attempts, rng=random.Random(2)),  # noqa: S311 - as above
                profile=_PROFILE,
                settings=EngineSettings(
                    timeout=self.timeout,
                    max_tokens=64,
                    budget=self.budget,
                    price=self.price,
                    probe=self.probe,
                ),
                tally=self.tally,
                on_reply=self.on_reply or self._keep,
                warn=self.warned.append,
            )
        )
        return self.engine

    async def run(self) -> None:
        """Ask everything."""
        await self.build().run()

    def _lane(self, task: Iterable[str]) -> Iterator[Ask | None]:
        return (make_ask(mark) for mark in task)

    def _keep(self, ask: Ask, reply: Reply) -> None:
        self.replies[str(ask.question.id)] = reply


# -- the command -----------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """What a command came to."""

    code: int
    out: str
    err: str


async def start(*arguments: str, **environ: str) -> asyncio.subprocess.Process:
    """Start `m3ke` in a process of its own, with these variables beside the own ones."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "m3ke_async",
        *arguments,
        cwd=ROOT,
        env={**os.environ, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(process: asyncio.subprocess.Process) -> Ended:
    """Wait for its end."""
    out, err = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


def run_arguments(suite: Path, url: str, results: Path, *more: str) -> list[str]:
    """Arguments of `m3ke run`; eight at once."""
    given = ["--base-url", url, "--data", str(suite), "--results", str(results), "--concurrency", "8"]
    return ["run", "custom/m", *given, *more]
