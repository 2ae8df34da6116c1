"""Endpoints for a run: pools, paces and breakers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.breaker import Breaker
from m3ke_async.concurrency import AdaptiveConcurrency
from m3ke_async.endpoint import Endpoint
from m3ke_async.pace import Pace
from m3ke_async.profile import Hosting
from m3ke_async.settings import AUTO_CONCURRENCY
from m3ke_async.wire.connector import trusted
from m3ke_async.wire.transport import Transport

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from pathlib import Path
    from random import Random

    from m3ke_async.evaluation import Evaluation
    from m3ke_async.progress import Display
    from m3ke_async.serving.child import Server
    from m3ke_async.target import Target

#: Seconds to open a connection: long, since hundreds may be opened at once.
CONNECT_TIMEOUT = 20.0

#: Requests in flight at first: APIs refuse a sudden start, a server of one's own is filled by it.
_HOSTED_START, _OWN_START = 16, 256


async def connect(
    evaluation: Evaluation, target: Target, display: Display, *, log: Path, rng: Random, stack: AsyncExitStack
) -> tuple[tuple[Endpoint, ...], Server | None]:
    """Open what a run needs to ask; the stack closes it.

    Args:
        evaluation: its settings give concurrency and pace, its longest prompt what a server must hold.
        target: who is asked; a model that m3ke serves itself is served from here on.
        display: where to say how a server loads.
        log: where such a server writes.
        rng: spreads requests.
        stack: owns the sessions and the server.

    Returns:
        The endpoints, and the server where one was started.

    Raises:
        UsageError: the server does not start, or a proxy or a certificate cannot be used.
    """
    settings, addresses = evaluation.settings, target.addresses
    upper = settings.concurrency or target.profile.concurrency or AUTO_CONCURRENCY
    server: Server | None = None
    if target.hosted is not None:
        from m3ke_async.serving.hosted import demand_of

        server = target.hosted.server(demand_of(evaluation), log=log, say=display.say)
        await stack.enter_async_context(server)
        addresses = (target.address(server.base_url),)
        upper = settings.concurrency or server.slots or upper
    tls = trusted(settings.ca_file)
    lower = upper if settings.concurrency or (server and server.slots) else 1
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
