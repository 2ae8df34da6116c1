"""Reads a reply: stretch by stretch, first its letters, then the options' texts and places."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from m3ke_async.extraction.alone import only
from m3ke_async.extraction.clauses import Grammar
from m3ke_async.extraction.decide import (
    NOTHING,
    Pick,
    contradicts,
    last_result,
    odds,
    picked,
    statement,
    verdict,
)
from m3ke_async.extraction.hedges import clause_before, is_retracted
from m3ke_async.extraction.mentions import LETTERS, Mention, find_letters, listed, shape
from m3ke_async.extraction.numbering import ROWS, numbered
from m3ke_async.extraction.patterns import Pattern, Words
from m3ke_async.extraction.polarity import RIGHT, WRONG
from m3ke_async.extraction.relevance import (
    answers_question,
    names_else,
)
from m3ke_async.extraction.remarks import remarked
from m3ke_async.extraction.rewording import near, part
from m3ke_async.extraction.rules import ANSWER, HOLDS, MENTION, REJECT, TRUE, Tier
from m3ke_async.extraction.sheets import SHEET, sheet
from m3ke_async.extraction.table import RULES
from m3ke_async.extraction.together import LEFT_OUT, left_out, says_of_all
from m3ke_async.extraction.turns import RUNS_ON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.asked import Asked
    from m3ke_async.extraction.events import Event
    from m3ke_async.extraction.rules import Rule

#: The most cuts; no reply that was meant holds more questions.
_MOST = 100
#: The name of the speaker or a courtesy before all else.
_OPENING = Pattern(
    r"\s{0,4}(?=(?i:[助好当没您你嗯asoch]))(?:(?i:assistant|助手|ai)\s?[:：\n]\s{0,4}"
    r"|(?:好的?|当然可?以?|没问题|[您你]好|嗯)[，,！!。](?![^。！!\n：:]{0,60}(?:答案|选|是|为(?!您|你)))[^。！!\n：:A-Z]{0,40}"
    r"(?:回答|解答|解决|分析|帮助|帮您|帮你|为您|问题|题目)[^。！!\n：:A-Z]{0,16}[。！!：:\n]\s{0,4}"
    r"|(?i:sure|certainly|of course|hello|hi|okay|ok)[,!. ](?![^.!\n:]{0,60}\b(?:[A-D]|is)\b)[^.!\n:]{0,40}"
    r"(?:help|answer|question|analy[sz]e|solution)[^.!\n:]{0,16}[!:.\n]\s{0,4})"
)
#: The reply finds no option right; what it names beside that is not meant.
_NONE_FITS = Words(
    r"选项(?:中|里|内)?(?:都|均|并|却|也)?(?:没有|无)(?:一个)?(?:正确|符合|合适|对的|与|该|这|此)"
    r"|没有(?:任何)?一?[个项]?(?:正确|符合|合适)(?:的|条件的|题意的|要求的)?(?:选项|答案)|(?:四个|所有|以上|给出的)选项[都均](?:不|没)",
    r"\bnone of (?:them|these|the (?:given |above |listed |provided )?(?:options|choices|answers))\b"
    r"|n[o'’]t (?:appear )?(?:among|in|one of) the (?:given |listed |provided |above )?(?:options|choices)\b"
    r"|\bno (?:correct|matching|suitable) (?:option|answer|choice)\b",
)
#: A question for one of several, and one of them.
_ASKED_OF = Pattern(rf"[{MENTION}]\s?呢?[?？]\s{{0,3}}[{MENTION}]")
#: How far before a statement its clause is looked for.
_EDGE = 80
#: Without one of these a reply does not call its own choice wrong.
_CALLS_WRONG = Words("错|不正确|不对|有误|不符", r"\b(?:wrong|false|incorrect)|not (?:correct|true|right)")
#: The beginning of a sentence that sums up what was said of the options.
_CONCLUDES = Pattern(
    r"[。；;\n.]\s{0,3}(?:综上|综合|总之|总体|总的|因此|所以|故|可见"
    r"|overall|in (?:the end|summary)|therefore|so\b|thus|hence)",
    re.IGNORECASE,
)


class Reader:
    """Reads replies by a table of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._grammar = Grammar(rules)
        self._names = frozenset(rule.name for rule in rules)
        self._statements = frozenset(rule.name for rule in rules if rule.tier is Tier.STATEMENT)
        self._answers = frozenset(rule.name for rule in rules if rule.says is ANSWER)
        self._verdicts = frozenset(rule.name for rule in rules if rule.says in (TRUE, HOLDS))

    def read(self, text: str, asked: Asked, *, complete: bool) -> Pick:
        """What the text, without thoughts, chooses; the first stretch that chooses counts.

        `complete` is false for a reply that ran out of tokens: only what it states counts then.
        """
        opening = _OPENING.match(text)
        start, weakly = (opening.end() if opening and text[opening.end() :].strip() else 0), False
        for cut in islice(RUNS_ON.finditer(text, start), _MOST):
            weak = cut["weak"] is not None
            if weak and weakly:
                continue  # read once to the first of them, so that time stays linear
            weakly = weakly or weak
            pick = self._stretch(text[start : cut.start()], asked, complete=True)
            if len(pick.letters) == 1 if weak else pick.letters and set(pick.letters) <= set(LETTERS):
                return pick._replace(start=pick.start + start, end=pick.end + start)
            if not weak:
                start = cut.end()
        pick = self._stretch(text[start:] if start else text, asked, complete=complete)
        return pick._replace(start=pick.start + start, end=pick.end + start) if start else pick

    def _stretch(self, text: str, asked: Asked, *, complete: bool) -> Pick:
        if not text.strip():
            return NOTHING
        flagged = sheet(text, asked) if SHEET in self._names else None
        if flagged is not None:
            return self._after_sheet(text, *flagged, asked, complete=complete)
        letters = find_letters(text, asked)
        pick = self._weigh(text, letters, asked, complete=complete)
        if not asked.has_options or (pick.letters and pick.rule not in {"single", ""}):
            return self._concluded(text, letters, pick, asked)
        if not asked.none_of_them and _NONE_FITS.search(text):
            return NOTHING
        texts = self._texts(text, [] if pick.rule else letters, asked)
        if pick.rule:  # a single letter may belong to the text of an option that is the whole reply
            told = self._weigh(text, texts, asked, complete=complete)
            return told._replace(rule=f"text:{told.rule}") if told.rule == "whole" else pick
        told = pick if texts == letters else self._weigh(text, texts, asked, complete=complete)
        if len(told.letters) != 1 and complete:
            sense = self._sense(text, texts, asked)
            if sense.letters or not texts:
                return sense if sense.letters else self._near(text, asked)
        if not told.rule and complete and not listed(texts, complete=True):
            reworded = self._near(text, asked)
            return reworded if reworded.rule == "part" else told
        return told._replace(rule=f"text:{told.rule}") if told.rule else told

    def _after_sheet(self, text: str, flagged: Pick, end: int, asked: Asked, *, complete: bool) -> Pick:
        """What is stated after a flag for each letter, else what these come to."""
        said = self._stretch(text[end:], asked, complete=complete)
        stated = said.rule.removeprefix("text:") in self._statements
        return said._replace(start=said.start + end, end=said.end + end) if stated else flagged

    def _concluded(self, text: str, letters: list[Mention], pick: Pick, asked: Asked) -> Pick:
        """A pick, or what the reply states after it by another option's text, if that stands above it."""
        if pick.rule in self._verdicts:
            goes_on = _CONCLUDES.search(text, pick.end) is not None
        else:
            goes_on = pick.rule in self._statements and is_retracted(text.lower(), pick.end, len(text))
        if not goes_on:
            return pick
        texts = self._texts(text, letters, asked)
        told = self._weigh(text, texts, asked, complete=True) if len(texts) > len(letters) else NOTHING
        stated = told.rule in self._statements and told.letters != pick.letters
        if stated and pick.rule not in self._verdicts:  # a correction says what is asked for
            stated = told.start > pick.end and (
                told.rule in self._answers or asked.stem.is_taken_up(clause_before(text, told.start, _EDGE))
            )
        return told._replace(rule=f"text:{told.rule}") if stated else pick

    def _sense(self, text: str, texts: Sequence[Mention], asked: Asked) -> Pick:
        """What the reply comes to where no clause says it; the first reading that finds it counts."""
        readings = (
            self._in_rows,
            self._of_all,
            self._left_out,
            self._calculated,
            self._echoed,
            self._remarked,
        )
        picks = (reading(text, texts, asked) for reading in readings)
        return next((pick for pick in picks if pick.letters), NOTHING)

    def _in_rows(self, text: str, texts: Sequence[Mention], asked: Asked) -> Pick:
        rows = numbered(text, asked.texts) if ROWS in self._names else []
        judged = self._weigh(text, rows, asked, complete=True)
        return judged._replace(rule=ROWS) if len(judged.letters) == 1 else NOTHING

    def _of_all(self, text: str, texts: Sequence[Mention], asked: Asked) -> Pick:
        if "all-of-them" not in self._names or asked.asks is not RIGHT or listed(texts, complete=True):
            return NOTHING
        said = says_of_all(text) if asked.all_of_them or asked.none_of_them else None
        letter = said and (asked.all_of_them if said.holds else asked.none_of_them)
        return Pick(letter, "all-of-them", said.start, said.end) if said and letter else NOTHING

    def _left_out(self, text: str, texts: Sequence[Mention], asked: Asked) -> Pick:
        odd = left_out(text, texts, asked) if LEFT_OUT in self._names and asked.asks is not RIGHT else None
        return picked(odd[0], LEFT_OUT, odd[1]) if odd else NOTHING

    def _calculated(self, text: str, texts: Sequence[Mention], asked: Asked) -> Pick:
        known = "last-result" in self._names and asked.asks is not WRONG
        result = last_result(text, texts) if known else None
        return picked(result.letters, "last-result", result) if result else NOTHING

    def _echoed(self, text: str, texts: Sequence[Mention], asked: Asked) -> Pick:
        if not self._may_echo(texts, asked):
            return NOTHING
        own = [mention for mention in texts if mention.told and not asked.texts.is_repeated(text, mention)]
        echo = answers_question(text, own, asked.stem)
        return picked(echo.letters, "answers-question", echo) if echo else NOTHING

    def _remarked(self, text: str, texts: Sequence[Mention], asked: Asked) -> Pick:
        remark = remarked(text, texts, asked) if "remark" in self._names and asked.asks is not WRONG else None
        return picked(remark.letters, "remark", remark) if remark else NOTHING

    def _may_echo(self, texts: Sequence[Mention], asked: Asked) -> bool:
        """Whether the words of the question beside an option can make it the answer."""
        known = "answers-question" in self._names and asked.asks is RIGHT
        return known and not any(texts[index].opens for index in listed(texts, complete=True))

    def _texts(self, text: str, letters: Sequence[Mention], asked: Asked) -> list[Mention]:
        found = asked.texts.find(text, letters, texts="text" in self._names, places="ordinal" in self._names)
        return [mention for mention in found if mention.lettered or not names_else(text, mention, asked.stem)]

    def _near(self, text: str, asked: Asked) -> Pick:
        found = part(text, asked.texts, asked.stem) if "part" in self._names else None
        if found:
            return Pick(found[0], "part", found[1], found[2])
        meant = near(text, asked.texts) if "near" in self._names else None
        return Pick(meant[0], "near", meant[1], meant[2]) if meant else NOTHING

    def _weigh(self, text: str, mentions: list[Mention], asked: Asked, *, complete: bool) -> Pick:
        """What these mentions come to, tier by tier."""
        if not mentions:
            return NOTHING
        form = shape(text, mentions)
        named = {letter for mention in mentions for letter in mention.letters}
        likeliest = odds(text, mentions) if len(mentions) > 2 and "odds" in self._names else NOTHING
        if likeliest.letters:
            return likeliest
        whole = self._grammar.whole(form.text)
        if whole:
            echo = listed(mentions, complete=complete)
            settled = mentions[-1:] if _settles(form.text, mentions) else []
            after = settled or _beside_list(mentions, echo) or mentions
            return picked({letter for mention in after for letter in mention.letters}, whole, after[0])
        echoed = listed(mentions, complete=complete)
        stated = self._grammar.stated(form, mentions, echoed, asked)
        pick = statement(form.text, list(stated.values()))
        if pick.rule == "closing" and not (complete and not _begins_list(text, mentions[-1])):
            pick = NOTHING  # it may as well begin the next sentence, or the options of a new question
        if pick.letters and not (len(named) > 1 and _CALLS_WRONG.search(form.text)):
            return pick
        events = self._grammar.judged(form, mentions, stated, asked)
        if pick.letters:
            against = contradicts(pick, events, asked)
            return pick._replace(letters="".join(sorted({*pick.letters, *against}))) if against else pick
        pick = self._verdict(events, asked)
        if pick.letters and (complete or _is_through(pick, events)):
            return pick
        judged = {letter for event in events for letter in event.letters}
        denied = {letter for event in events if event.says is REJECT for letter in event.letters}
        left = named - judged
        if len(left) == 1 and judged == denied and complete and "single" in self._names:
            return only(text, mentions, "".join(left), asked)
        return Pick("".join(sorted(left))) if len(left) > 1 and not echoed else NOTHING

    def _verdict(self, events: Sequence[Event], asked: Asked) -> Pick:
        """The option that judgements leave, by the rules that are in the table."""
        pick = verdict(events, asked)
        if pick.rule == "elimination" and "elimination" not in self._names:
            return NOTHING
        if len(pick.letters) >= 3 and asked.asks is RIGHT and "all-of-them" in self._names:
            every = asked.all_of_them
            if every and (every not in pick.letters or len(pick.letters) == len(LETTERS)):
                return pick._replace(letters=every, rule="all-of-them")
        return pick


def _beside_list(mentions: Sequence[Mention], echo: set[int]) -> list[Mention]:
    """What is named outside a list of options: no text, where one stands after another option's letter."""
    beside = [index for index in range(len(mentions)) if index not in echo]
    slips = [
        index
        for index in beside
        if not (mentions[index].lettered or mentions[index].opens or mentions[index - 1].told)
        and index - 1 in echo
    ]
    return [mentions[index] for index in beside if mentions[index].lettered or not slips]


def _settles(form: str, mentions: Sequence[Mention]) -> bool:
    """Whether letters alone ask for one of several, and name it: A还是B？B."""
    if len(mentions) != 2 or not set(mentions[0].letters) > set(mentions[1].letters):
        return False
    return _ASKED_OF.search(form) is not None


def _begins_list(text: str, mention: Mention) -> bool:
    """Whether the first letter stands as a heading on the line after a question."""
    asked = text[: mention.start].rstrip()[-1:] in {"?", "？"}
    return asked and mention.letters == "A" and mention.heading and mention.opens and not mention.told


def _is_through(pick: Pick, events: Sequence[Event]) -> bool:
    """Whether a reply that broke off had judged every option, or every other one than the one left."""
    judged = {letter for event in events for letter in event.letters}
    return pick.rule != "elimination" and judged >= set(LETTERS)


@cache
def default_reader() -> Reader:
    """The reader of all rules, built on first use."""
    return Reader(RULES)
