"""TOML files that users write: a byte order mark is no error, everything else says where it is."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


def load_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file in UTF-8.

    Raises:
        DataError: it cannot be read, is not UTF-8 (names the byte), or not TOML (names the line).
    """
    try:
        raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from None
    try:
        return tomllib.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}; save it as UTF-8", file=path) from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not valid TOML: {error}", file=path) from None
