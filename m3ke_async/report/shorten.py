"""Texts of many replies made to fit one page: the head, and what stands around the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

#: Characters of replies and reasoning that a page holds, so that a browser reads it with ease.
ROOM = 9_000_000
#: A file of answers up to this size has less text than that: three bytes a Chinese character.
_SMALL = 3 * ROOM
#: No text is cut below this.
_LEAST = 200
_GAP = " … "


class Short(NamedTuple):
    """A text, where the choice stands in it now, and how many characters were left out."""

    text: str
    span: tuple[int, int] | None
    left_out: int


def room_for_each(answers: Path, replies: int) -> int | None:
    """Characters that each reply may have with its reasoning; None where all fit whole.

    Args:
        answers: path of answers.jsonl.
        replies: in it.
    """
    small = not answers.exists() or answers.stat().st_size <= _SMALL
    return None if small or not replies else max(_LEAST, ROOM // replies)


def shorten(text: str, span: tuple[int, int] | None, room: int | None) -> Short:
    """The first half of what there is room for, and as much around the choice, or before the end.

    Args:
        text: any.
        span: of the choice in it.
        room: characters; None for all.
    """
    if room is None or len(text) <= room:
        return Short(text, span, 0)
    half = room // 2
    start, end = span or (len(text), len(text))
    if end <= room:
        return Short(text[:room] + _GAP, span, len(text) - room)
    low = min(max(half, start - half // 2), len(text) - half)
    high = max(low + half, end)
    kept = text[:half] + _GAP + text[low:high] + (_GAP if high < len(text) else "")
    moved = half + len(_GAP) - low
    shifted = None if span is None else (start + moved, end + moved)
    return Short(kept, shifted, len(text) - half - (high - low))
