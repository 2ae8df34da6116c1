"""Addresses of endpoints: where requests go, and what of the address may be kept.

A base address is taken as it is given: its path is kept whole and the route is added once,
unless it is there already. Some providers have no `/v1`, so the neighbouring address, with or
without it, is only where to look when there is nothing at the one that was given.
"""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from m3ke_async.errors import UsageError
from m3ke_async.text import one_line

CHAT_ROUTE = "/chat/completions"
_LOOK = "/models"

#: Routes that are copied along with a base address.
_ROUTES = (CHAT_ROUTE, "/completions", _LOOK)

#: A version in a path, and Azure's deployments, which have theirs in the query.
_VERSION = re.compile(r"/v\d|/deployments/")

#: Names of query values that are keys; they are sent, and never printed or kept.
_SECRET_NAMES = ("key", "token", "secret", "signature", "sig", "password", "auth")


@dataclass(frozen=True, slots=True)
class Address:
    """One endpoint's address.

    Attributes:
        ask: full URL of the route that questions go to, with everything that the user gave.
        look: full URL of the list of models.
        public: the base address without user, password and key-like query values; it
            stands in requests' identities, on the screen and on disk.
        loopback: whether it is on this machine; such an address is never proxied.
        credentials: whether it holds a user or a password, which are sent in the header
            that most keys are sent in.
        secrets: the password and the key-like query values.
        other: the neighbouring address: with `/v1` where this one has no version, or without its
            `/v1`. It has none itself, so that whoever moves there does not come back.
    """

    ask: str = field(repr=False)
    look: str = field(repr=False)
    public: str
    loopback: bool
    credentials: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
    other: Address | None = field(default=None, repr=False)


def parse_address(
    base_url: str, route: str = CHAT_ROUTE, *, look: str = _LOOK, at_root: bool = False
) -> Address:
    """Check a base address and derive the others from it.

    Args:
        base_url: with or without the route at its end.
        route: of the questions.
        look: route of the list of models.
        at_root: whether the routes lie beside the base's `/v1` and not below it.

    Raises:
        UsageError: not an http(s) address.
    """
    text = base_url.strip()
    shown = text.rsplit("@", 1)[-1].split("?", 1)[0]
    parts = _split(text, shown)
    base = parts.path.rstrip("/")
    for known in (route, *_ROUTES):
        base = base.removesuffix(known)
    if at_root:
        return _address(parts, base, base.removesuffix("/v1") + route, base.removesuffix("/v1") + look)
    here = _address(parts, base, base + route, base + look)
    other = _other(base)
    if other is None:
        return here
    return replace(here, other=_address(parts, other, other + route, other + look))


def _address(parts: SplitResult, base: str, ask: str, look: str) -> Address:
    """An address by the paths of its base and its two routes."""
    return Address(
        ask=urlunsplit(parts._replace(path=ask, fragment="")),
        look=urlunsplit(parts._replace(path=look, fragment="")),
        public=_public(parts, base),
        loopback=_is_loopback(parts.hostname or ""),
        credentials=parts.username is not None,
        secrets=tuple(
            secret
            for secret in (
                parts.password,
                _basic(parts),
                *(value for name, value in parse_qsl(parts.query) if _is_secret(name)),
            )
            if secret
        ),
    )


def _other(base: str) -> str | None:
    """The path of the neighbouring base; None where the version is the provider's own."""
    if base.endswith("/v1"):
        return base.removesuffix("/v1")
    return None if _VERSION.search(base) else f"{base}/v1"


def _basic(parts: SplitResult) -> str | None:
    """User and password as they are sent, which a server may give back."""
    if parts.username is None:
        return None
    return b64encode(f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()).decode()


def _split(text: str, shown: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # its words may hold the password
        raise UsageError(
            f"the address {one_line(shown, limit=100)!r} is not valid; give --base-url like http://host:8000/v1"
        ) from None
    clean = text.isprintable() and " " not in text
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or not clean:
        raise UsageError(
            f"the address {one_line(shown, limit=100)!r} is not an http or https address; "
            "give --base-url like http://host:8000/v1"
        )
    return parts


def _public(parts: SplitResult, path: str) -> str:
    host = parts.netloc.rsplit("@", 1)[-1].lower()
    query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if not _is_secret(name)])
    return urlunsplit((parts.scheme, host, path, query, ""))


def _is_secret(name: str) -> bool:
    folded = name.casefold().replace("-", "_")
    return folded.endswith(_SECRET_NAMES)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
