"""What other scripts do with a reply, for comparability: named policies beside the careful one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.extraction.patterns import Pattern

if TYPE_CHECKING:
    import re

#: A letter that is not part of a Latin word or a number.
_INDICATOR = Pattern(r"(?<![A-Za-z0-9])[A-D](?![A-Za-z0-9])")
#: The longest reply that `strict` reads; longer ones are explanations, which it does not judge.
SHORT = 40


def indicators(text: str, policy: str) -> re.Match[str] | None:
    """The indicator that `strict`, `first` or `last` takes from the text."""
    found: re.Match[str] | None = None
    letters: set[str] = set()
    for found in _INDICATOR.finditer(text):
        if policy == "first":
            return found
        letters.add(found[0])
    if policy == "strict" and (len(letters) != 1 or len(text.strip()) > SHORT):
        return None
    return found
