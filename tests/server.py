"""A scripted OpenAI-compatible server on loopback sockets, and the same scripts without any socket.

    async with Server() as server:
        server.script["Q1-2"] = [error(500), reply("B")]     # by attempt; the last one stays
        ... ask server.url ...
        assert server.counts["Q1-2"] == 2

A prompt is known by the last mark (`Q1-2`: task 1, row 2) in it; what has no script gets the right letter.
`Server` speaks HTTP; `Wire` stands in for the transport, for tests whose time is made up.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import threading
from collections import Counter
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Self, TypeVar

import aiohttp

from m3ke_async.wire.transport import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

S = TypeVar("S", bound=AbstractAsyncContextManager[object])

_MARK = re.compile(r"Q\d+-\d+")


class Manner(Enum):
    """How an answer is given, or is not."""

    WHOLE = "whole"
    CLOSE = "close"  # whole, then the connection ends
    HANG = "hang"  # not a byte
    HEADERS = "headers"  # headers, then not a byte
    DRIP = "drip"  # headers, then a byte now and then for ever
    HALF = "half"  # half the body, then the connection ends
    RESET = "reset"  # the connection is reset


class Gate:
    """Answers wait behind it until the test opens it."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], object]] = []
        self.is_open = False

    def then(self, callback: Callable[[], object]) -> None:
        """Call when open."""
        if self.is_open:
            callback()
        else:
            self._waiting.append(callback)

    def open(self) -> None:
        """Let all of them go."""
        self.is_open = True
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()


@dataclass(frozen=True, slots=True)
class Act:
    """What the server does with one attempt; `delay` in seconds, and behind `gate` where there is one."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: Manner = Manner.WHOLE
    delay: float = 0.0
    gate: Gate | None = None

    def after(self, delay: float) -> Act:
        """The same, later."""
        return replace(self, delay=delay)

    def behind(self, gate: Gate) -> Act:
        """The same, when the gate opens."""
        return replace(self, gate=gate)

    def then_close(self) -> Act:
        """The same, and the connection ends without notice."""
        return replace(self, manner=Manner.CLOSE)


USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


def raw(body: Any, status: int = 200, **headers: str) -> Act:
    """A body as it is: bytes, or what becomes JSON. Header names have underscores for dashes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Act(status, content, {name.replace("_", "-"): value for name, value in headers.items()})


def completion(
    message: Any, *, finish: str | None = "stop", usage: Mapping[str, float] | None = USAGE
) -> dict[str, Any]:
    """A chat completion with this message."""
    return {
        "id": "c",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **({} if usage is None else {"usage": usage}),
    }


def reply(
    text: str | None, *, finish: str | None = "stop", usage: Mapping[str, float] | None = USAGE, **fields: Any
) -> Act:
    """A completion whose message holds this text, and other fields."""
    message = {"role": "assistant", "content": text, **fields}
    return raw(completion(message, finish=finish, usage=usage))


def error(
    status: int, message: str = "no", *, code: str | None = None, param: str | None = None, **headers: str
) -> Act:
    """An error in OpenAI's form."""
    return raw({"error": {"message": message, "code": code, "param": param}}, status, **headers)


HANG, HEADERS, DRIP, RESET = (
    Act(manner=manner) for manner in (Manner.HANG, Manner.HEADERS, Manner.DRIP, Manner.RESET)
)
HALF = replace(reply("答案：A"), manner=Manner.HALF)


def right(mark: str) -> str:
    """The right letter of the question with this mark."""
    task, row = map(int, mark[1:].split("-"))
    return "ABCD"[(3 * task + row) % 4]


def right_reply(mark: str) -> Act:
    """What a model says that knows everything."""
    return reply(f"答案：{right(mark)}")


@dataclass(frozen=True, slots=True)
class Seen:
    """A chat request as it came; `at` by the clock of the server's loop."""

    mark: str
    attempt: int
    at: float
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON."""
        return json.loads(self.raw)


def _prompt(asked: Any) -> str:
    """The text that holds the question, by any protocol."""
    text: str = (
        asked["messages"][-1]["content"] if "messages" in asked else asked.get("prompt") or asked["inputs"]
    )
    return text


class Script:
    """What to do, by prompt and attempt, and what happened.

    Attributes:
        script: acts by mark; the last one stays.
        default: for all other prompts.
        seen: chat requests in the order in which they came.
        counts: of them by mark.
        paid: of answers with status 200 that were sent whole, by mark.
        in_flight, max_in_flight: chat requests without an answer.
        on_request: called after a chat request was written down.
    """

    def __init__(self) -> None:
        self.script: dict[str, list[Act]] = {}
        self.default: Callable[[str], Act] = right_reply
        self.seen: list[Seen] = []
        self.counts: Counter[str] = Counter()
        self.paid: Counter[str] = Counter()
        self.in_flight = self.max_in_flight = 0
        self.on_request: Callable[[Seen], object] = lambda seen: None

    def begin(self, at: float, path: str, headers: Mapping[str, str], body: bytes) -> tuple[str, Act]:
        """Write a request down; its mark, and what to do with it."""
        marks = _MARK.findall(_prompt(json.loads(body)))
        mark = marks[-1] if marks else "proof"  # what no question asks, a proof does
        self.counts[mark] += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        seen = Seen(mark, self.counts[mark], at, path, headers, body)
        self.seen.append(seen)
        acts = self.script.get(mark)
        act = self.default(mark) if acts is None else acts[min(seen.attempt, len(acts)) - 1]
        self.on_request(seen)
        return mark, act

    def times(self, mark: str) -> list[float]:
        """When the requests with this mark came."""
        return [seen.at for seen in self.seen if seen.mark == mark]


class Server(Script):
    """The server.

    Attributes:
        models: names that /models lists; None answers 404.
        answers: other answers to GET, by path: what becomes JSON, or an act.
        look: called when it is asked for them; False leaves the question open.
        looks: how often it was asked.
        connections: open now.
        opened: ever.
    """

    def __init__(self, *, models: tuple[str, ...] | None = ("m",)) -> None:
        super().__init__()
        self.models = models
        self.answers: dict[str, Any] = {}
        self.look: Callable[[], bool] = lambda: True
        self.looks = 0
        self.connections: set[_Connection] = set()
        self.opened = 0
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self._port}/v1"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # the aborted ones are told


class _Connection(asyncio.Protocol):
    """One connection: requests one after another, answered by callbacks, without a task."""

    transport: asyncio.Transport

    def __init__(self, server: Server) -> None:
        self._server = server
        self._received = b""
        self._mark: str | None = None  # of the request that has no answer yet
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._server.connections.add(self)
        self._server.opened += 1

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._done()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        if not found or len(body) < int(headers.get("content-length", 0)):
            return
        self._received = b""
        method, path, _ = lines[0].split()
        if method == "GET":
            self._server.looks += 1
            names = self._server.models
            if not self._server.look():
                return
            if path in self._server.answers:
                answer = self._server.answers[path]
                self._send(answer if isinstance(answer, Act) else raw(answer))
            else:
                self._send(error(404) if names is None else raw({"data": [{"id": name} for name in names]}))
            return
        at = asyncio.get_running_loop().time()
        self._mark, act = self._server.begin(at, path, headers, body)
        if act.gate is not None:
            act.gate.then(lambda: self._send(act))
        elif act.delay:
            self._later(act.delay, lambda: self._send(act))
        else:
            self._send(act)

    def _later(self, seconds: float, callback: Callable[[], object]) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, callback)

    def _send(self, act: Act) -> None:
        if self.transport.is_closing() or act.manner is Manner.HANG:
            return
        if act.manner is Manner.RESET:
            own: socket.socket = self.transport.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
            return
        endless = act.manner in {Manner.HEADERS, Manner.DRIP}
        length = 1_000_000 if endless else len(act.body)
        headers = {"Content-Type": "application/json", "Content-Length": str(length), **act.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(f"HTTP/1.1 {act.status} Scripted\r\n{lines}\r\n".encode())
        match act.manner:
            case Manner.DRIP:
                self._drip()
            case Manner.HALF:
                self.transport.write(act.body[: len(act.body) // 2])
                self.transport.close()
            case Manner.WHOLE | Manner.CLOSE:
                self.transport.write(act.body)
                if act.status == 200 and self._mark is not None:
                    self._server.paid[self._mark] += 1
                self._done()
                if act.manner is Manner.CLOSE:
                    self.transport.close()

    def _drip(self) -> None:
        self.transport.write(b" ")
        self._later(0.02, self._drip)

    def _done(self) -> None:
        if self._mark is not None:
            self._server.in_flight -= 1
            self._mark = None


@contextmanager
def in_thread() -> Iterator[Server]:
    """A server in a loop of its own, for tests that block theirs."""
    with running_in_thread(Server()) as server:
        yield server


@contextmanager
def running_in_thread(server: S) -> Iterator[S]:
    """Any server that runs while it is entered, in a loop of its own."""
    started, loop = threading.Event(), asyncio.new_event_loop()
    ended = loop.create_future()

    async def serve() -> None:
        async with server:
            started.set()
            await ended

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    started.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(ended.set_result, None)
        thread.join()
        loop.close()


class Wire(Script):
    """The scripts in place of a transport: no sockets, so that time may be made up.

    Attributes:
        names: that the list of models holds; None answers 404.
    """

    def __init__(self, *, names: tuple[str, ...] | None = ("m",)) -> None:
        super().__init__()
        self.names = names

    async def models(self) -> Response:
        """The list of models."""
        if self.names is None:
            return Response(404, {}, b"")
        return Response(200, {}, json.dumps({"data": [{"id": name} for name in self.names]}).encode())

    def move(self, address: object) -> None:
        """It is wherever it is looked for."""

    async def ask(self, body: bytes, *, fresh: bool = False) -> Response:
        """What the script says; raises what aiohttp would."""
        loop = asyncio.get_running_loop()
        mark, act = self.begin(loop.time(), "", {}, body)
        try:
            if act.gate is not None:
                opened = loop.create_future()
                act.gate.then(lambda: None if opened.done() else opened.set_result(None))
                await opened
            await asyncio.sleep(act.delay)
            match act.manner:
                case Manner.HANG | Manner.HEADERS | Manner.DRIP:
                    await loop.create_future()
                case Manner.HALF:
                    raise aiohttp.ClientPayloadError("half a body")
                case Manner.RESET:
                    raise aiohttp.ServerDisconnectedError
            if act.status == 200:
                self.paid[mark] += 1
        finally:
            self.in_flight -= 1
        return Response(act.status, {name.lower(): text for name, text in act.headers.items()}, act.body)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass
