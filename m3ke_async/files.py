"""Files written whole: a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import os
from contextlib import contextmanager
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


def write_json(path: Path, value: Any) -> None:
    """Write readable JSON, whole."""
    with whole_file(path) as file:
        file.write(
            orjson.dumps(escape_surrogates(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
