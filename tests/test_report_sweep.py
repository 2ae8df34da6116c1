"""How far a sweep is, for people who read a file of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.report.sweep import shown
from m3ke_async.sweep.course import CellCourse, CellState
from tests.comparing import ARTS, write_run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from m3ke_async.rundir import RunDir


def test_lines_come_while_cells_run_and_not_too_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path, "one", [(ARTS, "A", "A")])
    courses = [CellCourse("first", run="one", state=CellState.RUNNING), CellCourse("second")]
    seconds = 0.0
    with shown(tmp_path, quiet=False, now=lambda: seconds) as show:
        for seconds, done in (
            (0, 0),
            (1, 5),
            (2, 5),
            (4, 9),
            (6, 10),
            (20, 10),
            (35, 10),
            (36, 10),
            (37, 10),
        ):
            _has(run, done)
            if seconds == 37:
                courses[0].state = CellState.COMPLETE
            show(courses)
    assert capsys.readouterr().err.splitlines() == [
        "0 of 2 cells · 1 running · first: 0 of 100",  # the beginning
        "0 of 2 cells · 1 running · first: 5 of 100",  # a twentieth more, after a moment
        "0 of 2 cells · 1 running · first: 10 of 100",
        "0 of 2 cells · 1 running · first: 10 of 100",  # long silent
        "1 of 2 cells",  # a cell has ended
    ]


def _has(run: RunDir, done: int) -> None:
    record = run.read()
    assert record is not None
    run.write(record | {"counts": {"total": 100, "answered": done}})
