"""A run's questions by batches: submit what is owed, wait, collect; each goes on where a command ended."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

from m3ke_async.adaptation import StartOverError
from m3ke_async.batch.client import AwayError, BatchClient, GoneError, batch_address, batch_api
from m3ke_async.batch.collect import Collector, add_to_tally, take_lines
from m3ke_async.batch.questions import (
    all_keys,
    check_answers,
    count_stored,
    estimate,
    owed_requests,
    requests_of,
)
from m3ke_async.batch.state import FOLDER_NAME, Batches, Part, Stage, under_way
from m3ke_async.batch.write import Limit, write_parts
from m3ke_async.errors import DataError, IncompleteError, StoppedError
from m3ke_async.progress import duration
from m3ke_async.session import ask, left_to_others
from m3ke_async.text import counted
from m3ke_async.verified import locked

if TYPE_CHECKING:
    from m3ke_async.batch.remote import RemoteBatch
    from m3ke_async.session import Session
    from m3ke_async.settings import RunSettings
    from m3ke_async.store import ReplyStore
    from m3ke_async.tally import Price
    from m3ke_async.target import Target

#: Seconds between two looks at the batches: at first, and at most.
_SOON, _SELDOM = 5.0, 60.0

#: Seconds without an answer after which waiting ends.
_PATIENCE = 3600.0

#: Times that a part which finds no room is submitted again.
_MOST_TRIES = 3


class Steps(Enum):
    """How far a command goes."""

    SUBMIT = "submit"
    COLLECT = "collect"
    CANCEL = "cancel"
    ALL = "all"


def check_batch(target: Target, settings: RunSettings) -> None:
    """Refuse what no batch can do, before anything is written.

    Raises:
        UsageError: the provider takes no batches, or none of such requests.
    """
    batch_api(target)
    check_answers(settings)


async def ask_in_batches(
    session: Session, store: ReplyStore, *, price: Price | None, signals: bool, steps: Steps = Steps.ALL
) -> None:
    """Ask everything that is owed by batches, as far as the steps go.

    Raises:
        DataError: batch.json is damaged.
        IncompleteError: batches are under way, or left questions without a reply.
        StoppedError: the provider refuses.
    """
    settings = session.evaluation.settings
    batches, results = Batches.read(session.directory), session.directory.path.parent
    work = _Work(session, store, batches, price)
    started = asyncio.get_running_loop().time()
    try:
        async with work.client:
            if steps is Steps.CANCEL:
                await work.cancel()
                count_stored(session, store)
                return
            if steps is Steps.COLLECT:
                count_stored(session, store)
            else:
                await work.submit()
            if steps is Steps.SUBMIT:
                work.say_open()
                session.elsewhere = {}  # what could be submitted is, and the rest was told of
                return
            while True:
                try:
                    await work.collect(wait=steps is Steps.ALL)
                    break
                except StartOverError as refusal:
                    session.start_over(refusal)
                    if steps is Steps.COLLECT and settings.then is None:
                        raise IncompleteError(
                            f"{refusal}; to submit that: m3ke batch submit {session.directory.path}"
                        ) from None
                if steps is Steps.ALL:
                    await work.submit()
    finally:
        session.tally.ledger.seconds += asyncio.get_running_loop().time() - started
    session.tally.total = session.evaluation.total  # what was under way has come, or is owed
    if settings.then is not None:
        session.tally.start_over(session.evaluation.total)
        session.elsewhere = under_way(results)
        await ask(session, store, price=price, signals=signals)
    elif steps is Steps.COLLECT:
        with suppress(DataError):  # of another run, whose trouble is told where something is asked
            session.elsewhere = under_way(results)


class _Work:
    """One command at the batches of one run."""

    def __init__(self, session: Session, store: ReplyStore, batches: Batches, price: Price | None) -> None:
        self._session, self._store, self._batches, self._price = session, store, batches, price
        self._settings = session.evaluation.settings
        target = session.target
        self._address = batch_address(target, session.evaluation.address)
        self._api = batch_api(target)
        self._said: dict[str, object] = {}
        self.client = BatchClient(target, self._address, self._settings, warn=session.display.warn)

    # -- submit ----------------------------------------------------------------------

    async def submit(self) -> None:
        """Carry on with what an earlier command began, then submit what is owed beside it."""
        session, display = self._session, self._session.display
        await self._carry_on()
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
        for part in parts:
            await self._submit(part, begun=False)

    async def _carry_on(self) -> list[Part]:
        """Bring what an earlier command had begun with to the provider; those that were there already."""
        begun = [one for one in self._batches.open if one.stage is not Stage.SUBMITTED and not one.dead]
        return [self._batches.parts[one.name] for one in begun if await self._submit(one)]

    async def _submit(self, part: Part, *, begun: bool = True) -> bool:
        """Bring one part to the provider, once, from wherever it is; whether its batch was there already.

        Args:
            part: which.
            begun: whether an earlier command may have uploaded it.
        """
        batches, client = self._batches, self.client
        if part.stage is Stage.UPLOADING:
            file_id = await client.upload(batches.file(part), begun=begun)
            part = batches.put(part, stage=Stage.UPLOADED, file_id=file_id)
        file_id, found = part.file_id or "", None
        if part.stage is Stage.CREATING:
            found = await client.find_batch(file_id, part.dead)
        if found is None:
            part = batches.put(part, stage=Stage.CREATING, submitted_at=time.time())
        made = found or await client.create(file_id, dead=part.dead)
        batches.put(part, stage=Stage.SUBMITTED, batch_id=made.id, status=made.status)
        questions = counted(part.requests, "question")
        self._session.display.say(
            f"submitted {questions} as {made.id} ({made.status})"
            if found is None
            else f"found {made.id} ({made.status}), which an earlier command made of {questions}"
        )
        return found is not None

    def say_open(self) -> None:
        """Say what is under way, and how to go on."""
        parts = self._batches.open
        if not parts:
            if left_to_others(self._session, self._store) is None:
                self._session.display.say("nothing is under way")
            return
        hours = self._api.window_hours
        run, title = self._session.directory.path, self._session.target.profile.title
        collect = f"m3ke batch collect {run}"
        ends = sum(part.requests for part in parts if part.status.startswith("cancel"))
        if ends:
            self._session.display.say(
                f"{counted(ends, 'question is', 'questions are')} in batches that are being cancelled; "
                f"to collect what was answered before: {collect}; to submit the rest then: "
                f"m3ke batch submit {run}"
            )
        questions = sum(part.requests for part in parts) - ends
        if questions:
            within = f", which has {counted(hours, 'hour')}" if hours else ""
            self._session.display.say(
                f"{counted(questions, 'question is', 'questions are')} with {title}{within}; "
                f"to collect: {collect}"
            )

    # -- collect ---------------------------------------------------------------------

    async def collect(self, *, wait: bool) -> None:
        """Take the results of every batch that has ended, and wait for the others where that is wanted.

        Raises:
            StartOverError: every request was refused for something that can be sent otherwise.
            IncompleteError: batches are under way still.
        """
        if wait and self._batches.open:
            self.say_open()
        loop = asyncio.get_running_loop()
        started, pause, heard = loop.time(), _SOON, loop.time()
        while True:
            try:
                await self._look_at_all(self._batches.open)
                await self._look_at_all(await self._carry_on())
                await self._look_at_all(await self._submit_again())
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

    async def _look_at_all(self, parts: list[Part]) -> None:
        """See how far parts are; one that cannot be had holds back no other."""
        trouble: StoppedError | AwayError | None = None
        for part in parts:
            try:
                await self._look(part)
            except (StoppedError, AwayError) as error:
                trouble = trouble or error
        if trouble is not None:
            raise trouble

    async def _look(self, part: Part) -> None:
        """See how far a part is, and take its results where it has ended."""
        if part.batch_id is None:
            return  # it waits for room
        try:
            batch = await self.client.retrieve(part.batch_id)
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

    async def _submit_again(self) -> list[Part]:
        """Submit a part that found no room, now that nothing else takes it; it where it was there already."""
        waiting = [part for part in self._batches.open if part.batch_id is None and part.dead]
        if not waiting or any(part.stage is Stage.SUBMITTED for part in self._batches.open):
            return []
        if len(waiting[0].dead) <= _MOST_TRIES:
            part = waiting[0]
            return [self._batches.parts[part.name]] if await self._submit(part) else []
        for part in waiting:
            self._batches.close(part)
        questions = sum(part.requests for part in waiting)
        those = counted(questions, "question is", "questions are")
        trouble = f"{those} too many at once ({waiting[0].reason})"
        if self._settings.then is None:
            run = self._session.directory.path
            raise IncompleteError(
                f"{trouble}: m3ke batch submit {run} --max-requests N submits fewer, and again for the rest"
            )
        self._session.display.warn(f"{trouble}, and asked now")
        return []

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
                await self.client.download(file, path)
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
        if refused is None or collector.replied or session_was_answered(self._session):
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

    # -- cancel ----------------------------------------------------------------------

    async def cancel(self) -> None:
        """Begin nothing more; what was answered already can be collected, and is paid."""
        for part in self._batches.open:
            batch_id = part.batch_id
            if part.stage is Stage.CREATING:  # it may be there without its name being known
                found = await self.client.find_batch(part.file_id or "", part.dead)
                batch_id = found.id if found is not None else None
            if batch_id is None:
                self._batches.close(part, reason="cancelled before it was submitted")
                continue
            await self._cancel(self._batches.put(part, stage=Stage.SUBMITTED, batch_id=batch_id), batch_id)

    async def _cancel(self, part: Part, batch_id: str) -> None:
        try:
            batch = await self.client.retrieve(batch_id)
        except GoneError:
            forgotten = "the provider does not know it any more"
            self._batches.close(part, reason=forgotten)
            self._session.display.warn(f"{batch_id}: {forgotten}, and it is forgotten here")
            return
        if not batch.is_ended:
            batch = await self.client.cancel(batch_id)
        self._batches.put(part, status=batch.status)
        self._session.display.say(f"{batch.id}: {batch.status}; collect what was answered before")


def session_was_answered(session: Session) -> bool:
    """Whether questions of this run got replies: then its settings are not what is wrong."""
    return session.tally.stored + session.tally.ledger.replies > 0
