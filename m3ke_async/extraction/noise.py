"""Standing letters that are no options: words, units, names of things, formulas, articles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.extraction.patterns import Pattern

if TYPE_CHECKING:
    from m3ke_async.extraction.asked import Asked

LETTERS = "ABCD"
#: What may follow an option's letter at once; no further look is needed then.
_FREE = frozenset(("", *".、:：)）。，,；;\n!！]】”\"'’」』}?？"))
_STOPS = frozenset("项选案是为与和或答择以及：、，。；（）“”")

_NAMES_BEFORE = (
    "维生素 维他命 集合 矩阵 事件 命题 向量 直线 线段 平面 基因 类型 血型 列车 音节 肝炎 甲型 点 角 图"
    " vitamin hepatitis plan grade"
    " group class team phase stage figure section event matrix type variable process"
    " ∠ △ ° ∩ ∪ ∈ ∉ ⊂ ⊆ × · ^ \\ +"
)
_BEFORE = tuple(_NAMES_BEFORE.split())
_BEFORE_ENDS = frozenset(name[-1] for name in _BEFORE) | frozenset(name[-1].upper() for name in _BEFORE)
#: Without one of these signs right before it, or these ends before its blanks, a letter is no name by them.
_SIGNS_BEFORE = frozenset("(=≡/")
_ENDS_BEFORE = _BEFORE_ENDS | {"<", ">"}
_NAMES_AFTER = (
    "公司 银行 超 语言 型 细胞 股 市 区 县 级 座 栋 队 组 班 国 厂 企业 村 校 君 某 地 站 城 省 酒店"
    " 轮 船 车 点 物质 元素 原子 离子 分子 键 双键 单键 三键 淋巴"
    " 链 波 楼 字 音 大调 小调 面 端 角 集 罩杯 罗 女士 先生 盘 柱 栏 列 反应 肽 类"
)
_AFTER = tuple(_NAMES_AFTER.split())
_AFTER_STARTS = frozenset(name[0] for name in _AFTER)
_FORMULA = Pattern(
    r"\s?(?:[=≡∩∪∈∉⊂⊆^·≠≤≥+⁺⁻⁰-₉²³¹]|×(?=[^\s)）|])|\s×\s?\w|[<>]\s?[\dA-J-]|/[^A-J\s]|\s?[E-Z](?![A-Za-z])|[([]\s?[\dxyt]|\\|\$\d|-(?!(?:(?<=A-)[B-D]|(?<=B-)[CD]|(?<=C-)D)(?![A-Za-z0-9]))[A-Za-z])"
)
#: A thing named by a letter before it, unless the word begins a predicate.
_THING = Pattern(
    r"触发器|算法|树(?![立起])|卷(?![入起])|调(?![整查控节动用配理换])|维(?![持护修])|刊(?![登载物])|段|片(?!面)|照(?![样搬常顾抄])|档|族"
    r"|位(?![于置移居列数])|(?<=C)[#＃](?!#)|-(?=\d)|-[\u4e00-\u9fff]{0,6}[糖酸醇胺酮醛]"
)
_THING_STARTS = frozenset("触算树卷调维刊段片照档族位#＃-")
_NUMBER = Pattern(r"-(\d{1,4})")
#: The chance of an option, which is not that of an event of the question.
_CHANCE = Pattern(r"[A-D]\)\s?[:=≈]\s?(?:0?\.\d|\d{1,2}(?:\.\d+)?%)")
#: A letter, then a sign of equality or a bond: the letter after it is a part of the formula.
_BOND = Pattern(r"(?<![A-Za-z])[A-Z]\s?[=≡]\Z")
#: A single letter before a bracket: P(A), r(A).
_FUNCTION = Pattern(r"(?<![A-Za-z])[A-Za-z]\Z|[A-Z]\Z")
#: One letter after another by rank.
_ORDER = Pattern(r"[A-D]\s{0,2}[<>]\s{0,2}\Z")
#: A number that is no number of a list, so that the letter after it is a unit.
_QUANTITY = Pattern(r"[^\s\d]\s?\d{1,4}\Z|\d{3,}\Z")
#: After a letter that is no unit: a colon, or a number that it heads.
_SHARED = Pattern(r"[:：]|[.．、)）]\s?\d")
#: An English word after the letter makes it an article or a name, unless the word speaks of an option.
_ENGLISH = Pattern(
    r"\s(?!(?:is|are|was|were|and|or|nor|as|because|since|has|have|can|cannot|seems?|looks?|would|contradicts?|states?"
    r"|describes?|correctly|incorrectly|wrong|right|correct|incorrect|true|false|too|only|also|does|do|could|should|must"
    r"|might|may|fits?|best|match(?:es)?|option|choice|instead|alone|not|but|for|in|with|which|that|here|based|explanation"
    r"|(?:is|are|was|were|does|did|ca|wo|could|would|should)n['’]t"
    r"|by|if|to|on|all|each|had|x|rather than|over|ahead of|as opposed|through(?= [A-D]\b)"
    r"|the correct|the right|the best|the answer|the final|the odd|the only"
    r"|the one|it is|mentions?|refers?|suggests?|implies|represents?|provides?|gives?|says|claims?|will"
    r"|appears?|accurately|directly|both|out|themselves)\b)[a-z]"
)
#: A verb of the third person, which says something of an option.
_VERB = Pattern(r"\s[a-z]{3,}[^\Wsui]s\b")


#: Another option before the letter: the two are named together.
_PAIR = Pattern(r"\b[A-D]\)?,?\s(?:and|or|nor)\s\(?\Z")


def is_noise(text: str, start: int, end: int, asked: Asked) -> bool:
    """Whether the standing letters `text[start:end]` belong to something else than an option.

    A letter that stands in the question or its options beside the same character is a name of the
    question's own.
    """
    right = text[end : end + 1]
    if right not in _FREE and (
        (right in _AFTER_STARTS and text.startswith(_AFTER, end) and not _is_group(right, asked))
        or _FORMULA.match(text, end)
        or (right in _THING_STARTS and _is_thing(text, start, end, asked))
        or (
            _ENGLISH.match(text, end)
            and not _PAIR.search(text, max(0, start - 8), start)
            and (text[start:end] in asked.own_letters or _VERB.match(text, end) is None)
        )
    ):
        return True
    left = text[start - 1] if start else "\n"
    if (left == "(" or left not in _FREE) and _is_named(text, start, left, asked):
        return True
    if (
        "\u4e00" <= right <= "\u9fff"
        and right not in _STOPS
        and (text[start : end + 1] in asked.names or text[end : end + 2] in asked.named_after)
    ):
        return True
    return "\u4e00" <= left <= "\u9fff" and left not in _STOPS and text[start - 1 : end] in asked.names


def _is_thing(text: str, start: int, end: int, asked: Asked) -> bool:
    """Whether the word after the letter makes it a name; a number may be the option's own, as in B-25."""
    found = _THING.match(text, end)
    number = _NUMBER.match(text, end)
    return found is not None and not (number and number[1] in asked.options.get(text[start:end], ""))


def _is_group(right: str, asked: Asked) -> bool:
    """Whether the question asks for one of several groups, which A组 then names."""
    return right == "组" and "组" in asked.question


def _is_named(text: str, start: int, left: str, asked: Asked) -> bool:
    """Whether the word before makes the letter a name: 维生素, vitamin, a point, a path."""
    place = start
    if left == " ":
        place = len(text[max(0, start - 10) : start].rstrip(" ")) + max(0, start - 10)
    last = text[place - 1 : place]
    if left not in _SIGNS_BEFORE and last not in _ENDS_BEFORE and not last.isdecimal():
        return False
    if left == "(" and _FUNCTION.search(text, max(0, start - 3), start - 1):
        return (
            text[start - 2] != "P" or text[start] in asked.own_letters or _CHANCE.match(text, start) is None
        )
    if text[max(0, start - 3) : start].strip(" ")[-1:] in {"<", ">"} and _ORDER.search(
        text, max(0, start - 6), start
    ):
        return True
    if left in {"=", "≡"} and _BOND.search(text, max(0, start - 4), start):
        return True
    if left == "/":
        before = text[start - 2 : start - 1]
        return before.isalpha() and before not in LETTERS
    if not _SHARED.match(text, start + 1) and _QUANTITY.search(text, max(0, place - 6), place):
        return True
    if last == "×" and place < start and text[place - 2 : place - 1] in LETTERS:
        return False  # the mark of the option before
    return last in _BEFORE_ENDS and text[max(0, place - 10) : place].lower().endswith(_BEFORE)
