"""What came of a batch that has ended: its results fetched, stored and counted."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from m3ke_async.batch.calling import AwayError, GoneError
from m3ke_async.batch.collect import Collector, add_failed, take_lines, was_received
from m3ke_async.batch.questions import all_keys, estimate
from m3ke_async.errors import StoppedError
from m3ke_async.text import counted

if TYPE_CHECKING:
    from m3ke_async.batch.client import BatchClient
    from m3ke_async.batch.remote import RemoteBatch
    from m3ke_async.batch.state import Batches, Part
    from m3ke_async.session import Session
    from m3ke_async.store import ReplyStore


@dataclass(frozen=True, slots=True)
class Taker:
    """Takes results, a batch at a time.

    Attributes:
        session: the command.
        store: where replies go.
        batches: the run's.
        client: of the provider.
    """

    session: Session
    store: ReplyStore
    batches: Batches
    client: BatchClient

    async def take(self, part: Part, batch: RemoteBatch, *, give_up: bool = False) -> Collector:
        """Store what came of a part, then close it.

        Where replies that are there cannot be read, what can be read is stored, and the part stays open.

        Args:
            part: which.
            batch: that was made of it, and has ended.
            give_up: whether the part is closed though replies cannot be read.

        Raises:
            StoppedError, AwayError: results cannot be read.
            IncompleteError: no place takes a reply, or the results.
        """
        collector = self._collector(part, batch)
        trouble: StoppedError | AwayError | None = None
        strange = are_gone = False
        for number in range(len(batch.results)):
            try:
                strange |= await self._take_file(collector, part, batch, number)
            except GoneError as gone:
                are_gone = True
                self.session.display.warn(f"{batch.id}: {gone}")
            except (StoppedError, AwayError) as error:
                trouble = trouble or error
        if strange and (batch.answered is None or len(collector.replied) < batch.answered):
            trouble = trouble or AwayError(
                "a file of its results holds no line about its questions; collect again later"
            )
        elif batch.answered and not collector.found and not are_gone:
            requests = counted(batch.answered, "request was", "requests were")
            trouble = trouble or AwayError(
                f"it says that {requests} answered, and its results hold none; collect again later"
            )
        if trouble is not None and not give_up:
            self.batches.put(part, unread=True)
            run = self.batches.run.path
            raise type(trouble)(
                f"{batch.id}: {trouble}; where that stays so, take the console's file of results by "
                f"m3ke batch read {run} FILE, and give the batch up by m3ke batch cancel {run}"
            )
        self._close(collector, part, batch, trouble)
        return collector

    def _collector(self, part: Part, batch: RemoteBatch) -> Collector:
        session = self.session
        known = {key: estimate(chars) for key, chars in self.batches.requests(part)}
        if len(known) < part.requests:  # its file was lost; a reply to any request of the run is welcome
            known |= all_keys(session.evaluation)
        return Collector(
            store=self.store,
            target=session.target,
            known=known,
            answered=partial(was_received, self.store, since=part.submitted_at if part.replace else 0.0),
            since=part.submitted_at,
            # The provider's clock may be wrong, and a reply of the future would never be an old one.
            received_at=min(time.time(), max(part.submitted_at, batch.ended_at or time.time())),
            warn=session.display.warn,
            tally=session.tally,
        )

    async def _take_file(self, collector: Collector, part: Part, batch: RemoteBatch, number: int) -> bool:
        """Take a file of results; whether it is another: it has lines, and none about a question."""
        path = self.batches.file(part).with_suffix(f".results-{number}")
        path.parent.mkdir(parents=True, exist_ok=True)
        await self.client.download(batch.results[number], path)
        found, passed_over = collector.found, collector.malformed + collector.unknown
        await take_lines(collector, path, self.session.record)
        path.unlink()
        return collector.found == found and collector.malformed + collector.unknown > passed_over

    def _close(
        self, collector: Collector, part: Part, batch: RemoteBatch, trouble: StoppedError | AwayError | None
    ) -> None:
        """Count what came, and tell what did not."""
        display = self.session.display
        for line in collector.lines():
            display.warn(f"{batch.id}: {line}")
        if trouble is not None:
            display.warn(f"{batch.id}: what could not be read of its results is given up")
        add_failed(self.session, collector)
        replies, failed = len(collector.replied), len(collector.failed - collector.replied)
        reason = batch.trouble if trouble is None else "results could not be read"
        self.batches.close(part, replies=replies, failed=failed, reason=reason)
        missing = part.requests - replies
        if missing:
            why = f" ({batch.trouble})" if batch.trouble else ""
            ended = f"{batch.id} is {batch.status}{why}"
            then = self.session.evaluation.settings.then
            display.warn(
                f"{ended}: {missing:,} of {counted(part.requests, 'question has', 'questions have')} no reply"
                + ("" if then else "; submit them again, or ask them now by --then live")
            )
