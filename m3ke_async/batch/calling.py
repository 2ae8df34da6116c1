"""Calls to a provider's batch API: tried again by the rules for questions, at the address where it is."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, TypeVar

from m3ke_async.attempts import MAX_WAIT
from m3ke_async.endpoint import NOTHING_THERE
from m3ke_async.errors import IncompleteError, M3keError, StoppedError
from m3ke_async.faults import Action, decide
from m3ke_async.retry import RetryPolicy
from m3ke_async.scrub import scrub_all

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from m3ke_async.address import Address
    from m3ke_async.faults import Decision
    from m3ke_async.target import Target

T = TypeVar("T")


class AwayError(IncompleteError):
    """The provider does not answer now, whatever is tried."""


class GoneError(StoppedError):
    """The provider does not know what is asked for."""


async def for_each(things: Iterable[T], do: Callable[[T], Awaitable[None]]) -> None:
    """Do something with one thing after the other; what the provider does not do for one holds back no other.

    Raises:
        StoppedError, AwayError: the first trouble, once all had their turn.
    """
    trouble: StoppedError | AwayError | None = None
    for thing in things:
        try:
            await do(thing)
        except (StoppedError, AwayError) as error:
            trouble = trouble or error
    if trouble is not None:
        raise trouble


class Caller:
    """Makes calls, each as often as a question would be asked.

    Args:
        target: who is called; its rules say what an error means.
        address: that was given.
        max_attempts: of one call.
        call_at: is told the address that is called from now on, the given one or its neighbour.
        warn: is told where the neighbouring address is called instead.
    """

    def __init__(
        self,
        target: Target,
        address: Address,
        *,
        max_attempts: int,
        call_at: Callable[[Address], None],
        warn: Callable[[str], None],
    ) -> None:
        self._target = target
        self._retry = RetryPolicy(
            max_attempts=max_attempts,
            rng=random.Random(),  # noqa: S311 - spreads requests, guards nothing
        )
        self._given = self._address = address
        self._is_settled, self._call_at, self._warn = False, call_at, warn

    async def call(
        self,
        what: str,
        send: Callable[[], Awaitable[T]],
        *,
        before_again: Callable[[], Awaitable[T | None]] | None = None,
    ) -> T:
        """What a call returns, after as many tries as a question has.

        Args:
            what: is done, for people.
            send: makes the call once.
            before_again: looks whether an earlier try had come through all the same.
        """
        loop = asyncio.get_running_loop()
        attempts, since = 0, loop.time()
        there: tuple[Decision, int | None] | None = None  # what the given address said
        while True:
            attempts += 1
            try:
                found = await send()
            except M3keError:
                raise
            except Exception as error:  # whatever it is, `decide` says what follows
                decision = self._decide(error)
                status = getattr(getattr(error, "response", None), "status_code", None)
            else:
                self._settle()
                return found
            if status in NOTHING_THERE:
                if self._moves():
                    there = decision, status
                    continue
                decision, status = there or (decision, status)
            message = scrub_all(f"{what}: {decision.message}", self._target.secrets)
            if decision.action is not Action.RETRY:
                raise (GoneError if status == 404 else StoppedError)(message)
            wait = self._retry.wait(
                attempts=attempts, step=attempts, since=since, now=loop.time(), asked=decision.wait
            )
            if wait is None or wait > MAX_WAIT:
                raise AwayError(f"{message}; run the same command again later")
            await asyncio.sleep(wait)
            if before_again is not None and (earlier := await before_again()) is not None:
                return earlier

    def _decide(self, error: Exception) -> Decision:
        """What an error of the SDK means, by the rules for questions."""
        response = getattr(error, "response", None)
        status = None if response is None else response.status_code
        if isinstance(error, ValueError):  # an answer that is none of a batch API
            status = 200
        return decide(
            self._target.profile,
            status=status,
            headers={} if response is None else dict(response.headers),
            body=b"" if response is None else response.content,
            exception=error if status is None else None,
            now=time.time(),
        )

    def _moves(self) -> bool:
        """Call the neighbouring address where nothing is at the one that was called; once, and back again.

        A batch that is not known looks like an address where nothing is: only what a call finds there
        makes the neighbour the right one.
        """
        if self._is_settled:
            return False
        other = self._address.other
        self._address, self._is_settled = other or self._given, other is None
        self._call_at(self._address)
        return other is not None

    def _settle(self) -> None:
        """What was called is the right address."""
        if not self._is_settled and self._address is not self._given:
            self._warn(f"no batches are at {self._given.public}, so {self._address.public} is called")
        self._is_settled = True
