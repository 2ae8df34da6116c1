"""What each clause of a reply says about the options that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.extraction.echoes import RULE, echoes, is_of_question
from m3ke_async.extraction.events import Event
from m3ke_async.extraction.hedges import (
    clause_before,
    doubts,
    is_disputed,
    is_doubted_after,
    is_either,
    is_past,
    is_supposed,
    is_tried,
    is_unreal,
    is_weighed,
)
from m3ke_async.extraction.noise import LETTERS
from m3ke_async.extraction.patterns import Pattern, Words
from m3ke_async.extraction.polarity import NOT, RIGHT, WRONG, without_flawless
from m3ke_async.extraction.relevance import asks_else, is_attributed
from m3ke_async.extraction.rules import (
    ALSO,
    ANSWER,
    BUT,
    CROSS,
    FAILS,
    FALSE,
    HOLDS,
    LIKELY,
    ONLY,
    REJECT,
    TICK,
    TRUE,
    UNSURE,
    Cued,
    Hit,
    Place,
    Rule,
    Says,
    placed,
)
from m3ke_async.extraction.texts import words
from m3ke_async.extraction.together import OF_ALL, of_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.asked import Asked
    from m3ke_async.extraction.mentions import Mention, Shape

#: Signs that a clause speaks of what is wrong.
_NEGATIVE = Words(
    r"不正确|错误|不属于|不是|不能|不可能|不符合|有误|不恰当|不包括|不当|不合|不对|不准确|不会|无关|不成立|没有|无法|并非|(?<!不得)不选"
    r"|有(?:语病|歧义|毛病|错别字|别字)|存在(?:语病|歧义|毛病|错别字|别字)",
    r"\b(?:except\b|not\b|false\b|incorrect|untrue|wrong)",
)
_POSITIVE = Words(r"正(?<!不正)确|符(?<!不符)合|对的|成立", r"\b(?:correct|true\b|right\b)")
_STOPS = ("", "。", ".", "\n", "!", "！")
_PAUSE = "，,。；;\n→⇒"
_WRONG_LABEL = Pattern(r"(?:错误|错|incorrect|wrong)的?\s?\Z")
#: A sentence that sums up or asks: it says nothing of the mention before, unless it only points at it.
_SUMS_UP = Pattern(
    r"[。.；;\n!！?？]\s{0,4}(?:下列|以下|以上|上述|(?:因此|所以|综上(?:所述|分析)?|总之|总的来说|总体来看|由此可见"
    r"|overall\b|in (?:summary|conclusion|short)\b|to sum up)"
    r"(?![\s,，:：但而因此所以故可见即这该此本它其个一种说法观点选项表述叙描陈判断理解是也都均皆并显然为明]{0,16}\Z))"
)
#: What holds only in part.
_PARTLY = Pattern(r"\b(?:part(?:ial)?ly|half)[ -]\Z|部分\Z")
#: Right before a flaw: there is none.
_NO_FLAW = Pattern(r"(?:没有?|未|无|不存在)[^，。；;\n不]{0,4}\Z")
#: A conclusion that begins in between, with a subject of its own.
_HENCE = Pattern(r"[，,。；;\n]\s?(?:因此|所以|故|综上)(?![这该它其此本项选也就才应]{0,4}\Z)")
#: A predicate of the other options.
_OTHERS = Pattern(
    r"(?:\A|[。.，,；;！!、\s)）而])(?:其[他余它](?!中)|另外|剩[下余])"
    r"|[.;；\n]\s{0,3}(?:all )?(?:the )?(?:others?|rest|remaining)\b"
)
#: A sentence of its own after an option at the start.
_OWN = Pattern(r"(?:[。!！；;\n]|\.\s)\s{0,3}(?!这|该|此|它|it\b|this\b)\w")
_NEGATED = Pattern(r"[不非没未]|not\b|n't")
#: What denies that the question's kind holds the option that follows.
_LACKS = ("不包括", "不包含", "不含")
#: Right before a word that rules out.
_KEPT = Pattern(r"(?:[不没未](?:应该?|能够?|可以?|必|该|要|会|被)?|not|n't)\s?\Z")
_LATIN = Pattern(r"[a-z][a-z']")
#: What settles a mention, even after a word on whether it holds.
_FIRM = (ANSWER, LIKELY, REJECT)
_SETTLING = (*_FIRM, BUT)
#: What compares a mention with the others, and all that its clause may take back.
_COMPARED = (ONLY, BUT)
_STATED = (ANSWER, LIKELY, ALSO, *_COMPARED)
#: What a mark beside a mention says; it stands above the words between the two.
_MARKS = (TICK, CROSS)
#: The characters on which cues before a mention end; most mentions have none of them before them.
_CUE_ENDS = frozenset(
    '案能定项挑猜择号母问是为：:=应该当选就只终最显然即乃便仍还填的故无疑】])）〕」』>》“"#,，-答解果论正取了出也以行个述法描'
    "意合足以按判求准改更那这但过而。；\n么则成剩下有余此所综上从可知→⇒👉☞d{(☑●◉✓✔✅√☐□☒○✗×✘❌╳除掉汰非会太不在如及用写は은는이え답于.!！?？x"
)
_ALL = Pattern(r"都|均|全|\ball\b|every")
_BESIDES = Pattern(r"\s?[以之]?外?[，,]?\s?其[他余它](?:选项|各项|三[项个])?")
_ALL_OTHERS = Pattern(r"\s?[以之]?外?[，,]?\s?其[他余它](?:选项|各项|三[项个])?[都均皆全](?:是|属于)")
#: After an option's text that only begins a sentence; a comma may also follow an answer.
_GOES_ON, _COMMA = Pattern(r"\s?、"), Pattern(r"\s?[、，,]")
_TOPIC_COLON = Pattern(r"\s?[:：]")
_TOPIC = Pattern(r"\s{0,3}[:：,，]")
#: How far back a cue is looked for, in Latin words and in others, and how far on a predicate.
_BACK, _NEAR, _ON = 100, 60, 80
#: Stands for more text after the stretch that a rule sees.
_MORE = "\ue003"


class Grammar:
    """A table of rules, made ready to read with."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.names = frozenset(rule.name for rule in rules)
        self._whole = [(rule, Pattern(rf"(?:{rule.pattern})\Z")) for rule in placed(rules, Place.WHOLE)]
        self._start = [(rule, Pattern(rule.pattern)) for rule in placed(rules, Place.START)]
        self._before = Cued(placed(rules, Place.BEFORE, latin=False))
        latin = placed(rules, Place.BEFORE, latin=True)
        self._before_latin = Cued(latin, words=True)
        #: What a statement may hold before its option: the answer cannot be B.
        self._denials = Cued((rule for rule in latin if rule.says is REJECT), words=True)
        after, latin = placed(rules, Place.AFTER, latin=False), placed(rules, Place.AFTER, latin=True)
        self._firm = _Both(
            Cued(rule for rule in after if rule.says in _SETTLING),
            Cued((rule for rule in latin if rule.says in _FIRM), words=True),
        )
        self._marks = _Both(
            Cued(rule for rule in after if rule.says in _MARKS),
            Cued((rule for rule in latin if rule.says in _MARKS), words=True),
        )
        marks = [rule for rule in (*after, *latin) if rule.says in _MARKS]
        self._any_mark = Pattern("|".join(rule.cues for rule in marks) or "(?!)")
        self._weak = _Both(
            Cued(rule for rule in after if rule.says not in _SETTLING),
            Cued((rule for rule in latin if rule.says not in _FIRM), words=True),
        )

    def whole(self, form: str) -> str | None:
        """The rule by which the shape holds mentions alone, if one does."""
        for rule, pattern in self._whole:
            if pattern.match(form):
                return rule.name
        return None

    def stated(
        self, shape: Shape, mentions: Sequence[Mention], listed: set[int], asked: Asked
    ) -> dict[int, Event]:
        """What settles each mention, by its index: what stands before it, else what stands after."""
        found: dict[int, Event] = {}
        for index, mention in enumerate(mentions):
            event = self._introduced(shape, mention, index, index in listed, asked)
            if (
                event
                and event.rule == "corrected"
                and index
                and mentions[index - 1].letters == mention.letters
            ):
                event = None  # 《汉书》？不，《汉书》是…: why it is not
            event = event or self._followed(shape, mention, index, self._firm, asked)
            if event is not None:
                found[index] = event
        return found

    def judged(
        self, shape: Shape, mentions: Sequence[Mention], stated: dict[int, Event], asked: Asked
    ) -> list[Event]:
        """What is stated and, of the other mentions, whether what they say is called right; in order."""
        marked = self._any_mark.search(shape.text)
        denies = asked.asks is NOT and RULE in self.names
        echoed = echoes(shape, mentions, stated, asked) if denies else {}
        together = of_all(shape, mentions, stated, asked) if OF_ALL in self.names else {}
        ruled_out = [index for index, event in together.items() if event.says is REJECT]
        events = (
            stated.get(index)
            or (self._followed(shape, mention, index, self._marks, asked) if marked else None)
            or echoed.get(index)
            or (self._followed(shape, mention, index, self._weak, asked) if index not in ruled_out else None)
            or together.get(index)
            for index, mention in enumerate(mentions)
        )
        return [event for event in events if event is not None]

    def _introduced(
        self, shape: Shape, mention: Mention, index: int, listed: bool, asked: Asked
    ) -> Event | None:
        """What the words before the mention say of it."""
        form, at = shape.text, shape.places[index]
        leading = self._leading(shape, mention, at, asked) if index == 0 and not listed else None
        if leading is not None:
            return Event(at, mention.letters, leading.says, leading.name, mention)
        found = self._cued(shape, index, at)
        if found is None:
            return None
        rule, start = found
        said = form[start:at]
        says = rule.says
        if says is REJECT and asked.repeats_denial(said):
            says = LIKELY
        elif says is REJECT and asked.asks is NOT and said.startswith(_LACKS):
            says = FAILS
        if says in _STATED:
            tells = listed and ("\n" in said or _goes_on(shape, index))
            if tells or (says is LIKELY and len(mention.letters) == len(LETTERS)):
                return None  # the options are only told one after another
            says = self._stands(form, mention, start, at, asked, says=says)
        return Event(at, mention.letters, says, rule.name, mention)

    def _stands(self, form: str, mention: Mention, start: int, at: int, asked: Asked, *, says: Says) -> Says:
        """What is left of a statement in its clause, which may doubt or deny it."""
        said = form[start:at]
        before = clause_before(form, start + (said[:1] in _PAUSE))
        if (
            doubts(before)
            or is_supposed(form, start, at)
            or is_attributed(clause_before(form, start, _BACK) + said)
            or is_either(form, at)
            or is_past(before + said, asked.question)
        ):
            return UNSURE
        if says in _COMPARED:
            return self._compared(form, at, says, asked)
        if is_doubted_after(form, at + 1) or is_unreal(form, start, at):
            return UNSURE
        if says is ANSWER and _WRONG_LABEL.search(before) and asked.asks is RIGHT:
            return FALSE
        if says is not LIKELY:
            return says
        if not mention.lettered and asked.lacks_denial(before + said):
            return HOLDS
        if not mention.lettered and asked.stem.is_of_first and asks_else(words(before + said), asked.stem):
            return UNSURE
        return _by_polarity(before + said, asked)

    def _leading(self, shape: Shape, mention: Mention, at: int, asked: Asked) -> Rule | None:
        form = shape.text
        for rule, pattern in self._start:
            if not pattern.match(form):
                continue
            if is_tried(form, at + 1):
                return None
            if self._is_judged(shape, mention, at, asked):
                continue
            if mention.lettered:
                if not (mention.worded and not mention.told and _TOPIC.match(form, at + 1)):
                    return rule
            elif not _is_glossary(shape) and not (_GOES_ON if asked.asks is RIGHT else _COMMA).match(
                form, at + 1
            ):
                return rule
        return None

    def _is_judged(self, shape: Shape, mention: Mention, at: int, asked: Asked) -> bool:
        """Whether a predicate follows the first mention, which is then no answer yet."""
        form, following = shape.text, shape.next_place(0)
        found = self._weak.first(form, at + 1, min(following, at + 16), asked, most=8 if mention.told else 3)
        if found is None:
            return False
        gap = form[at + 1 : found.start]
        return not (_OWN.search(gap) or (found.end == following < len(form) and "\n" in gap))

    def _cued(self, shape: Shape, index: int, at: int) -> tuple[Rule, int] | None:
        """The rule of the leftmost cue between the mention before and this one, and where the cue stands."""
        form = shape.text
        start = max(shape.places[index - 1] + 1 if index else 0, at - _BACK)
        if start == at and index:
            return None
        window = form[start : at + 17] if start else "\n" + form[: at + 17]
        start -= not start
        size = at - start
        if at + 17 < len(form):
            window += _MORE
        last = window[size - 1]
        if last == " ":
            last = window[:size].rstrip(" ")[-1:]
        hits: list[Hit] = []
        if last in _CUE_ENDS or form[at + 1 : at + 2] in _STOPS:
            hits = self._before.leftmost(window, max(0, size - _NEAR), len(window))
        if last.isascii():
            latin = self._before_latin.leftmost(window, 0, len(window))
            if latin and latin[0].start < size and latin[0].rule.says in _STATED:
                latin = self._denials.leftmost(window, latin[0].start, size + 2) or latin
            hits = latin if latin and (not hits or latin[0].start < hits[0].start) else hits
        if not hits or hits[0].start > size:
            return None
        return hits[0].rule, max(0, hits[0].start + start)

    def _compared(self, form: str, at: int, says: Says, asked: Asked) -> Says:
        """What "only this one" or "all but this one" comes to, by the predicate that follows."""
        besides = _BESIDES.match(form, at + 1)
        found = self._weak.first(form, besides.end() if besides else at + 1, at + 24, asked)
        holds = None if found is None else found.rule.says
        fits = None if holds is None else asked.fits(holds)
        if says is ONLY:
            return holds if holds is not None and fits is False else LIKELY
        if holds is None and _ALL_OTHERS.match(form, at + 1):
            holds, fits = HOLDS, asked.fits(HOLDS)
        if holds is None and not _ALL.search(form, max(0, at - 60), at):
            return UNSURE
        return REJECT if fits else LIKELY

    def _followed(
        self, shape: Shape, mention: Mention, index: int, rules: _Both, asked: Asked
    ) -> Event | None:
        """What the words after the mention say of it."""
        form, at = shape.text, shape.places[index]
        following = shape.next_place(index)
        end = min(following + 8, at + _ON)
        found = rules.first(form, at + 1, end, asked, most=following - at - 1)
        if found is None:
            return None
        gap = form[at + 1 : found.start]
        if "答案" in gap or "剩下" in gap or _SUMS_UP.search(gap):
            return None
        if (
            index + 1 == len(shape.places)
            and mention.lettered
            and asked.begins(mention.letters, form[at + 1 :])
        ):
            return None
        if found.rule.says is BUT:
            says = self._compared(form, found.end - 1, BUT, asked)
            return Event(at, mention.letters, says, found.rule.name, mention)
        unsure = is_weighed(form, at + 1, found.end, gap) or doubts(clause_before(form, at))
        unsure = unsure or is_disputed(form, found.end) or is_unreal(form, at, found.end)
        return Event(at, mention.letters, UNSURE if unsure else found.rule.says, found.rule.name, mention)


class _Both:
    """Predicates in Chinese or marks, and in Latin words."""

    def __init__(self, other: Cued, latin: Cued) -> None:
        self._other, self._latin = other, latin

    def first(self, form: str, start: int, end: int, asked: Asked, *, most: int = _ON) -> Hit | None:
        """The first predicate between the two places that is near enough to its start."""
        best = _near_enough(self._other, form, start, end, asked, most=most)
        if _LATIN.search(form, start, end):
            latin = _near_enough(self._latin, form, start, end, asked, most=most)
            best = latin if latin and (best is None or latin.start < best.start) else best
        return best


def _is_glossary(shape: Shape) -> bool:
    """Whether something is said of each option after a colon, the first among them."""
    topics = [_TOPIC_COLON.match(shape.text, place + 1) is not None for place in shape.places]
    return topics[0] and sum(topics) > 2


def _goes_on(shape: Shape, index: int) -> bool:
    """Whether the next option follows at once, so that the options are only told one after another."""
    if index + 1 == len(shape.places):
        return False
    return not shape.text[shape.places[index] + 1 : shape.next_place(index)].strip(" ,，;；、。.")


def _near_enough(cued: Cued, form: str, start: int, end: int, asked: Asked, *, most: int) -> Hit | None:
    """The first match that begins within its rule's reach and at most `most` characters on."""
    place = start
    while place < end:
        hits = cued.leftmost(form, place, end)
        if not hits or hits[0].start - start > most:
            return None
        gap = form[start : hits[0].start]
        for hit in hits:
            rule = hit.rule
            if len(gap) > rule.reach or _is_spoilt(gap, rule.says):
                continue
            if not rule.of_question or is_of_question(form, hit.end, asked):
                return hit
        place = hits[0].start + 1
    return None


def _is_spoilt(gap: str, says: Says) -> bool:
    """Whether something stands between a mention and what is said of it that keeps the two apart."""
    if _OTHERS.search(gap):
        return True
    if says in _MARKS:
        return "\n" in gap
    if says is TRUE:
        return _PARTLY.search(gap) is not None
    if says is FALSE:
        return _NO_FLAW.search(gap) is not None
    if says in _STATED and _HENCE.search(gap):
        return True
    return says in _FIRM and (_KEPT if says is REJECT else _NEGATED).search(gap) is not None


def _by_polarity(said: str, asked: Asked) -> Says:
    """What a likely statement comes to: "the wrong one is B" answers only a question for the wrong one."""
    flawed = without_flawless(said)
    wrong = _NEGATIVE.search(flawed)
    if wrong and asked.asks is RIGHT:
        return FALSE
    if not wrong and asked.asks is WRONG and (flawed != said or _POSITIVE.search(said)):
        return TRUE
    return LIKELY
