"""Thoughts set apart from what the model says."""

from __future__ import annotations

import re

from m3ke_async.extraction.patterns import Pattern

_NAME = (
    r"(?:[a-z]{1,12}[:_])?"
    r"(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|in(?:ner|ternal)_monologue)"
)
#: One of these stands in every tag; most replies hold none.
_WORDS = ("think", "thought", "reasoning", "reflection", "scratchpad", "_monologue", "analysis", "channel")
#: More tags than a reply holds that was meant; it counts as thoughts without an end.
_MOST = 10_000
_END = r"(?:\|?>|&gt;|(?=\s{0,4}\n))"
_CHANNEL = r"\|channel\|>\s?(?:{})[^<\n]{{0,40}}<\|message\|>"
#: Each tag begins with one of a few characters, so that all else is passed over at once.
_TAG = Pattern(
    r"[<`\[◁&](?=[|/a-z]|(?<=`)`{0,2}\s?<)(?:"
    rf"(?P<open>(?:(?<=<)\|?(?!end_)|(?<=&)lt;)(?:{_NAME}|analysis){_END}|(?<=\[){_NAME}\]|(?<=◁){_NAME}▷"
    rf"|(?<=<)(?:\|begin_of_thought\|>|{_CHANNEL.format('analysis|commentary')}))"
    rf"|(?P<close>(?:(?<=<)\|?|(?<=&)lt;)/(?:{_NAME}|analysis){_END}|(?<=<)\|end_{_NAME}{_END}|(?<=\[)/{_NAME}\]|(?<=◁)/{_NAME}▷"
    rf"|(?<=<)(?:\|end_of_thought\|>|{_CHANNEL.format('final')}))"
    rf"|(?P<quoted>(?<=`)`{{0,2}}\s?</?{_NAME}>?[^`\n]{{0,40}}`))",
    re.IGNORECASE,
)


def thoughts(reply: str) -> tuple[list[tuple[int, int]], bool]:
    """The stretches of the reply that are thoughts, tags included, and whether the last one is unfinished.

    Blocks nest, but a doubled tag opens one block; a closing tag without its opening one closes all that
    stands before it; a tag in backticks is only spoken of.
    """
    stretches: list[tuple[int, int]] = []
    lowered = reply.lower()
    if not any(word in lowered for word in _WORDS):
        return stretches, False
    depth = opened = 0
    before: re.Match[str] | None = None
    for count, tag in enumerate(_TAG.finditer(reply)):
        if count > _MOST:
            return [], True
        kind = tag.lastgroup
        if kind == "open":
            if not depth:
                opened = tag.start()
            depth += not _is_doubled(reply, before, tag)
            before = tag
        elif kind == "close":
            before = None
            if depth:
                depth -= 1
            else:
                stretches.clear()
                opened = 0
            if not depth:
                stretches.append((opened, tag.end()))
    return stretches, depth > 0


def _is_doubled(reply: str, before: re.Match[str] | None, tag: re.Match[str]) -> bool:
    """Whether the tag only repeats the opening one right before it."""
    return before is not None and before[0] == tag[0] and not reply[before.end() : tag.start()].strip()
