from __future__ import annotations

import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from m3ke_async.files import sync_folder, whole_file, write_json

if TYPE_CHECKING:
    from pathlib import Path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with whole_file(path) as file:
        file.write(b"one\n")
        assert not path.exists()
    assert path.read_bytes() == b"one\n"
    assert names(tmp_path) == ["a.txt"]


def test_readers_see_the_old_file_until_then(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with whole_file(path) as file:
        file.write(b"new, and longer")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new, and longer"


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, durable: bool
) -> None:
    path = tmp_path / "a.txt"
    synced: list[bytes] = []

    def fsync(descriptor: int) -> None:
        assert not path.exists()
        (temporary,) = tmp_path.iterdir()
        synced.append(temporary.read_bytes())

    monkeypatch.setattr("m3ke_async.files.os.fsync", fsync)
    with whole_file(path, durable=durable) as file:
        file.write(b"whole")
    assert synced == [b"whole"] * durable


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def write() -> None:
        with whole_file(path) as file:
            file.write(b"half of a")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.txt"]


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with whole_file(path) as one, whole_file(path) as two:
        one.write(b"1" * 9999)
        two.write(b"2" * 9999)
    assert path.read_bytes() in {b"1" * 9999, b"2" * 9999}
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows opens no folders")
def test_a_folder_is_synced_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    sync_folder(tmp_path)
    assert synced == [tmp_path.stat().st_ino]
    sync_folder(tmp_path / "none")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_others_may_read_it_as_far_as_the_user_lets_them(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    before = os.umask(0o027)
    try:
        with whole_file(path):
            pass
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_json_is_utf_8_for_people(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"题": "𠮷①😀", "坏": "\ud83d", "n": [1, None]})
    raw = path.read_bytes()
    assert raw.endswith(b"}\n")
    assert "\n" in raw.decode().strip()
    assert json.loads(raw) == {"题": "𠮷①😀", "坏": "\\ud83d", "n": [1, None]}
    assert "𠮷①😀".encode() in raw


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_threads_that_write_files_do_not_touch_what_the_user_lets_others_read(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: write_json(tmp_path / f"{n}.json", n), range(200)))
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
