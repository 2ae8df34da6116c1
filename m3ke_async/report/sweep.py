"""Sweeps for people: how far the cells are, and what they came to side by side."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.progress import is_line_due
from m3ke_async.reopen import read_scores
from m3ke_async.report.grid import points, print_grid, ranged
from m3ke_async.rundir import RunDir
from m3ke_async.sweep.course import CellState
from m3ke_async.text import by_reason, counted, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from m3ke_async.listing import Standing
    from m3ke_async.sweep.course import CellCourse

_HEADINGS = ("cell", "n", "acc.%", "95% CI", "questions", "state")

_ENDED = (CellState.COMPLETE, CellState.INCOMPLETE)


def _ended(courses: Sequence[CellCourse]) -> int:
    return sum(course.state in _ENDED for course in courses)


def _running(courses: Sequence[CellCourse], results: Path) -> Iterator[tuple[CellCourse, Standing]]:
    """The cells that run, with how far they are."""
    for course in courses:
        if course.state is CellState.RUNNING and (found := course.standing(results)) is not None:
            yield course, found


def sweep_line(courses: Sequence[CellCourse], results: Path) -> str:
    """How far a sweep is, on one line."""
    counts = Counter(course.state for course in courses)
    parts = [f"{sum(counts[state] for state in _ENDED):,} of {counted(len(courses), 'cell')}"]
    parts += [
        f"{counts[state]:,} {state}" for state in (CellState.RUNNING, CellState.INCOMPLETE) if counts[state]
    ]
    parts += [
        f"{course.label}: {found.done:,} of {found.total:,}" for course, found in _running(courses, results)
    ]
    return " · ".join(parts)


@contextmanager
def shown(
    results: Path, *, quiet: bool, now: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[Sequence[CellCourse]], None]]:
    """Say on standard error how far a sweep is: a table of running cells on a terminal, lines elsewhere.

    Args:
        results: the folder of runs.
        quiet: say nothing.
        now: time in seconds.
    """
    if quiet:
        yield lambda courses: None
        return
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), auto_refresh=False) as live:
            yield lambda courses: live.update(_picture(courses, results), refresh=True)
        return
    ended, done, spoke = -1, 0, now()

    def show(courses: Sequence[CellCourse]) -> None:
        nonlocal ended, done, spoke
        running = [found for _, found in _running(courses, results)]
        now_ended, now_done = _ended(courses), sum(found.done for found in running)
        total = sum(found.total for found in running)
        if now_ended != ended or is_line_due(now_done - done, total, now() - spoke):
            ended, done, spoke = now_ended, now_done, now()
            print(printable(sweep_line(courses, results)), file=sys.stderr, flush=True)  # noqa: T201

    yield show


def _picture(courses: Sequence[CellCourse], results: Path) -> Table:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    for course, found in _running(courses, results):
        done = f"{found.done:,} of {found.total:,}"
        bar = ProgressBar(total=max(1, found.total), completed=found.done, width=24)
        table.add_row(Text(printable(course.label)), bar, done)
    ended = _ended(courses)
    table.add_row(Text("cells"), ProgressBar(len(courses), ended, width=24), f"{ended:,} of {len(courses):,}")
    return table


def render(courses: Sequence[CellCourse], results: Path, console: Console) -> None:
    """Print a row a cell; accuracies and their intervals are those of labelled questions."""
    print_grid(
        console, counted(len(courses), "cell"), _HEADINGS, [_row(course, results) for course in courses]
    )


def _row(course: CellCourse, results: Path) -> tuple[str, ...]:
    found = course.standing(results)
    questions = f"{found.done:,} of {found.total:,}" if found else "-"
    n = accuracy = interval = "-"
    if course.run is not None and course.state in _ENDED:
        try:
            total = read_scores(RunDir(results / course.run)).total
        except UsageError:
            pass
        else:
            n, accuracy, interval = f"{total.labelled:,}", points(total.accuracy), ranged(total.interval)
    return (course.label, n, accuracy, interval, questions, course.state.value)


def trouble_lines(courses: Sequence[CellCourse]) -> list[str]:
    """Why cells are incomplete, a line for each reason."""
    return by_reason((course.label, course.trouble) for course in courses if course.trouble)
