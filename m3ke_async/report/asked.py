"""The questions of a run beside what came of them, for reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3ke_async.errors import DataError
from m3ke_async.request import Reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from m3ke_async.answer import Answer
    from m3ke_async.evaluation import Evaluation, Item
    from m3ke_async.replies import Find


@dataclass(frozen=True, slots=True)
class Asked:
    """One question.

    Attributes:
        item: the question with its prompt.
        answer: its line of answers.jsonl; None where it has none.
        received_at: Unix time of the reply in seconds; None where it is not known.
    """

    item: Item
    answer: Answer | None
    received_at: float | None


def asked_questions(
    evaluation: Evaluation, answers: Iterable[Answer], find: Find, file: Path
) -> Iterator[Asked]:
    """Every question that the run asks, in the suite's order, which is that of the answers.

    Args:
        evaluation: what was asked.
        answers: of the run; read once.
        find: the reply to a request, which knows when it came where it is from the store.
        file: the answers', for the message.

    Raises:
        DataError: an answer is to none of the questions, or out of order.
    """
    lines = iter(answers)
    answer = next(lines, None)
    for task in evaluation.suite.tasks:
        for item in evaluation.items(task):
            key = item.request.key
            if answer is None or answer.request != key.hex():
                yield Asked(item, None, None)
                continue
            reply = find(key)
            received_at = reply.received_at if isinstance(reply, Reply) else None
            yield Asked(item, answer, received_at or None)
            answer = next(lines, None)
    if answer is not None:
        raise DataError(
            f"the answer to {answer.task} {answer.id} does not fit the run; write it again: m3ke score RUN",
            file=file,
        )
