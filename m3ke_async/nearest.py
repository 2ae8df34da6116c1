"""Suggestions for misspelt names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """`", did you mean 'x'?"` for the known name most like `name`; empty where none is like it."""
    import difflib

    folded = {item.casefold(): item for item in known}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f", did you mean {folded[found[0]]!r}?" if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`"did you mean x?"` for the known name most like `name`; all of them where none is like it."""
    import difflib

    names = [*known]
    near = difflib.get_close_matches(name, names, n=1) or names
    return f"did you mean {' or '.join(near)}?"
