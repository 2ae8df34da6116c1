"""The reply in one alphabet, with a way back to where each character stood.

All steps but one keep every character's place: look-alike letters are exchanged one for one and
markup is overwritten with spaces. Only invisible characters are taken out, so the way back is the
sorted list of the places where one was.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache

from m3ke_async.extraction.traditional import SIMPLIFIED

#: Stands for a mention of options in a shape; replies that contain it lose it.
MENTION = "\ue000"

_INVISIBLE = re.compile(
    "[\u00ad\u0300-\u036f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]"
)
#: What the table below may exchange; plain ASCII, Chinese and their usual punctuation are left alone.
_SPECIAL = re.compile(
    "[\u00a0\u0130\u0370-\u04ff\u1680-\u1fff\u2000-\u200a\u2028\u2029\u2100-\u214f\u2460-\u24ff\u3000\u3200-\u33ff"
    "\ue000-\uf8ff\uff01\uff0e-\uff19\uff1d-\uff5e\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff"
    + "".join(SIMPLIFIED)
    + "]"
)
_LOOKALIKES = {
    **dict(zip("АВСЕАвсеаΑΒΕαСԁ", "ABCEABCEaABEaCd", strict=True)),
    "\u0432": "b",
    "\u0441": "c",
    "\u0435": "e",
    "İ": "I",
    "\u2028": "\n",
    "\u2029": "\n",
}
_MARKUP = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathsf|mathtt|mathit|mathcal|mbox|bf|rm|displaystyle|quad|qquad|left|right"
    r"|[()\[\],;!: ])\b|\\[()\[\],;!:]"
    r"|&(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,5}|[a-zA-Z]{2,8});|</?(?:b|i|u|em|strong|span|p|br|div|code|td|tr|li|ul|sup|sub)\b[^<>]{0,60}>"
    r"|\\n|[*_`~$]"
)
_ENTITIES = {
    "&nbsp;": " ",
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
    "&quot;": '"',
    "&apos;": "'",
    "&emsp;": " ",
}


@cache
def _table() -> dict[int, str]:
    table: dict[int, str] = {0x3000: " ", 0xA0: " "}
    blocks = (
        range(0x1680, 0x2000),
        range(0x2000, 0x200B),
        range(0x2100, 0x2150),
        range(0x2460, 0x2500),
        range(0x3200, 0x3400),
        range(0xFF01, 0xFF5F),
        range(0x1D400, 0x1D800),
    )
    for block in blocks:
        for code in block:
            plain = unicodedata.normalize("NFKC", chr(code))
            letter = plain.strip("()")
            if len(letter) == 1 and letter != chr(code) and letter.isascii():
                table[code] = letter
    for start in (0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6):  # parenthesised to regional letters
        table.update({start + place: chr(65 + place) for place in range(26)})
    table.update(dict.fromkeys(range(57344, 63744), " "))
    for kept in "，：（）；":
        table.pop(ord(kept), None)
    table.update({ord(alike): letter for alike, letter in _LOOKALIKES.items()})
    table.update({ord(old): new for old, new in SIMPLIFIED.items()})
    return table


@dataclass(frozen=True, slots=True)
class Normalised:
    """A reply in one alphabet.

    Attributes:
        text: the text that rules read.
        removed: for each invisible character taken out, its place in `text`, ascending.
    """

    text: str
    removed: tuple[int, ...] = ()

    def origin(self, place: int) -> int:
        """Where the character at `place` stands in the original."""
        return place + bisect_right(self.removed, place)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the original that became `text[start:end]`."""
        return self.origin(start), self.origin(end - 1) + 1


def same_alphabet(text: str) -> str:
    """Full-width, circled, look-alike letters as ASCII, traditional as simplified; same length."""
    if text.isascii() or not _SPECIAL.search(text):
        return text
    return text.translate(_table())


def normalise(reply: str) -> Normalised:
    """The reply without invisible characters, in one alphabet, its markup overwritten with spaces."""
    removed: tuple[int, ...] = ()
    text = reply
    if not text.isascii():
        hidden = [found.start() for found in _INVISIBLE.finditer(text)]
        if hidden:
            removed = tuple(place - count for count, place in enumerate(hidden))
            text = _INVISIBLE.sub("", text)
        text = same_alphabet(text)
    return Normalised(without_markup(text), removed)


def without_markup(text: str) -> str:
    """The text with markdown, LaTeX and HTML marks overwritten with spaces; same length."""
    return _MARKUP.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    mark = found[0]
    if len(mark) == 1:
        return " "
    if mark[0] == "&":
        return _entity(mark).ljust(len(mark))
    if mark == "\\n" or mark.startswith(("<br", "</p", "</li", "</div", "</tr")):
        return "\n".ljust(len(mark))
    return " " * len(mark)


def _entity(mark: str) -> str:
    if mark[1] != "#":
        return _ENTITIES.get(mark.lower(), " ")
    code = int(mark[3:-1], 16) if mark[2] in "xX" else int(mark[2:-1])
    if code < 32 or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return " "
    return same_alphabet(chr(code))
