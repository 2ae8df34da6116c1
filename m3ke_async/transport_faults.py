"""What an exception means that was raised in place of an answer.

Exceptions are told apart by class name, so that no HTTP client needs to be imported.
"""

from __future__ import annotations

import errno
import socket
import ssl

from m3ke_async.rules import Kind

_BY_NAME: tuple[tuple[Kind, frozenset[str]], ...] = (
    (
        Kind.TLS,
        frozenset({"SSLCertVerificationError", "ClientConnectorCertificateError", "CertificateError"}),
    ),
    (
        Kind.WRONG_ADDRESS,
        frozenset(
            {
                "InvalidURL",
                "NonHttpUrlClientError",
                "UnsupportedProtocol",
                "TooManyRedirects",
                "RedirectClientError",
            }
        ),
    ),
    (
        Kind.TIMEOUT,
        frozenset(
            {
                "TimeoutError",
                "TimeoutException",
                "ServerTimeoutError",
                "ConnectionTimeoutError",
                "ProxyTimeoutError",
            }
        ),
    ),
    (
        Kind.UNREACHABLE,
        frozenset(
            {
                "gaierror",
                "ConnectionRefusedError",
                "ClientConnectorDNSError",
                "ClientConnectorError",
                "ClientProxyConnectionError",
                "ClientHttpProxyError",
                "ProxyConnectionError",
                "ProxyError",
                "ConnectError",
            }
        ),
    ),
    (
        Kind.MALFORMED,
        frozenset({"ContentTypeError", "JSONDecodeError", "UnicodeDecodeError", "DecodingError"}),
    ),
    (
        Kind.CONNECTION,
        frozenset({"ClientError", "TransportError", "OSError", "EOFError", "IncompleteReadError"}),
    ),
)
_LOCAL_ERRNO = {errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL}
_UNREACHABLE_ERRNO = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN}
#: OpenSSL's words for a server that does not speak TLS at all.
_NO_TLS = ("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")


def kind_of(exception: BaseException | None) -> tuple[Kind, str]:
    """The kind of an exception or of what it was made from, and words for people; never raises."""
    if exception is None:
        return Kind.CONNECTION, "no answer came"
    chain = _chain(exception)
    words = next((text for link in chain if (text := _words(link))), type(exception).__name__)
    for link in chain:
        if isinstance(link, ssl.SSLError) and getattr(link, "reason", None) in _NO_TLS:
            return Kind.TLS, words
        if isinstance(link, OSError) and not isinstance(link, socket.gaierror):
            if link.errno in _LOCAL_ERRNO:
                return Kind.LOCAL_LIMIT, words
            if link.errno in _UNREACHABLE_ERRNO:
                return Kind.UNREACHABLE, words
    for kind, names in _BY_NAME:
        if any(base.__name__ in names for link in chain for base in type(link).__mro__):
            return kind, words
    return Kind.UNEXPECTED, f"{type(exception).__name__}: {words}"


def _chain(exception: BaseException) -> list[BaseException]:
    """The exception and what it was made from, nearest first."""
    chain: list[BaseException] = [exception]
    for link in chain:
        for name in ("certificate_error", "os_error", "__cause__"):
            inner = getattr(link, name, None)
            if isinstance(inner, BaseException) and inner not in chain and len(chain) < 8:
                chain.append(inner)
    return chain


def _words(exception: BaseException) -> str:
    try:
        return str(exception).strip()
    except Exception:  # a foreign __str__ may do anything
        return ""
