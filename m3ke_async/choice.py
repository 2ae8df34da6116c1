"""A free-form reply and the one option it chooses.

Extraction is pure and total: any text, any length, never an exception, never a guess. A letter is
returned only where a rule of the table finds it chosen; several that stand are `ambiguous`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.extraction.asked import Asked
from m3ke_async.extraction.mentions import LETTERS
from m3ke_async.extraction.normalise import (
    bold_ticked,
    invisible,
    is_plain,
    same_alphabet,
    struck_out,
    without_markup,
)
from m3ke_async.extraction.original import without
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.plain import plain
from m3ke_async.extraction.policies import indicators
from m3ke_async.extraction.reader import default_reader
from m3ke_async.extraction.reasoning import thoughts
from m3ke_async.extraction.table import RULES_VERSION
from m3ke_async.request import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.extraction.original import Cuts

__all__ = ["POLICIES", "RULES_VERSION", "Choice", "extract_choice"]

#: The names that `policy` may take, the default first.
POLICIES = ("careful", "strict", "first", "last")

#: What is read of a longer reply: its first and its last characters.
_HEAD, _TAIL = 4_000, 8_000
_REFUSAL = Pattern(
    r"抱歉|对不起|无法(?:回答|提供|确定|判断|给出|作答|理解)|不能(?:回答|提供|判断|确定)|请(?:您)?提供|建议修改后|暂不支持|不便回答|不予回答|"
    r"作为一[个名]?(?:ai|人工智能|语言模型)|i(?:'m| am) sorry|"
    r"i (?:cannot|can't|"
    r"am unable|do not have)|as an ai|unable to (?:answer|provide|determine)|please provide",
    re.IGNORECASE,
)
#: The end of a reply that stops within a sentence.
_BROKEN_OFF = (
    *("因此", "所以", "综上", "但", "但是", "而", "而且", "和", "与", "及", "、", "：", ":", "(", "（", "“"),
    *("《", " so", " therefore", " thus", " and", " but", " because"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reply chooses.

    Attributes:
        letter: 'A' to 'D', or None.
        outcome: answered, ambiguous, unparsed, refused or truncated.
        rule: id of the rule that decided, None where none did.
        span: where in the original reply the choice stands, end exclusive: the letter, the option's text, or
            the last option ruled out where the one that is left is chosen.
        rules_version: of the rules that decided, or found nothing.
    """

    letter: str | None
    outcome: Outcome
    rule: str | None = None
    span: tuple[int, int] | None = None
    rules_version: str = RULES_VERSION


def extract_choice(
    reply: str,
    options: Mapping[str, str] | None = None,
    question: str | None = None,
    finish_reason: str | None = None,
    reasoning: str | None = None,
    *,
    policy: str = "careful",
) -> Choice:
    """The option that the reply chooses.

    Args:
        reply: what the model wrote, thoughts in tags included.
        options: text by letter.
        question: the question's text, read for its polarity and its own names.
        finish_reason: the provider's word; `length` turns a missing choice into `truncated`.
        reasoning: thoughts that came in a field of their own; never read for a letter.
        policy: one of `POLICIES`.

    Raises:
        UsageError: there is no such policy.
    """
    if policy != "careful":
        return _by_indicator(reply, policy)
    pick = plain(reply, options) if finish_reason != "length" else None
    if pick is not None:
        return Choice(pick.letters, Outcome.ANSWERED, pick.rule, (pick.start, pick.end))
    return read_in_full(reply, options, question, finish_reason, reasoning)


def read_in_full(
    reply: str,
    options: Mapping[str, str] | None,
    question: str | None,
    finish_reason: str | None,
    reasoning: str | None,
) -> Choice:
    """The option that the reply chooses, by all the rules; see `extract_choice`."""
    found = _legible(reply, reasoning)
    if found is None:
        return Choice(None, Outcome.TRUNCATED)
    text, ways = found
    complete = finish_reason != "length" and not text[-16:].rstrip(" \n,，").lower().endswith(_BROKEN_OFF)
    pick = default_reader().read(text, Asked(question, options), complete=complete)
    if len(pick.letters) == 1 and pick.letters in (options or LETTERS):
        start, last = pick.start, pick.end - 1
        for way in ways:
            start, last = way.origin(start), way.origin(last)
        return Choice(pick.letters, Outcome.ANSWERED, pick.rule, (start, last + 1))
    if finish_reason == "length":
        return Choice(None, Outcome.TRUNCATED)
    if len(pick.letters) > 1:
        return Choice(None, Outcome.AMBIGUOUS, pick.rule or None)
    if _REFUSAL.search(text):
        return Choice(None, Outcome.REFUSED)
    return Choice(None, Outcome.UNPARSED)


def _legible(reply: str, reasoning: str | None) -> tuple[str, list[Cuts]] | None:
    """What the reply says beside its thoughts, in one alphabet, and the ways back; None if it only thinks."""
    if len(reply) <= _HEAD + _TAIL and is_plain(reply):
        return None if reasoning and not reply.strip() else (reply, [])
    hidden, unfinished = thoughts(reply)
    said, cuts = without(reply, hidden, mark="\n")
    if unfinished or ((hidden or reasoning) and not said.strip()):
        return None
    middle = [(_HEAD, len(said) - _TAIL)] if len(said) > _HEAD + _TAIL else []
    read, skipped = without(said, middle, mark="\n")
    read = struck_out(bold_ticked(read))
    seen, unseen = without(read, invisible(read))
    return without_markup(same_alphabet(seen)), [way for way in (unseen, skipped, cuts) if way.places]


def _by_indicator(reply: str, policy: str) -> Choice:
    if policy not in POLICIES:
        raise UsageError(f"there is no policy {policy!r}; take one of {', '.join(POLICIES)}")
    normal = same_alphabet(reply)
    found = indicators(normal, policy)
    if found is None:
        return Choice(None, Outcome.UNPARSED)
    return Choice(found[0], Outcome.ANSWERED, policy, found.span())
