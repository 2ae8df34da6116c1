"""Thoughts set apart from what the model says."""

from __future__ import annotations

import re

_NAME = r"(?:[a-z]{1,12}[:_])?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|inner_monologue)"
_END = r"(?:\|?>|&gt;|(?=\s{0,4}\n))"
_CHANNEL = r"\|channel\|>\s?(?:{})[^<\n]{{0,40}}<\|message\|>"
#: Each tag begins with one of a few characters, so that all else is passed over at once.
_TAG = re.compile(
    rf"[<`\[◁&](?:(?P<quoted>(?<=`)`{{0,2}}\s?</?{_NAME}>?[^`\n]{{0,40}}`)"
    rf"|(?P<open>(?:(?<=<)\|?|(?<=&)lt;){_NAME}{_END}|(?<=\[){_NAME}\]|(?<=◁){_NAME}▷"
    rf"|(?<=<)(?:\|begin_of_thought\|>|{_CHANNEL.format('analysis|commentary')}))"
    rf"|(?P<close>(?:(?<=<)\|?|(?<=&)lt;)/{_NAME}{_END}|(?<=\[)/{_NAME}\]|(?<=◁)/{_NAME}▷"
    rf"|(?<=<)(?:\|end_of_thought\|>|{_CHANNEL.format('final')})))",
    re.IGNORECASE,
)
_MARKS = ("<", "[", "◁", "&lt;")


def thoughts(reply: str) -> tuple[list[tuple[int, int]], bool]:
    """The stretches of the reply that are thoughts, tags included, and whether the last one is unfinished.

    Blocks nest; a closing tag without its opening one closes all that stands before it; a tag in
    backticks is only spoken of.
    """
    stretches: list[tuple[int, int]] = []
    if not any(mark in reply for mark in _MARKS):
        return stretches, False
    depth = opened = 0
    for tag in _TAG.finditer(reply):
        if tag.lastgroup == "open":
            opened = opened if depth else tag.start()
            depth += 1
        elif tag.lastgroup == "close":
            if depth == 0:
                stretches, opened = [], 0
            if depth <= 1:
                stretches.append((opened, tag.end()))
            depth = max(0, depth - 1)
    return stretches, depth > 0
