"""How far a sweep is, also where its command was killed, and what its cells come to side by side."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import DataError, ExitCode
from m3ke_async.rundir import RunDir
from m3ke_async.sweep.campaign import sweep_status, write_page
from m3ke_async.sweep.cells import read_sweep
from m3ke_async.sweep.course import CellCourse, CellState, course_path, write_course
from m3ke_async.verified import claimed
from tests.asking import ask
from tests.command import m3ke
from tests.questions import write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server import Server


async def test_a_cell_runs_as_long_as_somebody_is_at_work_on_its_run(server: Server, tmp_path: Path) -> None:
    results, file = tmp_path / "results", tmp_path / "mine.toml"
    suite = write_suite(tmp_path / "suite", 1, 4)
    whole = (await ask(suite, server.url, results)).path
    (begun := results / "begun").mkdir()
    file.write_text('[[grid]]\nmodel = ["vllm/a", "vllm/b", "vllm/c"]', encoding="utf-8")
    waits, *others = (CellCourse(cell.label, cell.key) for cell in read_sweep(file, results))
    for course, run in zip(others, (whole, begun), strict=True):
        course.run, course.state = run.name, CellState.RUNNING
    write_course(course_path(results, file.stem), [waits, *others])
    with claimed(begun):
        assert states(file, results) == ["waiting", "complete", "running"]
    assert states(file, results) == ["waiting", "complete", "interrupted"]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"version": 1, "cells": [1]}',
        '{"version": 1, "cells": [{"label": 5, "state": "waiting"}]}',
        '{"version": 1, "cells": [{"label": "a", "state": "waiting", "trouble": ["x"]}]}',
        '{"version": 1, "cells": [{"label": "a", "state": "lost"}]}',
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    course_path(tmp_path, "mine").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"mine.sweep.json: is damaged .*; run the sweep again"):
        sweep_status(tmp_path / "mine.toml", tmp_path)


def states(file: Path, results: Path) -> list[str]:
    return [cell.state for cell in sweep_status(file, results)[0]]


@pytest.mark.parametrize(
    ("now", "cells", "gone"),
    [
        ('model = ["vllm/a", "vllm/b"]', ["vllm/a complete", "vllm/b complete"], []),
        ('model = ["vllm/b", "vllm/a"]', ["vllm/b complete", "vllm/a complete"], []),
        ('model = ["vllm/a", "vllm/c"]', ["vllm/a complete", "vllm/c waiting"], ["vllm/b"]),
        (
            'model = ["vllm/a", "vllm/b"]\nshots = 5',
            ["vllm/a waiting", "vllm/b waiting"],
            ["vllm/a", "vllm/b"],
        ),
        (
            'model = "vllm/a"\nshots = [0, 5]',
            ["vllm/a shots=0 complete", "vllm/a shots=5 waiting"],
            ["vllm/b"],
        ),
        ('model = ["vllm/a", "vllm/b"]\nrpm = 60', ["vllm/a complete", "vllm/b complete"], []),
    ],
)
def test_the_status_is_of_the_file_as_it_is_now(
    tmp_path: Path, now: str, cells: list[str], gone: list[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[[grid]]\nmodel = ["vllm/a", "vllm/b"]', encoding="utf-8")
    courses = [
        CellCourse(cell.label, cell.key, state=CellState.COMPLETE) for cell in read_sweep(file, tmp_path)
    ]
    write_course(course_path(tmp_path, file.stem), courses)
    file.write_text(f"[[grid]]\n{now}", encoding="utf-8")
    ran = m3ke("sweep", "status", file, "--results", tmp_path, "--json")
    assert [f"{cell['label']} {cell['state']}" for cell in ran.json] == cells
    assert ran.code == (ExitCode.INCOMPLETE if "waiting" in str(cells) else ExitCode.COMPLETE)
    told = f"m3ke: {', '.join(gone)}: in {file} no more; what it asked is kept\n" if gone else ""
    assert ran.err == told


def test_the_course_of_an_older_version_is_known_by_its_labels(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[[grid]]\nmodel = ["vllm/a", "vllm/b"]', encoding="utf-8")
    text = '{"version": 1, "cells": [{"label": "vllm/a", "run": null, "state": "complete", "trouble": null}]}'
    course_path(tmp_path, file.stem).write_text(text, encoding="utf-8")
    assert states(file, tmp_path) == ["complete", "waiting"]


async def test_a_cell_of_other_questions_is_left_out_of_the_page_and_told(
    server: Server, tmp_path: Path
) -> None:
    results, suite = tmp_path / "results", write_suite(tmp_path / "suite", 1, 4)
    write_suite(suite, 1, 4, split="test")
    runs = [
        (await ask(suite, server.url, results, **options)).path.name
        for options in ({}, {"split": "test"}, {"shots": 1})
    ]
    courses = [
        CellCourse(f"cell {number}", run=run, state=CellState.COMPLETE) for number, run in enumerate(runs, 1)
    ]
    told: list[str] = []
    page = write_page(tmp_path / "mine.toml", results, courses, told.append)
    assert page == results / "mine.html"
    assert [name for name, _ in shown(page)] == ["cell 1", "cell 3"]
    (line,) = told
    assert line.startswith("cell 2 is not compared with cell 1: the runs differ in split (dev, test)")


async def test_what_the_sweep_varies_is_no_reproach_and_all_else_is(server: Server, tmp_path: Path) -> None:
    results, suite = tmp_path / "results", write_suite(tmp_path / "suite", 2, 4)
    cells: list[dict[str, Any]] = [
        {}, {"shots": 1}, {"template": "m3ke-en/1"}, {"tasks": ("Task0*",)}, {"temperature": 0.5},
    ]  # fmt: skip
    runs = [(await ask(suite, server.url, results, **options)).path.name for options in cells]
    courses = [CellCourse(str(number), run=run, state=CellState.COMPLETE) for number, run in enumerate(runs)]
    page = write_page(tmp_path / "mine.toml", results, courses, pytest.fail)
    assert page is not None
    content = comparison(page)
    assert (content["unlike"], content["notes"]) == ([], [])
    directory = RunDir(results / runs[0])
    record = directory.read()
    assert record is not None
    changed = record["identity"] | {"suite": "another", "system": "You are another."}
    directory.write(record | {"identity": changed, "settings": record["settings"] | {"tasks": ()}})
    write_page(tmp_path / "mine.toml", results, courses[:2], pytest.fail)
    content = comparison(page)
    assert content["unlike"] == ["suite or tasks (run 2 not as run 1)"]
    assert content["notes"] == ["system (You are another., None)"]


def comparison(page: Path) -> Any:
    found = re.search(r'<script[^>]* id="summary"[^>]*>(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found[1])["comparison"]


def shown(page: Path) -> list[tuple[str, str]]:
    return [(run["name"], run["model"]) for run in comparison(page)["runs"]]
