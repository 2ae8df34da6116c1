"""What all the clauses of a reply come to: one option, several, or none."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.hedges import is_doubted_after, is_retracted
from m3ke_async.extraction.mentions import LETTERS, Mention
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.polarity import NOT, RIGHT
from m3ke_async.extraction.rules import ALSO, ANSWER, CROSS, FALSE, LIKELY, REJECT, TICK, TRUE, UNSURE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.asked import Asked
    from m3ke_async.extraction.events import Event

_SHARE = Pattern(
    r"(?:\s?的?(?:概率|可能性)约?|[.．、]\s?(?=\d))?[\s:：=|（(\"'是为约)]{0,5}(\d{1,3}(?:\.\d{1,6})?|\.\d{1,6})\s?(%?)(?!\s?[+×*/÷\d])"
)
#: After the last statement: it is taken back, and nothing takes its place.
_TAKEN_BACK = Pattern(
    r"(?:不对|错了|等等|还是|仍然?|最终|wait|actually)[^。\n]{0,8}(?:无法|不能|难以|没法|cannot|can't)\s?(?:确定|判断|得出|回答|作答|determine|decide|answer)"
)
#: The same after an option's text, which may be a value on the way.
_NO_RESULT = Pattern(
    r"(?:因此|所以|故|但|题目|条件)[^。\n]{0,16}(?:(?:无法|不能|难以|没法)(?:求|确定|判断|得[出到]|计算|算出)|缺[少失]|不完整|条件不足)"
)
_STATED = (ANSWER, LIKELY)
_JUDGED = (TRUE, FALSE)
_UNJUDGED = (*_STATED, ALSO, UNSURE)


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


def picked(letters: set[str] | str, rule: str, mention: Mention) -> Pick:
    """The pick of these letters, which stands where the mention does."""
    return Pick("".join(sorted(letters)), rule, *mention.core)


def statement(form: str, events: Sequence[Event]) -> Pick:
    """The last statement, with each other one that still stands beside it.

    An earlier one stands unless it named the same letters, was taken back in between, or named several
    of which the last one takes one.
    """
    stated, likely, beside = _apart(events)
    if beside:
        return _beside(beside, [event for event in events if event.says in _STATED])
    if stated and likely and _replaces(form, stated[-1], likely):
        stated.append(likely[-1])
    stated = stated or likely
    if not stated or _TAKEN_BACK.search(form, stated[-1].at):
        return NOTHING
    last = stated[-1]
    if not last.mention.lettered and _NO_RESULT.search(form, last.at):
        return NOTHING
    letters = set(last.letters)
    for earlier in reversed(stated[:-1]):
        named = set(earlier.letters)
        if named != letters and not named > letters:
            if not (is_retracted(form, earlier.at + 1, last.at) or named <= _ruled_out(events, last.at)):
                letters |= named
            break
    return picked(letters, last.rule, last.mention)


def _ruled_out(events: Sequence[Event], at: int) -> set[str]:
    """The letters that are ruled out after the place, as in C而不是A."""
    return {letter for event in events if event.says is REJECT and event.at > at for letter in event.letters}


def _apart(events: Sequence[Event]) -> tuple[list[Event], list[Event], list[Event]]:
    """The events that state, that likely state, and that stand beside another."""
    stated: list[Event] = []
    likely: list[Event] = []
    beside: list[Event] = []
    for event in events:
        if event.says is ANSWER:
            stated.append(event)
        elif event.says is LIKELY:
            likely.append(event)
        elif event.says is ALSO:
            beside.append(event)
    return stated, likely, beside


def _beside(beside: Sequence[Event], stated: Sequence[Event]) -> Pick:
    """All that is said to be the answer beside each other, unless a statement after it takes one of them."""
    named = {letter for event in (*stated, *beside) for letter in event.letters}
    last = stated[-1] if stated else None
    if last and last.at > beside[-1].at and len(last.letters) == 1 and last.letters in named:
        return picked(last.letters, last.rule, last.mention)
    return picked(named, beside[-1].rule, beside[-1].mention)


def _replaces(form: str, firm: Event, likely: Sequence[Event]) -> bool:
    """Whether the last likely statement stands for the last firm one, after which it comes."""
    late = likely[-1]
    if late.at <= firm.at:
        return False
    after = {event.letters for event in likely if event.at > firm.at}
    return (len(after) == 1 and set(firm.letters) > set(late.letters)) or is_retracted(
        form, firm.at + 1, late.at
    )


def verdict(events: Sequence[Event], asked: Asked) -> Pick:
    """The one option that is asserted, or that is left once three are denied."""
    marked = _marked(events, asked)
    if marked is not None:
        return marked
    asserted: dict[str, Event] = {}
    denied: dict[str, Event] = {}
    for event in events:
        if event.says in _JUDGED and asked.asks is NOT:
            continue
        if event.says not in _UNJUDGED:
            judged = asserted if event.says is TICK or asked.fits(event.says) else denied
            judged.update(dict.fromkeys(event.letters, event))
    alive = {letter: event for letter, event in asserted.items() if letter not in denied}
    if alive:
        return _all_of(alive)
    if asked.asks is NOT and not denied:
        return _odd(events)
    return _left(denied)


def _odd(events: Sequence[Event]) -> Pick:
    """The one option judged otherwise than the others, where right may mean either."""
    right = {letter: event for event in events if event.says is TRUE for letter in event.letters}
    wrong = {letter: event for event in events if event.says is FALSE for letter in event.letters}
    if len(right) == 1 and len(wrong) != 1:
        return _all_of(right)
    if len(wrong) == 1 and len(right) > 1:
        return _all_of(wrong)
    return _left(wrong or right) if not (wrong and right) else NOTHING


def _all_of(events: dict[str, Event]) -> Pick:
    event = next(iter(events.values()))
    return picked(set(events), event.rule, event.mention)


def _left(denied: dict[str, Event]) -> Pick:
    """The fourth option, once three are denied."""
    left = set(LETTERS) - set(denied)
    return picked(left, "elimination", list(denied.values())[-1].mention) if len(left) == 1 else NOTHING


def _marked(events: Sequence[Event], asked: Asked) -> Pick | None:
    """Ticks and crosses set the odd one of several apart, whatever they mean."""
    ticks = [event for event in events if event.says is TICK]
    crosses = [event for event in events if event.says is CROSS]
    if len(ticks) == 1:
        odd = ticks[0]
    elif len(crosses) == 1 and len(ticks) > 1 and asked.asks is not RIGHT:
        odd = crosses[0]
    else:
        return None
    return picked(odd.letters, odd.rule, odd.mention)


def contradicts(pick: Pick, events: Sequence[Event], asked: Asked) -> set[str]:
    """The letter that judgements leave instead of the stated one, which they deny, if they do."""
    judged = [event for event in events if event.says in _JUDGED]
    if asked.asks is NOT:
        return set()
    against = verdict(judged, asked).letters
    denied = {letter for event in judged if not asked.fits(event.says) for letter in event.letters}
    return {against} if len(against) == 1 and against != pick.letters and pick.letters in denied else set()


#: A calculation before its result, and any result with its number.
_CALCULATED = Pattern(
    r"(?:[-+×÷/^√²³]|[=＝≈][^，,。；;\n]{1,40}?)[^，,。；;\n]{1,40}"
    r"(?:[=＝≈]|\\approx|\b(?:equals|equal to))[\s(（]{0,2}\Z"
)
_RESULT = Pattern(r"(?:[=＝≈]|\\approx)\s?-?\d")
#: A sentence that goes over a result again, or warns of another one.
_ASIDE = Pattern(
    r"(?:[检查校]验|验[证算]|误|切勿|不要|混淆|\b(?:check|verify|mistake|confuse))[^。\n]{0,60}\Z",
    re.IGNORECASE,
)
_ASKED_BACK = Pattern(r"[?？]|[吗呢][。\s]{0,3}\Z")


def last_result(text: str, mentions: Sequence[Mention]) -> Mention | None:
    """The option that the last calculation comes to, if no other one is named after it."""
    told = [
        mention for mention in mentions if not _ASIDE.search(text, max(0, mention.start - 64), mention.start)
    ]
    results = [
        place
        for place, mention in enumerate(told)
        if _CALCULATED.search(text, max(0, mention.start - 48), mention.start)
    ]
    if not results or any(mention.lettered for mention in told):
        return None
    last = told[results[-1]]
    goes_on = any(
        not _ASIDE.search(text, last.end, more.start())
        for more in islice(_RESULT.finditer(text, last.end), 4)
    )
    alone = len({mention.letters for mention in told[results[-1] :]}) == len(last.letters) == 1
    undone = _ASKED_BACK.search(text, last.end) or _NO_RESULT.search(text, last.end)
    stands = not undone and not is_doubted_after(text, last.end)
    return last if alone and not goes_on and stands else None


def odds(text: str, mentions: Sequence[Mention]) -> Pick:
    """The option given more than half of all the probability, where each has its share."""
    shares: dict[str, float] = {}
    likeliest, most = mentions[0], 0.0
    for mention in mentions:
        found = _SHARE.match(text, mention.end)
        if found is None or len(mention.letters) != 1 or mention.letters in shares:
            return NOTHING
        share = float(found[1]) / (100 if found[2] else 1)
        shares[mention.letters] = share
        if share > most:
            likeliest, most = mention, share
    if len(shares) < 3 or not 0.9 <= sum(shares.values()) <= 1.1:
        return NOTHING
    if most <= 0.5:
        return picked(set(shares), "odds", likeliest)
    return picked(likeliest.letters, "odds", likeliest)
