"""Misspelt names: the error, and what may have been meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def one_of(option: str, value: object, known: Sequence[str]) -> str:
    """A value of an option that takes one of these words.

    Raises:
        UsageError: it is none of them.
    """
    if value not in known:
        hint = nearest(value, known) if isinstance(value, str) else ""
        shown = one_line(repr(value), limit=60)
        raise UsageError(f"{option} must be {' or '.join(known)}, not {shown}{hint}")
    return str(value)


def nearest(name: str, known: Iterable[str]) -> str:
    """`", did you mean 'x'?"` for the known name most like `name`; empty where none is like it."""
    found = _most_like(name, known)
    return f", did you mean {found!r}?" if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`"did you mean x?"` for the known name most like `name`; `"known are x, y"` where none is like it."""
    names = [*known]
    found = _most_like(name, names)
    return f"did you mean {found}?" if found else f"known are {', '.join(names) or 'none'}"


def _most_like(name: str, known: Iterable[str]) -> str | None:
    import difflib

    folded = {item.casefold(): item for item in known}
    found = difflib.get_close_matches(name.casefold(), folded, n=1)
    return folded[found[0]] if found else None
