"""The labelled sample suite that ships with the package."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from m3ke_async.manifest import M3KE_SPLITS
from m3ke_async.suite import LETTERS, Cluster, Level, Question, Suite, load_suite, sample_suite_path
from m3ke_async.text import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def sample() -> Suite:
    return load_suite(sample_suite_path())


def located(suite: Suite) -> Iterator[tuple[str, Question]]:
    """Each question with the place to look for it."""
    for task in suite.tasks:
        for split in task.sizes:
            for question in task.questions(split):
                yield f"{split}/{task.name} id {question.id}", question


def test_at_least_24_tasks_span_all_clusters_and_levels(sample: Suite) -> None:
    assert len(sample.tasks) >= 24
    assert {task.cluster for task in sample.tasks} == set(Cluster)
    assert {task.level for task in sample.tasks} == set(Level)


def test_each_task_has_five_labelled_rows_in_each_split(sample: Suite) -> None:
    five = dict.fromkeys(M3KE_SPLITS, 5)
    assert {task.name: task.sizes for task in sample.tasks if task.sizes != five} == {}
    assert {task.name: task.labelled for task in sample.tasks if task.labelled != five} == {}


def test_the_options_of_a_question_differ(sample: Suite) -> None:
    alike = [
        place
        for place, question in located(sample)
        if len({normalised(option) for option in question.options}) < len(LETTERS)
    ]
    assert alike == []


def test_no_option_contains_another(sample: Suite) -> None:
    nested = [
        (place, inner, outer)
        for place, question in located(sample)
        for inner, outer in permutations(question.options, 2)
        if normalised(inner) in normalised(outer)
    ]
    assert nested == []


def test_no_question_comes_twice(sample: Suite) -> None:
    times = Counter(normalised(question.question) for _, question in located(sample))
    assert [text for text, count in times.items() if count > 1] == []


def test_no_letter_is_the_key_of_more_than_30_percent(sample: Suite) -> None:
    keys = Counter(question.answer for _, question in located(sample))
    assert set(keys) == set(LETTERS)
    assert max(keys.values()) <= 0.3 * keys.total(), keys


def test_no_question_is_a_question_of_m3ke(sample: Suite, shared: Path) -> None:
    published = {normalised(question.question) for _, question in located(load_suite(shared / "M3KE"))}
    assert len(published) > 10_000
    assert [place for place, question in located(sample) if normalised(question.question) in published] == []
