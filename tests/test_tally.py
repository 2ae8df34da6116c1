from __future__ import annotations

import json
from collections import Counter

import pytest

from m3ke_async.request import Reply, Usage
from m3ke_async.tally import Budget, Ledger, Price, Tally, exceeded

PRICE = Price(prompt=2.0, completion=8.0)


def reply(prompt: int | None = 100, completion: int | None = 5, cached: int | None = None) -> Reply:
    return Reply("A", usage=Usage(prompt, completion, cached))


def ledger(**fields: float) -> Ledger:
    return Ledger(**fields)  # type: ignore[arg-type]


# Questions


@pytest.mark.parametrize(
    ("stored", "known", "had"),
    [
        (0, 0, 0),
        (10, 60, 60),  # most are not passed yet
        (70, 60, 70),  # other runs asked the same meanwhile
        (0, 95, 80),  # they are gone: twenty of a hundred were asked anew
    ],
)
def test_what_had_a_reply_is_never_told_as_more_than_there_can_be(stored: int, known: int, had: int) -> None:
    tally = Tally(total=100, stored=stored, known=known, answered=18, failed=2)
    assert (tally.had, tally.done) == (had, had + 20)


# The ledger


def test_money_is_by_the_million_tokens() -> None:
    assert PRICE.cost(1_000_000, 0) == 2.0
    assert PRICE.cost(500_000, 250_000) == 3.0
    assert Price(0, 0).cost(10, 10) == 0


def test_replies_add_up_their_tokens() -> None:
    book = Ledger()
    book.add_reply(reply(100, 5, 30), estimate=90)
    book.add_reply(reply(200, 7), estimate=90)
    assert (book.replies, book.unreported) == (2, 0)
    assert (book.prompt_tokens, book.completion_tokens, book.cached_tokens) == (300, 12, 30)


@pytest.mark.parametrize(
    ("usage", "prompt", "completion"),
    [((None, None), 90, 0), ((None, 5), 90, 5), ((100, None), 100, 0), ((0, 0), 0, 0)],
)
def test_missing_usage_is_estimated_and_counted_as_unreported(
    usage: tuple[int | None, int | None], prompt: int, completion: int
) -> None:
    book = Ledger()
    book.add_reply(reply(*usage), estimate=90)
    assert (book.prompt_tokens, book.completion_tokens) == (prompt, completion)
    assert book.unreported == (None in usage)


def test_attempts_that_brought_nothing_cost_money_too() -> None:
    book = Ledger()
    book.add_reply(reply(100, 5), estimate=0)
    book.add_failure("timeout", estimate=300)
    book.add_failure("timeout", estimate=300)
    book.add_failure("rate_limit", estimate=0)
    assert book.retries == Counter(timeout=2, rate_limit=1)
    assert book.wasted_tokens == 600
    assert book.cost(PRICE) == pytest.approx((700 * 2 + 5 * 8) / 1e6)


def test_what_the_provider_says_it_charged_is_added_up_and_bounds_a_run_without_a_price() -> None:
    book = Ledger()
    book.add_reply(Reply("A", usage=Usage(100, 5, cost=0.25)), estimate=0)
    book.add_reply(reply(), estimate=0)  # says nothing
    book.add_charge(Usage(cost=0.5))
    assert (book.charged, book.charges) == (0.75, 2)
    assert exceeded(Budget(cost=0.76), book, None, 0) is None
    assert exceeded(Budget(cost=0.75), book, None, 0) == "0.7500 was spent (--max-cost 0.75)"
    assert exceeded(Budget(cost=0.75), book, PRICE, 0) is None  # a price that was given goes before
    assert Ledger.from_json(book.to_json()) == book


def test_a_ledger_survives_run_json() -> None:
    book = Ledger(5, 3, 10, 20, 1, 2, 7, Counter(timeout=2), 1.25, 3.5)
    assert Ledger.from_json(json.loads(json.dumps(book.to_json()))) == book


def test_ledgers_of_several_commands_add_up() -> None:
    one = Ledger(5, 3, 10, 20, 1, 2, 7, Counter(timeout=2), 1.0, 3.0)
    two = Ledger(1, 1, 1, 1, 1, 1, 1, Counter(timeout=1, rate_limit=1), 0.5, 0.5)
    assert one + two == Ledger(6, 4, 11, 21, 2, 3, 8, Counter(timeout=3, rate_limit=1), 1.5, 3.5)
    assert one + Ledger() == one


# The tally


def test_done_is_whatever_needs_nothing_more() -> None:
    assert Tally(total=10, stored=2, answered=3, failed=1).done == 6


# The budget (C30)


def test_no_limit_is_never_used_up() -> None:
    assert exceeded(Budget(), ledger(requests=10**9, prompt_tokens=10**12), PRICE, 1e9) is None


@pytest.mark.parametrize(
    ("budget", "spent", "seconds", "words"),
    [
        (Budget(requests=10), ledger(requests=10), 0, "10 requests were sent (--max-requests 10)"),
        (
            Budget(tokens=100),
            ledger(prompt_tokens=60, completion_tokens=30, wasted_tokens=10),
            0,
            "100 tokens were used (--max-tokens-total 100)",
        ),
        (
            Budget(cost=0.001),
            ledger(prompt_tokens=100, completion_tokens=50, wasted_tokens=200),
            0,
            "0.0010 was spent (--max-cost 0.001)",
        ),
        (Budget(seconds=60), Ledger(), 60.0, "60 seconds have passed (--max-time 60)"),
    ],
)
def test_a_used_up_limit_is_named_with_what_was_used(
    budget: Budget, spent: Ledger, seconds: float, words: str
) -> None:
    assert exceeded(budget, spent, PRICE, seconds) == words


@pytest.mark.parametrize(
    ("budget", "spent", "seconds"),
    [
        (Budget(requests=10), ledger(requests=9), 0.0),
        (Budget(tokens=100), ledger(prompt_tokens=99), 0.0),
        (Budget(cost=0.001), ledger(prompt_tokens=499), 0.0),
        (Budget(seconds=60), Ledger(), 59.9),
    ],
)
def test_below_its_limits_a_run_goes_on(budget: Budget, spent: Ledger, seconds: float) -> None:
    assert exceeded(budget, spent, PRICE, seconds) is None
