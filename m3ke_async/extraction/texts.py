"""Where a reply gives an option's text or place instead of its letter."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from m3ke_async.extraction.mentions import LETTERS, Mention, joined
from m3ke_async.extraction.patterns import Pattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SIGNS = frozenset("+-/.%√<>=≤≥^")
_NUMBERS = {
    "一": 0,
    "二": 1,
    "三": 2,
    "四": 3,
    "1": 0,
    "2": 1,
    "3": 2,
    "4": 3,
    "first": 0,
    "second": 1,
    "third": 2,
}
_NUMBERS |= {
    "fourth": 3,
    "one": 0,
    "two": 1,
    "three": 2,
    "four": 3,
    "1st": 0,
    "2nd": 1,
    "3rd": 2,
    "4th": 3,
    "last": -1,
    "final": -1,
    "最后": -1,
    "首": 0,
}
#: The most places at which one option's text is looked for in a reply.
_MOST = 64
_SPLIT = Pattern(r"[0-9.]{2}|[a-z]{2}")
#: The longest reply in which what tells an option from the others may stand for it.
_SHORT = 60
_ARTICLE = Pattern(r"\A\s{0,3}(?:the|an?)\s(?=[a-z])", re.IGNORECASE)
_PLACE = Pattern(
    r"(倒数)?第\s?([一二三四1-4])\s?(?:[个项条种]|个?选项|个?答案)(?:选项|答案|说法|选择)?(?!字母|字符|数|人|年|次|步|句|词)"
    r"|(最后|首)一?[个项](?:选项|答案|说法|选择)?(?!字母|字符|数|人|步|句|词)"
    r"|选项\s?([一二三四1-4])(?!\d)"
    r"|(?:the\s)?\b(first|second|third|fourth|last|final|1st|2nd|3rd|4th)"
    r"(?:\s(?:option|choice|answer|one|statement)\b(?!:)|(?=\W{0,3}\Z))"
    r"|\b(?:option|choice|answer)\s(?:number\s|no\.?\s?|#)?(one|two|three|four|[1-4])\b(?![\d.])",
    re.IGNORECASE,
)


def compact(text: str) -> tuple[str, list[int]]:
    """The text in small letters without spaces and punctuation, and where each character stood."""
    kept: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char.isalnum() or char in "%√" or (char in _SIGNS and text[place + 1 : place + 2].strip()):
            kept.append(char.lower()[:1])
            places.append(place)
    return "".join(kept), places


class OptionTexts:
    """The options' texts, made ready to be found in replies.

    Attributes:
        question: the question's compact text.
        dense: compact text by letter; options that are equal or empty are left out.
        stems: by letter, the number or word that alone tells an option from the others, where all
            else is the same in all of them.
    """

    def __init__(self, options: Mapping[str, str], question: str = "") -> None:
        self.question = compact(question)[0]
        dense = {letter: compact(_ARTICLE.sub("", text, count=1))[0] for letter, text in options.items()}
        texts = list(dense.values())
        self.dense = {letter: text for letter, text in dense.items() if text and texts.count(text) == 1}
        self._doubled = {text: text for text in texts if text and texts.count(text) > 1}
        self.stems = _stems(self.dense) if len(self.dense) == len(options) else {}

    def find(
        self, text: str, letters: Sequence[Mention], *, texts: bool = True, places: bool = True
    ) -> list[Mention]:
        """The mentions by letter and, where none of them stands, those by the option's text or place."""
        claims = _Claims(text, letters)
        if texts:
            self._claim_texts(text, claims)
        for place in _PLACE.finditer(text) if places else ():
            number = next(group for group in place.groups()[1:] if group)
            index = _NUMBERS[number.lower()]
            claims.claim(*place.span(), LETTERS[-1 - index if place[1] else index])
        apart = [mention for mention in claims.found if not self._is_asked(mention)]
        return joined(text, sorted(apart if len(apart) > len(letters) else claims.found))

    def _claim_texts(self, text: str, claims: _Claims) -> None:
        dense, places = compact(text)
        for needles in ({**self.dense, **self._doubled}, self.stems if len(text) < _SHORT else {}):
            stems = needles is self.stems
            for letter, needle in sorted(needles.items(), key=lambda item: -len(item[1])):
                at = dense.find(needle)
                for _ in range(_MOST):
                    if at < 0:
                        break
                    end = at + len(needle)
                    if not (stems and needle.isdigit() and self._is_of_else(dense[end : end + 1])):
                        claims.claim(places[at], places[end - 1] + 1, letter)
                    at = dense.find(needle, at + len(needle))

    def _is_of_else(self, after: str) -> bool:
        """Whether the number before this counts something else than the options do."""
        return "\u4e00" <= after <= "\u9fff" and not any(after in text for text in self.dense.values())

    def _is_asked(self, mention: Mention) -> bool:
        """Whether it is a text that the question itself holds, so that any reply may repeat it."""
        return not mention.lettered and self.dense.get(mention.letters, " ") in self.question


class _Claims:
    """Mentions of which none overlaps another."""

    def __init__(self, text: str, letters: Sequence[Mention]) -> None:
        self.found = list(letters)
        self._text = text
        self._taken = bytearray(len(text))
        for mention in letters:
            self._taken[mention.start : mention.end] = b"1" * (mention.end - mention.start)

    def claim(self, start: int, end: int, letter: str) -> None:
        """Note a mention unless the stretch is taken or part of a longer number or word."""
        if self._taken.find(b"1", start, end) >= 0 or not _apart(self._text, start, end):
            return
        self._taken[start:end] = b"1" * (end - start)
        if letter not in LETTERS:
            return  # a text that two options share
        opens = self._text[max(0, start - 16) : start].rstrip(" -*•·>#\t")[-1:] in {"", "\n"}
        self.found.append(Mention(start, end, letter, (start, end), opens, opens, told=True, lettered=False))


def _stems(dense: Mapping[str, str]) -> dict[str, str]:
    """What is left of each option without the beginning and the end that all share."""
    texts = list(dense.values())
    if len(texts) < 3:
        return {}
    before = _shared(texts)
    while before and _SPLIT.match(texts[0], before - 1):
        before -= 1
    backwards = [text[before:][::-1] for text in texts]
    after = _shared(backwards)
    while after and _SPLIT.match(backwards[0], after - 1):
        after -= 1
    if before + after < 1:
        return {}
    stems = {letter: text[before : len(text) - after] for letter, text in dense.items()}
    return {letter: stem for letter, stem in stems.items() if stem.isdigit() or len(stem) > 1}


def _shared(texts: Sequence[str]) -> int:
    """How many characters all of them begin with."""
    return next(
        (place for place, chars in enumerate(zip(*texts, strict=False)) if len(set(chars)) > 1),
        min(len(text) for text in texts),
    )


#: An operator before or after a number: the number is a part of a calculation and not its result.
_OPERATOR_BEFORE = Pattern(r"[×÷*+^/]\s?\Z")
_OPERATOR_AFTER = Pattern(r"\s?(?:[×÷*+^=](?!=|>)|[-/]\s?\d)")


def _apart(text: str, start: int, end: int) -> bool:
    """Whether the stretch is no part of a longer number, word or calculation."""
    first, last = text[start], text[end - 1]
    before, after = text[start - 1 : start], text[end : end + 1]
    if (last.isdigit() or last == "%") and _OPERATOR_AFTER.match(text, end):
        return False
    if first.isdigit() and _OPERATOR_BEFORE.search(text, max(0, start - 2), start):
        return False
    if first.isascii() and first.isalnum() and before:
        if before.isascii() and before.isalnum():
            return False
        if before in ".-/" and text[start - 2 : start - 1].isdigit():
            return False
    if last.isascii() and last.isalnum() and after:
        if after.isascii() and after.isalnum():
            return after == "s" and last.isalpha() and not text[end + 1 : end + 2].isalnum()
        return not (after in "./" and text[end + 1 : end + 2].isdigit())
    return True


def answers_question(text: str, mentions: Sequence[Mention], question: str) -> Mention | None:
    """The only mention whose clause says the question's own words, as an answer in a whole sentence does."""
    dense = compact(question)[0]
    asked = _TOKEN.findall(dense)
    runs = {tuple(asked[place : place + _RUN]) for place in range(len(asked) - _RUN + 1)}
    if not runs:
        return None
    best: dict[str, int] = {}
    found: dict[str, Mention] = {}
    for mention in mentions:
        before = _CLAUSE_BEFORE.search(text, max(0, mention.start - 40), mention.start)
        after = _CLAUSE.match(text, mention.end)
        sides = [compact(side[0])[0] for side in (before, after) if side]
        if any(denies(side, dense) for side in sides):
            continue
        said = [_TOKEN.findall(side) for side in sides]
        if (before and _repeats(said[0][-_RUN - 1 :], runs)) or (after and _repeats(said[-1], runs)):
            found[mention.letters] = mention
            shared = len(set(asked).intersection(token for side in said for token in side))
            best[mention.letters] = max(best.get(mention.letters, 0), shared)
    most = [letters for letters, shared in best.items() if shared == max(best.values())]
    return found[most[0]] if len(most) == 1 and len(most[0]) == 1 else None


def _repeats(said: Sequence[str], runs: set[tuple[str, ...]]) -> bool:
    """Whether the words hold one of the runs."""
    return any(tuple(said[place : place + _RUN]) in runs for place in range(len(said) - _RUN + 1))


_CLAUSE = Pattern(r"[^。！!？?\n；;，,]{1,40}")
_CLAUSE_BEFORE = Pattern(r"[^。！!？?\n；;，,]{1,40}\Z")
#: How many words or characters in a row make a repetition of the question.
_RUN = 4


def is_weak(text: str) -> bool:
    """Whether an option's text is so short that it may stand in a reply by chance."""
    return len(text) < 2 or all(char.isdigit() or char in "./%+-()" for char in text)


_SENTENCE = Pattern(r"[^。！!？?\n；;]{1,240}")
_CONCLUDES = Pattern(r"答案|因此|所以|故|综上|应|可见|therefore|answer|thus|hence|\bso\b", re.IGNORECASE)
_DENIES = Pattern(r"[不非没无未].?|not|n't")
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
    said = _features(compact(chosen[0])[0])
    wanted = {letter: _features(option) for letter, option in options.dense.items()}
    meant = [
        letter
        for letter, own in wanted.items()
        if len(own) > 2
        and _share(own, said, pairs=True) >= _ENOUGH
        and all(_beats(own, other, said) for name, other in wanted.items() if name != letter)
    ]
    if len(meant) != 1 or (
        denies(compact(chosen[0])[0], options.question) and not _DENIES.search(options.dense[meant[0]])
    ):
        return None
    return meant[0], *chosen.span()


def denies(said: str, known: str) -> bool:
    """Whether something is denied in other words than those that are known."""
    return any(found not in known for found in _DENIES.findall(said))


_TOKEN = Pattern(r"\d+(?:\.\d+)?|[a-z]+|[^\W\da-z_]")


def _features(dense: str) -> frozenset[str]:
    """Numbers, Latin words and Chinese characters, alone and in pairs."""
    tokens = _TOKEN.findall(dense)
    return frozenset(tokens).union(first + " " + second for first, second in pairwise(tokens))


def _share(own: frozenset[str], said: frozenset[str], *, pairs: bool) -> float:
    wanted = [feature for feature in own if (" " in feature) == pairs]
    return sum(feature in said for feature in wanted) / len(wanted) if wanted else 0.0


def _beats(own: frozenset[str], other: frozenset[str], said: frozenset[str]) -> bool:
    mine = _share(own - other, said, pairs=False)
    theirs = _share(other - own, said, pairs=False)
    return mine >= _ENOUGH and theirs <= mine - _ENOUGH
