"""Suggestions for misspelt names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


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
