"""The questions of a run as batches need them: what is owed, and whose replies may come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.manner import AnswerMode
from m3ke_async.owed import owed
from m3ke_async.plan import TOKENS_PER_CHAR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from m3ke_async.evaluation import Evaluation
    from m3ke_async.request import ChatRequest
    from m3ke_async.session import Session
    from m3ke_async.settings import RunSettings
    from m3ke_async.store import ReplyStore


def check_answers(settings: RunSettings) -> None:
    """Refuse answer modes that are proven at a server before the first question.

    Raises:
        UsageError: this is one.
    """
    answer = settings.answer
    if answer is not AnswerMode.TEXT:
        raise UsageError(
            f"--answer {answer} is proven before the first question, which a batch does not allow: "
            "give --answer text, or leave out the batch"
        )


def owed_requests(session: Session, store: ReplyStore) -> Iterator[ChatRequest]:
    """What is owed, each request once, counted from the start."""
    tally, seen = session.tally, set()
    tally.start_over(session.evaluation.total)
    for task in session.evaluation.suite.tasks:
        for one in owed(session, task, store, tally):
            if one is not None and one.request.key not in seen:
                seen.add(one.request.key)
                yield one.request


def count_stored(session: Session, store: ReplyStore) -> None:
    """Count what has a reply already."""
    for _ in owed_requests(session, store):
        pass


def requests_of(evaluation: Evaluation) -> Iterator[ChatRequest]:
    """Everything that a run asks."""
    return (item.request for task in evaluation.suite.tasks for item in evaluation.items(task))


def estimate(chars: int) -> int:
    """Tokens of a prompt whose usage nobody reports."""
    return round(chars * sum(TOKENS_PER_CHAR) / 2)


def all_keys(evaluation: Evaluation) -> dict[bytes, int]:
    """The prompt's estimated tokens by the key of every request of a run."""
    return {request.key: estimate(request.prompt_chars) for request in requests_of(evaluation)}
