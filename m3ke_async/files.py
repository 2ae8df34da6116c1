"""Files written whole: a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import IO, TYPE_CHECKING, Any

import orjson

from m3ke_async.text import escape_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def whole_file(path: Path, *, durable: bool = True) -> Iterator[IO[bytes]]:
    """A binary file to write; it takes the place of `path` when the block ends without an error.

    Args:
        path: of the file.
        durable: whether to wait until it is on the disk, so that a power cut does not take it.
    """
    # not tempfile's, whose files nobody else may read, whatever the user lets others read
    temporary = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: a file whose name a power cut takes is gone."""
    if os.name == "nt":
        return  # it opens no folders, and keeps names by a journal
    with suppress(OSError):  # not every file system does that
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write readable JSON, whole."""
    with whole_file(path) as file:
        file.write(
            orjson.dumps(escape_surrogates(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
