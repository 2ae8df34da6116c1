"""What a question asks for: the right option, the wrong one, or the one that is not of a kind."""

from __future__ import annotations

from enum import StrEnum

from m3ke_async.extraction.patterns import Pattern, Words


class Asks(StrEnum):
    """What a question asks for; it decides what a verdict on an option means.

    To a question for the wrong statement, an option called wrong is the answer. To one for what is
    not of a kind, an option said not to be of it is the answer, while one that is called right may be
    meant as the answer or as of the kind.
    """

    RIGHT = "right"
    WRONG = "wrong"
    NOT = "not"


RIGHT, WRONG, NOT = Asks

_WRONG = Words(
    r"不正确|错误|错的|有误|不恰当|不当|不对|不准确|不成立|不妥|不合理|不确切|不合适|不科学|不真实"
    r"|有(?:语病|歧义|毛病|错别字|别字)|存在(?:语病|歧义|毛病|错别字|别字)",
    r"\b(?:false\b|incorrect|untrue|wrong)|n[o'’]t (?:true|correct|right|accurate|valid)"
    r"|\b(?:contains?|has|have)\s(?:an?\s)?(?:[a-z]{2,16}\s)?(?:error|mistake)",
)
#: What did not happen may be a cause that the question asks about.
_NO_CAUSE = "(?!.{0,30}(?:原因|因为|结果|后果|影响|意义))"
_NOT = Words(
    r"不属|不(?:就|都)?是|不能|不可|不符|不包|不会|无关|不需|不由|不互|不应|不得|不存在|不同于|除外|除了.{0,4}\Z|不适|不宜|不享有|不具|没有|不在"
    r"|不利|不必|不构成|不参与|不含|不发生|不影响|不一致|不受|无法|并非|不起|未.{1,8}(?:哪|何|的[是有一])|不作为|不产生|不需要"
    rf"|未[曾被]{_NO_CAUSE}|不曾{_NO_CAUSE}|从未{_NO_CAUSE}",
    r"\bexcept\b|\b(?:is|are|was|were|does|do|did|can|could|has|have|would|should|will|must)\s?n[o'’]t\b"
    r"|\bnot\s(?:an?|one|likely|considered|included|usually|typically|part|the)\b|\bleast\b",
)
#: What a question denies, after its denial and the helping verb: 计入 of 不应计入.
_DENIED = Pattern(
    r"(?:[不未非]|没有)(?:曾经?|被|应该?|能够?|可以?|会|需要?|得|宜|该|必)?([\u4e00-\u9fff]{2})"
)
#: What a question says that its answer is not: the kind of 不是某类 and of "is not a kind".
_DENIED_KIND = Pattern(
    r"(?:不属于|不(?:就|都)?是|不包括在?|不作为|不列入|不在)由?(?!下|以|哪|其)"
    r"([^，。；()（）\s]{1,20}?)(?:的(?:一?[项个种]|选项)?|之[一列])?(?:是|有|为)?\Z"
    r"|([^，。；()（）\s]{2,20})(?:不包括|不包含|不含)\Z"
    r"|\ball\s(?:of\s)?the\sfollowing\s(?:are|is|were|may\sbe|can\sbe)\s([a-z][a-z -]{2,60}?),?\sexcept\Z"
    r"|\bnot\s(?:considered\s)?(?:an?\s|(?:one\sof\s|part\sof\s)?(?:the\s)?)?([a-z][a-z -]{2,40})\Z"
)
_SENTENCE_END = Pattern(r"[。！；;!\n.?](?:(?<![.?])|(?= ))")
#: A last clause that only says what to do; the question stands before it.
_ALL_BUT = Pattern(r"除了?(?:下列|以下|下面)?(?:哪|何|[(（])")
#: What denies a flaw asks for what is right.
_FLAWLESS = Pattern(r"(?:没有|不存在|不含|无)(?:任何)?(?:语病|语法错误|错误|错别字|别字|歧义|毛病|问题)")
_REQUEST = Words(r"请|选出|找出|作答", r"\b(?:choose|select)")
#: What may stand after a question's last word.
_MARKS = " ?？:：()（）_.。\n\u3000"
#: The end of a question, which holds what it asks for.
_END = 120


def asks(question: str) -> Asks:
    """What the question asks for, by its last clause."""
    end = question[-_END:].lower().rstrip(_MARKS)
    sentence = end
    for cut in _SENTENCE_END.finditer(end):
        sentence = end[cut.end() :]
    if not sentence.isascii():
        sentence = sentence.replace(" ", "")
        clause = sentence.replace(",", "，").rpartition("，")[2]
        if len(clause) > 3 and not _REQUEST.search(clause):
            sentence = clause
    sentence = without_flawless(sentence)
    if _WRONG.search(sentence):
        return WRONG
    return NOT if _NOT.search(sentence) or _ALL_BUT.search(end) else RIGHT


def denied_verb(question: str) -> str:
    """The words that the last denial of a question is about, empty without one."""
    found = _DENIED.findall(question[-_END:])
    return found[-1] if found else ""


def denied_kind(question: str) -> str:
    """What a question says that its answer is not, empty where it denies something else."""
    found = _DENIED_KIND.search(question.lower().rstrip(_MARKS)[-_END:])
    return next(filter(None, found.groups())).removesuffix("s") if found else ""


def without_flawless(said: str) -> str:
    """The words without a denial of flaws, which calls something right."""
    return _FLAWLESS.sub("", said)


def denies(said: str) -> bool:
    """Whether the words hold a denial or call something wrong."""
    return _NOT.search(said) is not None or _WRONG.search(said) is not None
