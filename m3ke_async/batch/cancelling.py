"""Batches that are not wanted any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.batch.calling import GoneError, for_each
from m3ke_async.batch.made import find_made
from m3ke_async.batch.state import Stage

if TYPE_CHECKING:
    from m3ke_async.batch.client import BatchClient
    from m3ke_async.batch.state import Batches, Part
    from m3ke_async.progress import Display


async def cancel(batches: Batches, client: BatchClient, display: Display) -> None:
    """Begin nothing more; what was answered already can be collected, and is paid.

    Raises:
        StoppedError, AwayError: a batch cannot be had; the others were cancelled.
    """

    async def cancel_part(part: Part) -> None:
        batch_id = part.batch_id
        if part.stage is Stage.CREATING:  # it may be there without its name being known
            found = await find_made(client, part, f"m3ke batch cancel {batches.run.path}")
            batch_id = found.id if found is not None else None
        if batch_id is None:
            batches.close(part, reason="cancelled before it was submitted")
            return
        submitted = batches.put(part, stage=Stage.SUBMITTED, batch_id=batch_id)
        await _cancel(batches, client, display, submitted, batch_id)

    await for_each(batches.open, cancel_part)


async def _cancel(batches: Batches, client: BatchClient, display: Display, part: Part, batch_id: str) -> None:
    try:
        batch = await client.retrieve(batch_id)
    except GoneError:
        forgotten = "the provider does not know it any more"
        batches.close(part, reason=forgotten)
        display.warn(f"{batch_id}: {forgotten}, and it is forgotten here")
        return
    if not batch.is_ended:
        batch = await client.cancel(batch_id)
    batches.put(part, status=batch.status)
    display.say(f"{batch.id}: {batch.status}; collect what was answered before")
