"""M3KE is fetched whole and right, or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from m3ke_async import fetch
from m3ke_async.errors import UsageError
from m3ke_async.fetch import fetch_suite
from m3ke_async.manifest import M3KE_SPLITS, Cluster, Level, Manifest, Source, Split, TaskFacts
from m3ke_async.suite import load_suite
from tests.file_server import FileServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("Tea & Cups-Arts & Humanities-Other", "Knots-Natural Sciences-Primary school")


def rows(name: str, split: Split) -> bytes:
    options = {"A": "一", "B": "二", "C": "三", "D": "四"}
    answer = "A" if split is Split.DEV else ""
    lines = (
        {"id": number, "question": f"{name}{split}？"} | options | {"answer": answer} for number in range(3)
    )
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


FILES = {f"{split}/{name}.jsonl": rows(name, split) for name in NAMES for split in M3KE_SPLITS}


def packed(files: dict[str, bytes]) -> bytes:
    """A zip as published: with CRLF line ends."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content.replace(b"\n", b"\r\n"))
    return buffer.getvalue()


ZIP = packed(FILES)
GITHUB_PATH = "/owner/repo/raw/c0ffee/data/M3KE.zip"
HUB_FILES = "/datasets/TJUNLP/M3KE/resolve/main/"
HUB_LIST = "/api/datasets/TJUNLP/M3KE/tree/main"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A manifest of two tasks, and folders that are the test's own."""
    manifest = Manifest(
        Source("owner/repo", "c0ffee", "2023-07-20", "MIT", hashlib.sha256(ZIP).hexdigest(), len(ZIP)),
        tuple(
            TaskFacts(
                name,
                name,
                Cluster.OTHER,
                Level.OTHER,
                dict.fromkeys(M3KE_SPLITS, 3),
                {split: hashlib.sha256(FILES[f"{split}/{name}.jsonl"]).hexdigest() for split in M3KE_SPLITS},
            )
            for name in NAMES
        ),
    )
    monkeypatch.setattr(fetch, "load_manifest", lambda: manifest)
    monkeypatch.setenv("M3KE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("M3KE_DATA", raising=False)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    with FileServer() as server:
        monkeypatch.setattr(fetch, "_GITHUB", server.url)
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "home" / "M3KE"


def get(
    target: Path, *, source: Path | None = None, mirror: str | None = None, said: list[str] | None = None
) -> Path:
    lines = [] if said is None else said
    return fetch_suite(
        target, source=source, mirror=mirror, progress=lambda done, whole: None, say=lines.append
    )


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}


def assert_nothing_is_left(target: Path) -> None:
    assert not target.exists()
    assert not target.parent.exists() or list(target.parent.iterdir()) == []


def put_on_hub(server: FileServer, files: dict[str, bytes], prefix: str = "") -> None:
    listing = [{"type": "directory", "path": "dev"}, {"type": "file", "path": "M3KE.py", "size": 1}]
    for name, data in files.items():
        server.files[HUB_FILES + prefix + name] = data
        listing.append({"type": "file", "path": prefix + name, "size": len(data)})
    server.files = {quote(path): data for path, data in server.files.items()}
    server.files[HUB_LIST] = json.dumps(listing).encode()


def test_the_repository_comes_first(server: FileServer, target: Path, tmp_path: Path) -> None:
    server.files[GITHUB_PATH] = ZIP
    assert get(target) == target
    assert content(target) == FILES
    assert load_suite(target).size(Split.TEST) == 6
    assert list(target.parent.iterdir()) == [target]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [".data.lock"]


def test_a_verified_copy_is_left_alone(server: FileServer, target: Path) -> None:
    server.files[GITHUB_PATH] = ZIP
    get(target)
    server.seen.clear()
    said: list[str] = []
    get(target, said=said)
    assert server.seen == []
    assert "every file verified" in said[0]


@pytest.mark.parametrize("prefix", ["", "data/"])
def test_the_hub_comes_second_file_by_file(server: FileServer, target: Path, prefix: str) -> None:
    put_on_hub(server, FILES, prefix)
    said: list[str] = []
    get(target, said=said)
    assert content(target) == FILES
    assert len(said) == 1
    assert "answers 404" in said[0]


def test_the_hub_may_hold_a_zip(server: FileServer, target: Path) -> None:
    put_on_hub(server, {"data/M3KE.zip": ZIP})
    get(target)
    assert content(target) == FILES


def test_an_interrupted_hub_fetch_asks_for_the_rest_only(server: FileServer, target: Path) -> None:
    put_on_hub(server, FILES)
    missing = max(path for path in server.files if path.startswith(HUB_FILES))
    held = server.files.pop(missing)
    with pytest.raises(UsageError, match="answers 404"):
        get(target)
    assert_nothing_is_left(target)
    server.files[missing] = held
    server.seen.clear()
    get(target)
    asked = [path for _, path, _ in server.seen if path.startswith(HUB_FILES)]
    assert asked == [missing]


@pytest.mark.parametrize(
    "listing", [b"<html>", b"{}", b'[{"type": "file"}]', b"[1]", b'[{"type": "file", "path": "dev/x.jsonl"}]']
)
def test_a_hub_that_lists_something_else_is_one_line(
    server: FileServer, target: Path, listing: bytes
) -> None:
    server.files[HUB_LIST] = listing
    with pytest.raises(UsageError, match=r"no list of the dataset's files|lists 0 of M3KE's 4 files"):
        get(target)
    assert_nothing_is_left(target)


def test_a_mirror_takes_the_place_of_both(server: FileServer, target: Path, tmp_path: Path) -> None:
    server.files["/mirror" + GITHUB_PATH] = ZIP
    get(target, mirror=f"{server.url}/mirror/")
    assert content(target) == FILES
    other = tmp_path / "other"
    del server.files["/mirror" + GITHUB_PATH]
    put_on_hub(server, FILES)
    get(other, mirror=server.url)
    assert content(other) == FILES


def test_a_mirror_may_be_a_zip(server: FileServer, target: Path) -> None:
    server.files["/my.zip"] = ZIP
    get(target, mirror=f"{server.url}/my.zip")
    assert content(target) == FILES


def test_a_mirror_that_is_not_https_is_refused(target: Path) -> None:
    with pytest.raises(UsageError, match="must start with https://"):
        get(target, mirror="http://mirror.example.org")


@pytest.mark.parametrize("kind", ["zip", "folder", "folder with data/"])
def test_a_local_copy_needs_no_network(tmp_path: Path, target: Path, kind: str) -> None:
    source = tmp_path / "source"
    if kind == "zip":
        source.write_bytes(ZIP)
    else:
        for name, data in FILES.items():
            file = source / ("data" if kind.endswith("/") else "") / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        (source / "README.md").write_text("more")
    get(target, source=source)
    assert content(target) == FILES


CHANGED = FILES | {f"dev/{NAMES[0]}.jsonl": rows("other", Split.DEV)}
FEWER = dict(list(FILES.items())[1:])


@pytest.mark.parametrize(("files", "message"), [(CHANGED, "SHA-256 differs"), (FEWER, "lacks 1 of M3KE's 4")])
def test_a_copy_that_differs_is_named_and_not_installed(
    server: FileServer, tmp_path: Path, target: Path, files: dict[str, bytes], message: str
) -> None:
    source = tmp_path / "copy.zip"
    source.write_bytes(packed(files))
    with pytest.raises(UsageError, match=message):
        get(target, source=source)
    assert_nothing_is_left(target)
    server.files["/copy.zip"] = source.read_bytes()
    with pytest.raises(UsageError, match=message):
        get(target, mirror=f"{server.url}/copy.zip")
    assert_nothing_is_left(target)
    server.files["/copy.zip"] = ZIP  # what was wrong is not kept
    get(target, mirror=f"{server.url}/copy.zip")


def test_all_sources_are_named_once_when_none_works(server: FileServer, target: Path) -> None:
    said: list[str] = []
    with pytest.raises(UsageError) as caught:
        get(target, said=said)
    message = str(caught.value)
    assert said == []
    assert message.count(GITHUB_PATH) == 1
    assert message.count(HUB_LIST) == 1
    assert "--from" in message
    assert "\n" not in message


def test_a_folder_with_something_else_is_not_touched(target: Path, tmp_path: Path) -> None:
    target.mkdir(parents=True)
    (target / "thesis.txt").write_text("mine")
    source = tmp_path / "copy.zip"
    source.write_bytes(ZIP)
    with pytest.raises(UsageError, match="exists and is not the published M3KE"):
        get(target, source=source)
    assert (target / "thesis.txt").read_text() == "mine"


def test_an_empty_folder_is_taken(target: Path, tmp_path: Path) -> None:
    target.mkdir(parents=True)
    (tmp_path / "copy.zip").write_bytes(ZIP)
    get(target, source=tmp_path / "copy.zip")
    assert content(target) == FILES


def test_what_a_killed_process_left_is_cleared(target: Path, tmp_path: Path) -> None:
    (target.parent / ".M3KE.m3ke-fetch-k1ll3d" / "dev").mkdir(parents=True)
    (tmp_path / "copy.zip").write_bytes(ZIP)
    get(target, source=tmp_path / "copy.zip")
    assert list(target.parent.iterdir()) == [target]


def test_from_and_mirror_exclude_each_other(target: Path) -> None:
    with pytest.raises(UsageError, match="give one of them"):
        get(target, source=target, mirror="https://example.org")


def test_a_source_that_is_not_there(target: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder or zip"):
        get(target, source=tmp_path / "nothing.zip")


def test_without_a_target_it_goes_where_m3ke_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("M3KE_DATA", str(tmp_path / "mine"))
    (tmp_path / "copy.zip").write_bytes(ZIP)
    fetched = fetch_suite(source=tmp_path / "copy.zip", progress=lambda done, whole: None)
    assert fetched == tmp_path / "mine"
    assert content(fetched) == FILES


def test_the_published_zip_and_folder_pass(
    shared: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("M3KE_CACHE", str(tmp_path / "cache"))
    get(target, source=shared / "M3KE" / "M3KE.zip")
    get(tmp_path / "other", source=shared / "M3KE")
    assert content(target) == content(tmp_path / "other")
    assert len(content(target)) == 142
