"""Runs side by side: what the figures are, and which runs are not compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import m3ke_async
from m3ke_async.compare import load_side
from m3ke_async.comparison import Verdict
from m3ke_async.errors import DataError, UsageError
from m3ke_async.paired import holm, least_difference, mcnemar, resampled
from m3ke_async.rundir import RunDir
from tests.comparing import ARTS, LAW, MATHS, Line, compared, two_runs, write_run

if TYPE_CHECKING:
    from pathlib import Path

# Paired


def test_paired_figures_worked_by_hand(tmp_path: Path) -> None:
    # the right letter is A: both right 4, only the first 1, only the second 9, neither 3 + 1 + 2
    found = two_runs(tmp_path, {ARTS: {"AA": 4, "AB": 1, "CA": 5, "-A": 4, "BB": 3, "BC": 1, "--": 2}})
    (pair,) = found.pairs
    total = pair.total
    assert total is not None
    assert (total.both, total.first_only, total.second_only, total.neither, total.n) == (4, 1, 9, 6, 20)
    assert total.accuracies == (5 / 20, 13 / 20)
    assert total.difference == 8 / 20
    assert total.p == total.p_adjusted == 2 * 11 / 1024
    assert total.verdict is Verdict.SECOND
    assert total.interval == resampled(1, 9, 20)
    assert total.least == least_difference(10, 20)


def test_the_other_way_round_the_verdict_is_the_other(tmp_path: Path) -> None:
    total = two_runs(tmp_path, {ARTS: {"AB": 9, "BA": 1}}).pairs[0].total
    assert total is not None
    assert total.verdict is Verdict.FIRST
    assert total.difference == -0.8


def test_clusters_and_levels_are_corrected_among_themselves(tmp_path: Path) -> None:
    tasks = {ARTS: {"BA": 8, "AA": 2}, MATHS: {"BA": 7, "AB": 1}, LAW: {"AB": 1, "AA": 9}}
    pair = two_runs(tmp_path, tasks).pairs[0]
    assert [group.name for group in pair.clusters] == [
        "Arts & Humanities",
        "Social Sciences",
        "Natural Sciences",
    ]
    chances = [mcnemar(0, 8), mcnemar(1, 0), mcnemar(1, 7)]
    assert [group.p for group in pair.clusters] == chances
    assert [group.p_adjusted for group in pair.clusters] == holm(chances)
    assert [group.verdict for group in pair.clusters] == [Verdict.SECOND, Verdict.NONE, Verdict.NONE]
    assert {group.name: group.n for group in pair.levels} == {"High school": 8, "College": 20}
    assert sum(group.n for group in pair.levels) == pair.total.n if pair.total else False


def test_a_key_that_only_one_run_was_scored_with_holds_for_both(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path, "one", [(ARTS, "A", None), (ARTS, "B", None)]),
        write_run(tmp_path, "two", [(ARTS, "A", "A"), (ARTS, "A", None)]),
    ]
    total = compared(*runs).pairs[0].total
    assert total is not None
    assert (total.n, total.both) == (1, 1)


def test_what_failed_or_is_missing_in_one_run_is_left_out_and_counted(tmp_path: Path) -> None:
    one = write_run(tmp_path, "one", [(ARTS, "A", "A"), (ARTS, "!", "A"), (ARTS, "A", "A"), (ARTS, "B", "A")])
    two = write_run(
        tmp_path, "two", [(ARTS, "A", "A"), (ARTS, "A", "A"), (ARTS, None, "A")], state="incomplete"
    )
    found = compared(one, two)
    pair = found.pairs[0]
    assert (pair.shared, pair.left_out) == (2, 2)
    assert pair.total is not None
    assert (pair.total.both, pair.total.first_only) == (1, 1)
    assert (pair.agreement.n, pair.agreement.without) == (1, 1)
    assert found.notes == ("run 2 is incomplete: questions without a reply are left out",)


# Agreement


def test_agreement_worked_by_hand(tmp_path: Path) -> None:
    # 35 of 50 the same, half by chance: kappa 0.4; questions without a letter stand beside
    pairs = {"AA": 20, "AB": 5, "BA": 10, "BB": 15, "-A": 2, "--": 1}
    found = two_runs(tmp_path, {ARTS: pairs, LAW: {"CC": 4}}, key=None)
    pair = found.pairs[0]
    assert pair.total is None
    assert (pair.clusters, pair.levels) == ((), ())
    arts, law = pair.tasks
    assert (arts.name, arts.n, arts.same, arts.without, arts.share) == (ARTS, 50, 35, 3, 0.7)
    assert arts.kappa == pytest.approx(0.4)
    assert (law.share, law.kappa) == (1.0, None)
    assert (pair.agreement.n, pair.agreement.same) == (54, 39)


def test_disputed_questions_are_those_with_different_letters(tmp_path: Path) -> None:
    found = two_runs(tmp_path, {ARTS: {"AA": 2, "AB": 1}, LAW: {"-A": 1, "CD": 1}})
    assert [(question.task, question.id, question.choices) for question in found.disputed] == [
        (LAW, 1, ("C", "D")),  # one of two in this task
        (ARTS, 2, ("A", "B")),  # one of three
    ]


def test_of_several_runs_the_questions_with_the_fewest_agreeing_ones_come_first(tmp_path: Path) -> None:
    letters = {"one": "AAA", "two": "AAB", "three": "ABC"}
    runs = [
        write_run(tmp_path, name, [(ARTS, letter, "A") for letter in row]) for name, row in letters.items()
    ]
    found = compared(*runs)
    assert [question.choices for question in found.disputed] == [("A", "B", "C"), ("A", "A", "B")]


def test_the_first_run_is_compared_with_each_other_and_the_tests_corrected(tmp_path: Path) -> None:
    letters = {"one": "BBBBBBBB", "two": "AAAAAAAA", "three": "AAAAAAAB"}
    runs = [
        write_run(tmp_path, name, [(ARTS, letter, "A") for letter in row]) for name, row in letters.items()
    ]
    found = compared(*runs)
    totals = [pair.total for pair in found.pairs]
    assert [(pair.first, pair.second) for pair in found.pairs] == [(1, 2), (1, 3)]
    assert [total.p_adjusted for total in totals if total] == holm([mcnemar(0, 8), mcnemar(0, 7)])
    assert found.fleiss_n == 8
    assert found.fleiss is not None
    assert -1 <= found.fleiss < 0


# What is not compared


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        ({"suite": "other"}, "suite or tasks (run 2 not as run 1)"),
        ({"shots": 5}, "shots (0, 5)"),
        ({"template": "u"}, "template (t, u)"),
        ({"wording": ["v"]}, "wording of the template"),
    ],
)
def test_runs_that_do_not_ask_the_same_are_refused_or_marked(
    tmp_path: Path, difference: dict[str, Any], said: str
) -> None:
    runs = [
        write_run(tmp_path, "one", [(ARTS, "A", "A")]),
        write_run(tmp_path, "two", [(ARTS, "A", "A")], **difference),
    ]
    with pytest.raises(UsageError) as refused:
        compared(*runs)
    assert said in str(refused.value)
    assert "--force" in str(refused.value)
    found = compared(*runs, force=True)
    assert said in found.unlike[0]
    assert found.pairs[0].shared == 1


def test_runs_of_two_splits_are_refused_even_by_force(tmp_path: Path) -> None:
    # equal ids are other questions there, and dev's letters would give the unlabelled test split an accuracy
    runs = [
        write_run(tmp_path, "dev", [(ARTS, "A", "A")]),
        write_run(tmp_path, "test", [(ARTS, "A", None)], split="test"),
    ]
    with pytest.raises(UsageError, match=r"differ in split \(dev, test\), and have no question in common"):
        compared(*runs, force=True)


def test_other_differences_are_told(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path, "one", [(ARTS, "A", "A")]),
        write_run(tmp_path, "two", [(ARTS, "A", "A")], temperature=0.7, system="你好"),
    ]
    assert compared(*runs).notes == ("temperature (0.0, 0.7)", "system (None, 你好)")


def test_different_right_letters_to_one_question_are_refused_even_by_force(tmp_path: Path) -> None:
    runs = [write_run(tmp_path, "one", [(ARTS, "A", "A")]), write_run(tmp_path, "two", [(ARTS, "A", "B")])]
    with pytest.raises(UsageError, match="run 2 has B as the right answer to 0 of Art"):
        compared(*runs, force=True)


@pytest.mark.parametrize("lines", [[(LAW, "A", None)], [(ARTS, "!", None)]])
def test_runs_without_a_common_question_are_refused(tmp_path: Path, lines: list[Line]) -> None:
    runs = [write_run(tmp_path, "one", [(ARTS, "A", None)]), write_run(tmp_path, "two", lines)]
    with pytest.raises(UsageError, match="runs 1 and 2 have no question in common"):
        compared(*runs)


def test_one_run_alone_a_run_without_answers_and_no_run_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path, "one", [(ARTS, "A", None)])
    with pytest.raises(UsageError, match="two runs or more"):
        compared(run)
    with pytest.raises(UsageError, match="has no answers: ask first"):
        load_side(write_run(tmp_path, "empty", []), pytest.fail)
    with pytest.raises(UsageError, match=r"holds no run\.json"):
        load_side(RunDir(tmp_path), pytest.fail)
    run.run_json.write_text('{"version": 0}')
    with pytest.raises(DataError, match="another version"):
        load_side(run, pytest.fail)


def test_half_written_lines_are_told_of_and_left_out(tmp_path: Path) -> None:
    run = write_run(tmp_path, "one", [(ARTS, "A", None), (ARTS, "B", None)])
    run.answers.write_bytes(run.answers.read_bytes()[:-30])
    told: list[str] = []
    assert len(load_side(run, told.append).readings) == 1
    assert len(told) == 1


# One question, all refused


@pytest.mark.parametrize("pairs", [{"AA": 1}, {"AB": 1}, {"--": 1}, {"--": 30}, {"-A": 3}, {"BB": 300}])
@pytest.mark.parametrize("key", ["A", None])
def test_no_figure_is_ever_not_a_number(tmp_path: Path, pairs: dict[str, int], key: str | None) -> None:
    found = two_runs(tmp_path, {ARTS: pairs}, key=key)
    text = json.dumps(found.to_json(), allow_nan=False)
    assert json.loads(text)["pairs"][0]["shared"] == sum(pairs.values())


# From Python


def test_runs_are_compared_by_path_or_name_from_python(tmp_path: Path) -> None:
    for name, letter in (("one", "A"), ("two", "B")):
        write_run(tmp_path, name, [(ARTS, letter, "A")] * 9)
    found = m3ke_async.compare_runs(tmp_path / "one", "two", results=tmp_path)
    assert isinstance(found, m3ke_async.Comparison)
    assert found.pairs[0].total is not None
    assert found.pairs[0].total.verdict == "first"
    with pytest.raises(UsageError, match="no run at"):
        m3ke_async.compare_runs("one", "none", results=tmp_path)
