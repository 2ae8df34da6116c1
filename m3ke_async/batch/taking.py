"""The results of a batch that has ended: fetched, taken into the store, and its part closed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from m3ke_async.batch.calling import AwayError, GoneError
from m3ke_async.batch.questions import all_keys, estimate
from m3ke_async.batch.storing import Storer, add_failed, take_lines, was_received
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

    async def take(self, part: Part, batch: RemoteBatch, *, give_up: bool = False) -> Storer:
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
        storer = self._storer(part, batch)
        trouble: StoppedError | AwayError | None = None
        strange = are_gone = False
        for number in range(len(batch.results)):
            try:
                strange |= await self._take_file(storer, part, batch, number)
            except GoneError as gone:
                are_gone = True
                self.session.display.warn(f"{batch.id}: {gone}")
            except (StoppedError, AwayError) as error:
                trouble = trouble or error
        if strange and (batch.answered is None or len(storer.replied) < batch.answered):
            trouble = trouble or AwayError(
                "a file of its results holds no line about its questions; collect again later"
            )
        elif batch.answered and not storer.found and not are_gone:
            requests = counted(batch.answered, "request was", "requests were")
            trouble = trouble or AwayError(
                f"it says that {requests} answered, and its results hold none; collect again later"
            )
        if trouble is not None and not give_up:
            self.batches.put(part, unread=True)
            run = self.batches.run.quoted
            raise type(trouble)(
                f"{batch.id}: {trouble}; where that stays so, take the console's file of results by "
                f"m3ke batch read {run} FILE, and give the batch up by m3ke batch cancel {run}"
            )
        self._close(storer, part, batch, trouble)
        return storer

    def _storer(self, part: Part, batch: RemoteBatch) -> Storer:
        session = self.session
        known = {key: estimate(chars) for key, chars in self.batches.requests(part)}
        if len(known) < part.requests:  # its file was lost; a reply to any request of the run is welcome
            known |= all_keys(session.evaluation)
        return Storer(
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

    async def _take_file(self, storer: Storer, part: Part, batch: RemoteBatch, number: int) -> bool:
        """Take a file of results; whether it is another: it has lines, and none about a question."""
        path = self.batches.file(part).with_suffix(f".results-{number}")
        path.parent.mkdir(parents=True, exist_ok=True)
        await self.client.download(batch.results[number], path)
        found, passed_over = storer.found, storer.malformed + storer.unknown
        await take_lines(storer, path, self.session.record)
        path.unlink()
        return storer.found == found and storer.malformed + storer.unknown > passed_over

    def _close(
        self, storer: Storer, part: Part, batch: RemoteBatch, trouble: StoppedError | AwayError | None
    ) -> None:
        """Count what came, and tell what did not."""
        display = self.session.display
        for line in storer.lines():
            display.warn(f"{batch.id}: {line}")
        if trouble is not None:
            display.warn(f"{batch.id}: what could not be read of its results is given up")
        add_failed(self.session, storer)
        replies, failed = len(storer.replied), len(storer.failed - storer.replied)
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
