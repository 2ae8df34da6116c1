"""Where a reply numbers what it says of the options, one to four, in the options' order."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from m3ke_async.extraction.mentions import LETTERS, Mention
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.rewording import alike

if TYPE_CHECKING:
    from m3ke_async.extraction.texts import OptionTexts

#: The rule of the table that stands for this.
ROWS = "rows"
#: The number at the beginning of a row.
_ROW = Pattern(
    r"(?:\A|(?<=\n))[ \t]{0,4}"
    r"(?:[(（]([1-4一二三四])[)）]|第?([1-4一二三四])[.、．)）:：,，]|([①②③④]))[ \t]{0,3}(?=[^\s\d])"
)
_FIGURES = str.maketrans("一二三四①②③④", "12341234")
#: The beginning of a row's last sentence.
_LAST = Pattern(r"[。；;，,][^。；;，,\n]{2,60}[。；;.]?\s{0,3}\Z")
#: A row longer than this says at its end what it comes to.
_LONG = 40
#: The longest row that is read, and the least that it must hold of its option.
_ROW_END, _ENOUGH = 400, 0.3
#: How many rows must be closest to their own option.
_MOST_ROWS = 3


def numbered(text: str, options: OptionTexts) -> list[Mention]:
    """The rows of a reply as mentions of the options in order; none unless each row is about its option."""
    rows = list(islice(_ROW.finditer(text), len(LETTERS) + 1))
    order = "".join(next(filter(None, row.groups())) for row in rows).translate(_FIGURES)
    if order != "1234" or len(options.dense) < len(LETTERS):
        return []
    found: list[Mention] = []
    closest = 0
    for place, (row, letter) in enumerate(zip(rows, LETTERS, strict=True)):
        end = rows[place + 1].start() if place + 1 < len(rows) else len(text)
        end = min(end, row.end() + _ROW_END)
        blank = text.find("\n\n", row.end(), end)
        end = end if blank < 0 else blank
        likeness = alike(text[row.end() : end], options)
        if likeness[letter] < _ENOUGH:
            return []
        closest += likeness[letter] >= max(likeness.values())
        found.append(_mention(row.start(), row.end(), letter))
        last = _LAST.search(text, row.end(), end)
        if last and last.start() > row.end() + _LONG:
            found.append(_mention(last.start() + 1, last.start() + 1, letter))
    return found if closest >= _MOST_ROWS else []


def _mention(start: int, end: int, letter: str) -> Mention:
    return Mention(start, end, letter, (start, end), heading=True, opens=True, told=True, lettered=False)
