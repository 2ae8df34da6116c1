"""Tables of replies by the letter that they choose, held against what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.choice import extract_choice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def misread(
    question: str, options: tuple[str, str, str, str], replies: Mapping[str, Sequence[str]]
) -> list[tuple[str, str | None, str | None]]:
    """The replies from which another letter is read than theirs ("" for none), with it and its rule."""
    texts = dict(zip("ABCD", options, strict=True))
    return [
        (reply, choice.letter, choice.rule)
        for letter, said in replies.items()
        for reply in said
        if ((choice := extract_choice(reply, texts, question)).letter or "") != letter
    ]
