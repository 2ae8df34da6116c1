"""The event loop of the command: uvloop where it exists."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


def run_loop(main: Coroutine[object, object, T]) -> T:
    """Run a coroutine to its end in a loop of its own."""
    factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with suppress(ImportError):  # Windows, PyPy
        from uvloop import new_event_loop as factory
    # What is alive now lives to the end, and what requests leave behind dies by its count:
    # looking for cycles as often as by default costs a sixth of a request.
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
