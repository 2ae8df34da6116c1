"""Files that the user carries: requests for `vllm run-batch`, and results, its own or a provider's.

    vllm run-batch -i requests.jsonl -o results.jsonl --model NAME

Source: docs.vllm.ai, "Offline Inference with the OpenAI Batch file format".
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from m3ke_async.batch.line import request_line
from m3ke_async.batch.questions import all_keys, check_answers, count_stored, owed_requests
from m3ke_async.batch.state import Batches
from m3ke_async.batch.storing import Storer, add_failed, take_lines, was_received
from m3ke_async.errors import UsageError
from m3ke_async.files import whole_file
from m3ke_async.owed import Standing, standing
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from m3ke_async.session import Session
    from m3ke_async.store import ReplyStore
    from m3ke_async.tally import Price

#: What vLLM wants in each line, whatever the address of its server would be.
_URL = "/v1/chat/completions"


async def write_requests(
    session: Session, store: ReplyStore, *, price: Price | None, signals: bool, file: Path
) -> None:
    """Write what is owed into a file.

    Raises:
        UsageError: the requests are of another protocol, or the file cannot be written.
    """
    check_answers(session.evaluation.settings)
    if session.target.protocol.name != "chat":
        raise UsageError("vllm run-batch takes chat requests alone: leave out --protocol")
    count = 0
    try:
        with whole_file(file) as lines:
            for request in owed_requests(session, store):
                lines.write(request_line(request, _URL))
                count += 1
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}; choose another file") from None
    session.display.say(
        f"wrote {counted(count, 'request')} to {file}; their results are read by "
        f"m3ke batch read {session.directory.quoted} RESULTS"
    )


async def read_results(
    session: Session, store: ReplyStore, *, price: Price | None, signals: bool, file: Path
) -> None:
    """Store the results in a file; what is about no request of the run is left out.

    Raises:
        UsageError: the file cannot be read, or is another one.
        IncompleteError: no place takes a reply.
    """
    count_stored(session, store)
    try:
        storer = Storer(
            store,
            session.target,
            all_keys(session.evaluation),
            _answered(session, store),
            since=session.since if session.evaluation.settings.fresh else 0.0,
            received_at=_written_at(file),
            warn=session.display.warn,
            tally=session.tally,
        )
        await take_lines(storer, file, session.record)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}; give the file of results") from None
    if not storer.found:
        run = session.directory
        raise UsageError(
            f"{file} holds no result of a question of {run.path}: give the file that came for what "
            f"m3ke batch write {run.quoted} FILE has written"
        )
    for line in storer.lines():
        session.display.warn(f"{file}: {line}")
    add_failed(session, storer)


def _answered(session: Session, store: ReplyStore) -> Callable[[bytes], bool]:
    """Tells whether a request has its reply, be it asked anew by the run or by one of its batches."""
    batches, settings = Batches.read(session.directory), session.evaluation.settings
    anew = {
        key: part.submitted_at for part in batches.open if part.replace for key, _ in batches.requests(part)
    }

    def answered(key: bytes) -> bool:
        if key in anew:
            return was_received(store, key, anew[key])
        return standing(settings, store, key, session.since) is Standing.ANSWERED

    return answered


def _written_at(file: Path) -> float:
    """Unix time of the results; of none in the future, since a reply of then would never be an old one."""
    return min(time.time(), file.stat().st_mtime)
