"""A first look at the servers, at their lists of models, before anything is paid."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import aiohttp

from m3ke_async.ending import ending_of
from m3ke_async.endpoint import NOTHING_THERE
from m3ke_async.error_body import load_json
from m3ke_async.errors import IncompleteError, UsageError
from m3ke_async.nearest import nearest
from m3ke_async.scrub import scrub_all
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.endpoint import Endpoint
    from m3ke_async.profile import EndedModel
    from m3ke_async.progress import Display
    from m3ke_async.target import Target
    from m3ke_async.wire.transport import Response

#: A refusal comes about as fast as the list of models: within so many times that.
_ALONE_FACTOR = 3.0

#: Statuses of an address that has no list of models; a web page comes with 200, or by being led to it.
_NO_LIST = NOTHING_THERE | {200, 301, 302, 303, 307, 308}

#: Seconds for the list of models, and how often an unreachable server is tried.
_LOOK_TIMEOUT, _LOOK_TRIES, _LOOK_PAUSE = 10.0, 3, 0.5


@dataclass(frozen=True, slots=True)
class Look:
    """What a first look found.

    Attributes:
        alone: seconds in which a refusal of the first question would come, by the time that the
            lists took; None where not every list names the model, and only an answer proves anything.
        ending: when the model ends or ended, by the lists, else by the provider's file.
    """

    alone: float | None
    ending: EndedModel | None


async def preflight(endpoints: tuple[Endpoint, ...], target: Target, display: Display) -> Look:
    """Look at each server's list of models.

    A server that cannot be reached is left out where another one can. A list does not
    prove the key, since many servers show it to anybody.

    Raises:
        IncompleteError: no server can be reached.
        UsageError: the servers do not serve the same models, or a connection is not secure.
    """
    started = time.perf_counter()
    looks = await asyncio.gather(
        *(_listed(endpoint, target, display) for endpoint in endpoints), return_exceptions=True
    )
    errors = [look for look in looks if isinstance(look, BaseException)]
    for error in errors:
        if len(errors) == len(endpoints) or not isinstance(error, IncompleteError):
            raise error
    lists: dict[Endpoint, Mapping[str, date | None] | None] = {}
    for endpoint, look in zip(endpoints, looks, strict=True):
        if isinstance(look, BaseException):
            endpoint.breaker.on_fatal()
            display.warn(f"{endpoint.address.public} is left out: {look}")
        else:
            lists[endpoint] = look
    known = [models.keys() for models in lists.values() if models is not None]
    if any(names != known[0] and target.model not in names & known[0] for names in known[1:]):
        shown = "; ".join(
            f"{endpoint.address.public}: {', '.join(sorted(names or ())) or 'unknown'}"
            for endpoint, names in lists.items()
        )
        raise UsageError(
            f"the servers do not serve the same model ({one_line(shown)}); give --base-url of one model"
        )
    if known and known[0] and target.model not in known[0]:
        some = one_line(", ".join(sorted(known[0])), limit=100)
        display.warn(
            f"{next(iter(lists)).address.public} does not list {one_line(target.model)!r}"
            f"{nearest(target.model, known[0])}, but {some}; it is asked all the same"
        )
    days = (models.get(target.model) for models in lists.values() if models is not None)
    ending = ending_of(target.profile, target.model, min(filter(None, days), default=None))
    if len(known) < len(lists) or not all(target.model in names for names in known):
        return Look(None, ending)
    return Look(_ALONE_FACTOR * (time.perf_counter() - started), ending)


async def _listed(endpoint: Endpoint, target: Target, display: Display) -> Mapping[str, date | None] | None:
    """The models that a server lists; None where it does not tell.

    Where nothing is at the address, the neighbouring one is tried, with `/v1` or without: once.
    """
    given, other = endpoint.address, endpoint.address.other
    response = await _look(endpoint, target.secrets)
    models = _models_in(response)
    if models is not None or response is None or response.status not in _NO_LIST or other is None:
        return models
    endpoint.move(other)
    with suppress(IncompleteError):
        models = _models_in(await _look(endpoint, target.secrets))
    if models is None:
        endpoint.move(given)
        return None
    display.say(f"nothing is at {given.public}, so {endpoint.address.public} is asked, which lists models")
    return models


def _models_in(response: Response | None) -> Mapping[str, date | None] | None:
    return listed_models(response.body) if response is not None and response.status == 200 else None


async def _look(endpoint: Endpoint, secrets: tuple[str, ...]) -> Response | None:
    """The answer to the question for the models; None where there is none."""
    for left in reversed(range(_LOOK_TRIES)):
        try:
            async with asyncio.timeout(_LOOK_TIMEOUT):
                return await endpoint.transport.models()
        except aiohttp.ClientConnectorError as error:
            if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
                raise UsageError(
                    f"{endpoint.address.public}: {scrub_all(one_line(str(error)), secrets)}; {_of_tls(error)}"
                ) from None
            if not left:
                if isinstance(error, aiohttp.ClientProxyConnectionError):
                    raise IncompleteError(
                        f"the proxy for {endpoint.address.public} does not answer: check HTTP_PROXY and "
                        "HTTPS_PROXY, or list the host in NO_PROXY; the same command goes on then"
                    ) from None
                reason = one_line(_reason(error.os_error))
                unknown = isinstance(error, aiohttp.ClientConnectorDNSError)
                question = "is the address right?" if unknown else "is the server running?"
                raise IncompleteError(
                    f"nothing answers at {endpoint.address.public} ({scrub_all(reason, secrets)}): "
                    f"{question} The same command goes on when it is"
                ) from None
            await asyncio.sleep(_LOOK_PAUSE)
        except Exception:  # whatever it is, the questions themselves will tell
            return None
    return None


def _of_tls(error: aiohttp.ClientConnectorError) -> str:
    """What to do about a connection that is not secure."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "give a private authority's certificates by --ca-file"
    return "does the server speak https? One that does not has an address with http://"


def listed_models(body: bytes) -> Mapping[str, date | None] | None:
    """Names in a list of models, of any known form, with the day of their shutdown; None where it is none.

    OpenAI's list says `shutdown_date` (https://developers.openai.com/api/docs/deprecations).
    """
    try:
        table = load_json(body)
    except ValueError:
        return None
    if isinstance(table, dict) and isinstance(table.get("model_id"), str):
        return {table["model_id"]: None}  # TGI's /info
    rows = table.get("data") if isinstance(table, dict) else table
    if not isinstance(rows, list):
        return None
    return {
        row["id"]: _day(row.get("shutdown_date"))
        for row in rows
        if isinstance(row, dict) and isinstance(row.get("id"), str)
    }


def _day(value: Any) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None


def _reason(error: OSError) -> str:
    """The system's words; asyncio puts the whole address among its own."""
    if error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return error.strerror or str(error)
