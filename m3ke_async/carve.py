"""Replies out of a damaged SQLite file, page by page, whatever is left of its tree.

SQLite finds rows through a tree of pages, and one damaged page hides all below it. Here each
page that still looks like one of the table's is read for itself, also those of the write-ahead
log. A row counts where its checksum is right, so nothing is made up. The file format is
described at https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, cast

from m3ke_async.reply_row import DamageError, Row, load_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: The first byte of the pages of a table WITHOUT ROWID, and the length of their head.
_HEADS = {0x02: 12, 0x0A: 8}
_INTERIOR = 0x02

_MAGIC, _HEADER, _FRAME_HEADER, _LOG_HEADER = b"SQLite format 3\0", 100, 24, 32
_DEFAULT_PAGE = 4096


def carve(database: Path) -> Iterator[Row]:
    """The rows of the table `replies` that can be read, in any order; a key may come more than once.

    Args:
        database: the file, which may be missing; its log, beside it with the suffix `-wal`, as well.
    """
    with ExitStack() as stack:
        files: list[IO[bytes] | None] = []
        for path in (database, database.with_name(f"{database.name}-wal")):
            try:
                files.append(stack.enter_context(path.open("rb")))
            except FileNotFoundError:
                files.append(None)
        main, log = files
        yield from _rows(main, log)


def _rows(main: IO[bytes] | None, log: IO[bytes] | None) -> Iterator[Row]:
    size, usable = _page_size(main, log)
    frames = dict(_frames(log, size)) if log is not None else {}

    def base(number: int) -> bytes:
        return b"" if main is None or number < 1 else _read(main, (number - 1) * size, size)

    def latest(number: int) -> bytes:
        at = frames.get(number)
        return base(number) if at is None or log is None else _read(log, at, size)

    pages = 0 if main is None else -(-main.seek(0, 2) // size)
    for number in range(1, pages + 1):
        yield from _page_rows(base(number), usable, base)
    for number in frames:
        yield from _page_rows(latest(number), usable, latest)


def _page_size(main: IO[bytes] | None, log: IO[bytes] | None) -> tuple[int, int]:
    """Bytes of a page, and those of them that hold content."""
    head = _read(main, 0, _HEADER) if main is not None else b""
    if head.startswith(_MAGIC):
        size = _number(head, 16, 2)
        size = 65536 if size == 1 else size
        if 512 <= size <= 65536 and not size & (size - 1):
            return size, size - head[20]
    size = _number(_read(log, 8, 4), 0, 4) if log is not None else 0
    if not 512 <= size <= 65536 or size & (size - 1):
        size = _DEFAULT_PAGE
    return size, size


def _frames(log: IO[bytes], size: int) -> Iterator[tuple[int, int]]:
    """Number and place of each page in the log, in the order they were written."""
    salts = _read(log, 16, 8)
    at = _LOG_HEADER
    while len(head := _read(log, at, _FRAME_HEADER)) == _FRAME_HEADER:
        if head[8:16] == salts:  # else it is left from before the log was begun again
            yield _number(head, 0, 4), at + _FRAME_HEADER
        at += _FRAME_HEADER + size


def _page_rows(page: bytes, usable: int, follow: Callable[[int], bytes]) -> Iterator[Row]:
    head = _HEADS.get(page[0]) if page else None
    if head is None:
        return
    for n in range(min(_number(page, 3, 2), (len(page) - head) // 2)):
        at = _number(page, head + 2 * n, 2) + (4 if page[0] == _INTERIOR else 0)
        with suppress(IndexError, UnicodeDecodeError, DamageError):
            values = _values(_payload(page, at, usable, follow))
            if len(values) == 5 and isinstance(values[0], bytes) and isinstance(values[1], bytes):
                load_reply(values[0], values[1])
                yield cast("Row", tuple(values))


def _payload(page: bytes, at: int, usable: int, follow: Callable[[int], bytes]) -> bytes:
    """The content of a cell, whose end may lie on further pages."""
    size, at = _varint(page, at)
    most, least = (usable - 12) * 64 // 255 - 23, (usable - 12) * 32 // 255 - 23
    if size <= most:
        return page[at : at + size]
    local = least + (size - least) % (usable - 4)
    local = local if local <= most else least
    parts, have, seen = [page[at : at + local]], local, set[int]()
    number = _number(page, at + local, 4)
    while have < size:
        more = follow(number)
        if number in seen or len(more) < usable:
            raise DamageError("a chain of pages is broken")
        seen.add(number)
        parts.append(more[4:usable])
        have += usable - 4
        number = _number(more, 0, 4)
    return b"".join(parts)[:size]


def _values(payload: bytes) -> list[bytes | str | None]:
    """The blobs, texts and nulls of a record; none where it holds numbers."""
    end, at = _varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: list[bytes | str | None] = []
    for kind in kinds:
        if 0 < kind < 12:
            return []
        length = max(0, (kind - 12) // 2)
        raw = payload[at : at + length]
        values.append(None if kind == 0 else raw.decode() if kind % 2 else raw)
        at += length
    return values


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9


def _number(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(data[at : at + length], "big")


def _read(file: IO[bytes], at: int, length: int) -> bytes:
    file.seek(at)
    return file.read(length)
