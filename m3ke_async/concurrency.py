"""How many requests may be in flight at once, found by watching latency: no number to tune by hand.

A server with free capacity answers as fast with more requests in flight; one without only queues them, and
latency grows in proportion while throughput stays (Little's law: in flight = throughput x latency). So the
limit doubles per round trip at first, then grows by its root per round, as long as it is really used and
latency stays near the lowest seen; and it is cut when latency shows a queue, or when the server refuses.

A cut for latency is an experiment, judged a round trip later. If latency fell with the requests, they had
queued; after the first such cut the next one follows at once, since the lowest latency may itself have been
seen in a queue. If it did not fall, the server has become slower, which fewer requests would not cure: the
limit is restored and this latency is the normal one from now on. Without that a slow hour at the provider
would starve the run.

Answers are taken as they come, never by when they were sent: of the requests sent after a change the quick
ones answer first, and would make every server look faster than it is.

Pure: the caller gives the time, seconds of one monotonic clock.
"""

from __future__ import annotations

import math

#: Latency over the lowest seen: up to _CALM the limit grows, above _QUEUE it is cut.
_CALM, _QUEUE = 1.3, 1.8
#: A round ends after as many answers as the limit, and no fewer than this, or noise would rule.
_LEAST_ROUND = 64
#: Share of the limit that must be in flight for it to count as used.
_USED = 0.9
#: How fast the lowest latency follows a round that was faster; less than 1, since luck is part of it.
_FOLLOW = 0.3
#: Every cut, for a queue or for refusals.
_CUT = 0.7
#: A small queue is tried with a cut after so many rounds, in case it is none of ours, then after twice as
#: many.
_PATIENCE = 16
#: Seconds in which refusals of one wave cut only once.
_COOLDOWN = 1.0
#: Where the server limits what is in flight, growing into its limit again costs a pause each time: this share
#: of the limit that was refused is not exceeded for so many seconds.
_CEILING, _CEILING_SECONDS = 0.9, 60.0


class AdaptiveConcurrency:
    """The limit of one endpoint, between `lower` and `upper`; a fixed number where both are the same.

    Args:
        upper: the most requests in flight.
        lower: the fewest.
        start: the first limit. The default fills a server of one's own within its first round trip: with 300
            slots and 200 ms, 2,000 questions last seven round trips, and 64 at first would cost more than one
            of them. APIs that punish a sudden start want 8 to 32.
    """

    def __init__(self, upper: int = 512, lower: int = 1, start: int = 256) -> None:
        self.upper, self.lower = upper, lower
        self._limit = float(min(max(start, lower), upper))
        self._slow_start = True
        self._base: float | None = None  # logarithm of the lowest latency
        self._trial: tuple[float, float] | None = None  # limit and log latency before a cut
        self._base_is_proven = False
        self._held = 0
        self._patience = _PATIENCE
        self._quiet_until = self._ceiling_until = -math.inf
        self._ceiling = math.inf
        self._before_refusals: float | None = None
        self._begin_round(skip=0)

    @property
    def limit(self) -> int:
        """How many requests may be in flight now."""
        return int(self._limit)

    def on_answer(self, now: float, latency: float, in_flight: int) -> None:
        """A request was answered.

        Args:
            now: when the reply was whole.
            latency: seconds since it was sent.
            in_flight: requests without a reply at that moment, this one included.
        """
        if self._skip > 0:
            self._skip -= 1
            return
        log = math.log(max(latency, 1e-6))  # a mean of logarithms does not mind a few slow answers
        self._answers += 1
        self._in_flight += in_flight
        self._logs += log
        if self._slow_start and in_flight >= _USED * self._limit:
            base = self._logs / self._answers if self._base is None else self._base
            if log <= base + math.log(_CALM):
                self._set(self._limit + 1)
        if self._answers >= self._round:
            if now >= self._ceiling_until:
                self._ceiling, self._before_refusals = math.inf, None
            self._end_round(in_flight)

    def on_refusal(self, now: float, in_flight: int) -> None:
        """The server refuses requests for their rate again and again: not for each that is refused.

        Args:
            now: when the refusal came.
            in_flight: requests without a reply, which were sent under the limit until now.
        """
        if now < self._quiet_until:
            return
        self._quiet_until = now + _COOLDOWN
        self._ceiling, self._ceiling_until = self._limit * _CEILING, now + _CEILING_SECONDS
        self._before_refusals = self._before_refusals or self._limit
        self._slow_start = False
        self._trial = None
        self._set(self._limit * _CUT)
        self._begin_round(skip=in_flight)

    def on_vain_refusals(self) -> None:
        """Refusals were seen to depend on nothing that is done here: the cuts for them are taken back."""
        if self._before_refusals is not None:
            self._set(max(self._limit, self._before_refusals))
            self._ceiling, self._before_refusals = math.inf, None

    def _end_round(self, in_flight: int) -> None:
        latency = self._logs / self._answers
        used = self._in_flight >= _USED * self._limit * self._answers
        if self._base is None:
            self._base = latency
        self._base += _FOLLOW * min(0.0, latency - self._base)
        limit, slow_start = self._limit, self._slow_start
        cut = self._judge_trial(latency)
        queue = math.exp(latency - self._base)
        if queue <= _CALM:
            self._held = 0
        elif slow_start:
            self._slow_start = False
            # A cut comes next, after a round in which the queue has stopped growing.
            self._held = self._patience
        else:
            self._held += 1
            cut |= queue > _QUEUE or self._held > self._patience
        if cut and used:
            self._held = 0
            self._trial = (self._limit, latency)
            self._set(self._limit * _CUT)
        steady = self._limit == limit and self._slow_start == slow_start
        if steady and queue <= _CALM and used and not slow_start:
            self._set(max(limit, min(limit + math.sqrt(limit), self._ceiling)))
        self._begin_round(skip=0 if steady else in_flight)

    def _judge_trial(self, latency: float) -> bool:
        """End the trial, if there is one; whether it calls for another cut."""
        if self._trial is None:
            return False
        limit, before = self._trial
        self._trial = None
        cut = self._limit / limit
        change = math.exp(latency - before)
        if change > (1 + cut) / 2:  # fewer requests did not help
            self._base, self._base_is_proven = latency, True
            self._patience = _PATIENCE
            self._set(limit)
            return False
        self._patience *= 2
        return not self._base_is_proven and change < (1 + 3 * cut) / 4

    def _begin_round(self, skip: int) -> None:
        self._skip = skip  # answers to requests that were sent under another limit
        self._round = max(_LEAST_ROUND, self.limit)
        self._answers = self._in_flight = 0
        self._logs = 0.0

    def _set(self, limit: float) -> None:
        self._limit = min(max(limit, self.lower), self.upper)
