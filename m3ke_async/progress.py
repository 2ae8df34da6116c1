"""Progress that tells the truth: a live display on a terminal, plain lines elsewhere.

It reads the tally from time to time and is never told of single questions. Everything
goes to standard error, so that standard output holds the result alone.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TextIO, TypeAlias

from m3ke_async.streams import forgiving
from m3ke_async.text import counted, printable

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import AsyncIterator, Callable

    from m3ke_async.request import Outcome
    from m3ke_async.tally import Tally

#: Seconds between two looks at the tally, on a terminal and elsewhere.
_LIVE_SECONDS, _PLAIN_SECONDS = 0.25, 1.0

#: A plain line appears when this share more is done and a moment has passed, or after so many seconds.
_PLAIN_SHARE, _PLAIN_MOMENT, _PLAIN_QUIET = 0.05, 2.0, 30.0


def describe(tally: Tally, seconds: float, recent: Counter[Outcome], next_try: float | None) -> str:
    """The state on one line.

    The rate and the time left are those of the questions that are asked now: stored
    replies cost no time and say nothing about the rest.
    """
    asked = tally.answered + tally.failed
    rate = asked / seconds if seconds > 0 else 0.0
    parts = [f"{tally.done:,} of {tally.total:,}"]
    if tally.had:
        parts.append(f"{tally.had:,} stored")
    parts.append(f"{rate:.1f}/s")
    if recent:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(recent.items()))
        parts.append(f"last {recent.total()}: {counts}")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    ledger = tally.ledger
    if ledger.prompt_tokens or ledger.completion_tokens:
        parts.append(f"{ledger.prompt_tokens:,}+{ledger.completion_tokens:,} tokens")
    if retries := sum(ledger.retries.values()):
        parts.append(counted(retries, "retry", "retries"))
    if tally.waiting:
        parts.append(
            f"{tally.waiting:,} waiting" + (f", next in {next_try:.0f} s" if next_try is not None else "")
        )
    left = tally.total - tally.done
    if left and asked >= 3 and rate:
        parts.append(f"{duration(left / rate)} left")
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """Seconds for people: `9 s`, `4 min`, `2 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def is_line_due(more: int, total: int, seconds: float) -> bool:
    """Whether a plain line should appear.

    Args:
        more: questions that are done since the last line.
        total: all of them.
        seconds: since the last line.
    """
    step = max(1, int(total * _PLAIN_SHARE))
    return (more >= step and seconds >= _PLAIN_MOMENT) or seconds >= _PLAIN_QUIET


class Silent:
    """Says nothing: for `--quiet` and the Python API."""

    def say(self, line: str) -> None:
        """Say nothing."""

    def warn(self, line: str) -> None:
        """Say nothing."""

    @asynccontextmanager
    async def watch(
        self, tally: Tally, recent: Callable[[], Counter[Outcome]], next_try: Callable[[], float | None]
    ) -> AsyncIterator[None]:
        """Show nothing."""
        yield


class Plain:
    """Whole lines, few of them, without control characters: for pipes, files and CI."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def say(self, line: str) -> None:
        """Write a line; what the stream's encoding lacks is escaped."""
        encoding = self._stream.encoding or "utf-8"
        clean = printable(line).encode(encoding, "backslashreplace").decode(encoding)
        print(clean, file=self._stream, flush=True)

    warn = say

    @asynccontextmanager
    async def watch(
        self, tally: Tally, recent: Callable[[], Counter[Outcome]], next_try: Callable[[], float | None]
    ) -> AsyncIterator[None]:
        """Write a line now and then, and one at the end."""
        loop = asyncio.get_running_loop()
        started = loop.time()

        async def lines() -> None:
            shown, spoke = 0, started
            while True:
                await asyncio.sleep(_PLAIN_SECONDS)
                now = loop.time()
                if is_line_due(tally.done - shown, tally.total, now - spoke):
                    shown, spoke = tally.done, now
                    self.say(describe(tally, now - started, recent(), next_try()))

        task = asyncio.create_task(lines())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self.say(describe(tally, loop.time() - started, recent(), None))


class Live:
    """One line that is kept up to date on a terminal, by rich."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream, highlight=False)

    def say(self, line: str) -> None:
        """Write a line above the display."""
        from rich.text import Text

        self._console.print(Text(printable(line)), soft_wrap=True)

    def warn(self, line: str) -> None:
        """Write a line that stands out."""
        from rich.text import Text

        self._console.print(Text(printable(line), style="yellow"), soft_wrap=True)

    @asynccontextmanager
    async def watch(
        self, tally: Tally, recent: Callable[[], Counter[Outcome]], next_try: Callable[[], float | None]
    ) -> AsyncIterator[None]:
        """Show a bar and the state below it."""
        from rich.live import Live as RichLive
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        loop = asyncio.get_running_loop()
        started = loop.time()

        def picture() -> Table:
            rows = Table.grid(expand=True)  # a bar alone does not end its line
            rows.add_row(ProgressBar(total=max(1, tally.total), completed=tally.done))
            rows.add_row(Text(describe(tally, loop.time() - started, recent(), next_try())))
            return rows

        async def refresh(live: RichLive) -> None:
            while True:
                await asyncio.sleep(_LIVE_SECONDS)
                live.update(picture(), refresh=True)

        with RichLive(picture(), console=self._console, auto_refresh=False) as live:
            task = asyncio.create_task(refresh(live))
            try:
                yield
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                live.update(picture(), refresh=True)


Display: TypeAlias = Silent | Plain | Live


def make_display(*, quiet: bool, stream: TextIO | None = None) -> Display:
    """The display that fits the stream, standard error by default."""
    stream = forgiving(sys.stderr if stream is None else stream)
    if quiet:
        return Silent()
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        return Live(stream)
    return Plain(stream)
