"""Fields of answers, read defensively: what servers send is foreign."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from m3ke_async.error_body import find_error, load_json
from m3ke_async.request import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.profile import Profile, UsageFields

#: More tokens, and more dollars for one reply, are a mistake of the server, and unknown.
_MOST_TOKENS, _MOST_MONEY = 1 << 32, 1e4

_Number = TypeVar("_Number", int, float)

#: Tables that lead to a number, and its name in the last one.
_Path: TypeAlias = tuple[tuple[str, ...], str]


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
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


def usage_in(answer: Any, own: UsageFields) -> Usage:
    """Tokens and money by the `usage` of an answer in OpenAI's form, and by fields of the provider's own."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict):
        return Usage()
    cached, reasoning, cost = _paths(own)
    return Usage(
        prompt_tokens=count(usage, "prompt_tokens"),
        completion_tokens=count(usage, "completion_tokens"),
        cached_tokens=_first(count, usage, cached),
        reasoning_tokens=_first(count, usage, reasoning),
        cost=_first(_money, usage, cost),
    )


def _money(table: Any, name: str) -> float | None:
    """An amount of money in a table; None is unknown."""
    value = table.get(name) if isinstance(table, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST_MONEY else None


def _first(
    read: Callable[[Any, str], _Number | None], usage: dict[str, Any], paths: tuple[_Path, ...]
) -> _Number | None:
    """The first number that is there."""
    for outer, name in paths:
        table: Any = usage
        for step in outer:
            table = table.get(step) if isinstance(table, dict) else None
        if (found := read(table, name)) is not None:
            return found
    return None


@cache
def _paths(own: UsageFields) -> tuple[tuple[_Path, ...], ...]:
    """Where cached tokens, thoughts and money stand."""
    return (
        (*map(_path, own.cached), _path("prompt_tokens_details.cached_tokens")),
        (*map(_path, own.reasoning), _path("completion_tokens_details.reasoning_tokens")),
        tuple(map(_path, own.cost)),
    )


def _path(dotted: str) -> _Path:
    *outer, name = dotted.split(".")
    return tuple(outer), name


def usage_of(raw: bytes, profile: Profile) -> Usage:
    """Tokens and money that any answer in OpenAI's form reports."""
    return usage_in(_load(raw), profile.usage)


def _load(raw: bytes) -> Any:
    try:
        return load_json(raw)
    except ValueError:
        return None
