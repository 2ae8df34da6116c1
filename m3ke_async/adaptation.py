"""What a model refuses in a request, and what is sent in its place: found once, kept with the run.

A refusal that names a parameter of ours comes before anything was answered and costs nothing. The
request without it is another request, with an identity of its own, so the changes stand in run.json:
the next command sends what this one found out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.errors import DataError, M3keError
from m3ke_async.prompt import SEPARATOR
from m3ke_async.rules import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from m3ke_async.error_body import ErrorBody

    Body = dict[str, Any]

#: What a refusal of a parameter is taken for, by the words of different servers.
REFUSALS = frozenset({Kind.BAD_PARAMETER, Kind.BAD_REQUEST})

_UNSUPPORTED = re.compile(
    r"un-?support|not support|n't support|unrecogni[sz]ed|unknown|unexpected|deprecated|instead|"
    r"not (?:permitted|allowed|available)|不支持|未知",
    re.IGNORECASE,
)
_ABOVE_ZERO = re.compile(
    r"positive|(?:greater|larger|more) than 0|above 0|> ?0(?!\d)|\(0(?:\.0)?,|大于 ?0", re.IGNORECASE
)
_RANGE = re.compile(
    r"between|within|range|must be|less than|at most|greater|\[0|\(0|之间|范围", re.IGNORECASE
)
_SYSTEM = re.compile(r"\bsystem\b|roles must alternate", re.IGNORECASE)
_TEMPLATE = re.compile(r"template|jinja", re.IGNORECASE)
_TOO_MANY = re.compile(r"max|<=|less than|at most|greater than|between|range|exceed", re.IGNORECASE)

#: In place of 0 where it must be more: the most likely token, nearly always.
_LOW = 0.01
#: What the least generous servers give at a position.
_FEW = 5


@dataclass(frozen=True, slots=True)
class Change:
    """One way to send a request that a model takes.

    Attributes:
        name: as it stands in run.json.
        says: what is done, for people.
        params: names of what is refused.
        fits: whether the words of a refusal ask for this change of this body.
        apply: the changed body; the same where there is nothing to change.
    """

    name: str
    says: str
    params: tuple[str, ...]
    fits: Callable[[str, Body], bool]
    apply: Callable[[Body], Body]


class StartOverError(M3keError):
    """The run goes on with another request for every question, since the model refuses the one it had."""

    def __init__(self, change: Change, message: str) -> None:
        super().__init__(message)
        self.change = change


def _parameters(body: Body) -> Body:
    """Where the parameters stand: TGI's are in a table of their own."""
    inner = body.get("parameters")
    return inner if isinstance(inner, dict) else body


def _with(body: Body, parameters: Body) -> Body:
    return {**body, "parameters": parameters} if "parameters" in body else parameters


def _without(name: str) -> Callable[[Body], Body]:
    def apply(body: Body) -> Body:
        kept = {key: value for key, value in _parameters(body).items() if key != name}
        return _with(body, kept)

    return apply


def _replaced(name: str, other: str, value: Callable[[Any], Any]) -> Callable[[Body], Body]:
    def apply(body: Body) -> Body:
        found = _parameters(body)
        if name not in found:
            return body
        kept = {key: old for key, old in found.items() if key != name}
        return _with(body, {**kept, other: value(found[name])})

    return apply


def _system_in_user(body: Body) -> Body:
    messages = body.get("messages")
    if not isinstance(messages, list) or len(messages) < 2 or messages[0]["role"] != "system":
        return body
    system, first, *others = messages
    joined = {**first, "content": system["content"] + SEPARATOR + first["content"]}
    return {**body, "messages": [joined, *others]}


def _few_logprobs(body: Body) -> Body:
    found = _parameters(body)
    fewer = {
        name: min(value, _FEW)
        for name, value in found.items()
        if name in {"top_logprobs", "logprobs", "top_n_tokens"} and type(value) is int
    }
    return _with(body, {**found, **fewer})


def _same(value: Any) -> Any:
    return value


#: In the order in which they are tried.
CHANGES = (
    Change(
        "max_completion_tokens",
        "the limit of tokens goes by the name max_completion_tokens",
        ("max_tokens",),
        lambda text, body: bool(_UNSUPPORTED.search(text)),
        _replaced("max_tokens", "max_completion_tokens", _same),
    ),
    Change(
        "max_tokens",
        "the limit of tokens goes by the name max_tokens",
        ("max_completion_tokens",),
        lambda text, body: bool(_UNSUPPORTED.search(text)),
        _replaced("max_completion_tokens", "max_tokens", _same),
    ),
    Change(
        "low_temperature",
        f"a temperature of 0 is sent as {_LOW}",
        ("temperature",),
        lambda text, body: not body["temperature"] and bool(_ABOVE_ZERO.search(text)),
        _replaced("temperature", "temperature", lambda value: value or _LOW),
    ),
    Change(
        "no_temperature",
        "no temperature is sent, and the model takes its own",
        ("temperature",),
        # A value outside the range is the user's to change.
        lambda text, body: body["temperature"] <= _LOW or not _RANGE.search(text),
        _without("temperature"),
    ),
    Change("no_stop", "no stop strings are sent", ("stop",), lambda text, body: True, _without("stop")),
    Change(
        "system_in_user",
        "the system message stands before the user's, in one message",
        ("messages", "role", "system"),
        lambda text, body: bool(_SYSTEM.search(text)),
        _system_in_user,
    ),
    Change(
        "few_logprobs",
        f"{_FEW} tokens a position are asked for",
        ("top_logprobs", "logprobs", "top_n_tokens"),
        lambda text, body: bool(_TOO_MANY.search(text)),
        _few_logprobs,
    ),
)

_BY_NAME = {change.name: change for change in CHANGES}


def named(names: Iterable[str]) -> tuple[Change, ...]:
    """The changes with these names.

    Raises:
        DataError: one is not known to this version.
    """
    try:
        return tuple(_BY_NAME[name] for name in names)
    except KeyError as error:
        raise DataError(
            f"the run was adapted by {error.args[0]!r}, which this version does not know; upgrade m3ke-async"
        ) from None


def refused_by_file(refuses: Iterable[str]) -> tuple[Change, ...]:
    """The changes for parameters that a provider's file says are refused."""
    dropped = {"temperature": "no_temperature", "stop": "no_stop", "system": "system_in_user"}
    return named(dropped[name] for name in refuses if name in dropped)


def adapt(body: Body, changes: Iterable[Change]) -> Body:
    """The body as it is sent."""
    for change in changes:
        body = change.apply(body)
    return body


def find_change(kind: Kind, error: ErrorBody, sent: bytes, made: tuple[Change, ...] = ()) -> Change | None:
    """What to send in place of a refused request; None where the refusal is about something else.

    Args:
        kind: what the refusal was taken for.
        error: its words.
        sent: the body of the request.
        made: the changes that were made to it before.
    """
    if kind not in REFUSALS and not (kind is Kind.SERVER_ERROR and _TEMPLATE.search(error.message)):
        return None
    body: Body = orjson.loads(sent)
    for change in CHANGES:
        asked = _names(error, change.params) and change not in made and change.apply(body) != body
        if asked and change.fits(error.message, _parameters(body)):
            return change
    return None


def _names(error: ErrorBody, params: tuple[str, ...]) -> bool:
    """Whether a refusal is about one of these: by the field that names it, else by its words."""
    if error.param is not None:
        return any(part in params for part in re.split(r"[.\[\]]+", error.param))
    return any(re.search(rf"(?<![\w.]){name}(?!\w)", error.message, re.IGNORECASE) for name in params)
