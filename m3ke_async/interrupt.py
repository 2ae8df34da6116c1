"""Ctrl-C and SIGTERM: the first drains the run, the second leaves at once."""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from m3ke_async.errors import ExitCode, IncompleteError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from m3ke_async.engine import Engine
    from m3ke_async.progress import Display
    from m3ke_async.tally import Tally


class InterruptedRunError(IncompleteError):
    """The user stopped the run; the same command goes on.

    Attributes:
        at_once: whether the user asked twice, and does not wait for result files either.
    """

    exit_code = ExitCode.INTERRUPTED
    at_once = False


@contextmanager
def signals_stop(engine: Engine, display: Display, tally: Tally) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM drains; the second leaves at once."""
    loop = asyncio.get_running_loop()
    reason = InterruptedRunError("interrupted; every reply is kept, and the same command goes on")
    seen = 0

    def on_signal() -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            display.warn(
                f"stopping: waiting for {tally.in_flight} requests in flight (once more to leave at once); "
                "every reply is kept"
            )
            engine.stop(reason)
        else:
            reason.at_once = True
            engine.abort()

    watched = (signal.SIGINT, signal.SIGTERM)
    try:
        for number in watched:
            loop.add_signal_handler(number, on_signal)
    except NotImplementedError:  # Windows: handlers run in the main thread between bytecodes
        old = {
            number: signal.signal(number, lambda *_: loop.call_soon_threadsafe(on_signal))
            for number in watched
        }
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
        return
    try:
        yield
    finally:
        for number in watched:
            loop.remove_signal_handler(number)
