"""Leave to send one question here and now: nobody else is at it, its turn has come, the pace allows it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.backlog import Job
    from m3ke_async.course import Course, Means
    from m3ke_async.endpoint import Endpoint
    from m3ke_async.pace import Reservation

#: Seconds that the reply to an overdue attempt may still come before it is asked again.
LATE = 60.0

#: Seconds between two looks at a question that another process is asking.
_CLAIM_PAUSE = 0.5


class Admission:
    """Gives leave to the workers, one question each.

    Args:
        course: the run.
        means: what it asks with.
        close: ends a question that needs no reply more; how often it stands in the suite.
    """

    def __init__(self, course: Course, means: Means, close: Callable[[Job], int]) -> None:
        self._course, self._close = course, close
        self._backlog, self._endpoints, self._store = means.backlog, means.endpoints, means.store
        self._settings, self._tally = means.settings, means.tally
        self._admitting: dict[asyncio.Task[None], Endpoint] = {}
        self._moved: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """The run begins, in the running loop."""
        self._loop = asyncio.get_running_loop()

    @property
    def admitting(self) -> set[asyncio.Task[None]]:
        """Workers that wait for leave to send."""
        return set(self._admitting)

    async def leave(
        self, job: Job, endpoint: Endpoint, task: asyncio.Task[None]
    ) -> tuple[Job, Reservation | None]:
        """Leave to send a question, and which; None when none is to be sent here and now."""
        if not self._claim(job):
            return job, None
        reservation = await self._admit(job, endpoint, task)
        if reservation is None:
            return job, None
        job = self._turn(job, reservation)
        if not self._claim(job):
            reservation.refund()
            return job, None
        return job, reservation

    def _claim(self, job: Job) -> bool:
        """Whether a question is to be asked here: no other process is at it, or has answered it."""
        if job.claimed:
            return True
        key, now = job.ask.request.key, self._loop.time()
        patience = max(LATE, self._settings.timeout)
        waited = 0.0 if job.held_up is None else now - job.held_up
        job.claimed = self._store.claims.take(key) or waited > patience
        if not job.claimed:
            job.held_up = now - waited
            if not self._course.stopping:
                self._backlog.again(job, now + _CLAIM_PAUSE)
                self._tally.waiting = self._backlog.waiting
            return False
        # Another process has it, or had it: it may have been answered since this one looked.
        if self._settings.replace or self._store.get(key) is None:
            return True
        self._tally.stored += self._close(job)
        return False

    def _turn(self, job: Job, reservation: Reservation) -> Job:
        """The question that the leave is used for: what is due again goes before what is new."""
        due = self._backlog.turn(job, self._loop.time())
        if due is not job:
            self._tally.waiting = self._backlog.waiting
            reservation.give_to(due.ask.request.prompt_chars, due.attempts)
        return due

    async def _admit(self, job: Job, endpoint: Endpoint, task: asyncio.Task[None]) -> Reservation | None:
        """Leave to send a question; None when it is not to be sent here and now."""
        self._admitting[task] = endpoint
        try:
            reservation = await endpoint.pace.admit(
                job.ask.request.prompt_chars, self._settings.max_tokens, job.attempts
            )
        except asyncio.CancelledError:
            if task not in self._moved:
                raise
            self._moved.discard(task)
            task.uncancel()
            self._backlog.again(job, self._loop.time())  # another endpoint takes it
            return None
        finally:
            del self._admitting[task]
        if self._course.stopping or job.closed or self._course.check_budget():
            reservation.refund()  # closed: its late reply came meanwhile
            return None
        return reservation

    def move_off(self, endpoint: Endpoint, now: float) -> None:
        """Let nobody wait for an endpoint that holds everybody back while another one does not."""
        if endpoint.pace.is_held(now) and any(other.is_open(now) for other in self._endpoints):
            for task, waited_for in self._admitting.items():
                if waited_for is endpoint:
                    self._moved.add(task)
                    task.cancel()
