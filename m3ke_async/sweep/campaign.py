"""A sweep from its file to its end: cells, their course, and what they come to side by side."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from m3ke_async.errors import DataError, UsageError
from m3ke_async.rundir import RunDir
from m3ke_async.sweep.cells import read_sweep
from m3ke_async.sweep.course import CellCourse, CellState, course_path, read_course, write_course

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from m3ke_async.comparison import Comparison
    from m3ke_async.score import Scores

#: Seconds between two writes of the course; at the end it is written in any case.
_WRITE = 1.0
#: Runs that one page compares: all answers of all of them are in memory then.
MOST_COMPARED = 24


def run_sweep(
    file: Path,
    results: Path,
    *,
    address: str | None,
    show: Callable[[Sequence[CellCourse]], None],
    warn: Callable[[str], None],
) -> list[CellCourse]:
    """Run a sweep, or go on with it.

    Args:
        file: the sweep's.
        results: the folder of runs and store.
        address: of a Ray cluster; None is this machine.
        show: is given the cells now and then.
        warn: is told, in one line, of what the user should know.

    Raises:
        DataError: the file is not right, or names what is not there; it is told what.
        UsageError: Ray is not there, or has not what a cell needs.
    """
    from m3ke_async.sweep.check import wrong_cells
    from m3ke_async.sweep.cluster import run_cells

    results = results.resolve()
    cells = read_sweep(file, results)
    if wrong := wrong_cells(cells, here=address is None):
        for line in wrong:
            warn(line)
        raise DataError("cells cannot work as they are given, and nothing was begun; see above", file=file)
    courses, path = [CellCourse(cell.label, cell.key) for cell in cells], course_path(results, file.stem)
    written = 0.0

    def look() -> None:
        nonlocal written
        if time.monotonic() >= written + _WRITE:
            written = time.monotonic()
            with suppress(OSError):  # cells that can be kept are not stopped by it
                write_course(path, courses)
        show(courses)

    try:
        run_cells(cells, courses, results, address=address, show=look, warn=warn)
    finally:
        with suppress(OSError):  # else a full disk hides why the sweep stopped
            write_course(path, courses)
    show(courses)
    return courses


def sweep_status(file: Path, results: Path) -> tuple[list[CellCourse], list[CellCourse]]:
    """The cells of a sweep as its last command left them, or has them now.

    Returns:
        Those that the file names, which may have been added since, and those that it names no more.

    Raises:
        DataError: the sweep has not begun in this folder, or its file is not right.
    """
    left = {course.key or course.label: course for course in read_course(course_path(results, file.stem))}
    for course in left.values():
        if course.state is CellState.RUNNING:
            course.look(results)
    named: list[CellCourse] = []
    for cell in read_sweep(file, results.resolve()):
        earlier = left.pop(cell.key, None) or left.pop(cell.label, None)
        named.append(replace(earlier or CellCourse(cell.label), label=cell.label, key=cell.key))
    return named, [*left.values()]


def write_page(
    file: Path, results: Path, courses: Sequence[CellCourse], warn: Callable[[str], None]
) -> Path | None:
    """Compare the first cell with each of the others, in one page; None where there is nothing to compare.

    Args:
        file: the sweep's.
        results: the folder of runs.
        courses: of its cells.
        warn: is told of cells without answers.
    """
    from m3ke_async.reopen import read_scores
    from m3ke_async.report.compare_html import write_comparison

    found: list[CellCourse] = []
    scores: list[Scores] = []
    for course in courses:
        if course.run is None or len(found) == MOST_COMPARED:
            continue
        try:
            its_scores = read_scores(RunDir(results / course.run))
        except UsageError as error:
            warn(str(error))
            continue
        if its_scores.usage.replies:
            found.append(course)
            scores.append(its_scores)
    if len(found) < 2:
        return None
    path = results / f"{file.stem}.html"
    try:
        compared = _compare(found, results, warn)
    except UsageError:
        fitting = _like_the_first(found, results, warn)
        if len(fitting) < 2:
            return None
        found, scores = [found[number] for number in fitting], [scores[number] for number in fitting]
        try:
            compared = _compare(found, results, warn)
        except UsageError as error:
            warn(f"the cells are not compared: {error}")
            return None
    write_comparison(path, compared, scores)
    return path


def _compare(
    courses: Sequence[CellCourse], results: Path, warn: Callable[[str], None] = lambda line: None
) -> Comparison:
    """Compare cells by their labels; that they differ in what the sweep varies goes without saying."""
    from m3ke_async.compare import compare_runs

    runs = [results / str(course.run) for course in courses]
    settings = [(RunDir(run).read() or {}).get("settings", {}) for run in runs]
    varied = [name for name in settings[0] if any(one.get(name) != settings[0][name] for one in settings)]
    compared = compare_runs(*runs, results=results, force=True, varied=varied, warn=warn)
    models = (model for _, model in compared.runs)
    return replace(
        compared, runs=tuple((course.label, model) for course, model in zip(courses, models, strict=True))
    )


def _like_the_first(courses: Sequence[CellCourse], results: Path, warn: Callable[[str], None]) -> list[int]:
    """Places of those that can be compared with the first, itself included; of others it is told why not."""
    found = [0]
    for number, course in enumerate(courses[1:], 1):
        try:
            _compare([courses[0], course], results)
        except UsageError as error:
            warn(f"{course.label} is not compared with {courses[0].label}: {error}")
        else:
            found.append(number)
    return found
