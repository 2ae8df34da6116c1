"""A reply that is held to one of the four letters: the fields that ask for it, and the letter in it."""

from __future__ import annotations

import re
from typing import Any

from m3ke_async.profile import Constraint
from m3ke_async.suite import LETTERS

_CHOICES = list(LETTERS)
_ONE = f"[{''.join(LETTERS)}]"
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": _CHOICES}},
    "required": ["answer"],
    "additionalProperties": False,
}

_FIELDS: dict[Constraint, dict[str, Any]] = {
    Constraint.STRUCTURED_CHOICE: {"structured_outputs": {"choice": _CHOICES}},
    Constraint.GUIDED_CHOICE: {"guided_choice": _CHOICES},
    Constraint.REGEX: {"regex": _ONE},
    Constraint.GRAMMAR: {"grammar": f"root ::= {_ONE}"},
    Constraint.FORMAT_REGEX: {"response_format": {"type": "regex", "value": _ONE}},
    Constraint.JSON_SCHEMA: {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": _SCHEMA},
        }
    },
}

_HELD = re.compile(rf'\s*(?:({_ONE})|\{{\s*"answer"\s*:\s*"({_ONE})"\s*\}})\s*')


def constraint_fields(constraint: Constraint) -> dict[str, Any]:
    """The request's fields."""
    return _FIELDS[constraint]


def held_letter(text: str) -> tuple[str, tuple[int, int]] | None:
    """The letter and its place in a reply that was held to one; None in any other reply."""
    found = _HELD.fullmatch(text)
    if found is None:
        return None
    group = 1 if found[1] else 2
    return found[group], found.span(group)
