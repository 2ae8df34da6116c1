"""What each clause of a reply says about the options that it names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.mentions import FIRST
from m3ke_async.extraction.rules import Rule, Says, Tier, predicates, statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.mentions import Mention

#: Signs that the question asks for what does not hold, or that a clause speaks of it.
NEGATIVE = re.compile(
    r"不正确|错误|不属于|不是|不能|不可能|不符合|有误|不恰当|不包括|不当|不合|不对|不准确|不会|无关|不包含|不需要|不应|不得|不可"
    r"|不存在|不同于|除外|不成立|不适|不宜|不享有|不具|没有|不在|不利|不必|不构成|不参与|不含|不发生|不影响|不一致|不受|无法|并非"
    r"|\bexcept\b|\b(?:is|are|was|were|does|do|did|can|could|has|have|would|should|will|must)\s?n[o'’]t\b"
    r"|\bnot\s(?:true|correct|an?|one|likely|considered|included|usually|typically|part|the)\b|\bfalse\b|\bincorrect|\bleast\b|\buntrue|\bwrong|\bcannot\b",
    re.IGNORECASE,
)
_POSITIVE = re.compile(r"(?<!不)正确|(?<!不)符合|对的|成立|\bcorrect|\btrue\b|\bright\b")
_PAUSE = "，,。；;\n"
_TOPIC = re.compile(r"\s{0,3}[:：,，]")
_CLAUSE = re.compile(r"[\ue000\ue001。！!？?；;\n，,]|\.\s")
#: Words before a statement, in its clause, that take it back.
_UNSURE_BEFORE = re.compile(
    r"如果|假如|倘若|假设|若|要是|即使|是否|为什么|为何|怎么会|有人|同学|误选|误认|错选|例如|比如|格式|其他|其余|另外"
    r"|\bif\b|suppose|might|whether|\bwhy\b|for example|such as|other|not\b|n't\b|\bis it\b"
    r"|(?:不|别|没有?|并非|未必)(?:能|应|该|可|要|会|一定|是)?(?:直接)?\Z"
)
#: Words after a mention that take the statement back.
_UNSURE_AFTER = re.compile(
    r"\s{0,2}(?:[吗呢？?]|的话|还是|中选|之中|也?不(?:对|正确|成立)|[^\ue000。\n]{0,3}(?:格式|形式)|是(?:错|不)|(?:is|are) (?:wrong|incorrect|false|not))|[^\ue000。；;\n]{0,6}[吗？?]"
)
_RETRACT = re.compile(
    r"(?:\A|[。！!？?\n，,…—\-.\s])(?:不对|不[，,]|错了|等等|等一下|更正|纠正|修正|重新|抱歉|口误|哦|但?仔细|但?再(?:想|看)|但?后来|不过(?:仔细|再)|wait|actually"
    r"|no,|correction|sorry|oops|hmm|hold on|on second thought|let me re|i made|my mistake|scratch that)"
    r"|改为|改选|更正为|修改为|应改"
)
#: What only seems to hold.
_SEEMING = re.compile(r"看似|貌似|似乎|看起来|乍|容易误|\bseem|\bappear|\blook|tempting|plausible")
_SENTENCE_END = re.compile(r"[。；;\n!！?？]|\.\s")
#: All that may stand between the end of a sentence and a predicate that is still about its subject.
_SUBJECT = re.compile(
    r"[。.；;\n!！?？,，:：(（\s但而因此所以故可见即这该此它其个一种说法观点选项表述叙描陈是也都均皆并显然为明]{0,16}"
    r"(?:(?:the|this|that|it|statement|option|is|are|also)\s){0,4}\Z"
)


class Event(NamedTuple):
    """What one clause says.

    Attributes:
        place: where the mention begins.
        end: where it ends.
        letters: the letters that it names.
        says: what is said of them.
        rule: the rule that read it.
        mention: the mention's place in the list of mentions.
    """

    place: int
    end: int
    letters: str
    says: Says
    rule: str
    mention: int


class Grammar:
    """A table of rules, made ready to read with."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.names = frozenset(rule.name for rule in rules)
        self._rules = rules
        self._statements = statements(rules)
        self._predicates = predicates(rules)
        self._whole = [
            (rule.name, re.compile(rule.pattern))
            for rule in rules
            if rule.tier is Tier.WHOLE and rule.pattern
        ]

    def whole(self, form: str) -> str | None:
        """The rule by which the shape holds mentions alone, if one does."""
        return next((name for name, pattern in self._whole if pattern.match(form)), None)

    def events(
        self, form: str, mentions: Sequence[Mention], listed: set[int], *, negative: bool
    ) -> list[Event]:
        """All that the shape says of its mentions, in order."""
        places = {mention.start: place for place, mention in enumerate(mentions)}
        found: dict[int, Event] = {}
        for match in self._statements.finditer(form):
            rule = self._rules[int(str(match.lastgroup)[1:])]
            index = places.get(form.find(FIRST, match.start(), match.end()))
            if index is None:
                continue
            event = self._stated(form, match, rule, mentions, index, listed, negative=negative)
            if event is not None:
                found[index] = event
        for index in range(len(mentions)):
            if index not in found:
                event = self._predicated(form, mentions, index)
                if event is not None:
                    found[index] = event
        return [found[index] for index in sorted(found)]

    def _stated(
        self,
        form: str,
        match: re.Match[str],
        rule: Rule,
        mentions: Sequence[Mention],
        index: int,
        listed: set[int],
        *,
        negative: bool,
    ) -> Event | None:
        mention = mentions[index]
        says = rule.says
        if says in (Says.ANSWER, Says.LIKELY, Says.ONLY, Says.BUT, Says.NONE):
            inside = form[match.start() : mention.start]
            if index in listed and ("\n" in inside or rule.name.startswith("leading")):
                return None
            before = _clause_before(form, match.start() + (match[0][0] in _PAUSE))
            after = "" if says in (Says.ONLY, Says.BUT) else form
            if not rule.name.startswith("leading") and _is_unsure(before, after, mention.end):
                return Event(mention.start, mention.end, mention.letters, Says.UNSURE, rule.name, index)
            if rule.name.startswith("leading") and (
                self._is_topic(form, mention)
                or self._predicates.match(form[mention.end : mention.end + 12].lstrip(" :：.。,，、(（"))
            ):
                return None
            if says in (Says.ONLY, Says.BUT):
                says = self._compared(form, mention.end, says, negative=negative)
            elif says is Says.LIKELY:
                said = before + inside
                if NEGATIVE.search(said) and not negative:
                    says = Says.FALSE
                elif negative and _POSITIVE.search(said) and not NEGATIVE.search(said):
                    says = Says.TRUE
        return Event(mention.start, mention.end, mention.letters, says, rule.name, index)

    @staticmethod
    def _is_topic(form: str, mention: Mention) -> bool:
        """Whether the words of an option set a topic, as in 选项B：, which a bare letter does not."""
        worded = mention.start + 1 < mention.core[0] or mention.core[1] + 1 < mention.end
        return worded and not mention.told and _TOPIC.match(form, mention.end) is not None

    def _compared(self, form: str, end: int, says: Says, *, negative: bool) -> Says:
        """What "only this one" or "all but this one" comes to, by the predicate that follows."""
        tail = form[end : end + 24]
        found = self._predicates.search(tail)
        fits = Says.FALSE if negative else Says.TRUE
        holds = None if found is None else self._rules[int(str(found.lastgroup)[1:])].says
        if says is Says.ONLY:
            return Says.LIKELY if holds is None or holds is fits else holds
        return Says.REJECT if holds is fits else Says.LIKELY

    def _predicated(self, form: str, mentions: Sequence[Mention], index: int) -> Event | None:
        mention = mentions[index]
        limit = mentions[index + 1].start if index + 1 < len(mentions) else len(form)
        tail = form[mention.end : min(limit, mention.end + 80)]
        found = self._predicates.search(tail)
        if found is None:
            return None
        gap = tail[: found.start()]
        end = _SENTENCE_END.search(gap)
        if end and not _SUBJECT.search(gap, end.start()):
            return None
        if "答案" in gap or len(gap) > 60:
            return None
        rule = self._rules[int(str(found.lastgroup)[1:])]
        if _is_unsure(_clause_before(form, mention.start), "", 0) or _SEEMING.search(gap):
            return Event(mention.start, mention.end, mention.letters, Says.UNSURE, rule.name, index)
        return Event(mention.start, mention.end, mention.letters, rule.says, rule.name, index)


def _clause_before(form: str, place: int) -> str:
    before = form[max(0, place - 24) : place]
    cut = None
    for cut in _CLAUSE.finditer(before):
        pass
    return before[cut.end() :] if cut else before


def _is_unsure(before: str, form: str, end: int) -> bool:
    if before and _UNSURE_BEFORE.search(before):
        return True
    return bool(form) and _UNSURE_AFTER.match(form, end) is not None


def is_retracted(form: str, start: int, end: int) -> bool:
    """Whether something between the two places takes back what was said before."""
    return _RETRACT.search(form, start, end) is not None
