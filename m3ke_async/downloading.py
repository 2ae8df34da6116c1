"""A progress display for downloads."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from m3ke_async.progress import Display

#: Seconds between two lines.
_SECONDS = 5.0


@contextmanager
def shown(display: Display) -> Iterator[Callable[[int, int | None], None]]:
    """A function to tell the bytes so far and in all; it says so from time to time."""
    last = time.monotonic()

    def progress(done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS:
            last = now
            share = f" of {total / 1e6:,.0f} MB ({done / total:.0%})" if total else ""
            display.say(f"downloaded {done / 1e6:,.0f} MB{share}")

    yield progress
