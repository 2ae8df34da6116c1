"""An event loop whose time is made up: it jumps to the next timer instead of waiting for it.

    def test_a_minute_passes_at_once() -> None:
        async def main() -> float:
            await asyncio.sleep(60)
            return asyncio.get_running_loop().time()

        assert fake_time.run(main()) == pytest.approx(fake_time.START + 60)

Everything that reads `loop.time()` or sleeps through the loop follows. Sockets do not: for an answer from
a real peer this loop would not wait. Where nothing is left that could ever wake anybody, `DeadWait` is
raised, so that a test of "nobody waits for ever" fails at once instead of hanging.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")

#: What the clock shows at first: far from 0, as a real monotonic clock is.
START = 1000.0


class DeadWait(Exception):  # noqa: N818 (the name says what happened)
    """Every task waits and no timer is set: real time would pass for ever."""


class _JumpingSelector(selectors.SelectSelector):
    """Polls, and moves the clock by as much as the loop was ready to wait."""

    #: Seconds that each turn of the loop takes: where time stands still, a timer that rounding makes fire a
    #: hair too early is set again and again for ever.
    TURN = 1e-9

    def __init__(self) -> None:
        super().__init__()
        self.now = START

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if timeout is None and not events:
            raise DeadWait
        self.now += max(self.TURN, 0 if events or timeout is None else timeout)
        return events


class FakeTimeLoop(asyncio.SelectorEventLoop):
    """The loop; `time()` starts at `START` and moves only by jumps."""

    def __init__(self) -> None:
        self._clock = _JumpingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def work(self, seconds: float) -> None:
        """Let time pass inside a callback, as when the processor is busy and timers come late."""
        self._clock.now += seconds


def run(main: Coroutine[Any, Any, T]) -> T:
    """The result of `main`, run to its end without waiting.

    Raises:
        DeadWait: all tasks wait for something that no timer brings.
    """
    with asyncio.Runner(loop_factory=FakeTimeLoop) as runner:
        return runner.run(main)


def loop() -> FakeTimeLoop:
    """The running loop, for its `work`."""
    running = asyncio.get_running_loop()
    assert isinstance(running, FakeTimeLoop)
    return running
