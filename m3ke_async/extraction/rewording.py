"""Where a reply gives an option in other words, in part, or in a sentence of the question's own words."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.texts import compact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.extraction.mentions import Mention
    from m3ke_async.extraction.texts import OptionTexts


def answers_question(text: str, mentions: Sequence[Mention], question: str) -> Mention | None:
    """The only mention whose clause says the question's own words, as an answer in a whole sentence does."""
    known = question.lower()
    asked = words(_ASKING.sub("", question))
    runs = {tuple(asked[place : place + _RUN]) for place in range(len(asked) - _RUN + 1)}
    if not runs:
        return None
    content = set(asked) - _VERBS
    best: dict[str, int] = {}
    found: dict[str, Mention] = {}
    for mention in mentions:
        if is_listed(text, mention):
            continue
        before = _CLAUSE_BEFORE.search(text, max(0, mention.start - 40), mention.start)
        after = _CLAUSE.match(text, mention.end)
        sides = [side[0].lower() for side in (before, after) if side]
        if any(denies(side, known) for side in sides):
            continue
        said = [words(side) for side in sides]
        shared = len(content.intersection(token for side in said for token in side))
        if (
            shared >= max(_RUN, _MOSTLY * len(content))
            or (before and _repeats(said[0][-_RUN - 1 :], runs))
            or (after and _repeats(said[-1], runs))
            or (before and _open_end(said[0]) == _open_end(asked))
        ):
            found[mention.letters] = mention
            best[mention.letters] = max(best.get(mention.letters, 0), shared)
    most = [letters for letters, shared in best.items() if shared == max(best.values())]
    return found[most[0]] if len(most) == 1 and len(most[0]) == 1 else None


def _open_end(said: Sequence[str]) -> Sequence[str]:
    """The last words before the option, without their verb."""
    end = len(said)
    while end and said[end - 1] in _VERBS:
        end -= 1
    return said[max(0, end - 3) : end]


#: The verbs on which a question ends, as does what a reply says before its answer.
_VERBS = frozenset("是为有指即应该叫称作等于的在")


def _repeats(said: Sequence[str], runs: set[tuple[str, ...]]) -> bool:
    """Whether the words hold one of the runs."""
    return any(tuple(said[place : place + _RUN]) in runs for place in range(len(said) - _RUN + 1))


_CLAUSE = Pattern(r"[^。！!？?\n；;，,.]{1,40}")
_CLAUSE_BEFORE = Pattern(r"[^。！!？?\n；;，,.]{1,40}\Z")
#: Beside an option's text: it is one of several things.
_LISTED_BEFORE = Pattern(r"[、和与及或]\s?\Z")
_LISTED_AFTER = Pattern(r"\s?(?:[、和与及或]|以及|and\b|or\b)")


def speaks_of(text: str, mention: Mention, question: str) -> bool:
    """Whether the sentence around an option ends on it, points at the question, or shares words with it."""
    before = _SENTENCE_BEFORE.search(text, max(0, mention.start - 80), mention.start)
    after = _REST.match(text, mention.end)
    opens = not text[: mention.start].strip(' \n`"“《')
    alone = len(text.strip()) < _BRIEF
    if after is None or alone or (before and _POINTS.match(before[0])):
        return True
    said = words((before[0] if before else "") + " " + after[0])
    shared = (set(words(question)) - _VERBS).intersection(said)
    return len(shared) >= (1 if opens else _SHARED)


#: How many of the question's words a sentence shares that speaks of it.
_SHARED = 2
#: A reply shorter than this speaks of nothing but the question.
_BRIEF = 16
_SENTENCE_BEFORE = Pattern(r"[^。！!？?\n；;.]{1,80}\Z")
_REST = Pattern(r"[^。！!？?\n；;.，,(（)）”\"'》]{4}[^。！!？?\n；;.]{0,80}")
_POINTS = Pattern(r"\s?(?:这|本|该|此|答|应|故|所以|因此|this|the (?:answer|correct))", re.IGNORECASE)


def is_listed(text: str, mention: Mention) -> bool:
    """Whether it is one of several things named in a row."""
    before = _LISTED_BEFORE.search(text, max(0, mention.start - 2), mention.start)
    return before is not None or _LISTED_AFTER.match(text, mention.end) is not None


#: How many words or characters in a row make a repetition of the question.
_RUN = 4
#: The share of the question's words that makes a repetition without a run.
_MOSTLY = 0.6
#: The words of a question that stand where its answer will.
_ASKING = Pattern(r"下列|以下|哪[位个种项些]?|什么|何者")


_SENTENCE = Pattern(r"[^。！!？?\n；;]{1,240}")
_CONCLUDES = Pattern(r"答案|因此|所以|故|综上|应|可见|therefore|answer|thus|hence|\bso\b", re.IGNORECASE)
_DENIES = Pattern(r"[不非没无未].?|\bnot\b|n't\b")
#: The least share of an option's pairs of characters that a sentence must hold to mean the option.
_ENOUGH = 0.5


def near(text: str, options: OptionTexts) -> tuple[str, int, int] | None:
    """The option that the reply's last conclusion gives in other words, and where that stands.

    An option is meant if half of its pairs of characters are there and, against each other option,
    more of what only it says is there than of what only the other says.
    """
    sentences = [found for found in _SENTENCE.finditer(text) if found[0].strip()]
    if not sentences or len(options.dense) < 3:
        return None
    concluding = [found for found in sentences if _CONCLUDES.search(found[0])]
    chosen = concluding[-1] if concluding else sentences[0] if len(sentences) < 3 else None
    if chosen is None:
        return None
    said = _features(chosen[0])
    wanted = {letter: _features(options.plain[letter]) for letter in options.dense}
    meant = [
        letter
        for letter, own in wanted.items()
        if len(own) > 8
        and all(feature in said for feature in own if feature.isdecimal())
        and _share(own, said, pairs=True) >= _ENOUGH
        and all(_beats(own, other, said) for name, other in wanted.items() if name != letter)
    ]
    if len(meant) != 1 or (
        denies(chosen[0].lower(), options.asked) and not _DENIES.search(options.plain[meant[0]])
    ):
        return None
    return meant[0], *chosen.span()


def denies(said: str, known: str) -> bool:
    """Whether something is denied in other words than those that are known."""
    return any(found not in known for found in _DENIES.findall(said))


_LABEL = Pattern(r"\s{0,3}(?:(?:正确)?答案|answer)?\s?(?:是|为|is)?[\s:：]{0,3}", re.IGNORECASE)


def part(text: str, options: OptionTexts) -> str | None:
    """The one option of whose text the reply gives a good part and nothing else."""
    label = _LABEL.match(text)
    said = text[label.end() if label else 0 :].strip(" 。.\n")
    dense = compact(said)[0]
    if len(dense) < 2 or not _WHOLE_WORDS.fullmatch(said):
        return None
    holding = [letter for letter, option in options.dense.items() if dense in option]
    if len(holding) != 1:
        return None
    option = options.dense[holding[0]]
    return holding[0] if len(dense) * (5 if option.startswith(dense) else 3) >= len(option) else None


#: A few characters of Chinese, or Latin words of which none is too short.
_WHOLE_WORDS = Pattern(r"[\u4e00-\u9fff]{2,24}|[A-Za-z]{4,24}(?:\s[A-Za-z]{2,24}){0,3}")
_TOKEN = Pattern(r"\d+(?:\.\d+)?|[a-z]+|[^\W\da-z_]")


def words(text: str) -> list[str]:
    """Numbers, Latin words without the ending of the plural, and Chinese characters."""
    return [
        token[:-1] if token[-1] == "s" and len(token) > 3 else token for token in _TOKEN.findall(text.lower())
    ]


def _features(text: str) -> frozenset[str]:
    """The words of a text, alone and in pairs."""
    tokens = words(text)
    return frozenset(tokens).union(first + " " + second for first, second in pairwise(tokens))


def _share(own: frozenset[str], said: frozenset[str], *, pairs: bool) -> float:
    wanted = [feature for feature in own if (" " in feature) == pairs]
    return sum(feature in said for feature in wanted) / len(wanted) if wanted else 0.0


def _beats(own: frozenset[str], other: frozenset[str], said: frozenset[str]) -> bool:
    mine = _share(own - other, said, pairs=False)
    theirs = _share(other - own, said, pairs=False)
    return mine >= _ENOUGH and theirs <= mine - _ENOUGH
