"""Where a reply remarks on each option, and one remark alone says what the question asks for."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from m3ke_async.extraction.noise import LETTERS
from m3ke_async.extraction.relevance import denies
from m3ke_async.extraction.texts import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.mentions import Mention
    from m3ke_async.extraction.relevance import Stem

#: The longest remark that is read.
_REMARK = 80
#: The least length of a word that says something without its neighbour, and how many pairs of words do.
_WORD, _ENOUGH = 3, 2


def remarked(text: str, mentions: Sequence[Mention], stem: Stem) -> Mention | None:
    """The mention whose remark alone holds words of the question, where all four options have one."""
    asked = _features([word for word in stem.clause if word in stem.content])
    said: dict[str, set[str]] = {}
    for mention, after in zip(mentions, [*mentions[1:], None], strict=True):
        end = min(after.start if after else len(text), mention.end + _REMARK)
        remark = text[mention.end : end].lower()
        told = words(remark)
        if len(mention.letters) != 1 or (not told and mention.letters not in said):
            return None
        if not denies(remark, stem.text):
            said.setdefault(mention.letters, set()).update(asked & _features(told))
        else:
            said.setdefault(mention.letters, set())
    if "".join(sorted(said)) != LETTERS:
        return None
    alone = {
        letter: mine.difference(*(others for other, others in said.items() if other != letter))
        for letter, mine in said.items()
    }
    own = [letter for letter, telling in alone.items() if telling]
    if len(own) != 1 or (len(alone[own[0]]) < _ENOUGH and not any(map(_is_word, alone[own[0]]))):
        return None
    return next(mention for mention in mentions if mention.letters == own[0])


def _features(told: Sequence[str]) -> set[str]:
    """Pairs of words, and the words that are long enough alone."""
    pairs = {first + " " + second for first, second in pairwise(told)}
    return pairs.union(filter(_is_word, told))


def _is_word(feature: str) -> bool:
    return " " not in feature and len(feature) >= _WORD
