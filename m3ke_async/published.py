"""The numbers that M3KE's authors published, to stand beside a run's own."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from m3ke_async.assets import asset
from m3ke_async.suite import Cluster

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One model's published accuracies, as shares from 0 to 1.

    Attributes:
        model: the name that the authors print.
        clusters: accuracy by cluster, all four.
        average: the average that the authors print.
        closed: whether the model's weights are not published.
    """

    model: str
    clusters: Mapping[str, float]
    average: float
    closed: bool


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One published table.

    Attributes:
        shots: 0 or 5.
        rows: in the authors' order.
        source: address of the repository.
        commit: of that repository.
    """

    shots: int
    rows: tuple[PublishedRow, ...]
    source: str
    commit: str


def published_table(shots: int) -> PublishedTable:
    """The table to compare a run with: zero-shot for 0 shots, five-shot for any others."""
    content = _content()
    table = content["five_shot" if shots else "zero_shot"]
    clusters = [Cluster(name) for name in content["columns"][:-1]]
    rows = tuple(
        PublishedRow(
            model=model,
            clusters=dict(zip(clusters, values[:-1], strict=True)),
            average=values[-1],
            closed=model in content["closed"],
        )
        for model, values in table.items()
    )
    return PublishedTable(5 if shots else 0, rows, content["source"], content["commit"])


def table_beside(record: Mapping[str, Any]) -> PublishedTable | None:
    """The table to stand beside a run by its run.json; None where it asks others than M3KE's questions."""
    return published_table(record["settings"]["shots"]) if record["is_m3ke"] else None


@cache
def _content() -> dict[str, Any]:
    with asset("results", "published.toml").open("rb") as file:
        return tomllib.load(file)
