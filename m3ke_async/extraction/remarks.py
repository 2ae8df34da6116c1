"""Where a reply remarks on each option, and one remark alone answers the question."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from m3ke_async.extraction.noise import LETTERS
from m3ke_async.extraction.polarity import NOT
from m3ke_async.extraction.relevance import EMPTY, denies
from m3ke_async.extraction.texts import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.asked import Asked
    from m3ke_async.extraction.mentions import Mention
    from m3ke_async.extraction.relevance import Stem

#: The longest remark that is read.
_REMARK = 80
#: The least length of a word that says something without its neighbour, and how many pairs of words do.
_WORD, _ENOUGH = 3, 2


def remarked(text: str, mentions: Sequence[Mention], asked: Asked) -> Mention | None:
    """The mention whose remark alone says what the question asks for, where all four options have one.

    That is the one with words of the question that no other holds or, where the question asks for what is
    not of a kind, the one without those that the other three all hold.
    """
    stem = asked.stem
    said = _remarks(text, mentions, stem)
    if said is None:
        return None
    letters = (_odd if asked.asks is NOT else _only)(said)
    return next((mention for mention in mentions if mention.letters == letters), None)


def _remarks(text: str, mentions: Sequence[Mention], stem: Stem) -> dict[str, set[str]] | None:
    """By letter, what of the question its remarks hold; None unless each of the four has one.

    A remark that denies something holds nothing.
    """
    asked = _features([word for word in stem.clause if word in stem.content])
    said: dict[str, set[str]] = {}
    for mention, after in zip(mentions, [*mentions[1:], None], strict=True):
        end = min(after.start if after else len(text), mention.end + _REMARK)
        remark = text[mention.end : end].lower()
        told = words(remark)
        if len(mention.letters) != 1 or (not told and mention.letters not in said):
            return None
        telling = [word for word in told if word not in EMPTY]
        own = set() if denies(remark, stem.text) else asked & _features(telling)
        said.setdefault(mention.letters, set()).update(own)
    return said if "".join(sorted(said)) == LETTERS else None


def _only(said: dict[str, set[str]]) -> str:
    """The letter that alone has words of the question, empty where there is none."""
    alone = {letter: mine.difference(*_others(said, letter)) for letter, mine in said.items()}
    own = [letter for letter, telling in alone.items() if telling]
    return own[0] if len(own) == 1 and _is_enough(alone[own[0]]) else ""


def _odd(said: dict[str, set[str]]) -> str:
    """The letter that alone lacks words of the question that all others have, empty where there is none."""
    lacking = {
        letter: set.intersection(*_others(said, letter)).difference(mine) for letter, mine in said.items()
    }
    odd = [letter for letter, telling in lacking.items() if _is_enough(telling)]
    return odd[0] if len(odd) == 1 else ""


def _others(said: dict[str, set[str]], letter: str) -> list[set[str]]:
    return [features for other, features in said.items() if other != letter]


def _is_enough(telling: set[str]) -> bool:
    return len(telling) >= _ENOUGH or any(map(_is_word, telling))


def _features(told: Sequence[str]) -> set[str]:
    """Pairs of words, and the words that are long enough alone."""
    pairs = {first + " " + second for first, second in pairwise(told)}
    return pairs.union(filter(_is_word, told))


def _is_word(feature: str) -> bool:
    return " " not in feature and len(feature) >= _WORD
