"""The reply in one alphabet, with a way back to where each character stood.

Only invisible characters and the marks of bold letters and code are taken out. All else keeps its place:
look-alike letters are exchanged one for one and other markup is overwritten with spaces.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.traditional import SIMPLIFIED

_INVISIBLE = (
    "\u00ad\u0300-\u036f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef"
)
_UNSEEN = Pattern(f"[{_INVISIBLE}*`](?:(?<=[*`])[*`]*)?")
_BRACKETS = dict(zip("〔〕〖〗", "【】【】", strict=True))
#: What the table below may exchange; ASCII, simplified Chinese and usual punctuation are left alone.
_ALIKE = (
    "\u00a0\u0130\u0370-\u04ff\u1680-\u1fff\u2000-\u200a\u2028\u2029\u2100-\u214f\u2460-\u24ff\u3000\u3200-\u33ff"
    "\ue000-\uf8ff\uff01-\uff07\uff0a\uff0b\uff0d-\uff19\uff1c-\uff5e\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff"
    + "".join(SIMPLIFIED)
    + "".join(_BRACKETS)
)
#: An apostrophe inside a word; elsewhere it closes a quotation.
_APOSTROPHE = "\u2019"
_SPECIAL = Pattern(f"[{_ALIKE}]|{_APOSTROPHE}(?<=[A-Za-z].)(?=[A-Za-z])")
#: The characters with which all begins that is exchanged, taken out or overwritten, and the tags of thoughts.
_SIGNS = r"\\$&<*`~_\["
_UNUSUAL, _UNUSUAL_ASCII = Pattern(f"[{_INVISIBLE}{_ALIKE}{_APOSTROPHE}{_SIGNS}◁]"), Pattern(f"[{_SIGNS}]")
_KEPT = "，：（）；"
_CYRILLIC_AND_GREEK = dict(zip("АВСЕΑΒΕ", "ABCEABE", strict=True))
#: Each mark begins with one of a few characters, so that all else is passed over at once.
_MARKUP = Pattern(
    r"[\\$&<*`~_](?:(?<=[*`])|(?<=~)(?!(?<=[^~\s]~)[-\dA-D一二三四五六七八九十百])|(?<=\$)(?:[^$\n]{1,200}\$(?!\d))?(?!(?<=[A-Za-z]\$)\d)"
    r"|(?<=\\)(?:[dt]?frac\{[^{}\n]{1,20}\}\{(?=[^{}\n]{1,20}\})|\([^\n]{1,200}?\\\)|[()\[\],;!: ]|n(?![a-z])"
    r"|(?:text(?:bf|it|rm|sf|tt)?|math(?:rm|bf|sf|tt|it|cal)|mbox|boldsymbol|bf|rm|displaystyle|q?quad|left|right)(?![a-z]))"
    r"|(?<=&)(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,5}|[a-zA-Z]{2,8});"
    r"|(?<=<)/?(?:b|i|u|em|strong|span|p|br|div|code|td|tr|li|ul|sup|sub)\b[^<>]{0,60}>"
    r"|(?<![A-Za-z0-9]_)(?<=_)|(?<=_)(?![A-Za-z0-9]))"
)
#: A line with an option, all of it in bold or none.
_OPTION_LINE = Pattern(
    r"^[ \t]{0,4}(?:[>•*-][ \t]{1,3})?(?P<before>\*\*)?[(（]?(?P<letter>[A-D])[.．、:：)）]"
    r"[ \t]{0,2}(?P<after>\*\*)?[^\n*]{1,200}(?P<bold>\*\*[ \t]{0,4})?$",
    re.MULTILINE,
)
_STRUCK = Pattern(r"~~([^~\n]{1,200})~~")
_LETTER = Pattern(r"(?<![A-Za-z])[A-D](?![A-Za-z])")
_ENTITIES = {"&nbsp;": " ", "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&apos;": "'"}
_FORMULA = Pattern(r"(?!.{0,200}(?:boxed|therefore))(?=.{0,200}[\\^_=|<>∩∪∈])")
_LINE_ENDS = ("\\n", "<br", "</p", "</li", "</div", "</tr")


@cache
def _table() -> dict[str, str]:
    """By character, the one that takes its place."""
    table: dict[str, str] = {}
    blocks = ((0x1680, 0x2000), (0x2000, 0x200B), (0x2100, 0x2150), (0x2460, 0x2500), (0x3200, 0x3400))
    for first, end in (*blocks, (0xFF01, 0xFF5F), (0x1D400, 0x1D800)):
        for code in range(first, end):
            plain = unicodedata.normalize("NFKC", chr(code)).strip("()")
            if len(plain) == 1 and plain.isascii():
                table[chr(code)] = plain
    for first in (0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6):  # in brackets, squares, circles, as flags
        table.update({chr(first + place): chr(65 + place) for place in range(26)})
    table.update(dict.fromkeys(map(chr, range(0xE000, 0xF900)), " "))  # private use: the rules' own marks
    table.update({"\u3000": " ", "\u00a0": " ", "\u2028": "\n", "\u2029": "\n", "\u0130": "I"})
    table.update(_CYRILLIC_AND_GREEK | _BRACKETS | {_APOSTROPHE: "'"})
    table.update(SIMPLIFIED)
    for code in range(0x2460, 0x2474):  # numbers of a list in circles, which options name in this form
        table.pop(chr(code), None)
    for kept in _KEPT:
        table.pop(kept, None)
    return table


def is_plain(text: str) -> bool:
    """Whether there is nothing in the text to exchange, take out or overwrite, and no tag."""
    return (_UNUSUAL_ASCII if text.isascii() else _UNUSUAL).search(text) is None


def legible(text: str) -> str:
    """The text in one alphabet and without markup; same length."""
    return text if is_plain(text) else without_markup(same_alphabet(text))


def same_alphabet(text: str) -> str:
    """Full-width, circled, look-alike letters as ASCII, traditional as simplified; same length."""
    if text.isascii() or not _SPECIAL.search(text):
        return text
    return _SPECIAL.sub(_exchanged, text)


def _exchanged(found: re.Match[str]) -> str:
    return _table().get(found[0], found[0])


def invisible(text: str) -> list[tuple[int, int]]:
    """The stretches of the text that show nothing, or only that letters are bold or code."""
    if text.isascii() and "*" not in text and "`" not in text:
        return []
    spans = (found.span() for found in _UNSEEN.finditer(text))
    return [(start, end) for start, end in spans if text[start] not in "*`" or not _parts(text, start, end)]


def bold_ticked(text: str) -> str:
    """The text with a tick for the mark that sets the one bold option of a list apart; same length."""
    if "**" not in text:
        return text
    listed = list(_OPTION_LINE.finditer(text))
    bold = [line for line in listed if line["bold"]]
    if len(bold) != 1 or [line["letter"] for line in listed] != ["A", "B", "C", "D"]:
        return text
    place = max(bold[0].start("before"), bold[0].start("after"))
    if place < 0:
        return text
    return text[:place] + "☑ " + text[place + 2 :]


def struck_out(text: str) -> str:
    """The text without struck out letters where one is left, else a cross for the end of all; same length."""
    if "~~" not in text:
        return text
    left = _STRUCK.sub(lambda found: " " * len(found[0]) if _LETTER.search(found[1]) else found[0], text)
    return _STRUCK.sub(r"  \1✗ ", left if _LETTER.search(left) else text)


def _parts(text: str, start: int, end: int) -> bool:
    """Whether these marks part words, multiply or stand apart, so that a blank must take their place."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if not before.strip() and not after.strip():
        return True
    return before.isascii() and before.isalnum() and after.isascii() and after.isalnum()


def without_markup(text: str) -> str:
    """The text with markdown, LaTeX and HTML marks overwritten with spaces; same length."""
    return _MARKUP.sub(_plain, text)


def _plain(found: re.Match[str]) -> str:
    mark = found[0]
    if len(mark) > 2 and (mark[0] == "$" or mark[:2] == "\\("):
        return _formula(mark, 1 if mark[0] == "$" else 2)
    if "frac{" in mark:
        return " " * mark.index("{") + " " + mark[mark.index("{") + 1 : -2] + " /"
    if mark[0] == "&":
        return _entity(mark).ljust(len(mark))
    return ("\n" if mark.lower().startswith(_LINE_ENDS) else " ").ljust(len(mark))


def _formula(mark: str, edge: int) -> str:
    """A formula without its marks; its capitals are names of its own, so they lose their height."""
    inner = mark[edge:-edge]
    plain = _MARKUP.sub(_plain, inner)
    if _FORMULA.match(plain):
        plain = plain.lower()
    return " " * edge + plain + " " * edge


def _entity(mark: str) -> str:
    if mark[1] != "#":
        return _ENTITIES.get(mark.lower(), " ")
    code = int(mark[3:-1], 16) if mark[2] in "xX" else int(mark[2:-1])
    if code < 32 or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return " "
    return same_alphabet(chr(code))
