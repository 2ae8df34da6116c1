"""The event loop of the command: uvloop where it exists."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType

T = TypeVar("T")


def run_loop(main: Coroutine[object, object, T]) -> T:
    """Run a coroutine to its end in a loop of its own; SIGTERM cancels it as Ctrl-C does.

    Raises:
        KeyboardInterrupt: a signal ended it.
    """
    factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with suppress(ImportError):  # Windows, PyPy
        from uvloop import new_event_loop as factory
    # What is alive now lives to the end, and what requests leave behind dies by its count:
    # looking for cycles as often as by default costs a sixth of a request, and five times as often as
    # here 0.04 s while 500 connections are opened.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(_terminable(main))
    finally:
        on_sigterm(before)


async def _terminable(main: Coroutine[object, object, T]) -> T:
    cancel = signal.getsignal(signal.SIGINT)  # the runner's own, which cancels this task
    if callable(cancel):  # else Ctrl-C is ignored, as in a job that a script left in the background
        on_sigterm(cancel)
    return await main


def on_sigterm(handler: Callable[[int, FrameType | None], object] | int | None) -> None:
    """Handle SIGTERM so from now on, where this is the thread that handles signals."""
    if threading.current_thread() is threading.main_thread():  # no other one may
        signal.signal(signal.SIGTERM, handler)
