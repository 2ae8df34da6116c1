"""A loopback HTTP server for files, which can be told to misbehave."""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType


class FileServer:
    """Serves `files` by path.

    Attributes:
        files: content by path; a query is left out.
        redirects: target by path.
        headers: sent beside every file; '' leaves one out.
        statuses: answered to the next requests, in order.
        cuts: for the next files, after how many bytes the connection breaks.
        ranges: whether it knows ranges.
        etag: whether it sends an ETag.
        seen: method, path and headers of every request.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        self.statuses: list[int] = []
        self.cuts: list[int] = []
        self.ranges = True
        self.etag = True
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        """Its address without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def asked_ranges(self) -> list[str | None]:
        """The Range header of every request."""
        return [headers.get("range") for _, _, headers in self.seen]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    def __init__(self, owner: FileServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        body, cuts = self._answer(), self.server.owner.cuts
        cut = cuts.pop(0) if cuts and body else len(body)
        with suppress(OSError):
            self.wfile.write(body[:cut])

    def _answer(self) -> bytes:
        owner = self.server.owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner.seen.append((self.command, self.path, headers))
        path = self.path.partition("?")[0]
        if owner.statuses:
            return self._send(owner.statuses.pop(0), b"")
        if path in owner.redirects:
            return self._send(302, b"", location=owner.redirects[path])
        if path not in owner.files:
            return self._send(404, b"")
        return self._file(owner.files[path], headers)

    def _file(self, content: bytes, asked: dict[str, str]) -> bytes:
        owner = self.server.owner
        tag = f'"{hashlib.sha256(content).hexdigest()[:12]}"'
        extra = owner.headers | ({"etag": tag} if owner.etag else {})
        if "range" not in asked or not owner.ranges or asked.get("if-range", tag) != tag:
            return self._send(200, content, **extra)
        start = int(asked["range"].removeprefix("bytes=").removesuffix("-"))
        if start >= len(content):
            return self._send(416, b"", **{"content-range": f"bytes */{len(content)}"})
        extra["content-range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return self._send(206, content[start:], **extra)

    def _send(self, status: int, body: bytes, **headers: str) -> bytes:
        self.send_response(status)
        for name, value in ({"content-length": str(len(body))} | headers).items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        return body
