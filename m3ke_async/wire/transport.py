"""HTTP for the hot path: one pooled aiohttp session an endpoint, behind one method.

httpx stays for everything that is not one request a question: over the aiohttp transport
it adds 0.4 ms of processor time to each of them (docs/performance.md).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import aiohttp

from m3ke_async.errors import M3keError
from m3ke_async.wire.connector import is_socks, make_connector, proxy_for

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from types import TracebackType

    from m3ke_async.address import Address
    from m3ke_async.profile import Profile

#: A chat reply is some kB; more than this is no reply to a question.
MAX_BODY = 16 * 1024 * 1024

#: How a connection shows that it ended, when something is sent or awaited.
_ENDED = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientConnectionResetError)

#: Seconds in which it shows that it had ended before; a server that breaks off its work takes longer.
_AT_ONCE = 1.0


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


class Transport:
    """Posts bodies to one endpoint. It does not follow redirects, and sends nothing again but for one case.

    Where a connection ends at once and before a byte of the answer, the server had closed a kept one, and
    hardly ever read the request: a fresh connection takes it, once.

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
        self._keeps = False  # whether there may be a kept connection
        proxy = proxy_for(address)
        self._kept, self._fresh = (
            aiohttp.ClientSession(
                headers=headers,
                connector=make_connector(proxy, tls, limit=connections, ttl_dns_cache=300, **how),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, connect=connect_timeout),
                proxy=None if is_socks(proxy) else proxy,
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
            return await _whole(await self._send(self._fresh, body))
        sent = time.monotonic()
        try:
            response = await self._send(self._kept, body)
        except _ENDED as error:
            late = time.monotonic() - sent > _AT_ONCE
            if late or not self._keeps or isinstance(error, aiohttp.ClientConnectorError):
                raise
        else:
            self._keeps = True
            return await _whole(response)
        return await _whole(await self._send(self._fresh, body), resent=True)

    async def _send(self, session: aiohttp.ClientSession, body: bytes) -> aiohttp.ClientResponse:
        """An answer as far as its headers."""
        return await session.post(self._ask, data=body, allow_redirects=False)

    def move(self, address: Address) -> None:
        """Ask at another address of the same server from now on."""
        self._ask, self._look = address.ask, address.look

    async def models(self) -> Response:
        """The server's list of models; raises as `ask` does."""
        return await _whole(await self._kept.get(self._look, allow_redirects=False))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._kept.close()
        await self._fresh.close()


async def _whole(response: aiohttp.ClientResponse, *, resent: bool = False) -> Response:
    """An answer with its body."""
    async with response:
        content = response.content
        received = await content.readany()
        while not content.at_eof():
            received += await content.readany()
            if len(received) > MAX_BODY:
                raise BodyTooLargeError(f"the server sent more than {MAX_BODY >> 20} MiB as one answer")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Response(response.status, headers, received, resent)
