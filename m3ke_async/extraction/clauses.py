"""What each clause of a reply says about the options that it names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.rules import MENTION, Cued, Hit, Place, Rule, Says, Tier, placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.mentions import Mention, Shape

#: Signs that the question asks for what does not hold, or that a clause speaks of it.
NEGATIVE = re.compile(
    r"不正确|错误|不属于|不是|不能|不可能|不符合|有误|不恰当|不包括|不当|不合|不对|不准确|不会|无关|不包含|不需要|不应|不得|不可"
    r"|不存在|不同于|除外|不成立|不适|不宜|不享有|不具|没有|不在|不利|不必|不构成|不参与|不含|不发生|不影响|不一致|不受|无法|并非"
    r"|\bexcept\b|\b(?:is|are|was|were|does|do|did|can|could|has|have|would|should|will|must)\s?n[o'’]t\b"
    r"|\bnot\s(?:true|correct|an?|one|likely|considered|included|usually|typically|part|the)\b"
    r"|\bfalse\b|\bincorrect|\bleast\b|\buntrue|\bwrong",
    re.IGNORECASE,
)
_POSITIVE = re.compile(r"(?<!不)正确|(?<!不)符合|对的|成立|\bcorrect|\btrue\b|\bright\b")
_PAUSE = "，,。；;\n"
_CLAUSE_START = re.compile(rf".*(?:[{MENTION}。！!？?；;\n，,]|\.\s)", re.DOTALL)
#: Words before a statement, in its clause, that take it back.
_UNSURE_BEFORE = re.compile(
    r"如果|假如|倘若|假设|若|要是|即使|是否|为什么|为何|怎么会|有人|同学|误选|误认|错选|例如|比如|格式|其他|其余|另外"
    r"|if\b(?<![a-z]if)|suppose|might|whether|why\b|for example|such as|other|not\b|n't\b|is it\b"
    r"|不(?:能|应|该|可|要|会|一定|是)?(?:直接)?\Z|别(?:直接)?\Z|没有?\Z|并非\Z|未必(?:是)?\Z"
)
#: Words after a mention that take the statement back.
_UNSURE_AFTER = re.compile(
    rf"\s{{0,2}}(?:[吗呢？?]|的话|还是|中选|之中|也?不(?:对|正确|成立)|[^{MENTION}。\n]{{0,3}}(?:格式|形式)|是(?:错|不)"
    rf"|(?:is|are) (?:wrong|incorrect|false|not))|[^{MENTION}。；;\n]{{0,6}}[吗？?]"
)
_RETRACT = re.compile(
    r"(?:\A|[。！!？?\n，,…—\-.\s])(?:不对|不[，,]|错了|等等|等一下|更正|纠正|修正|重新|抱歉|口误|哦|但?仔细|但?再(?:想|看)|但?后来"
    r"|不过(?:仔细|再)|wait|actually|no,|correction|sorry|oops|hmm|hold on|on second thought|let me re|i made|my mistake|scratch that)"
    r"|改为|改选|更正为|修改为|应改"
)
_SENTENCE_END = re.compile(r"[。；;\n!！?？]|\.\s")
#: All that may stand between the end of a sentence and a predicate that is still about its subject.
_SUBJECT = re.compile(
    r"[。.；;\n!！?？,，:：(（\s但而因此所以故可见即这该此它其个一种说法观点选项表述叙描陈是也都均皆并显然为明]{0,16}"
    r"(?:(?:the|this|that|it|statement|option|is|are|also)\s){0,4}\Z"
)
#: What only seems to hold.
_SEEMING = re.compile(r"看似|貌似|似乎|看起来|乍|容易误|\bseem|\bappear|\blook|tempting|plausible")
_NEVER, _NEGATED, _LINE_END = (re.compile(pattern) for pattern in ("(?!)", r"[不非没未]|not\b|n't", "\n"))
#: What must not stand between a mention and what is said of it.
_SPOILS = {says: _NEVER for says in Says} | {
    Says.ANSWER: _NEGATED,
    Says.LIKELY: _NEGATED,
    Says.REJECT: _NEGATED,
    Says.TICK: _LINE_END,
    Says.CROSS: _LINE_END,
}
_TOPIC = re.compile(r"\s{0,3}[:：,，]")
#: How far back a cue is looked for, and how far on a predicate.
_BACK, _ON = 100, 80
#: Stands for more text after the stretch that a rule sees.
_MORE = "\ue002"


class Event(NamedTuple):
    """What one clause says.

    Attributes:
        at: where its mention stands in the shape.
        letters: the letters that it names.
        says: what is said of them.
        rule: the rule that read it.
        mention: the mention.
    """

    at: int
    letters: str
    says: Says
    rule: str
    mention: Mention


class Grammar:
    """A table of rules, made ready to read with."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.names = frozenset(rule.name for rule in rules)
        self._whole = [(rule, re.compile(rf"(?:{rule.pattern})\Z")) for rule in placed(rules, Place.WHOLE)]
        self._start = [(rule, re.compile(rule.pattern)) for rule in placed(rules, Place.START)]
        self._before = Cued(placed(rules, Place.BEFORE, latin=False))
        self._before_latin = Cued(placed(rules, Place.BEFORE, latin=True), words=True)
        after = placed(rules, Place.AFTER, latin=False), placed(rules, Place.AFTER, latin=True)
        firm = (Says.ANSWER, Says.LIKELY, Says.REJECT)
        self._after = [
            [
                Cued([rule for rule in part if (rule.says in firm) is first], words=latin)
                for latin, part in enumerate(after)
            ]
            for first in (True, False)
        ]

    def whole(self, form: str) -> str | None:
        """The rule by which the shape holds mentions alone, if one does."""
        return next((rule.name for rule, pattern in self._whole if pattern.match(form)), None)

    def events(
        self, shape: Shape, mentions: Sequence[Mention], listed: set[int], *, negative: bool
    ) -> list[Event]:
        """What the shape says of its mentions, in order."""
        found: list[Event] = []
        for index, mention in enumerate(mentions):
            event = self._stated(shape, mention, index, index in listed, negative=negative)
            event = event or self._predicated(shape, mention, index, negative=negative)
            if event is not None:
                found.append(event)
        return found

    def _stated(
        self, shape: Shape, mention: Mention, index: int, listed: bool, *, negative: bool
    ) -> Event | None:
        """What the words before the mention say of it."""
        form, at = shape.text, shape.places[index]
        hit = self._leading(shape, mention, at) if index == 0 and not listed else None
        if hit is not None:
            return Event(at, mention.letters, hit.says, hit.name, mention)
        found = self._cued(shape, index, at)
        if found is None:
            return None
        rule, said = found.rule, form[found.start : at]
        says = rule.says
        if says not in (Says.ANSWER, Says.LIKELY, Says.ONLY, Says.BUT):
            return Event(at, mention.letters, says, rule.name, mention)
        if listed and "\n" in said:
            return None
        before = _clause(form, found.start + (form[found.start] in _PAUSE))
        compares = says in (Says.ONLY, Says.BUT)
        if _UNSURE_BEFORE.search(before) or (not compares and _UNSURE_AFTER.match(form, at + 1)):
            says = Says.UNSURE
        elif compares:
            says = self._compared(form, at, says, negative=negative)
        elif says is Says.LIKELY:
            says = _by_polarity(before + said, negative=negative)
        return Event(at, mention.letters, says, rule.name, mention)

    def _leading(self, shape: Shape, mention: Mention, at: int) -> Rule | None:
        form = shape.text
        for rule, pattern in self._start:
            if not pattern.match(form):
                continue
            judged = self._first_after(form, at + 1, min(shape.next_place(0), at + 16))
            if judged and judged.start - at <= 4 and judged.rule.tier > Tier.STATEMENT:
                continue
            if not (mention.worded and not mention.told and _TOPIC.match(form, at + 1)):
                return rule
        return None

    def _cued(self, shape: Shape, index: int, at: int) -> Hit | None:
        form = shape.text
        start = max(shape.places[index - 1] + 1 if index else 0, at - _BACK)
        if start == at and index:
            return None
        window = form[start : at + 17] if start else "\n" + form[: at + 17]
        start -= not start
        if at + 17 < len(form):
            window += _MORE
        size = at - start
        hits = [
            hit
            for cued in (self._before, self._before_latin)
            if (hit := cued.first(window, 0, len(window))) and hit.start <= size
        ]
        if not hits:
            return None
        first = min(hits, key=lambda hit: hit.start)
        return Hit(first.rule, first.start + start, first.end + start)

    def _first_after(self, form: str, start: int, end: int) -> Hit | None:
        """The first predicate between the two places that is near enough to its start."""
        for strength in self._after:
            hits = [hit for cued in strength if (hit := _near_enough(cued, form, start, end))]
            if hits:
                return min(hits, key=lambda hit: hit.start)
        return None

    def _compared(self, form: str, at: int, says: Says, *, negative: bool) -> Says:
        """What "only this one" or "all but this one" comes to, by the predicate that follows."""
        found = self._first_after(form, at + 1, at + 24)
        fits = Says.FALSE if negative else Says.TRUE
        holds = None if found is None else found.rule.says
        if says is Says.ONLY:
            return holds if holds in (Says.TRUE, Says.FALSE) and holds is not fits else Says.LIKELY
        return Says.REJECT if holds is fits else Says.LIKELY

    def _predicated(self, shape: Shape, mention: Mention, index: int, *, negative: bool) -> Event | None:
        """What the words after the mention say of it."""
        form, at = shape.text, shape.places[index]
        limit = min(shape.next_place(index) + 1, at + _ON)
        found = self._first_after(form, at + 1, limit)
        if found is None:
            return None
        gap = form[at + 1 : found.start]
        end = _SENTENCE_END.search(gap)
        if "答案" in gap or (end and not _SUBJECT.search(gap, end.start())):
            return None
        says = found.rule.says
        before = _clause(form, at)
        if _SEEMING.search(gap) or _UNSURE_BEFORE.search(before):
            says = Says.UNSURE
        return Event(at, mention.letters, says, found.rule.name, mention)


def _near_enough(cued: Cued, form: str, start: int, end: int) -> Hit | None:
    """The first match that begins within its rule's reach; marks do not reach into the next line."""
    place = start
    while place < end:
        hit = cued.first(form, place, end)
        if hit is None:
            return None
        gap = form[start : hit.start]
        if len(gap) <= hit.rule.reach and not _SPOILS[hit.rule.says].search(gap):
            return hit
        place = hit.start + 1
    return None


def _by_polarity(said: str, *, negative: bool) -> Says:
    """What a likely statement comes to: "the wrong one is B" answers only a question for the wrong one."""
    wrong = NEGATIVE.search(said)
    if wrong and not negative:
        return Says.FALSE
    if negative and not wrong and _POSITIVE.search(said):
        return Says.TRUE
    return Says.LIKELY


def _clause(form: str, place: int) -> str:
    """What stands in the clause before the place."""
    before = form[max(0, place - 24) : place]
    cut = _CLAUSE_START.match(before)
    return before[cut.end() :] if cut else before


def is_retracted(form: str, start: int, end: int) -> bool:
    """Whether something between the two places takes back what was said before."""
    return _RETRACT.search(form, start, end) is not None
