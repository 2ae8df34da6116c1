"""Replies on their way from a cell to the keeper: in order, many at a time, and none forgotten."""

from __future__ import annotations

import threading
import time
from queue import Empty, Queue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.store import Kept

#: Seconds that a reply waits for others at most: so much asking a lost machine costs.
_PAUSE = 0.2
#: Replies that are sent together at most, and that may wait before the cell has to.
_TOGETHER, _WAITING = 500, 5_000


class Stream:
    """Sends what a store keeps, from a thread of its own.

    Args:
        send: sends some, and returns when they are durable.
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
            BaseException: sending has failed; whoever keeps more would lose it.
        """
        if self._error is not None:
            raise self._error
        self._queue.put(kept)

    def close(self) -> None:
        """Send the rest, and wait until it is durable.

        Raises:
            BaseException: as of `add`.
        """
        self._queue.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        ended = False
        while not ended:
            batch: list[Kept] = []
            until = time.monotonic() + _PAUSE
            while len(batch) < _TOGETHER:
                try:
                    kept = self._queue.get(timeout=max(0.0, until - time.monotonic()))
                except Empty:
                    break
                if kept is None:
                    ended = True
                    break
                batch.append(kept)
            if self._error is None:
                try:
                    self._send(batch)
                except BaseException as error:
                    self._error = error
