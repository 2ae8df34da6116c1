"""How far the batches of a run are, by batch.json and by the provider; nothing is written."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from m3ke_async.batch.calling import GoneError
from m3ke_async.batch.client import BatchClient, batch_address
from m3ke_async.batch.state import Batches, Stage
from m3ke_async.progress import Silent, duration
from m3ke_async.reopen import settings_again
from m3ke_async.rundir import RunDir
from m3ke_async.target import find_target
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from m3ke_async.batch.remote import RemoteBatch
    from m3ke_async.batch.state import Part


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One part, and its batch as the provider describes it now; None where it is over, or not there."""

    part: Part
    batch: RemoteBatch | None

    def line(self) -> str:
        """For people."""
        part, batch = self.part, self.batch
        name, questions = part.batch_id or part.name, counted(part.requests, "question")
        if part.stage is Stage.CLOSED:
            reason = f" ({part.reason})" if part.reason else ""
            return (
                f"{name}: {part.status or 'not submitted'}{reason}, "
                f"{counted(part.replies, 'reply', 'replies')} and {counted(part.failed, 'failure')} "
                f"of {part.requests:,} collected"
            )
        if batch is None:
            reason = f" ({part.reason})" if part.reason else ""
            if part.stage is Stage.SUBMITTED:
                return f"{name}: the provider does not know it, {questions}; m3ke batch cancel forgets it"
            if part.is_open:
                maybe = "perhaps not" if part.stage is Stage.CREATING else "not"
                go_on = "m3ke batch collect submits it, m3ke batch cancel does not"
            else:
                maybe, go_on = "not", "m3ke batch submit submits it"
            return f"{name}: {maybe} submitted yet ({part.stage}){reason}, {questions}; {go_on}"
        unread = "; its results could not be read" if part.unread else ""
        return f"{name}: {batch.progress}, {questions}, {duration(part.age)} after submission{unread}"

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        part, batch = self.part, self.batch
        return {
            "batch": part.batch_id,
            "file": part.file_id,
            "stage": part.stage,
            "status": part.status if batch is None else batch.status,
            "requests": part.requests,
            "done": None if batch is None else batch.done,
            "replies": part.replies,
            "failed": part.failed,
            "reason": part.reason,
        }


async def batch_status(
    run: RunDir, base_url: tuple[str, ...] = (), environ: Mapping[str, str] = os.environ
) -> list[PartStatus]:
    """The parts of a run; the provider is asked about those that are under way.

    Args:
        run: its folder.
        base_url: the run's address once more, where it holds the key.
        environ: holds the key elsewhere.

    Raises:
        UsageError: there is no such run, or no key.
        StoppedError, IncompleteError: the provider does not answer.
    """
    found = parts_on_disk(run.path)
    if not any(one.part.stage is Stage.SUBMITTED for one in found):
        return found
    again = {"base_url": base_url} if base_url else {}
    settings, display = settings_again(run, {"batch": True, **again}), Silent()
    target = find_target(settings, display, environ)
    address = batch_address(target, found[-1].part.address)
    async with BatchClient(target, address, settings, warn=display.warn) as client:
        return [await _as_now(one, client) if one.part.stage is Stage.SUBMITTED else one for one in found]


async def _as_now(one: PartStatus, client: BatchClient) -> PartStatus:
    try:
        return replace(one, batch=await client.retrieve(one.part.batch_id or ""))
    except GoneError:
        return one


def parts_on_disk(run: Path) -> list[PartStatus]:
    """The parts of a run, as its batch.json says.

    Raises:
        DataError: it is damaged.
    """
    return [PartStatus(part, None) for part in Batches.read(RunDir(run)).parts.values()]
