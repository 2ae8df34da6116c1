"""The report as Markdown, for issues, READMEs and model cards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from m3ke_async.report.grid import number, points, ranged
from m3ke_async.report.sentences import summary_lines, unusual_reading, without_letter
from m3ke_async.suite import Cluster
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from m3ke_async.published import PublishedTable
    from m3ke_async.score import Scores
    from m3ke_async.statistics import Counts

#: Another cell, code, and links or pictures.
_MARKS = re.compile(r"[|`\[\]]")


def markdown(scores: Scores, record: Mapping[str, Any], published: PublishedTable | None) -> str:
    """The sentences of the terminal's report, and its tables with all tasks.

    Args:
        scores: the run's.
        record: the content of run.json.
        published: the table to stand beside the run.
    """
    settings = record["settings"]
    split, shots = scores.taxonomy.named(scores.split), scores.shots(settings["shots"])
    title = f"{settings['model']}, {split}, {shots}-shot{unusual_reading(record)}"
    lines = [f"# {_text(title)}", ""]
    lines += [f"- {_text(line)}" for line in summary_lines(scores, shots=settings["shots"])]
    if published is not None and scores.averages.over_clusters_pooled.value is not None:
        lines += ["", f"## Beside the published {published.shots}-shot results", ""]
        lines += _published(scores, published)
    for heading, groups in (
        ("Clusters", scores.clusters.values()),
        ("Levels", scores.levels.values()),
        ("Tasks", scores.tasks.values()),
    ):
        if not groups:
            continue
        lines += ["", f"## {heading}", "", *_groups(groups)]
    lines += ["", "## Settings", ""]
    given = {name: value for name, value in settings.items() if value not in (None, [], False)}
    lines += _table(["setting", "value"], [[name, str(value)] for name, value in given.items()])
    return "\n".join(lines) + "\n"


def published_cells(shares: Mapping[str, float | None], average: float | None) -> list[str]:
    """The cells of a row of the repository's tables: four clusters and their Average, as shares."""
    return [_share(shares.get(cluster)) for cluster in Cluster] + [_share(average)]


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def _published(scores: Scores, published: PublishedTable) -> Iterator[str]:
    average = scores.averages.over_clusters_pooled
    own = {cluster: group.accuracy for cluster, group in scores.clusters.items()}
    name = "**this run, partial**" if average.partial else "**this run**"
    rows = [[name, *published_cells(own, average.value)]]
    best_first = sorted(published.rows, key=lambda row: row.average, reverse=True)
    rows += [[row.model, *published_cells(row.clusters, row.average)] for row in best_first]
    yield from _table(["model", *Cluster, "Average"], rows)
    yield ""
    yield f"Source: {published.source} at {published.commit}."


def _groups(groups: Collection[Counts]) -> list[str]:
    """A row a group that was asked, with a column for each outcome that occurs."""
    rest = {group.name: without_letter(group) for group in groups if group.asked}
    present = [
        name for name in next(iter(rest.values()), {}) if any(counts[name] for counts in rest.values())
    ]
    heads = ["", "asked", "answered", "labelled", "accuracy, %", "95 %", "A", "B", "C", "D"]
    return _table(
        [*heads, *present],
        [
            [
                group.name,
                number(group.asked),
                number(group.answered),
                number(group.labelled),
                points(group.accuracy),
                ranged(group.interval),
                *map(number, group.letters.values()),
                *(number(rest[group.name][name]) for name in present),
            ]
            for group in groups
            if group.asked
        ],
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [heads, ["---", *["--:" for _ in heads[1:]]], *([_text(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def _text(text: str) -> str:
    """Foreign text as one line that is neither markup nor another cell."""
    clean = one_line(text, limit=1000).replace("&", "&amp;").replace("<", "&lt;")
    return _MARKS.sub(r"\\\g<0>", clean)
