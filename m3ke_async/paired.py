"""Tests for readings of the same questions: differences and agreement. docs/compare.md has the formulae."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from m3ke_async.intervals import Z95

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from m3ke_async.intervals import Interval

#: Below this a difference is seen.
SIGNIFICANT = 0.05
#: How often the least difference would be seen.
POWER = 0.8

_RESAMPLES, _SEED = 10_000, 3
_Z_POWER = NormalDist().inv_cdf(POWER)


def mcnemar(first_only: int, second_only: int) -> float:
    """The two-sided p of the exact McNemar test.

    Source: Q. McNemar, Note on the sampling error of the difference between correlated proportions or
    percentages, Psychometrika 12 (1947); exact by the binomial distribution.

    Args:
        first_only: questions that the first run alone has right.
        second_only: questions that the second run alone has right.
    """
    n, least = first_only + second_only, min(first_only, second_only)
    ways = tail = 1
    for k in range(least):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << n))


def resampled(first_only: int, second_only: int, n: int) -> Interval | None:
    """The 95 % percentile bootstrap interval of the second accuracy less the first, over n questions.

    Questions are drawn with replacement, each with both its readings; of a draw only the counts of the
    questions that one run alone has right matter, so these are drawn. The same counts always give the
    same interval. Source: B. Efron, Bootstrap methods: another look at the jackknife (1979).

    Returns:
        None where no question tells the runs apart: then every draw is 0.
    """
    if first_only + second_only == 0:
        return None
    import numpy as np

    shares = (first_only / n, second_only / n, (n - first_only - second_only) / n)
    drawn = np.random.default_rng(_SEED).multinomial(n, shares, size=_RESAMPLES)
    low, high = np.quantile((drawn[:, 1] - drawn[:, 0]) / n, (0.025, 0.975))
    return float(low), float(high)


def least_difference(discordant: int, n: int) -> float | None:
    """The difference of two accuracies that such a test would see, at 5 %, four times in five.

    Source: R. J. Connor, Sample size for testing differences in proportions for the paired-sample design,
    Biometrics 43 (1987), solved for the difference. It is at least what would be seen if one run
    had all its own right answers and more.

    Args:
        discordant: questions that one run alone has right.
        n: questions of both.

    Returns:
        A share; None where not even the largest difference would be seen.
    """
    if n == 0:
        return None
    a, b, apart = Z95, _Z_POWER, sqrt(discordant / n)
    found = apart * (a * sqrt(n) + b * sqrt(max(0.0, n + b * b - a * a))) / (n + b * b)
    least = max(found, (a + b) ** 2 / n)
    return least if least <= 1 else None


def holm(chances: Sequence[float]) -> list[float]:
    """The p of several tests, so that one wrong alarm among all of them is as rare as with one test.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979).
    """
    adjusted, worst = [0.0] * len(chances), 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        worst = max(worst, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = worst
    return adjusted


def cohen_kappa(pairs: Mapping[tuple[str, str], int]) -> float | None:
    """Agreement of two readers beyond chance: 1 is full, 0 is that of chance.

    Source: J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological
    Measurement 20 (1960).

    Args:
        pairs: how often they chose these two letters.

    Returns:
        None for nothing to compare, and where both chose one and the same letter throughout.
    """
    n = sum(pairs.values())
    first: dict[str, int] = {}
    second: dict[str, int] = {}
    for (one, other), count in pairs.items():
        first[one] = first.get(one, 0) + count
        second[other] = second.get(other, 0) + count
    by_chance = sum(count * second.get(letter, 0) for letter, count in first.items())
    same = sum(count for (one, other), count in pairs.items() if one == other)
    return None if by_chance == n * n else (same * n - by_chance) / (n * n - by_chance)


def fleiss_kappa(questions: Iterable[Mapping[str, int]], readers: int) -> float | None:
    """Agreement of several readers beyond chance.

    Source: J. L. Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin 76
    (1971).

    Args:
        questions: how many readers chose each letter, for each question that all of them answered.
        readers: how many there are, at least two.

    Returns:
        None for no questions, and where all chose one and the same letter throughout.
    """
    n = together = 0
    letters: dict[str, int] = {}
    for counts in questions:
        n += 1
        for letter, count in counts.items():
            letters[letter] = letters.get(letter, 0) + count
            together += count * (count - 1)
    if n == 0 or max(letters.values()) == n * readers:
        return None
    by_chance = sum((count / (n * readers)) ** 2 for count in letters.values())
    return (together / (n * readers * (readers - 1)) - by_chance) / (1 - by_chance)
