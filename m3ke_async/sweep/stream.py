"""Replies on their way from a cell to the keeper: in order, many at a time, and none forgotten."""

from __future__ import annotations

import threading
import time
from queue import Empty, Queue
from typing import TYPE_CHECKING

from m3ke_async.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.store import Kept

#: Seconds that a reply waits for others at most: so much asking a lost machine costs.
_PAUSE = 0.2
#: Replies that are sent together at most, and that may wait before the cell has to.
_TOGETHER, _WAITING = 500, 5_000
#: Seconds between tries to send what found no room, and their number.
_AGAIN, _TRIES = 1.0, 60


class Stream:
    """Sends what a store keeps, from a thread of its own.

    Args:
        send: sends some, and returns when they are durable; a StoreError says that there is no room now.
    """

    def __init__(self, send: Callable[[list[Kept]], None]) -> None:
        self._send = send
        self._queue: Queue[Kept | None] = Queue(_WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="m3ke-stream", daemon=True)
        self._thread.start()

    def add(self, kept: Kept) -> None:
        """Send this soon; waits while too much is on its way.

        Raises:
            StoreError: there is no room where it is sent; it waits here, and sending is tried again.
            BaseException: sending has failed; whoever keeps more would lose it.
        """
        self._queue.put(kept)
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Send the rest, and wait until it is durable, or for as long as sending is tried.

        Raises:
            BaseException: as of `add`; what was not sent is lost.
        """
        self._queue.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        unsent: list[Kept] = []
        ended, tries = False, _TRIES
        while tries and not (ended and not unsent):
            ended = ended or self._gather(unsent)
            try:
                self._send(unsent)
            except StoreError as error:
                tries -= 1
                self._error = StoreError(str(error), kept=tries > 0)
                time.sleep(_AGAIN)
            except BaseException as error:
                self._error, tries = error, 0
            else:
                self._error, unsent = None, []
        while not ended:  # nobody may wait for room in the queue
            ended = self._queue.get() is None

    def _gather(self, into: list[Kept]) -> bool:
        """Take what comes within a moment; whether it was the last."""
        until, most = time.monotonic() + _PAUSE, len(into) + _TOGETHER
        while len(into) < most:
            try:
                kept = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                return False
            if kept is None:
                return True
            into.append(kept)
        return False
