"""Where a reply gives an option in other words, or in part."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.relevance import DENIES, denies
from m3ke_async.extraction.texts import compact, words

if TYPE_CHECKING:
    from m3ke_async.extraction.relevance import Stem
    from m3ke_async.extraction.texts import OptionTexts


_SENTENCE = Pattern(r"[^。！!？?\n；;]{1,240}")
_CONCLUDES = Pattern(
    r"答案|因此|所以|故|综上|应|可见|总之|根据[以上]上|[正准]确的[是为]|符合[^，。]{1,6}的[是为]|therefore|answer|thus|hence|\bso\b",
    re.IGNORECASE,
)
#: The least share of an option's pairs of characters that a sentence must hold to mean the option.
_ENOUGH = 0.5


def near(text: str, options: OptionTexts) -> tuple[str, int, int] | None:
    """The option that the reply's last conclusion gives in other words, and where that stands.

    An option is meant if half of its pairs of characters are there and, against each other option,
    more of what only it says is there than of what only the other says.
    """
    sentences = [found for found in _SENTENCE.finditer(text) if found[0].strip()]
    if not sentences or len(options.dense) < 3:
        return None
    concluding = [found for found in sentences if _CONCLUDES.search(found[0])]
    chosen = concluding[-1] if concluding else sentences[0] if len(sentences) < 3 else None
    if chosen is None:
        return None
    said = _features(chosen[0])
    wanted = {letter: _features(options.plain[letter]) for letter in options.dense}
    meant = [
        letter
        for letter, own in wanted.items()
        if len(own) > 8
        and all(feature in said for feature in own if feature.isdecimal())
        and _share(own, said, pairs=True) >= _ENOUGH
        and all(_beats(own, other, said) for name, other in wanted.items() if name != letter)
    ]
    if len(meant) != 1:
        return None
    denied = DENIES.search(options.plain[meant[0]]) is not None
    if denied != (DENIES.search(chosen[0].lower()) is not None) and (
        denied or denies(chosen[0].lower(), options.asked)
    ):
        return None
    return meant[0], *chosen.span()


_LABEL = Pattern(r"\s{0,3}(?:(?:正确)?答案|answer)?\s?(?:是|为|is)?[\s:：]{0,3}", re.IGNORECASE)
#: The longest reply that may be a part of an option and nothing else.
_SHORT = 80


def part(text: str, options: OptionTexts, stem: Stem) -> tuple[str, int, int] | None:
    """The one option of whose text the reply gives a good part as its answer, and where that stands.

    The answer is the whole reply, what goes on with the question's last words, or the last conclusion.
    """
    if len(text) < _SHORT:
        label = _LABEL.match(text)
        letter = _partial(text[label.end() if label else 0 :].strip(" 。.\n"), options)
        if letter:
            return letter, 0, len(text)
    lead = stem.lead
    place = text.lower().find(lead) if len(lead) >= _LEAST else -1
    answer = _COMPLETES.match(text, place + len(lead)) if place >= 0 else None
    answer = answer or _CONCLUSION.search(text, max(0, len(text) - _SHORT))
    letter = _partial(answer[1], options, whole=True) if answer else None
    if answer and letter:
        return letter, *answer.span(1)
    last = _LAST_CLAUSE.search(text, max(0, len(text) - _SHORT))
    meant = [name for name, own in options.dense.items() if last and _shortens(last[1], own)]
    close = last and len(meant) == 1 and _MOST_OF * len(options.dense[meant[0]]) <= len(last[1])
    return (meant[0], *last.span(1)) if last and close else None


def _partial(said: str, options: OptionTexts, *, whole: bool = False) -> str | None:
    """The one option whose text holds what is said, or shortens to it; `whole` if that is an answer."""
    dense = compact(said)
    if len(dense) == 1 and not whole:
        return _first_of_two(dense, options)
    if len(dense) < (1 if whole else 2) or not _WHOLE_WORDS.fullmatch(said):
        return None
    holding = [letter for letter, option in options.dense.items() if dense in option]
    if len(holding) == 1:
        option = options.dense[holding[0]]
        return holding[0] if len(dense) * (5 if option.startswith(dense) else 3) >= len(option) else None
    short = [letter for letter, option in options.dense.items() if _shortens(dense, option)]
    return short[0] if not holding and len(short) == 1 else None


def _first_of_two(char: str, options: OptionTexts) -> str | None:
    """The one option of two Chinese characters that the first of them, which is the whole reply, shortens."""
    own = [letter for letter, option in options.dense.items() if option[0] == char]
    short = own and len(options.dense[own[0]]) == len(char) + 1 and "\u4e00" <= char <= "\u9fff"
    return own[0] if short and len(own) == 1 else None


def _shortens(short: str, option: str) -> bool:
    """Whether the option's characters hold those of the short form in order, the first at the start."""
    if (
        len(short) <= _SHORTEST
        or short.isdecimal()
        or short[0] != option[0]
        or _denials(short) != _denials(option)
    ):
        return False
    if len(option) < len(short) <= len(option) + 2:  # 五四爱国运动 for 五四运动
        return short[-1] == option[-1] and _in_order(option, short)
    return _in_order(short, option)


def _denials(said: str) -> int:
    return sum(said.count(char) for char in "不非没无未")


def _in_order(chars: str, text: str) -> bool:
    rest = iter(text)
    return all(char in rest for char in chars)


#: How few characters the question's last words and a short form may have.
_LEAST, _SHORTEST = 3, 3
_COMPLETES = Pattern(
    r"\W{0,3}(?:应该?|应当|就|则|主要)?(?:是|为|叫做?|称为|属于|[:：=])[\s“《\"'（(]{0,3}([^，。,.;；、\n（(）)”》\"]{1,24})"
)
#: The last clause of a reply, if it draws a conclusion.
_CONCLUSION = Pattern(
    r"(?:故|因此|所以|综上|考虑|可见)[^，,。；;\n]{0,8}?(?:是|为|选|考虑)([^，。,.;；、\n是为选]{2,24})[。.]?\s{0,4}\Z"
)
#: The last clause of a reply, and the share of an option that it must hold to shorten it.
_LAST_CLAUSE = Pattern(r"[，,。]([\u4e00-\u9fff]{5,24})[。.]?\s{0,4}\Z")
_MOST_OF = 0.6
#: A few characters of Chinese, or Latin words of which none is too short.
_WHOLE_WORDS = Pattern(
    r"[\u4e00-\u9fff]{1,24}|[A-Za-z]{4,24}(?:\s[A-Za-z]{2,24}){0,3}|[\u4e00-\u9fffA-Za-z0-9=]{3,24}"
)


def alike(text: str, options: OptionTexts) -> dict[str, float]:
    """By letter, the share of an option's words that the text holds."""
    said = frozenset(words(text))
    return {letter: _share(frozenset(words(own)), said, pairs=False) for letter, own in options.plain.items()}


def _features(text: str) -> frozenset[str]:
    """The words of a text, alone and in pairs."""
    tokens = words(text)
    return frozenset(tokens).union(first + " " + second for first, second in pairwise(tokens))


def _share(own: frozenset[str], said: frozenset[str], *, pairs: bool) -> float:
    wanted = [feature for feature in own if (" " in feature) == pairs]
    return sum(feature in said for feature in wanted) / len(wanted) if wanted else 0.0


def _beats(own: frozenset[str], other: frozenset[str], said: frozenset[str]) -> bool:
    mine = _share(own - other, said, pairs=False)
    theirs = _share(other - own, said, pairs=False)
    return mine >= _ENOUGH and theirs <= mine - _ENOUGH
