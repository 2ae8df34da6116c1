"""Questions without a reply, for people: how many of which kind, the first by name, and where the rest is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from m3ke_async.answer import read_answers
from m3ke_async.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: So many are named.
_NAMED = 3


def failed_lines(path: Path) -> Iterator[str]:
    """The failed questions of a run; nothing where none failed.

    Args:
        path: of the run's failed.jsonl.
    """
    kinds: Counter[str] = Counter()
    named: list[str] = []
    for answer in read_answers(path, damaged=lambda line: None):
        kind, _, message = (answer.failure or "").partition(": ")
        kinds[kind] += 1
        if len(named) < _NAMED:
            named.append(f"  {answer.task} {answer.id}: {one_line(message)}")
    if not kinds:
        return
    total = kinds.total()
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    yield f"Failed: {counted(total, 'question')} ({counts})"
    yield from named
    if total > len(named):
        yield f"  and {total - len(named):,} more in {path}"
