from __future__ import annotations

import stat
import struct
import zipfile
from typing import TYPE_CHECKING

import pytest

from m3ke_async import archive
from m3ke_async.errors import DataError
from m3ke_async.suite import Split, load_suite
from tests.test_suite import TASK, jsonl, questions, row, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = jsonl([row(0), row(1)])
CENTRAL, END = b"PK\x01\x02", b"PK\x05\x06"


def pack(path: Path, members: dict[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, content in members.items():
            packed.writestr(name, content, compress_type=method)
    return path


def overwrite(path: Path, record: bytes, offset: int, form: str, value: int) -> Path:
    """Change one number in the first such record of the archive's list of members."""
    raw = bytearray(path.read_bytes())
    struct.pack_into(form, raw, raw.index(record) + offset, value)
    path.write_bytes(bytes(raw))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        load_suite(path)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


# What is read


@pytest.mark.parametrize("top", ["", "data/", "M3KE-main/data/"])
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_a_zip_is_read_as_the_folder_it_was_packed_from(tmp_path: Path, top: str, method: int) -> None:
    folder = load_suite(write(write(tmp_path / "s", f"dev/{TASK}", ROWS), f"test/{TASK}", ROWS))
    packed = load_suite(
        pack(tmp_path / "s.zip", {f"{top}dev/{TASK}.jsonl": ROWS, f"{top}test/{TASK}.jsonl": ROWS}, method)
    )
    assert packed.fingerprint == folder.fingerprint
    assert questions(packed) == questions(folder)
    assert packed.tasks[0].dev == folder.tasks[0].dev


def test_other_members_are_ignored(tmp_path: Path) -> None:
    members: dict[str | zipfile.ZipInfo, bytes] = {
        "test/": b"",
        f"test/{TASK}.jsonl": ROWS,
        f"__MACOSX/test/._{TASK}.jsonl": b"\xff",
        f"test/._{TASK}.jsonl": b"\xff",
        ".git/test/Hidden-Other-Other.jsonl": b"\xff",
        "test/.DS_Store": b"\xff",
        "README.md": b"\xff",
        "test/notes.txt": b"\xff",
    }
    assert [task.name for task in load_suite(pack(tmp_path / "s.zip", members)).tasks] == [TASK]


@pytest.mark.parametrize("encoding", ["utf-8", "gbk"])
def test_a_name_in_an_encoding_that_the_packer_did_not_state_is_read(tmp_path: Path, encoding: str) -> None:
    name = "烹饪-Other-Other"
    stand_in = "x" * len(name.encode(encoding))
    path = pack(tmp_path / "s.zip", {f"test/{stand_in}.jsonl": ROWS})
    path.write_bytes(path.read_bytes().replace(stand_in.encode(), name.encode(encoding)))
    suite = load_suite(path)
    assert [task.name for task in suite.tasks] == [name]
    assert len(questions(suite)) == 2


def test_backslashes_part_a_name_as_slashes_do(tmp_path: Path) -> None:
    assert load_suite(pack(tmp_path / "s.zip", {f"test\\{TASK}.jsonl": ROWS})).size(Split.TEST) == 2


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pack(tmp_path / "s.zip", {f"test/{TASK}.jsonl": ROWS})
    monkeypatch.chdir(tmp_path)
    questions(load_suite(path))
    assert list(tmp_path.rglob("*")) == [path]


def test_a_zip_that_changed_since_it_was_loaded_is_refused(tmp_path: Path) -> None:
    suite = load_suite(pack(tmp_path / "s.zip", {f"test/{TASK}.jsonl": ROWS}))
    pack(tmp_path / "s.zip", {f"test/{TASK}.jsonl": ROWS + jsonl([row(2)])})
    with pytest.raises(DataError, match="has changed since it was loaded"):
        questions(suite)


# What is refused


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ("/test/x-Other-Other.jsonl", "would leave the archive"),
        ("../test/x-Other-Other.jsonl", "would leave the archive"),
        ("data/../../test/x.txt", "would leave the archive"),
        ("..\\test\\x-Other-Other.jsonl", "would leave the archive"),
        ("\\\\host\\share\\test\\x.jsonl", "would leave the archive"),
        ("C:/test/x-Other-Other.jsonl", "would leave the archive"),
        ("c:x.txt", "would leave the archive"),
        (link("test/x-Other-Other.jsonl"), "is a link"),
        (link("notes"), "is a link"),
    ],
    ids=str,
)
def test_a_member_that_leads_elsewhere_refuses_the_archive(
    tmp_path: Path, member: str | zipfile.ZipInfo, message: str
) -> None:
    path = pack(tmp_path / "s.zip", {f"test/{TASK}.jsonl": ROWS, member: b"/etc/passwd"})
    assert message in refusal(path)


def _huge_member(path: Path) -> Path:
    return overwrite(path, CENTRAL, 24, "<L", archive.MAX_MEMBER_BYTES + 1)


def _encrypted(path: Path) -> Path:
    return overwrite(path, CENTRAL, 8, "<H", 1)


def _long_list(path: Path) -> Path:
    return overwrite(path, END, 12, "<L", 3 << 20)


def _zip64(path: Path) -> Path:
    raw = path.read_bytes()
    at = raw.index(END)
    path.write_bytes(raw[:at] + b"PK\x06\x07" + bytes(16) + raw[at:])
    return path


def _bomb(path: Path) -> Path:
    return pack(path, {f"test/{TASK}.jsonl": ROWS, "zeros": bytes(1 << 20)})


def _many(path: Path) -> Path:
    return pack(path, {f"{number}": b"" for number in range(archive.MAX_MEMBERS + 1)})


def _bzip2(path: Path) -> Path:
    return pack(path, {f"test/{TASK}.jsonl": ROWS}, zipfile.ZIP_BZIP2)


def _large_in_all(path: Path) -> Path:
    """Members below the single limit, above the limit of all."""
    count = archive.MAX_TOTAL_BYTES // archive.MAX_MEMBER_BYTES + 1
    pack(path, {f"test/{number}-Other-Other.jsonl": ROWS for number in range(count)})
    raw = bytearray(path.read_bytes())
    at = -1
    for _ in range(count):
        at = raw.index(CENTRAL, at + 1)
        struct.pack_into("<L", raw, at + 24, archive.MAX_MEMBER_BYTES)
    path.write_bytes(bytes(raw))
    return path


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (_bomb, "'zeros' is packed more than 200 to 1"),
        (_huge_member, "has more than 64 MiB"),
        (_large_in_all, "more than 256 MiB unpacked"),
        (_many, "2,001 members, more than 2,000"),
        (_long_list, "its list of members has 3,145,728 bytes"),
        (_zip64, "ZIP64 form"),
        (_encrypted, "is encrypted"),
        (_bzip2, "is not packed with deflate"),
    ],
)
def test_a_bomb_or_a_lock_is_refused_before_anything_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Path], Path], message: str
) -> None:
    path = prepare(pack(tmp_path / "s.zip", {f"test/{TASK}.jsonl": ROWS}))
    monkeypatch.delattr(zipfile.ZipFile, "open")
    assert message in refusal(path)


def test_a_member_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "s.zip", {"test/a-Other-Other.jsonl": ROWS, "test/b-Other-Other.jsonl": ROWS})
    path.write_bytes(path.read_bytes().replace(b"test/b-", b"test/a-"))
    assert "stands in it twice" in refusal(path)


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "s.zip", {f"test/{TASK}.jsonl": ROWS}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace("水".encode(), "火".encode()))
    assert "the zip is damaged" in refusal(path)


def test_a_damaged_deflate_stream_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "s.zip", {f"test/{TASK}.jsonl": ROWS})
    raw = bytearray(path.read_bytes())
    start = 30 + len(f"test/{TASK}.jsonl")
    raw[start : start + 8] = b"\xff" * 8
    path.write_bytes(bytes(raw))
    assert "the zip is damaged" in refusal(path)


@pytest.mark.parametrize("part", [0.3, 0.9, 0.99])
def test_a_zip_that_was_cut_off_is_refused(tmp_path: Path, part: float) -> None:
    path = pack(tmp_path / "s.zip", {f"test/{TASK}.jsonl": ROWS})
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * part)])
    assert "is neither a folder nor a zip" in refusal(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all", END, b"x" * 70_000, END + bytes(18)])
def test_a_file_that_is_no_suite_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.zip").write_bytes(content)
    message = refusal(tmp_path / "s.zip")
    assert "is neither a folder nor a zip" in message or "no dev/ or test/" in message


def test_two_suites_in_one_zip_are_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "s.zip", {f"a/test/{TASK}.jsonl": ROWS, f"b/test/{TASK}.jsonl": ROWS})
    assert "holds several suites, in a and b" in refusal(path)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path, end: bytes) -> None:
    content = ROWS + b" " * archive.MAX_LINE_BYTES + end
    with pytest.raises(DataError, match="longer than 4,194,304 bytes") as caught:
        load_suite(write(tmp_path, f"test/{TASK}", content))
    assert caught.value.line == 3


def test_any_single_wrong_byte_gives_the_suite_or_a_refusal(tmp_path: Path) -> None:
    whole = pack(tmp_path / "s.zip", {f"test/{TASK}.jsonl": ROWS}).read_bytes()
    for at in range(len(whole)):
        (tmp_path / "s.zip").write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            rows = len(questions(load_suite(tmp_path / "s.zip")))
        except DataError:
            continue
        assert rows == 2
