"""How long to wait before a request is sent again, and when to give it up.

The strategies are tenacity's. Its loop is not used: it would sleep inside the worker,
and here a waiting request holds neither a slot nor a worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenacity import RetryCallState, Retrying, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_base

if TYPE_CHECKING:
    from random import Random

#: Seconds: the backoff's first step, and the longest it grows to.
BACKOFF_START, BACKOFF_CAP = 0.5, 60.0

#: Seconds that one question's tries and waits may take together.
RETRY_BUDGET = 1800.0


class wait_half_jitter(wait_base):  # noqa: N801 - named as tenacity's own strategies are
    """Exponential, between half and the whole of each step: apart from others, never at once."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def __call__(self, retry_state: RetryCallState) -> float:
        """Seconds to wait after this many attempts."""
        step = min(BACKOFF_CAP, BACKOFF_START * 2.0 ** min(retry_state.attempt_number - 1, 16))
        return step * self._rng.uniform(0.5, 1.0)


class RetryPolicy:
    """Attempts and time that one question may use.

    Args:
        max_attempts: how often a question is sent at most, the first time included.
        rng: the source of jitter.
    """

    def __init__(self, *, max_attempts: int, rng: Random) -> None:
        self._rng = rng
        self._retrying = Retrying(
            stop=stop_after_attempt(max_attempts) | stop_before_delay(RETRY_BUDGET),
            wait=wait_half_jitter(rng),
        )

    def wait(
        self, *, attempts: int, step: int, since: float, now: float, asked: float | None
    ) -> float | None:
        """Seconds until the next try, or None to give up.

        Args:
            attempts: how often it was sent.
            step: of the backoff, from 1.
            since: when it was first sent; the same clock as `now`.
            now: the time.
            asked: the server's own wait. It is obeyed in full, with up to a tenth on top,
                so that those who got the same do not wake together.
        """
        state = RetryCallState(self._retrying, fn=None, args=(), kwargs={})
        state.start_time, state.outcome_timestamp = since, now
        state.attempt_number = max(1, step)
        wait = float(self._retrying.wait(state))
        state.attempt_number = attempts
        if asked is not None:
            wait = max(wait, asked * self._rng.uniform(1.0, 1.1))
        state.upcoming_sleep = wait
        return None if self._retrying.stop(state) else wait
