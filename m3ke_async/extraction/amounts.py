"""Numbers in any writing, with their units: 16岁 and 十六岁, 3/5, 0.6, 60% and 五分之三, 3~5 and 三至五."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.patterns import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DIGITS = dict(zip("〇零一二两三四五六七八九", (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_POWERS = {"十": 10, "百": 100, "千": 1000}
_GROUPS = {"万": 10**4, "亿": 10**8}
_IN_ORDER = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty"
)
_WORDS = _IN_ORDER.split()
_CHINESE = "〇零一二两三四五六七八九十百千万亿"
_NUMBER = r"\d{1,3}(?:[,，]\d{3}){1,4}(?![\d])|\d{1,15}(?:\.\d{1,9})?"
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
#: What makes a number one of many figures: ×10^8, ×10⁸.
_POWER = (
    r"(?:\s?(?:[×x·]|\\times)\s?10|\s10|(?P<bare>(?<=10)(?<!\d10)))"
    r"\s?(?:\^\s?\{?\s?(?P<power>[-−]?\d{1,2})\s?\}?|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}))"
)
_LETTER = r"[\u4e00-\u9fffa-z°℃℉/²³^]|(?<=[a-z^])[23](?!\d)"
_AMOUNT = Pattern(
    rf"(?<![\d./^A-Za-z_{_CHINESE}第-])(?P<sign>[-−]|零下|负)?"
    rf"(?:(?P<whole>[{_CHINESE}]{{1,12}})分之(?P<part>[{_CHINESE}]{{1,12}})"
    rf"|(?P<over>{_NUMBER})\s{{0,8}}/\s{{0,8}}(?P<under>\d{{1,9}})(?![\d.])"
    rf"|(?P<number>{_NUMBER})(?P<group>[万亿]?)(?:{_POWER})?|(?P<chinese>[{_CHINESE}]{{1,12}})"
    rf"|(?P<word>{'|'.join(_WORDS)})(?![a-z]))(?P<percent>\s?%)?"
    rf"(?P<end>)[ {{]{{0,12}}(?:[(（](?=[^()（）]{{1,6}}[)）]))?(?P<unit>(?:{_LETTER}){{0,8}})"
)
_SIDE = rf"[-−]?(?:\d{{1,9}}(?:\.\d{{1,6}})?|[{_CHINESE}]{{1,8}})\s?%?"
#: From one number to another.
_RANGE = Pattern(
    rf"(?<![\d./^A-Za-z_{_CHINESE}第-])(?P<first>{_SIDE})"
    r"\s?(?:[\u4e00-\u9fff°℃]c?|[a-z]{1,3})??[\u4e00-\u9fff]?\s?(?:[~～–—-]{1,2}|[至到]|to\b)"
    rf"\s?(?P<last>{_SIDE})(?!\d|\.\d)(?P<end>)[ {{]{{0,12}}(?P<unit>(?:{_LETTER}){{0,8}})"
)
_LENGTHS = {"千米": "km", "公里": "km", "分米": "dm", "厘米": "cm", "毫米": "mm", "米": "m"}
_SIGNS = {
    **{f"平方{word}": f"{sign}2" for word, sign in _LENGTHS.items()},
    **{f"立方{word}": f"{sign}3" for word, sign in _LENGTHS.items()},
    **_LENGTHS,
    "毫升": "ml",
    "千克": "kg",
    "公斤": "kg",
    "小时": "h",
    "分钟": "min",
    "摄氏度": "°",
    "℃": "°",
    "°c": "°",
    "°f": "℉",
    "华氏度": "℉",
    "度": "°",
    "周岁": "岁",
    "个月": "月",
    "克": "g",
    "升": "l",
    "秒": "s",
    "牛顿": "n",
    "牛": "n",
    "千瓦": "kw",
    "瓦特": "w",
    "瓦": "w",
    "毫安": "ma",
    "安培": "a",
    "安": "a",
    "伏特": "v",
    "伏": "v",
    "欧姆": "ω",
    "欧": "ω",
    "赫兹": "hz",
    "赫": "hz",
    "焦耳": "j",
    "焦": "j",
    "帕": "pa",
    "吨": "t",
    "每": "/",
    "²": "2",
    "³": "3",
    "^": "",
}
_UNIT_WORDS = Pattern("|".join(map(re.escape, _SIGNS)))
#: The longest unit that an option's number may have.
_UNIT = 4
#: The most numbers of a text that are read.
_MOST = 256
#: After a unit's sign: it is another unit's.
_IN_UNIT = Pattern(r"[23/a-z]")
_PER = Pattern(r"/[a-z\u4e00-\u9fff]")


class Amount(NamedTuple):
    """A number and what it counts.

    Attributes:
        value: the number; a percentage as its hundredths.
        unit: the letters right after it, of which the first may be a unit.
        start: where it begins.
        end: where the number itself ends.
        tail: all that stands from there to the end of the unit.
        until: the other end of a range, None for a number.
        percent: it is written with a sign of percent.
    """

    value: Fraction
    unit: str
    start: int
    end: int
    tail: str = ""
    until: Fraction | None = None
    percent: bool = False

    def end_with(self, unit: str) -> int | None:
        """Where it ends if it counts what an option with this unit does, or nothing told, else None."""
        if not unit or not self.unit:
            return self.end
        rest = self.unit.removeprefix(unit)
        if len(rest) == len(self.unit) or (unit.isascii() and _IN_UNIT.match(rest)):
            return None
        size = next(
            (size for size in range(len(self.tail)) if _sign(self.tail[:size]) == unit), len(self.tail)
        )
        per = _PER.match(self.tail, size)
        return self.end + (per.end() if per else size)

    def may_stand_for(self, option: Amount) -> bool:
        """Whether it is the option's number, in any writing; but a whole number is no percentage."""
        same = (self.value, self.until) == (option.value, option.until)
        return same and (self.percent or not option.percent or self.value.denominator > 1)


def named(text: str, options: Mapping[str, Amount]) -> Iterator[tuple[int, int, str]]:
    """Where a text in small letters gives the number of one option alone, and its letter.

    Where options are ranges, those of the text that are none of them come without a letter, so that no number
    is read out of them.
    """
    ranged = any(option.until is not None for option in options.values())
    for found in chain(ranges(text), amounts(text)) if ranged else amounts(text):
        ends = {
            letter: end
            for letter, option in options.items()
            if found.may_stand_for(option) and (end := found.end_with(option.unit)) is not None
        }
        if len(ends) == 1:
            ((letter, end),) = ends.items()
            yield found.start, end, letter
        elif found.until is not None:
            yield found.start, found.end, ""


def amounts(text: str) -> Iterator[Amount]:
    """The numbers of a text in small letters; 一 alone is as often an article."""
    found = _AMOUNT.search(text)
    for _ in range(_MOST):
        if found is None:
            return
        value = _value(found)
        if value is not None and found["chinese"] != "一" and found["word"] != "one":
            yield _made(found, value)
        # what looks like a unit may hold the next number: 十四周岁不满十六周岁
        found = _AMOUNT.search(text, found.end("end"))


def ranges(text: str) -> Iterator[Amount]:
    """What goes from one number to another in a text in small letters."""
    for found in islice(_RANGE.finditer(text), _MOST):
        made = _ranged(found)
        if made is not None:
            yield made


def amount(text: str) -> Amount | None:
    """The number or range that the whole text is, if it is one with at most a short unit."""
    found = _RANGE.fullmatch(text)
    made = _ranged(found) if found else None
    if made is None and (found := _AMOUNT.fullmatch(text)):
        value = _value(found)
        made = _made(found, value) if value is not None else None
    return made if made and (len(made.unit) <= _UNIT or "/" in made.unit) else None


def _ranged(found: re.Match[str]) -> Amount | None:
    first, last = _AMOUNT.fullmatch(found["first"]), _AMOUNT.fullmatch(found["last"])
    low, high = (_value(first) if first else None), (_value(last) if last else None)
    if low is None or high is None:
        return None
    if found["last"].endswith("%") and not found["first"].endswith("%"):
        low /= 100
    return _made(found, low)._replace(until=high) if low < high else None


def _made(found: re.Match[str], value: Fraction) -> Amount:
    end = found.start("end")
    tail = found.string[end : found.end()]
    return Amount(
        value, _sign(found["unit"]), found.start(), end, tail, percent="%" in found[0][: end - found.start()]
    )


def _sign(unit: str) -> str:
    """The unit with signs for its words."""
    return _UNIT_WORDS.sub(lambda word: _SIGNS[word[0]], unit.strip(" {(（"))


def _value(found: re.Match[str]) -> Fraction | None:
    if found["whole"]:
        under, over = _read(found["whole"]), _read(found["part"])
        value = Fraction(over, under) if under and over is not None else None
    elif found["over"]:
        under = int(found["under"])
        value = Fraction(found["over"].replace(",", "").replace("，", "")) / under if under else None
    elif found["number"]:
        value = Fraction(found["number"].replace(",", "").replace("，", "")) * _GROUPS.get(found["group"], 1)
        raised = found["power"] or found["raised"]
        if raised:
            value = (value if found["bare"] is None else 1) * Fraction(10) ** int(raised.translate(_RAISED))
    elif found["word"]:
        value = Fraction(_WORDS.index(found["word"]))
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
