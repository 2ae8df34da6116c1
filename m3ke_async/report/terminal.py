"""The report in the terminal: sentences first, then tables that turn into lists where it is narrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3ke_async.report.grid import points, print_grid, ranged, say
from m3ke_async.report.sentences import facts, remarks, without_letter
from m3ke_async.suite import LETTERS, Cluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console

    from m3ke_async.published import PublishedRow, PublishedTable
    from m3ke_async.score import Scores
    from m3ke_async.statistics import Counts

_CLUSTER_HEADINGS = {
    Cluster.ARTS: "Arts",
    Cluster.SOCIAL: "Social",
    Cluster.NATURAL: "Natural",
    Cluster.OTHER: "Other",
}


def render(
    scores: Scores,
    settings_lines: Iterable[str],
    published: PublishedTable | None,
    console: Console,
    *,
    shots: int = 0,
    tasks: bool = False,
) -> None:
    """Print the whole report.

    Args:
        scores: the run's.
        settings_lines: the effective settings, printed first as they are.
        published: the table to stand beside the run; None for other suites than M3KE.
        console: where to; its width, encoding and colours are kept to.
        shots: examples per question, as they were wanted.
        tasks: whether to add a row for every task that was asked.
    """
    for line in settings_lines:
        say(console, line)
    say(console, "")
    for line in facts(scores):
        say(console, line)
    _by_group(console, "By cluster", {group.name: group for group in scores.clusters.values()})
    if legend := _legend(scores.total):
        say(console, legend)
    if published is not None:
        _beside_published(console, scores, published, shots)
    _by_group(console, "By level", {group.name: group for group in scores.levels.values()})
    if tasks:
        _by_group(
            console,
            "By task",
            {", ".join(filter(None, (task.subject, task.level))): task for task in scores.tasks.values()},
        )
    say(console, "")
    for line in remarks(scores, shots):
        say(console, line, style="yellow")


def _by_group(console: Console, title: str, groups: Mapping[str, Counts]) -> None:
    asked = {name: group for name, group in groups.items() if group.asked}
    if not asked:
        return
    columns = _group_columns(list(asked.values()))
    rows = [(name, *(column.cells[index] for column in columns)) for index, name in enumerate(asked)]
    print_grid(console, title, ("", *(column.heading for column in columns)), rows)


@dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    cells: list[str]


def _group_columns(groups: Sequence[Counts]) -> list[_Column]:
    """Accuracy where there is any, the letters, and each kind of reply without one that occurs."""
    asked = _Column("asked", [f"{group.asked:,}" for group in groups])
    columns = [asked]
    if any(group.labelled for group in groups):
        n = _Column("n", [f"{group.labelled:,}" for group in groups])
        columns = [n] if n.cells == asked.cells else [asked, n]
        columns += [
            _Column("acc.%", [points(group.accuracy) for group in groups]),
            _Column("interval", [ranged(group.interval) for group in groups]),
        ]
    columns += [_Column(letter, [str(group.letters[letter]) for group in groups]) for letter in LETTERS]
    counts = [without_letter(group) for group in groups]
    return columns + [
        _Column(name[:3], [str(count[name]) for count in counts])
        for name in counts[0]
        if any(count[name] for count in counts)
    ]


def _legend(total: Counts) -> str:
    return ", ".join(f"{name[:3]} = {name}" for name, n in without_letter(total).items() if n)


def _beside_published(console: Console, scores: Scores, published: PublishedTable, shots: int) -> None:
    pooled, means = scores.averages.over_clusters_pooled, scores.averages.over_clusters_task_mean
    if pooled.value is None:
        return
    groups, own = scores.clusters.items(), "this run, partial" if pooled.partial else "this run"
    rows = [
        _published_row(f"{own}, pooled", {name: group.accuracy for name, group in groups}, pooled.value),
        _published_row(f"{own}, task means", {name: group.task_mean for name, group in groups}, means.value),
        *(
            _published_row(row.model, row.clusters, row.average)
            for row in _neighbours(published, pooled.value)
        ),
    ]
    source = f"{published.source.removeprefix('https://')} at {published.commit}"
    title = f"Beside the {published.shots}-shot results of {source}, in %"
    shots = scores.shots(shots)
    if shots != published.shots:
        title += f" (this run: {shots}-shot)"
    print_grid(console, title, ("", *_CLUSTER_HEADINGS.values(), "Average"), rows)


def _published_row(name: str, shares: Mapping[str, float | None], average: float | None) -> tuple[str, ...]:
    return (name, *(points(shares.get(cluster)) for cluster in Cluster), points(average))


def _neighbours(published: PublishedTable, own: float) -> list[PublishedRow]:
    """The closed models, and the two others whose averages are nearest; best first."""
    others = sorted((row for row in published.rows if not row.closed), key=lambda row: abs(row.average - own))
    shown = [row for row in published.rows if row.closed] + others[:2]
    return sorted(shown, key=lambda row: row.average, reverse=True)
