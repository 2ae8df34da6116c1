"""Packages that are installed only by those who need them."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """The command that adds an extra, for the end of a message."""
    return f"pip install '.[{extra}]' in the clone of m3ke-async"
