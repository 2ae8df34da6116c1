"""Fetch one file over HTTPS: resumed where it stopped, verified before it has its name.

What has arrived lies in `NAME.part` beside the target, with the server's validator (ETag or
date) in `NAME.part.tag`. The next call asks for the rest under that validator: a server that
does not know ranges, or whose file changed, sends the whole file, and the part starts anew.
Only a complete file with the right SHA-256 is renamed to the target.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from m3ke_async.errors import UsageError
from m3ke_async.text import one_line
from m3ke_async.verified import DownloadError, has_file, hash_file, locked, settle, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from m3ke_async.verified import Progress

#: No published file is larger; a server cannot fill the disk.
MAX_BYTES = 64 << 30
#: Attempts in a row that bring nothing; one that brings bytes starts the count anew.
ATTEMPTS = 5
#: The same while the server was never reached: there may be another source.
ATTEMPTS_UNREACHED = 2
_REDIRECTS = 6
_CHUNK = 1 << 18
_TIMEOUT = httpx.Timeout(60, connect=10)
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-\d+/(\d{1,18}|\*)")


class _RetryableError(Exception):
    """This attempt failed in a way that another may not."""


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None,
    size: int | None,
    progress: Progress,
    max_bytes: int = MAX_BYTES,
    sleep: Callable[[float], None] = time.sleep,
) -> Path:
    """Fetch `url` to `target` and return it; nothing is sent where it is already there.

    Args:
        url: https, or http on a loopback address.
        target: the file's final name; its folder is made.
        sha256: of the whole file, in hex; None where no one published it.
        size: in bytes; None where unknown.
        progress: told the bytes so far.
        max_bytes: a larger file is refused.
        sleep: waits the seconds between attempts.

    Raises:
        DownloadError: the address is refused, the server's answer is final or stays bad, or
            size or SHA-256 are wrong (what was fetched is then deleted).
        UsageError: the target's folder cannot be written.
    """
    _allow(url)
    if has_file(target, sha256=sha256, size=size):
        return target
    with writing(target), locked(target):
        if has_file(target, sha256=sha256, size=size):  # another process was faster
            return target
        transfer = _Transfer(
            url=url,
            part=target.with_name(f"{target.name}.part"),
            tag=target.with_name(f"{target.name}.part.tag"),
            size=size,
            has_hash=sha256 is not None,
            max_bytes=max_bytes,
            progress=progress,
        )
        resumed = transfer.part.is_file()
        transfer.complete(sleep)
        if resumed and sha256 is not None and hash_file(transfer.part) != sha256:
            transfer.part.unlink()  # what lay there was a piece of something else
            transfer.complete(sleep)
        transfer.tag.unlink(missing_ok=True)
        settle(transfer.part, target, sha256=sha256, origin=shown(url))
    return target


def shown(url: str) -> str:
    """The address for messages: without password and query, which may be secret."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "this address"
    return one_line(f"{parsed.scheme}://{parsed.netloc.decode()}{parsed.path}")


def is_allowed(url: str) -> bool:
    """Whether the address is https, or http on this very machine."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return bool(parsed.host) and (
        parsed.scheme == "https" or (parsed.scheme == "http" and parsed.host in _LOOPBACK)
    )


def _allow(url: str) -> None:
    if not is_allowed(url):
        raise DownloadError(f"{shown(url)} is refused: an address must start with https://")


@dataclass(frozen=True, slots=True)
class _Transfer:
    """One file on its way.

    Attributes:
        url: where it comes from.
        part: what has arrived.
        tag: holds the validator of what has arrived.
        size: of the whole in bytes, None where unknown.
        has_hash: whether the whole will be verified by its hash.
        max_bytes: a larger file is refused.
        progress: told the bytes so far.
    """

    url: str
    part: Path
    tag: Path
    size: int | None
    has_hash: bool
    max_bytes: int
    progress: Progress

    def complete(self, sleep: Callable[[float], None]) -> None:
        """Bring the part to its whole length, in as many attempts as it is worth."""
        failures, reached = 0, False
        with _client(self.url) as client:
            while True:
                before = _length(self.part)
                try:
                    return self._attempt(client)
                except (httpx.TransportError, _RetryableError) as error:
                    grew = _length(self.part) > before
                    reached |= grew or not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))
                    failures = 1 if grew else failures + 1
                    if failures >= (ATTEMPTS if reached else ATTEMPTS_UNREACHED):
                        raise DownloadError(self._problem(error)) from error
                    sleep(min(2.0 ** (failures - 1), 30))

    def _problem(self, error: Exception) -> str:
        line = f"{shown(self.url)}: {one_line(str(error)) or type(error).__name__}"
        return f"{line}; the same command goes on where it stopped" if _length(self.part) else line

    def _attempt(self, client: httpx.Client) -> None:
        offset = _length(self.part)
        if self.size is not None and offset == self.size:
            return self.progress(offset, self.size)
        validator = self.tag.read_text("utf-8") if self.tag.is_file() else ""
        headers = {"Accept-Encoding": "identity"}
        # Without a validator only the hash of the whole can tell whether the rest fits.
        if offset and (validator or self.has_hash):
            headers["Range"] = f"bytes={offset}-"
            if validator:
                headers["If-Range"] = validator
        with _follow(client, self.url, headers) as response:
            start, total = self._placed(response, offset)
            self._check_size(total)
            if start == 0:
                self.part.unlink(missing_ok=True)  # first: the new validator must not vouch for old bytes
                self.tag.write_text(_validator(response), "utf-8")
            return self._receive(response, start, self.size if self.size is not None else total)

    def _placed(self, response: httpx.Response, offset: int) -> tuple[int, int | None]:
        """Where the body starts in the file, and the bytes of the whole."""
        if response.status_code == 200:
            length = response.headers.get("content-length", "")
            return 0, int(length) if length.isdecimal() else None
        found = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", ""))
        if response.status_code == 206 and found and int(found[1]) == offset:
            return offset, int(found[2]) if found[2] != "*" else None
        # The part is longer than the file is now, or another piece came than was asked for.
        self.part.unlink(missing_ok=True)
        raise _RetryableError("the server does not send the rest of the file")

    def _check_size(self, total: int | None) -> None:
        if total is not None and self.size is not None and total != self.size:
            raise DownloadError(
                f"{shown(self.url)} is not the published file: it has {total} bytes, not {self.size}"
            )
        if total is not None and total > self.max_bytes:
            raise DownloadError(
                f"{shown(self.url)} has {total} bytes; no more than {self.max_bytes} are taken"
            )

    def _receive(self, response: httpx.Response, start: int, whole: int | None) -> None:
        done, most = start, self.max_bytes if whole is None else whole
        with self.part.open("ab" if start else "wb") as file:
            self.progress(done, whole)
            for chunk in response.iter_raw(_CHUNK):
                done += len(chunk)
                if done > most:
                    break
                file.write(chunk)
                self.progress(done, whole)
        if done > most:
            self.part.unlink()
            raise DownloadError(f"{shown(self.url)} sends more than {most} bytes; it was deleted")
        if whole is not None and done < whole:
            raise _RetryableError(f"the connection ended after {done} of {whole} bytes")


def _client(url: str) -> httpx.Client:
    try:
        # No proxy stands between this machine and itself.
        return httpx.Client(timeout=_TIMEOUT, trust_env=httpx.URL(url).scheme == "https")
    except (ValueError, ImportError) as error:
        raise UsageError(f"the proxy in the environment cannot be used: {one_line(str(error))}") from error


@contextmanager
def _follow(client: httpx.Client, url: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
    """The answer at the end of all redirects, which lead only to https (or from loopback to loopback)."""
    origin = httpx.URL(url)
    for _ in range(_REDIRECTS):
        with client.stream("GET", url, headers=headers) as response:
            if response.next_request is None:
                _check_status(url, response)
                yield response
                return
            target = response.next_request.url
            if target.scheme != "https" and not (origin.scheme == "http" and is_allowed(str(target))):
                raise DownloadError(f"{shown(url)} leads to {shown(str(target))}, which is not https")
            url = str(target)
    raise DownloadError(f"{shown(str(origin))} leads from one address to the next without end")


def _check_status(url: str, response: httpx.Response) -> None:
    status = response.status_code
    if status in {408, 425, 429} or status >= 500:
        raise _RetryableError(f"the server answers {status}")
    if status not in {200, 206, 416}:
        raise DownloadError(f"{shown(url)}: the server answers {status} {response.reason_phrase}".rstrip())
    if response.headers.get("content-encoding", "identity") != "identity":
        raise DownloadError(f"{shown(url)}: the server packs the file, which cannot be resumed or verified")


def _validator(response: httpx.Response) -> str:
    """What proves on the next call that the file is still the same; a weak ETag proves nothing."""
    etag = str(response.headers.get("etag", ""))
    if etag.startswith('"'):
        return etag
    return str(response.headers.get("last-modified", ""))


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
