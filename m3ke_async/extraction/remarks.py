"""Where a reply remarks on each option, and one remark alone answers the question."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.noise import LETTERS
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.polarity import NOT
from m3ke_async.extraction.relevance import EMPTY, asks_else, denies
from m3ke_async.extraction.texts import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.asked import Asked
    from m3ke_async.extraction.mentions import Mention
    from m3ke_async.extraction.relevance import Stem

#: The longest remark that is read, and the most of them in a reply that was meant.
_REMARK, _MOST = 80, 32
_FIRST_LINE, _LAST_LINE = Pattern(r"\w[^\n]*"), Pattern(r"[^\n]{1,80}\Z")
_COMMA = Pattern(r"[，,]")
_DENIED = Pattern(r"(?:[不非]|\b[Nn]ot\s)\Z")
#: Beside a part of the question that means something by itself.
_EDGES = frozenset("与和跟同在对按照由被把从给向关属将")
#: What follows is said of all of them.
_OF_ALL = Pattern(r"(?:\A|[。；;\n.]\s?)(?:以上|上述|这些|[三四][个项者种]|[它他]们|(?:all|these|they)\b)")
#: What a question says that asks for the one unlike the others.
_DIFFERS = Pattern(
    r"[与和跟同](?:其他|其它|其余|另外)[^，。]{0,8}不(?:相?同|一样|一致|同类)|不同类|odd one out"
    r"|different from the other"
)
#: The least length of a word that says something without its neighbour, and how many pairs of words do.
_WORD, _ENOUGH = 3, 2


class _Remarks(NamedTuple):
    """What a reply says of each option.

    Attributes:
        shared: by letter, what of the question its remarks hold.
        own: by letter, the words of its remarks that say something.
    """

    shared: dict[str, set[str]]
    own: dict[str, list[str]]


def remarked(text: str, mentions: Sequence[Mention], asked: Asked) -> Mention | None:
    """The mention whose remark alone says what the question asks for, where all four options have one.

    That is the one with words of the question that no other holds or, where the question asks for what is
    not of a kind, the one without those that the other three all hold. A remark may be shorter than that if
    it says nothing but words of the question. Where the question asks for the one unlike the others, it is
    the one without any words that the other three all hold.
    """
    said = _remarks(text, mentions, asked.stem)
    if said is None:
        return None
    if _DIFFERS.search(asked.stem.text):
        letter = _odd({letter: _features(telling) for letter, telling in said.own.items()}, enough=1)
    elif asked.asks is NOT:
        letter = _odd(said.shared)
    else:
        letter = _only(said.shared) or _repeated(said.own, asked.stem)
    return next((mention for mention in mentions if mention.letters == letter), None)


def _remarks(text: str, mentions: Sequence[Mention], stem: Stem) -> _Remarks | None:
    """What is said of each option, after it or before it; None unless something is said of each of the four.

    A remark that denies something holds nothing.
    """
    if len(mentions) > _MOST or not set(LETTERS) <= {letter for own in mentions for letter in own.letters}:
        return None
    asked = _features([word for word in stem.clause if word in stem.content])
    said = _Remarks({}, {})
    leads = not words(text[mentions[-1].end :])
    for before, mention, after in zip([None, *mentions], mentions, [*mentions[1:], None], strict=False):
        if leads:
            start, end = max(before.end if before else 0, mention.start - _REMARK), mention.start
        else:
            start, end = mention.end, min(after.start if after else len(text), mention.end + _REMARK)
        line = (_LAST_LINE if leads else _FIRST_LINE).search(text, start, end)
        remark = _OF_ALL.split(line[0].lower(), 1)[0] if line else ""
        told = words(remark)
        if len(mention.letters) > (1 if leads else 3) or (
            not told and not said.shared.keys() >= set(mention.letters)
        ):
            return None
        telling = [word for word in told if word not in EMPTY]
        denied = denies(remark, stem.text) or _DENIED.search(text, max(0, mention.start - 8), mention.start)
        of_else = any(asks_else(words(clause), stem) for clause in _COMMA.split(remark))
        held = set() if denied or of_else else asked & _features(telling)
        for letter in mention.letters:
            said.shared.setdefault(letter, set()).update(held)
            said.own.setdefault(letter, []).extend(telling)
    return said if "".join(sorted(said.shared)) == LETTERS else None


def _only(said: dict[str, set[str]]) -> str:
    """The letter that alone has words of the question, empty where there is none.

    A pair of words that another one alone has may be chance beside two; beside a single word it is not, nor
    is a word that several others have.
    """
    alone = {letter: mine.difference(*_others(said, letter)) for letter, mine in said.items()}
    most = max(alone, key=lambda letter: len(alone[letter]))
    rest = max(len(telling) for letter, telling in alone.items() if letter != most)
    if not _is_enough(alone[most]) or 2 * rest > len(alone[most]):
        return ""
    if len(alone[most]) < _ENOUGH and not said[most].issuperset(set().union(*_others(said, most))):
        return ""
    return most


def _repeated(said: dict[str, list[str]], stem: Stem) -> str:
    """The letter whose remark alone says nothing but words of the question in a row, or a name in it."""
    names = {name[1:-1] for name in stem.names}
    own = [
        letter
        for letter, telling in said.items()
        if "".join(telling) in names or (len(telling) > 1 and _is_key(telling, stem))
    ]
    return own[0] if len(own) == 1 else ""


def _is_key(telling: Sequence[str], stem: Stem) -> bool:
    """Whether the words are a part of the question apart: 赤壁 of 与赤壁有关, not 植物 of 裸子植物."""
    known, size = stem.words, len(telling)
    edges = EMPTY | _EDGES
    return any(
        known[at : at + size] == telling
        and at > 0
        and (
            telling[0].isdecimal()
            or (known[at - 1] in edges and known[min(at + size, len(known) - 1)] in edges)
        )
        for at in range(len(known) - size + 1)
    )


def _odd(said: dict[str, set[str]], enough: int = _ENOUGH) -> str:
    """The letter that alone lacks words of the question that all others have, empty where there is none."""
    lacking = {
        letter: set.intersection(*_others(said, letter)).difference(mine) for letter, mine in said.items()
    }
    odd = [letter for letter, telling in lacking.items() if _is_enough(telling, enough)]
    return odd[0] if len(odd) == 1 else ""


def _others(said: dict[str, set[str]], letter: str) -> list[set[str]]:
    return [features for other, features in said.items() if other != letter]


def _is_enough(telling: set[str], enough: int = _ENOUGH) -> bool:
    return len(telling) >= enough or any(map(_is_word, telling))


def _features(told: Sequence[str]) -> set[str]:
    """Pairs of words, and the words that are long enough alone."""
    pairs = {first + " " + second for first, second in pairwise(told)}
    return pairs.union(filter(_is_word, told))


def _is_word(feature: str) -> bool:
    return " " not in feature and len(feature) >= _WORD
