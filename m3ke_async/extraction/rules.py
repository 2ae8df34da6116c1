"""What a rule is, and how a table of rules is made ready to read with.

Rules read the shape of a reply: lower case, markup overwritten, every mention of options one mark. In
their patterns `@` is a mention, `§` one that holds its option's text, `¶` a letter with its text, and `¤`
a letter with a word for option. A
rule opens with one of its cues, plain words, and goes on with a bounded pattern; nothing repeats inside
a repetition, so reading takes linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.patterns import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The marks of a mention in a shape: a letter alone, with its option's text, the text alone, and a letter
#: with a word for option.
BARE, TOLD, TEXT, WORDED = "\ue000", "\ue001", "\ue002", "\ue004"
MENTION = BARE + TOLD + TEXT + WORDED


class Tier(IntEnum):
    """Which rules are asked first."""

    WHOLE = 1  # the reply holds nothing but letters
    STATEMENT = 2  # an explicit statement, or letter and separator at the start
    VERDICT = 3  # options asserted, denied, eliminated
    TEXT = 4  # the option's text or place instead of its letter
    SINGLE = 5  # a single option in all
    NEAR = 6  # an option's text in other words


class Says(StrEnum):
    """What a match says about the options that it names."""

    ANSWER = "answer"  # this is the answer
    LIKELY = "likely"  # the same, in words that also serve on the way to it
    ALSO = "also"  # this is the answer beside the one before
    ONLY = "only"  # this one, unlike the others, is what follows
    BUT = "but"  # all but this one are what follows
    REJECT = "reject"  # this is not the answer
    TRUE = "true"  # this is right
    FALSE = "false"  # this is wrong
    HOLDS = "holds"  # this is, does, belongs to what the question names
    FAILS = "fails"  # this is not
    TICK = "tick"  # this is marked
    CROSS = "cross"  # this is marked as out
    UNSURE = "unsure"  # a statement that its own clause takes back
    SUM = "sum"  # a reading of all that the others found


# By themselves, for a member takes longer to look up on its class than many a pattern does to search.
ANSWER, LIKELY, ALSO, ONLY, BUT, REJECT, TRUE, FALSE, HOLDS, FAILS, TICK, CROSS, UNSURE, SUM = Says


class Place(StrEnum):
    """Where a rule is read."""

    WHOLE = "whole"  # over the whole shape
    START = "start"  # from the start of a stretch
    BEFORE = "before"  # up to a mention
    AFTER = "after"  # in the words after a mention
    NOWHERE = "nowhere"  # it weighs what the others found


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which replies speak of options.

    Attributes:
        name: stable id, stored with every choice.
        tier: which rules are asked first.
        place: where it is read.
        says: what a match says.
        catches: what it is for.
        cues: words that open it, with | between them; empty for rules that are not read by cue.
        then: the pattern that goes on from the cue.
        example: a reply that it must decide.
        counter: a reply near the example that it must not decide.
        options: the options that example and counter-example answer.
        question: the question that they answer.
        reach: for `Place.AFTER`, the most characters between the mention and the cue.
        of_question: the words that follow must be the question's own, or point at them.
    """

    name: str
    tier: Tier
    place: Place
    says: Says
    catches: str
    cues: str
    then: str
    example: str
    counter: str
    options: tuple[str, str, str, str] = ("上海", "北京", "广州", "西安")
    question: str = "中华人民共和国的首都是"
    reach: int = 0
    of_question: bool = False

    @property
    def pattern(self) -> str:
        """The regular expression, with the marks in place of @ and §."""
        return self.starting(self.cues.split("|"))

    def starting(self, cues: Sequence[str]) -> str:
        """The regular expression for some of the cues."""
        return f"(?:{'|'.join(cues)}){_marked(self.then)}"


def _marked(pattern: str) -> str:
    pattern = pattern.replace("@]", f"{MENTION}]").replace("@", f"[{MENTION}]")
    return pattern.replace("§", f"[{TOLD}{TEXT}]").replace("¶", TOLD).replace("¤", WORDED)


class Hit(NamedTuple):
    """Where a rule matched."""

    rule: Rule
    start: int
    end: int


class Cued:
    """Rules read by cue: only where a cue stands, and only those that have one with its first character."""

    def __init__(self, rules: Iterable[Rule], *, words: bool = False) -> None:
        """Prepare the rules; `words` are Latin cues, which begin at the edge of a word."""
        self._own: dict[str, list[tuple[Rule, Pattern]]] = {}
        rests: dict[str, list[str]] = {}
        for rule in rules:
            pattern = Pattern(rule.pattern)
            cues: dict[str, list[str]] = {}
            for cue in rule.cues.split("|"):
                plain = cue.removeprefix("\\")
                cues.setdefault(plain[0], []).append(plain[1:])
            for first, own in cues.items():
                self._own.setdefault(first, []).append((rule, pattern))
                # a cue of one character stands everywhere, so what must follow it is looked for with it
                rests.setdefault(first, []).append(rule.starting(own) if "" in own else "|".join(own))
        edge = r"(?<!\w.)" if words else ""
        # each begins with a plain character, so that all else is passed over at once, and ends there
        cued = "|".join(f"{re.escape(first)}{edge}(?={'|'.join(own)})" for first, own in rests.items())
        self._cue = Pattern(cued or "(?!)")

    def leftmost(self, text: str, start: int, end: int) -> list[Hit]:
        """All matches that begin at the leftmost place between the two, in the table's order."""
        while found := self._cue.search(text, start, end):
            place = found.start()
            hits = [
                Hit(rule, place, own.end())
                for rule, pattern in self._own[text[place]]
                if (own := pattern.match(text, place, end))
            ]
            if hits:
                return hits
            start = place + 1
        return []


def placed(rules: Sequence[Rule], place: Place, *, latin: bool | None = None) -> list[Rule]:
    """The rules that are read at a place; `latin` picks those whose cues are Latin words, or are not."""
    return [
        rule
        for rule in rules
        if rule.place is place and (latin is None or latin == ("a" <= rule.cues[:1] <= "z"))
    ]
