from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import DataError
from m3ke_async.report.predictions import predictions
from m3ke_async.suite import Split, load_suite

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.suite import Suite

PHYSICS = "物理-Natural Sciences-College"
LAW = "Law-Social Sciences-College"
ROWS: list[dict[str, Any]] = [
    {"id": 0, "question": "甲\u2028？", "A": "一", "B": "二", "C": "三", "D": "四", "answer": ""},
    {"id": "q1", "question": "lone \ud83d half", "A": "1", "B": "2", "C": "3", "D": "4", "answer": ""},
    {"id": 2, "question": "$\\frac{1}{2}$", "A": "", "B": "", "C": "", "D": "x", "answer": "A"},
]


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    for name in (PHYSICS, LAW):
        path = tmp_path / f"suite/test/{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return load_suite(tmp_path / "suite")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def write(folder: Path, suite: Suite, letters: dict[str, dict[int | str, str | None]]) -> None:
    """Write the predictions for every task of the suite."""
    with predictions(folder, Split.TEST) as write_letters:
        for task in suite.tasks:
            write_letters(task, letters.get(task.name, {}))


def test_rows_are_the_suites_own_with_the_answer_filled_in(tmp_path: Path, suite: Suite) -> None:
    folder = tmp_path / "run" / "predictions"
    write(folder, suite, {PHYSICS: {2: "D", "q1": None, 0: "B"}})
    expected = [row | {"answer": letter} for row, letter in zip(ROWS, ("B", "", "D"), strict=True)]
    assert rows(folder / f"{PHYSICS}.jsonl") == expected
    assert [list(row) for row in rows(folder / f"{PHYSICS}.jsonl")] == [list(row) for row in ROWS]


@pytest.mark.parametrize("name", ["../out", "a/b", "/x"])
def test_no_tasks_name_is_a_path(tmp_path: Path, suite: Suite, name: str) -> None:
    task = replace(suite.tasks[0], name=name)  # files of a suite cannot be named so, but anybody can make one
    with (
        pytest.raises(DataError, match="cannot be a file name"),
        predictions(tmp_path / "run" / "predictions", Split.TEST) as write_letters,
    ):
        write_letters(task, {})
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "suite" not in path.parts]


def test_a_task_without_predictions_is_written_blank(tmp_path: Path, suite: Suite) -> None:
    write(tmp_path / "out", suite, {PHYSICS: {0: "B"}})
    assert [row["answer"] for row in rows(tmp_path / "out" / f"{LAW}.jsonl")] == ["", "", ""]


def test_predictions_can_be_read_as_a_suite_and_written_again(tmp_path: Path, suite: Suite) -> None:
    write(tmp_path / "p" / "test", suite, {LAW: {0: "C"}})
    law = next(task for task in load_suite(tmp_path / "p").tasks if task.name == LAW)
    assert [question.answer for question in law.questions(Split.TEST)] == ["C", None, None]


@pytest.mark.parametrize("id_", [9, "0"])
def test_a_prediction_for_no_question_leaves_nothing_behind(
    tmp_path: Path, suite: Suite, id_: int | str
) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(DataError):
        write(tmp_path / "run" / "predictions", suite, {PHYSICS: {0: "A", id_: "A"}})
    assert [path.name for path in (tmp_path / "run").rglob("*")] == ["predictions"]


def test_a_failure_half_way_keeps_the_files_that_were_there(tmp_path: Path, suite: Suite) -> None:
    folder = tmp_path / "run" / "predictions"
    write(folder, suite, {PHYSICS: {0: "B"}})
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(DataError):
        write(folder, suite, {suite.tasks[0].name: {0: "A"}, suite.tasks[1].name: {9: "A"}})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["predictions"]


def test_without_choices_m3kes_own_files_come_back_byte_for_byte(tmp_path: Path, shared: Path) -> None:
    suite = load_suite(shared / "M3KE")
    write(tmp_path / "out", suite, {})
    published = sorted((shared / "M3KE" / "test").glob("*.jsonl"))
    assert len(published) == 71
    for path in published:
        assert (tmp_path / "out" / path.name).read_bytes().rstrip(b"\n") == path.read_bytes().rstrip(b"\n")
