"""What a command owes: how each question stands by the store, and which are to be asked."""

from __future__ import annotations

import shlex
import time
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from m3ke_async.backlog import Ask
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from m3ke_async.session import Session
    from m3ke_async.settings import RunSettings
    from m3ke_async.store import ReplyStore
    from m3ke_async.suite import Task
    from m3ke_async.tally import Tally

#: Stored replies that are passed before others may run.
_PASS = 64


class Standing(Enum):
    """How a question stands: it has its reply, it is to be asked, or this command does not ask it."""

    ANSWERED = auto()
    OWED = auto()
    LEFT_OUT = auto()


def standing(settings: RunSettings, store: ReplyStore | None, key: bytes, since: float) -> Standing:
    """How the question with this request stands.

    Args:
        settings: of the run; they may want replies anew, or only what failed.
        store: None where there is none yet.
        key: of the request.
        since: as of `fresh_since`.

    Raises:
        StoreError: the file cannot be read.
    """
    reply = None if store is None else store.get(key)
    if reply is not None:
        again = settings.fresh or (settings.retry_filtered and reply.filtered)
        if not again or reply.received_at >= since:
            return Standing.ANSWERED
    if settings.retry_failed and (store is None or store.get_failure(key) is None):
        return Standing.LEFT_OUT
    return Standing.OWED


def fresh_since(settings: RunSettings, record: Mapping[str, Any] | None) -> float:
    """The time from which replies count as fresh: that of the first command, while it is unfinished."""
    unfinished = record if record is not None and record["state"] != "complete" else {}
    since = unfinished.get("fresh_since") if settings.fresh else None
    return time.time() if since is None else float(since)


def owed(
    session: Session, task: Task, store: ReplyStore, tally: Tally, *, claim: bool = False
) -> Iterator[Ask | None]:
    """The questions of a task that have no reply yet; None now and then, where others may run.

    Args:
        session: the run.
        task: of its suite.
        store: of its replies.
        tally: counts what is not asked.
        claim: whether they are asked one by one as they are taken, so that each is claimed. That is before
            the store is looked into: another process may be answered until then, and not after it.
    """
    evaluation = session.evaluation
    passed = 0
    for item in evaluation.items(task):
        request = item.request
        tally.dropped_shots += item.prompt.dropped
        claimed = claim and store.claims.take(request.key)
        stands = standing(evaluation.settings, store, request.key, session.since)
        if stands is Standing.OWED and request.key not in session.elsewhere:
            yield Ask(request, item.shown, claimed)
            continue
        if claimed:
            store.claims.release(request.key)
        if stands is Standing.ANSWERED:
            tally.stored += 1
        else:
            tally.total -= 1
        passed += 1
        if passed % _PASS == 0:
            yield None


def owes(session: Session, store: ReplyStore, tally: Tally) -> bool:
    """Whether any question is to be asked; where none is, all are counted."""
    evaluation = session.evaluation
    return any(
        ask is not None for task in evaluation.suite.tasks for ask in owed(session, task, store, tally)
    )


def count_stale(session: Session, store: ReplyStore) -> int:
    """How many questions still have a reply from before, though all are to be asked afresh."""
    evaluation = session.evaluation
    settings = evaluation.settings
    if not settings.fresh:
        return 0
    return sum(
        standing(settings, store, item.request.key, session.since) is Standing.OWED
        for task in evaluation.suite.tasks
        for item in evaluation.items(task)
    )


def left_to_others(session: Session, store: ReplyStore) -> str | None:
    """Which questions batches of other runs hold, and what to do; None where they hold none."""
    evaluation, here = session.evaluation, session.directory.path
    if all(run == here for run in session.elsewhere.values()):
        return None
    held = {
        item.request.key: session.elsewhere[item.request.key]
        for task in evaluation.suite.tasks
        for item in evaluation.items(task)
        if session.elsewhere.get(item.request.key, here) != here
        and standing(evaluation.settings, store, item.request.key, session.since) is Standing.OWED
    }
    if not held:
        return None
    runs = sorted(set(held.values()))
    collect = " && ".join(f"m3ke batch collect {shlex.quote(str(run))}" for run in runs)
    return (
        f"{counted(len(held), 'question is', 'questions are')} in batches of {' and '.join(map(str, runs))}, "
        f"and left to them: {collect}, then the same command again"
    )
