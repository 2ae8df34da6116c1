"""What M3KE is: its 71 tasks, their sizes and hashes, and the form of a task's name.

The facts stand in `data/m3ke.toml`. A task is named `<subject>-<cluster>-<level>`; subjects
hold spaces, ampersands and hyphens themselves, so a name is always split from the right.
"""

from __future__ import annotations

import tomllib
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from m3ke_async.assets import asset
from m3ke_async.errors import DataError
from m3ke_async.text import normalised, one_line, printable

if TYPE_CHECKING:
    from collections.abc import Mapping


class Cluster(StrEnum):
    """Subject cluster, as spelt in file names."""

    ARTS = "Arts & Humanities"
    SOCIAL = "Social Sciences"
    NATURAL = "Natural Sciences"
    OTHER = "Other"


class Level(StrEnum):
    """Education level, as spelt in file names."""

    PRIMARY = "Primary school"
    JUNIOR = "Junior high school"
    SENIOR = "High school"
    COLLEGE = "College"
    OTHER = "Other"


class Split(StrEnum):
    """Part of a task: `dev` holds the examples, `val` and `test` the questions proper."""

    DEV = "dev"
    VAL = "val"
    TEST = "test"


#: M3KE has no validation split.
M3KE_SPLITS = (Split.DEV, Split.TEST)


_CLUSTERS = {normalised(cluster): cluster for cluster in Cluster}
_CLUSTERS[normalised("Others")] = Cluster.OTHER  # so in the published tables and the mapping file
_LEVELS = {normalised(level): level for level in Level}
_LEVELS[normalised("High schoo")] = Level.SENIOR  # so in the name of one published file

#: Hyphens that input methods and NFKC take for the plain one.
_HYPHENS = str.maketrans({"－": "-", "﹣": "-"})


@dataclass(frozen=True, slots=True)
class Source:
    """Where the facts were taken from.

    Attributes:
        repository: owner and name on GitHub.
        commit: the full commit hash.
        date: day of that commit.
        licence: what is known about it.
        zip_sha256: SHA-256 of the repository's M3KE.zip.
        zip_bytes: its size.
    """

    repository: str
    commit: str
    date: str
    licence: str
    zip_sha256: str
    zip_bytes: int


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A published task: rows and SHA-256 of each of its two files."""

    name: str
    subject: str
    cluster: Cluster
    level: Level
    sizes: Mapping[Split, int]
    sha256: Mapping[Split, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """M3KE at one commit; `tasks` are sorted by name."""

    source: Source
    tasks: tuple[TaskFacts, ...]


@dataclass(frozen=True, slots=True)
class TaskName:
    """A task's name and what it says."""

    name: str
    subject: str
    cluster: Cluster
    level: Level


@lru_cache(maxsize=1)
def load_manifest() -> Manifest:
    """The manifest that ships with the package."""
    table = tomllib.loads(asset("data", "m3ke.toml").read_text(encoding="utf-8"))
    return Manifest(
        source=Source(**table["source"]),
        tasks=tuple(
            TaskFacts(
                name=task["name"],
                subject=task["subject"],
                cluster=Cluster(task["cluster"]),
                level=Level(task["level"]),
                sizes={split: task[split] for split in M3KE_SPLITS},
                sha256={split: task[f"{split}_sha256"] for split in M3KE_SPLITS},
            )
            for task in table["task"]
        ),
    )


#: Bytes that file systems take for a name.
LONGEST_NAME = 255


def parse_task_name(stem: str, file: str | None = None) -> TaskName:
    """Read a file's name without `.jsonl`; `file` is where it lies, for messages.

    A published task gets its published name, whatever the case, the width of the characters or
    the spelling of its level. Another name of the same form is a task of an own suite, named by
    its subject and the usual spelling of its cluster and level.

    Raises:
        DataError: the name has another form, or characters that cannot be shown.
    """
    parts = stem.translate(_HYPHENS).rsplit("-", 2)
    cluster = _CLUSTERS.get(normalised(parts[-2])) if len(parts) == 3 else None
    level = _LEVELS.get(normalised(parts[-1]))
    subject = unicodedata.normalize("NFC", parts[0]).strip()
    if cluster is None or level is None or not subject:
        raise DataError(
            f"the name {one_line(stem)!r} is not <subject>-<cluster>-<level>.jsonl with a cluster of"
            f" {', '.join(Cluster)} and a level of {', '.join(Level)}; rename the file, or give"
            " --suite table",
            file=file,
        )
    if printable(stem) != stem or "\n" in stem or "\t" in stem:
        raise DataError(f"the name {one_line(stem)!r} holds control characters; rename the file", file=file)
    known = _published().get((normalised(subject), cluster, level))
    if known is not None:
        return TaskName(known.name, known.subject, cluster, level)
    name = f"{subject}-{cluster}-{level}"
    if len(f"{name}.jsonl".encode("utf-8", "surrogatepass")) > LONGEST_NAME or Path(name).name != name:
        raise DataError(
            f"the name {one_line(name, limit=60)!r} cannot be a file's: at most {LONGEST_NAME} bytes "
            "with '.jsonl', and no slash; rename the file",
            file=file,
        )
    return TaskName(name, subject, cluster, level)


@lru_cache(maxsize=1)
def _published() -> dict[tuple[str, Cluster, Level], TaskFacts]:
    return {(normalised(task.subject), task.cluster, task.level): task for task in load_manifest().tasks}
