"""What run.json must hold to be read again: it is a file that people copy, edit and damage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.errors import DataError
from m3ke_async.profile import Constraint, ProtocolName, TokenParameter
from m3ke_async.suites.taxonomy import SuiteName
from m3ke_async.tally import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RECORD_VERSION = 1


def load_record(raw: bytes, file: Path) -> dict[str, Any]:
    """The content of a run.json.

    Raises:
        DataError: it is damaged, or of another version.
    """
    try:
        table = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise DataError(
            f"is damaged ({error}); remove it, and run the same command again", file=file
        ) from None
    if not isinstance(table, dict) or table.get("version") != RECORD_VERSION:
        raise DataError("is of another version of m3ke-async; use another --results or --name", file=file)
    wrong = [name for name, fits in _FIELDS.items() if name not in table or not fits(table[name])]
    # Under another provider's name no reply is found, and empty results would replace the run's.
    if wrong or table["settings"]["model"].strip().partition("/")[0] != table["provider"]:
        name = wrong[0] if wrong else "provider"
        what = "damaged" if name in table else "missing"
        raise DataError(
            f"is {what}; remove the file, and run the same command again",
            file=file,
            field=name,
        )
    return table


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _holds(*texts: str) -> Callable[[Any], bool]:
    """An object with at least these texts."""
    return lambda value: isinstance(value, dict) and all(_is_text(value.get(name)) for name in texts)


def _counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


#: Fields that every ledger has; what is counted since then starts from 0 in a run that is older.
_FIRST = {
    *("requests", "replies", "prompt_tokens", "completion_tokens", "cached_tokens", "unreported"),
    *("wasted_tokens", "retries", "resent", "seconds_waited", "seconds"),
}


def _is_ledger(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() <= Ledger.__dataclass_fields__.keys():
        return False
    if not value.keys() >= _FIRST:
        return False
    return _counts(value["retries"]) and _counts({**value, "retries": 0})


def _is_count_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, int) and _is_number(value))


def _is_sent(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("protocol") in [*ProtocolName]
        and value.get("token_parameter") in [*TokenParameter]
        and isinstance(value.get("thinking"), dict)
        and isinstance(value.get("constraints", []), list)
        and all(constraint in [*Constraint] for constraint in value.get("constraints", ()))
        and _is_count_or_none(value.get("top_logprobs"))
    )


#: What run.json must hold to be read again.
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "state": lambda value: value in ("running", "stopped", "incomplete", "complete"),
    "identity": lambda value: _holds("address")(value) and _is_number(value.get("samples", 1)),
    "settings": lambda value: (
        _holds("model", "policy", "split")(value)
        and _is_number(value.get("shots"))
        and value.get("suite", SuiteName.M3KE) in [*SuiteName]
    ),
    "provider": _is_text,
    "model": _is_text,
    "data": _is_text,
    "is_m3ke": lambda value: isinstance(value, bool),
    "rules": _is_text,
    "adapted": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "sent": _is_sent,
    "counts": _counts,
    "ledger": _is_ledger,
    "fresh_since": lambda value: value is None or _is_number(value),
    "hashes": lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
}
