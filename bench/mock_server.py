"""A fast OpenAI-compatible server that answers by rule, for measuring clients.

    python -m bench.mock_server --port 8400 --set latency=0.2 --set slots=64

    POST .../chat/completions   GET .../models
    GET  /control    counters as JSON
    POST /control    settings as a JSON object; those left out get their defaults, all counters 0

One raw asyncio protocol without a framework: some 30 microseconds of processor time a
request, a tenth of what the fastest client here takes. The answer to a prompt and the
fault that its n-th attempt meets follow from their hash alone, so that every client
meets the same ones in whatever order it asks.
"""

from __future__ import annotations

import asyncio
import gc
import math
import re
import socket
import struct
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import click
import orjson

from m3ke_async.loop import run_loop

if TYPE_CHECKING:
    from collections.abc import Mapping

MODEL = "mock"

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    404: b"Not Found",
    429: b"Too Many Requests",
    500: b"Server Error",
}
#: Many models answer with the letter alone, others in a sentence, some think aloud.
_FORMS = (
    *["{x}"] * 4,
    *["{x}。", "答案是{x}", "答案：{x}", "正确答案是 {x}。", "选{x}", "**{x}**", "本题应选{x}项。"],
    "{y}项与题意不符，可以排除；{x}项与定义一致。因此正确答案是{x}。",
    "逐项来看，选项{y}混淆了概念，其余也不成立。所以，答案是 {x}。",
)


class Fault(StrEnum):
    """What can happen to an attempt."""

    REFUSED = "429"
    FAILED = "500"
    RESET = "reset"
    MALFORMED = "malformed"
    SLOW = "slow"


class Charge(StrEnum):
    """What a request costs of the budget of tokens."""

    USAGE = "usage"  # what it turns out to use
    MOST = "most"  # its prompt and its max_tokens, as OpenAI counts


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server does; all of it may be set by HTTP.

    Attributes:
        latency: seconds from a request to its answer.
        slots: requests that are served at once, the others queue; 0 is no bound.
        rpm, tpm: enforced limits, by buckets that refill continuously; 0 is none.
        burst: seconds of budget that a bucket holds.
        refusals_count: whether a refused request uses up a request of the budget, too.
        charge: what a request costs of the tokens.
        tokens_per_char: prompt tokens a character.
        retry_after: seconds in the header of a `429` fault; a limit tells its own.
        faults: share of attempts by kind of fault.
        slow: seconds over which the body of a `slow` attempt is spread.
        seed: another one makes other prompts meet the faults.
    """

    latency: float = 0.0
    slots: int = 0
    rpm: float = 0.0
    tpm: float = 0.0
    burst: float = 1.0
    refusals_count: bool = False
    charge: Charge = Charge.USAGE
    tokens_per_char: float = 0.75
    retry_after: float = 1.0
    faults: Mapping[Fault, float] = field(default_factory=dict)
    slow: float = 1.0
    seed: int = 0


class Bucket:
    """A budget by the minute."""

    def __init__(self, per_minute: float, burst: float, now: float) -> None:
        self.per_minute, self.rate = per_minute, per_minute / 60
        self.capacity = self.level = max(1.0, self.rate * burst)
        self.at = now
        self.taken = self.first = 0.0
        self.taken_at: list[float] = []  # first and last time

    def wait(self, amount: float, now: float) -> float:
        """Seconds until the bucket holds `amount`; 0 where it does now."""
        self.level = min(self.capacity, self.level + (now - self.at) * self.rate)
        self.at = now
        return max(0.0, min(amount, self.capacity) - self.level) / self.rate

    def take(self, amount: float, now: float) -> None:
        """Charge an accepted request."""
        self.level -= amount
        if not self.taken_at:
            self.first, self.taken_at = amount, [now, now]
        self.taken += amount
        self.taken_at[1] = now

    def headers(self, name: str) -> str:
        """Limit, what is left, and when it is whole again."""
        return (
            f"x-ratelimit-limit-{name}: {self.per_minute:.0f}\r\n"
            f"x-ratelimit-remaining-{name}: {max(0, math.floor(self.level))}\r\n"
            f"x-ratelimit-reset-{name}: {(self.capacity - self.level) / self.rate:.3f}s\r\n"
        )

    def used(self) -> float | None:
        """What was accepted, as a share of the rate over the time from the first to the last.

        The first request opens the time and is not counted: a perfectly spaced row is 1.
        """
        seconds = self.taken_at[1] - self.taken_at[0] if self.taken_at else 0.0
        return round((self.taken - self.first) / (self.rate * seconds), 4) if seconds else None


@dataclass(slots=True)
class Pending:
    """A request that was accepted and has no answer yet."""

    connection: Connection
    prompt: bytes
    fault: Fault | None
    answer: bytes
    headers: bytes


class Mock:
    """Counts, decides, answers."""

    def __init__(self, settings: Settings) -> None:
        self.loop = asyncio.get_running_loop()
        self.connections = 0
        self.begin(settings)

    def begin(self, settings: Settings) -> None:
        """Start anew with these settings; what is pending is forgotten."""
        now = self.loop.time()
        self.settings = settings
        self.attempts: dict[bytes, int] = {}
        self.good: set[bytes] = set()
        self.requests = self.refused = self.duplicates = self.gone = self.opened = 0
        self.in_flight = self.max_in_flight = self.busy = 0
        self.first = self.last = 0.0
        self.faults: Counter[Fault] = Counter()
        self.queue: deque[Pending] = deque()
        self.generation = object()
        self.rpm = Bucket(settings.rpm, settings.burst, now) if settings.rpm else None
        self.tpm = Bucket(settings.tpm, settings.burst, now) if settings.tpm else None

    def counters(self) -> dict[str, Any]:
        """See `Counters` in bench/measure.py."""
        return {
            "requests": self.requests,
            "answered": len(self.good),
            "duplicates": self.duplicates,
            "refused": self.refused,
            "faults": {fault.value: times for fault, times in self.faults.items()},
            "gone": self.gone,
            "connections": self.opened,
            "max_in_flight": self.max_in_flight,
            "span": self.last - self.first,
            "requests_used": self.rpm.used() if self.rpm else None,
            "tokens_used": self.tpm.used() if self.tpm else None,
        }

    def ask(self, connection: Connection, raw: bytes) -> None:
        """A chat request came in whole."""
        now = self.loop.time()
        try:
            table = orjson.loads(raw)
            text = "\n".join(message["content"] for message in table["messages"])
        except (ValueError, KeyError, TypeError):
            connection.send(400, error("no chat request", "invalid_request_error"))
            return
        self.first = self.first or now
        self.requests += 1
        prompt = blake2b(text.encode(), digest_size=8).digest()
        attempt = self.attempts.get(prompt, 0)
        self.attempts[prompt] = attempt + 1
        letters = self._answer(prompt)
        used = max(1, round(len(text) * self.settings.tokens_per_char))
        if not self._accept(connection, table, used, len(letters), now):
            return
        fault = self._fault(prompt, attempt)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        pending = Pending(connection, prompt, fault, self._body(prompt, letters, used), self._headers())
        if self.settings.slots and self.busy >= self.settings.slots:
            self.queue.append(pending)
        else:
            self._serve(pending)

    def _accept(
        self, connection: Connection, table: dict[str, Any], prompt: int, completion: int, now: float
    ) -> bool:
        """Charge the budgets, or refuse."""
        rpm, tpm = self.rpm, self.tpm
        if self.settings.charge is Charge.MOST:
            completion = table.get("max_tokens") or table.get("max_completion_tokens") or 16
        tokens = prompt + completion
        waits = rpm.wait(1, now) if rpm else 0.0, tpm.wait(tokens, now) if tpm else 0.0
        if any(waits):
            self.refused += 1
            if rpm and self.settings.refusals_count:
                rpm.level -= 1
            name, wait = ("requests", waits[0]) if waits[0] >= waits[1] else ("tokens", waits[1])
            told = self._headers() + b"Retry-After: %d\r\n" % math.ceil(wait)
            text = f"Rate limit reached on {name} per min. Please try again in {wait:.3f}s."
            connection.send(429, error(text, name, "rate_limit_exceeded"), told)
            return False
        if rpm:
            rpm.take(1, now)
        if tpm:
            tpm.take(tokens, now)
        return True

    def _headers(self) -> bytes:
        pairs = ((self.rpm, "requests"), (self.tpm, "tokens"))
        return "".join(bucket.headers(name) for bucket, name in pairs if bucket).encode()

    def _fault(self, prompt: bytes, attempt: int) -> Fault | None:
        if not self.settings.faults:
            return None
        salt = struct.pack("<II", attempt, self.settings.seed)
        digest = blake2b(prompt + salt, digest_size=8).digest()
        place = int.from_bytes(digest, "little") / 2**64
        for fault, share in self.settings.faults.items():
            place -= share
            if place < 0:
                self.faults[fault] += 1
                return fault
        return None

    @staticmethod
    def _answer(prompt: bytes) -> str:
        number = int.from_bytes(prompt, "little")
        x, y = "ABCD"[number & 3], "ABCD"[(number + 1) & 3]
        return _FORMS[(number >> 8) % len(_FORMS)].format(x=x, y=y)

    @staticmethod
    def _body(prompt: bytes, answer: str, prompt_tokens: int) -> bytes:
        return orjson.dumps(
            {
                "id": f"chatcmpl-{prompt.hex()}",
                "object": "chat.completion",
                "created": 1_700_000_000,
                "model": MODEL,
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": answer, "refusal": None},
                        "logprobs": None,
                        "finish_reason": "stop",
                    }
                ],
                "usage": {
                    "prompt_tokens": prompt_tokens,
                    "completion_tokens": len(answer),
                    "total_tokens": prompt_tokens + len(answer),
                },
                "system_fingerprint": "fp_mock",
            }
        )

    def _serve(self, pending: Pending) -> None:
        self.busy += 1
        latency = 0.0 if pending.fault is Fault.REFUSED else self.settings.latency
        if latency:
            self.loop.call_later(latency, self._finish, pending, self.generation)
        else:
            self._finish(pending, self.generation)

    def _finish(self, pending: Pending, generation: object) -> None:
        if generation is not self.generation:
            return
        connection = pending.connection
        self.busy -= 1
        match pending.fault:
            case None:
                connection.send(200, pending.answer, pending.headers)
                self._close(pending, good=True)
            case Fault.REFUSED:
                told = pending.headers + b"Retry-After: %g\r\n" % self.settings.retry_after
                connection.send(429, error("Too many requests", "requests", "rate_limit_exceeded"), told)
                self._close(pending, good=False)
            case Fault.FAILED:
                connection.send(500, error("The server had an error", "server_error"), pending.headers)
                self._close(pending, good=False)
            case Fault.RESET:
                connection.reset()
                self._close(pending, good=False)
            case Fault.MALFORMED:
                connection.send(200, pending.answer[: len(pending.answer) // 2], pending.headers)
                self._close(pending, good=False)
            case Fault.SLOW:
                half = len(pending.answer) // 2
                connection.send(200, pending.answer, pending.headers, upto=half)
                self.loop.call_later(self.settings.slow, self._end_slow, pending, half, generation)
        if self.queue:
            self._serve(self.queue.popleft())

    def _end_slow(self, pending: Pending, sent: int, generation: object) -> None:
        if generation is self.generation:
            pending.connection.write(pending.answer[sent:])
            self._close(pending, good=True)

    def _close(self, pending: Pending, *, good: bool) -> None:
        self.in_flight -= 1
        if pending.connection.lost:
            self.gone += 1
        elif good:
            self.last = self.loop.time()
            self.duplicates += pending.prompt in self.good
            self.good.add(pending.prompt)


class Connection(asyncio.Protocol):
    """One keep-alive connection; a client sends its next request when it has the answer."""

    def __init__(self, mock: Mock) -> None:
        self._mock = mock
        self._received = b""
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        self._mock.opened += 1

    def connection_lost(self, exc: Exception | None) -> None:
        """Remember that nobody reads any more."""
        self.lost = True

    def data_received(self, data: bytes) -> None:
        """Collect one request, then act on it."""
        received = self._received = self._received + data if self._received else data
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return
        length = _LENGTH.search(received, 0, end + 2)
        whole = end + 4 + (int(length[1]) if length else 0)
        if len(received) < whole:
            return
        self._received = b""
        method, path, _ = received.split(b" ", 2)
        body = received[end + 4 : whole]
        if path.endswith(b"/chat/completions"):
            self._mock.ask(self, body)
        elif path.endswith(b"/models"):
            self.send(200, orjson.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}))
        elif path == b"/control":
            self._control(method, body)
        else:
            self.send(404, error("no such path", "invalid_request_error"))

    def _control(self, method: bytes, body: bytes) -> None:
        if method == b"GET":
            self.send(200, orjson.dumps(self._mock.counters()))
            return
        try:
            self._mock.begin(make_settings(orjson.loads(body)))
        except (ValueError, TypeError) as problem:
            self.send(400, error(str(problem), "settings"))
        else:
            self.send(200, b"{}")

    def send(self, status: int, body: bytes, headers: bytes = b"", *, upto: int | None = None) -> None:
        """Write an answer, or only its beginning."""
        head = b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n" % (
            status,
            _REASONS[status],
            len(body),
            headers,
        )
        self.write(head + body[:upto])

    def write(self, data: bytes) -> None:
        """Write, if somebody still reads."""
        if not self.lost:
            self._transport.write(data)

    def reset(self) -> None:
        """Break the connection off, by a reset where the socket allows."""
        with suppress(OSError):
            linger = struct.pack("ii", 1, 0)
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._transport.abort()


def error(message: str, kind: str, code: str | None = None) -> bytes:
    """An error body in OpenAI's form."""
    return orjson.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})


def make_settings(table: Mapping[str, Any]) -> Settings:
    """Settings from JSON.

    Raises:
        ValueError: an unknown name or value.
    """
    known = {one.name for one in fields(Settings)}
    unknown = table.keys() - known
    if unknown:
        wrong, right = (", ".join(sorted(names)) for names in (unknown, known))
        raise ValueError(f"unknown settings: {wrong}; there are {right}")
    values = dict(table)
    if "faults" in values:
        values["faults"] = {Fault(name): float(share) for name, share in values["faults"].items()}
    if "charge" in values:
        values["charge"] = Charge(values["charge"])
    return Settings(**values)


async def serve(port: int, settings: Settings) -> None:
    """Serve on the loopback address until cancelled; the first line printed is the port."""
    mock = Mock(settings)
    gc.disable()  # it makes no cycles, and a pause would count as the client's
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(mock), "127.0.0.1", port, backlog=4096
    )
    click.echo(server.sockets[0].getsockname()[1])
    await server.serve_forever()


@click.command()
@click.option("--port", default=8400, show_default=True, help="0 takes any free one.")
@click.option("--set", "pairs", multiple=True, metavar="NAME=JSON", help="A setting, such as latency=0.2.")
def main(port: int, pairs: tuple[str, ...]) -> None:
    """Serve the model `mock` on 127.0.0.1."""
    try:
        settings = make_settings(
            {name: orjson.loads(value) for name, _, value in (p.partition("=") for p in pairs)}
        )
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None
    with suppress(KeyboardInterrupt):
        run_loop(serve(port, settings))


if __name__ == "__main__":
    main()
