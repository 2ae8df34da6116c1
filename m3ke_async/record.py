"""run.json while a command is at work on a run: what it says, and when it is written."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from m3ke_async import __version__
from m3ke_async.choice import RULES_VERSION
from m3ke_async.manifest import load_manifest
from m3ke_async.suites.taxonomy import SuiteName
from m3ke_async.tally import Ledger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from m3ke_async.errors import M3keError
    from m3ke_async.rundir import RunDir
    from m3ke_async.session import Session
    from m3ke_async.suite import Split, Suite

#: Seconds between two records of what asking took.
_RECORD_SECONDS = 3.0


@asynccontextmanager
async def recording(session: Session) -> AsyncIterator[None]:
    """Write what asking took every few seconds, so that a kill costs no more of the ledger."""
    loop = asyncio.get_running_loop()
    started, written = loop.time(), session.tally.ledger.to_json()

    def record() -> None:
        nonlocal written
        ledger = session.tally.ledger.to_json()  # the ledger itself may be another one by now
        if ledger != written:
            written = ledger
            with suppress(OSError):  # the last record says so
                write_record(session, "running", seconds=loop.time() - started)

    async def record_again() -> None:
        while True:
            await asyncio.sleep(_RECORD_SECONDS)
            record()

    session.record = record
    task = asyncio.create_task(record_again())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def write_record(
    session: Session,
    state: str,
    stopped: M3keError | None = None,
    *,
    hashes: Mapping[str, str] | None = None,
    seconds: float = 0.0,
) -> None:
    """Write run.json as things are now.

    Args:
        session: the command.
        state: of the run.
        stopped: why questions are left.
        hashes: of the result files; None where they are as the command before left them.
        seconds: spent asking, as far as the ledger does not count them yet.
    """
    evaluation, tally = session.evaluation, session.tally
    if hashes is None:
        hashes = session.earlier["hashes"] if session.earlier else {}
    session.directory.write(
        {
            "state": state,
            "stopped": str(stopped) if stopped else None,
            "identity": evaluation.identity(),
            "adapted": [change.name for change in evaluation.changes],
            "sent": evaluation.sent(),
            "settings": evaluation.settings.to_json(),
            "provider": evaluation.profile.name,
            "model": evaluation.model,
            "data": str(evaluation.whole.path.resolve()),
            "is_m3ke": is_published(evaluation.suite, evaluation.settings.split),
            **stamp(),
            "counts": {
                "total": tally.total,
                "stored": tally.had,
                "answered": tally.answered,
                "failed": tally.failed,
                "dropped_shots": tally.dropped_shots,
            },
            "ledger": (session.before + tally.ledger + Ledger(seconds=seconds)).to_json(),
            "merged": session.earlier.get("merged", {}) if session.earlier else {},
            "fresh_since": session.since if evaluation.settings.fresh else None,
            "hashes": hashes,
        }
    )


def stamp() -> dict[str, Any]:
    """By which rules and versions results are made, and when: for run.json."""
    return {
        "rules": RULES_VERSION,
        "versions": {"m3ke-async": __version__, "python": sys.version.split()[0]},
        "written_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def is_finished(directory: RunDir, record: Mapping[str, Any], policy: str) -> bool:
    """Whether a run is complete, and its files are as it wrote them by today's rules and this policy."""
    return bool(
        record["state"] == "complete"
        and record["rules"] == RULES_VERSION
        and record["settings"]["policy"] == policy
        and record["hashes"] == directory.hashes()
    )


def is_published(suite: Suite, split: Split) -> bool:
    """Whether all tasks are M3KE's own, so that the published tables may stand beside the run."""
    published = {task.name: task.sha256 for task in load_manifest().tasks}
    if suite.layout.name is not SuiteName.M3KE:
        return False
    return all(task.sha256.get(split) == published.get(task.name, {}).get(split) for task in suite.tasks)
