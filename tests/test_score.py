from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.answer import Answer, read_answers
from m3ke_async.errors import DataError
from m3ke_async.intervals import over_tasks, wilson
from m3ke_async.request import Outcome, Usage, dump_json
from m3ke_async.score import Scores, score
from m3ke_async.suite import Cluster, Level, Split
from tests.scoring import answer, answers, make_task

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

# One group


def test_a_task_worked_by_hand() -> None:
    task = make_task("X", size=10)
    lines = [
        *(answer(task, number, "A", "A") for number in range(4)),  # 4 right
        answer(task, 4, "B", "A"),
        answer(task, 5, "D", "A"),
        answer(task, 6, None, "A", outcome=Outcome.UNPARSED),
        answer(task, 7, None, "A", outcome=Outcome.TRUNCATED),
        answer(task, 8, None, "A", outcome=Outcome.FAILED),
    ]  # and 9 has no line
    found = score([task], lines, split=Split.DEV).tasks[task.name]
    assert (found.size, found.asked, found.missing, found.labelled, found.correct) == (10, 10, 1, 9, 4)
    assert found.outcomes == {
        Outcome.ANSWERED: 6,
        Outcome.AMBIGUOUS: 0,
        Outcome.UNPARSED: 1,
        Outcome.REFUSED: 0,
        Outcome.FILTERED: 0,
        Outcome.TRUNCATED: 1,
        Outcome.FAILED: 1,
    }
    assert found.letters == {"A": 4, "B": 1, "C": 0, "D": 1}
    assert found.accuracy == 4 / 9
    assert found.accuracy_answered == 4 / 6
    assert found.bounds == (4 / 10, 8 / 10)
    assert found.interval == wilson(4, 9)
    assert found.incomplete


def test_a_failed_question_is_no_letter_and_marks_the_result_incomplete() -> None:
    task = make_task("X", size=2)
    total = score([task], answers(task, right=1, failed=1), split=Split.DEV).total
    assert total.incomplete
    assert sum(total.letters.values()) == 1
    assert (total.accuracy, total.bounds) == (0.5, (0.5, 1.0))


def test_a_complete_result_is_not_marked_however_many_replies_hold_no_choice() -> None:
    task = make_task("X", size=3)
    assert not score([task], answers(task, right=1, unparsed=2), split=Split.DEV).total.incomplete


# Labels


def test_unlabelled_questions_have_no_accuracy_anywhere() -> None:
    task = make_task("X", size=3, labelled=0, split=Split.TEST)
    lines = [answer(task, number, "A", None, split=Split.TEST) for number in range(3)]
    scores = score([task], lines, split=Split.TEST)
    groups = [scores.total, *scores.tasks.values(), *scores.clusters.values(), *scores.levels.values()]
    for group in groups:
        rates = (group.accuracy, group.accuracy_answered, group.interval, group.bounds)
        assert rates == (None, None, None, None)
        assert (group.asked, group.labelled, group.letters["A"]) == (3, 0, 3)
    assert {found["value"] for found in scores.to_json()["averages"].values()} == {None}
    assert scores.averages.over_clusters_pooled.covered == ()


def test_partly_labelled_questions_are_scored_over_the_labelled_ones() -> None:
    task = make_task("X", size=100, labelled=3)
    lines = [answer(task, number, "B", "B" if number < 2 else "C") for number in range(3)]
    lines += [answer(task, number, "B", None) for number in range(3, 100)]
    scores = score([task], lines, split=Split.DEV)
    assert (scores.total.labelled, scores.total.accuracy, scores.total.bounds) == (3, 2 / 3, (2 / 3, 2 / 3))
    assert scores.averages.over_questions.partial


def test_missing_questions_widen_the_bounds_only_as_far_as_they_can_be_labelled() -> None:
    task = make_task("X", size=100, labelled=3)
    lines = [answer(task, number, "B", "B" if number < 2 else None) for number in range(90)]
    assert score([task], lines, split=Split.DEV).total.bounds == (2 / 3, 1.0)


def test_missing_questions_of_a_task_with_a_key_file_widen_the_bounds_fully() -> None:
    task = make_task("X", size=10, labelled=0, split=Split.TEST)
    lines = [answer(task, number, split=Split.TEST) for number in range(5)]
    assert score([task], lines, split=Split.TEST).total.bounds == (0.5, 1.0)


# Groups and averages


def test_the_averages_are_separate_numbers_with_their_own_n() -> None:
    # X: 100 of 100 right; Y: 0 of 10; Z: 5 of 10; W is asked and has no line yet
    x = make_task("X", Cluster.ARTS, size=100)
    y, z = make_task("Y", Cluster.SOCIAL, size=10), make_task("Z", Cluster.SOCIAL, size=10)
    w = make_task("W", Cluster.NATURAL, size=10)
    lines = answers(x, right=100) + answers(y, wrong=10) + answers(z, right=5, wrong=5)
    scores = score([x, y, z, w], lines, split=Split.DEV)
    found = scores.averages
    assert (found.over_questions.value, found.over_questions.n) == (105 / 120, 120)
    assert (found.over_tasks.value, found.over_tasks.n) == (0.5, 3)
    assert (found.over_clusters_pooled.value, found.over_clusters_pooled.n) == (0.625, 2)
    assert (found.over_clusters_task_mean.value, found.over_clusters_task_mean.n) == (0.625, 2)
    assert all(average.partial for average in (found.over_questions, found.over_tasks))
    assert all(average.partial for average in (found.over_clusters_pooled, found.over_clusters_task_mean))
    assert found.over_tasks.absent == (w.name,)
    assert found.over_clusters_pooled.covered == ("Arts & Humanities", "Social Sciences")
    assert found.over_clusters_pooled.absent == ("Natural Sciences", "Other")
    assert scores.clusters[Cluster.NATURAL].accuracy is None
    assert scores.total.bounds == (105 / 130, 115 / 130)


def test_a_cluster_pooled_over_questions_is_not_the_mean_of_its_tasks() -> None:
    big, small = make_task("Big", size=30), make_task("Small", size=10)
    lines = answers(big, right=30) + answers(small, wrong=10)
    scores = score([big, small], lines, split=Split.DEV)
    assert scores.clusters[Cluster.ARTS].accuracy == 0.75
    assert scores.clusters[Cluster.ARTS].task_mean == 0.5
    assert scores.averages.over_clusters_pooled.value == 0.75
    assert scores.averages.over_clusters_task_mean.value == 0.5


def test_all_four_clusters_make_the_average_whole() -> None:
    tasks = [make_task("X", cluster, size=2) for cluster in Cluster]
    lines = [line for task in tasks for line in answers(task, right=1, wrong=1)]
    found = score(tasks, lines, split=Split.DEV).averages
    assert not found.over_clusters_pooled.partial
    assert (found.over_clusters_pooled.value, found.over_clusters_pooled.n) == (0.5, 4)
    assert found.over_clusters_pooled.absent == ()


def test_the_averages_have_intervals_over_tasks_of_their_own() -> None:
    counts = {Cluster.ARTS: [(1, 10), (5, 10), (6, 30)], Cluster.SOCIAL: [(9, 10), (3, 5), (2, 4), (1, 3)]}
    pairs = [
        (make_task(f"T{number}", cluster, size=n), correct, n)
        for cluster, group in counts.items()
        for number, (correct, n) in enumerate(group)
    ]
    lines = [line for task, correct, n in pairs for line in answers(task, right=correct, wrong=n - correct)]
    found = score([task for task, _, _ in pairs], lines, split=Split.DEV).averages
    groups = list(counts.values())
    everything = [[count for group in groups for count in group]]
    assert found.over_questions.interval == over_tasks(everything, pooled=True)
    assert found.over_tasks.interval == over_tasks(everything, pooled=False)
    assert found.over_clusters_pooled.interval == over_tasks(groups, pooled=True)
    assert found.over_clusters_task_mean.interval == over_tasks(groups, pooled=False)
    assert len({found.over_questions.interval, found.over_clusters_task_mean.interval, None}) == 3


def test_a_limit_makes_the_averages_partial_but_not_the_result_incomplete() -> None:
    tasks = [make_task("X", cluster, size=5) for cluster in Cluster]
    lines = [line for task in tasks for line in answers(task, right=1)]
    scores = score(tasks, lines, split=Split.DEV, limit=1)
    assert scores.averages.over_clusters_pooled.partial
    assert (scores.total.size, scores.total.asked, scores.total.missing) == (20, 4, 0)
    assert not scores.total.incomplete


def test_a_selection_of_tasks_makes_the_averages_partial_and_names_the_rest() -> None:
    tasks = [make_task(name, cluster, size=5) for cluster in Cluster for name in "XY"]
    asked = [task for task in tasks if task.subject == "X"]
    lines = [line for task in asked for line in answers(task, right=5)]
    scores = score(tasks, lines, split=Split.DEV, selected={task.name for task in asked})
    assert scores.averages.over_clusters_pooled.partial
    assert scores.averages.over_tasks.absent == tuple(task.name for task in tasks if task.subject == "Y")
    assert (scores.total.asked, scores.total.missing, scores.total.incomplete) == (20, 0, False)


def test_groups_are_read_by_their_names() -> None:
    task = make_task("X", Cluster.ARTS, Level.SENIOR, size=1)
    scores = score([task], answers(task, right=1), split=Split.DEV)
    by_name: dict[Any, Any] = {**scores.clusters, **scores.levels}
    assert by_name["Arts & Humanities"].accuracy == 1
    assert by_name["High school"].accuracy == 1


def test_a_task_without_the_split_is_no_part_of_the_scores() -> None:
    dev, test = make_task("X", size=1), make_task("Y", size=1, split=Split.TEST)
    scores = score([dev, test], answers(dev, right=1), split=Split.DEV)
    assert list(scores.tasks) == [dev.name]


def test_no_answers_at_all_is_no_accuracy_and_no_division_by_zero() -> None:
    scores = score([make_task("X", size=3)], [], split=Split.DEV)
    assert (scores.total.accuracy, scores.total.bounds, scores.total.missing) == (None, None, 3)
    assert score([], [], split=Split.DEV).total.asked == 0


# Answers that do not belong


def test_an_answer_to_a_task_outside_the_suite_is_refused() -> None:
    with pytest.raises(DataError, match="Other subject"):
        score([make_task("X")], answers(make_task("Other subject"), right=1), split=Split.DEV)


def test_an_answer_of_another_split_is_refused() -> None:
    task = make_task("X")
    with pytest.raises(DataError, match="test"):
        score([task], [answer(task, 0, split=Split.TEST)], split=Split.DEV)


def test_more_answers_than_questions_are_refused() -> None:
    task = make_task("X", size=2)
    with pytest.raises(DataError, match="3 answers to 2 questions"):
        score([task], answers(task, right=3), split=Split.DEV)


# Usage


def test_tokens_are_summed_and_unknown_is_not_zero() -> None:
    task = make_task("X", size=4)
    lines = [
        answer(task, 0, usage=Usage(100, 2, cached_tokens=60), latency=1.0),
        answer(task, 1, usage=Usage(100, 3, cached_tokens=0), latency=2.0),
        answer(task, 2, usage=Usage(300, 5), latency=3.0),  # reports no cached tokens
        answer(task, 3, None, outcome=Outcome.FAILED, latency=None),
    ]
    usage = score([task], lines, split=Split.DEV).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (500, 10, 60)
    assert usage.reasoning_tokens is None
    assert usage.cached_share == 60 / 200
    assert usage.latency_mean == 2.0
    assert (usage.replies, usage.attempts) == (3, 4)


# Whole kinds


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Any], list[Answer]]:
    """Up to four tasks with any mix of outcomes, letters and keys, some lines missing."""
    tasks, lines = [], []
    for number in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, 12))
        task = make_task(
            f"T{number}", draw(st.sampled_from(Cluster)), draw(st.sampled_from(Level)), size=size
        )
        tasks.append(task)
        for question in range(draw(st.integers(0, size))):
            outcome = draw(st.sampled_from(Outcome))
            choice = draw(st.sampled_from("ABCD")) if outcome is Outcome.ANSWERED else None
            key = draw(st.sampled_from([None, *"ABCD"]))
            latency = draw(st.floats(0, 100))
            usage = Usage(draw(st.integers(0, 900)), 1)
            lines.append(answer(task, question, choice, key, outcome=outcome, latency=latency, usage=usage))
    return tasks, lines


@given(runs())
def test_counts_add_up_and_bounds_and_interval_bracket_the_accuracy(
    run: tuple[list[Any], list[Answer]],
) -> None:
    scores = score(*run, split=Split.DEV)
    groups = [*scores.tasks.values(), *scores.clusters.values(), *scores.levels.values(), scores.total]
    for group in groups:
        assert group.asked == sum(group.outcomes.values()) + group.missing == group.size
        assert group.answered == sum(group.letters.values())
        if group.accuracy is None:
            continue
        assert group.bounds is not None
        assert group.interval is not None
        low, high = group.bounds
        assert 0 <= low <= group.accuracy <= high <= 1
        assert group.interval[0] <= group.accuracy <= group.interval[1]
    for attribute in ("asked", "labelled", "correct", "missing"):
        whole = getattr(scores.total, attribute)
        for parts in (scores.tasks, scores.clusters, scores.levels):
            assert sum(getattr(part, attribute) for part in parts.values()) == whole


@given(runs(), st.randoms())
def test_the_order_of_the_answers_does_not_matter(
    run: tuple[list[Any], list[Answer]], shuffler: random.Random
) -> None:
    tasks, lines = run
    mixed = list(lines)
    shuffler.shuffle(mixed)
    assert score(tasks, mixed, split=Split.DEV) == score(tasks, lines, split=Split.DEV)


@given(runs())
def test_scores_survive_json(run: tuple[list[Any], list[Answer]]) -> None:
    scores = score(*run, split=Split.DEV)
    assert Scores.from_json(orjson.loads(dump_json(scores.to_json()))) == scores


# scores.json


def test_every_number_of_a_report_stands_in_scores_json() -> None:
    task = make_task("X", size=4)
    value = score([task], answers(task, right=2, wrong=1, unparsed=1), split=Split.DEV).to_json()
    cluster = value["clusters"]["Arts & Humanities"]
    assert (cluster["accuracy"], cluster["accuracy_answered"], cluster["bounds"]) == (0.5, 2 / 3, (0.5, 0.75))
    assert cluster["interval"] == wilson(2, 4)
    assert cluster["outcomes"]["unparsed"] == 1
    assert cluster["task_mean"] == 0.5
    assert value["averages"]["over_questions"]["value"] == 0.5
    assert value["version"] == 2


def _damage(value: dict[str, Any], *path: str, to: Any) -> dict[str, Any]:
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return value


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("version",), 1),
        (("split",), "train"),
        (("tasks",), []),
        (("usage",), {}),
        (("diagnostics",), {}),
        (("diagnostics",), {"longest": {}, "shortest": {}, "served": []}),
        (("tasks", "X-Arts & Humanities-College", "correct"), 5),
        (("tasks", "X-Arts & Humanities-College", "correct"), None),
        (("tasks", "X-Arts & Humanities-College", "missing"), 1),
        (("tasks", "X-Arts & Humanities-College", "letters"), {"A": 4}),
        (("tasks", "X-Arts & Humanities-College", "cluster"), "Arts"),
    ],
)
def test_damaged_or_foreign_scores_are_refused_in_one_line(path: tuple[str, ...], to: Any) -> None:
    task = make_task("X", size=4)
    value = score([task], answers(task, right=2, wrong=2), split=Split.DEV).to_json()
    with pytest.raises(DataError, match=r"^scores\.json: not written by this version") as caught:
        Scores.from_json(_damage(orjson.loads(dump_json(value)), *path, to=to), file="scores.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [None, [], {}, "scores"])
def test_anything_else_than_scores_is_refused(value: Any) -> None:
    with pytest.raises(DataError, match="not written by this version"):
        Scores.from_json(value)


# answers.jsonl

FULL = Answer(
    task="物理-Natural Sciences-College",
    split=Split.TEST,
    id=7,
    request="ab" * 16,
    outcome=Outcome.ANSWERED,
    choice="C",
    rule="the answer is",
    span=(3, 4),
    key="C",
    reply="答案是C",
    reasoning="…",
    finish_reason="stop",
    usage=Usage(90, 4, 0, None),
    latency=0.25,
    attempts=2,
)
FAILED = Answer("X-Other-College", Split.DEV, "q1", "cd" * 16, Outcome.FAILED, failure="timeout", attempts=5)


@pytest.mark.parametrize("line", [FULL, FAILED])
def test_an_answer_survives_its_line(line: Answer) -> None:
    assert Answer.from_json(orjson.loads(dump_json(line.to_json()))) == line


@pytest.mark.parametrize(
    ("field", "to"),
    [
        ("task", None),
        ("split", "train"),
        ("id", 1.5),
        ("id", True),
        ("request", 3),
        ("outcome", "right"),
        ("choice", "E"),
        ("choice", "AB"),
        ("choice", ""),
        ("key", "a"),
        ("span", [1]),
        ("span", "12"),
        ("usage", None),
        ("usage", {"prompt_tokens": 1}),
        ("latency", "fast"),
        ("attempts", -1),
        ("reply", 5),
    ],
)
def test_a_damaged_field_is_named_with_file_and_line(field: str, to: Any) -> None:
    value = orjson.loads(dump_json(FULL.to_json())) | {field: to}
    with pytest.raises(DataError) as caught:
        Answer.from_json(value, file="answers.jsonl", line=12)
    assert str(caught.value).startswith(f"answers.jsonl, line 12, field '{field}': ")


@pytest.mark.parametrize("change", [{"choice": None}, {"outcome": "unparsed"}])
def test_a_choice_and_the_outcome_answered_go_together(change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="go together"):
        Answer.from_json(orjson.loads(dump_json(FULL.to_json())) | change)


def test_missing_and_unknown_fields_are_refused() -> None:
    value = FULL.to_json()
    damaged: list[Any] = [
        {**value, "colour": 1},
        {name: value[name] for name in value if name != "key"},
        [],
        None,
    ]
    for wrong in damaged:
        with pytest.raises(DataError, match="line 3"):
            Answer.from_json(wrong, line=3)


def test_answers_are_read_from_a_file_and_damaged_lines_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    lines = [dump_json(line.to_json()) for line in (FULL, FAILED)]
    path.write_bytes(b"\n".join([lines[0], b"\0\0", b"{}", lines[1], b'{"task": "\xe4\xbd']))
    damaged: list[str] = []
    assert list(read_answers(path, damaged.append)) == [FULL, FAILED]
    assert [line.split(":")[0] for line in damaged] == [f"{path}, line {number}" for number in (2, 3, 5)]


def test_a_missing_answers_file_holds_no_answers(tmp_path: Path) -> None:
    assert list(read_answers(tmp_path / "answers.jsonl", lambda line: None)) == []


# Size and speed


def _many(n: int) -> Iterator[Answer]:
    line = answer(make_task("X", size=n), 0, "A", "B", usage=Usage(100, 3, 50))
    for _ in range(n):
        yield line


def test_memory_does_not_grow_with_the_number_of_answers() -> None:
    def peak(n: int) -> int:
        tracemalloc.start()
        score([make_task("X", size=n)], _many(n), split=Split.DEV)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(10)
    assert peak(20_000) < peak(200) + 4_000


def test_an_answer_is_counted_in_microseconds() -> None:
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        score([make_task("X", size=20_000)], _many(20_000), split=Split.DEV)
        best = min(best, (time.perf_counter() - start) / 20_000)
    assert best < 10e-6  # about 1e-6 on an idle core; ten times that is a defect, not a busy machine
