"""Batches that are not wanted any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3ke_async.batch.calling import GoneError, for_each
from m3ke_async.batch.doubt import find_made
from m3ke_async.batch.state import Stage

if TYPE_CHECKING:
    from m3ke_async.batch.client import BatchClient
    from m3ke_async.batch.state import Batches, Part
    from m3ke_async.batch.taking import Taker
    from m3ke_async.progress import Display


@dataclass(frozen=True, slots=True)
class Canceller:
    """Cancels the batches of one run.

    Attributes:
        batches: the run's.
        client: of the provider.
        taker: takes what can be read of results that are given up.
        display: is told what became of each batch.
    """

    batches: Batches
    client: BatchClient
    taker: Taker
    display: Display

    async def cancel(self) -> None:
        """Begin nothing more; what was answered already can be collected, and is paid.

        What could not be read of results, as a collecting command has told, is given up.

        Raises:
            StoppedError, AwayError: a batch cannot be had; the others were cancelled.
        """
        await for_each(self.batches.open, self._cancel)

    async def _cancel(self, part: Part) -> None:
        batches, client = self.batches, self.client
        batch_id = part.batch_id
        if part.stage is Stage.CREATING:  # it may be there without its name being known
            found = await find_made(client, part, f"m3ke batch cancel {batches.run.quoted}")
            batch_id = found.id if found is not None else None
        if batch_id is None:
            batches.close(part, reason="cancelled before it was submitted")
            return
        part = batches.put(part, stage=Stage.SUBMITTED, batch_id=batch_id)
        try:
            batch = await client.retrieve(batch_id)
        except GoneError:
            forgotten = "the provider does not know it any more"
            batches.close(part, reason=forgotten)
            self.display.warn(f"{batch_id}: {forgotten}, and it is forgotten here")
            return
        if batch.is_ended and part.unread:
            await self.taker.take(part, batch, give_up=True)
            return
        if not batch.is_ended:
            batch = await client.cancel(batch_id)
        batches.put(part, status=batch.status)
        self.display.say(f"{batch.id}: {batch.status}; collect what was answered before")
