"""Where a reply gives an option's text or place instead of its letter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from m3ke_async.extraction.mentions import Mention, joined

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
}
_ARTICLE = re.compile(r"\s{0,3}(?:the|an?)\s(?=[a-z])", re.IGNORECASE)
_PLACE = re.compile(
    r"(倒数)?第\s?([一二三四1-4])\s?(?:[个项条种]|个?选项|个?答案)(?:选项|答案|说法|选择)?(?!字母|字符|数|人|年|次|步|句|词)"
    r"|(最后)一?[个项](?:选项|答案|说法|选择)?(?!字母|字符|数|人|步|句|词)"
    r"|选项\s?([一二三四1-4])(?!\d)"
    r"|(?:the\s)?\b(first|second|third|fourth|last|1st|2nd|3rd|4th)\s(?:option|choice|answer|one|statement)\b"
    r"|\b(?:option|choice|answer)\s(?:number\s|no\.?\s?|#)?(one|two|three|four|[1-4])\b(?![\d.])",
    re.IGNORECASE,
)


def compact(text: str) -> tuple[str, list[int]]:
    """The text in small letters without spaces and punctuation, and where each character stood."""
    kept: list[str] = []
    places: list[int] = []
    article = _ARTICLE.match(text)
    for place, char in enumerate(text[article.end() :] if article else text, article.end() if article else 0):
        if char.isalnum() or (char in _SIGNS and text[place + 1 : place + 2].isalnum()) or char in "%√":
            kept.append(char.lower()[:1])
            places.append(place)
    return "".join(kept), places


def find_texts(text: str, letters: Sequence[Mention], options: Mapping[str, str]) -> list[Mention]:
    """The mentions by letter and, where none of them stands, those by the option's text or place."""
    taken = [(mention.start, mention.end) for mention in letters]
    found: list[Mention] = list(letters)

    def claim(start: int, end: int, letter: str) -> None:
        if all(end <= first or start >= last for first, last in taken):
            taken.append((start, end))
            opens = text[:start].rstrip(" -*•·>#\t")[-1:] in {"", "\n"}
            found.append(Mention(start, end, letter, (start, end), opens, opens, told=True))

    dense, places = compact(text)
    wanted = [(compact(option)[0], letter) for letter, option in options.items()]
    counts = [option for option, _ in wanted]
    for option, letter in sorted(wanted, key=lambda item: -len(item[0])):
        if not option or counts.count(option) > 1:
            continue
        at = dense.find(option)
        while at >= 0:
            start, end = places[at], places[at + len(option) - 1] + 1
            if _apart(text, start, end):
                claim(start, end, letter)
            at = dense.find(option, at + len(option))
    for place in _PLACE.finditer(text):
        backwards, number = place[1], next(group for group in place.groups()[1:] if group)
        index = -1 if number == "最后" else _NUMBERS[number.lower()]
        if backwards:
            index = -1 - index
        claim(*place.span(), "ABCD"[index])
    found.sort(key=lambda mention: mention.start)
    return joined(text, found)


def _apart(text: str, start: int, end: int) -> bool:
    """Whether the stretch is no part of a longer number or word."""
    if text[start].isascii() and text[start].isalnum() and start:
        before = text[start - 1]
        if (before.isascii() and before.isalnum()) or (
            before in ".-/" and start > 1 and text[start - 2].isdigit()
        ):
            return False
    if text[end - 1].isascii() and text[end - 1].isalnum():
        after = text[end : end + 1]
        if after.isascii() and after.isalnum():
            return False
        if after in {".", "/"} and text[end + 1 : end + 2].isdigit():
            return False
    return True
