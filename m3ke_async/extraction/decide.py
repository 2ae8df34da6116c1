"""What all the clauses of a reply come to: one option, several, or none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.clauses import Event, is_retracted
from m3ke_async.extraction.mentions import LETTERS, Mention
from m3ke_async.extraction.rules import Says

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHARE = re.compile(r"[\s:：=|（(是为约]{0,5}(\d{1,3}(?:\.\d{1,6})?|\.\d{1,6})\s?(%?)")


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


def last_standing(form: str, events: Sequence[Event], mentions: Sequence[Mention]) -> Pick:
    """The last statement that nothing contradicts; several that stand are all returned."""
    stated = [event for event in events if event.says is Says.ANSWER]
    likely = [event for event in events if event.says is Says.LIKELY]
    if stated and likely:
        first, last = stated[-1], likely[-1]
        if set(first.letters) > set(last.letters) or is_retracted(form, first.end, last.end):
            if last.place > first.place:
                stated.append(last)
    stated = stated or likely
    if not stated:
        return NOTHING
    last = stated[-1]
    letters = set(last.letters)
    for earlier in reversed(stated[:-1]):
        if set(earlier.letters) > letters:
            continue  # narrowed down since
        if set(earlier.letters) != letters:
            if not is_retracted(form, earlier.end, last.place):
                letters |= set(earlier.letters)
            break
    start, end = mentions[last.mention].core
    return Pick("".join(sorted(letters)), last.rule, start, end)


def verdict(
    events: Sequence[Event], mentions: Sequence[Mention], *, negative: bool, names: frozenset[str]
) -> Pick:
    """The one option that is asserted, or that is left once three are denied."""
    ticked = _ticked(events, mentions, negative=negative)
    if ticked is not None:
        return ticked
    fits = Says.FALSE if negative else Says.TRUE
    asserted: dict[str, Event] = {}
    denied: dict[str, Event] = {}
    for event in events:
        if event.says in (Says.ANSWER, Says.LIKELY, Says.UNSURE):
            continue
        for letter in event.letters:
            (asserted if event.says in (fits, Says.TICK) else denied)[letter] = event
    alive = [letter for letter in asserted if letter not in denied]
    if len(alive) == 1:
        event = asserted[alive[0]]
        return Pick(alive[0], event.rule, *mentions[event.mention].core)
    if alive:
        return Pick("".join(sorted(alive)), "", *mentions[asserted[alive[0]].mention].core)
    left = [letter for letter in LETTERS if letter not in denied]
    if len(left) == 1 and "elimination" in names:
        event = list(denied.values())[-1]
        return Pick(left[0], "elimination", *mentions[event.mention].core)
    return NOTHING


def contradicts(pick: Pick, against: Pick, events: Sequence[Event], negative: bool) -> bool:
    """Whether each option is judged and the judgements leave another one than the statement."""
    unfit = Says.TRUE if negative else Says.FALSE
    judged = {letter for event in events if event.says in (Says.TRUE, Says.FALSE) for letter in event.letters}
    denied = {letter for event in events if event.says is unfit for letter in event.letters}
    return pick.letters != against.letters and pick.letters in denied and len(judged) == len(LETTERS)


def _ticked(events: Sequence[Event], mentions: Sequence[Mention], *, negative: bool) -> Pick | None:
    """Marks set the odd one of three or more apart, whatever they mean."""
    ticks = [event for event in events if event.says is Says.TICK]
    crosses = [event for event in events if event.says is Says.CROSS]
    odd = (
        ticks if len(ticks) == 1 else crosses if len(crosses) == 1 and len(ticks) >= 2 and negative else None
    )
    if odd is None or len(ticks) + len(crosses) < 2 and len(mentions) < 4:
        return None
    return Pick(odd[0].letters, odd[0].rule, *mentions[odd[0].mention].core)


def odds(text: str, mentions: Sequence[Mention]) -> Pick:
    """The option given more than half of all the probability, where each has its share."""
    shares: dict[str, tuple[float, Mention]] = {}
    for mention in mentions:
        found = _SHARE.match(text, mention.end)
        if found is None or len(mention.letters) != 1 or mention.letters in shares:
            return NOTHING
        shares[mention.letters] = float(found[1]) / (100 if found[2] else 1), mention
    if len(shares) < 3 or not 0.9 <= sum(share for share, _ in shares.values()) <= 1.1:
        return NOTHING
    letter, (share, mention) = max(shares.items(), key=lambda item: item[1][0])
    return Pick(letter, "odds", *mention.core) if share > 0.5 else NOTHING
