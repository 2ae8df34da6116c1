"""Rules that tell one error answer from another; the data is in `providers/*.toml`.

The same words mean "wait" at one provider and "pay" at another, so a rule belongs to a
provider file; what holds for most of them is in `providers/_general.toml`. Rules about
words are asked before rules about the status alone, because words say more; among
equals the provider's own come first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Kind(StrEnum):
    """What went wrong; stable names, stored with failed questions."""

    BAD_KEY = "bad_key"
    FORBIDDEN = "forbidden"
    NO_MONEY = "no_money"
    NO_MONEY_MAYBE = "no_money_maybe"  # words that mean "pay" at some providers and "wait" at others
    DAILY_LIMIT = "daily_limit"
    NO_MODEL = "no_model"
    WRONG_ADDRESS = "wrong_address"
    BAD_PARAMETER = "bad_parameter"
    TLS = "tls"
    ENGINE_DEAD = "engine_dead"
    TOO_LONG = "too_long"
    BAD_REQUEST = "bad_request"
    EMPTY = "empty"
    TOOL_CALL = "tool_call"
    ONLY_REASONING = "only_reasoning"
    NOT_TEXT = "not_text"
    UNEXPECTED = "unexpected"
    FILTERED = "filtered"
    RATE_LIMIT = "rate_limit"
    OVERLOAD = "overload"
    LOADING = "loading"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    UNREACHABLE = "unreachable"
    LOCAL_LIMIT = "local_limit"
    MALFORMED = "malformed"
    NO_CHOICES = "no_choices"
    WEB_PAGE = "web_page"


class Certainty(StrEnum):
    """How well a fact is known."""

    MEASURED = "measured"  # seen on the real server
    VERIFIED = "verified"  # read in the provider's documentation or source
    SECONDARY = "secondary"  # read in other people's code or notes
    RECALLED = "recalled"  # general knowledge, not looked up


@dataclass(frozen=True, slots=True)
class Rule:
    """If all conditions hold, the answer is of this kind. An empty condition always holds.

    Attributes:
        kind: what the answer means.
        status: HTTP statuses, any of them.
        code: short names in the body (code, type, status, reason), any of them; lower case,
            `*` stands for any characters. An answer without an error of its own has one of
            the names `no_choices`, `empty`, `tool_call`, `only_reasoning`, `not_text`, `malformed`,
            `web_page`.
        text: parts of the message, any of them; lower case.
        param: parameters that the body names, any of them; `*` as above.
        header: header names and values, all of them; `*` as above.
        advice: what to do next, where it differs from the usual advice for this kind.
        certainty: how well this is known.
        source: where it was read.
    """

    kind: Kind
    status: frozenset[int] = frozenset()
    code: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    param: tuple[str, ...] = ()
    header: tuple[tuple[str, str], ...] = ()
    advice: str | None = None
    certainty: Certainty = Certainty.RECALLED
    source: str | None = None

    @property
    def by_status_alone(self) -> bool:
        """Whether nothing but the status is asked for."""
        return not (self.code or self.text or self.param or self.header)

    def matches(
        self, *, status: int, codes: Sequence[str], text: str, param: str | None, headers: Mapping[str, str]
    ) -> bool:
        """Whether all conditions hold; `codes`, `text`, `param` and the header names in lower case."""
        return (
            (not self.status or status in self.status)
            and (not self.code or any(_fits(code, self.code) for code in codes))
            and (not self.text or any(part in text for part in self.text))
            and (not self.param or (param is not None and _fits(param, self.param)))
            and all(name in headers and _fits(headers[name], (value,)) for name, value in self.header)
        )

    def covers(self, later: Rule) -> bool:
        """Whether this rule, asked earlier, leaves nothing for `later` to match, whatever the status."""
        return (
            _cover(self.code, later.code)
            and (not self.text or (bool(later.text) and all(_within(part, self.text) for part in later.text)))
            and _cover(self.param, later.param)
            and all(condition in later.header for condition in self.header)
        )


def covering_rules(later: Rule, earlier: Sequence[Rule]) -> tuple[Rule, ...]:
    """The earlier rules that together leave nothing for `later` to match; none where something is left."""
    found: list[Rule] = []
    for words in _single_words(later):
        left, anything = later.status, not later.status
        for rule in earlier:
            reached = not rule.status or bool(left & rule.status)
            if reached and rule.covers(words):
                found.append(rule)
                left, anything = left - (rule.status or left), anything and bool(rule.status)
            if not (left or anything):
                break
        else:
            return ()
    return tuple(dict.fromkeys(found))


def _single_words(rule: Rule) -> Iterator[Rule]:
    """The rule once for each choice of one word a condition."""
    for code, text, param in product(*(words or (None,) for words in (rule.code, rule.text, rule.param))):
        yield replace(rule, code=_one(code), text=_one(text), param=_one(param))


def _one(word: str | None) -> tuple[str, ...]:
    return () if word is None else (word,)


def _fits(word: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(word, pattern) for pattern in patterns)


def _within(part: str, earlier: tuple[str, ...]) -> bool:
    return any(shorter in part for shorter in earlier)


def _cover(earlier: tuple[str, ...], later: tuple[str, ...]) -> bool:
    # A pattern is taken as a word here: what fits `a*` includes `ab*`.
    return not earlier or (bool(later) and all(_fits(pattern, earlier) for pattern in later))


def in_order(own: Sequence[Rule], general: Sequence[Rule]) -> tuple[Rule, ...]:
    """The order in which rules are asked: words before status, own before general."""
    rules = (*own, *general)
    return (
        *(rule for rule in rules if not rule.by_status_alone),
        *(rule for rule in rules if rule.by_status_alone),
    )
