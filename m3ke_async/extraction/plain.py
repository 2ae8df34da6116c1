"""The replies that most models give most of the time: a letter, its option's text, words of answer before it.

They need no reading. What is returned for them is what the rules return; the tests hold the two together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.extraction.decide import Pick
from m3ke_async.extraction.noise import LETTERS
from m3ke_async.extraction.patterns import Pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

#: By the rule that decides, the words before the letter.
_WORDS = {
    "zh-answer": r"【?(?:正确|最终)?答案】?(?:是|为)?[:：]?\s?",
    "en-answer": r"(?:[Tt]he )?(?:correct |final )?[Aa]nswer(?: is|:) ",
    "zh-conclude": r"(?:故|因此|所以|本题|应)选择?",
    "zh-chosen": r"我?选择?",
}
_PLAIN = Pattern(
    rf"\s{{0,4}}(?:\*\*)?(?:{'|'.join(f'({words})' for words in _WORDS.values())}|(?:选项)?)(?:\*\*)?"
    r"(?:(?P<letter>[A-D])|[(（](?P<bracketed>[A-D])[)）])"
    r"(?:(?:[.、]\s?|[:：]|(?<=[)）])\s?)(?P<text>[\w，、“”（）·]{2,64}))?(?:\*\*)?[。.]?(?:\*\*)?\s{0,4}\Z"
)
#: The longest reply that is tried.
_LONGEST = 120


def plain(reply: str, options: Mapping[str, str] | None) -> Pick | None:
    """The choice of a reply that is nothing but a letter, words of answer and the option's own text."""
    found = _PLAIN.match(reply) if len(reply) <= _LONGEST else None
    if found is None:
        return None
    name = "letter" if found["letter"] else "bracketed"
    letter, text = found[name], found["text"]
    if letter not in (options or LETTERS) or (text and not (options and text == options[letter])):
        return None
    rule = next((rule for rule, said in zip(_WORDS, found.groups(), strict=False) if said), "whole")
    return Pick(letter, rule, *found.span(name))
