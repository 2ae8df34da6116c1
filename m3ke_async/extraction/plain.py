"""The replies that most models give most of the time: a letter, its option's text, an answer label before it.

They need no reading. What is returned for them is what the rules return; the tests hold the two together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.extraction.decide import Pick
from m3ke_async.extraction.patterns import Pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN = Pattern(
    r"\s{0,4}(?:(?P<zh>(?:正确|最终)?答案(?:是|为)?[:：]?\s?)"
    r"|(?P<en>(?:[Tt]he )?(?:correct |final )?[Aa]nswer(?: is|:) ))?"
    r"(?P<letter>[A-D])(?:(?:[.、]\s?|[:：])(?P<text>\w{2,64}))?[.。]?\s{0,4}\Z"
)
#: The longest reply that is tried.
_LONGEST = 120


def plain(reply: str, options: Mapping[str, str] | None) -> Pick | None:
    """The choice of a reply that is nothing but a letter, an answer label and the option's own text."""
    found = _PLAIN.match(reply) if len(reply) <= _LONGEST else None
    if found is None:
        return None
    letter, text = found["letter"], found["text"]
    if options and (letter not in options or (text and text != options[letter])):
        return None
    if text and not (options and text.isalnum()):
        return None
    rule = "zh-answer" if found["zh"] else "en-answer" if found["en"] else "whole"
    return Pick(letter, rule, *found.span("letter"))
