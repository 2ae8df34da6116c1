"""Where the replies of a run are found: in the store, else in the run's own answers.jsonl."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from m3ke_async.answer import read_answers
from m3ke_async.errors import DataError
from m3ke_async.reply_row import dump_reply
from m3ke_async.request import Outcome, Reply
from m3ke_async.rundir import RunDir
from m3ke_async.store import Failure, ReplyStore, StoreError
from m3ke_async.verified import hash_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from m3ke_async.answer import Answer
    from m3ke_async.reply_row import Row

#: The reply to the request with this key, or why there is none; None where it was not asked.
Find: TypeAlias = Callable[[bytes], "Reply | Failure | None"]


def open_store(run: RunDir, warn: Callable[[str], None], *, only_read: bool = False) -> ReplyStore:
    """The store beside a run, with the other places that its replies may be in.

    Args:
        run: which writes.
        warn: is told of trouble with the store.
        only_read: whether nothing will be put, so that no place for that is made.
    """
    return ReplyStore(
        run.store,
        spares=tuple(spare for spare in run.spare_stores if spare.exists() or not only_read),
        run=run.path.name,
        warn=warn,
        copies=lambda: answers_of_runs(run.path.parent),
    )


def answers_of_runs(results: Path) -> Iterator[Row]:
    """The replies in the answers.jsonl of each run that is as the run has written it."""
    for file in sorted(results.glob("*/run.json")):
        run = RunDir(file.parent)
        with suppress(DataError):  # then nobody knows what its answers should be
            record = run.read()
            if record is not None and is_as_written(run, record):
                for answer in read_answers(run.answers, lambda line: None):
                    reply, key = _reply(answer), bytes.fromhex(answer.request)
                    if isinstance(reply, Reply):
                        yield key, dump_reply(key, reply), record["provider"], reply.model, run.path.name


def in_store(store: ReplyStore) -> Find:
    """Look in the store."""
    return lambda key: store.get(key) or store.get_failure(key)


def in_store_or_answers(
    store: ReplyStore | None,
    run: RunDir,
    warn: Callable[[str], None],
    *,
    keep: bool = False,
    told: bool = False,
) -> Find:
    """Look in the store, and for what it does not have in a run's answers.jsonl.

    So a run can be scored that was copied without its store, or whose store cannot be read.

    Args:
        store: None where there is none.
        run: whose answers.jsonl is read whole into memory where it is needed.
        warn: told of trouble with the store, of damaged lines and of a file that has changed.
        keep: whether such a file is to be kept aside, since it is about to be written anew.
        told: whether such lines and such a file were told of already.
    """
    known: dict[str, Reply | Failure] | None = None

    def find(key: bytes) -> Reply | Failure | None:
        nonlocal known, store
        stored = None
        if store is not None:
            try:
                stored = store.get(key) or store.get_failure(key)
            except StoreError as error:
                warn(f"{error}; the replies in {run.answers} are used")
                store = None
        if isinstance(stored, Reply):
            return stored
        if known is None:
            known = _own_replies(run, (lambda line: None) if told else warn, keep=keep)
        return known.get(key.hex()) or stored

    return find


def _own_replies(run: RunDir, warn: Callable[[str], None], *, keep: bool) -> dict[str, Reply | Failure]:
    damaged: list[str] = []
    known = {answer.request: _reply(answer) for answer in read_answers(run.answers, damaged.append)}
    record = run.read()
    if damaged:
        trouble = f"{damaged[0]}; " + (
            f"{len(damaged)} damaged lines are left out" if len(damaged) > 1 else "it is left out"
        )
    elif known and record is not None and not is_as_written(run, record):
        trouble = f"{run.answers} has changed since the run wrote it; what it holds now is used"
    else:
        return known
    if keep:
        aside = run.answers.with_name(f"{run.answers.name}.bad")
        shutil.copyfile(run.answers, aside)
        trouble += f", and the file is kept as {aside.name}"
    warn(trouble)
    return known


def is_as_written(run: RunDir, record: Mapping[str, Any]) -> bool:
    """Whether answers.jsonl is what the run wrote together with its scores."""
    try:
        return bool(hash_file(run.answers) == record["hashes"].get(run.answers.name))
    except OSError:
        return False


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
        latency=answer.latency,
        attempts=answer.attempts,
        letters=answer.letters,
    )
