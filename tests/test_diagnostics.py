from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.diagnostics import Diagnosis, Diagnostics, Picks, Served, evenness
from m3ke_async.intervals import wilson
from m3ke_async.request import Outcome
from m3ke_async.score import score
from m3ke_async.suite import Question, Split
from tests.scoring import answer, answers, make_task


def _question(*options: str) -> Question:
    a, b, c, d = options
    return Question(1, "?", (a, b, c, d), None)


@pytest.fixture(scope="module")
def stats() -> Any:
    """Imported once, which takes seconds."""
    return pytest.importorskip("scipy.stats")


# Letters


def test_evenness_worked_by_hand() -> None:
    # 40, 20, 20, 20 against 25 each: (225 + 25 + 25 + 25) / 25 = 12
    found = evenness({"A": 40, "B": 20, "C": 20, "D": 20})
    assert found is not None
    assert found.chi_square == 12
    assert found.p == pytest.approx(0.00738, abs=1e-5)  # of the printed tables: 11.345 is 1 %


@given(st.lists(st.integers(0, 3000), min_size=4, max_size=4))
def test_evenness_agrees_with_scipy(stats: Any, counts: list[int]) -> None:
    found = evenness(dict(zip("ABCD", counts, strict=True)))
    if sum(counts) < 20:
        assert found is None
        return
    expected = stats.chisquare(counts)
    assert found is not None
    assert found.chi_square == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-300)


def test_every_group_has_its_letters_and_outcomes_judged() -> None:
    task = make_task("X", size=30)
    found = score([task], answers(task, right=24, unparsed=6), split=Split.DEV)
    for group in (found.total, found.tasks[task.name]):
        assert group.evenness == evenness({"A": 24, "B": 0, "C": 0, "D": 0})
        assert group.rates is not None
        assert (group.rates[Outcome.ANSWERED], group.rates[Outcome.UNPARSED]) == (0.8, 0.2)
        value = group.to_json()
        assert (value["rates"]["unparsed"], value["rates"]["failed"]) == (0.2, 0)
        assert value["evenness"]["chi_square"] == 72


def test_a_task_without_lines_has_no_rates() -> None:
    task = make_task("X", size=3)
    value = score([task], [], split=Split.DEV).tasks[task.name].to_json()
    assert (value["rates"], value["evenness"]) == (None, None)


# Lengths


def test_longest_and_shortest_are_counted_where_one_option_is_it() -> None:
    diagnosis = Diagnosis()
    diagnosis.add_choice(_question("一", "一二三", "一二", "二一"), "B", "B")  # B the longest, A the shortest
    diagnosis.add_choice(_question("一", "一二三", "一二", "二一"), "A", None)
    diagnosis.add_choice(_question("一二三", "一二三", "一", "二一"), "A", "C")  # C the shortest alone
    diagnosis.add_choice(_question("一", "二", "三", "四"), "A", "A")  # none is it
    diagnosis.add_choice(_question("一 ", "二", "  三", "四五"), "D", "A")  # white space has no length
    found = diagnosis.found()
    assert found.longest == Picks(n=3, chosen=2, labelled=2, right=1)
    assert found.shortest == Picks(n=3, chosen=1, labelled=2, right=1)
    assert (found.longest.share, found.longest.right_share) == (2 / 3, 0.5)
    assert found.longest.interval == wilson(2, 3)


def test_nothing_to_look_at_is_no_share() -> None:
    empty = Diagnosis().found()
    assert (empty.longest.share, empty.longest.interval, empty.longest.right_share) == (None, None, None)
    assert empty.served == ()


# Who answered


def test_models_and_fingerprints_are_counted_the_most_frequent_first() -> None:
    diagnosis = Diagnosis()
    for model, fingerprint in [("m", "a"), ("m", "b"), ("m", "b"), (None, None), (None, "c")]:
        diagnosis.add_reply(model, fingerprint)
    assert diagnosis.found().served == (Served("m", "b", 2), Served("m", "a", 1), Served(None, "c", 1))


def test_they_survive_json() -> None:
    diagnosis = Diagnosis()
    diagnosis.add_choice(_question("一", "一二三", "一二", "二一"), "B", "B")
    diagnosis.add_reply("m", None)
    found = diagnosis.found()
    assert Diagnostics.from_json(found.to_json()) == found


def test_scores_carry_them_through_json() -> None:
    from dataclasses import replace

    from m3ke_async.score import Scores

    task = make_task("X", size=1)
    found = replace(
        score([task], [answer(task, 0)], split=Split.DEV),
        diagnostics=Diagnostics(Picks(1, 1, 1, 0), Picks(), (Served("m", None, 1),)),
    )
    assert Scores.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    "change",
    [
        {"longest": {"n": 1, "chosen": 2, "labelled": 0, "right": 0}},
        {"longest": {"n": 1, "chosen": "1", "labelled": 0, "right": 0}},
        {"shortest": {"n": 2, "chosen": 1, "labelled": 1, "right": 2}},
        {"served": [{"model": "m", "fingerprint": None, "replies": 0}]},
        {"served": [{"model": 7, "fingerprint": None, "replies": 1}]},
        {"served": [{"model": "m"}]},
    ],
)
def test_counts_that_do_not_add_up_are_refused(change: dict[str, Any]) -> None:
    value = Diagnostics(Picks(2, 1, 1, 0), Picks(), (Served("m", None, 1),)).to_json()
    with pytest.raises((KeyError, TypeError, ValueError)):
        Diagnostics.from_json(value | change)
