"""Endpoints for a run: pools, paces and breakers, and a first look at the servers."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import aiohttp

from m3ke_async.breaker import Breaker
from m3ke_async.concurrency import AdaptiveConcurrency
from m3ke_async.endpoint import Endpoint
from m3ke_async.error_body import load_json
from m3ke_async.errors import IncompleteError, UsageError
from m3ke_async.nearest import nearest
from m3ke_async.pace import Pace
from m3ke_async.providers import Hosting
from m3ke_async.scrub import scrub_all
from m3ke_async.settings import AUTO_CONCURRENCY
from m3ke_async.text import one_line
from m3ke_async.wire.connector import trusted
from m3ke_async.wire.transport import Transport

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from pathlib import Path
    from random import Random

    from m3ke_async.progress import Display
    from m3ke_async.serve import LocalServer
    from m3ke_async.settings import RunSettings
    from m3ke_async.target import Target

#: Seconds to open a connection: long, since hundreds may be opened at once.
CONNECT_TIMEOUT = 20.0

#: Requests in flight at first: APIs refuse a sudden start, a server of one's own is filled by it.
_HOSTED_START, _OWN_START = 16, 256

#: A refusal comes about as fast as the list of models: seconds at least, and times that.
_ALONE, _ALONE_FACTOR = 0.1, 3.0

#: Seconds for the list of models, and how often an unreachable server is tried.
_LOOK_TIMEOUT, _LOOK_TRIES, _LOOK_PAUSE = 10.0, 3, 0.5


async def connect(
    settings: RunSettings, target: Target, *, log: Path, rng: Random, stack: AsyncExitStack
) -> tuple[tuple[Endpoint, ...], LocalServer | None]:
    """Open what a run needs to ask; the stack closes it.

    Args:
        settings: concurrency and pace.
        target: who is asked; a local model is served from here on.
        log: where a local server writes.
        rng: spreads requests.
        stack: owns the sessions and the local server.

    Returns:
        The endpoints, and the local server where one was started.

    Raises:
        UsageError: the local server does not start, or a proxy or a certificate cannot be used.
    """
    addresses = target.addresses
    upper = settings.concurrency or target.profile.concurrency or AUTO_CONCURRENCY
    server: LocalServer | None = None
    if target.local is not None:
        from m3ke_async.serve import LocalServer

        server = await stack.enter_async_context(LocalServer(target.local, log=log))
        addresses = (target.address(server.base_url),)
        upper = settings.concurrency or server.slots
    tls = trusted(settings.ca_file)
    lower = upper if settings.concurrency or target.local is not None else 1
    _allow_sockets((2 * upper + 16) * len(addresses))
    endpoints = []
    for address in addresses:
        transport = await stack.enter_async_context(
            Transport(
                address,
                profile=target.profile,
                key=target.key,
                connections=2 * upper + 16,  # overdue attempts keep theirs for a while
                connect_timeout=CONNECT_TIMEOUT,
                tls=tls,
            )
        )
        pace = Pace(
            settings.rpm or target.profile.requests_per_minute,
            settings.tpm or target.profile.tokens_per_minute,
            rng,
        )
        start = _HOSTED_START if target.profile.hosting is Hosting.HOSTED else _OWN_START
        concurrency = AdaptiveConcurrency(lower=lower, upper=upper, start=start)
        endpoints.append(Endpoint(address, transport, pace, concurrency, Breaker()))
    return tuple(endpoints), server


def _allow_sockets(wanted: int) -> None:
    """Raise the soft limit of open files towards what the connections need."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = wanted + 256  # the store, logs, and whatever else is open
    if resource.RLIM_INFINITY != soft < need:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (need if hard == resource.RLIM_INFINITY else min(need, hard), hard)
        )


async def preflight(endpoints: tuple[Endpoint, ...], target: Target, display: Display) -> float | None:
    """Look at each server's list of models before anything is paid.

    A server that cannot be reached is left out where another one can. A list does not
    prove the key, since many servers show it to anybody.

    Returns:
        Seconds in which a refusal of the first question would come, by the time that the list
        took; None where not every list names the model, and only an answer proves anything.

    Raises:
        IncompleteError: no server can be reached.
        UsageError: the servers do not serve the same models, or a connection is not secure.
    """
    started = time.perf_counter()
    looks = await asyncio.gather(
        *(_listed(endpoint, target.secrets) for endpoint in endpoints), return_exceptions=True
    )
    errors = [look for look in looks if isinstance(look, BaseException)]
    for error in errors:
        if len(errors) == len(endpoints) or not isinstance(error, IncompleteError):
            raise error
    lists: dict[Endpoint, frozenset[str] | None] = {}
    for endpoint, look in zip(endpoints, looks, strict=True):
        if isinstance(look, BaseException):
            endpoint.breaker.on_fatal()
            display.warn(f"{endpoint.address.public} is left out: {look}")
        else:
            lists[endpoint] = look
    known = [names for names in lists.values() if names is not None]
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
    if len(known) < len(lists) or not all(target.model in names for names in known):
        return None
    return max(_ALONE, _ALONE_FACTOR * (time.perf_counter() - started))


async def _listed(endpoint: Endpoint, secrets: tuple[str, ...]) -> frozenset[str] | None:
    """Names of the models that a server lists; None where it does not tell."""
    for left in reversed(range(_LOOK_TRIES)):
        try:
            async with asyncio.timeout(_LOOK_TIMEOUT):
                response = await endpoint.transport.models()
        except aiohttp.ClientConnectorError as error:
            if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
                raise UsageError(
                    f"{endpoint.address.public}: {scrub_all(one_line(str(error)), secrets)}"
                ) from None
            if not left:
                if isinstance(error, aiohttp.ClientProxyConnectionError):
                    raise IncompleteError(
                        f"the proxy for {endpoint.address.public} does not answer: check HTTP_PROXY and "
                        "HTTPS_PROXY, or list the host in NO_PROXY; the same command goes on then"
                    ) from None
                reason = one_line(error.os_error.strerror or str(error.os_error))
                raise IncompleteError(
                    f"nothing answers at {endpoint.address.public} ({scrub_all(reason, secrets)}): "
                    "is the server running? The same command goes on when it is"
                ) from None
            await asyncio.sleep(_LOOK_PAUSE)
        except Exception:  # whatever it is, the questions themselves will tell
            return None
        else:
            return model_names(response.body) if response.status == 200 else None
    return None


def model_names(body: bytes) -> frozenset[str] | None:
    """Names in a list of models, of any known form; None where it is no such list."""
    try:
        table = load_json(body)
    except ValueError:
        return None
    if isinstance(table, dict) and isinstance(table.get("model_id"), str):
        return frozenset((table["model_id"],))  # TGI's /info
    rows = table.get("data") if isinstance(table, dict) else table
    if not isinstance(rows, list):
        return None
    return frozenset(row["id"] for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str))
