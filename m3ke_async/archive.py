"""Where a suite's files lie: a folder or a zip, read in place, line by line.

A zip is foreign. Its member names choose what is read and are never used as paths; a name
that would leave the archive, a link, a lock or a bomb refuses the whole archive before
anything is unpacked.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from m3ke_async.errors import DataError
from m3ke_async.manifest import Split
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

#: M3KE.zip has 142 members, 6 MB unpacked, packed 3 to 1 (5 to 1 at most).
MAX_MEMBERS = 2_000
MAX_MEMBER_BYTES = 64 << 20
MAX_TOTAL_BYTES = 256 << 20
MAX_RATIO = 200
#: The longest row of M3KE has 4 KiB; a file without a line end must not fill the memory.
MAX_LINE_BYTES = 4 << 20

#: Of files that can hold questions.
SUFFIXES = (".jsonl", ".csv")
_BOM = b"\xef\xbb\xbf"
_DRIVE = re.compile(r"[A-Za-z]:")
_ENCRYPTED = 0x1
_NAME_IS_UTF8 = 0x800
#: zip's end record: 22 bytes and a comment of at most 65,535.
_END_RECORD, _MAX_END = b"PK\x05\x06", 22 + 65_535
_ZIP64_LOCATOR = b"PK\x06\x07"

#: Size in bytes and time of last change in nanoseconds.
Stamp = tuple[int, int]
#: Number of the line from 1, offset of its first byte in the file, its bytes without line end.
Line = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True)
class Member:
    """One file with questions.

    Attributes:
        split: the folder it lies in.
        stem: its name without suffix.
        suffix: `.jsonl` or `.csv`.
        name: its path inside the folder or zip, as the system or the archive spells it.
        label: its path for people.
    """

    split: Split
    stem: str
    suffix: str
    name: str
    label: str


class Container(Protocol):
    """A folder or a zip that holds `dev/` and `test/`, or a file by itself."""

    @property
    def single(self) -> bool:
        """Whether it is a file by itself."""

    def members(self, splits: Sequence[Split], suffixes: Sequence[str]) -> list[Member]:
        """The files of the splits; hidden files and other kinds are left out."""

    def stamp(self, member: Member) -> Stamp:
        """Changes when the member's bytes may have changed."""

    def lines(self, member: Member) -> Iterator[Line]:
        """The member's lines, blank ones included; a line ends at LF or CRLF and nowhere else."""


@contextmanager
def open_container(path: Path) -> Iterator[Container]:
    """Open a folder or a zip.

    Raises:
        DataError: there is nothing, or nothing that can be read safely.
    """
    try:
        if path.is_dir():
            yield _Folder(path)
        elif path.suffix.lower() in SUFFIXES and path.is_file():
            yield _File(path)
        elif path.is_file():
            with path.open("rb") as file, _open_zip(file, path) as archive:
                yield _Zip(path, file, archive)
        else:
            raise DataError("no such folder or zip; `m3ke data fetch` gets M3KE", file=path)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=error.filename or path) from None


class _Folder:
    single = False

    def __init__(self, path: Path) -> None:
        self._path = path

    def members(self, splits: Sequence[Split], suffixes: Sequence[str]) -> list[Member]:
        for prefix in ("", "data/"):
            files = [
                file
                for split in splits
                if (self._path / prefix / split).is_dir()
                for file in sorted((self._path / prefix / split).iterdir())
                if file.is_file()
            ]
            names = [file.relative_to(self._path).as_posix() for file in files]
            members = (_member(_as_utf8(name), self._path, name) for name in names)
            found = [member for member in members if member and member.suffix in suffixes]
            if found:
                return found
        return []

    def stamp(self, member: Member) -> Stamp:
        return _stamp((self._path / member.name).stat())

    def lines(self, member: Member) -> Iterator[Line]:
        with (self._path / member.name).open("rb") as stream:
            yield from _lines(stream, member)


class _File:
    single = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def members(self, splits: Sequence[Split], suffixes: Sequence[str]) -> list[Member]:
        suffix, stem = self._path.suffix, _as_utf8(self._path.stem)
        if suffix.lower() not in suffixes:
            return []
        split = next((split for split in splits if stem.endswith(f"_{split}")), splits[0])
        return [Member(split, stem, suffix.lower(), self._path.name, one_line(str(self._path), limit=1000))]

    def stamp(self, member: Member) -> Stamp:
        return _stamp(self._path.stat())

    def lines(self, member: Member) -> Iterator[Line]:
        with self._path.open("rb") as stream:
            yield from _lines(stream, member)


class _Zip:
    single = False

    def __init__(self, path: Path, file: IO[bytes], archive: zipfile.ZipFile) -> None:
        self._path, self._file, self._archive = path, file, archive

    def members(self, splits: Sequence[Split], suffixes: Sequence[str]) -> list[Member]:
        found: dict[PurePosixPath, list[Member]] = {}
        for info in self._archive.infolist():
            member = None if info.is_dir() else _member(_name(info), self._path, info.filename)
            if member and member.split in splits and member.suffix in suffixes:
                found.setdefault(PurePosixPath(_name(info)).parents[1], []).append(member)
        if not found:
            return []
        depths = sorted(found, key=lambda root: len(root.parts))
        if len(depths) > 1 and len(depths[0].parts) == len(depths[1].parts):
            both = f"{one_line(str(depths[0]))} and {one_line(str(depths[1]))}"
            raise DataError(f"holds several suites, in {both}; pack one suite a zip", file=self._path)
        return found[depths[0]]

    def stamp(self, member: Member) -> Stamp:
        return _stamp(os.fstat(self._file.fileno()))

    def lines(self, member: Member) -> Iterator[Line]:
        try:
            with self._archive.open(member.name) as packed, BufferedReader(packed) as stream:  # type: ignore[type-var]
                yield from _lines(stream, member)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise _damaged(self._path, error) from None


def _lines(stream: IO[bytes], member: Member) -> Iterator[Line]:
    offset = 0
    for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES), b""), start=1):
        start = offset
        offset += len(line)
        if len(line) == MAX_LINE_BYTES:
            raise DataError(
                f"is longer than {MAX_LINE_BYTES:,} bytes; a row is one line", file=member.label, line=number
            )
        if number == 1 and line.startswith(_BOM):
            start, line = start + len(_BOM), line[len(_BOM) :]  # noqa: PLW2901
        yield number, start, line.rstrip(b"\r\n")


def written(lines: Iterator[Line]) -> Iterator[Line]:
    """The lines without the blank ones."""
    return (line for line in lines if line[2] and not line[2].isspace())


def _as_utf8(name: str) -> str:
    """A file's name as stored, whatever encoding the locale takes it for."""
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def _member(name: str, container: Path, key: str) -> Member | None:
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    suffix = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), None)
    if hidden or len(parts) < 2 or parts[-2] not in tuple(Split) or suffix is None:
        return None
    label = one_line(f"{container}/{name}", limit=1000)
    return Member(Split(parts[-2]), parts[-1][: -len(suffix)], suffix, key, label)


def _open_zip(file: IO[bytes], path: Path) -> zipfile.ZipFile:
    _check_directory_size(file, path)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError) as error:
        raise _damaged(path, error) from None
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise _refused(path, f"{len(infos):,} members, more than {MAX_MEMBERS:,}")
    if sum(info.file_size for info in infos) > MAX_TOTAL_BYTES:
        raise _refused(path, f"more than {MAX_TOTAL_BYTES >> 20} MiB unpacked")
    seen: set[str] = set()
    for info in infos:
        fault = _fault(info)
        name = _name(info)
        if fault is None and name in seen:
            fault = "stands in it twice"
        if fault is not None:
            raise _refused(path, f"member {one_line(name)!r} {fault}")
        seen.add(name)
    return archive


def _check_directory_size(file: IO[bytes], path: Path) -> None:
    """Refuse a huge member list before `zipfile` reads it whole into memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MAX_END))
    tail = file.read()
    end = tail.rfind(_END_RECORD)
    if end < 0 or len(tail) - end < 22:
        raise DataError("is neither a folder nor a zip", file=path)
    (directory_bytes,) = struct.unpack_from("<L", tail, end + 12)
    if directory_bytes > MAX_MEMBERS * 1024:
        raise _refused(path, f"its list of members has {directory_bytes:,} bytes")
    if tail[max(0, end - 20) : end].startswith(_ZIP64_LOCATOR):
        raise _refused(path, "it is in the ZIP64 form, for huge archives")


def _name(info: zipfile.ZipInfo) -> str:
    """The member's name with slashes; packers that set no flag write UTF-8 (macOS) or GBK (Windows)."""
    name = info.filename
    if not info.flag_bits & _NAME_IS_UTF8 and not name.isascii():
        raw = name.encode("cp437", "replace")
        for encoding in ("utf-8", "gbk"):
            try:
                name = raw.decode(encoding)
                break
            except UnicodeDecodeError:
                continue
    return name.replace("\\", "/")


def _fault(info: zipfile.ZipInfo) -> str | None:
    name = _name(info)
    if name.startswith("/") or _DRIVE.match(name) or ".." in name.split("/"):
        return "would leave the archive"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "is a link"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is not packed with deflate"
    if info.file_size > MAX_MEMBER_BYTES:
        return f"has more than {MAX_MEMBER_BYTES >> 20} MiB"
    if info.file_size > MAX_RATIO * info.compress_size:
        return f"is packed more than {MAX_RATIO} to 1"
    return None


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns


def _refused(path: Path, what: str) -> DataError:
    return DataError(f"the zip is refused: {what}; give an archive without that, or a folder", file=path)


def _damaged(path: Path, error: Exception) -> DataError:
    return DataError(f"the zip is damaged ({one_line(str(error))}); get it again", file=path)


def no_splits(path: Path, splits: Sequence[Split], suffixes: Sequence[str]) -> DataError:
    """The error to raise where there are no members."""
    folders = " or ".join(f"{split}/" for split in splits)
    files = " or ".join(suffixes)
    return DataError(
        f"no {folders} with {files} files, here or in data/; give the folder above them", file=path
    )
