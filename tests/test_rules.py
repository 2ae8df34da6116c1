from __future__ import annotations

from functools import cache

import pytest

from m3ke_async.error_body import ErrorBody
from m3ke_async.faults import matching_rule
from m3ke_async.providers import load_profile, profile_names
from m3ke_async.rules import Kind, Rule, covering_rules, in_order

load = cache(load_profile)


def rule(**conditions: object) -> Rule:
    return Rule(Kind.RATE_LIMIT, **conditions)  # type: ignore[arg-type]


STATUS = frozenset


@pytest.mark.parametrize(
    ("earlier", "later", "covering"),
    [
        ([rule(status=STATUS({429}))], rule(status=STATUS({429})), [0]),
        ([rule(status=STATUS({429, 503}))], rule(status=STATUS({429})), [0]),
        ([rule(status=STATUS({429}))], rule(status=STATUS({429, 503})), []),
        ([rule(status=STATUS({429}))], rule(code=("a",)), []),
        ([rule(code=("a",))], rule(code=("a",), status=STATUS({429})), [0]),
        ([rule(code=("a",))], rule(code=("a", "b")), []),
        ([rule(code=("a*",))], rule(code=("ab", "a*c")), [0]),
        ([rule(code=("ab",))], rule(code=("a*",)), []),
        ([rule(text=("quota",))], rule(text=("free quota",)), [0]),
        ([rule(text=("free quota",))], rule(text=("quota",)), []),
        ([rule(text=("quota",))], rule(text=("quota",), code=("a",)), [0]),
        ([rule(param=("*",))], rule(param=("seed",)), [0]),
        ([rule(header=(("a", "0"),))], rule(header=(("a", "0"), ("b", "1"))), [0]),
        ([rule(header=(("a", "0"),))], rule(status=STATUS({429})), []),
        ([rule(status=STATUS({429})), rule(status=STATUS({503}))], rule(status=STATUS({429, 503})), [0, 1]),
        ([rule(status=STATUS({429})), rule(status=STATUS({503}))], rule(status=STATUS({429, 500})), []),
        ([rule(status=STATUS({429}))], rule(text=("a",)), []),
        ([rule(code=("a",)), rule(code=("b",))], rule(code=("a", "b")), [0, 1]),
        ([rule(code=("a",)), rule(text=("b",))], rule(code=("a", "c"), text=("b",)), [0, 1]),
        ([rule(code=("a",)), rule(text=("b",))], rule(code=("a", "c"), text=("b", "d")), []),
        (
            [rule(code=("a",), status=STATUS({400})), rule(code=("a",), status=STATUS({401}))],
            rule(code=("a",), status=STATUS({400, 401})),
            [0, 1],
        ),
        ([rule(code=("a",), status=STATUS({400})), rule(code=("a",))], rule(code=("a",)), [1]),
    ],
)
def test_when_earlier_rules_leave_nothing_for_a_later_one(
    earlier: list[Rule], later: Rule, covering: list[int]
) -> None:
    assert covering_rules(later, earlier) == tuple(earlier[number] for number in covering)


def test_words_are_asked_before_status_and_own_before_general() -> None:
    own_status, own_words = rule(status=STATUS({1})), rule(code=("own",))
    general_status, general_words = rule(status=STATUS({2})), rule(text=("general",))
    assert in_order([own_status, own_words], [general_status, general_words]) == (
        own_words,
        general_words,
        own_status,
        general_status,
    )


def test_all_conditions_must_hold_and_any_word_of_each_is_enough() -> None:
    both = rule(status=STATUS({429}), code=("a", "b*"), text=("x",), header=(("h", "*"),))
    facts = {"status": 429, "codes": ["bcd"], "text": "some x", "param": None, "headers": {"h": "1"}}
    assert both.matches(**facts)  # type: ignore[arg-type]
    spoils: list[dict[str, object]] = [{"status": 500}, {"codes": ["c"]}, {"text": ""}, {"headers": {}}]
    for spoilt in spoils:
        assert not both.matches(**{**facts, **spoilt})  # type: ignore[arg-type]


def words(rules: tuple[Rule, ...]) -> list[tuple[Rule, ErrorBody, int]]:
    """For each word of each rule, an answer that only has this word."""
    answers = []
    for each in rules:
        codes: list[tuple[str, ...]] = [(code.replace("*", ""),) for code in each.code] or [()]
        texts = list(each.text) or [""]
        params: list[str | None] = [param.replace("*", "") or "seed" for param in each.param] or [None]
        answers += [
            (each, ErrorBody(message=text, codes=code, param=param), status)
            for code in codes
            for text in texts
            for param in params
            for status in sorted(each.status)[:1] or [400]
        ]
    return answers


@pytest.mark.parametrize("provider", profile_names())
def test_no_word_of_a_rule_is_taken_by_a_rule_before_it(provider: str) -> None:
    rules = load(provider).rules
    general = set(load("custom").rules)
    for expected, error, status in words(rules):
        if expected in general and provider != "custom":
            continue  # its own rules come first on purpose
        headers = {name: value.replace("*", "1") for name, value in expected.header}
        assert matching_rule(load(provider), status, headers, error) is expected, (expected, error)
