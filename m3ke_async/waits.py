"""How long a server asks to wait, in every spelling that providers use.

Zero, negative, past, endless and unreadable values are no hint: None. Points in time
are measured against the reply's own `Date`, because the local clock may be off.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: A wait above a week is a mistake of the server, not a hint.
LONGEST = 7 * 86400.0

_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18}", re.ASCII)
_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,18})?(?:ms|us|µs|ns|d|h|m|s))+", re.ASCII)
_PART = re.compile(r"([0-9.]+)(ms|us|µs|ns|d|h|m|s)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}.*", re.ASCII)
#: Larger numbers are points in time: seconds, then milliseconds since 1970.
_EPOCH_SECONDS, _EPOCH_MILLISECONDS = 1e9, 1e11

# "try again in 7.66s", "please try again in 2m59.56s", "retry in 45.8s.", "after 1 seconds", "5 秒后"
_IN_WORDS = re.compile(
    r"(?:again|retry(?:ing)?|wait)\s+(?:in|after|for)?\s*"
    r"([0-9][0-9.]{0,17}(?:(?:ms|h|m|s|d)(?:[0-9]+(?:\.[0-9]+)?(?:ms|h|m|s))*(?![a-z])"
    r"|\s*(?:milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?)))"
    r"|([0-9]{1,6}(?:\.[0-9]+)?)\s*秒[钟]?后",
    re.IGNORECASE,
)
_LONG_UNIT = re.compile(r"([0-9.]+?)\.?\s*(milli|sec|min|h)", re.IGNORECASE)
_LONG_UNITS = {"milli": 1e-3, "sec": 1.0, "min": 60.0, "h": 3600.0}


def parse_wait(text: str, now: float | None) -> float | None:
    """Seconds from now that a value such as `6m0s`, `64`, a time stamp or epoch milliseconds means.

    Args:
        text: the value of a header, or a duration found in a body.
        now: the server's Unix time in seconds; None where it is unknown, and then
            points in time are no hint.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        if number < _EPOCH_SECONDS:
            return _usable(number)
        if now is None:
            return None
        return _usable((number / 1000 if number >= _EPOCH_MILLISECONDS else number) - now)
    if _DURATION.fullmatch(text):
        return _duration(text)
    if now is not None and _TIMESTAMP.fullmatch(text):
        moment = _rfc3339(text)
        return None if moment is None else _usable(moment - now)
    return None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that `retry-after-ms` or else `Retry-After` asks for.

    Args:
        headers: header names in lower case.
        now: local Unix time in seconds, used where the reply has no `Date`.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        wait = _usable(float(milliseconds) / 1000)
        if wait is not None:
            return wait
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    moment = http_date(text)
    if moment is not None:
        return _usable(moment - server_time(headers, now))
    return parse_wait(text, server_time(headers, now))


def wait_in_words(message: str) -> float | None:
    """Seconds that a sentence such as "Please try again in 7.66s" asks for."""
    found = _IN_WORDS.search(message)
    if found is None:
        return None
    if found[2] is not None:
        return parse_wait(found[2], None)
    amount = found[1].lower()
    worded = _LONG_UNIT.fullmatch(amount) or _LONG_UNIT.match(amount)
    if _DURATION.fullmatch(amount):
        return _duration(amount)
    if worded is None or not _NUMBER.fullmatch(worded[1]):
        return None
    return _usable(float(worded[1]) * _LONG_UNITS[worded[2]])


def server_time(headers: Mapping[str, str], now: float) -> float:
    """Unix time in seconds by the reply's `Date`, or else by the local clock."""
    moment = http_date(headers.get("date", ""))
    return now if moment is None else moment


@lru_cache(maxsize=64)  # one value a second, shared by many replies
def http_date(text: str) -> float | None:
    """Unix time in seconds of an HTTP date in any of its three forms, or None."""
    if "," not in text and ":" not in text:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return _timestamp(moment)


def _rfc3339(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return _timestamp(moment)


def _timestamp(moment: datetime) -> float | None:
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _duration(text: str) -> float | None:
    try:
        return _usable(sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text)))
    except ValueError:
        return None


def _usable(seconds: float) -> float | None:
    return seconds if 0 < seconds <= LONGEST else None  # also false for nan
