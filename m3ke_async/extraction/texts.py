"""Where a reply gives an option's text or place instead of its letter."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING

from m3ke_async.extraction.lazy import lazy
from m3ke_async.extraction.mentions import LETTERS, OPENS, Mention, joined
from m3ke_async.extraction.patterns import Pattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from m3ke_async.extraction.amounts import Amount

#: What a compact text drops: all but letters, figures, and signs that stand before something.
_DROPPED = Pattern(r"[\W_](?<![%√∞∪∩∅])(?:(?<![+\-/.<>=≤≥])|(?!\S))")
#: Raised figures, and words for "and", of which any may stand for another.
_EXCHANGED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉和及", "01234567890123456789与与")
#: A number of a row, in any writing.
_IN_ROW = Pattern(r"第\s?([①②③④⑤⑥⑦⑧⑨]|[一二三四五六七八九](?![十百千]))")
_FIGURES = str.maketrans("①②③④⑤⑥⑦⑧⑨一二三四五六七八九", "123456789123456789")
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
    "末": -1,
}
#: The most places at which an option's text, a place or a number is looked for in a reply.
_MOST = 64
_SPLIT = Pattern(r"[0-9.]{2}|[a-z]{2}")
_LATIN = Pattern("[a-z]{3}")
_NUMERIC = Pattern(
    "[0-9〇零一二两三四五六七八九十百千万亿]|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twe|teen"
)
#: What may follow a number and is no unit of it.
_NO_UNITS = "都也是不和与或为的等均皆对错而则"
#: The longest reply in which what tells an option from the others may stand for it.
_SHORT = 60
_ARTICLE = Pattern(r"\s{0,3}(?:the|an?)\s(?=[a-z])", re.IGNORECASE)
_PLACE = Pattern(
    r"(倒数第|第)\s?([一二三四1-4])\s?(?:[个项条种]|个?选项|个?答案)(?:选项|答案|说法|选择)?(?!字母|字符|数|人|年|次|步|句|词)"
    r"|(最后|首|末)一?[个项](?:选项|答案|说法|选择)?(?!字母|字符|数|人|步|句|词)"
    r"|选项\s?([一二三四1-4])(?!\d)|(?:列|排|放|写)在?第\s?([一二三四1-4])[位个项]"
)
#: A number in a circle where only an option's can stand.
_CIRCLED = Pattern(r"(?:选|答案(?:是|为)?[:：]?|\A)\s?([①②③④])(?:(?<!\A.)|(?=[。.]?\s{0,3}\Z))(?![①-⑳、])")
#: Several places in a row: 前三项, 后两个选项.
_PLACES = Pattern(r"([前后])([两二三23])[个项者条种句](?:选项|说法|表述|描述|叙述)?")
_LATIN_PLACE = Pattern(
    r"()(?:\bthe\s)?\b(first|second|third|fourth|last|1st|2nd|3rd|4th)"
    r"\s(?:option|choice|answer|one|statement)\b(?!:)|\b(final)\s(?:option|one)\b(?!:)"
    r"|(?:\A|\bthe\s|\bis\s|[:：]\s?)(first|second|third|fourth|last|1st|2nd|3rd|4th)(?=\W{0,3}\Z)"
    r"|\b(?:option|choice|answer)\s(?:number\s|no\.?\s?|#)?(one|two|three|four|[1-4])\b(?![\d.])"
)


def compact(text: str) -> str:
    """The text in small letters without spaces and punctuation."""
    return _dense(text).lower()


def _dense(text: str) -> str:
    if "第" in text:
        text = _IN_ROW.sub(lambda found: found[0].translate(_FIGURES), text)
    dense = _DROPPED.sub("", text)
    return dense if dense.isascii() else dense.translate(_EXCHANGED)


def _without_article(text: str) -> str:
    found = _ARTICLE.match(text)
    return text[found.end() :] if found else text


class _Places:
    """Where each character of the compact text stood."""

    def __init__(self, text: str) -> None:
        dropped = (found.start() for found in _DROPPED.finditer(text))
        self._kept_before = [place - count for count, place in enumerate(dropped)]

    def __getitem__(self, at: int) -> int:
        """Where the character at a place of the compact text stood."""
        return at + bisect_right(self._kept_before, at)


_TOKEN = Pattern(r"\d+(?:\.\d+)?|[a-z]+|[^\W\da-z_]")


def words(text: str) -> list[str]:
    """Numbers, Latin words without the ending of the plural, and Chinese characters."""
    return [
        token[:-1] if token[-1] == "s" and len(token) > 3 else token for token in _TOKEN.findall(text.lower())
    ]


class OptionTexts:
    """The options' texts, made ready to be found in replies.

    Attributes:
        asked: the question's text in small letters.
        plain: each option's text in small letters.
        dense: compact text by letter, in its own case where that alone tells two options apart; options
            that are equal or empty are left out.
    """

    def __init__(self, options: Mapping[str, str], question: str = "") -> None:
        self.asked = question.lower()
        self.plain = {letter: text.lower() for letter, text in options.items()}
        dense = {letter: _dense(_without_article(text)) for letter, text in options.items()}
        low = {letter: text.lower() for letter, text in dense.items()}
        self._cased = dense != low and len(set(low.values())) < len(set(dense.values()))
        dense = dense if self._cased else low
        texts = list(dense.values())
        self.dense = {letter: text for letter, text in dense.items() if text and texts.count(text) == 1}
        self._doubled = {text: text for text in texts if text and texts.count(text) > 1}

    @lazy
    def question(self) -> str:
        """The question's compact text."""
        return compact(self.asked)

    @lazy
    def stems(self) -> dict[str, str]:
        """By letter, the number or word that alone tells an option from the others."""
        return _stems(self.dense) if len(self.dense) == len(self.plain) else {}

    def find(
        self, text: str, letters: Sequence[Mention], *, texts: bool = True, places: bool = True
    ) -> list[Mention]:
        """The mentions by letter and, where none of them stands, those by the option's text or place."""
        claims = _Claims(text, letters)
        if texts:
            self._claim_texts(text, claims)
            if self._amounts:
                self._claim_amounts(text, claims)
        if places:
            self._claim_places(text.lower(), claims)
        apart = [mention for mention in claims.found if not self.is_repeated(text, mention)]
        return joined(text, sorted(apart if len(apart) > len(letters) else claims.found))

    def _claim_texts(self, text: str, claims: _Claims) -> None:
        dense = _dense(text) if self._cased else compact(text)
        places: _Places | None = None
        for stems in (False, True) if len(text) < _SHORT and not self._have_signs else (False,):
            needles = self.stems if stems else {**self.dense, **self._doubled}
            for letter, needle in sorted(needles.items(), key=lambda item: -len(item[1])):
                at = dense.find(needle)
                for _ in range(_MOST):
                    if at < 0:
                        break
                    places = places or _Places(text)
                    end = at + len(needle)
                    start, last = places[at], places[end - 1] + 1
                    of_else = stems and needle.isdigit() and self._is_of_else(dense[end : end + 1])
                    if not of_else and not (self._is_number(letter) and _joins_numbers(text[start:last])):
                        claims.claim(start, last, letter)
                    at = dense.find(needle, at + len(needle))

    def _claim_places(self, text: str, claims: _Claims) -> None:
        for pattern in (_PLACE, _LATIN_PLACE) if _LATIN.search(text) else (_PLACE,):
            for place in islice(pattern.finditer(text), _MOST):
                if place[0] not in self.asked:
                    index = _NUMBERS[next(group for group in place.groups()[1:] if group)]
                    backwards = place[1] and place[1][0] == "倒"
                    claims.claim(*place.span(), LETTERS[-1 - index if backwards else index])
        for place in islice(_CIRCLED.finditer(text), _MOST):
            if self._is_circle_free:
                claims.claim(*place.span(1), LETTERS[ord(place[1]) - ord("①")])
        for row in islice(_PLACES.finditer(text), _MOST):
            if row[0] not in self.asked:
                size = 3 if row[2] in "三3" else 2
                claims.claim(*row.span(), LETTERS[:size] if row[1] == "前" else LETTERS[-size:])

    @lazy
    def _is_circle_free(self) -> bool:
        """Whether neither the question nor an option holds a number in a circle."""
        return "①" not in self.asked + "".join(self.plain.values())

    @lazy
    def _amounts(self) -> dict[str, Amount]:
        """By letter, the number that each option is; empty unless all are and differ."""
        if not all(map(_NUMERIC.search, self.plain.values())):
            return {}
        from m3ke_async.extraction.amounts import amount

        found = {letter: own for letter, text in self.plain.items() if (own := amount(text.strip(" .。{}$")))}
        different = {(own.value, own.until, own.unit) for own in found.values()}
        return found if len(different) == len(self.plain) > 1 else {}

    @lazy
    def _have_signs(self) -> bool:
        """Whether the options are numbers with units of Latin letters, which no other number stands for."""
        return any(own.unit.isascii() for own in self._amounts.values())

    def _claim_amounts(self, text: str, claims: _Claims) -> None:
        from m3ke_async.extraction.amounts import named

        for start, end, letter in islice(named(text.lower(), self._amounts), _MOST):
            claims.claim(start, end, letter)

    def _is_number(self, letter: str) -> bool:
        """Whether the option is a whole number and nothing else."""
        return letter in self.plain and self.plain[letter].strip(" .。").isdecimal()

    def _is_of_else(self, after: str) -> bool:
        """Whether the number before this counts something else than the options do."""
        counts = ("\u4e00" <= after <= "\u9fff" and after not in _NO_UNITS) or after == "%"
        return counts and not any(after in text for text in self.dense.values())

    def is_asked(self, mention: Mention) -> bool:
        """Whether it is a text that the question itself holds, so that any reply may repeat it."""
        text = self.dense.get(mention.letters, " ")
        return not mention.lettered and not is_weak(text) and text in self.question

    def is_repeated(self, text: str, mention: Mention) -> bool:
        """Whether the question holds it with the words beside it, so that the reply only repeats them."""
        if not self.is_asked(mention):
            return False
        around = (
            compact(text[max(0, mention.start - 4) : mention.end]),
            compact(text[mention.start : mention.end + 4]),
        )
        own = len(self.dense.get(mention.letters, ""))
        return any(len(said) > own and said in self.question for said in around)


#: What may enclose an option's text, and belongs to it then.
_QUOTES = {"《": "》", "“": "”", "‘": "’", "「": "」", "『": "』", "【": "】", '"': '"'}


#: A number with a mark between its thousands.
_GROUPED = Pattern(r"\d{1,3}(?:[,，\s]\d{3})+")


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
        if end < len(self._text) and _QUOTES.get(self._text[start - 1 : start]) == self._text[end]:
            start, end = start - 1, end + 1
        self._taken[start:end] = b"1" * (end - start)
        if letter not in LETTERS:
            return  # a text that two options share
        line = OPENS.search(self._text, max(0, start - 16), start)
        if line is not None and self._taken.find(b"1", line.start(1), start) >= 0:
            line = None  # what looks like the number of a list is an option
        opens, first = line is not None, line.start(1) if line else start
        self.found.append(Mention(first, end, letter, (start, end), opens, opens, told=True, lettered=False))


def _joins_numbers(said: str) -> bool:
    """Whether several numbers stand there and no single one: 1, 1, but not 1,000."""
    return not said.isdecimal() and _GROUPED.fullmatch(said) is None


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


#: A sign or an operator beside a number: it is another one, or a part of a calculation and not its result.
_SIGN_BEFORE = Pattern(r"(?:(?:[×÷*+^/]|[a-zA-Z]\s?→)\s?|(?:\A|[\s是为=≈:：(（得])[-−])\Z")
_OPERATOR_AFTER = Pattern(
    r"[\s}]{0,2}(?:[×÷*+^=](?!=|>)|-\s?(?:\d|[a-z](?![a-z]))|/\s?(?:[\dπ(]|[a-z](?![a-z])))|\((?=[\da-z])|\)(?=[a-z])"
)


def _apart(text: str, start: int, end: int) -> bool:
    """Whether the stretch is no part of a longer number, word or calculation."""
    first, last = text[start], text[end - 1]
    before, after = text[start - 1 : start], text[end : end + 1]
    if (last.isdigit() or last == "%" or first.isdigit()) and _OPERATOR_AFTER.match(text, end):
        return False
    if end - start == 1 and first in {before, after} and not first.isascii():
        return False  # 上上 is no 上
    if first.isdigit() and _SIGN_BEFORE.search(text, max(0, start - 4), start):
        return False
    if first.isascii() and first.isalnum() and before:
        if before.isascii() and before.isalnum():
            return False
        if before in ".-/" and text[start - 2 : start - 1].isdigit():
            return False
    if last.isascii() and last.isalnum() and after:
        if after in "⁰¹²³⁴⁵⁶⁷⁸⁹^":
            return False
        if after.isascii() and after.isalnum():
            return after == "s" and last.isalpha() and not text[end + 1 : end + 2].isalnum()
        return not (after in "./" and text[end + 1 : end + 2].isdigit())
    return True


def is_weak(text: str) -> bool:
    """Whether an option's text is so short that it may stand in a reply by chance."""
    return len(text) < 2 or all(char.isdigit() or char in "./%+-()" for char in text)
