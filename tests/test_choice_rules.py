"""Every rule of the table decides its example, leaves its counter-example, and is needed."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from m3ke_async.extraction.asked import Asked
from m3ke_async.extraction.mentions import find_letters, shape
from m3ke_async.extraction.normalise import same_alphabet, without_markup
from m3ke_async.extraction.reader import Reader
from m3ke_async.extraction.rules import Cued, Place, Rule, Says, placed
from m3ke_async.extraction.table import RULES, RULES_VERSION

if TYPE_CHECKING:
    from m3ke_async.extraction.decide import Pick

FULL = Reader(RULES)


def read(reader: Reader, reply: str, rule: Rule) -> Pick:
    text = without_markup(same_alphabet(reply))
    options = dict(zip("ABCD", rule.options, strict=True))
    return reader.read(text, Asked(rule.question, options), complete=True)


def lacking(rule: Rule) -> Reader:
    return Reader([other for other in RULES if other is not rule])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_needed_for_its_example(rule: Rule) -> None:
    assert read(FULL, rule.example, rule).letters != read(lacking(rule), rule.example, rule).letters


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_leaves_its_counter_example_alone(rule: Rule) -> None:
    assert read(FULL, rule.counter, rule)[:2] == read(lacking(rule), rule.counter, rule)[:2]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_an_example_chooses_one_option(rule: Rule) -> None:
    assert read(FULL, rule.example, rule).letters in (["AB"] if rule.says is Says.ALSO else ["B"])


def test_names_are_unique_and_stable_ids() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)
    assert RULES_VERSION.isdecimal()


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.place is not Place.NOWHERE], ids=lambda rule: rule.name
)
def test_a_pattern_repeats_without_bound_only_single_characters(rule: Rule) -> None:
    unbounded = re.findall(r"\)[*+]|\)\{\d+,\}", rule.pattern)
    assert len(unbounded) <= 1
    assert not re.search(r"[*+}]\)[*+]", rule.pattern)


@pytest.mark.parametrize("place", [Place.BEFORE, Place.AFTER])
@pytest.mark.parametrize("latin", [False, True])
def test_rules_read_by_cue_are_found_where_trying_each_of_them_finds_them(place: Place, latin: bool) -> None:
    rules = placed(RULES, place, latin=latin)
    cued = Cued(rules, words=latin)
    edge = r"(?<!\w)" if latin else ""
    patterns = [(rule.name, re.compile(edge + rule.pattern)) for rule in rules]

    def tried(form: str) -> list[tuple[int, str]]:
        found = ([(at, name) for name, own in patterns if own.match(form, at)] for at in range(len(form)))
        return next(filter(None, found), [])

    for reply in chain.from_iterable((rule.example, rule.counter) for rule in RULES):
        text = without_markup(same_alphabet(reply))
        form = shape(text, find_letters(text, Asked(None, None))).text
        hits = cued.leftmost(form, 0, len(form))
        assert [(hit.start, hit.rule.name) for hit in hits] == tried(form)
