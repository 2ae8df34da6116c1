"""The event loop of the command: uvloop where it exists."""

from __future__ import annotations

import asyncio
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
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
