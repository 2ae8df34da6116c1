"""Foreign text: made printable, made comparable, made storable."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

#: C0 and C1 controls (but tab and newline), and the marks that reorder or hide text.
_HOSTILE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPACE = re.compile(r"\s+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def printable(text: str, *, limit: int | None = None) -> str:
    """The text without anything that could steer a terminal; at most `limit` characters."""
    clean = _HOSTILE.sub("\ufffd", escape_surrogates(text))
    if limit is not None and len(clean) > limit:
        return clean[: limit - 1] + "…"
    return clean


def one_line(text: str, *, limit: int = 300) -> str:
    """`printable` text on one line, for messages."""
    return printable(_SPACE.sub(" ", text).strip(), limit=limit)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with what is counted in the form that fits it: "1 reply", "2,000 replies".

    Args:
        number: how many.
        one: the words after 1.
        many: the words after any other number; `one` with an s if they are left out.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def by_reason(told: Iterable[tuple[str, str]], most: int = 3) -> list[str]:
    """What is to be said of several things, a line for each that is said.

    Args:
        told: names with what is said of them.
        most: names that stand in a line; of others the number does.
    """
    found: dict[str, list[str]] = {}
    for name, reason in told:
        found.setdefault(reason, []).append(name)
    return [f"{_first(names, most)}: {reason}" for reason, names in found.items()]


def _first(names: list[str], most: int) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def normalised(text: str) -> str:
    """The text for comparing questions: NFKC, without any white space, lower case."""
    return _SPACE.sub("", unicodedata.normalize("NFKC", text)).casefold()


def escape_surrogates(value: Any) -> Any:
    r"""Replace lone surrogates by their `\udXXX` spelling, in a string or anywhere in JSON-like data."""
    if isinstance(value, str):
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    if isinstance(value, dict):
        return {escape_surrogates(name): escape_surrogates(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [escape_surrogates(item) for item in value]
    return value
