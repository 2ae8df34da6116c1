"""What an answer that is no reply means: one pure decision, and one table of what follows.

The decision is made from the provider's rules, the status, the words in the body, the
headers and the exception. It never raises, whatever bytes a server sends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from m3ke_async.error_body import ErrorBody, read_body
from m3ke_async.rate_headers import reset_wait
from m3ke_async.rules import Kind, Rule
from m3ke_async.scrub import scrub
from m3ke_async.text import one_line
from m3ke_async.transport_faults import kind_of
from m3ke_async.waits import parse_wait, retry_after, server_time, wait_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.profile import Profile

__all__ = ["Action", "Decision", "Kind", "decide"]


class Action(StrEnum):
    """What becomes of the request."""

    STOP_RUN = "stop_run"
    FAIL_ITEM = "fail_item"
    RECORD_FILTERED = "record_filtered"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about an answer that is no reply.

    Attributes:
        action: what becomes of the request.
        kind: what went wrong.
        message: one line for people: what happened, what the server said, what to do.
        wait: seconds that the server asked for; None is no hint.
        slow_down: whether fewer requests should be in flight.
        then_stop: whether the run stops when the last retry fails as well, because all
            other questions would fail in the same way.
    """

    action: Action
    kind: Kind
    message: str
    wait: float | None = None
    slow_down: bool = False
    then_stop: bool = False


@dataclass(frozen=True, slots=True)
class _Effect:
    action: Action
    what: str
    advice: str = ""
    slow_down: bool = False
    then_stop: bool = False


_STOP, _FAIL, _RETRY = Action.STOP_RUN, Action.FAIL_ITEM, Action.RETRY

_EFFECTS: Mapping[Kind, _Effect] = {
    Kind.BAD_KEY: _Effect(_STOP, "the key was refused", "set {key} to a valid key, then run again"),
    Kind.FORBIDDEN: _Effect(_STOP, "access was denied", "check what {key} may use, then run again"),
    Kind.NO_MONEY: _Effect(
        _STOP, "the account has no credit left", "top it up, then run the same command again"
    ),
    Kind.NO_MONEY_MAYBE: _Effect(
        _RETRY,
        "the quota is used up, for the moment or for good",
        "check the account's credit, then run the same command again",
        slow_down=True,
        then_stop=True,
    ),
    Kind.DAILY_LIMIT: _Effect(
        _STOP, "the quota of the day or plan is used up", "run the same command again when it is renewed"
    ),
    Kind.NO_MODEL: _Effect(
        _STOP, "there is no such model for this key", "check the model's name, then run again"
    ),
    Kind.WRONG_ADDRESS: _Effect(
        _STOP,
        "nothing at this address takes such requests",
        "check the base URL: it may lack /v1, or have it twice",
    ),
    Kind.BAD_PARAMETER: _Effect(
        _STOP, "the parameter {param} was refused", "change or leave out that setting, then run again"
    ),
    Kind.TLS: _Effect(
        _STOP,
        "no secure connection could be made",
        "check the address (https or http) and the server's certificate",
    ),
    Kind.ENGINE_DEAD: _Effect(
        _STOP, "the model engine on the server died", "read the server's log, restart it, then run again"
    ),
    Kind.TOO_LONG: _Effect(
        _FAIL, "the prompt is too long for the model", "use fewer --shots or a longer context"
    ),
    Kind.BAD_REQUEST: _Effect(_FAIL, "the request was refused"),
    Kind.EMPTY: _Effect(_FAIL, "the reply holds no text"),
    Kind.TOOL_CALL: _Effect(
        _FAIL, "the reply calls a tool, and none was offered", "see whether the server adds tools of its own"
    ),
    Kind.ONLY_REASONING: _Effect(
        _FAIL,
        "the reply holds thoughts and no answer",
        "give a larger --max-tokens, or check the server's reasoning parser",
    ),
    Kind.NOT_TEXT: _Effect(
        _FAIL, "the reply holds sound or pictures and no text", "ask a model that answers in text"
    ),
    Kind.UNEXPECTED: _Effect(_FAIL, "the request failed in an unexpected way"),
    Kind.FILTERED: _Effect(Action.RECORD_FILTERED, "the content check stopped it"),
    Kind.RATE_LIMIT: _Effect(_RETRY, "the rate limit was reached", slow_down=True),
    Kind.OVERLOAD: _Effect(_RETRY, "the server is overloaded", slow_down=True),
    Kind.LOADING: _Effect(
        _RETRY, "the server is still loading its model", "run the same command again when it is loaded"
    ),
    Kind.SERVER_ERROR: _Effect(_RETRY, "the server failed"),
    Kind.TIMEOUT: _Effect(_RETRY, "no answer came in time"),
    Kind.CONNECTION: _Effect(_RETRY, "the connection broke"),
    Kind.UNREACHABLE: _Effect(
        _RETRY, "the server cannot be reached", "check that it runs and that the address is right"
    ),
    Kind.LOCAL_LIMIT: _Effect(
        _RETRY,
        "this computer has no more connections to give",
        "use a lower --concurrency or a higher `ulimit -n`",
        slow_down=True,
    ),
    Kind.MALFORMED: _Effect(_RETRY, "the answer is no JSON of a chat reply"),
    Kind.NO_CHOICES: _Effect(_RETRY, "the answer holds no choices"),
    Kind.WEB_PAGE: _Effect(
        _RETRY,
        "the answer is a web page",
        "check the base URL: it may lack /v1, or lead to a login page",
        then_stop=True,
    ),
}

#: Whole answers without text, though nothing is wrong with the request.
WITHOUT_TEXT = frozenset({Kind.EMPTY, Kind.TOOL_CALL, Kind.ONLY_REASONING, Kind.NOT_TEXT})

#: Answers with a status of success, by what they lack.
_LACKING = {
    "no_choices": Kind.NO_CHOICES,
    "empty": Kind.EMPTY,
    "tool_call": Kind.TOOL_CALL,
    "only_reasoning": Kind.ONLY_REASONING,
    "not_text": Kind.NOT_TEXT,
    "malformed": Kind.MALFORMED,
    "web_page": Kind.WEB_PAGE,
}

# How servers spell the parameter that they refuse.
_PARAMETER = re.compile(
    r"\(parameter=(\w+)"  # vLLM
    r"|parameter\.(\w+)"  # DashScope
    r"|unexpected fields[^{]*\{'(\w+)'"  # transformers serve
    r"|field '(\w+)'"  # llama.cpp
    r"|(?:parameter|argument|field)s?(?: supplied)?(?:: ?['\"`]?| ['\"`])(\w+)"
    r"|[`'](\w+)[`'] (?:must|is not|does not|should)",
    re.IGNORECASE,
)


def decide(
    profile: Profile,
    *,
    status: int | None,
    headers: Mapping[str, str],
    body: bytes,
    exception: BaseException | None,
    now: float,
) -> Decision:
    """What to do about an answer that is no reply.

    Args:
        profile: the provider.
        status: the HTTP status, or None where no answer came.
        headers: the answer's headers.
        body: the answer's body as it came.
        exception: what was raised instead of an answer.
        now: Unix time in seconds.

    Returns:
        The decision; this function never raises. Its message holds no credentials of
        known forms, but the caller, who knows the key, must still remove it.
    """
    if status is None or (exception is not None and status < 400):
        kind, words = kind_of(exception)
        return _decision(profile, kind, ErrorBody(message=words))
    headers = {name.lower(): value for name, value in headers.items()}
    success = 200 <= status < 300
    error = read_body(body, success=success)
    if success and error.status is not None:
        status = error.status  # an error inside HTTP 200 that names its own status
    if 300 <= status < 400:
        error = ErrorBody(message=f"to {headers.get('location', 'nowhere')}")
    rule = matching_rule(profile, status, headers, error)
    kind = _kind(profile, rule, error)
    wait = _wait(profile, status, headers, error, now) if _EFFECTS[kind].action is _RETRY else None
    return _decision(profile, kind, error, status=status, advice=rule.advice if rule else None, wait=wait)


def matching_rule(profile: Profile, status: int, headers: Mapping[str, str], error: ErrorBody) -> Rule | None:
    """The first of the provider's rules that fits; header names in lower case."""
    codes = [code.lower() for code in error.codes]
    # A web page's words are about the page, not about the request.
    text = "" if "web_page" in codes else error.message.lower()
    param = None if error.param is None else error.param.lower()
    for rule in profile.rules:
        if rule.matches(status=status, codes=codes, text=text, param=param, headers=headers):
            return rule
    return None


def _kind(profile: Profile, rule: Rule | None, error: ErrorBody) -> Kind:
    if error.finish_reason in profile.filtered_finish:
        return Kind.FILTERED
    if error.finish_reason in profile.retry_finish:
        return Kind.SERVER_ERROR
    if rule is not None:
        return rule.kind
    lacking = next((_LACKING[code] for code in error.codes if code in _LACKING), None)
    return lacking or Kind.SERVER_ERROR


def _decision(
    profile: Profile,
    kind: Kind,
    error: ErrorBody,
    *,
    status: int | None = None,
    advice: str | None = None,
    wait: float | None = None,
) -> Decision:
    effect = _EFFECTS[kind]
    what = effect.what
    if kind is Kind.BAD_PARAMETER:
        name = error.param or _parameter(error.message)
        what = what.format(param=one_line(name, limit=60)) if name else "a parameter was refused"
    named = [code for code in error.codes if code not in _LACKING and code != str(status)]
    label = "" if status is None else " ".join((f"HTTP {status}", *named[:1]))
    said = (one_line(label, limit=80), one_line(scrub(error.message[:1000], None), limit=240))
    message = f"{profile.title}: {what}"
    if any(said):
        message += f" ({': '.join(part for part in said if part)})"
    if advice or effect.advice:
        key = profile.key_env[0] if profile.key_env else "the key"
        message += f"; {(advice or effect.advice).replace('{key}', key)}"
    return Decision(effect.action, kind, message, wait, effect.slow_down, effect.then_stop)


def _parameter(message: str) -> str | None:
    found = _PARAMETER.search(message)
    return next((group for group in found.groups() if group), None) if found else None


def _wait(
    profile: Profile, status: int, headers: Mapping[str, str], error: ErrorBody, now: float
) -> float | None:
    wait = retry_after(headers, now)
    if wait is None and error.retry_delay is not None:
        wait = parse_wait(error.retry_delay, server_time(headers, now))
    if wait is None:
        wait = wait_in_words(error.message)
    if wait is None and status in (429, 503):
        wait = reset_wait(profile, headers, now)
    return wait
