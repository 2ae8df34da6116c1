"""Accuracies with their intervals as a picture, for slides and papers."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.extras import how_to_install
from m3ke_async.files import whole_file
from m3ke_async.suite import Level
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.score import Scores
    from m3ke_async.statistics import Counts

_CHANCE = 25
_BLUE = "#4c7fd0"


def write_png(path: Path, scores: Scores, title: str) -> None:
    """Write a PNG: all questions, clusters and levels, a bar each, with 95 % intervals.

    Where nothing is labelled, the bars are the shares of answered questions, and the axis says so.

    Raises:
        UsageError: matplotlib is not installed, or nothing was asked.
    """
    if not find_spec("matplotlib"):
        raise UsageError(f"--format png needs matplotlib: {how_to_install('report')}")
    from matplotlib.figure import Figure

    labelled = scores.total.labelled > 0
    levels = [
        ("Other level" if name == Level.OTHER else name, group) for name, group in scores.levels.items()
    ]
    groups = [("All", scores.total), *scores.clusters.items(), *levels]
    bars = [bar for name, group in groups if (bar := _bar(str(name), group, labelled=labelled))]
    if not bars:
        raise UsageError("there is nothing to draw: no question was asked; m3ke run goes on with the run")
    figure = Figure(figsize=(8, 1.2 + 0.35 * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    values = [value for _, value, _, _ in bars]
    errors = [[value - low for _, value, low, _ in bars], [high - value for _, value, _, high in bars]]
    axes.barh(range(len(bars)), values, xerr=errors if labelled else None, color=_BLUE, capsize=3)
    for place, (_, value, _, high) in enumerate(bars):
        axes.annotate(f"{value:.1f}", (high, place), (5, 0), textcoords="offset points", va="center")
    if labelled:
        axes.axvline(_CHANCE, color="grey", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(bars)), [name for name, *_ in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, 108)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("accuracy, %, with 95 % intervals" if labelled else "answered questions, %")
    axes.set_title(one_line(title), parse_math=False)
    with whole_file(path) as file:
        figure.savefig(file, format="png", dpi=150)


def _bar(name: str, group: Counts, *, labelled: bool) -> tuple[str, float, float, float] | None:
    """Name, value and both ends of the interval, in per cent; None where there is no value."""
    if labelled:
        if group.accuracy is None or group.interval is None:
            return None
        low, high = group.interval
        return name, 100 * group.accuracy, 100 * low, 100 * high
    if not group.asked:
        return None
    share = 100 * group.answered / group.asked
    return name, share, share, share
