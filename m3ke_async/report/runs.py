"""Lists of runs, and how far one is, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.listing import State
from m3ke_async.progress import duration
from m3ke_async.report.grid import points, print_grid, say
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from m3ke_async.listing import ListedRun, Standing

_HEADINGS = ("", "model", "split", "shots", "n", "acc.%", "age", "state")


def render(runs: Sequence[ListedRun], console: Console) -> None:
    """Print the runs of a folder; accuracies are those of labelled questions."""
    whole = [run for run in runs if run.state is not State.DAMAGED]
    if whole:
        print_grid(
            console, counted(len(whole), "run"), _HEADINGS, [_row(run) for run in whole], whole_names=True
        )
    for run in runs:
        if run.trouble is not None:
            say(console, f"Damaged: {run.trouble}", style="yellow")


def _row(run: ListedRun) -> tuple[str, ...]:
    n = "-" if run.labelled is None else f"{run.labelled:,}"
    age = "-" if run.age is None else _age(run.age)
    return (run.name, run.model, run.split, str(run.shots), n, points(run.accuracy), age, run.state.value)


def _age(seconds: float) -> str:
    days = int(seconds // 86_400)
    return f"{days} d" if days >= 2 else duration(seconds)


def standing_line(found: Standing, rate: float | None) -> str:
    """How far a run is, on one line.

    Args:
        found: the run.
        rate: replies a second; None where it is not known.
    """
    parts = [found.state.value, f"{found.done:,} of {found.total:,}"]
    if found.stored:
        parts.append(f"{found.stored:,} stored before")
    if rate is not None:
        parts.append(f"{rate:.1f}/s")
    if found.failed:
        parts.append(f"{found.failed:,} failed")
    if found.prompt_tokens or found.completion_tokens:
        parts.append(f"{found.prompt_tokens:,}+{found.completion_tokens:,} tokens")
    if found.retries:
        parts.append(counted(found.retries, "retry", "retries"))
    if rate and found.state is State.RUNNING and found.done < found.total:
        parts.append(f"{duration((found.total - found.done) / rate)} left")
    if found.stopped:
        parts.append(found.stopped)
    return " · ".join(parts)
