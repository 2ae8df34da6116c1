"""95 % intervals of a share over questions, and of averages over tasks; docs/scores.md has the formulae."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Interval: TypeAlias = tuple[float, float]

#: The normal distribution's 97.5 % point, for two-sided 95 %.
Z95 = 1.959963984540054

#: Below it the series of `_student95` is off by more than a thousandth, and so few tasks tell too little
#: of how tasks differ.
_LEAST_FREEDOM = 5


def wilson(correct: int, n: int, z: float = Z95) -> Interval:
    """Wilson's score interval for `correct` of `n`, as shares from 0 to 1.

    Unlike the textbook interval it never leaves 0 to 1 and has a width at 0 of n and n of n.
    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22 (1927).

    Raises:
        ValueError: where not 0 <= correct <= n, or n is 0.
    """
    if n < 1 or not 0 <= correct <= n:
        raise ValueError(f"no interval for {correct} of {n}")
    share, square = correct / n, z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
    # At the ends the formula gives exactly 0 and 1; rounding would miss them by a hair.
    low = 0.0 if correct == 0 else centre - half
    high = 1.0 if correct == n else centre + half
    return low, high


def over_tasks(groups: Sequence[Sequence[tuple[int, int]]], *, pooled: bool) -> Interval | None:
    """The interval of a plain mean of groups, each of them an average of its tasks.

    Tasks are the units that are drawn, since the questions of one task are alike: the variance is the
    cluster-robust one, with Student's distribution on as many degrees of freedom as there are tasks less
    groups. Sources: W. G. Cochran, Sampling techniques (1977), on stratified cluster samples; E. Miller,
    Adding error bars to evals (2024), on benchmarks.

    Args:
        groups: of each group the (correct, n) of its tasks, n above 0.
        pooled: whether a task weighs as many as its questions, or one.

    Returns:
        Shares within 0 to 1. None with a group of one task, with fewer than five degrees of freedom, and
        where no task differs from its group: their spread then tells nothing.
    """
    freedom = sum(len(tasks) - 1 for tasks in groups)
    if freedom < _LEAST_FREEDOM or any(len(tasks) < 2 for tasks in groups):
        return None
    centre = variance = 0.0
    for tasks in groups:
        size = sum(n for _, n in tasks) if pooled else len(tasks)
        weights = [(n if pooled else 1) / size for _, n in tasks]
        mean = sum(weight * correct / n for weight, (correct, n) in zip(weights, tasks, strict=True))
        errors = (weight * (correct / n - mean) for weight, (correct, n) in zip(weights, tasks, strict=True))
        centre += mean / len(groups)
        variance += sum(error * error for error in errors) * len(tasks) / (len(tasks) - 1) / len(groups) ** 2
    half = _student95(freedom) * sqrt(variance)
    if half < 1e-12:
        return None
    return max(0.0, centre - half), min(1.0, centre + half)


def _student95(freedom: int) -> float:
    """The 97.5 % point of Student's distribution, to a thousandth from five degrees of freedom on.

    Source: M. Abramowitz and I. A. Stegun, Handbook of mathematical functions (1964), 26.7.5.
    """
    z, n = Z95, freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )
