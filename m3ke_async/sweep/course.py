"""How far a sweep is: a small file with its cells, beside their runs, which say the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.errors import DataError, UsageError
from m3ke_async.files import write_json
from m3ke_async.listing import Standing, State, standing
from m3ke_async.rundir import RunDir
from m3ke_async.verified import is_claimed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_VERSION = 1


class CellState(StrEnum):
    """How a cell is."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    INTERRUPTED = "interrupted"  # its command was ended, and nobody is at work on its run


#: What the state of its run says of a cell.
_STATES = {
    State.RUNNING: CellState.RUNNING,
    State.COMPLETE: CellState.COMPLETE,
    State.INCOMPLETE: CellState.INCOMPLETE,
    State.STOPPED: CellState.INCOMPLETE,
    State.INTERRUPTED: CellState.INTERRUPTED,
}


@dataclass(slots=True)
class CellCourse:
    """How far a cell is.

    Attributes:
        label: of the cell.
        key: of the cell; '' where an older version wrote it.
        run: name of its folder; None until it has one.
        state: how it is.
        trouble: why it is incomplete, in one line.
    """

    label: str
    key: str = ""
    run: str | None = None
    state: CellState = CellState.WAITING
    trouble: str | None = None

    def to_json(self, results: Path) -> dict[str, Any]:
        """For `--json`."""
        found = self.standing(results)
        return asdict(self) | {"standing": found and found.to_json()}

    def look(self, results: Path) -> None:
        """Whether a cell that is said to run still does: its command may have been killed since."""
        if self.run is None or is_claimed(results / self.run):
            return
        found = self.standing(results)
        self.state = CellState.INTERRUPTED if found is None else _STATES[found.state]

    def standing(self, results: Path) -> Standing | None:
        """How far its run is; None where there is none yet."""
        if self.run is None:
            return None
        try:
            return standing(RunDir(results / self.run))
        except UsageError:
            return None


def course_path(results: Path, name: str) -> Path:
    """The file of a sweep."""
    return results / f"{name}.sweep.json"


def write_course(path: Path, cells: Sequence[CellCourse]) -> None:
    """Write it, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"version": _VERSION, "cells": [asdict(cell) for cell in cells]})


def read_course(path: Path) -> list[CellCourse]:
    """Read it.

    Raises:
        DataError: it is not there, or damaged.
    """
    try:
        table: Any = orjson.loads(path.read_bytes())
        if table["version"] != _VERSION:
            raise DataError("is of another version of m3ke-async; run the sweep again", file=path)
        return [_read_cell(row) for row in table["cells"]]
    except FileNotFoundError:
        raise DataError(
            "is not there: the sweep has not begun here; begin it by m3ke sweep FILE, or give --results",
            file=path,
        ) from None
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"is damaged ({error}); run the sweep again", file=path) from None


def _read_cell(row: Any) -> CellCourse:
    cell = CellCourse(**{**row, "state": CellState(row["state"])})
    if not (
        all(isinstance(text, str) for text in (cell.label, cell.key))
        and all(isinstance(text, str | None) for text in (cell.run, cell.trouble))
    ):
        raise TypeError("a field is of another kind")
    return cell
