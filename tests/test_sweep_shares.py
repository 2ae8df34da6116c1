"""Leases of a shared limit: never more than the whole, none for who needs none, all for who is alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from m3ke_async.sweep.shares import LEASE_SECONDS, Shares

if TYPE_CHECKING:
    from tests.conftest import FakeClock


@pytest.fixture
def shares(clock: FakeClock) -> Shares:
    return Shares(clock)


def test_who_is_alone_has_all_of_it(shares: Shares) -> None:
    assert shares.lease("key", "a", 1.0) == 1.0
    assert shares.lease("other key", "b", 1.0) == 1.0


def test_who_comes_second_waits_for_the_first_to_give_up_half(shares: Shares) -> None:
    shares.lease("key", "a", 1.0)
    assert shares.lease("key", "b", 1.0) == 0.0
    assert shares.lease("key", "a", 1.0) == 0.5
    assert shares.lease("key", "b", 1.0) == 0.5


def test_what_one_does_not_need_goes_to_the_others(shares: Shares) -> None:
    for _ in range(3):
        found = [shares.lease("key", name, want) for name, want in (("a", 0.1), ("b", 1.0), ("c", 1.0))]
    assert found == pytest.approx([0.1, 0.45, 0.45])


def test_a_released_share_is_there_at_once_and_a_lost_one_after_its_lease(
    shares: Shares, clock: FakeClock
) -> None:
    for _ in range(2):
        shares.lease("key", "a", 1.0)
        shares.lease("key", "b", 1.0)
    shares.release("key", "a")
    assert shares.lease("key", "b", 1.0) == 1.0
    assert shares.lease("key", "c", 1.0) == 0.0
    clock.advance(LEASE_SECONDS)
    assert shares.lease("key", "c", 1.0) == 1.0


def test_shares_never_add_up_to_more_than_the_whole(shares: Shares, clock: FakeClock) -> None:
    rng = random.Random(7)  # noqa: S311 - repeatable
    held: dict[str, tuple[float, float]] = {}
    for _ in range(2000):
        clock.advance(rng.uniform(0, 2))
        name = f"worker {rng.randrange(6)}"
        held[name] = (shares.lease("key", name, rng.choice([0.02, 0.3, 1.0])), clock.now + LEASE_SECONDS)
        assert sum(share for share, until in held.values() if until > clock.now) <= 1 + 1e-9
