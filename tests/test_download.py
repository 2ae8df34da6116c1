"""A download is resumed, verified, and never half there."""

from __future__ import annotations

import hashlib
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from m3ke_async.download import ATTEMPTS, ATTEMPTS_UNREACHED, download, is_allowed, shown
from m3ke_async.errors import UsageError
from m3ke_async.verified import DownloadError
from tests.file_server import FileServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        server.files["/file"] = CONTENT
        yield server


class Fetch:
    """`download` with the defaults of these tests; keeps the waits and the progress."""

    def __init__(self, server: FileServer, target: Path) -> None:
        self.server, self.target = server, target
        self.waits: list[float] = []
        self.progress: list[tuple[int, int | None]] = []

    def __call__(
        self,
        path: str = "/file",
        *,
        sha256: str | None = SHA256,
        size: int | None = len(CONTENT),
        max_bytes: int = 1 << 30,
    ) -> Path:
        return download(
            self.server.url + path,
            self.target,
            sha256=sha256,
            size=size,
            max_bytes=max_bytes,
            progress=lambda done, whole: self.progress.append((done, whole)),
            sleep=self.waits.append,
        )

    def part(self, content: bytes, tag: str | None = None) -> None:
        """Lay down what an earlier call left."""
        self.target.with_name("model.part").write_bytes(content)
        if tag is not None:
            self.target.with_name("model.part.tag").write_text(tag)

    def left(self) -> list[str]:
        """The names of the files that are there now, the lock left out."""
        return sorted(path.name for path in self.target.parent.iterdir() if path.name != ".model.lock")


@pytest.fixture
def fetch(server: FileServer, tmp_path: Path) -> Fetch:
    return Fetch(server, tmp_path / "model")


def etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:12]}"'


def test_a_file_is_fetched_whole_and_nothing_else_stays(fetch: Fetch) -> None:
    assert fetch() == fetch.target
    assert fetch.target.read_bytes() == CONTENT
    assert fetch.left() == ["model"]
    assert fetch.progress[0] == (0, len(CONTENT))
    assert fetch.progress[-1] == (len(CONTENT), len(CONTENT))


def test_a_file_that_is_there_is_not_asked_for(fetch: Fetch, server: FileServer) -> None:
    fetch()
    server.seen.clear()
    fetch()
    assert server.seen == []


def test_a_file_with_another_hash_under_the_final_name_is_replaced(fetch: Fetch) -> None:
    fetch.target.write_bytes(b"x" * len(CONTENT))
    fetch()
    assert fetch.target.read_bytes() == CONTENT


@pytest.mark.parametrize("etags", [True, False])
def test_an_interrupted_download_goes_on_where_it_stopped(
    fetch: Fetch, server: FileServer, etags: bool
) -> None:
    server.etag = etags
    fetch.part(CONTENT[:1000], etag(CONTENT) if etags else None)
    fetch()
    assert fetch.target.read_bytes() == CONTENT
    assert server.asked_ranges == ["bytes=1000-"]


def test_a_connection_that_breaks_is_resumed_within_the_call(fetch: Fetch, server: FileServer) -> None:
    server.cuts = [300_000, 300_000]
    fetch()
    assert fetch.target.read_bytes() == CONTENT
    assert server.asked_ranges[0] is None
    assert all(asked is not None for asked in server.asked_ranges[1:])
    assert fetch.waits == [1, 1]  # each attempt brought something


def test_a_server_without_ranges_starts_anew(fetch: Fetch, server: FileServer) -> None:
    server.ranges = False
    fetch.part(b"y" * 1000, etag(CONTENT))
    fetch()
    assert fetch.target.read_bytes() == CONTENT


@pytest.mark.parametrize("known", [True, False])
def test_a_file_that_changed_since_starts_anew(fetch: Fetch, server: FileServer, known: bool) -> None:
    fetch.part(b"old" * 300, etag(b"the old file"))
    fetch(sha256=SHA256 if known else None, size=None)
    assert fetch.target.read_bytes() == CONTENT
    assert len(server.seen) == 1


def test_a_piece_of_something_else_is_dropped_once_the_hash_shows_it(
    fetch: Fetch, server: FileServer
) -> None:
    server.etag = False
    fetch.part(b"z" * 1000)
    fetch()
    assert fetch.target.read_bytes() == CONTENT
    assert server.asked_ranges == ["bytes=1000-", None]


def test_without_hash_and_validator_nothing_is_resumed(fetch: Fetch, server: FileServer) -> None:
    server.etag = False
    fetch.part(b"z" * 1000)
    fetch(sha256=None)
    assert fetch.target.read_bytes() == CONTENT
    assert server.asked_ranges == [None]


def test_a_part_longer_than_the_file_starts_anew(fetch: Fetch) -> None:
    fetch.part(CONTENT + b"more", etag(CONTENT))
    fetch()
    assert fetch.target.read_bytes() == CONTENT


def test_a_complete_part_is_verified_without_a_request(fetch: Fetch, server: FileServer) -> None:
    fetch.part(CONTENT)
    fetch()
    assert fetch.target.read_bytes() == CONTENT
    assert server.seen == []


def test_a_wrong_hash_deletes_what_was_fetched_and_says_so(fetch: Fetch) -> None:
    with pytest.raises(DownloadError, match=r"SHA-256 is [0-9a-f]{64}, not 0{64}; it was deleted"):
        fetch(sha256="0" * 64)
    assert fetch.left() == []


def test_a_wrong_size_is_refused_before_a_byte_is_written(fetch: Fetch) -> None:
    with pytest.raises(DownloadError, match="has 1024000 bytes, not 7"):
        fetch(size=7)
    assert fetch.left() == []


@pytest.mark.parametrize("length", ["1024000", ""])
def test_more_than_the_cap_is_not_taken(fetch: Fetch, server: FileServer, length: str) -> None:
    server.headers = {"content-length": length}
    with pytest.raises(DownloadError, match="1000"):
        fetch(sha256=None, size=None, max_bytes=1000)
    assert fetch.left() in ([], ["model.part.tag"])


def test_temporary_failures_are_tried_again_with_growing_waits(fetch: Fetch, server: FileServer) -> None:
    server.statuses = [503, 429, 500, 408]
    fetch()
    assert fetch.waits == [1, 2, 4, 8]


def test_a_server_that_stays_bad_ends_it_in_one_line(fetch: Fetch, server: FileServer) -> None:
    server.statuses = [503] * ATTEMPTS
    with pytest.raises(DownloadError, match=r"/file: the server answers 503$"):
        fetch()
    assert len(server.seen) == ATTEMPTS


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_final_answer_is_not_tried_again(fetch: Fetch, server: FileServer, status: int) -> None:
    server.statuses = [status]
    with pytest.raises(DownloadError, match=f"answers {status}"):
        fetch()
    assert len(server.seen) == 1


def test_a_server_that_is_not_there_is_tried_twice(fetch: Fetch, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file"
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1"):
        download(url, tmp_path / "x", sha256=None, size=None, progress=print, sleep=fetch.waits.append)
    assert len(fetch.waits) == ATTEMPTS_UNREACHED - 1


def test_redirects_are_followed_with_the_range(fetch: Fetch, server: FileServer) -> None:
    server.redirects["/moved"] = "/file"
    fetch.part(CONTENT[:500], etag(CONTENT))
    fetch("/moved")
    assert fetch.target.read_bytes() == CONTENT
    assert server.asked_ranges == ["bytes=500-", "bytes=500-"]


@pytest.mark.parametrize("target", ["http://example.org/file", "ftp://127.0.0.1/file"])
def test_a_redirect_to_plain_http_elsewhere_is_refused(fetch: Fetch, server: FileServer, target: str) -> None:
    server.redirects["/moved"] = target
    with pytest.raises(DownloadError, match="which is not https"):
        fetch("/moved")


def test_redirects_without_end_are_given_up(fetch: Fetch, server: FileServer) -> None:
    server.redirects["/moved"] = "/moved"
    with pytest.raises(DownloadError, match="without end"):
        fetch("/moved")
    assert len(server.seen) < 10


def test_a_packed_body_is_refused(fetch: Fetch, server: FileServer) -> None:
    server.headers = {"content-encoding": "gzip"}
    with pytest.raises(DownloadError, match="packs the file"):
        fetch()
    assert fetch.left() == []


def test_two_at_a_time_fetch_it_once(fetch: Fetch, server: FileServer) -> None:
    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fetch.target.read_bytes() == CONTENT
    assert len(server.seen) == 1


def test_a_folder_that_cannot_be_made_is_one_line(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="cannot write in"):
        Fetch(server, tmp_path / "file" / "model")()


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://example.org/x", True),
        ("http://127.0.0.1:8000/x", True),
        ("http://localhost/x", True),
        ("http://[::1]:80/x", True),
        ("http://example.org/x", False),
        ("http://127.0.0.1@example.org/x", False),
        ("http://127.0.0.1.example.org/x", False),
        ("ftp://127.0.0.1/x", False),
        ("file:///etc/passwd", False),
        ("https://", False),
        ("model.gguf", False),
        ("https://example.org:port/x", False),
    ],
)
def test_only_https_and_this_machine_are_asked(url: str, allowed: bool, tmp_path: Path) -> None:
    assert is_allowed(url) is allowed
    if not allowed:
        with pytest.raises(DownloadError, match="must start with https://"):
            download(url, tmp_path / "x", sha256=None, size=None, progress=print)


def test_an_address_is_shown_without_its_secrets() -> None:
    assert shown("https://user:secret@example.org:8443/a/b?token=secret") == "https://example.org:8443/a/b"


def test_a_proxy_that_cannot_be_used_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://127.0.0.1:1")
    with pytest.raises(UsageError, match="proxy in the environment"):
        download("https://example.org/x", tmp_path / "x", sha256=None, size=None, progress=print)
