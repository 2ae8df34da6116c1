"""A question with its options in another order, and its letters back in the first one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3ke_async.suite import LETTERS

if TYPE_CHECKING:
    from m3ke_async.suite import Question

#: The cyclic orders of four options; in them each option stands once in each place.
ROTATIONS = len(LETTERS)


def rotated(question: Question, rotation: int) -> Question:
    """The question with its options moved up by so many places, the first ones to the end."""
    if not rotation:
        return question
    a, b, c, d = question.options[rotation:] + question.options[:rotation]
    answer = None if question.answer is None else shown_letter(question.answer, rotation)
    return replace(question, options=(a, b, c, d), answer=answer)


def shown_letter(letter: str, rotation: int) -> str:
    """Under which letter an option stands in the rotated question."""
    return LETTERS[(LETTERS.index(letter) - rotation) % ROTATIONS]


def own_letter(letter: str, rotation: int) -> str:
    """Which letter a letter of the rotated question has in the question itself."""
    return LETTERS[(LETTERS.index(letter) + rotation) % ROTATIONS]
