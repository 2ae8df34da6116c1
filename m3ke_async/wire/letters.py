"""Probabilities of the letters A to D where an answer begins, from the forms in which servers give them.

    {"content": [{"token", "logprob", "top_logprobs": [{"token", "logprob"}]}]}    chat
    {"tokens": [...], "top_logprobs": [{token: logprob}]}                          completions
    {"tokens": [{"text", "logprob"}], "top_tokens": [[{"text", "logprob"}]]}       TGI's details

Logarithms are natural ones.
"""

from __future__ import annotations

import re
import unicodedata
from math import exp
from typing import TYPE_CHECKING, Any

from m3ke_async.suite import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: A token, and what may stand in its place with the logarithms of their probabilities.
_Position = tuple[str, list[tuple[str, float]]]

#: What tokenizers write for a space or a line's end before a word.
_MARKS = str.maketrans(dict.fromkeys("▁ĠĊ", " "))
_LETTER = re.compile(r"[\W_]*([A-Da-d])[\W_]*")


def letter_in(token: str) -> str | None:
    """The letter that a token stands for, such as ` A`, `(A` or `Ａ`; None for any other token."""
    found = _LETTER.fullmatch(unicodedata.normalize("NFKC", token.translate(_MARKS)))
    return found[1].upper() if found else None


def letters_in(logprobs: Any) -> tuple[float, ...] | None:
    """Probabilities of A to D at the first token that says anything; what is missing to 1 is elsewhere.

    Returns:
        None where no alternatives to the tokens are given.
    """
    if logprobs is None:
        return None
    positions = [(token, top) for token, top in _positions(logprobs) if len(top) > 1]
    if not positions:
        return None
    # an answer may begin with a line's end or a bracket
    begins = (top for token, top in positions if any(sign.isalnum() for sign in token.translate(_MARKS)))
    found = dict.fromkeys(LETTERS, 0.0)
    for token, logprob in next(begins, []):
        letter = letter_in(token)
        if letter is not None:
            found[letter] += exp(min(logprob, 0.0))
    return tuple(round(min(value, 1.0), 6) for value in found.values())


def most_likely(letters: tuple[float, ...]) -> str | None:
    """The one letter that is likelier than all others; None where there is none."""
    best = max(letters)
    return LETTERS[letters.index(best)] if best > 0 and letters.count(best) == 1 else None


def outside(letters: tuple[float, ...]) -> float:
    """The probability that is not on a letter."""
    return max(0.0, 1.0 - sum(letters))


def letter_shares(letters: tuple[float, ...]) -> str:
    """Each probability, for people."""
    shares = [*zip(LETTERS, letters, strict=True), ("other tokens", outside(letters))]
    return ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares)


def _positions(logprobs: Any) -> Iterator[_Position]:
    if not isinstance(logprobs, dict):
        return
    content, tokens = logprobs.get("content"), logprobs.get("tokens")
    if isinstance(content, list):
        for entry in content:
            if isinstance(entry, dict):
                yield from _position(entry.get("token"), _pairs(entry.get("top_logprobs")))
    elif isinstance(tokens, list):
        tops = logprobs.get("top_logprobs", logprobs.get("top_tokens"))
        for token, top in zip(tokens, tops if isinstance(tops, list) else (), strict=False):
            text = token.get("text") if isinstance(token, dict) else token
            yield from _position(text, top.items() if isinstance(top, dict) else _pairs(top))


def _position(token: Any, top: Iterable[tuple[Any, Any]]) -> Iterator[_Position]:
    if isinstance(token, str):
        known = (pair for pair in top if isinstance(pair[0], str) and type(pair[1]) in (int, float))
        yield token, list(known)


def _pairs(entries: Any) -> Iterator[tuple[Any, Any]]:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield entry.get("token", entry.get("text")), entry.get("logprob")
