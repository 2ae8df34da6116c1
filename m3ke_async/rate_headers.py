"""What a reply's headers say about rate limits, by the names in the provider's file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3ke_async.profile import LimitHeaders, Profile, Window
from m3ke_async.waits import http_date, parse_wait, server_time

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits per minute as a reply gives them; None where it does not.

    Attributes:
        requests_per_minute: requests allowed in a minute, above 0.
        remaining_requests: requests left, not below 0.
        reset_requests_s: seconds until the budget of requests is full again.
        tokens_per_minute: tokens allowed in a minute, above 0.
        remaining_tokens: tokens left, not below 0.
        reset_tokens_s: seconds until the budget of tokens is full again.
    """

    requests_per_minute: int | None = None
    remaining_requests: int | None = None
    reset_requests_s: float | None = None
    tokens_per_minute: int | None = None
    remaining_tokens: int | None = None
    reset_tokens_s: float | None = None


NOTHING = Limits()

#: No limit is larger; what is, is a mistake of the server.
_MOST = 1 << 53
_NO_VALUES = (None,) * 6


def observed_limits(profile: Profile, headers: Mapping[str, str], now: float | None = None) -> Limits:
    """The limits that this reply names.

    Only windows of a minute count: Groq's request headers are for a day.

    Args:
        profile: names of the headers.
        headers: header names in lower case.
        now: local Unix time in seconds, for replies without `Date` whose resets are points in time.
    """
    requests, tokens = profile.request_headers, profile.token_headers
    if requests.window is not Window.MINUTE and tokens.window is not Window.MINUTE:
        return NOTHING
    found = (*_read(requests, headers, now), *_read(tokens, headers, now))
    return NOTHING if found == _NO_VALUES else Limits(*found)


def reset_wait(profile: Profile, headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until every budget is full again: the larger of the two resets.

    The reset of a longer or unknown window counts only when nothing remains of it;
    otherwise a refusal by the minute would be sat out for hours.
    """
    clock = server_time(headers, now)
    waits = [
        wait
        for names in (profile.request_headers, profile.token_headers)
        if names.window is Window.MINUTE or _count(_first(headers, names.remaining)) == 0
        if (wait := parse_wait(_first(headers, names.reset), clock)) is not None
    ]
    return max(waits, default=None)


def _read(
    names: LimitHeaders, headers: Mapping[str, str], now: float | None
) -> tuple[int | None, int | None, float | None]:
    if names.window is not Window.MINUTE:
        return None, None, None
    limit = _first(headers, names.limit)
    remaining = _first(headers, names.remaining)
    reset = _first(headers, names.reset)
    if reset and reset.find("-", 1) > 0:  # a time stamp
        moment = http_date(headers.get("date", ""))
        now = now if moment is None else moment
    return (
        (_count(limit) or None) if limit else None,
        _count(remaining) if remaining else None,
        parse_wait(reset, now) if reset else None,
    )


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    for name in names:
        value = headers.get(name)
        if value:
            return value
    return ""


def _count(text: str) -> int | None:
    """A whole number; Azure sends negative remainders, which are 0."""
    try:
        count = max(int(text), 0)
    except ValueError:
        return None
    return count if count < _MOST else None
