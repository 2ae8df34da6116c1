"""Ctrl-C and SIGTERM: the first drains the run, the second leaves at once."""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from m3ke_async.errors import InterruptedRunError
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from m3ke_async.engine import Engine
    from m3ke_async.progress import Display
    from m3ke_async.tally import Tally


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
                f"stopping: waiting for {counted(tally.in_flight, 'request')} in flight "
                "(once more to leave at once); every reply is kept"
            )
            engine.stop(reason)
        else:
            reason.at_once = True
            engine.abort()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        try:
            loop.add_signal_handler(number, on_signal)
        except NotImplementedError:  # Windows: handlers run in the main thread between bytecodes
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(on_signal))
    try:
        yield
    finally:
        for number, handler in before.items():
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, handler)
