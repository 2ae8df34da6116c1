"""Whether a batch was made of a file though the answer was lost: by the provider's list, else by the user.

Where the list cannot be read, to make another batch may be to pay twice, and to forget it may be to pay for
nothing: so the user looks into the provider's console, and says what is there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from m3ke_async.batch.calling import AwayError, GoneError
from m3ke_async.batch.state import Stage
from m3ke_async.errors import StoppedError, UsageError
from m3ke_async.text import counted

if TYPE_CHECKING:
    from m3ke_async.batch.client import BatchClient
    from m3ke_async.batch.remote import RemoteBatch
    from m3ke_async.batch.state import Batches, Part
    from m3ke_async.progress import Display

#: The word for: the console shows no batch of the file.
NONE = "none"


async def find_made(client: BatchClient, part: Part, command: str) -> RemoteBatch | None:
    """The batch that was made of a part's file; None where the provider's list shows none.

    Args:
        client: of the provider.
        part: its file is uploaded.
        command: takes the user's word.

    Raises:
        StoppedError, AwayError: nobody knows.
    """
    try:
        return await client.find_batch(part.file_id or "", part.dead)
    except (StoppedError, AwayError) as error:
        kind = AwayError if isinstance(error, AwayError) else StoppedError
        raise kind(
            f"{error}; so it is not known whether a batch was made of {part.file_id}: if that stays so, look "
            f"for one in the provider's console, and give its id, or none: {command} --made ID|{NONE}"
        ) from error


async def take_word(batches: Batches, client: BatchClient, display: Display, made: str) -> None:
    """Go on by what the user saw in the provider's console.

    Args:
        batches: of the run.
        client: of the provider.
        display: is told what is taken for which questions.
        made: the id of a batch, which the provider is asked about; or that there is none, which its list
            may prove wrong.

    Raises:
        UsageError: no batch is in doubt, or that one is not known, or of another file.
        StoppedError, AwayError: the batch cannot be had.
    """
    parts = [part for part in batches.open if part.stage is Stage.CREATING]
    if not parts:
        raise UsageError(
            f"--made tells of a batch that was perhaps made, and none of {batches.run.path} is in doubt: "
            "leave it out"
        )
    if made.casefold() == NONE:
        for part in parts:
            with suppress(StoppedError, AwayError):
                if await client.find_batch(part.file_id or "", part.dead) is not None:
                    continue  # whoever looks for it finds it
            batches.put(part, stage=Stage.UPLOADED)
        return
    try:
        batch = await client.retrieve(made)
    except GoneError:
        raise UsageError(
            f"the provider does not know {made}: give the id that its console shows, with that account's key"
        ) from None
    for part in parts:
        if batch.file_id == part.file_id and batch.id not in part.dead:
            batches.put(part, stage=Stage.SUBMITTED, batch_id=batch.id, status=batch.status)
            display.say(f"{batch.id} ({batch.status}) is taken for {counted(part.requests, 'question')}")
            return
    files = " or ".join(str(part.file_id) for part in parts)
    raise UsageError(
        f"{batch.id} is no batch of {files}, which alone is in doubt: give the id of one that is"
    )
