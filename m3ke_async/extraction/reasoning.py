"""Thoughts set apart from what the model says."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = r"(?:[a-z]{1,12}[:_])?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|inner_monologue)"
_TAG = re.compile(
    rf"(?P<quoted>`{{1,3}}\s?</?{_NAME}>?[^`\n]{{0,40}}`)"
    rf"|(?P<open><\|?{_NAME}\|?(?:>|(?=\s*\n))|\[{_NAME}\]|◁{_NAME}▷|<\|begin_of_thought\|>"
    r"|<\|channel\|>\s*(?:analysis|commentary)[^<\n]{0,40}<\|message\|>)"
    rf"|(?P<close><\|?/{_NAME}\|?(?:>|(?=\s*\n))|\[/{_NAME}\]|◁/{_NAME}▷|<\|end_of_thought\|>"
    r"|<\|channel\|>\s*final[^<\n]{0,40}<\|message\|>)",
    re.IGNORECASE,
)
_MARKS = ("<", "[", "◁")


@dataclass(frozen=True, slots=True)
class Speech:
    """What the model says once its thoughts are overwritten.

    Attributes:
        text: the reply, same length, thoughts and their tags overwritten with spaces.
        finished: false where thoughts never end or nothing follows them.
    """

    text: str
    finished: bool = True


def without_reasoning(text: str) -> Speech:
    """The text with every block of thoughts overwritten; a closing tag alone closes all before it."""
    if not any(mark in text for mark in _MARKS):
        return Speech(text)
    hidden, open_end = _hidden(text)
    if open_end:
        return Speech("", finished=False)
    if not hidden:
        return Speech(text)
    pieces, place = [], 0
    for start, end in hidden:
        pieces += [text[place:start], " " * (end - start)]
        place = end
    said = "".join([*pieces, text[place:]])
    return Speech(said, finished=bool(said.strip()))


def _hidden(text: str) -> tuple[list[tuple[int, int]], bool]:
    """The blocks of thoughts, and whether the last one never closes."""
    hidden: list[tuple[int, int]] = []
    depth = opened = 0
    for tag in _TAG.finditer(text):
        if tag.lastgroup == "open":
            if depth == 0:
                opened = tag.start()
            depth += 1
        elif tag.lastgroup == "close":
            if depth == 0:
                hidden = []
                opened = 0
            if depth <= 1:
                hidden.append((opened, tag.end()))
            depth = max(0, depth - 1)
    return hidden, depth > 0
