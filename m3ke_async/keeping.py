"""Replies on their way to the disk: written at once, and again for a while where it does not take them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from m3ke_async.errors import IncompleteError
from m3ke_async.store import StoreError

if TYPE_CHECKING:
    from m3ke_async.course import Course, Means
    from m3ke_async.request import ChatRequest, Reply
    from m3ke_async.store import Failure

#: Seconds between tries to write a reply that the disk did not take, and their number.
_STORE_PAUSE, _STORE_TRIES = 1.0, 60


class Keeping:
    """Writes what a run has paid for; where that does not go, the run sends nothing more.

    Args:
        course: the run.
        means: its store, and whom to warn.

    Attributes:
        tasks: those that hold a reply which the disk has not taken yet.
    """

    def __init__(self, course: Course, means: Means) -> None:
        self._course, self._store = course, means.store
        self._replace, self._warn = means.settings.replace, means.warn
        self._said: set[str] = set()
        self.tasks: set[asyncio.Task[None]] = set()

    async def put(self, request: ChatRequest, reply: Reply, task: asyncio.Task[None]) -> bool:
        """Write a reply; whether it is durable.

        Args:
            request: that it answers.
            reply: to keep.
            task: the present one, which is not to be cancelled meanwhile.
        """
        for left in reversed(range(_STORE_TRIES)):
            try:
                self._store.put(request, reply, replace=self._replace)
                break
            except StoreError as error:
                self.tasks.add(task)
                self._stop(error)
                if error.kept:
                    break
                if not left:
                    self._warn_once(f"{error}; replies are lost, since no other place takes them either")
                    self.tasks.discard(task)
                    return False
                self._warn_once(f"{error}; replies wait in memory, and writing them is tried again")
                await asyncio.sleep(_STORE_PAUSE)
        self.tasks.discard(task)
        return True

    def put_failure(self, request: ChatRequest, failure: Failure) -> None:
        """Write why there is no reply: once, since nothing was paid for it."""
        try:
            self._store.put_failure(request, failure)
        except StoreError as error:
            self._stop(error)

    def _stop(self, error: StoreError) -> None:
        self._course.stop(IncompleteError(f"{error}; make room, then run the command again"))

    def _warn_once(self, line: str) -> None:
        """Say what hundreds of replies meet together."""
        if line not in self._said:
            self._said.add(line)
            self._warn(line)
