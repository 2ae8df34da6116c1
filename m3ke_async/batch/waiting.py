"""The batches of a run until they end: looked at, waited for, and their results taken."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from m3ke_async.batch.calling import AwayError, GoneError, for_each
from m3ke_async.batch.collect import Collector, add_to_tally, take_lines
from m3ke_async.batch.questions import all_keys, estimate, requests_of
from m3ke_async.batch.state import Stage
from m3ke_async.errors import IncompleteError, StoppedError
from m3ke_async.progress import duration
from m3ke_async.text import counted

if TYPE_CHECKING:
    from m3ke_async.batch.client import BatchClient
    from m3ke_async.batch.remote import RemoteBatch
    from m3ke_async.batch.state import Batches, Part
    from m3ke_async.batch.submitting import Submitter
    from m3ke_async.session import Session
    from m3ke_async.store import ReplyStore

#: Seconds between two looks at the batches: at first, and at most.
_SOON, _SELDOM = 5.0, 60.0

#: Seconds without an answer after which waiting ends.
_PATIENCE = 3600.0


class Waiter:
    """Waits for the batches of one run, and takes what comes of them.

    Args:
        session: the command.
        store: where replies go.
        batches: the run's.
        client: of the provider.
        submitter: carries on with what an earlier command had begun, or what found no room.
    """

    def __init__(
        self,
        session: Session,
        store: ReplyStore,
        batches: Batches,
        client: BatchClient,
        submitter: Submitter,
    ) -> None:
        self._session, self._store, self._batches = session, store, batches
        self._client, self._submitter = client, submitter
        self._settings = session.evaluation.settings
        self._said: dict[str, object] = {}

    async def collect(self, *, wait: bool) -> None:
        """Take the results of every batch that has ended, and wait for the others where that is wanted.

        Raises:
            StartOverError: every request was refused for something that can be sent otherwise.
            IncompleteError: batches are under way still.
        """
        if wait and self._batches.open:
            self._submitter.say_open()
        loop = asyncio.get_running_loop()
        started, pause, heard = loop.time(), _SOON, loop.time()
        while True:
            try:
                await for_each(self._batches.open, self._look)
                await for_each(await self._submitter.carry_on(), self._look)
                await for_each(await self._submitter.submit_again(), self._look)
                heard = loop.time()
            except AwayError as away:
                if not wait or loop.time() - heard > _PATIENCE:
                    raise
                self._session.display.warn(f"{away}; it is asked again in {pause:.0f} s")
            parts = self._batches.open
            if not parts:
                return
            if not wait:
                raise IncompleteError(self._going_on(parts))
            limit = self._settings.max_time
            if limit is not None and loop.time() - started + pause > limit:
                raise IncompleteError(f"stopped at --max-time {limit:g}: {self._going_on(parts)}")
            await asyncio.sleep(pause)
            pause = min(_SELDOM, pause * 1.5)

    def _going_on(self, parts: list[Part]) -> str:
        questions = sum(part.requests for part in parts)
        those = counted(questions, "question is", "questions are")
        return f"{those} in batches that are under way: collect again later"

    async def _look(self, part: Part) -> None:
        """See how far a part is, and take its results where it has ended."""
        if part.batch_id is None:
            return  # it waits for room
        try:
            batch = await self._client.retrieve(part.batch_id)
        except GoneError as gone:
            run = self._session.directory.path
            raise StoppedError(
                f"{gone}; if the key is of the account that submitted it, forget it: m3ke batch cancel {run}"
            ) from None
        self._say(part, batch)
        if part.status != batch.status:
            part = self._batches.put(part, status=batch.status)
        if not batch.is_ended:
            return
        if batch.found_no_room:
            self._batches.put(
                part,
                stage=Stage.UPLOADED,
                batch_id=None,
                dead=(*part.dead, batch.id),
                reason=batch.trouble,
            )
            return
        await self._take(part, batch)

    async def _take(self, part: Part, batch: RemoteBatch) -> None:
        """Store what came of a part, then close it."""
        session = self._session
        known = {key: estimate(chars) for key, chars in self._batches.requests(part)}
        if len(known) < part.requests:  # its file was lost; a reply to any request of the run is welcome
            known |= all_keys(session.evaluation)
        collector = Collector(
            store=self._store,
            target=session.target,
            known=known,
            replace=part.replace,
            # The provider's clock may be wrong, and a reply of the future would never be an old one.
            received_at=min(time.time(), max(part.submitted_at, batch.ended_at or time.time())),
            warn=session.display.warn,
        )
        for number, file in enumerate(batch.results):
            path = self._batches.file(part).with_suffix(f".results-{number}")
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                await self._client.download(file, path)
            except GoneError as gone:
                session.display.warn(f"{batch.id}: {gone}")
                continue
            await take_lines(collector, path)
            path.unlink()
        for line in collector.lines():
            session.display.warn(f"{batch.id}: {line}")
        add_to_tally(session, collector)
        failed = len(collector.failed - collector.replied)
        self._batches.close(part, replies=len(collector.replied), failed=failed, reason=batch.trouble)
        missing = part.requests - len(collector.replied)
        if missing:
            trouble = f" ({batch.trouble})" if batch.trouble else ""
            ended = f"{batch.id} is {batch.status}{trouble}"
            session.display.warn(
                f"{ended}: {missing:,} of {counted(part.requests, 'question has', 'questions have')} no reply"
                + ("" if self._settings.then else "; submit them again, or ask them now by --then live")
            )
        self._adapt(collector)

    def _adapt(self, collector: Collector) -> None:
        """Start over where all was refused for something that can be sent otherwise."""
        refused = collector.refused
        if refused is None or collector.replied or _was_answered(self._session):
            return
        for request in requests_of(self._session.evaluation):
            if request.key == refused.key:
                refusal = self._session.refusal(refused.kind, request.body, refused.body)
                if refusal is not None:
                    raise refusal
                return

    def _say(self, part: Part, batch: RemoteBatch) -> None:
        """Say how far a batch is when that has changed by a twentieth."""
        share = None if not batch.total or batch.done is None else batch.done * 20 // batch.total
        state = (batch.status, share)
        if self._said.get(part.name) != state:
            self._said[part.name] = state
            done = "" if batch.total is None else f", {batch.done or 0:,} of {batch.total:,} done"
            since = duration(max(0.0, time.time() - part.submitted_at))
            self._session.display.say(f"{batch.id}: {batch.status}{done}, {since} after it was submitted")


def _was_answered(session: Session) -> bool:
    """Whether questions of this run got replies: then its settings are not what is wrong."""
    return session.tally.stored + session.tally.ledger.replies > 0
