"""Results of a batch into the store, as if each had come over the wire, in whatever order they stand.

As live, a result is stored, then counted: what the store holds already was counted by whoever put it there,
be it an earlier command, one that was killed or another run. So nothing is counted twice, and a kill costs
the ledger the last lines.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from m3ke_async.batch.line import read_result
from m3ke_async.errors import IncompleteError
from m3ke_async.faults import Action, decide
from m3ke_async.request import FILTERED, Reply, RequestKey
from m3ke_async.scrub import scrub_all
from m3ke_async.store import Failure, StoreError
from m3ke_async.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from m3ke_async.batch.line import ResultLine
    from m3ke_async.request import Usage
    from m3ke_async.rules import Kind
    from m3ke_async.session import Session
    from m3ke_async.store import ReplyStore
    from m3ke_async.target import Target

#: A line of this many bytes is no reply to a question.
MAX_LINE = 4 * 1024 * 1024

#: Lines that are stored before others may run, and before the ledger is written.
_PASS, _RECORD = 64, 1024

#: The kind of failure of a request that its batch never sent.
NOT_ASKED = "batch_ended"


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that was refused, for whoever knows what to send in its place."""

    key: bytes
    kind: Kind
    body: bytes


@dataclass(slots=True)
class Storer:
    """Stores and counts what one line of results after another says.

    Attributes:
        store: keeps replies and failures.
        target: who was asked.
        known: the prompt's estimated tokens by the keys of the requests that may come.
        answered: whether the request with a key has its reply, so that its lines are passed over; a reply
            from before that does not count takes second place.
        since: Unix time before which no failure of these results was stored.
        received_at: Unix time of the batch's end.
        warn: is told, in one line, of trouble with the store.
        replied, failed: keys of lines, each of which counts once; what was answered before was replied.
        failures: of the failed, by kind.
        found: lines about known requests.
        duplicates, unknown, malformed: lines that were passed over.
        earlier: lines whose result was stored, and so counted, before.
        refused: the first refusal.
        tally: counts what is stored now.
    """

    store: ReplyStore
    target: Target
    known: Mapping[bytes, int]
    answered: Callable[[bytes], bool]
    since: float = 0.0
    received_at: float = field(default_factory=time.time)
    warn: Callable[[str], None] = lambda line: None
    replied: set[bytes] = field(default_factory=set)
    failed: set[bytes] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)
    found: int = 0
    duplicates: int = 0
    unknown: int = 0
    malformed: int = 0
    earlier: int = 0
    refused: Refused | None = None
    tally: Tally = field(default_factory=Tally)

    def take(self, raw: bytes) -> None:
        """Store what a line holds; the first reply to a request counts, and goes before failures.

        Raises:
            IncompleteError: no place takes a reply; the same results can be taken again.
        """
        if not raw.strip():
            return
        line = read_result(raw) if len(raw) < MAX_LINE else None
        if line is None:
            self.malformed += 1
            return
        key = line.key
        if key is None or key not in self.known:
            self.unknown += 1
            return
        self.found += 1
        if key in self.replied:
            self.duplicates += 1
        elif self.answered(key):
            self.replied.add(key)
            self.earlier += 1
        else:
            self._take(key, line)

    def _take(self, key: bytes, line: ResultLine) -> None:
        profile = self.target.profile
        found = self.target.protocol.parse(line.body, profile) if 200 <= line.status < 300 else None
        if found is not None:
            self._keep(key, found)
            return
        if not line.asked:
            self._fail(key, line, NOT_ASKED, f"{profile.title}: the batch ended before it was asked")
            return
        decision = decide(
            profile, status=line.status, headers={}, body=line.body, exception=None, now=self.received_at
        )
        if decision.action is Action.RECORD_FILTERED:
            self._keep(key, Reply(text="", finish_reason=FILTERED))
            return
        self.refused = self.refused or Refused(key, decision.kind, line.body)
        self._fail(key, line, decision.kind, decision.message)

    def _keep(self, key: bytes, reply: Reply) -> None:
        reply = replace(reply, received_at=self.received_at)
        again = self.store.get(key) is not None
        self._write(lambda: self.store.put(self._request(key), reply, replace=again))
        self.replied.add(key)
        self.tally.answered += 1
        ledger = self.tally.ledger
        prompt, completion = ledger.prompt_tokens, ledger.completion_tokens
        ledger.requests += 1
        ledger.add_reply(reply, estimate=self.known[key])
        ledger.batch_prompt_tokens += ledger.prompt_tokens - prompt
        ledger.batch_completion_tokens += ledger.completion_tokens - completion

    def _fail(self, key: bytes, line: ResultLine, kind: str, message: str) -> None:
        if key in self.failed:
            self.duplicates += 1
            return
        self.failed.add(key)
        self.failures[kind] += 1
        secrets = self.target.secrets
        failure = Failure.kept(kind, scrub_all(message, secrets), line.body, 1, secrets)
        stored = self.store.get_failure(key)
        if stored == failure and stored.failed_at >= self.since:
            self.earlier += 1
            return
        self._write(lambda: self.store.put_failure(self._request(key), failure))
        if line.asked:
            self._count_failed(kind, self.target.protocol.usage_of(line.body, self.target.profile))

    def _count_failed(self, kind: str, usage: Usage) -> None:
        ledger = self.tally.ledger
        prompt, completion = usage.prompt_tokens or 0, usage.completion_tokens or 0
        ledger.requests += 1
        ledger.add_failure(kind, estimate=prompt, completion=completion)
        ledger.add_charge(usage)
        ledger.batch_prompt_tokens += prompt
        ledger.batch_completion_tokens += completion

    def _request(self, key: bytes) -> RequestKey:
        return RequestKey(key, self.target.profile.name)

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except StoreError as error:
            if not error.kept:
                raise IncompleteError(f"{error}; make room, then run the command again") from error
            self.warn(str(error))

    def lines(self) -> Iterator[str]:
        """What was odd, a line each."""
        odd = (
            (self.malformed, "that cannot be read, and were left out"),
            (self.unknown, "about requests that were not sent, and were left out"),
            (self.duplicates, "that are there twice, and count once"),
            (self.earlier, "that were stored before, and count once"),
        )
        yield from (f"lines {what}: {count:,}" for count, what in odd if count)


async def take_lines(storer: Storer, path: Path, record: Callable[[], None]) -> None:
    """Take the lines of a file of results.

    Args:
        storer: of what they say.
        path: of the file.
        record: writes what was counted until then.
    """
    with path.open("rb") as file:
        # A line without an end is cut into pieces, none of which is a line.
        for number, raw in enumerate(iter(partial(file.readline, MAX_LINE), b""), 1):
            storer.take(raw)
            if number % _PASS == 0:
                await asyncio.sleep(0)
            if number % _RECORD == 0:
                record()
    record()


def was_received(store: ReplyStore, key: bytes, since: float) -> bool:
    """Whether the reply to a request came at this Unix time or later."""
    reply = store.get(key)
    return reply is not None and reply.received_at >= since


def add_failed(session: Session, storer: Storer) -> None:
    """Count the questions that results left without a reply."""
    tally = session.tally
    tally.failed += len(storer.failed - storer.replied)
    tally.failures.update(storer.failures)
