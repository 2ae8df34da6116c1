"""A damaged store is moved aside, and what can be read of it fills a new one.

Killed at any moment, it goes on: the new file is filled under another name, and only a whole
one is called `.rescued`; what then remains to be renamed is renamed by whoever comes next.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from m3ke_async.carve import carve
from m3ke_async.database import SIDE_FILES, fill, open_database, remove_side_files
from m3ke_async.verified import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from m3ke_async.reply_row import Row


def mend(path: Path, copies: Callable[[], Iterable[Row]], *, is_damaged: Callable[[], bool]) -> str | None:
    """Put a new store in the place of a damaged one, which is kept beside it.

    Args:
        path: of the store; nobody in this process has it open.
        copies: replies that are kept elsewhere.
        is_damaged: whether the file there is still the damaged one, and not another process's new one.

    Returns:
        What became of it, for people; None where another process has mended it.

    Raises:
        OSError, sqlite3.Error: the folder does not take the new file.
    """
    with locked(path):
        if not is_damaged():
            return None
        building = path.with_name(f"{path.name}.new")
        building.unlink(missing_ok=True)
        remove_side_files(building)
        database = open_database(building)
        try:
            rescued = fill(database, carve(path))
            copied = fill(database, copies())
        finally:
            database.close()
        building.rename(_rescued(path))
        aside = _put_in_place(path)
        database = open_database(path)
        try:  # of another process, which wrote to the damaged file until it was moved
            rescued += fill(database, carve(aside))
        finally:
            database.close()
        return (
            f"it was moved to {aside.name}; of its replies {rescued:,} were rescued"
            + (f" and {copied:,} taken from the answers.jsonl of runs" if copied else "")
            + ", and what else it held is lost and asked again"
        )


def finish_mending(path: Path) -> None:
    """Go on where a process was killed while it mended the store."""
    if _rescued(path).exists():
        with locked(path):
            if _rescued(path).exists():
                _put_in_place(path)


def _put_in_place(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    for suffix in (*SIDE_FILES, ""):  # they belong to the damaged file, and may hold replies
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(f"{aside}{suffix}")
    _rescued(path).rename(path)
    return aside


def _rescued(path: Path) -> Path:
    return path.with_name(f"{path.name}.rescued")
