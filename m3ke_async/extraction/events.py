"""What one clause of a reply says of the options that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from m3ke_async.extraction.mentions import Mention
    from m3ke_async.extraction.rules import Says


class Event(NamedTuple):
    """What one clause says.

    Attributes:
        at: where its mention stands in the shape.
        letters: the letters that it names.
        says: what is said of them.
        rule: the rule that read it.
        mention: the mention.
    """

    at: int
    letters: str
    says: Says
    rule: str
    mention: Mention
