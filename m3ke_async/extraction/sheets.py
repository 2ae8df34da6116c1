"""A reply that begins with a flag for each of the four letters: a map, a row of marks, a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.extraction.decide import NOTHING, Pick
from m3ke_async.extraction.noise import LETTERS
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.polarity import RIGHT

if TYPE_CHECKING:
    from m3ke_async.extraction.asked import Asked

#: The rule of the table that stands for this.
SHEET = "sheet"
#: The longest reply that is tried.
_LONGEST = 800
_MARKS = "✓✔✅√☑●◉✗✘❌╳×☒☐□○"
_ON = r"[✓✔✅√☑●◉]|[(（\[]\s?[•·xX√✓✔●]\s?[)）\]]|对|正确|是|(?i:true|yes|right|correct|[ty])(?![A-Za-z])"
_OFF = (
    r"[✗✘❌╳×☒☐□○]|[(（\[]\s{0,2}[)）\]]|[(（]\s?[×✗]\s?[)）]|错误?|不对|不正确|否|不是"
    r"|(?i:false|no|null|none|wrong|incorrect|[fn])(?![A-Za-z])"
)
_FLAG = Pattern(f"(?:{_ON}|{_OFF})")
_LEAD = r"(?:json\b)?\W{0,8}(?:[\u4e00-\u9fff]{2,12}[:：]\s{0,3})?[\[{|\s]{0,4}"
_END = r"(?!\w)[\W_]{0,8}"
_CELL = r"\s{0,4}\|\s{0,4}"
_ROW = r"\s{0,3}\|?(?:[^|\nA-D]{0,12}\|)??\s{0,4}"
_PAIR = r"\"[^\"\n]{1,12}\"\s?:\s?\""


def _each(form: str, between: str) -> str:
    """The form for every letter, which takes the place of @, with its flag in place of §."""
    return between.join(
        form.replace("@", letter).replace("§", f"(?P<{letter}>(?P<on{letter}>{_ON})|{_OFF})")
        for letter in LETTERS
    )


_AFTER = r"[\"'“”]?(?i:@)[\"'“”]?[)）.]?\s?[:：=、-]?\s?[\"'“”]?§[\"'“”]?"
_BEFORE = r"§\s{0,2}@(?![A-Za-z])[^\n" + _MARKS
_OBJECT = (
    rf"\{{\s{{0,8}}{_PAIR}@\"(?:,\s{{0,8}}{_PAIR}[^\"\n]{{0,80}}\"){{0,2}},\s{{0,8}}"
    r"\"(?:is_?)?(?i:correct|right|true|answer|selected|chosen|是否正确|正确|对|答案)\"\s?:\s?\"?§\"?\s{0,8}\}"
)
_SHEETS = (
    # each letter, then its flag
    Pattern(_LEAD + _each(_AFTER, r"[\s,，;；|。.]{1,4}") + _END),
    # each flag, then its letter, in one line and on four
    Pattern(r"\s{0,4}" + _each(_BEFORE + r"(（\[]{0,40}", "") + r"\s{0,4}\Z"),
    Pattern(r"\s{0,4}" + _each(_BEFORE + "]{0,200}", r"\n\s{0,4}") + r"\s{0,4}\Z"),
    # a row of letters above a row of flags
    Pattern(
        _ROW + _each("@", _CELL) + r"\s?\|?\s{0,3}\n(?:[|:\s-]{3,60}\n)?" + _ROW + _each("§", _CELL) + _END
    ),
    # a list of objects
    Pattern(_LEAD + _each(_OBJECT, r",\s{0,8}") + _END),
)


def sheet(text: str, asked: Asked) -> tuple[Pick, int] | None:
    """What a flag for each letter comes to, the odd one, and where they end; None for any other reply."""
    if len(text) >= _LONGEST or not ("D" in text or "d" in text):
        return None  # as most replies, at once
    found = next(filter(None, (form.match(text) for form in _SHEETS)), None)
    if found is None or any(map(_FLAG.fullmatch, asked.options.values())):
        return None
    on = [letter for letter in LETTERS if found[f"on{letter}"]]
    off = [letter for letter in LETTERS if letter not in on]
    if not off and asked.all_of_them and asked.asks is RIGHT:
        on = [asked.all_of_them]
    meant = off if len(off) == 1 and asked.asks is not RIGHT else on
    return Pick("".join(meant), SHEET, *found.span(meant[0])) if meant else NOTHING, found.end()
