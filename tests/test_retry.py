"""How long to wait, and when to give up."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.retry import BACKOFF_CAP, BACKOFF_START, RETRY_BUDGET, RetryPolicy


def policy(attempts: int = 100, seed: int = 1) -> RetryPolicy:
    return RetryPolicy(max_attempts=attempts, rng=random.Random(seed))  # noqa: S311 - repeatable, guards nothing


@pytest.mark.parametrize("most", [1, 2, 6])
def test_a_question_is_given_up_after_exactly_so_many_attempts(most: int) -> None:
    retry = policy(most)
    waits = [
        retry.wait(attempts=sent, step=sent, since=0.0, now=0.0, asked=None) for sent in range(1, most + 1)
    ]
    assert all(wait is not None for wait in waits[:-1])
    assert waits[-1] is None


@settings(deadline=None)
@given(st.integers(1, 99), st.integers())
def test_the_backoff_doubles_up_to_its_cap_and_is_never_zero(attempts: int, seed: int) -> None:
    step = min(BACKOFF_CAP, BACKOFF_START * 2 ** (attempts - 1))
    wait = policy(seed=seed).wait(attempts=attempts, step=attempts, since=0.0, now=0.0, asked=None)
    assert wait is not None
    assert step / 2 <= wait <= step


@settings(deadline=None)
@given(st.floats(0, 1000), st.integers(1, 5), st.integers())
def test_the_server_is_never_asked_sooner_than_it_said(asked: float, attempts: int, seed: int) -> None:
    wait = policy(seed=seed).wait(attempts=attempts, step=attempts, since=0.0, now=0.0, asked=asked)
    assert wait is not None
    assert wait >= asked


def test_those_who_were_told_the_same_do_not_wake_together() -> None:
    retry = policy()
    waits = [retry.wait(attempts=1, step=1, since=0.0, now=0.0, asked=20.0) for _ in range(50)]
    assert len(set(waits)) == 50
    assert max(wait for wait in waits if wait) - min(wait for wait in waits if wait) > 1.0


def test_no_try_begins_after_the_time_of_the_question_is_used_up() -> None:
    retry = policy()
    assert retry.wait(attempts=2, step=2, since=0.0, now=RETRY_BUDGET - 100, asked=None) is not None
    assert retry.wait(attempts=2, step=2, since=0.0, now=RETRY_BUDGET - 100, asked=200.0) is None
    assert retry.wait(attempts=2, step=2, since=0.0, now=RETRY_BUDGET + 1, asked=None) is None
