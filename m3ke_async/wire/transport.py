"""HTTP for the hot path: one pooled aiohttp session an endpoint, behind one method.

httpx stays for everything that is not one request a question: over the aiohttp transport
it adds 0.4 ms of processor time to each of them (docs/performance.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import aiohttp

from m3ke_async.errors import M3keError
from m3ke_async.wire.connector import is_socks, make_connector, proxy_for

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from types import SimpleNamespace, TracebackType

    from m3ke_async.address import Address
    from m3ke_async.providers import Profile

#: A chat reply is some kB; more than this is no reply to a question.
MAX_BODY = 16 * 1024 * 1024

#: How a connection shows that it ended, when something is sent or awaited.
_ENDED = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientConnectionResetError)


class BodyTooLargeError(M3keError):
    """The server sent more than a reply can be."""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer: status, headers by lower-case name, body.

    Attributes:
        resent: whether a kept connection turned out to have ended, and a fresh one was taken.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    resent: bool = False

    @property
    def is_success(self) -> bool:
        """Whether the status claims success."""
        return 200 <= self.status < 300


@dataclass(slots=True)
class _Sending:
    """One request on its way: whether its connection had been used before, and not a byte came back."""

    kept: bool = False


async def _on_reuse(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    if isinstance(context.trace_request_ctx, _Sending):
        context.trace_request_ctx.kept = True


class Transport:
    """Posts bodies to one endpoint. It does not follow redirects, and sends nothing again but for one case.

    Where a kept connection ends before a byte of the answer, the server has closed it, and hardly ever read
    the request: a fresh connection takes it, once.

    Args:
        address: where to post.
        profile: says which header carries the key.
        key: sent in that header and in no other place; None sends no such header. A netrc
            file is not read: its password would go where nobody asked for it.
        connections: the pool's size; the engine never has more in flight, so that nobody
            waits for a connection.
        connect_timeout: seconds. The whole attempt's deadline is the engine's.
        tls: certificates to trust; None is the system's.

    Raises:
        UsageError: the environment names a proxy that cannot be used.
    """

    def __init__(
        self,
        address: Address,
        *,
        profile: Profile,
        key: str | None,
        connections: int,
        connect_timeout: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "m3ke-async",
        }
        if key:
            headers[profile.key_header] = f"{profile.key_prefix}{key}"
        self._ask, self._look = address.ask, address.look
        proxy = proxy_for(address)
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_on_reuse)
        self._kept, self._fresh = (
            aiohttp.ClientSession(
                headers=headers,
                connector=make_connector(proxy, tls, limit=connections, ttl_dns_cache=300, **how),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, connect=connect_timeout),
                proxy=None if is_socks(proxy) else proxy,
                trace_configs=[trace] if "keepalive_timeout" in how else None,
            )
            for how in ({"keepalive_timeout": 75.0}, {"force_close": True})
        )

    async def ask(self, body: bytes, *, fresh: bool = False) -> Response:
        """Post one request.

        Args:
            body: of the request.
            fresh: on a connection of its own. Some servers break a kept one after an error,
                so a second try must not meet the same fate.

        Raises:
            aiohttp.ClientError, OSError, TimeoutError: no whole answer came.
            BodyTooLargeError: the answer is larger than `MAX_BODY`.
        """
        if fresh:
            return await self._request(self._fresh, "POST", self._ask, body)
        sending = _Sending()
        try:
            return await self._request(self._kept, "POST", self._ask, body, sending)
        except _ENDED:
            if not sending.kept:
                raise
        return replace(await self._request(self._fresh, "POST", self._ask, body), resent=True)

    def move(self, address: Address) -> None:
        """Ask at another address of the same server from now on."""
        self._ask, self._look = address.ask, address.look

    async def models(self) -> Response:
        """The server's list of models; raises as `ask` does."""
        return await self._request(self._kept, "GET", self._look, None)

    async def _request(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: str,
        body: bytes | None,
        sending: _Sending | None = None,
    ) -> Response:
        sending = sending or _Sending()
        async with session.request(
            method, url, data=body, allow_redirects=False, trace_request_ctx=sending
        ) as response:
            sending.kept = False
            content = response.content
            received = await content.readany()
            while not content.at_eof():
                received += await content.readany()
                if len(received) > MAX_BODY:
                    raise BodyTooLargeError(f"the server sent more than {MAX_BODY >> 20} MiB as one answer")
            return Response(
                response.status, {name.lower(): value for name, value in response.headers.items()}, received
            )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._kept.close()
        await self._fresh.close()
