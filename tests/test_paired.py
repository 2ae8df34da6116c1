from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.paired import cohen_kappa, fleiss_kappa, holm, least_difference, mcnemar, resampled


def _numpy() -> Any:
    return pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def multitest() -> Any:
    """Imported once, which takes seconds."""
    return pytest.importorskip("statsmodels.stats.multitest")


# McNemar


@pytest.mark.parametrize(
    ("first_only", "second_only", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (0, 5, 2 / 32),
        (0, 6, 2 / 64),  # the fewest that can be seen at 5 %
        (1, 9, 2 * 11 / 1024),  # 1 + 10 of 2^10
        (5, 5, 1.0),
    ],
)
def test_mcnemar_worked_by_hand(first_only: int, second_only: int, p: float) -> None:
    assert mcnemar(first_only, second_only) == mcnemar(second_only, first_only) == p


@pytest.mark.parametrize("counts", [(3, 11), (40, 70), (151, 150), (2100, 1900), (9000, 8700)])
def test_mcnemar_agrees_with_statsmodels(counts: tuple[int, int]) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    expected = tables.mcnemar([[0, counts[0]], [counts[1], 0]], exact=True).pvalue
    assert mcnemar(*counts) == pytest.approx(expected, rel=1e-6)


def test_a_hopeless_case_of_any_size_has_a_chance_of_nearly_nothing() -> None:
    assert 0 <= mcnemar(0, 20_000) < 1e-300


# Bootstrap


def test_the_interval_is_that_of_questions_drawn_one_by_one() -> None:
    np = _numpy()
    first_only, second_only, n = 12, 30, 200
    differences = np.array([-1] * first_only + [1] * second_only + [0] * (n - first_only - second_only))
    drawn = np.random.default_rng(1).choice(differences, size=(20_000, n)).mean(axis=1)
    found = resampled(first_only, second_only, n)
    assert found == pytest.approx(np.quantile(drawn, (0.025, 0.975)), abs=0.006)


def test_the_interval_is_near_the_textbooks_where_there_are_many_questions() -> None:
    first_only, second_only, n = 1500, 1800, 20_122
    difference = (second_only - first_only) / n
    half = 1.96 * ((first_only + second_only) / n - difference**2) ** 0.5 / n**0.5
    assert resampled(first_only, second_only, n) == pytest.approx(
        (difference - half, difference + half), abs=2e-4
    )


def test_the_same_counts_give_the_same_interval_and_turned_round_the_opposite_one() -> None:
    found, again, other = resampled(7, 19, 100), resampled(7, 19, 100), resampled(19, 7, 100)
    assert found is not None
    assert other is not None
    assert found == again
    assert (-other[1], -other[0]) == pytest.approx(found, abs=0.02)


def test_runs_that_no_question_tells_apart_have_no_interval() -> None:
    assert resampled(0, 0, 50) is None


# Power


def test_the_least_difference_is_seen_about_four_times_in_five() -> None:
    np = _numpy()
    for discordant, n in ((60, 355), (4000, 20_122)):
        least = least_difference(discordant, n)
        assert least is not None
        apart = discordant / n
        shares = ((apart - least) / 2, (apart + least) / 2, 1 - apart)
        drawn = np.random.default_rng(2).multinomial(n, shares, size=1500)
        seen = np.mean([mcnemar(int(first), int(second)) < 0.05 for first, second, _ in drawn])
        assert 0.73 < seen < 0.84  # the exact test is a little more careful than the formula


def test_without_discordant_questions_it_is_what_one_run_would_need_for_itself() -> None:
    assert least_difference(0, 1000) == pytest.approx(7.849 / 1000, abs=1e-5)


@pytest.mark.parametrize("n", [0, 1, 5, 7])
def test_a_few_questions_cannot_show_any_difference(n: int) -> None:
    assert least_difference(n, n) is None
    assert least_difference(0, n) is None


@given(st.integers(8, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_it_is_a_share_and_grows_with_what_tells_the_runs_apart(counts: tuple[int, int]) -> None:
    least, more = least_difference(*counts), least_difference(counts[1], counts[1])
    assert least is not None
    assert more is not None
    assert 0 < least <= more <= 1


# Holm


def test_holm_worked_by_hand() -> None:
    # 3 x 0.01, then 2 x 0.04 = 0.08, then the larger of 0.05 and 0.08
    assert holm([0.05, 0.01, 0.04]) == pytest.approx([0.08, 0.03, 0.08])
    assert holm([]) == []
    assert holm([0.9, 0.6]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_holm_agrees_with_statsmodels(multitest: Any, chances: list[float]) -> None:
    assert holm(chances) == pytest.approx(multitest.multipletests(chances, method="holm")[1])


# Kappa


def test_kappa_worked_by_hand() -> None:
    # 35 of 50 the same; by chance 25/50 x 30/50 + 25/50 x 20/50 = 0.5
    pairs = {("A", "A"): 20, ("A", "B"): 5, ("B", "A"): 10, ("B", "B"): 15}
    assert cohen_kappa(pairs) == pytest.approx(0.4)


def test_kappa_of_letters_agrees_with_statsmodels() -> None:
    raters = pytest.importorskip("statsmodels.stats.inter_rater")
    table = [[30, 2, 1, 4], [6, 25, 0, 1], [1, 1, 14, 3], [0, 2, 5, 40]]
    pairs = {
        ("ABCD"[row], "ABCD"[column]): count
        for row, counts in enumerate(table)
        for column, count in enumerate(counts)
    }
    assert cohen_kappa(pairs) == pytest.approx(raters.cohens_kappa(table).kappa)


@pytest.mark.parametrize("pairs", [{}, {("A", "A"): 9}])
def test_where_chance_explains_all_there_is_no_kappa(pairs: dict[tuple[str, str], int]) -> None:
    assert cohen_kappa(pairs) is None
    assert fleiss_kappa([{"A": 3}] * len(pairs), 3) is None


def test_full_agreement_is_1_and_constant_readers_that_differ_have_0() -> None:
    assert cohen_kappa({("A", "A"): 3, ("B", "B"): 1}) == 1
    assert cohen_kappa({("A", "B"): 7}) == 0
    assert fleiss_kappa([{"A": 3}, {"B": 3}], 3) == 1


def test_the_kappa_of_many_agrees_with_statsmodels() -> None:
    raters = pytest.importorskip("statsmodels.stats.inter_rater")
    counts = [[3, 0, 0, 0], [1, 2, 0, 0], [0, 0, 3, 0], [1, 1, 0, 1], [0, 0, 1, 2], [0, 3, 0, 0]]
    questions = [Counter(dict(zip("ABCD", row, strict=True))) for row in counts]
    assert fleiss_kappa(questions, 3) == pytest.approx(raters.fleiss_kappa(counts))
