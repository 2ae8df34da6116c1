"""A free-form reply and the one option it chooses.

Extraction is pure and total: any text, any length, never an exception, never a guess. A letter is
returned only where a rule of the table finds it chosen; several that stand are `ambiguous`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.extraction.normalise import normalise, same_alphabet, without_markup
from m3ke_async.extraction.policies import indicators
from m3ke_async.extraction.reader import Context, default_reader, is_negative
from m3ke_async.extraction.reasoning import without_reasoning
from m3ke_async.extraction.rules import RULES_VERSION
from m3ke_async.request import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["POLICIES", "RULES_VERSION", "Choice", "extract_choice"]

#: The names that `policy` may take, the default first.
POLICIES = ("careful", "strict", "first", "last")

_REFUSAL = re.compile(
    r"抱歉|对不起|无法(?:回答|提供|确定|判断|给出|作答|理解)|不能(?:回答|提供|判断|确定)|请(?:您)?提供|建议修改后|暂不支持|不便回答|不予回答|"
    r"作为一[个名]?(?:ai|人工智能|语言模型)|i(?:'m| am) sorry|"
    r"i (?:cannot|can't|"
    r"am unable|do not have)|as an ai|unable to (?:answer|provide|determine)|please provide",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reply chooses.

    Attributes:
        letter: 'A' to 'D', or None.
        outcome: answered, ambiguous, unparsed, refused or truncated.
        rule: id of the rule that decided, None where none did.
        span: where in the original reply the choice stands, end exclusive.
    """

    letter: str | None
    outcome: Outcome
    rule: str | None = None
    span: tuple[int, int] | None = None


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
    """
    if policy != "careful":
        return _by_indicator(reply, policy)
    normal = normalise(reply)
    speech = without_reasoning(normal.text)
    if not speech.finished or (reasoning and not reply.strip()):
        return Choice(None, Outcome.TRUNCATED)
    texts = {letter: without_markup(same_alphabet(text)).strip() for letter, text in (options or {}).items()}
    asked = same_alphabet(question or "")
    context = Context(texts, asked, is_negative(asked), "\n".join([asked, *texts.values()]))
    pick = default_reader().read(speech.text, context)
    if len(pick.letters) == 1 and pick.letters in "ABCD":
        return Choice(pick.letters, Outcome.ANSWERED, pick.rule, normal.span(pick.start, pick.end))
    if finish_reason == "length":
        return Choice(None, Outcome.TRUNCATED)
    if len(pick.letters) > 1:
        return Choice(None, Outcome.AMBIGUOUS, pick.rule or None)
    if _REFUSAL.search(speech.text):
        return Choice(None, Outcome.REFUSED)
    return Choice(None, Outcome.UNPARSED)


def _by_indicator(reply: str, policy: str) -> Choice:
    if policy not in POLICIES:
        raise UsageError(f"there is no policy {policy!r}; take one of {', '.join(POLICIES)}")
    normal = same_alphabet(reply)
    found = indicators(normal, policy)
    if found is None:
        return Choice(None, Outcome.UNPARSED)
    return Choice(found[0], Outcome.ANSWERED, policy, found.span())
