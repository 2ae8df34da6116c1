"""What becomes of one question that is sent once: a reply that is kept, another try, or the end of it.

In the order of the methods:

    leave (admission) -> ask (transport) -> parse (wire) -> keep (keeping)
                                         -> decide (faults) -> again | give up | stop
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3ke_async.admission import LATE, Admission
from m3ke_async.breaker import State
from m3ke_async.endpoint import NOTHING_THERE
from m3ke_async.errors import IncompleteError, StoppedError
from m3ke_async.faults import WITHOUT_TEXT, Action, Decision, decide
from m3ke_async.keeping import Keeping
from m3ke_async.rate_headers import observed_limits
from m3ke_async.request import FILTERED, Reply
from m3ke_async.rules import Kind
from m3ke_async.scrub import scrub_all
from m3ke_async.store import Failure

if TYPE_CHECKING:
    from m3ke_async.address import Address
    from m3ke_async.backlog import Job
    from m3ke_async.course import Course, Means
    from m3ke_async.endpoint import Endpoint
    from m3ke_async.pace import Reservation
    from m3ke_async.wire.transport import Response

#: A provider that asks for a longer wait than this many seconds stops the run, resumably.
MAX_WAIT = 600.0

#: Seconds without any reply after which failures end the run instead of the questions.
_SILENCE = 300.0

#: Of the first so many answers, more than this share without text stops the run.
_BLANK_WINDOW, _BLANK_SHARE = 50, 0.2

#: So many refused questions in a row are not about the questions.
_REFUSED_ROW = 5

#: What some providers say of one question, and others of every one.
_OFTEN_OF_ONE = frozenset({Kind.BAD_PARAMETER, Kind.FORBIDDEN, Kind.WRONG_ADDRESS})

#: Refusals before anything was computed.
_COST_NOTHING = frozenset({Kind.BAD_PARAMETER, Kind.BAD_REQUEST, Kind.FORBIDDEN, Kind.TOO_LONG})

#: In the ledger: attempts whose reply the end of the command did not wait for.
_CUT_OFF = "cut off"


@dataclass(slots=True, eq=False)
class _Attempt:
    """A question that is sent once.

    Attributes:
        address: where it went; the endpoint may have moved since.
        task: the worker that sends it.
        overdue: whether its worker's place was given away, and only a late reply is waited for.
        wasted: tokens that an overdue one counts as having cost for nothing.
    """

    job: Job
    endpoint: Endpoint
    address: Address
    reservation: Reservation
    task: asyncio.Task[None]
    sent: float
    overdue: bool = False
    wasted: int = 0


class Attempts:
    """Sends questions, and carries out what follows from the answers.

    Args:
        course: the run.
        means: what it asks with.
    """

    def __init__(self, course: Course, means: Means) -> None:
        self._course, self._backlog, self._endpoints = course, means.backlog, means.endpoints
        self._store, self._retry, self._profile = means.store, means.retry, means.profile
        self._settings, self._tally = means.settings, means.tally
        self._on_reply, self._warn = means.on_reply, means.warn
        self.admission = Admission(course, means, self._close)
        self.keeping = Keeping(course, means)
        self._answers = self._blanks = self._refused = 0

    def begin(self) -> None:
        """The run begins, in the running loop."""
        self._loop = asyncio.get_running_loop()
        self.admission.begin()
        self._last_reply = self._loop.time()

    async def ask(self, job: Job, endpoint: Endpoint, task: asyncio.Task[None]) -> Job:
        """Send a question once, or in its place one that is due again; which of them, when all is settled."""
        job, reservation = await self.admission.leave(job, endpoint, task)
        if reservation is None:
            return job
        if job.late is not None:
            job.late.cancel()
            job.late = None
        attempt = _Attempt(job, endpoint, endpoint.address, reservation, task, self._loop.time())
        job.attempts += 1
        job.first_sent = job.first_sent or attempt.sent
        response, error = await self._send(attempt)
        found: Reply | None = None
        if response is not None and response.is_success:
            found = self._settings.protocol.parse(response.body, self._profile)
        if response is not None:
            self._tally.ledger.resent += response.resent
            endpoint.pace.observe(observed_limits(self._profile, response.headers), reservation)
        if isinstance(found, Reply):
            endpoint.has_replied = True
            if not attempt.overdue:
                endpoint.answered(self._loop.time(), self._loop.time() - attempt.sent)
            elif job.late is not task:
                return job  # too late: it was asked again, or given up
            await self._keep(attempt, found)
        elif not attempt.overdue:
            await self._settle(attempt, response, error)
        return job

    async def _send(self, attempt: _Attempt) -> tuple[Response | None, Exception | None]:
        """Send a request; what came back, or what was raised instead."""
        job, endpoint = attempt.job, attempt.endpoint
        self._tally.ledger.requests += 1
        self._tally.in_flight += 1
        deadline = self._loop.call_later(self._settings.timeout, self._on_deadline, attempt)
        try:
            return await endpoint.transport.ask(job.ask.request.body, fresh=job.attempts > 1), None
        except Exception as error:  # whatever it is, `decide` says what follows
            return None, error
        except asyncio.CancelledError:
            if not attempt.overdue:  # else it is counted as a time-out
                self._tally.ledger.add_failure(_CUT_OFF, estimate=self._estimate(attempt))
            raise
        finally:
            deadline.cancel()
            self._tally.in_flight -= 1

    def _on_deadline(self, attempt: _Attempt) -> None:
        """Give an overdue worker's place away; it goes on waiting for a late reply.

        The question waits as long again before it is sent a second time: what the server
        has begun to compute is likely to come, and to be billed.
        """
        job, endpoint, task = attempt.job, attempt.endpoint, attempt.task
        attempt.overdue = True
        job.late = task
        self._course.give_place(task, job, endpoint)
        decision = decide(
            self._profile, status=None, headers={}, body=b"", exception=TimeoutError(), now=time.time()
        )
        endpoint.refused(self._loop.time(), decision, attempt.reservation)
        self._again(attempt, replace(decision, wait=min(LATE, self._settings.timeout)), b"")

    async def _settle(self, attempt: _Attempt, response: Response | None, error: Exception | None) -> None:
        """Carry out the decision on an answer that is no reply."""
        now, endpoint = self._loop.time(), attempt.endpoint
        body = b"" if response is None else response.body
        decision = decide(
            self._profile,
            status=None if response is None else response.status,
            headers={} if response is None else response.headers,
            body=body,
            exception=error,
            now=time.time(),
        )
        decision = replace(decision, message=scrub_all(decision.message, self._settings.secrets))
        if response is None or not response.is_success:
            attempt.reservation.refund()  # else tokens were used, if for nothing
        if response is not None and self._starts_over(attempt, decision.kind, body):
            return
        action = decision.action
        answers = endpoint.has_replied or (len(self._endpoints) == 1 and self._were_answered)
        if decision.kind in _OFTEN_OF_ONE and answers and self._refused < _REFUSED_ROW:
            action = Action.FAIL_ITEM  # others were answered here: it is about this question
        match action:
            case Action.RETRY:
                endpoint.refused(now, decision, attempt.reservation)
                self.admission.move_off(endpoint, now)
                self._again(attempt, decision, body)
            case Action.RECORD_FILTERED:
                endpoint.answered(now, now - attempt.sent)
                await self._keep(attempt, Reply(text="", finish_reason=FILTERED))
            case Action.FAIL_ITEM:
                endpoint.answered(now, now - attempt.sent)
                self._refuse(attempt, decision, body)
            case Action.STOP_RUN:
                nothing = response is not None and response.status in NOTHING_THERE
                if not (decision.kind is Kind.WRONG_ADDRESS and nothing and self._moves(attempt)):
                    self._stop_endpoint(attempt, decision)

    def _starts_over(self, attempt: _Attempt, kind: Kind, body: bytes) -> bool:
        """Stop the run where it can go on with another request for every question."""
        adapt = self._settings.adapt
        if adapt is None or self._were_answered:
            return False
        refusal = adapt(kind, attempt.job.ask.request.body, body)
        if refusal is not None:
            self._waste(attempt, kind, body)
            self._course.stop(refusal)
        return refusal is not None

    async def _keep(self, attempt: _Attempt, reply: Reply) -> None:
        """Store a reply, then count it."""
        job = attempt.job
        latency = self._loop.time() - attempt.sent
        reply = replace(reply, latency=latency, attempts=job.attempts, received_at=time.time())
        if not await self.keeping.put(job.ask.request, reply, attempt.task):
            self._give_up(job, None)
            return
        attempt.reservation.settle(reply.usage)
        if attempt.overdue:
            self._tally.ledger.take_back(Kind.TIMEOUT, estimate=attempt.wasted)
        self._tally.ledger.add_reply(reply, estimate=self._estimate(attempt))
        self._last_reply = self._loop.time()
        self._refused = 0
        for _ in range(self._close(job)):
            self._tally.answered += 1
            self._on_reply(job.ask, reply)
        self._count_blank(blank=not reply.text.strip() and not reply.filtered)

    # -- what follows a failure ------------------------------------------------------

    def _again(self, attempt: _Attempt, decision: Decision, body: bytes) -> None:
        """Let a question wait for its next try, or give it up."""
        job, now = attempt.job, self._loop.time()
        self._waste(attempt, decision.kind, body)
        if self._course.stopping:
            return
        others = (other for other in self._endpoints if other is not attempt.endpoint)
        elsewhere = decision.slow_down and any(other.is_open(now) for other in others)
        asked = None if elsewhere else decision.wait  # another endpoint need not wait for this one
        if asked is not None and asked > MAX_WAIT:
            self._course.stop(
                IncompleteError(f"{decision.message}; asked to wait {asked:.0f} s: run again after that")
            )
            return
        silence = now - self._last_reply
        if silence > _SILENCE and (decision.slow_down or attempt.endpoint.breaker.wait(now) > 0):
            self._course.stop(
                IncompleteError(f"no reply for {silence:.0f} s ({decision.message}); run again later")
            )
            return
        # While the endpoint answers others, the failure is this request's own, and a short wait
        # will do; a refusal that names no wait is not: there the backoff is all that gives way.
        blind = decision.slow_down and decision.wait is None and not elsewhere
        step = job.attempts if blind else min(job.attempts, attempt.endpoint.breaker.row)
        wait = self._retry.wait(attempts=job.attempts, step=step, since=job.first_sent, now=now, asked=asked)
        if wait is None:
            if decision.then_stop and not self._were_answered:
                self._course.stop(StoppedError(decision.message))
            self._give_up(job, self._failure(attempt, decision.kind, decision.message, body))
            return
        self._backlog.again(job, now + wait)
        self._tally.waiting = self._backlog.waiting
        self._tally.ledger.seconds_waited += wait

    def _refuse(self, attempt: _Attempt, decision: Decision, body: bytes) -> None:
        """The server does not answer this question, now or later."""
        blank = decision.kind in WITHOUT_TEXT
        self._waste(attempt, decision.kind, body)
        if blank:
            self._count_blank(blank=True)
        self._give_up(attempt.job, self._failure(attempt, decision.kind, decision.message, body))
        self._refused += 1
        if self._refused == _REFUSED_ROW and not self._were_answered:
            self._course.stop(
                StoppedError(f"the first {self._refused} questions were all refused: {decision.message}")
            )

    @property
    def _were_answered(self) -> bool:
        """Whether questions of this run got replies: then its settings are not what is wrong."""
        return self._tally.stored + self._tally.ledger.replies > 0

    def _moves(self, attempt: _Attempt) -> bool:
        """Ask at the neighbouring address where nothing was at the one that was asked: once."""
        job, endpoint, asked = attempt.job, attempt.endpoint, attempt.address
        if endpoint.address is asked:
            if asked.other is None:
                return False
            self._warn(f"nothing takes questions at {asked.public}, so {asked.other.public} is asked")
            endpoint.move(asked.other)
        self._tally.ledger.add_failure(Kind.WRONG_ADDRESS, estimate=0)
        job.attempts -= 1
        self._backlog.again(job, self._loop.time())
        return True

    def _stop_endpoint(self, attempt: _Attempt, decision: Decision) -> None:
        """No request to this endpoint can succeed; without another one the run is over."""
        job, endpoint = attempt.job, attempt.endpoint
        self._tally.ledger.add_failure(decision.kind, estimate=0)
        known = endpoint.breaker.state is State.FATAL
        endpoint.breaker.on_fatal()
        route = self._settings.protocol.route_at(self._profile) if decision.kind is Kind.WRONG_ADDRESS else ""
        message = f"{endpoint.named(decision.kind, route)}: {decision.message}"
        if decision.kind is Kind.BAD_KEY and not self._settings.secrets:
            message += "; no key was sent: name its environment variable by --api-key-env"
        if all(other.breaker.state is State.FATAL for other in self._endpoints):
            self._course.stop(StoppedError(message))
            return
        if not known:
            self._warn(f"{message}; this address is left out")
        job.attempts -= 1
        self._backlog.again(job, self._loop.time())

    def _failure(self, attempt: _Attempt, kind: str, message: str, body: bytes) -> Failure:
        return Failure.kept(kind, message, body, attempt.job.attempts, self._settings.secrets)

    def _give_up(self, job: Job, failure: Failure | None) -> None:
        """A question ends without a reply; the next run owes it."""
        times = self._close(job)
        self._tally.failed += times
        if failure is None:
            return
        self._tally.failures[failure.kind] += times
        self.keeping.put_failure(job.ask.request, failure)

    def _close(self, job: Job) -> int:
        """A question ended: nobody waits for a late reply, and its siblings are served as well."""
        if job.late is not None and job.late is not asyncio.current_task():
            job.late.cancel()
        job.late = None
        if job.claimed:
            self._store.claims.release(job.ask.request.key)
        times = self._backlog.close(job)
        self._tally.waiting = self._backlog.waiting
        return times

    def _waste(self, attempt: _Attempt, kind: Kind, body: bytes) -> None:
        """Count an attempt without a reply, and the tokens that it cost all the same."""
        usage = self._settings.protocol.usage_of(body, self._profile)
        if usage.prompt_tokens is not None:
            estimate = usage.prompt_tokens
        elif kind in _COST_NOTHING:
            estimate = 0
        else:
            estimate = self._estimate(attempt)
        attempt.wasted = estimate
        self._tally.ledger.add_failure(kind, estimate=estimate, completion=usage.completion_tokens or 0)
        self._tally.ledger.add_charge(usage)

    @staticmethod
    def _estimate(attempt: _Attempt) -> int:
        """Tokens of a prompt whose usage nobody reports."""
        return round(attempt.endpoint.pace.estimate.prompt(attempt.job.ask.request.prompt_chars))

    def _count_blank(self, *, blank: bool) -> None:
        """Stop early when the answers hold no text: every further one costs as much."""
        self._answers += 1
        self._blanks += blank
        if self._answers == _BLANK_WINDOW and self._blanks > _BLANK_WINDOW * _BLANK_SHARE:
            self._course.stop(
                StoppedError(
                    f"{self._blanks} of the first {_BLANK_WINDOW} replies have no text: a thinking model "
                    "needs a larger --max-tokens, or its server a reasoning parser; m3ke check shows one"
                )
            )
