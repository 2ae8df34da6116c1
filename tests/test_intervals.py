from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.intervals import _student95, over_tasks, wilson

# Wilson's interval


@pytest.mark.parametrize(
    ("correct", "n", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # by hand with z² = 3.8415: n of n has the lower end n / (n + z²)
        (20, 20, 20 / 23.8415, 1.0),
        (1, 1, 1 / 4.8415, 1.0),
    ],
)
def test_wilson_agrees_with_published_values(correct: int, n: int, low: float, high: float) -> None:
    assert wilson(correct, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_brackets_the_share_inside_0_to_1(counts: tuple[int, int]) -> None:
    correct, n = counts
    low, high = wilson(correct, n)
    assert 0 <= low <= correct / n <= high <= 1
    assert low < high


@pytest.mark.parametrize(("correct", "n"), [(0, 0), (2, 1), (-1, 5)])
def test_wilson_refuses_impossible_counts(correct: int, n: int) -> None:
    with pytest.raises(ValueError, match="no interval"):
        wilson(correct, n)


# Over tasks

TASKS = [(4, 5), (1, 5), (9, 12), (30, 40), (2, 8), (7, 7), (0, 3), (11, 20)]


def _by_regression(tasks: list[tuple[int, int]]) -> tuple[float, float]:
    """The interval of the mean question, tasks as clusters, as statsmodels has it."""
    np, api = pytest.importorskip("numpy"), pytest.importorskip("statsmodels.api")
    right = np.concatenate([np.arange(n) < correct for correct, n in tasks]).astype(float)
    task = np.concatenate([np.full(n, number) for number, (_, n) in enumerate(tasks)])
    fitted = api.OLS(right, np.ones(len(right))).fit(
        cov_type="cluster", cov_kwds={"groups": task}, use_t=True
    )
    low, high = fitted.conf_int()[0]
    return float(low), float(high)


def test_over_questions_agrees_with_a_cluster_robust_regression() -> None:
    assert over_tasks([TASKS], pooled=True) == pytest.approx(_by_regression(TASKS), abs=1e-4)


def test_over_tasks_is_the_t_interval_of_the_tasks_accuracies() -> None:
    stats, np = pytest.importorskip("scipy.stats"), pytest.importorskip("numpy")
    shares = np.array([correct / n for correct, n in TASKS])
    low, high = stats.t.interval(0.95, len(shares) - 1, shares.mean(), stats.sem(shares))
    assert over_tasks([TASKS], pooled=False) == pytest.approx((low, high), abs=1e-4)


def test_the_mean_of_groups_worked_by_hand() -> None:
    # both groups: shares 0.2, 0.4, 0.6, so s² = 0.04 and s²/3 = 1/75; the mean of two: (1/75 + 1/75) / 4
    # t on 4 degrees of freedom is not given, so a third group of the same kind: 3/75/9, on 6: 2.4469
    group = [(1, 5), (2, 5), (3, 5)]
    half = 2.4469 * (1 / 225) ** 0.5
    for pooled in (True, False):
        assert over_tasks([group] * 3, pooled=pooled) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-4)
    assert over_tasks([group] * 2, pooled=True) is None


@pytest.mark.parametrize(
    "groups",
    [
        [],
        [[]],
        [[(1, 2)] * 5],  # four degrees of freedom
        [TASKS, [(1, 2)]],  # a group of one task
        [[(3, 3)] * 20],  # no task differs
        [[(1, 3)] * 20],
    ],
)
def test_where_the_tasks_tell_no_interval_there_is_none(groups: list[list[tuple[int, int]]]) -> None:
    assert over_tasks(groups, pooled=True) is None
    assert over_tasks(groups, pooled=False) is None


@given(st.lists(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=12))
def test_it_stays_inside_0_to_1_and_around_the_average(tasks: list[tuple[int, int]]) -> None:
    found = over_tasks([tasks], pooled=True)
    if found is not None:
        share = sum(correct for correct, _ in tasks) / sum(n for _, n in tasks)
        assert 0 <= found[0] <= share <= found[1] <= 1


def test_student_agrees_with_scipy_from_five_degrees_of_freedom_on() -> None:
    stats = pytest.importorskip("scipy.stats")
    for freedom in [*range(5, 80), 1000]:
        assert _student95(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=1e-3)
