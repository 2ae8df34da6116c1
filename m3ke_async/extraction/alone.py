"""Whether the only option that a reply names is meant, and not one of the things that it speaks of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from m3ke_async.extraction.decide import NOTHING, Pick, picked
from m3ke_async.extraction.hedges import is_meant_otherwise
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.polarity import RIGHT
from m3ke_async.extraction.relevance import is_bare, is_beside, is_listed, speaks_of
from m3ke_async.extraction.texts import is_weak

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.asked import Asked
    from m3ke_async.extraction.mentions import Mention

#: The longest reply in which a bare letter, without brackets or words, is not a name of some quantity.
_SHORT = 80
#: Before a bare number: it is a result; the signs that also serve on the way count at the end only.
_RESULT = Pattern(r"(?:\A|[是为：:得约]|等于)\Z")
_LAST_RESULT = Pattern(
    r"(?:\A|\n|[是为于：:得约=到有共≈（({]|\\approx|\b(?:is|be|at|equals?|to|about|get|gives?|have|answer))\Z",
    re.IGNORECASE,
)
#: The beginning of a sentence; a reply that ends on an option's name there has only begun to speak of it.
_NEW = Pattern(r"[。.]\s?\Z")
#: What a reply says that means the option that is wrong, or not of a kind.
_AGAINST = Pattern(r"[不非没无未错误]|\bnot\b|n't\b|\b(?:false|wrong|incorrect|except)\b", re.IGNORECASE)
_SENTENCE = Pattern(r"[^。！!\n]{0,200}")
#: In a reply longer than this, an option's text counts only this near to the beginning or the end.
_LONG, _EDGE = 200, 80
#: After an option that the reply only begins to speak of.
_TOPIC = Pattern(r"\s?[:：,，]")
#: Before the only letter of a reply: it is looked at, and not chosen.
_LOOKS_AT = Pattern(
    r"(?:看|分析|关于|根据|不在|考虑|提到|判断|优于|胜过|劣于|逊于"
    r"|consider|look(?:ing)? at|about|analy[sz]e|examine|check|moving (?:on|over) to"
    r"|turn to|(?:begin|start) with)\s?(?:the\s)?\Z",
    re.IGNORECASE,
)
#: After the only letter of a reply: a question back, or a heading without its text.
_ASKING = Pattern(r"[^。！!\n]{0,12}[吗呢?？]|中|里|提到|[:：]\s{0,4}\Z")


def only(text: str, mentions: Sequence[Mention], letter: str, asked: Asked) -> Pick:
    """The only option that a reply names, or names without ruling it out, if it is meant."""
    own = [mention for mention in mentions if mention.letters == letter]
    fullest = max(own, key=lambda mention: (mention.end - mention.start, mention.start), default=None)
    alone = fullest is not None and _is_alone(text, fullest, asked)
    return picked(letter, "single", own[0]) if alone else NOTHING


def _is_alone(text: str, mention: Mention, asked: Asked) -> bool:
    """Whether the only option named can be meant: a bare number or letter only at the end of a reply."""
    if text[mention.start - 1 : mention.start] in {"非", "不", "未"}:
        return False
    lacks = not mention.lettered and text.endswith(("没", "没有"), 0, mention.start)  # what may be asked for
    if not lacks and is_meant_otherwise(text, mention.start):
        return False
    if not mention.lettered:
        return _is_text_alone(text, mention, asked)
    if (
        mention.worded
        and not mention.told
        and not text[mention.end :].strip()
        and _NEW.search(text[: mention.start])
    ):
        return False
    if mention.start and not mention.told:
        begins_list = mention.letters == "A" and mention.heading and mention.opens
        if begins_list or (mention.worded and _TOPIC.match(text, mention.end)):
            return False
    if _LOOKS_AT.search(text, max(0, mention.start - 24), mention.start):
        return False
    plain = not (mention.heading or mention.worded or mention.told or mention.start < mention.core[0])
    if (
        plain
        and (len(text) > _SHORT or mention.letters in asked.own_letters)
        and text.strip() != mention.letters
    ):
        return False
    return _ASKING.match(text, mention.end) is None


def _is_text_alone(text: str, mention: Mention, asked: Asked) -> bool:
    """Whether the only option named, by its text, can be meant; a bare number counts as a result only."""
    option = asked.texts.dense.get(mention.letters, "")
    if not (is_weak(option) and is_weak(text[mention.start : mention.end])):
        return _is_meant(text, mention, asked)
    result = _LAST_RESULT if len(text.rstrip()) - mention.end < 6 else _RESULT
    before = text[max(0, mention.start - 24) : mention.start].rstrip(" ")
    if _ASKING.match(text, mention.end):
        return False
    return result.search(before) is not None or asked.says_before(before)


def _is_meant(text: str, mention: Mention, asked: Asked) -> bool:
    """Whether the only option's text in a reply is its answer, and not one of the things it speaks of."""
    size = len(text.strip())
    if is_beside(text, mention, asked.stem):
        return False
    if 2 * (mention.end - mention.start) > size or is_bare(text, mention, asked):
        return True
    if asked.all_of_them or is_listed(text, mention) or asked.texts.is_repeated(text, mention):
        return False
    if asked.stem.lead and re.search(
        rf"(?:而|至于){re.escape(asked.stem.lead)}", text[mention.end :].lower()
    ):
        return False
    if size > _LONG and mention.start > _EDGE and mention.end < len(text.rstrip()) - _EDGE:
        return False
    if asked.asks is not RIGHT:
        start = max(text.rfind(end, 0, mention.start) for end in "。！!\n") + 1
        rest = _SENTENCE.match(text, mention.end)
        return _AGAINST.search(text[start : mention.start] + "\n" + (rest[0] if rest else "")) is not None
    return not asked.question or speaks_of(text, mention, asked.stem)
