"""The engine: asks what is not yet answered, at the pace that the endpoints allow.

Workers come and go with the concurrency limit: as many tasks as requests in flight,
never one per question. A question that must be asked again waits in the backlog and
holds neither a slot nor a worker. A reply is in the store before it is counted.

    take (backlog) -> ask (attempts) -> take the next one
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from m3ke_async.attempts import Attempts
from m3ke_async.backlog import Job, Pause
from m3ke_async.errors import IncompleteError, M3keError
from m3ke_async.tally import Budget, Price, exceeded
from m3ke_async.wire.chat import CHAT

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.backlog import Ask
    from m3ke_async.course import Means
    from m3ke_async.endpoint import Endpoint
    from m3ke_async.lanes import Lane
    from m3ke_async.rules import Kind
    from m3ke_async.wire.protocol import Protocol

#: Workers that start together; the next ones follow a moment later, since a burst of new
#: connections overflows the backlog of a small server, and each one lost there costs
#: seconds. A timer under 2 ms would spin on uvloop.
_RAMP, _RAMP_SECONDS = 8, 0.003

#: So many questions may wait for another try, or as many as are asked at once, before no new
#: one is begun: what is owed again then shows that new ones would only add to it.
_ROOM = 16

#: Seconds that requests in flight get when the run is told to stop.
GRACE = 30.0


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Bounds of the asking.

    Attributes:
        timeout: seconds that one attempt may take, from sending to the last byte.
        max_tokens: completion tokens that a request may use.
        budget: what the command may use.
        price: of tokens, where known.
        replace: whether a new reply takes the place of a stored one.
        probe: whether the first request goes alone until it is answered.
        alone: seconds after which it is alone no longer, answered or not; None is no end.
        protocol: how it is asked.
        adapt: with what to stop after a refused request, since the run can go on with another one; told
            by the refusal's kind, the request's body and the answer's. None, or an answer of None: it cannot.
        secrets: keys, which are cut out of every message and every kept body.
    """

    timeout: float
    max_tokens: int
    budget: Budget = field(default_factory=Budget)
    price: Price | None = None
    replace: bool = False
    probe: bool = True
    alone: float | None = None
    protocol: Protocol = CHAT
    adapt: Callable[[Kind, bytes, bytes], M3keError | None] | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)


class Engine:
    """Asks every question of the backlog; each ends with a reply or a failure in the store."""

    def __init__(self, means: Means) -> None:
        self._backlog, self._endpoints = means.backlog, means.endpoints
        self._settings, self._tally = means.settings, means.tally
        self._attempts = Attempts(self, means)
        self._workers: set[asyncio.Task[None]] = set()
        self._late: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None  # of the next pump
        self._ramp_until = 0.0  # no worker is added before
        self._timers: list[asyncio.TimerHandle] = []
        self._alone = means.settings.probe
        self._stop: BaseException | None = None

    async def run(self) -> None:
        """Ask until nothing is left.

        Raises:
            StoppedError: the provider stopped the run.
            IncompleteError: a budget is used up, nobody answers, or the disk is full.
        """
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._attempts.begin()
        self._finished = self._loop.create_future()
        if (seconds := self._settings.budget.seconds) is not None:
            # a little later, so that the time is over by any rounding
            self._timers.append(self._loop.call_later(seconds + 0.01, self.check_budget))
        if self._settings.alone is not None:
            self._timers.append(self._loop.call_later(self._settings.alone, self._let_go))
        try:
            self._pump()
            await self._finished
        except asyncio.CancelledError as cancelled:
            self._stop = self._stop or cancelled
            raise
        finally:
            self._tally.ledger.seconds += self._loop.time() - self._started
            for timer in self._timers:
                timer.cancel()
            if self._timer is not None:
                self._timer.cancel()
            running = self._workers | self._late
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if self._stop is not None:
            raise self._stop

    def _let_go(self) -> None:
        """A refusal of key or model would have come by now: let the others go, too."""
        self._alone = False
        self._pump()

    @property
    def _probing(self) -> bool:
        """Whether the first question goes alone, and has not ended."""
        return self._alone and not (self._tally.answered or self._tally.failed)

    @property
    def stopping(self) -> bool:
        """Whether nothing more is to be sent."""
        return self._stop is not None

    def stop(self, reason: BaseException) -> None:
        """Start nothing more; what is in flight may end within `GRACE`. The first reason stands."""
        if self._stop is not None:
            return
        self._stop = reason
        self._backlog.clear()
        self._tally.waiting = 0
        self._cancel(self._attempts.admission.admitting)
        grace = min(GRACE, self._settings.timeout)
        self._timers.append(self._loop.call_later(grace, lambda: self._cancel(self._workers | self._late)))
        self._loop.call_soon(self._pump)

    def _cancel(self, tasks: set[asyncio.Task[None]]) -> None:
        """Cancel tasks, but for those that hold a reply which the disk has not taken yet."""
        for task in tasks - self._attempts.keeping.tasks:
            task.cancel()

    def abort(self) -> None:
        """Wait for nothing, neither what is in flight nor a full disk."""
        for task in self._workers | self._late:
            task.cancel()

    @property
    def next_try(self) -> float | None:
        """Seconds until the next waiting question is asked again; None when none waits."""
        due = self._backlog.due()
        return None if due is None else max(0.0, due - self._loop.time())

    def _pump(self) -> None:
        """Start workers while there is room and work; end the run when nothing is left."""
        now = self._loop.time()
        if now < self._ramp_until:
            return  # the timer is set
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        again: float | None = None
        for _ in range(_RAMP):
            endpoint = self._free_endpoint()
            if endpoint is None:
                again = None if self._workers else self._until_open()
                break
            job = self._take(None)
            if not isinstance(job, Job):
                again = 0.0 if job is Pause.PAUSE else self._until_due()
                break
            endpoint.begin(now)
            self._workers.add(self._loop.create_task(self._work(job, endpoint)))
        else:
            again = _RAMP_SECONDS
            self._ramp_until = now + 0.9 * _RAMP_SECONDS
        if again is not None:
            self._timer = self._loop.call_later(again, self._pump)
        elif not self._workers and not self._late and not self._finished.done():
            self._finished.set_result(None)

    def _free_endpoint(self) -> Endpoint | None:
        """The least busy endpoint that takes another request now."""
        if self._stop is not None:
            return None
        now = self._loop.time()
        if len(self._endpoints) == 1:
            only = self._endpoints[0]
            return only if only.takes_more(now) else None
        well = any(endpoint.is_well for endpoint in self._endpoints)
        open_ = any(endpoint.is_open(now) for endpoint in self._endpoints)
        free = [
            endpoint
            for endpoint in self._endpoints
            # What fails at once looks idle: beside a well one it gets one question at a time,
            # and one that holds everybody back gets none while another does not.
            if endpoint.takes_more(now)
            and (endpoint.is_well or not well or not endpoint.active)
            and (endpoint.is_open(now) or not open_)
        ]
        return min(free, key=lambda endpoint: (not endpoint.is_well, endpoint.active), default=None)

    def _until_open(self) -> float | None:
        """Seconds until a breaker lets a request through; None when the run is over."""
        if self._stop is not None:
            return None
        now = self._loop.time()
        return max(_RAMP_SECONDS, min(endpoint.breaker.wait(now) for endpoint in self._endpoints))

    def _until_due(self) -> float | None:
        due = None if self._stop is not None else self._backlog.due()
        return None if due is None else max(_RAMP_SECONDS, due - self._loop.time())

    def _take(self, own: Lane[Ask | None] | None) -> Job | Pause | None:
        """The next question for a worker, as far as the run goes on."""
        if self._stop is not None:
            return None
        if self._probing and self._backlog.open > self._backlog.waiting:
            return None  # the first question is on its way, alone
        limit = sum(endpoint.concurrency.limit for endpoint in self._endpoints)
        room = 1 if self._probing else max(_ROOM, limit)
        try:
            job = self._backlog.take(own, self._loop.time(), room=room)
        except Exception as error:  # such as a suite that changed: a shorter one must not pass for it
            self.stop(error)
            return None
        if isinstance(job, Job) and self.check_budget():
            return None  # asked last, since a limit stops only a run that has something left
        return job

    def check_budget(self) -> bool:
        """Stop the run when its budget is used up; whether it is."""
        seconds = self._loop.time() - self._started
        used = exceeded(self._settings.budget, self._tally.ledger, self._settings.price, seconds)
        if used is not None:
            self.stop(IncompleteError(f"stopped at the limit of this command: {used}; run it again to go on"))
        return used is not None

    async def _work(self, job: Job, endpoint: Endpoint) -> None:
        """Ask one question after another while there is room for this worker."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        try:
            while True:
                job = await self._attempts.ask(job, endpoint, task)
                if task in self._late:
                    return  # overdue: its place was given away
                endpoint.active -= 1
                self._backlog.leave(job)
                following = await self._next(job.lane)
                if following is None:
                    return
                job, endpoint = following
                endpoint.begin(self._loop.time())
                if endpoint.takes_more(self._loop.time()):
                    self._pump()
        except asyncio.CancelledError:
            if task not in self._late:
                endpoint.active -= 1
            raise
        except Exception as error:  # a mistake of ours must not go unseen
            self.stop(error)
        finally:
            self._workers.discard(task)
            self._late.discard(task)
            self._pump()

    def give_place(self, task: asyncio.Task[None], job: Job, endpoint: Endpoint) -> None:
        """Let another worker have the place of one whose attempt is overdue; it goes on waiting."""
        self._workers.discard(task)
        self._late.add(task)
        endpoint.active -= 1
        self._backlog.leave(job)
        self._loop.call_soon(self._pump)

    async def _next(self, lane: Lane[Ask | None]) -> tuple[Job, Endpoint] | None:
        """The next question of a worker, and whom to ask; None when it is not needed now."""
        while (endpoint := self._free_endpoint()) is not None:
            job = self._take(lane)
            if isinstance(job, Job):
                return job, endpoint
            if job is None:
                return None
            await asyncio.sleep(0)
        return None
