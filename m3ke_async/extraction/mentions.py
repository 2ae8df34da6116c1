"""Where a reply names options by letter: alone, with brackets and option words, in lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.noise import LETTERS, is_noise
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.rules import BARE, TEXT, TOLD, WORDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.asked import Asked

__all__ = ["LETTERS", "Mention", "Shape", "find_letters", "joined", "listed", "shape"]

_WORD = "A-Za-z0-9_\u00c0-\u00d6\u00d8-\u024f\u0370-\u04ff"
_STANDING = Pattern(
    rf"[A-Ha-d](?<![{_WORD}].)(?<![A-Za-z]['’].)"
    rf"(?:(?<=[A-H])(?![{_WORD}]|['’][a-z])|(?<=[A-D])[A-D]{{1,3}}(?![{_WORD}]|['’][a-z])"
    rf"|(?<=[选项择案为是:：>{{\"(（ ][a-d])(?![{_WORD}'’]|\.\w|\s?[\d+=^(-]|\s[a-z\u00c0-\u024f]))"
)
_LOWER_CUE = Pattern(
    r"(?:选项?|选择|答案[是为应该选：: ]{0,6}|ans[.:]|(?:answer|option|choice)(?: is|:| is:)?|boxed\{"
    r"|<answer>|^)"
    r"[\s(（\"{]{0,3}\Z",
    re.IGNORECASE,
)
_LOWER_LEAD = Pattern(r"[\W_]{0,4}([a-d])(?=[)）.:：、，,\n吧]|[\W_]{0,4}\Z)")
#: An A that stands for "answer", as it follows a Q.
_LABEL = Pattern(
    r"(?<![^\n])A\s?[:：]\s{0,3}(?:[(（*]{0,2}[A-D][)）*.。]{0,2}\s{0,3}(?:\Z|\n)|(?:[Tt]he|[Ii]t|I|[Ss]o|[Aa]nswer|[Cc]orrect)\b)"
)
#: Words before and after a letter that make it an option's name, where it is an option's text too.
_LABELS = Pattern(
    r"(?:选|择|案|项|结论|正解|answer(?: is)?|option|choice|choose|pick|select|go with|boxed|\A)"
    r"[\s是为应:：(（\"'【\[{】\]>#=→-]{0,12}\Z|\n\s{0,3}[(（]?\Z",
    re.IGNORECASE,
)
#: After a letter: a letter that names no option, beside which it is none either.
_ROW = Pattern(r"、\s?[E-Z](?![A-Za-z])")
#: After a letter that opens a reply: what is said of the letter itself.
_SUBJECT = Pattern(r"(?:是|属于|表示|代表)(?!正确|错|对|本题|答案|最)")
_LABELLED = Pattern(r"[)）]?\s?(?:选?项|[.:：)）]|、(?!\s?[A-Za-z](?![A-Za-z])))")
_JOINT = Pattern(
    r"[（(][^()（）\n]{1,30}[)）]\s?(?:和|与|及|以及|或者?|and\b|or\b)\s?"
    r"|\s{0,3}(?:[、/&+;；|]|和|与|及|以及|或者?|还是|跟|同|[ \u3000]{1,2}"
    r"|(?:[,，]\s{0,2})?(?:and|or)\b|[,，](?:和|或|以及)?)\s{0,3}"
)
#: All options from one to another.
_RANGE = Pattern(r"[-–—~～]{1,2}| ?[至到] ?|\s(?:through|thru)\s")
_COMMA_GOES_ON = Pattern(
    r"\s{0,3}(?:[,，/&;；.。!！)）\]】\n<]|和|与|及|以及|或|and\b|or\b|都|均|皆|全|两|二|三|四|are\b|[-–~～至到]\s?[A-D]|\Z)"
)
#: What joins only letters of which nothing is said in between.
_WEAK_JOINTS = frozenset((",", "，", ";", "；", ""))
_OPEN = "([（{【「『《<“\"'‘〔〈"
_CLOSE = ")]）}】」』》>”\"'’〕〉"
#: What may belong to a mention right before and after its letter.
_BEFORE, _AFTER = frozenset(_OPEN + " "), frozenset(_CLOSE + " ")
#: Of two that fit, the longer one stands first.
_WORDS_BEFORE = ("选择项", "选项", "options", "option", "choices", "choice", "statement")
_WORDS_AFTER = ("这个选项", "这一选项", "个选项", "选项", "这一项", "这项", "项", " option", " choice")
_ENDS_BEFORE = frozenset(word[-1] for word in _WORDS_BEFORE) | {" "}
_HEADING = Pattern(r"\s{0,2}[.．、:：)）]|\s?[,，-]\s?(?=\S)")
#: Before a letter that ends what stands in brackets.
_OPENED = Pattern(r"[(（][^()（）\n]{1,10}\Z")
#: Of more letters than these, the first and the last are read.
_FIRST, _LAST = 400, 800
#: How many blanks markup may leave between a letter and its bracket.
_BLANKS = 3
_BLANK = (" ", "\t", "\u3000")
#: The beginning of a line before what stands first on it, with its bullet or number.
OPENS = Pattern(r"(?:\A|\n)[\s*•·>#-]{0,6}((?:\d{1,2}\s?[.、)）．]|[①-⑳])?\s{0,2})\Z")
_BULLETS = " -*•·>#\t"
_LINE_START = frozenset(_BULLETS + "\n")
_LIST_BEFORE = frozenset("选案是为:：择项除】]>{(（,，。；;、了以故\n")
_LIST_AFTER = ("项", "选项", "都", "均", "皆", "说法", "正确", "错", "对", "不", "三", "两", "四", "全")
#: The most characters between a letter and its option's text, and what they may be.
_GLUED = 5
_GLUE = Pattern(rf"[ .．、:：,，)）(（\]】\n\"'“]{{0,{_GLUED}}}")


class Mention(NamedTuple):
    """One place that names one or several options.

    Attributes:
        start: where it begins, with its brackets and option words.
        end: where it ends, with its option's text where that follows.
        letters: the letters named, in order; those past D name no option.
        core: where the letter itself stands.
        heading: a letter, a separator, then text: the form of a listed option.
        opens: it is the first thing on its line.
        told: the option's own text follows the letter, or stands without it.
        worded: a word for option stands beside the letter.
        lettered: it names the option by its letter, not by its text or place.
    """

    start: int
    end: int
    letters: str
    core: tuple[int, int]
    heading: bool = False
    opens: bool = False
    told: bool = False
    worded: bool = False
    lettered: bool = True

    @property
    def mark(self) -> str:
        """What stands for it in a shape."""
        if not self.told:
            return WORDED if self.worded else BARE
        return TOLD if self.lettered else TEXT


def find_letters(text: str, asked: Asked) -> list[Mention]:
    """The mentions by letter, in order; the question's own names are none."""
    found: list[Mention] = []
    taken = 0
    spans = _standing(text)
    if len(spans) > _FIRST + _LAST:
        spans[_FIRST:-_LAST] = []  # no reply that was meant names options so often
    for start, end in spans:
        if start < taken:
            continue  # inside the text of the option just named
        letters = text[start:end].upper()
        told = _told(text, end, letters, asked)
        if not told and (
            (letters == "A" and _LABEL.match(text, start))
            or is_noise(text, start, end, asked)
            or (letters in asked.options.values() and _is_text(text, start, end, letters))
            or _is_in_text(text, start, end, asked)
        ):
            continue
        if end - start > 1 and not _is_list(letters, text, start, end, asked):
            continue
        mention = _decorated(text, start, end, letters, told)
        if mention.start < start and not told:
            mention = _after_text(text, mention, asked)
        if mention.start < taken:
            mention = mention._replace(start=taken)
        taken = mention.end
        found.append(mention)
    if len(found) in {3, 4} and _breaks_off_at(text, found):
        found[-1] = found[-1]._replace(heading=True)
    return joined(text, found) if len(found) > 1 else found


def _breaks_off_at(text: str, mentions: Sequence[Mention]) -> bool:
    """Whether a list of the options, all of the reply, ends at the bare letter of the next one."""
    *before, last = mentions
    row = "".join(mention.letters for mention in mentions)
    bare = (last.start, last.end) == last.core and not text[last.end :].strip()
    starts = last.opens or text[last.start - 1] in " ；;，,"
    return bare and starts and LETTERS.startswith(row) and all(mention.heading for mention in before)


def _is_text(text: str, start: int, end: int, letter: str) -> bool:
    """Whether letters that are an option's text are meant as that: they are no label and no answer."""
    if _ROW.match(text, end) or (not text[:start].strip() and _SUBJECT.match(text, end)):
        return True
    labels = _LABELS.search(text, max(0, start - 24), start) or _LABELLED.match(text, end)
    return labels is None or letter not in LETTERS


def _is_in_text(text: str, start: int, end: int, asked: Asked) -> bool:
    """Whether letters stand inside an option's text, such as H与D."""
    own = asked.texts_with_letters
    if own is None:
        return False
    return any(
        found.end() >= end
        for found in own.finditer(text, max(0, start - 12), end + 12)
        if found.start() <= start
    )


def _standing(text: str) -> list[tuple[int, int]]:
    """Where letters stand that may name options: capitals, and small ones only after a cue."""
    spans: list[tuple[int, int]] = []
    lead = _LOWER_LEAD.match(text)
    if lead:
        following = rf"(?<![a-z]){chr(ord(lead[1]) + 1)}[.)）:：、]"
        if not re.search(following, text[lead.end() : lead.end() + 2000]):  # else a list in small letters
            spans.append(lead.span(1))
    for candidate in _STANDING.finditer(text):
        start = candidate.start()
        if text[start] < "a" or _LOWER_CUE.search(text, max(0, start - 14), start):
            spans.append(candidate.span())
    return spans


def joined(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions with those that form a list made one: A、B和C."""
    found: list[Mention] = []
    by_comma = False
    for mention in mentions:
        if found and found[-1].end <= mention.start <= found[-1].end + (
            40 if text[found[-1].end : found[-1].end + 1] in {"(", "（"} else 9
        ):
            before = found[-1]
            if _RANGE.fullmatch(text, before.end, mention.start) and _is_range(before, mention):
                row = LETTERS[LETTERS.index(before.letters[-1]) + 1 : LETTERS.index(mention.letters) + 1]
                found[-1] = before._replace(end=mention.end, letters=before.letters + row, heading=False)
                continue
            joint = _JOINT.fullmatch(text, before.end, mention.start)
            bracketed = before.end == mention.start and text[before.end - 1] in ")）》”"
            if (joint and (joint[0].strip() or _are_plain(before, mention))) or bracketed:
                comma = not bracketed and text[before.end : mention.start].strip() in _WEAK_JOINTS
                if not comma or by_comma or _COMMA_GOES_ON.match(text, mention.end):
                    more = "".join(letter for letter in mention.letters if letter not in before.letters)
                    found[-1] = before._replace(end=mention.end, letters=before.letters + more, heading=False)
                    by_comma = comma
                    continue
        by_comma = False
        found.append(mention)
    return found


def _is_range(first: Mention, last: Mention) -> bool:
    """Whether bare letters can be the first and the last of a row."""
    plain = all(mention.lettered and not mention.told for mention in (first, last))
    return plain and len(last.letters) == 1 and "" < first.letters[-1:] < last.letters in LETTERS


def _are_plain(before: Mention, after: Mention) -> bool:
    """Whether nothing but letters stands there, so that a space alone makes a list."""
    return before.end == before.core[1] and after.start == after.core[0] and not after.told


def _told(text: str, end: int, letter: str, asked: Asked) -> int:
    """Where the option's own text ends if it follows the letter that ends at `end`, else 0."""
    option = asked.options.get(letter)
    if not option or end + 1 >= len(text):
        return 0
    size = len(option)
    place = text.find(option, end + (size == 1), end + _GLUED + size)
    if place < 0 and end + _GLUED + size <= len(text):
        return 0
    glue = _GLUE.match(text, end)
    last = glue.end() if glue else end
    if 0 <= place <= last:
        return place + size
    for place in range(max(end, len(text) - size) + 1, min(last + 1, len(text))):
        if _breaks_off(text, end, place, option):
            return len(text)
    return 0


def _breaks_off(text: str, end: int, place: int, option: str) -> bool:
    """Whether the text ends inside the option that follows a letter in the middle of a line."""
    inside = "\n" not in ("\n" + text[:end])[-6:]
    return inside and option.startswith(text[place:].rstrip())


def _is_list(letters: str, text: str, start: int, end: int, asked: Asked) -> bool:
    """Whether letters without anything between them name several options, as in ABD."""
    if "".join(sorted(set(letters))) != letters or letters in asked.names:
        return False
    before = text[max(0, start - 40) : start].rstrip(" ")[-1:]
    return not before or before in _LIST_BEFORE or text[end : end + 8].lstrip().startswith(_LIST_AFTER)


def _decorated(text: str, start: int, end: int, letters: str, told: int) -> Mention:
    """The mention around the letter: with its brackets, its option words, its option's text."""
    left = _skip_back(text, start) if text[start - 1 : start] in _BEFORE else start
    worded = False
    if text[left - 1 : left] in _ENDS_BEFORE:
        before = text[max(0, left - 16) : left]
        trimmed = before.rstrip(" ").lower()
        if trimmed.endswith(_WORDS_BEFORE):
            word = next(word for word in _WORDS_BEFORE if trimmed.endswith(word))
            left = _skip_back(text, left - (len(before) - len(trimmed)) - len(word))
            worded = True
    opens = not left or (
        text[left - 1] in _LINE_START and text[max(0, left - 16) : left].rstrip(_BULLETS)[-1:] in {"", "\n"}
    )
    right = told or end
    right = _skip_on(text, right) if text[right : right + 1] in _AFTER else right
    if not told and text.startswith(_WORDS_AFTER, right) and not text.startswith("项目", right):
        right = _skip_on(
            text, right + len(next(word for word in _WORDS_AFTER if text.startswith(word, right)))
        )
        worded = True
    heading = bool(told) or (opens and (left < start or text[end : end + 1] in _BLANK))
    if not heading and _HEADING.match(text, end):
        heading = text[end] not in ")）" or _OPENED.search(text, max(0, left - 12), left) is None
    return Mention(left, right, letters, (start, end), heading, opens, bool(told), worded)


def _after_text(text: str, mention: Mention, asked: Asked) -> Mention:
    """The mention with its option's text, where that stands before the bracketed letter."""
    option = asked.options.get(mention.letters, "")
    start = mention.start - (text[mention.start - 1] == " ") - len(option)
    if len(option) < 2 or start < 0 or not text.startswith(option, start):
        return mention
    opens = OPENS.search(text, max(0, start - 16), start) is not None
    return mention._replace(start=start, told=True, heading=mention.heading and opens)


def _skip_back(text: str, place: int) -> int:
    """Where the brackets before the place begin, with the blanks inside them."""
    outside = place
    while outside and (
        text[outside - 1] in _OPEN or (text[outside - 1] == " " and place - outside < _BLANKS)
    ):
        outside -= 1
        place = outside if text[outside] in _OPEN else place
    return place


def _skip_on(text: str, place: int) -> int:
    """Where the brackets after the place end, with the blanks inside them."""
    outside = place
    while outside < len(text) and (
        text[outside] in _CLOSE or (text[outside] == " " and outside - place < _BLANKS)
    ):
        outside += 1
        place = outside if text[outside - 1] in _CLOSE else place
    return place


def listed(mentions: Sequence[Mention], *, complete: bool) -> set[int]:
    """Which of the mentions only list the options: headings that run on from A, three or to the end.

    In a reply that broke off, one heading on a later line may be the beginning of a list. One that
    stutters, A. A. A. B. C., is a list too, and so are all four at the start of lines from another letter on,
    C. D. A. B., where the letters have changed places.
    """
    if (complete and len(mentions) < 2) or not any(mention.heading for mention in mentions):
        return set()
    steps = (0, 1) if mentions[-1:] and mentions[-1].letters not in {"", mentions[0].letters} else (1,)
    places: set[int] = set()
    chain: list[int] = []
    for place, mention in enumerate([*mentions, None]):
        turned = chain[:1] == [0] and mentions[0].letters != "A"
        goes_on = (
            mention is not None
            and bool(chain)
            and (mention.heading or (mention.opens and bool(places) and place == len(mentions) - 1))
            and len(mention.letters) == 1
            and (
                ord(mention.letters) - ord(mentions[chain[-1]].letters) in steps
                or (mention.opens and ord(mention.letters) - ord(mentions[chain[-1]].letters) == 2)
                or (
                    mention.opens
                    and turned
                    and chain[-1] == place - 1
                    and mentions[place - 1].letters + mention.letters == "DA"
                )
            )
        )
        if goes_on:
            chain.append(place)
        elif mention is None or (
            mention.heading
            and (
                mention.letters == "A" or (mention.letters in {"B", "C", "D"} and mention.opens and not chain)
            )
        ):
            at_end = chain[-1:] == [len(mentions) - 1] and mentions[chain[0]].letters == "A"
            looped = len(places) >= 2 * len(LETTERS)  # the list was told twice, and begins again
            broke_off = at_end and (looped or (not complete and mentions[chain[0]].start > 0))
            broke_off = broke_off and mentions[chain[0]].opens
            told = len(chain) == 2 and all(mentions[at].told and mentions[at].opens for at in chain)
            first = mentions[chain[0]].letters if chain else ""
            if (
                told
                or len({mentions[at].letters for at in chain}) >= (4 if first in {"C", "D"} else 3)
                or (len(chain) == 2 and at_end)
                or broke_off
            ):
                places.update(chain)
            chain = [place]
    return places


class Shape(NamedTuple):
    """What the rules read: the text in lower case, each mention one mark.

    Attributes:
        text: the shape.
        places: where in it each mention stands.
    """

    text: str
    places: list[int]

    def next_place(self, index: int) -> int:
        """Where the mention after the one at `index` stands, or the end."""
        return self.places[index + 1] if index + 1 < len(self.places) else len(self.text)


def shape(text: str, mentions: Sequence[Mention]) -> Shape:
    """The shape of a text with these mentions."""
    pieces: list[str] = []
    places: list[int] = []
    place = length = 0
    for mention in mentions:
        length += mention.start - place
        places.append(length)
        length += 1
        pieces += (text[place : mention.start], mention.mark)
        place = mention.end
    pieces.append(text[place:])
    return Shape("".join(pieces).lower(), places)
