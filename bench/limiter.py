"""How exact, how even and how costly the pace is, beside three ways to use aiolimiter alone.

    python bench/limiter.py [--seconds 6] [--waiters 1000]

A thousand tasks ask again and again for leave on uvloop, with nothing else to do. Columns: leave given as a
share of rate x time; the most in any second, in seconds of the rate; processor time, as a share of one core
and per request; requests that were overtaken by a later one.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import uvloop
from aiolimiter import AsyncLimiter

from m3ke_async.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

RATES = (3_500, 10_000, 100_000)
FORMS: dict[str, Callable[[int], Callable[[], Awaitable[object]]]] = {
    "m3ke_async.pace.Pace": lambda rpm: partial(Pace(rpm).admit, 300, 16),
    "AsyncLimiter(rpm, 60)": lambda rpm: AsyncLimiter(rpm, 60).acquire,
    "AsyncLimiter(rpm / 60, 1)": lambda rpm: AsyncLimiter(rpm / 60, 1).acquire,
    "AsyncLimiter(1, 60 / rpm)": lambda rpm: AsyncLimiter(1, 60 / rpm).acquire,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What one limiter did in `seconds`: (time, number in the order of asking) of each leave given."""

    rpm: int
    seconds: float
    cpu: float
    leaves: list[tuple[float, int]]

    @property
    def share(self) -> float:
        """Leave given, of rate x time."""
        return len(self.leaves) / (self.rpm / 60 * self.seconds)

    @property
    def burst(self) -> float:
        """The most in any second, in seconds of the rate."""
        most = first = 0
        for last, (moment, _) in enumerate(self.leaves):
            while self.leaves[first][0] <= moment - 1:
                first += 1
            most = max(most, last - first + 1)
        return most / (self.rpm / 60)

    @property
    def overtaken(self) -> float:
        """Share of the requests that a later one was let through before."""
        latest = overtaken = 0
        for _, number in self.leaves:
            overtaken += number < latest
            latest = max(latest, number)
        return overtaken / len(self.leaves)

    def row(self, name: str) -> str:
        """A line of the table."""
        each = self.cpu / len(self.leaves) * 1e6
        return (
            f"| {name:<25} | {self.rpm:>7,} | {self.share:>6.3f} | {self.burst:>5.2f} "
            f"| {self.cpu / self.seconds:>5.1%} | {each:>6.0f} | {self.overtaken:>6.1%} |"
        )


async def measure(rpm: int, form: str, seconds: float, waiters: int) -> Measured:
    acquire = FORMS[form](rpm)
    leaves: list[tuple[float, int]] = []
    asked = 0
    start = time.perf_counter()

    async def ask() -> None:
        nonlocal asked
        while True:
            asked += 1
            number = asked
            await acquire()
            leaves.append((time.perf_counter() - start, number))
            await asyncio.sleep(0)

    cpu = time.process_time()
    tasks = [asyncio.create_task(ask()) for _ in range(waiters)]
    await asyncio.sleep(seconds)
    cpu, elapsed = time.process_time() - cpu, time.perf_counter() - start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return Measured(rpm, elapsed, cpu, leaves)


def main() -> None:
    parser = argparse.ArgumentParser(description="the pace beside three ways to use aiolimiter alone")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--waiters", type=int, default=1000)
    settings = parser.parse_args()
    print("| limiter                   |     rpm |  share | burst |  core |     us | overt. |")
    print("|---------------------------|--------:|-------:|------:|------:|-------:|-------:|")
    for rpm in RATES:
        for form in FORMS:
            found = uvloop.run(measure(rpm, form, settings.seconds, settings.waiters))
            print(found.row(form), flush=True)


if __name__ == "__main__":
    main()
