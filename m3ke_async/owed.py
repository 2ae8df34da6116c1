"""What a command owes a question, by what the store has of it."""

from __future__ import annotations

import time
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.settings import RunSettings
    from m3ke_async.store import ReplyStore


class Standing(Enum):
    """How a question stands: it has its reply, it is to be asked, or this command does not ask it."""

    ANSWERED = auto()
    OWED = auto()
    LEFT_OUT = auto()


def standing(settings: RunSettings, store: ReplyStore | None, key: bytes, since: float) -> Standing:
    """How the question with this request stands.

    Args:
        settings: of the run; they may want replies anew, or only what failed.
        store: None where there is none yet.
        key: of the request.
        since: as of `fresh_since`.

    Raises:
        StoreError: the file cannot be read.
    """
    reply = None if store is None else store.get(key)
    if reply is not None:
        again = settings.fresh or (settings.retry_filtered and reply.filtered)
        if not again or reply.received_at >= since:
            return Standing.ANSWERED
    if settings.retry_failed and (store is None or store.get_failure(key) is None):
        return Standing.LEFT_OUT
    return Standing.OWED


def fresh_since(settings: RunSettings, record: Mapping[str, Any] | None) -> float:
    """The time from which replies count as fresh: that of the first command, while it is unfinished."""
    unfinished = record if record is not None and record["state"] != "complete" else {}
    since = unfinished.get("fresh_since") if settings.fresh else None
    return time.time() if since is None else float(since)
