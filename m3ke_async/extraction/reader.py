"""From mentions to one choice: statements first, then verdicts, then the rest; nothing is guessed."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.mentions import LETTERS, Mention, find_letters, mark_listed, shape
from m3ke_async.extraction.normalise import MENTION
from m3ke_async.extraction.rules import RULES, Rule, Says, compiled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Pick(NamedTuple):
    """What a stretch of text chooses.

    Attributes:
        letters: exactly one for a choice, several for an ambiguous reply, none for neither.
        rule: the rule that decided.
        start: where in the text the choice stands.
        end: where it ends.
    """

    letters: str
    rule: str = ""
    start: int = 0
    end: int = 0


NOTHING = Pick("")

_CLAUSE = re.compile(r"[。！!？?；;\n，,]|\.\s")
_UNSURE_BEFORE = re.compile(
    r"如果|假如|倘若|假设|要是|即使|是否|为什么|为何|有人|误选|错选|\bif\b|suppose|might|whether|why\b|不(?:能|应|该|可|要|会)?(?:直接)?\Z|别\Z|没有?\Z"
    r"|并非\Z|\bnot\s\Z|n't\s\Z|从\s?\Z|请\Z|例如|比如|格式|容易\Z"
)
_UNSURE_AFTER = re.compile(r"\s{0,2}(?:[吗呢？?]|的话|还是|中选|之中|不(?:对|正确|成立)|是(?:错|不))")
_RETRACT = re.compile(
    r"(?:^|[。！!？?\n，,…—\-.\s])(?:不对|不，|错了|等等|等一下|更正|纠正|修正|重新|抱歉|口误|哦|仔细想|再想|"
    r"wait|actually|no,|correction|sorry|oops|hmm|hold on"
    r"|on second thought|let me re|i made|my mistake)|改为|改选|应改|更正为|而是"
)
_NEGATIVE = re.compile(
    r"不正确|错误|不属于|不是|不能|不可能|不符合|有误|不恰当|不包括|不当|不合|不对|不准确|不会|无关|不包含|不需要|不应|不得|不可|不存在|不同|除外|未|"
    r"\bexcept\b|\bnot\b|\bfalse\b|incorrect|\bleast\b|untrue|wrong",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"(?P<false>不(?:太|完全|够|一定|是|那么|能算|算)?(?:正确|对|准确|符合|恰当|成立|合理|属实|妥|合适|适合|合题意|精确)|错误|错(?=[的了。，,;；\s]|$)|有误|非正确|并非|不属于|不可能|"
    r"[✗×✘❌☒╳]|\bincorrect|\bwrong\b|\bfalse\b|\bnot\b|\binaccurate|\bisn't|\bdoesn't|\bcannot|\bcan't|\buntrue)"
    r"|(?P<true>正确(?!答案|选项|的是)|符合|成立|准确|恰当|无误|属实|合理|(?<![不针相])对(?=[的。，,;；\s]|$)|属于|[✓✔✅√☑]|\bcorrect\b|\btrue\b|\bright\b|\baccurate\b)"
)
_GENERIC = re.compile(
    r"\s?[。.,，:：;；(（]?\s?(?:这|该|此|它|说法|观点|是|也|都|均|皆|表述|叙述|描述|选项|的|this|that|is|are|statement|\s)*\Z"
)
_LEAD = re.compile(rf"(?:[\s:：.。,，*#>-]|is\b|为|是|案|assistant|助手|(?:\d{{1,2}}[.、]))*(?={MENTION})")
_AFTER_LEAD = re.compile(
    r"\s*(?:$|[.。．,，:：、)）;；!！\n<\[【]|解析|解释|分析|理由|原因|因为|题目|答案|根据)| [^a-z\s]"
)
_CUT = re.compile(
    r"(?:\n\s*|(?<=[A-J]))(?:题目|问题|下一题|第\d+题|例题|question\s?\d*|q\d*|用户|user|human|提问|instruction|请你回答)\s?[:：]|<\|im_start\|>|<\|endoftext\|>|</s>|<\|eot_id\|>|<eos_token>",
    re.IGNORECASE,
)


class Context(NamedTuple):
    """What is known of the question.

    Attributes:
        options: text by letter, in one alphabet, without markup; may be empty.
        question: the question in one alphabet.
        negative: whether it asks for the option that is wrong, or not one of.
        names: question and options, whose own letters are no mentions.
    """

    options: Mapping[str, str]
    question: str
    negative: bool
    names: str


def is_negative(question: str) -> bool:
    """Whether the last sentence of the question asks for the option that does not hold."""
    return bool(_NEGATIVE.search(question, max(0, len(question.rstrip()) - 40)))


class Event(NamedTuple):
    """What one clause says about options."""

    place: int
    end: int
    letters: str
    says: Says
    rule: str


class Reader:
    """Reads replies by a set of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = {rule.name: rule for rule in rules}
        stated = [rule for rule in rules if rule.pattern]
        self._stated = stated
        self._pattern = compiled(stated)

    def read(self, text: str, context: Context) -> Pick:
        """What the text, without thoughts, chooses; the first stretch that chooses counts."""
        start = 0
        for cut in _CUT.finditer(text):
            if text[start : cut.start()].strip():
                pick = self._segment(text, start, cut.start(), context)
                if pick.letters:
                    return pick
            start = cut.end()
        return self._segment(text, start, len(text), context)

    def _segment(self, whole: str, start: int, end: int, context: Context) -> Pick:
        text = whole[start:end]
        mentions = find_letters(text, context.options, context.names)
        if not mentions:
            return NOTHING
        pick = self._choose(text, mentions, context)
        return pick._replace(start=pick.start + start, end=pick.end + start) if pick.letters else pick

    def _choose(self, text: str, mentions: list[Mention], context: Context) -> Pick:
        listed = mark_listed(mentions, len(text))
        form = shape(text, mentions)
        by_start = {mention.start: place for place, mention in enumerate(mentions)}
        events = self._events(form, mentions, by_start, listed, context)
        stated = [event for event in events if event.says in (Says.ANSWER, Says.LIKELY)]
        lead = self._lead(form, mentions, listed)
        if lead is not None and not any(
            e.place <= lead.place < e.end or e.place == lead.place for e in stated
        ):
            stated.insert(0, lead)
        pick = self._last_standing(form, stated)
        if pick is not None:
            return pick
        return self._verdict(events, form, mentions, listed, context)

    def _events(
        self, form: str, mentions: list[Mention], by_start: dict[int, int], listed: set[int], context: Context
    ) -> list[Event]:
        events: list[Event] = []
        for found in self._pattern.finditer(form):
            rule = self._stated[int(str(found.lastgroup)[1:])]
            place = form.find(MENTION, found.start(), found.end())
            index = by_start.get(place)
            if index is None:
                continue
            mention = mentions[index]
            before = form[max(0, found.start() - 24) : found.start()]
            cuts = [cut.end() for cut in _CLAUSE.finditer(before)]
            clause = before[cuts[-1] :] if cuts else before
            inside = form[found.start() : place]
            says = rule.says
            if says in (Says.ANSWER, Says.LIKELY):
                if index in listed and "\n" in inside and not mention.told and _next_listed(index, listed):
                    continue
                if _UNSURE_BEFORE.search(clause) or _UNSURE_AFTER.match(form, mention.end):
                    continue
                if says is Says.LIKELY and rule.name in {"zh-the-one", "en-conclude"}:
                    polarity = _NEGATIVE.search(clause + inside)
                    if polarity and not context.negative:
                        says = Says.FALSE
            events.append(Event(place, mention.end, mention.letters, says, rule.name))
        events += self._verdicts(form, mentions, events)
        events.sort(key=lambda event: event.place)
        return events

    def _verdicts(self, form: str, mentions: list[Mention], known: list[Event]) -> list[Event]:
        stated = {event.place for event in known}
        events = []
        for index, mention in enumerate(mentions):
            if mention.start in stated:
                continue
            limit = mentions[index + 1].start if index + 1 < len(mentions) else len(form)
            limit = min(limit, mention.end + 60)
            found = _PREDICATE.search(form, mention.end, limit)
            if not found:
                continue
            gap = form[mention.end : found.start()]
            if ("。" in gap or "\n" in gap or "；" in gap) and not _GENERIC.search(gap):
                continue
            if "答案" in gap or "选项" in gap[4:]:
                continue
            says = Says.FALSE if found.lastgroup == "false" else Says.TRUE
            events.append(
                Event(
                    mention.start,
                    mention.end,
                    mention.letters,
                    says,
                    "zh-false" if says is Says.FALSE else "zh-true",
                )
            )
        return events

    def _lead(self, form: str, mentions: list[Mention], listed: set[int]) -> Event | None:
        if 0 in listed:
            return None
        opening = _LEAD.match(form)
        mention = mentions[0]
        if not opening or opening.end() != mention.start:
            return None
        if not (mention.told or _AFTER_LEAD.match(form, mention.end)):
            return None
        return Event(mention.start, mention.end, mention.letters, Says.ANSWER, "leading")

    def _last_standing(self, form: str, stated: list[Event]) -> Pick | None:
        if not stated:
            return None
        firm = [event for event in stated if event.says is Says.ANSWER] or stated
        last = firm[-1]
        for earlier in reversed(firm[:-1]):
            if earlier.letters != last.letters and not _RETRACT.search(form, earlier.end, last.place):
                return Pick(
                    "".join(sorted(set(earlier.letters + last.letters))), last.rule, last.place, last.end
                )
            if earlier.letters != last.letters:
                break
        return Pick("".join(sorted(set(last.letters))), last.rule, last.place, last.end)

    def _verdict(
        self, events: list[Event], form: str, mentions: list[Mention], listed: set[int], context: Context
    ) -> Pick:
        asserted: dict[str, Event] = {}
        denied: dict[str, Event] = {}
        fits = Says.FALSE if context.negative else Says.TRUE
        for event in events:
            for letter in event.letters:
                (asserted if event.says is fits else denied)[letter] = event
        alive = [letter for letter in asserted if letter not in denied]
        if len(alive) == 1:
            event = asserted[alive[0]]
            return Pick(alive[0], event.rule, event.place, event.end)
        if len(alive) > 1:
            return Pick("".join(sorted(alive)), "verdict")
        left = [letter for letter in LETTERS if letter not in denied]
        if len(left) == 1 and len(denied) >= 3:
            event = next(reversed(denied.values()))
            return Pick(left[0], "elimination", event.place, event.end)
        named = {letter for mention in mentions for letter in mention.letters}
        if len(named) == 1 and not denied:
            mention = mentions[0]
            return Pick(mention.letters[0], "single", mention.start, mention.end)
        return (
            Pick("".join(sorted(named - set(denied))))
            if len(named - set(denied)) > 1 and not listed
            else NOTHING
        )


def _next_listed(index: int, listed: set[int]) -> bool:
    return index + 1 in listed


@cache
def default_reader() -> Reader:
    """The reader of all rules, built on first use."""
    return Reader(RULES)
