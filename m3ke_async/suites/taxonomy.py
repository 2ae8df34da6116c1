"""How a suite divides its tasks, and what its authors call the average."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from m3ke_async.manifest import Cluster, Level


class SuiteName(StrEnum):
    """The suites that can be read; `table` is any CSV or JSONL with question, A to D and answer."""

    M3KE = "m3ke"
    CEVAL = "ceval"
    CMMLU = "cmmlu"
    MMLU = "mmlu"
    TABLE = "table"


class Mean(StrEnum):
    """What a suite's own Average is a plain mean of."""

    QUESTIONS = "questions"
    TASKS = "tasks"
    CLUSTERS = "clusters"


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """What scores and reports need to know of a suite.

    Attributes:
        name: of the suite.
        title: as its authors write it.
        clusters: its subject categories, in the order of its published tables; none where it has none.
        levels: its education levels, from the lowest up; none where it has none.
        average: what its authors' Average is the mean of; None where nobody published one.
        tasks: how many it has, where a smaller number is a part of it; None where any number is whole.
    """

    name: SuiteName
    title: str
    clusters: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    average: Mean | None = None
    tasks: int | None = None

    def named(self, split: str) -> str:
        """A split for headings; M3KE's goes without the name."""
        return split if self.name is SuiteName.M3KE else f"{self.title} {split}"

    def to_json(self) -> dict[str, Any]:
        """As it stands in scores.json."""
        return {
            "name": self.name.value,
            "title": self.title,
            "clusters": list(map(str, self.clusters)),
            "levels": list(map(str, self.levels)),
            "average": self.average and self.average.value,
            "tasks": self.tasks,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """What `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: where a field is missing or wrong.
        """
        average = value["average"]
        return cls(
            name=SuiteName(value["name"]),
            title=value["title"],
            clusters=tuple(value["clusters"]),
            levels=tuple(value["levels"]),
            average=None if average is None else Mean(average),
            tasks=value["tasks"],
        )


M3KE = Taxonomy(SuiteName.M3KE, "M3KE", tuple(Cluster), tuple(Level), Mean.CLUSTERS)
