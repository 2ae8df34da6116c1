"""How fast one endpoint may be asked: requests a minute, tokens a minute, and what it says is left.

`RequestPace` and `TokenPace` space what they let through evenly from the first request on: a budget of a
whole minute spent at once is what servers punish. `Room` is the server's own count, where its replies name
it. `TokenEstimate` guesses what a request will use before it is sent. Who waits, and in which order, is the
matter of `pace.py`; nothing here keeps a queue.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass

from aiolimiter import AsyncLimiter

#: Share of a limit that is used. A minute's worth then takes 60.3 s, so that a server with a strict 60 s
#: window counts no more than its limit although requests arrive up to 0.2 s late (`LAG` takes the rest).
PACE_SHARE = 0.995
#: Seconds that the schedule may lag behind and catch up: timers come late where the processor is busy.
LAG = 0.1
#: Seconds between two timers at high rates, which then grant a few requests at once. uvloop counts time in
#: milliseconds and turns round until the next one when a timer comes early; measured at 10,000 requests a
#: minute: 11 % of a core one by one, 3 % with 20 ms.
GRAIN = 0.02
#: A minute and the jitter of the network: no such window of token charges exceeds the limit.
WINDOW = 60.2


class RequestPace:
    """Requests a minute, by aiolimiter, for one caller at a time.

    `AsyncLimiter(rate, 60)` sends a minute's requests at once, `AsyncLimiter(rate / 60, 1)` twice the rate in
    the first second, and `AsyncLimiter(1, 60 / rate)` loses what its timer is late: at 100,000 a minute half
    of the rate (`bench/limiter.py`). So the bucket here is small, holds `LAG` seconds to catch up with, and
    is filled at first, so that one request is due and the next ones are spaced. A waiter of aiolimiter that
    is woken too early goes to the back; with one caller there is no order to lose.

    `per_minute` is None where there is no limit: then everything is due and nothing is counted.
    """

    __slots__ = ("_granted_at", "_granted_now", "_limiter", "_loop", "_lot", "per_minute")

    def __init__(self, per_minute: float | None = None) -> None:
        self.per_minute = per_minute
        self._limiter: AsyncLimiter | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lot = 1
        self._granted_now = 0
        self._granted_at = -math.inf

    def set_rate(self, per_minute: float | None) -> None:
        """Change the limit; the next request keeps its distance from the last one."""
        if per_minute != self.per_minute:
            self.per_minute = per_minute
            self.rest()

    def rest(self) -> None:
        """Forget what a pause has saved up, so that requests are spaced from the first again."""
        self._limiter = None
        self._granted_now = 0

    async def ready(self) -> bool:
        """Whether a request may go now; returns at once."""
        if self.per_minute is None or self._granted_now:
            return True
        limiter = await self._bucket(self.per_minute)
        if not limiter.has_capacity(self._lot):
            return False
        await self.wait()
        return True

    async def wait(self) -> None:
        """Wait until a request may go. Only one caller may wait here; on a new rate it must begin anew."""
        if self.per_minute is not None and not self._granted_now:
            limiter = await self._bucket(self.per_minute)
            await limiter.acquire(self._lot)
            self._granted_now = self._lot

    def take(self, now: float) -> None:
        """Count a request that goes now, after `ready` or `wait`."""
        if self.per_minute is not None:
            self._granted_now -= 1
            self._granted_at = now

    async def _bucket(self, per_minute: float) -> AsyncLimiter:
        loop = asyncio.get_running_loop()
        if self._limiter is None or self._loop is not loop:
            if self._loop is not loop:  # another loop's clock says nothing here
                self._loop, self._granted_at, self._granted_now = loop, -math.inf, 0
            rate = per_minute * PACE_SHARE / 60
            self._lot = max(1, round(rate * GRAIN))
            capacity = self._lot + rate * LAG
            self._limiter = AsyncLimiter(capacity, capacity / rate)
            await self._limiter.acquire(capacity - min(1.0, rate * (loop.time() - self._granted_at)))
        return self._limiter


@dataclass(slots=True, eq=False)
class Charge:
    """Tokens that stand in the budget for one request, until the window has moved past it."""

    at: float
    tokens: float
    in_window: bool = True


class TokenPace:
    """Tokens a minute: reserve before sending, settle when the reply tells what was used.

    Two rules, both of which must agree. The budget refills continuously and a request waits until the ones
    before it are paid off, which spaces them. And what is charged within any `WINDOW` stays within the limit,
    which the first rule alone breaks by up to one large request. A request above the whole limit goes alone,
    when the window is empty. Times are seconds of one monotonic clock. Without a limit nothing is counted.
    """

    __slots__ = ("_charges", "_paid_at", "_sum", "per_minute")

    def __init__(self, per_minute: float | None = None) -> None:
        self.per_minute = per_minute
        self._paid_at = -math.inf
        self._charges: deque[Charge] = deque()
        self._sum = 0.0

    def set_rate(self, per_minute: float | None, now: float) -> None:
        """Change the limit; what is not paid off yet is paid at the new rate."""
        if self.per_minute and per_minute and self._paid_at > now:
            self._paid_at = now + (self._paid_at - now) * self.per_minute / per_minute
        self.per_minute = per_minute

    def wait(self, tokens: float, now: float) -> float:
        """Seconds until a request of `tokens` may go, 0 for now; may grow shorter when others settle."""
        if self.per_minute is None:
            return 0.0
        self._forget(now)
        until = self._paid_at
        excess = self._sum + tokens - self.per_minute
        if excess > 0:
            for charge in self._charges:  # few: the excess is about one request
                until = max(until, charge.at + WINDOW)
                excess -= charge.tokens
                if excess <= 0:
                    break
        return max(0.0, until - now)

    def reserve(self, tokens: float, now: float) -> Charge | None:
        """Charge `tokens` now, whether or not it was time; None where there is no limit."""
        if self.per_minute is None:
            return None
        self._forget(now)
        charge = Charge(now, 0.0)
        self._charges.append(charge)
        self._paid_at = max(self._paid_at, now - LAG) if self._paid_at > -math.inf else now
        self.settle(charge, tokens)
        return charge

    def settle(self, charge: Charge, tokens: float) -> None:
        """Make the charge what was really used; 0 refunds it."""
        change = tokens - charge.tokens
        charge.tokens = tokens
        if charge.in_window:
            self._sum += change
        if self.per_minute is not None:
            self._paid_at += change * 60 / (self.per_minute * PACE_SHARE)

    def in_window(self, now: float) -> float:
        """Tokens that stand charged within the last `WINDOW` seconds."""
        self._forget(now)
        return self._sum

    def _forget(self, now: float) -> None:
        charges = self._charges
        while charges and charges[0].at + WINDOW <= now:
            charge = charges.popleft()
            charge.in_window = False
            self._sum -= charge.tokens
        if not charges:
            self._sum = 0.0  # rounding does not add up over a long run


class Room:
    """What a server says is left of one budget, brought up to date by what was sent since.

    `total` is the sum of all requests or tokens ever admitted. Token limits at OpenAI count `max_tokens` when
    a request arrives, whatever it uses, so this sum does, too. What the server refills is added at the rate
    of its limit. A margin stays untouched, a tenth of the most that was ever left and one more request, but
    never above a quarter: requests overtake one another on the way, others may use the same key, and servers
    differ in whether the request that is answered is counted in what they say is left.
    """

    __slots__ = ("_at", "_expires", "_left", "_most", "_refill", "_total")

    def __init__(self) -> None:
        self._left = math.inf
        self._most = 0.0
        self._refill = 0.0
        self._total = 0.0
        self._at = self._expires = -math.inf

    @property
    def known(self) -> bool:
        """Whether the server has ever told what is left."""
        return self._left < math.inf

    def report(
        self, left: float, *, total: float, at: float, per_minute: float | None, reset: float | None
    ) -> None:
        """Take in what a reply said.

        Args:
            left: what remained when the request arrived; negative counts as 0.
            total: the sum admitted up to that request, itself included.
            at: when that request was admitted.
            per_minute: the limit of the server, None where unknown; then nothing refills before `reset`.
            reset: seconds after which the budget is whole again, None for a minute.
        """
        if total < self._total:
            return  # a request admitted later has told more
        self._left = max(0.0, left)
        self._most = max(self._most, self._left)
        self._total, self._at = total, at
        self._refill = (per_minute or 0.0) * PACE_SHARE / 60
        self._expires = math.inf if self._refill else at + (60.0 if reset is None else max(0.0, reset))

    def wait(self, amount: float, *, total: float, now: float) -> float:
        """Seconds until the server has room for `amount` more; `total` as in `report`, by now."""
        if now >= self._expires or not self.known:
            return 0.0
        margin = int(min(amount + self._most / 10, self._most / 4))
        room = self._left - (total - self._total) + self._refill * (now - self._at) - margin
        missing = amount - room
        if missing <= 0:
            return 0.0
        return missing / self._refill if self._refill else self._expires - now


class TokenEstimate:
    """Tokens of a request before it is sent, corrected by the usage of each reply.

    Prompts: one token a character at first, high for Chinese in today's tokenizers. Completions: `max_tokens`
    at first, the most there can be. Both are means over about the last fifty replies.
    """

    __slots__ = ("_chars", "_completion", "_prompt_tokens", "_replies")

    #: Weight that is kept of the past at each reply.
    _KEEP = 0.98
    #: The prior of prompts weighs as much as one prompt of this many characters.
    _PRIOR_CHARS = 100.0
    #: Completion tokens where neither replies nor `max_tokens` tell.
    _PRIOR_COMPLETION = 256.0

    def __init__(self) -> None:
        self._chars = self._prompt_tokens = self._PRIOR_CHARS
        self._replies = self._completion = 0.0

    @property
    def tokens_per_char(self) -> float:
        """Prompt tokens a character."""
        return self._prompt_tokens / self._chars

    def prompt(self, chars: int) -> float:
        """Tokens expected for a prompt of `chars` characters."""
        return chars * self.tokens_per_char

    def completion(self, max_tokens: int | None) -> float:
        """Tokens expected for an answer of at most `max_tokens`."""
        if not self._replies:
            return self._PRIOR_COMPLETION if max_tokens is None else max_tokens
        mean = self._completion / self._replies
        return mean if max_tokens is None else min(mean, max_tokens)

    def learn(self, chars: int, prompt_tokens: int, completion_tokens: int) -> None:
        """Take in the usage of one reply."""
        keep = self._KEEP
        self._chars = self._chars * keep + chars
        self._prompt_tokens = self._prompt_tokens * keep + prompt_tokens
        self._replies = self._replies * keep + 1
        self._completion = self._completion * keep + completion_tokens
