"""Where the replies of a run are found: in the store, else in the run's own answers.jsonl."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from m3ke_async.answer import read_answers
from m3ke_async.request import Outcome, Reply
from m3ke_async.store import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.answer import Answer
    from m3ke_async.store import ReplyStore

#: The reply to the request with this key, or why there is none; None where it was not asked.
Find: TypeAlias = Callable[[bytes], "Reply | Failure | None"]


def in_store(store: ReplyStore) -> Find:
    """Look in the store."""
    return lambda key: store.get(key) or store.get_failure(key)


def in_store_or_answers(store: ReplyStore | None, answers: Path, warn: Callable[[str], None]) -> Find:
    """Look in the store, and for what it does not have in a run's answers.jsonl.

    So a run can be scored that was copied without its store. Damaged lines are told of,
    and the file is kept beside as it was, since it is about to be written anew.

    Args:
        store: None where there is none.
        answers: of the run; read whole into memory where it is there.
        warn: told of damaged lines.
    """
    known: dict[str, Reply | Failure] | None = None

    def find(key: bytes) -> Reply | Failure | None:
        nonlocal known
        stored = store.get(key) or store.get_failure(key) if store is not None else None
        if isinstance(stored, Reply):
            return stored
        if known is None:
            known = _own_replies(answers, warn)
        return known.get(key.hex()) or stored

    return find


def _own_replies(answers: Path, warn: Callable[[str], None]) -> dict[str, Reply | Failure]:
    damaged: list[str] = []
    known = {answer.request: _reply(answer) for answer in read_answers(answers, damaged.append)}
    if damaged:
        aside = answers.with_name(f"{answers.name}.bad")
        shutil.copyfile(answers, aside)
        left_out = f"{len(damaged)} damaged lines are left out" if len(damaged) > 1 else "it is left out"
        warn(f"{damaged[0]}; {left_out}, and the file is kept as {aside.name}")
    return known


def _reply(answer: Answer) -> Reply | Failure:
    if answer.reply is None:
        kind, _, message = (answer.failure or "unknown").partition(": ")
        return Failure(kind, message, attempts=answer.attempts)
    return Reply(
        text=answer.reply,
        reasoning=answer.reasoning,
        finish_reason=answer.finish_reason,
        refusal=answer.outcome is Outcome.REFUSED and answer.rule is None,
        usage=answer.usage,
        latency=answer.latency or 0.0,
        attempts=answer.attempts,
    )
