"""One queue per endpoint: whoever comes first is sent first, when every budget has room for it.

    reservation = await pace.admit(request.prompt_chars, max_tokens)
    ...send...
    reservation.settle(reply.usage)      # or .refund() when it never reached the server
    pace.observe(limits, reservation)    # what the reply's headers said
    pace.answered()                      # or pace.refused(wait)

Tokens are reserved as they will probably be used, and settled to the reported usage. Servers that charge
`max_tokens` on arrival (OpenAI's rule) are met by their own count of what is left, which is always read as
though `max_tokens` were charged; where a server tells no such count and refuses again and again, `max_tokens`
is reserved here, too, from then on.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from typing import TYPE_CHECKING, Protocol

from m3ke_async.hold import Hold
from m3ke_async.limits import LAG, Charge, RequestPace, Room, TokenEstimate, TokenPace
from m3ke_async.rate_headers import NOTHING
from m3ke_async.refusals import REMEMBERED, Refusals

if TYPE_CHECKING:
    from m3ke_async.request import Usage

#: Seconds: uvloop turns timers under a millisecond into a busy loop.
_SHORTEST_SLEEP = 0.002
#: Refusals among so many sends under a known limit that lower our own rate, by how much, how far, how long.
_EASE_AFTER, _EASE_AMONG = 3, REMEMBERED
_EASE, _EASE_LEAST, _EASE_SECONDS = 0.95, 0.85, 60.0
#: Seconds in which refusals of one wave lower the rate only once.
_EASE_PAUSE = 10.0


class ReportedLimits(Protocol):
    """What the headers of a reply say; None where they are silent. Resets are seconds from the reply."""

    @property
    def requests_per_minute(self) -> float | None: ...  # noqa: D102
    @property
    def remaining_requests(self) -> float | None: ...  # noqa: D102
    @property
    def reset_requests_s(self) -> float | None: ...  # noqa: D102
    @property
    def tokens_per_minute(self) -> float | None: ...  # noqa: D102
    @property
    def remaining_tokens(self) -> float | None: ...  # noqa: D102
    @property
    def reset_tokens_s(self) -> float | None: ...  # noqa: D102


class Reservation:
    """The leave to send one request. Settled or refunded once; what comes after is ignored."""

    __slots__ = ("at", "charge", "chars", "max_tokens", "pace", "requests_total", "tokens_total", "tries")

    def __init__(self, pace: Pace, chars: int, max_tokens: int | None, tries: int = 0) -> None:
        self.pace: Pace | None = pace
        self.chars = chars
        self.tries = tries
        self.max_tokens = max_tokens
        self.charge: Charge | None = None
        self.at = self.requests_total = self.tokens_total = 0.0

    def give_to(self, chars: int, tries: int) -> None:
        """Use the leave for another prompt, of `chars` characters, that was sent `tries` times before."""
        self.chars, self.tries = chars, tries
        if self.pace is not None:
            self.pace._charge(self)  # noqa: SLF001 (two halves of one thing)

    def settle(self, usage: Usage) -> None:
        """Charge what was used; unknown usage leaves the reservation as it was."""
        pace, self.pace = self.pace, None
        if pace is not None:
            pace._settle(self, usage)  # noqa: SLF001

    def refund(self) -> None:
        """Give all tokens back: the request cost none. Its place among the requests stays used."""
        pace, self.pace = self.pace, None
        if pace is not None:
            pace._refund(self)  # noqa: SLF001


class Pace:
    """The queue of one endpoint. Limits given here stay; others are adopted from replies.

    Args:
        requests_per_minute: the limit that the user or the provider file sets.
        tokens_per_minute: likewise.
        rng: spreads the requests after a hold.
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.estimate = TokenEstimate()
        self._adopts_requests = requests_per_minute is None
        self._adopts_tokens = tokens_per_minute is None
        self._limits = (requests_per_minute, tokens_per_minute)
        self._requests = RequestPace(requests_per_minute)
        self._tokens = TokenPace(tokens_per_minute)
        self._request_room, self._token_room = Room(), Room()
        self._requests_total = self._tokens_total = 0.0
        self._sent_before_limit = 0.0
        self._charges_max_tokens = False

        self._queue: deque[tuple[Reservation, asyncio.Future[None]]] = deque()
        self._queue_again: deque[tuple[Reservation, asyncio.Future[None]]] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._waker: asyncio.Future[None] | None = None

        self._hold = Hold(rng or random.Random())  # noqa: S311 (spreads requests, guards nothing)
        self._refusals = Refusals()
        self._ease = self._share = 1.0
        self._eased_at = -math.inf
        self._open = False
        self._see_whether_open()

    # -- asking for leave -------------------------------------------------------------------------

    async def admit(self, chars: int, max_tokens: int | None = None, tries: int = 0) -> Reservation:
        """Leave to send a prompt of `chars` characters, first come, first served.

        Args:
            chars: characters of the prompt.
            max_tokens: what the request allows the answer; None where it does not say.
            tries: how often it was sent before; what was goes before what was not.
        """
        reservation = Reservation(self, chars, max_tokens, tries)
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._open:
            self._count(reservation, now)
            return reservation
        if not self.is_waited_for and self._delay(reservation, now) <= 0 and await self._requests.ready():
            self._grant(reservation, now)
            return reservation
        granted = loop.create_future()
        (self._queue_again if tries else self._queue).append((reservation, granted))
        self._open = False
        if self._pump is None:
            self._pump = loop.create_task(self._run_queue())
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                reservation.refund()
            raise
        return reservation

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for leave."""
        return bool(self._queue or self._queue_again)

    async def _run_queue(self) -> None:
        loop = asyncio.get_running_loop()
        this = self._pump
        try:
            while queue := self._queue_again or self._queue:
                reservation, granted = queue[0]
                if granted.done():  # its task was cancelled
                    queue.popleft()
                elif (delay := self._delay(reservation, loop.time())) > 0:
                    await self._sleep(delay)
                elif not await self._requests.ready():
                    await self._requests.wait()  # and look again: a hold may have begun meanwhile
                else:
                    queue.popleft()
                    self._grant(reservation, loop.time())
                    granted.set_result(None)
        finally:
            if self._pump is this:
                self._pump = None
                self._see_whether_open()

    def _delay(self, reservation: Reservation, now: float) -> float:
        """Seconds until everything but the request rate has room for it."""
        if (wait := self._hold.wait(now)) > 0:
            return wait
        return max(
            self._tokens.wait(self._tokens_to_reserve(reservation), now),
            self._request_room.wait(1.0, total=self._requests_total, now=now),
            self._token_room.wait(self._most_tokens(reservation), total=self._tokens_total, now=now),
        )

    def _grant(self, reservation: Reservation, now: float) -> None:
        self._requests.take(now)
        reservation.charge = self._tokens.reserve(self._tokens_to_reserve(reservation), now)
        self._count(reservation, now)
        if self._hold.is_careful:
            self._hold.grant(now, lag=LAG, is_waited_for=self.is_waited_for)
            self._see_whether_open()

    def _count(self, reservation: Reservation, now: float) -> None:
        reservation.at = now
        reservation.requests_total = self._requests_total = self._requests_total + 1
        reservation.tokens_total = self._tokens_total = self._tokens_total + self._most_tokens(reservation)

    def _tokens_to_reserve(self, reservation: Reservation) -> float:
        if self._charges_max_tokens:
            return self._most_tokens(reservation)
        return self.estimate.prompt(reservation.chars) + self.estimate.completion(reservation.max_tokens)

    def _most_tokens(self, reservation: Reservation) -> float:
        answer = reservation.max_tokens
        if answer is None:
            return self.estimate.prompt(reservation.chars) + self.estimate.completion(None)
        return self.estimate.prompt(reservation.chars) + answer

    async def _sleep(self, seconds: float) -> None:
        """Sleep, or until something changes for those who wait."""
        loop = asyncio.get_running_loop()
        waker = self._waker = loop.create_future()
        timer = loop.call_later(max(seconds, _SHORTEST_SLEEP), self._wake)
        try:
            await waker
        finally:
            timer.cancel()
            self._waker = None

    def _wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    # -- what requests came to --------------------------------------------------------------------

    def _settle(self, reservation: Reservation, usage: Usage) -> None:
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        if prompt is None or completion is None:
            return
        self.estimate.learn(reservation.chars, prompt, completion)
        if reservation.charge is not None:
            if self._charges_max_tokens and reservation.max_tokens is not None:
                completion = max(completion, reservation.max_tokens)
            self._tokens.settle(reservation.charge, prompt + completion)
            self._wake()

    def _charge(self, reservation: Reservation) -> None:
        if reservation.charge is not None:
            self._tokens.settle(reservation.charge, self._tokens_to_reserve(reservation))

    def _refund(self, reservation: Reservation) -> None:
        if reservation.charge is not None:
            self._tokens.settle(reservation.charge, 0)
            self._wake()

    def answered(self) -> None:
        """A request was answered, well or badly, but not refused for its rate."""
        self._refusals.add_answer()
        if self._ease < 1 and asyncio.get_running_loop().time() >= self._eased_at + _EASE_SECONDS:
            self._ease = 1.0
            self._apply_rates()

    def refused(self, wait: float | None, reservation: Reservation) -> bool:
        """A request was refused for its rate; the server asked for `wait` seconds, None where it did not.

        One refusal among answers slows nobody else. Repeated ones hold back everybody, for at least `wait`;
        under a known limit they also lower our own rate for a while. What counts is the row of sends up to
        this one: refusals come back faster than answers, so that a row of replies would be full of them.

        Returns:
            Whether refusals repeat, so that fewer requests should be in flight, too.
        """
        now = asyncio.get_running_loop().time()
        refusals, number = self._refusals, reservation.requests_total
        refusals.add(number, reservation.tries)
        # What was sent before the limit was known says nothing about keeping to it.
        kept_to = number > self._sent_before_limit
        if kept_to and refusals.among(_EASE_AMONG, number) >= _EASE_AFTER:
            self._slow_down(now)
        if not refusals.repeat(number):
            return False
        if self._hold.is_on(now):  # one of the same wave
            self.hold(wait or 0.0)
            return refusals.holds_help
        seconds = refusals.next_hold(wait, number, sent=self._requests_total, now=now)
        if seconds is None:
            return False
        self.hold(seconds)
        return refusals.holds_help

    def is_free(self, now: float) -> bool:
        """Whether refusals hold nobody back, because holds were seen to be of no use."""
        return self._refusals.is_free(now)

    def _slow_down(self, now: float) -> None:
        if self._limits == (None, None) or now < self._eased_at + _EASE_PAUSE:
            return
        self._eased_at = now
        if self._limits[1] is not None and not self._charges_max_tokens:
            self._charges_max_tokens = True  # the likeliest reason, and no less rate for requests
        else:
            self._ease = max(self._ease * _EASE, _EASE_LEAST)
            self._apply_rates()

    def is_held(self, now: float) -> bool:
        """Whether everybody is held back."""
        return self._hold.is_on(now)

    def hold(self, seconds: float) -> None:
        """Hold back everybody for at least `seconds`; then they go one after another, faster and faster."""
        if self._hold.begin(seconds, asyncio.get_running_loop().time()):
            self._requests.rest()
            self._open = False

    # -- limits -----------------------------------------------------------------------------------

    def set_rate(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        """Change the limits, also for those who wait already; None is no limit."""
        if (requests_per_minute, tokens_per_minute) != self._limits:
            self._limits = (requests_per_minute, tokens_per_minute)
            self._sent_before_limit = self._requests_total
            self._apply_rates()

    def set_share(self, share: float) -> None:
        """Use so much of the limits, given or adopted, and leave the rest to others with the same key."""
        if share != self._share:
            self._share = share
            self._apply_rates()

    def _apply_rates(self) -> None:
        part = self._ease * self._share
        requests, tokens = (None if limit is None else limit * part for limit in self._limits)
        loop = asyncio.get_running_loop()
        self._requests.set_rate(requests)
        self._tokens.set_rate(tokens, loop.time())
        if self._pump is not None:  # it may wait for a request at the old rate
            self._pump.cancel()
            self._pump = loop.create_task(self._run_queue())
        self._see_whether_open()

    def observe(self, limits: ReportedLimits, reservation: Reservation) -> None:
        """Take in what a reply's headers say: adopt limits, and ease before nothing is left.

        Args:
            limits: from the headers of a reply, also of a refusal.
            reservation: that of the request it answers; it tells what was sent since.
        """
        if limits is NOTHING:
            return
        requests, tokens = self._limits
        if self._adopts_requests and limits.requests_per_minute:
            requests = limits.requests_per_minute
        if self._adopts_tokens and limits.tokens_per_minute:
            tokens = limits.tokens_per_minute
        self.set_rate(requests, tokens)
        if limits.remaining_requests is not None:
            self._request_room.report(
                limits.remaining_requests,
                total=reservation.requests_total,
                at=reservation.at,
                per_minute=limits.requests_per_minute or requests,
                reset=limits.reset_requests_s,
            )
        if limits.remaining_tokens is not None:
            self._token_room.report(
                limits.remaining_tokens,
                total=reservation.tokens_total,
                at=reservation.at,
                per_minute=limits.tokens_per_minute or tokens,
                reset=limits.reset_tokens_s,
            )
        self._see_whether_open()
        self._wake()

    def _see_whether_open(self) -> None:
        """Whether `admit` has nothing at all to look at."""
        self._open = (
            self._limits == (None, None)
            and not self.is_waited_for
            and not self._hold.is_careful
            and not self._request_room.known
            and not self._token_room.known
        )
