"""Files written whole: a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from m3ke_async.text import escape_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A binary file to write; it takes the place of `path` when the block ends without an error."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())  # mkstemp's 0600 would hide results from others
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: Path, value: Any) -> None:
    """Write readable JSON, whole."""
    with whole_file(path) as file:
        file.write(
            orjson.dumps(escape_surrogates(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
