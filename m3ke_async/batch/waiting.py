"""The batches of a run until they end: looked at, waited for, and their results taken."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from m3ke_async.batch.calling import AwayError, GoneError, for_each
from m3ke_async.batch.questions import requests_of
from m3ke_async.batch.state import Stage
from m3ke_async.errors import IncompleteError, StoppedError
from m3ke_async.progress import duration
from m3ke_async.text import counted

if TYPE_CHECKING:
    from m3ke_async.batch.client import BatchClient
    from m3ke_async.batch.remote import RemoteBatch
    from m3ke_async.batch.state import Batches, Part
    from m3ke_async.batch.storing import Storer
    from m3ke_async.batch.submitting import Submitter
    from m3ke_async.batch.taking import Taker
    from m3ke_async.session import Session

#: Seconds between two looks at the batches: at first, and at most.
_SOON, _SELDOM = 5.0, 60.0

#: Seconds without an answer after which waiting ends.
_PATIENCE = 3600.0


class Waiter:
    """Waits for the batches of one run, and takes what comes of them.

    Args:
        session: the command.
        batches: the run's.
        client: of the provider.
        submitter: carries on with what an earlier command had begun, or what found no room.
        taker: takes results.
    """

    def __init__(
        self, session: Session, batches: Batches, client: BatchClient, submitter: Submitter, taker: Taker
    ) -> None:
        self._session, self._batches, self._client = session, batches, client
        self._submitter, self._taker = submitter, taker
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
                submitter = self._submitter
                steps = (submitter.carry_on, self._look_at_all, submitter.submit_again)
                await for_each(steps, lambda step: step())
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

    async def _look_at_all(self) -> None:
        await for_each(self._batches.open, self._look)

    async def _look(self, part: Part) -> None:
        """See how far a part is, and take its results where it has ended."""
        if part.batch_id is None:
            return  # it is not there yet
        try:
            batch = await self._client.retrieve(part.batch_id)
        except GoneError as gone:
            run = self._session.directory.quoted
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
        self._adapt(await self._taker.take(part, batch))

    def _adapt(self, storer: Storer) -> None:
        """Start over where all was refused for something that can be sent otherwise."""
        refused = storer.refused
        if refused is None or storer.replied or _was_answered(self._session):
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
            since = duration(part.age)
            self._session.display.say(f"{batch.id}: {batch.progress}, {since} after it was submitted")


def _was_answered(session: Session) -> bool:
    """Whether questions of this run got replies: then its settings are not what is wrong."""
    return session.tally.stored + session.tally.ledger.replies > 0
