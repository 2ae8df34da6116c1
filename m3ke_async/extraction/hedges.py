"""What takes back what a reply says of an option: doubt in the same clause, a word of correction after it."""

from __future__ import annotations

import re

from m3ke_async.extraction.patterns import Pattern, Words
from m3ke_async.extraction.rules import MENTION

_CLAUSE_START = Pattern(rf".*(?:[{MENTION}。！!？?；;\n，,→⇒]|\.\s)", re.DOTALL)
#: Words before a statement, in its clause, that take it back.
_UNSURE_BEFORE = Words(
    r"如果|虽然|尽管|虽|假如|倘若|假设|若|(?<![主重必需])要是|即使|是否|为什么|为何|怎么会|有人|很多人|不少人|许多人|有些人|大家|以为(?<!可以为)"
    r"|检验|验证|验算|同学|误选|误认|误判|错选|表面上?看|表面上|初看|乍一?看|第一眼|第一反应|(?:起初|最初|一开始|本来)[^，。]{0,4}(?:会|可能|想|以为|倾向|选)"
    r"|容易(?:误|混|错|选错|被|让人)|易[错混](?:项|点|的|\Z)|[干迷][扰惑](?:项|选项|性)"
    r"|例如|比如|示例|样例|范例|格式|其他|其余|另外|其次|否则|不然(?!后)|除非|难道|莫非|切[忌勿莫]|不见得|与其(?!他)"
    r"|(?<!不得)不(?:能|应|该|可|要|会|得|一定|是)?(?:直接)?\Z|别(?:直接)?\Z|没有?\Z|未\Z|勿\Z|比\Z|[并绝决]非\Z|(?<!错)误\Z|未必(?:是)?\Z",
    r"if\b(?<![a-z]if)|at first\b|first glance|initially|tempt|suppos(?:e(?!d)|ing)|might|whether|although"
    r"|though\b|why\b|for example|such as|otherwise|other(?! than\b)|not\b"
    r"|n't\b(?! (?:go wrong|help|be any|forget|deny))|is it\b|than\Z(?<!other than)"
    r"|unless\b|imagin(?:e|ing)\b|false that|let(?:'s| us) say"
    r"|students (?:often|usually|may|tend|confuse|choose|pick|select|think|believe)"
    r"|assum(?:e|ing)\b(?<!\bi assume)(?<!'d assume)(?<!would assume)(?<!'m assuming)(?<!am assuming)"
    r"|doubt\b(?<!\bno doubt)(?<!\ba doubt)(?<!any doubt)(?<!without doubt)"
    r"|\bwas (?:going|about|leaning|inclined)\b|\A\s?(?:had|were) (?:the|it|this|they)\b"
    r"|\A\s?say\Z",
)
#: A denial inside what names the option: "the one that isn't is B".
_RELATIVE = Pattern(r"[tw](?<!\w.)(?:(?<=t)hat|(?<=w)(?:hich|ho))\s[a-z]{2,6}(?:\s?not|n['’]t)\b")
#: A condition with no more than mentions between it and the statement that it takes back.
_SUPPOSED = Pattern(
    r"[如假倘要i](?:(?<=如)果|(?<=假)如|(?<=倘)若|(?<=要)是(?<![主重必需]要是)|f(?<=\bif)\b)"
    r"(?:[^。！!？?；;\n，,]{0,24}|(?<=如果)(?:是|本|这道)?(?:题目?|题干|问)[^。！!？?；;\n]{0,32})\Z"
)
#: Words after a mention that take the statement back.
_UNSURE_AFTER = Pattern(
    r"(?!\s?[，,。.]?\s?为[什何])(?:"
    rf"\s{{0,2}}(?:[吗呢？?✗✘❌]|的话|还是|中选|之中|也?不(?:对|正确|成立)|[^{MENTION}。\n]{{0,3}}(?:格式|形式)|是(?:错|不)"
    r"|(?:is|are) (?:wrong|incorrect|false|not)"
    rf"|[，,]\s?还是\s?[{MENTION}]|[；;，,]\s?(?:否则|不然|otherwise)[^。\n]{{0,12}}[{MENTION}])|[^{MENTION}。.，,；;\n]{{0,6}}[吗？?]"
    r"|[。.，,]\s?(?:对|对不对|对吧|是|是吧|是不是|right|correct|isn't it)[吗？?]"
    rf"|[^{MENTION}，,。；;\n]{{0,12}}[，,。；;]\s?(?:[但而]是?)?[这此][种个样一]{{0,2}}的?(?:算法|想法|解法|思路|计算|推理|选法)"
    r"[^，,。\n]{0,4}(?:错|有误|不(?:正确|对|成立)))"
)
#: One of two: 不是A就是B, 非A即B.
_EITHER = Pattern(rf"(?<!不，)(?:不[是选]|非)[{MENTION}][，,]?\s?(?:就|即|便)[是选为]?\Z")
#: What no longer holds.
_PAST = Pattern(r"(?:曾经?|原来|原先|以前|过去|一度)也?[是为]?\Z")
_OF_THE_PAST = Pattern(r"[曾原朝代史年前去]|时期")
#: After a verdict: it is asked, or it is the claim that is wrong.
_DISPUTED = Pattern(
    rf"[^{MENTION}。；;，,\n?？]{{0,16}}(?:吗|[?？])"
    rf"|[^{MENTION}。；;，,\n]{{0,16}}的?(?:说法|观点|看法|认识|想法|结论)[^{MENTION}。；;，,\n]{{0,4}}(?:错|有误|不(?:正确|对|成立|准确|妥))"
)
_RETRACT = Pattern(
    r"(?:\A|[。！!？?\n，,…—\-.\s(（])(?:不对|不[，,]|错了|等等|等一下|更正|纠正|修正|重新|抱歉|口误|笔误|哦|但?仔细|但?再(?:想|看)|但?后来"
    r"|不过(?:仔细|再)|wait|actually|no,|correction|sorry|oops|hmm|hold on|on second thought"
    r"|let me re|i made|my mistake|scratch that)"
    r"|改为|改选|更正为|修改为|应改|与题意不符|不合题意|(?:前面|上面|之前|刚才|刚刚|以上)[^。\n]{0,12}(?:有误|错|不对|不成立)|算错|搞错|看错|记错|弄错|漏掉|漏算"
)
#: Right after the option at the start: it was only tried.
_RECANTED = Pattern(
    r"\s?[?？。.…—，,!！-]{0,3}\s?[啊哦呃嗯哎]?(?:不对(?!的)|不[，,。]|错了|等(?:等|一下)[，,。！!…—]|no[,.!]|wait\b|hmm)|\s?[?？]\s?\S"
    r"|\s?[，,]\s?(?:对|是|right|isn't it)[吗吧?？]"
)
#: What only seems to hold.
_SEEMING = Pattern(r"看似|貌似|似乎|看起来|乍|容易误|\bseem|\bappear|\blook|tempting|plausible")
_WHETHER = Pattern(r"[是能可]否|\bwhether\b")
#: A condition that does not hold, of which a statement with "would" is the consequence.
_UNREAL = Pattern(
    r"\bif (?:the |this |that )?(?!you\b|we\b)[a-z]{2,20} (?:[a-z]{2,12} ){0,2}?"
    r"(?:were|was|had|[a-z]{2,12}ed|meant|said)\b"
    r"|\b(?:had|were) (?:the|this|that|it|they)\b"
)
_WOULD = Pattern(r"\bwould\b|'d\b")
_CONTRAST = Pattern(r"但|然而|实际|其实|却|不过|\bbut\b|however|actually|in fact")


def clause_before(form: str, place: int, reach: int = 24) -> str:
    """What stands in the clause before the place, at most so far back."""
    before = form[max(0, place - reach) : place]
    cut = _CLAUSE_START.match(before)
    return before[cut.end() :] if cut else before


def doubts(before: str) -> bool:
    """Whether these words of a clause take back the statement that follows them."""
    return bool(before) and _UNSURE_BEFORE.search(_RELATIVE.sub("", before.rstrip(" \\"))) is not None


def is_supposed(form: str, place: int, at: int) -> bool:
    """Whether a condition stands before the statement that begins at the place, in its clause."""
    return _SUPPOSED.search(form[max(0, place - 40) : at]) is not None


def is_unreal(form: str, place: int, end: int) -> bool:
    """Whether what is stated between the places would hold only under a condition that does not."""
    if not _WOULD.search(form, place, end):
        return False
    start = max(form.rfind(stop, max(0, place - 80), place) for stop in ".!?;\n") + 1
    return _UNREAL.search(form, start, end + 60) is not None


def is_meant_otherwise(text: str, place: int) -> bool:
    """Whether the words before the place, in its clause, doubt what stands there or only suppose it."""
    said = text[max(0, place - 80) : place].lower()
    if doubts(clause_before(said, len(said))):
        return True
    start = len(said) - len(clause_before(said, len(said), 80))
    return is_unreal(said + text[place : place + 80].lower(), start, len(said))


def is_doubted_after(form: str, place: int) -> bool:
    """Whether the words at the place take back the statement before them."""
    return _UNSURE_AFTER.match(form, place) is not None


def is_tried(form: str, place: int) -> bool:
    """Whether the words at the place, after the first option of a reply, say that it was only tried."""
    return _RECANTED.match(form, place) is not None


def is_weighed(form: str, start: int, end: int, gap: str) -> bool:
    """Whether it is only asked, or only seems, that what stands between the places holds."""
    if _WHETHER.search(form, start, end):
        return True
    return _SEEMING.search(gap) is not None and _CONTRAST.search(form, end) is not None


def is_disputed(form: str, place: int) -> bool:
    """Whether what was said up to the place is only asked, or is called wrong itself."""
    return _DISPUTED.match(form, place) is not None


def is_either(form: str, at: int) -> bool:
    """Whether the mention at the place is the second of two of which one is meant."""
    return _EITHER.search(form, max(0, at - 8), at) is not None


def is_past(said: str, question: str) -> bool:
    """Whether this only held once, where the question does not ask about the past."""
    return _PAST.search(said) is not None and _OF_THE_PAST.search(question) is None


def is_retracted(form: str, start: int, end: int) -> bool:
    """Whether something between the two places takes back what was said before."""
    return _RETRACT.search(form, start, end) is not None
