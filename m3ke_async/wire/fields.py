"""Fields of answers, read defensively: what servers send is foreign."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from m3ke_async.error_body import find_error, load_json
from m3ke_async.request import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.profile import Profile, UsageFields

#: More tokens, and more dollars for one reply, are a mistake of the server, and unknown.
_MOST_TOKENS, _MOST_MONEY = 1 << 32, 1e4

_Number = TypeVar("_Number", int, float)


def answer_in(raw: bytes) -> dict[str, Any] | None:
    """The JSON object of an answer; None where there is none, or it tells of an error."""
    answer = _load(raw)
    return answer if isinstance(answer, dict) and find_error(answer) is None else None


def first_choice(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The first of the `choices`."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else None


def string(value: Any) -> str | None:
    """A string, or nothing."""
    return value if isinstance(value, str) else None


def count(table: Any, name: str) -> int | None:
    """A number of tokens in a table; None is unknown."""
    value = table.get(name) if isinstance(table, dict) else None
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS
    return value if known else None


def usage_in(answer: Any, own: UsageFields) -> Usage:
    """Tokens and money by the `usage` of an answer in OpenAI's form, and by fields of the provider's own."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        prompt_tokens=count(usage, "prompt_tokens"),
        completion_tokens=count(usage, "completion_tokens"),
        cached_tokens=_first(count, usage, *own.cached, "prompt_tokens_details.cached_tokens"),
        reasoning_tokens=_first(count, usage, *own.reasoning, "completion_tokens_details.reasoning_tokens"),
        cost=_first(_money, usage, *own.cost),
    )


def _money(table: Any, name: str) -> float | None:
    """An amount of money in a table; None is unknown."""
    value = table.get(name) if isinstance(table, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST_MONEY else None


def _first(read: Callable[[Any, str], _Number | None], usage: dict[str, Any], *paths: str) -> _Number | None:
    """The first number that is there; the dots of a path lead into tables."""
    for path in paths:
        *outer, name = _steps(path)
        table: Any = usage
        for step in outer:
            table = table.get(step) if isinstance(table, dict) else None
        if (found := read(table, name)) is not None:
            return found
    return None


@cache
def _steps(path: str) -> list[str]:
    return path.split(".")


def usage_of(raw: bytes, profile: Profile) -> Usage:
    """Tokens and money that any answer in OpenAI's form reports."""
    return usage_in(_load(raw), profile.usage)


def _load(raw: bytes) -> Any:
    try:
        return load_json(raw)
    except ValueError:
        return None
