"""Where a reply says or denies of an option what a question for the odd one out denies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from m3ke_async.extraction.events import Event
from m3ke_async.extraction.hedges import clause_before, doubts, is_disputed
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.rules import FAILS, HOLDS, Says

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from m3ke_async.extraction.asked import Asked
    from m3ke_async.extraction.mentions import Mention, Shape

#: The rule of the table that stands for this.
RULE = "question-verb"
_DENIAL = Pattern(r"[不非没未无][^，,]{0,5}\Z|(?:\bnot|n['’]t|\bno|\bnever)\b[^，,]{0,12}\Z")
_SENTENCE_END = Pattern(r"[。；;\n!！?？]|\.\s")
#: What is said of all that the sentence names.
_ALL = Pattern(r"都|均|皆|全|它们|\b(?:all|they|both)\b")
#: How far from a mention what is denied is looked for.
_ON = 80
#: The first words of what something is said to belong to, unless they only point at it.
_COMPLEMENT = Pattern(r"[过了]?+\s?(?:一[种类个项]|典型的?)?(?![此这该其上以题是的])([^\W_的]{1,4})")


def echoes(
    shape: Shape, mentions: Sequence[Mention], known: Container[int], asked: Asked
) -> dict[int, Event]:
    """By a mention's index, what is said of it; those in `known` are left out."""
    found: dict[int, Event] = {}
    for index, mention in enumerate(mentions):
        if index in known:
            continue
        says, place = _said_after(shape, index, asked)
        at = shape.places[index]
        if says is None or doubts(clause_before(shape.text, at)) or is_disputed(shape.text, place):
            continue
        found[index] = Event(at, mention.letters, says, RULE, mention)
        if says is HOLDS and _ALL.search(shape.text, at, place):
            for earlier in range(index - 1, -1, -1):
                start = shape.places[earlier]
                if earlier in known or earlier in found or _SENTENCE_END.search(shape.text, start, at):
                    break
                found[earlier] = Event(start, mentions[earlier].letters, says, RULE, mentions[earlier])
    return found


def _said_after(shape: Shape, index: int, asked: Asked) -> tuple[Says | None, int]:
    """What the words after a mention say, up to the next one, and where."""
    form, at = shape.text, shape.places[index]
    end = min(shape.next_place(index), at + _ON)
    stop = _SENTENCE_END.search(form, at + 1, end)
    end = stop.start() if stop else end
    for word, needs in (
        (re.escape(asked.denied), True),
        *((said, False) for said in _kinds(asked.denied_kind)),
    ):
        for found in re.finditer(word, form[at + 1 : end]) if word else ():
            place = at + 1 + found.start()
            if needs and not is_of_question(form, at + 1 + found.end(), asked):
                continue
            denied = _DENIAL.search(form, max(at, place - 20), place)
            return (FAILS if denied else HOLDS), place
    return None, at


def _kinds(kind: str) -> tuple[str, ...]:
    """How a reply names the kind; one character, or the first of several Latin words, only as a predicate."""
    if not kind:
        return ()
    if len(kind) == 1:
        return (rf"(?:是|为|属于)[^，,]{{0,6}}{re.escape(kind)}(?![\u4e00-\u9fff])",)
    first, _, more = kind.partition(" ")
    if kind.isascii() and more:
        return re.escape(kind), rf"\b{re.escape(first)}(?=\s?(?:[.,;]|\Z))"
    return (re.escape(kind),)


def is_of_question(form: str, place: int, asked: Asked) -> bool:
    """Whether the words at the place are the question's, or only point at them."""
    said = _COMPLEMENT.match(form, place)
    return said is None or said[1] in asked.question.lower()
