"""What a run owes to the provider: written into files, submitted once, carried on where a command ended."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from m3ke_async.batch.calling import for_each
from m3ke_async.batch.client import batch_address, batch_api
from m3ke_async.batch.doubt import find_made
from m3ke_async.batch.questions import owed_requests
from m3ke_async.batch.request_files import Limit, write_parts
from m3ke_async.batch.state import FOLDER_NAME, Stage, under_way
from m3ke_async.errors import IncompleteError
from m3ke_async.owed import left_to_others
from m3ke_async.text import counted
from m3ke_async.verified import locked

if TYPE_CHECKING:
    from m3ke_async.batch.client import BatchClient
    from m3ke_async.batch.remote import RemoteBatch
    from m3ke_async.batch.state import Batches, Part
    from m3ke_async.session import Session
    from m3ke_async.store import ReplyStore
    from m3ke_async.tally import Price

#: Times that a part which finds no room is submitted again.
_MOST_TRIES = 3


class Submitter:
    """Brings the questions of one run to the provider.

    Args:
        session: the command.
        store: what has a reply.
        batches: the run's.
        client: of the provider.
        price: of tokens, where known.
    """

    def __init__(
        self, session: Session, store: ReplyStore, batches: Batches, client: BatchClient, price: Price | None
    ) -> None:
        self._session, self._store, self._batches = session, store, batches
        self._client, self._price = client, price
        self._settings = session.evaluation.settings
        self._address = batch_address(session.target, session.evaluation.address)
        self._api = batch_api(session.target)
        self._collect = f"m3ke batch collect {session.directory.quoted}"

    async def submit(self) -> None:
        """Carry on with what an earlier command began, and submit what is owed beside it.

        Raises:
            StoppedError, AwayError: the provider does not take a part; the others were brought to it.
        """
        await for_each((self.carry_on, self._submit_owed), lambda step: step())

    async def _submit_owed(self) -> None:
        """Submit what is owed and in no open part, also where it is not known what became of one."""
        session, display = self._session, self._session.display
        self._batches.drop_unsent()
        limit = Limit(self._settings, self._price)
        again = self._settings.fresh or self._settings.retry_filtered
        results = session.directory.path.parent
        with locked(results / FOLDER_NAME):  # two runs that share questions must see each other's
            session.elsewhere = under_way(results)
            requests = owed_requests(session, self._store)
            within = (request for request in requests if limit.reached is None and limit.allows(request))
            written = write_parts(within, self._batches, self._api, self._address.public, replace=again)
            parts = [self._batches.put(part, stage=Stage.UPLOADING) for part in list(written)]
        if (left := left_to_others(session, self._store)) is not None:
            display.say(left)
        if limit.reached is not None:
            display.say(
                f"not everything is submitted now: {limit.reached}, by the most that its requests may use; "
                "submit again for the rest"
            )
        await for_each(parts, partial(self._submit, begun=False))

    async def carry_on(self) -> None:
        """Bring to the provider what an earlier command had begun with, or find it there.

        Raises:
            StoppedError, AwayError: as of `submit`.
        """
        begun = [one for one in self._batches.open if one.batch_id is None and not one.waits_for_room]
        await for_each(begun, self._submit)

    async def _submit(self, part: Part, *, begun: bool = True) -> None:
        """Bring one part to the provider, once, from wherever it is.

        Args:
            part: which.
            begun: whether an earlier command may have uploaded it.
        """
        batches, client = self._batches, self._client
        if part.stage is Stage.UPLOADING:
            file_id = await client.upload(batches.file(part), begun=begun)
            part = batches.put(part, stage=Stage.UPLOADED, file_id=file_id)
        found: RemoteBatch | None = None

        async def look() -> RemoteBatch | None:
            return await find_made(client, part, self._collect)

        if part.stage is Stage.CREATING:
            found = await look()
        if found is None:
            part = batches.put(part, stage=Stage.CREATING, submitted_at=time.time())
        made = found or await client.create(part.file_id or "", before_again=look)
        batches.put(part, stage=Stage.SUBMITTED, batch_id=made.id, status=made.status)
        questions = counted(part.requests, "question")
        self._session.display.say(
            f"submitted {questions} as {made.id} ({made.status})"
            if found is None
            else f"found {made.id} ({made.status}), which an earlier command made of {questions}"
        )

    async def submit_again(self) -> None:
        """Submit a part that found no room, now that nothing else takes it."""
        waiting = [part for part in self._batches.open if part.waits_for_room]
        if len(waiting) < len(self._batches.open) or not waiting:
            return
        if len(waiting[0].dead) <= _MOST_TRIES:
            await self._submit(waiting[0])
            return
        for part in waiting:
            self._batches.close(part)
        questions = sum(part.requests for part in waiting)
        those = counted(questions, "question is", "questions are")
        trouble = f"{those} too many at once ({waiting[0].reason})"
        if self._settings.then is None:
            run = self._session.directory.quoted
            raise IncompleteError(
                f"{trouble}: m3ke batch submit {run} --max-requests N submits fewer, and again for the rest"
            )
        self._session.display.warn(f"{trouble}, and asked now")

    def say_open(self) -> None:
        """Say what is under way, and how to go on."""
        parts = self._batches.open
        if not parts:
            if left_to_others(self._session, self._store) is None:
                self._session.display.say("nothing is under way")
            return
        hours = self._api.window_hours
        run, title = self._session.directory.quoted, self._session.target.profile.title
        ends = sum(part.requests for part in parts if part.status.startswith("cancel"))
        if ends:
            self._session.display.say(
                f"{counted(ends, 'question is', 'questions are')} in batches that are being cancelled; "
                f"to collect what was answered before: {self._collect}; to submit the rest then: "
                f"m3ke batch submit {run}"
            )
        questions = sum(part.requests for part in parts) - ends
        if questions:
            within = f", which has {counted(hours, 'hour')}" if hours else ""
            self._session.display.say(
                f"{counted(questions, 'question is', 'questions are')} with {title}{within}; "
                f"to collect: {self._collect}"
                + (", with the address and its key by --base-url" if self._address.secrets else "")
            )
