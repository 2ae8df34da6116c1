"""How connections are made: through the proxies that the environment names, trusted by certificates."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from m3ke_async.errors import UsageError
from m3ke_async.extras import how_to_install

if TYPE_CHECKING:
    from m3ke_async.address import Address

#: Schemes of SOCKS proxies: the kind as aiohttp-socks calls it, and whether the proxy looks names up.
_SOCKS = {
    "socks": ("socks5", None),
    "socks4": ("socks4", None),
    "socks4a": ("socks4", True),
    "socks5": ("socks5", None),
    "socks5h": ("socks5", True),
}


def proxy_for(address: Address) -> str | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name; none for this machine.

    Raises:
        UsageError: no proxy of that kind can be used.
    """
    parts = urlsplit(address.ask)
    if address.loopback or proxy_bypass(parts.netloc.rsplit("@", 1)[-1]):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    scheme = proxy.partition(":")[0].lower()
    if scheme not in {"http", "https", *_SOCKS}:
        raise UsageError(
            f"the proxy variables name a {scheme} proxy, and only HTTP and SOCKS proxies can be used: "
            "name one, or list the host in NO_PROXY"
        )
    return proxy


def is_socks(proxy: str | None) -> bool:
    """Whether a proxy is reached by its connector, and not by each request."""
    return proxy is not None and proxy.partition(":")[0].lower() in _SOCKS


def make_connector(proxy: str | None, tls: ssl.SSLContext | None, **options: Any) -> aiohttp.TCPConnector:
    """A pool of connections.

    Args:
        proxy: as of `proxy_for`.
        tls: certificates to trust; None is the system's.
        options: of aiohttp's connector.

    Raises:
        UsageError: SOCKS without its package, or no address of a proxy.
    """
    if tls is not None:
        options["ssl"] = tls
    if proxy is None or not is_socks(proxy):
        return aiohttp.TCPConnector(**options)
    try:
        from aiohttp_socks import ProxyConnector
    except ImportError:
        raise UsageError(
            "the proxy variables name a SOCKS proxy, which needs one more package: "
            f"{how_to_install('socks')}, or list the host in NO_PROXY"
        ) from None
    scheme, rest = proxy.split(":", 1)
    kind, rdns = _SOCKS[scheme.lower()]
    try:
        return ProxyConnector.from_url(f"{kind}:{rest}", rdns=rdns, **options)
    except ValueError:  # its words may hold the password
        raise UsageError(
            f"the proxy variables name a {scheme} proxy that is no address; write {scheme}://host:port"
        ) from None


def trusted(ca_file: str | None) -> ssl.SSLContext | None:
    """The system's certificates and those of a file; None where there is no file.

    Raises:
        UsageError: it holds no certificates.
    """
    if ca_file is None:
        return None
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(ca_file)
    except OSError as error:  # ssl.SSLError is one
        raise UsageError(
            f"--ca-file {ca_file}: {error.strerror or error}; give a file of certificates in PEM form"
        ) from None
    return context
