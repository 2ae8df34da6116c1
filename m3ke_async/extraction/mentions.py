"""Where a reply names options: standing letters, with their brackets and option words; lists of them as one.

A letter that belongs to a word, a unit, a formula or the question's own names is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.normalise import MENTION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LETTERS = "ABCD"

_WORD = "A-Za-z0-9_\u00c0-\u024f\u0370-\u04ff"
_STANDING = re.compile(
    rf"(?<![{_WORD}'’.])(?:[A-J]|[A-D]{{2,4}})(?![{_WORD}]|['’][a-z])"
    rf"|(?<=[选择案为是:：>{{\"(（ ])[a-d](?![{_WORD}'’.]|\s?[a-z\u00c0-\u024f])"
)
_LOWER_CUE = re.compile(
    r"(?:选项?|选择|答案[是为应该选：: ]{0,6}|"
    r"(?:answer|option|choice)(?: is|:| is:)?|boxed\{|<answer>|^)[\s(（\"{]*\Z",
    re.IGNORECASE,
)
_NOT_AFTER = re.compile(
    r"(?:维生素|维他命|vitamin|hepatitis|肝炎病毒|集合|矩阵|事件|命题|向量|直线|线段|平面|基因|字母|方案|类型|血型|等级|档次|"
    r"列车|音节|plan|grade|type|group|class|team|phase|stage|figure|section|part|point|set|event|matrix|component|"
    r"[∠△∩∪∈∉⊂⊆×·^_|\\+点角图])\s?\Z",
    re.IGNORECASE,
)
_NOT_BEFORE = re.compile(
    r"\s?(?:[=∩∪∈∉⊂⊆^×·|≠≤≥+]|/[^A-J\s])|\s?[<>]\s?[\dA-J-]"
    r"|(?:公司|银行|超|语言|型|细胞|股|市|区|县|级|座|栋|队|组|班|国|厂|企业|村|校|君|某|地|站|城|省|酒店|轮|船|车|点|站|"
    r"物质|元素|淋巴|链|波|楼|字|音|调|大调|小调|面|端|角|集|类|罩杯|罗|女士|先生|盘|柱|线|栏|列|座|等)"
    r"|\s(?!is\b|are\b|was\b|and\b|or\b|as\b|because|since|has\b|can\b|seems|looks|would|contradicts|states|describes|correctly"
    r"|incorrectly|wrong|right|correct|incorrect|true|false|too\b|only\b|also\b|does|do\b|could|should|must|might|may\b"
    r"|fits|best|matches|option|choice|instead|alone|were\b|cannot|not\b|but\b|for\b|in\b|with\b|which\b|that\b|here\b|based"
    r"|explanation|by\b|if\b|to\b|on\b|x\b)[a-z]"
)
_SEPARATOR = re.compile(
    r"\s*(?:[、/&＆+;；|]|和|与|及|以及|或者?|还是|跟|同|(?:[,，]\s*)?(?:and|or)\b|[,，](?:和|或|以及)?)\s*"
)
_COMMA_END = re.compile(
    r"\s*(?:[、,，/&;；.。!！)）\]】\n<]|和|与|及|以及|或|and\b|or\b|都|均|皆|全|两|二|三|四|are\b|$)"
)
_OPEN = "([（{【「『《<“\"'‘〔〈"
_CLOSE = ")]）}】」』》>”\"'’〕〉"
_BEFORE_WORD = ("选项", "选择项", "option", "options", "choice", "choices", "statement", "answer choice")
_AFTER_WORD = ("这个选项", "这一选项", "个选项", "选项", "这一项", "这项", "项", "option", "choice")
_HEADING = re.compile(r"\s*[.．、:：)）]|\s*[,，-]\s?(?=\S)")
_STOPS = "项选案是为与和或答择"


class Mention(NamedTuple):
    """One place that names one or several options.

    Attributes:
        start: where it begins, with its brackets and option words.
        end: where it ends, with its option's text where that follows.
        letters: the letters named, in order; those past D name no option.
        core: where the first letter stands.
        heading: a letter, a separator, then text: the form of a listed option.
        opens: it is the first thing on its line.
        told: the option's own text follows the letter.
    """

    start: int
    end: int
    letters: str
    core: tuple[int, int]
    heading: bool = False
    opens: bool = False
    told: bool = False


def find_letters(text: str, options: Mapping[str, str], context: str) -> list[Mention]:
    """The mentions by letter, in order; names of their own in `context`, the question, are none."""
    found: list[Mention] = []
    joined = False
    for candidate in _STANDING.finditer(text):
        start, end = candidate.span()
        letters = candidate[0]
        if letters.islower():
            if not _LOWER_CUE.search(text, max(0, start - 14), start):
                continue
            letters = letters.upper()
        told = _told(text, end, options.get(letters))
        if not told and _is_noise(text, start, end, context):
            continue
        if len(letters) > 1 and not _is_list(letters, text, start, end):
            continue
        mention = _decorated(text, start, end, letters, told)
        if found and (gap := _SEPARATOR.fullmatch(text, found[-1].end, max(mention.start, found[-1].end))):
            before = found[-1]
            comma = gap[0].strip() in {",", "，"}
            if not comma or joined or _COMMA_END.match(text, mention.end):
                found[-1] = Mention(
                    before.start,
                    mention.end,
                    before.letters + letters,
                    before.core,
                    before.heading,
                    before.opens,
                )
                joined = comma
                continue
        joined = False
        found.append(mention)
    return found


def _told(text: str, end: int, option: str | None) -> int:
    """Where the option's own text ends if it follows the letter at `end`, else 0."""
    if not option:
        return 0
    place = end
    limit = min(len(text), end + 6)
    while place < limit and text[place] in " .．、:：,，)）(（]】\n\"'“":
        place += 1
    return place + len(option) if text.startswith(option, place) and (place > end or len(option) > 1) else 0


def _is_noise(text: str, start: int, end: int, context: str) -> bool:
    if _NOT_BEFORE.match(text, end):
        return True
    left = text[start - 1] if start else "\n"
    if left not in "\n ：:。，," and _NOT_AFTER.search(text, max(0, start - 14), start):
        return True
    if left == "/" and text[start - 2 : start - 1].isalpha() and text[start - 2] not in LETTERS:
        return True
    if left == " " and _NOT_AFTER.search(text, max(0, start - 14), start):
        return True
    right = text[end : end + 1]
    if right >= "\u4e00" and right not in _STOPS and text[start : end + 1] in context:
        return True
    return left >= "\u4e00" and left <= "\u9fff" and left not in _STOPS and text[start - 1 : end] in context


def _is_list(letters: str, text: str, start: int, end: int) -> bool:
    if "".join(sorted(set(letters))) != letters:
        return False
    before = text[:start].rstrip()[-1:] if start < 40 else text[start - 40 : start].rstrip()[-1:]
    after = text[end : end + 12].lstrip()
    return before in set("选案是为:：择项除】]>{(（,，。；;、了以故\n") | {""} or after.startswith(
        ("项", "选项", "都", "均", "皆", "说法", "正确", "错", "对", "不", "三", "两", "四", "全")
    )


def _decorated(text: str, start: int, end: int, letters: str, told: int) -> Mention:
    left = _skip_back(text, start)
    before = text[max(0, left - 16) : left]
    trimmed = before.rstrip(" ").lower()
    for word in _BEFORE_WORD:
        if trimmed.endswith(word):
            left = _skip_back(text, left - (len(before) - len(trimmed) + len(word)))
            before = text[max(0, left - 4) : left]
            break
    opens = not before.strip(" -*•·>#\t")[-1:] or before.rstrip(" -*•·>#\t")[-1:] == "\n"
    right = _skip_on(text, max(_skip_on(text, end), told))
    for word in () if told else _AFTER_WORD:
        if text.startswith(word, right) and not text.startswith("项目", right):
            right = _skip_on(text, right + len(word))
            break
    heading = bool(told or _HEADING.match(text, end) or (left < start and opens))
    return Mention(left, right, letters, (start, end), heading, opens, bool(told))


def _skip_back(text: str, place: int) -> int:
    while place and text[place - 1] in _OPEN:
        place -= 1
    return place


def _skip_on(text: str, place: int) -> int:
    while place < len(text) and text[place] in _CLOSE:
        place += 1
    return place


def mark_listed(mentions: Sequence[Mention], length: int) -> set[int]:
    """The places, in `mentions`, of options that are only listed: headings that run A, B, C on from A."""
    listed: set[int] = set()
    chain: list[int] = []

    def close() -> None:
        if len(chain) >= 3 or (len(chain) == 2 and chain[-1] == len(mentions) - 1):
            listed.update(chain)

    for place, mention in enumerate(mentions):
        if not mention.heading or len(mention.letters) != 1:
            continue
        if mention.letters == "A":
            close()
            chain = [place]
        elif chain and ord(mention.letters) == ord(mentions[chain[-1]].letters) + 1:
            chain.append(place)
    close()
    return listed


def shape(text: str, mentions: Sequence[Mention]) -> str:
    """What the rules read: lower case, every mention overwritten by `MENTION`, same length."""
    pieces, place = [], 0
    lowered = text.lower()
    for mention in mentions:
        start = max(mention.start, place)
        pieces += [lowered[place:start], MENTION * (mention.end - start)]
        place = mention.end
    return "".join([*pieces, lowered[place:]])
