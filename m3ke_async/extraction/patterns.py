"""Patterns that are compiled on first use, so that importing the rules costs next to nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


class Pattern:
    """A regular expression with the methods of `re.Pattern`, compiled when the first one is asked for."""

    __slots__ = ("_flags", "_source", *_METHODS)

    findall: Callable[..., list[str]]
    finditer: Callable[..., Iterator[re.Match[str]]]
    fullmatch: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    search: Callable[..., re.Match[str] | None]
    split: Callable[..., list[str]]
    sub: Callable[..., str]

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> object:
        """Compile, and keep the methods, so that this is called once."""
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self._source, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


class Words:
    """Chinese words and Latin ones, of which a text in small letters may hold any.

    Apart they are found several times as fast: alternatives that all open with a plain character are only
    tried where one of these stands, and most texts hold no Latin letter.
    """

    __slots__ = ("_chinese", "_latin")

    def __init__(self, chinese: str, latin: str) -> None:
        self._chinese, self._latin = Pattern(chinese), Pattern(latin)

    def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """One of the words between the two places, if there is one."""
        end = len(text) if end is None else end
        found = self._chinese.search(text, start, end)
        if found is None and _LATIN.search(text, start, end):
            return self._latin.search(text, start, end)
        return found


_LATIN = Pattern("[a-z]")
