"""A run's questions by batches, as far as a command goes; each command goes on where another ended."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

from m3ke_async.adaptation import StartOverError
from m3ke_async.batch.cancelling import Canceller
from m3ke_async.batch.client import BatchClient, batch_address, batch_api
from m3ke_async.batch.doubt import take_word
from m3ke_async.batch.questions import check_answers, count_stored
from m3ke_async.batch.state import Batches, under_way
from m3ke_async.batch.submitting import Submitter
from m3ke_async.batch.taking import Taker
from m3ke_async.batch.waiting import Waiter
from m3ke_async.errors import DataError, IncompleteError
from m3ke_async.session import ask

if TYPE_CHECKING:
    from m3ke_async.session import Session
    from m3ke_async.settings import RunSettings
    from m3ke_async.store import ReplyStore
    from m3ke_async.tally import Price
    from m3ke_async.target import Target


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
    session: Session,
    store: ReplyStore,
    *,
    price: Price | None,
    signals: bool,
    steps: Steps = Steps.ALL,
    made: str | None = None,
) -> None:
    """Ask everything that is owed by batches, as far as the steps go.

    Args:
        session: the command.
        store: where replies go.
        price: of tokens, where known.
        signals: whether Ctrl-C and SIGTERM drain what is asked live.
        steps: how far.
        made: what the user saw in the provider's console, as of `take_word`; None where nobody looked.

    Raises:
        DataError: batch.json is damaged.
        UsageError: the user's word does not fit.
        IncompleteError: batches are under way, or left questions without a reply.
        StoppedError: the provider refuses.
    """
    settings, target, display = session.evaluation.settings, session.target, session.display
    batches, results = Batches.read(session.directory), session.directory.path.parent
    address = batch_address(target, session.evaluation.address)
    client = BatchClient(target, address, settings, warn=display.warn)
    submitter = Submitter(session, store, batches, client, price)
    taker = Taker(session, store, batches, client)
    started = asyncio.get_running_loop().time()
    try:
        async with client:
            if made is not None:
                await take_word(batches, client, display, made)
            if steps is Steps.CANCEL:
                await Canceller(batches, client, taker, display).cancel()
                count_stored(session, store)
                return
            if steps is Steps.COLLECT:
                count_stored(session, store)
            else:
                await submitter.submit()
            if steps is Steps.SUBMIT:
                submitter.say_open()
                session.elsewhere = {}  # what could be submitted is, and the rest was told of
                return
            waiter = Waiter(session, batches, client, submitter, taker)
            await _collect(session, submitter, waiter, wait=steps is Steps.ALL)
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


async def _collect(session: Session, submitter: Submitter, waiter: Waiter, *, wait: bool) -> None:
    """Collect; where all was refused and one waits for it, what the model takes is submitted."""
    while True:
        try:
            await waiter.collect(wait=wait)
        except StartOverError as refusal:
            session.start_over(refusal)
            if wait:
                await submitter.submit()
            elif session.evaluation.settings.then is None:
                raise IncompleteError(
                    f"{refusal}; to submit that: m3ke batch submit {session.directory.quoted}"
                ) from None
        else:
            return
