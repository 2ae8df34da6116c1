"""Numbers in any writing, with their units: 16周岁 and 十六周岁, 3/5, 0.6, 60% and 五分之三."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.patterns import Pattern

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_DIGITS = dict(zip("〇零一二两三四五六七八九", (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_POWERS = {"十": 10, "百": 100, "千": 1000}
_GROUPS = {"万": 10**4, "亿": 10**8}
_CHINESE = "〇零一二两三四五六七八九十百千万亿"
_NUMBER = r"\d{1,3}(?:[,，]\d{3}){1,4}(?![\d])|\d{1,15}(?:\.\d{1,9})?"
_AMOUNT = Pattern(
    rf"(?<![\d./^A-Za-z_{_CHINESE}第-])(?P<sign>[-−])?(?:(?P<whole>[{_CHINESE}]{{1,12}})分之(?P<part>[{_CHINESE}]{{1,12}})"
    rf"|(?P<over>{_NUMBER})\s{{0,8}}/\s{{0,8}}(?P<under>\d{{1,9}})(?![\d.])"
    rf"|(?P<number>{_NUMBER})(?P<group>[万亿]?)|(?P<chinese>[{_CHINESE}]{{1,12}}))(?P<percent>\s?%)?"
    r"(?P<end>)\s?(?P<unit>[\u4e00-\u9fffa-z°/]{0,6})",
)
_SIGNS = {
    "千米": "km",
    "公里": "km",
    "厘米": "cm",
    "毫米": "mm",
    "毫升": "ml",
    "千克": "kg",
    "公斤": "kg",
    "小时": "h",
    "分钟": "min",
    "摄氏度": "℃",
    "周岁": "岁",
    "个月": "月",
    "米": "m",
    "克": "g",
    "升": "l",
    "秒": "s",
    "牛": "n",
}
_UNIT_WORDS = Pattern("|".join(_SIGNS))
#: The longest unit that an option's number may have.
_UNIT = 4


class Amount(NamedTuple):
    """A number and what it counts.

    Attributes:
        value: the number; a percentage as its hundredths.
        unit: the letters right after it, of which the first may be a unit.
        start: where it begins.
        end: where the number itself ends.
    """

    value: Fraction
    unit: str
    start: int
    end: int


def amounts(text: str) -> Iterator[Amount]:
    """The numbers of a text in small letters; 一 alone is as often an article."""
    for found in _AMOUNT.finditer(text):
        value = _value(found)
        if value is not None and found["chinese"] != "一":
            yield _made(found, value)


def amount(text: str) -> Amount | None:
    """The number that the whole text is, if it is one with at most a short unit."""
    found = _AMOUNT.fullmatch(text)
    value = _value(found) if found and len(found["unit"]) <= _UNIT else None
    return _made(found, value) if found and value is not None else None


def _made(found: re.Match[str], value: Fraction) -> Amount:
    unit = _UNIT_WORDS.sub(lambda word: _SIGNS[word[0]], found["unit"])
    return Amount(value, unit, found.start(), found.start("end"))


def _value(found: re.Match[str]) -> Fraction | None:
    if found["whole"]:
        under, over = _read(found["whole"]), _read(found["part"])
        value = Fraction(over, under) if under and over is not None else None
    elif found["over"]:
        under = int(found["under"])
        value = Fraction(found["over"].replace(",", "").replace("，", "")) / under if under else None
    elif found["number"]:
        value = Fraction(found["number"].replace(",", "").replace("，", "")) * _GROUPS.get(found["group"], 1)
    else:
        whole = _read(found["chinese"])
        value = Fraction(whole) if whole is not None else None
    if value is None:
        return None
    value = value / 100 if found["percent"] else value
    return -value if found["sign"] else value


def _read(text: str) -> int | None:
    """A whole number in Chinese characters, in words (十六) or digit by digit (一九四九)."""
    if not any(char in _POWERS or char in _GROUPS for char in text):
        return int("".join(str(_DIGITS[char]) for char in text))
    total = section = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _POWERS:
            section += (digit or 1) * _POWERS[char]
            digit = 0
        else:
            total = (total + section + digit) * _GROUPS[char]
            section = digit = 0
    return total + section + digit
