from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import DataError
from m3ke_async.manifest import Cluster, Level, Split, TaskName, load_manifest, parse_task_name

if TYPE_CHECKING:
    from pathlib import Path

WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
NAMES = [task.name for task in load_manifest().tasks]


def test_the_manifest_holds_71_tasks_in_the_published_proportions() -> None:
    tasks = load_manifest().tasks
    assert [task.name for task in tasks] == sorted({task.name for task in tasks})
    assert len(tasks) == 71
    assert sum(task.sizes[Split.TEST] for task in tasks) == 20_122
    assert sum(task.sizes[Split.DEV] for task in tasks) == 355
    assert Counter(task.cluster.name for task in tasks) == {
        "ARTS": 12,
        "SOCIAL": 21,
        "NATURAL": 31,
        "OTHER": 7,
    }
    assert Counter(task.level.name for task in tasks) == {
        "PRIMARY": 2,
        "JUNIOR": 8,
        "SENIOR": 8,
        "COLLEGE": 42,
        "OTHER": 11,
    }


def test_every_hash_is_one_and_no_two_are_the_same() -> None:
    hashes = [value for task in load_manifest().tasks for value in task.sha256.values()]
    assert len(set(hashes)) == 142
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in hashes)


def test_the_source_is_pinned() -> None:
    source = load_manifest().source
    assert source.commit == "b370aae92167610791c34d16ef1b5a3e41805e62"
    assert re.fullmatch("[0-9a-f]{64}", source.zip_sha256)
    assert source.zip_bytes == 1_925_120


def test_the_clusters_are_those_of_the_published_mapping(shared: Path) -> None:
    mapping = json.loads((shared / "M3KE" / "subject_cluster.mapping.json").read_text(encoding="utf-8"))
    published = {name: cluster.removesuffix("s") for cluster, names in mapping.items() for name in names}
    assert published == {task.name: task.cluster.removesuffix("s") for task in load_manifest().tasks}


@pytest.mark.parametrize(
    "spelling",
    [str, str.lower, str.upper, lambda name: name.translate(WIDE), lambda name: name.replace(" ", "\u3000")],
    ids=["published", "lower", "upper", "full width", "wide spaces"],
)
@pytest.mark.parametrize("name", NAMES[::7])
def test_a_published_task_is_recognised_in_other_spellings(name: str, spelling: type[str]) -> None:
    fact = load_manifest().tasks[NAMES.index(name)]
    assert parse_task_name(spelling(name)) == TaskName(fact.name, fact.subject, fact.cluster, fact.level)


@pytest.mark.parametrize(
    "stem", ["Physics-Natural Sciences-High schoo", "Physics-Natural Sciences-High school"]
)
def test_the_name_that_lacks_a_letter_is_a_high_school_task(stem: str) -> None:
    name = parse_task_name(stem)
    assert (name.name, name.level) == ("Physics-Natural Sciences-High schoo", Level.SENIOR)


@pytest.mark.parametrize(
    ("stem", "subject", "cluster", "level"),
    [
        ("Economics-Others-College", "Economics", Cluster.OTHER, Level.COLLEGE),
        ("Economics-Natural Sciences-College", "Economics", Cluster.NATURAL, Level.COLLEGE),
        ("Cooking-Other-Other", "Cooking", Cluster.OTHER, Level.OTHER),
        ("Arts & Crafts-Arts & Humanities-Primary school", "Arts & Crafts", Cluster.ARTS, Level.PRIMARY),
        ("X-ray-2-Natural Sciences-Junior high school", "X-ray-2", Cluster.NATURAL, Level.JUNIOR),
        ("烹饪（上）－Other－College", "烹饪（上）", Cluster.OTHER, Level.COLLEGE),
        ("Other-Other-Other", "Other", Cluster.OTHER, Level.OTHER),
        ("Cafe\u0301-others-high schoo", "Café", Cluster.OTHER, Level.SENIOR),
    ],
)
def test_a_name_is_split_from_the_right(stem: str, subject: str, cluster: Cluster, level: Level) -> None:
    name = parse_task_name(stem)
    assert (name.subject, name.cluster, name.level) == (subject, cluster, level)
    assert name.name == f"{subject}-{cluster}-{level}"


@pytest.mark.parametrize(
    "stem",
    [
        *("", "-", "--", "Cooking", "Cooking-Other", "-Other-Other", " -Other-Other", "Cooking_Other_Other"),
        *(
            "Cooking-Other-Kindergarten",
            "Cooking-Sports-Other",
            "Cooking-Other-High scho",
            "Other-Cooking-Other",
        ),
    ],
)
def test_another_form_is_refused_with_the_form(stem: str) -> None:
    with pytest.raises(
        DataError, match=r"^here: .*is not <subject>-<cluster>-<level>\.jsonl.*; rename the file"
    ):
        parse_task_name(stem, "here")


@pytest.mark.parametrize("subject", ["a\x1b[2J", "a\nb", "a\u202eb", "a\udce9b", "\x00"])
def test_a_name_that_cannot_be_shown_is_refused(subject: str) -> None:
    with pytest.raises(DataError, match="holds control characters") as caught:
        parse_task_name(f"{subject}-Other-Other")
    assert str(caught.value).isprintable()
