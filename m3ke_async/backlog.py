"""What is still to be asked: new questions by lanes, and those that wait for another try.

A waiting question stands in a heap by the time it is due; it holds no worker. A request
that is on its way already is not asked again for a second question with the same text.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from m3ke_async.lanes import Lane, Lanes
    from m3ke_async.request import ChatRequest
    from m3ke_async.suite import Question


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to be asked.

    Attributes:
        request: with its prompt.
        question: as it is shown.
        claimed: whether the request is claimed, and had no reply then.
    """

    request: ChatRequest
    question: Question
    claimed: bool = False


@dataclass(slots=True, eq=False)
class Job:
    """A question on its way: its request is in flight, or it waits for another try.

    Attributes:
        ask: the question.
        lane: where it came from.
        attempts: how often it was sent.
        first_sent: when, by the loop's clock.
        late: the task that still waits for the reply to an overdue attempt.
        followers: later questions with the same request; they are answered by its reply.
        ticket: its place in the heap; None while it does not wait.
        closed: whether it is answered or given up.
        claimed: whether no other process may ask it now.
        held_up: since when another process is asking it, by the loop's clock; None while none is.
    """

    ask: Ask
    lane: Lane[Ask | None]
    attempts: int = 0
    first_sent: float = 0.0
    late: asyncio.Task[None] | None = None
    followers: int = 0
    ticket: int | None = None
    closed: bool = False
    claimed: bool = False
    held_up: float | None = None


class Pause(Enum):
    """Nothing to ask yet: many stored replies were passed, and others should run."""

    PAUSE = 0


class Backlog:
    """Hands out questions; each is handed out once at a time.

    Args:
        lanes: the new questions; None between them lets other work go on.
    """

    def __init__(self, lanes: Lanes[Ask | None]) -> None:
        self._lanes = lanes
        self._heap: list[tuple[float, int, Job]] = []
        self._tickets = count()
        self._put_back: deque[Job] = deque()
        self._jobs: dict[bytes, Job] = {}
        self.waiting = 0

    @property
    def open(self) -> int:
        """Questions that were taken and are neither answered nor given up."""
        return len(self._jobs)

    def due(self) -> float | None:
        """When the next waiting question is due; None when none waits."""
        while self._heap and self._heap[0][2].ticket != self._heap[0][1]:
            heapq.heappop(self._heap)  # it was withdrawn
        return self._heap[0][0] if self._heap else None

    def take(self, own: Lane[Ask | None] | None, now: float, *, room: int) -> Job | Pause | None:
        """The next question: one that is due again, else a new one, of the worker's own lane first.

        Args:
            own: the lane of the worker.
            now: the time.
            room: as many questions may wait before no new one is begun.
        """
        if (job := self._due_again(now)) is not None:
            return job
        if self.waiting >= room:
            return None
        return self._put_back.popleft() if self._put_back else self._new(own)

    def turn(self, job: Job, now: float) -> Job:
        """Whose turn it is when leave to send came for `job`: what is due again before what is new.

        A job that has to stand back is handed out again, before all other new ones.
        """
        if job.attempts or (due := self._due_again(now)) is None:
            return job
        self._put_back.append(job)
        return due

    def _due_again(self, now: float) -> Job | None:
        due = self.due()
        if due is None or due > now:
            return None
        job = heapq.heappop(self._heap)[2]
        job.ticket = None
        self.waiting -= 1
        return job

    def _new(self, own: Lane[Ask | None] | None) -> Job | Pause | None:
        while (taken := self._lanes.take(own)) is not None:
            lane, ask = taken
            if ask is None:
                self._lanes.leave(lane, led=False)
                return Pause.PAUSE
            known = self._jobs.get(ask.request.key)
            if known is None:
                job = self._jobs[ask.request.key] = Job(ask, lane, claimed=ask.claimed)
                return job
            known.followers += 1
            self._lanes.leave(lane, led=False)
        return None

    def leave(self, job: Job) -> None:
        """The worker that had this question is free; the siblings of a leader may go."""
        self._lanes.leave(job.lane, led=True)

    def again(self, job: Job, due: float) -> None:
        """Let a question wait until `due`."""
        job.ticket = next(self._tickets)
        heapq.heappush(self._heap, (due, job.ticket, job))
        self.waiting += 1

    def close(self, job: Job) -> int:
        """A question ended, waiting or not; how often it stands in the suite."""
        if job.ticket is not None:
            job.ticket = None
            self.waiting -= 1
        job.closed = True
        self._jobs.pop(job.ask.request.key, None)
        return 1 + job.followers

    def clear(self) -> None:
        """Forget what waits: the run is over."""
        self._heap.clear()
        self._put_back.clear()
        self.waiting = 0
