from __future__ import annotations

import csv
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import DataError
from m3ke_async.key import load_key
from m3ke_async.suite import Split, load_suite

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.suite import Suite

PHYSICS = "物理-Natural Sciences-College"
HISTORY = "History-Arts & Humanities-High school"


def row(number: int | str, answer: str | None, question: str = "哪一个？") -> dict[str, Any]:
    return {"id": number, "question": question, "A": "一", "B": "二", "C": "三", "D": "四", "answer": answer}


def write(path: Path, *rows: dict[str, Any], bom: bool = False, end: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(item, ensure_ascii=False) + end for item in rows)
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + text.encode())
    return path


def write_csv(path: Path, *rows: tuple[object, ...], bom: bool = False) -> Path:
    with path.open("w", encoding="utf-8-sig" if bom else "utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    folder = tmp_path / "suite"
    for name in (PHYSICS, HISTORY):
        write(folder / f"test/{name}.jsonl", row(0, ""), row(1, "", "另一个？"), row("q2", ""))
        write(folder / f"dev/{name}.jsonl", row(0, "A", "例子？"))
    return load_suite(folder)


# JSON lines and CSV


def test_a_jsonl_key_gives_letters_by_task_and_the_suites_own_id(tmp_path: Path, suite: Suite) -> None:
    path = write(
        tmp_path / "key.jsonl",
        {"task": PHYSICS, "id": 0, "answer": "B"},
        {"task": PHYSICS, "id": "1", "answer": "C"},
        {"task": HISTORY, "id": "q2", "answer": "D"},
    )
    assert load_key(path, suite, Split.TEST) == {(PHYSICS, 0): "B", (PHYSICS, 1): "C", (HISTORY, "q2"): "D"}


def test_a_csv_key_gives_the_same(tmp_path: Path, suite: Suite) -> None:
    rows = [("task", "id", "answer"), (PHYSICS, 0, "B"), (HISTORY, "q2", "D"), (), (PHYSICS, 1, "")]
    path = write_csv(tmp_path / "key.csv", *rows)
    assert load_key(path, suite, Split.TEST) == {(PHYSICS, 0): "B", (HISTORY, "q2"): "D"}


def test_headers_in_any_case_and_order_with_bom_and_more_columns(tmp_path: Path, suite: Suite) -> None:
    path = write_csv(
        tmp_path / "key.CSV", ("Answer", " ID", "note", "TASK"), ("A", "1", "x", PHYSICS), bom=True
    )
    assert load_key(path, suite, Split.TEST) == {(PHYSICS, 1): "A"}
    path = write(
        tmp_path / "key.jsonl", {"Task": PHYSICS, "ID": 1, "Answer": "A", "note": 1}, bom=True, end="\r\n\r\n"
    )
    assert load_key(path, suite, Split.TEST) == {(PHYSICS, 1): "A"}


@pytest.mark.parametrize("letter", ["b", " B ", "Ｂ", "ｂ"])
def test_letters_are_read_in_any_case_and_width(tmp_path: Path, suite: Suite, letter: str) -> None:
    path = write(tmp_path / "key.jsonl", {"task": PHYSICS, "id": 0, "answer": letter})
    assert load_key(path, suite, Split.TEST) == {(PHYSICS, 0): "B"}


@pytest.mark.parametrize(
    "name",
    ["History-Arts & Humanities-High schoo", "history-ARTS & HUMANITIES-high school", f" {HISTORY}.jsonl"],
)
def test_tasks_are_known_in_their_other_spellings(tmp_path: Path, suite: Suite, name: str) -> None:
    path = write(tmp_path / "key.jsonl", {"task": name, "id": 0, "answer": "B"})
    assert load_key(path, suite, Split.TEST) == {(HISTORY, 0): "B"}


@pytest.mark.parametrize("letter", ["E", "AB", "?", "对"])
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_any_other_letter_is_refused_with_line_and_field(
    tmp_path: Path, suite: Suite, form: str, letter: str
) -> None:
    if form == "csv":
        path = write_csv(
            tmp_path / "key.csv", ("task", "id", "answer"), (PHYSICS, 0, "A"), (PHYSICS, 1, letter)
        )
        line = 3
    else:
        good, bad = (
            {"task": PHYSICS, "id": number, "answer": text} for number, text in ((0, "A"), (1, letter))
        )
        path = write(tmp_path / "key.jsonl", good, bad)
        line = 2
    with pytest.raises(DataError) as caught:
        load_key(path, suite, Split.TEST)
    assert (caught.value.line, caught.value.field) == (line, "answer")
    assert repr(letter) in str(caught.value)


def test_two_answers_to_one_question_are_refused_with_the_line(tmp_path: Path, suite: Suite) -> None:
    path = write(
        tmp_path / "key.jsonl",
        {"task": PHYSICS, "id": 0, "answer": "A"},
        {"task": PHYSICS, "id": "0", "answer": "B"},
    )
    with pytest.raises(DataError, match=r"line 2: a second answer to id 0 of 物理.*B after A"):
        load_key(path, suite, Split.TEST)


def test_the_same_answer_twice_is_no_conflict(tmp_path: Path, suite: Suite) -> None:
    item = {"task": PHYSICS, "id": 0, "answer": "A"}
    assert load_key(write(tmp_path / "key.jsonl", item, item), suite, Split.TEST) == {(PHYSICS, 0): "A"}


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"id": 0, "answer": "A"}, "line 1, field 'task': is missing"),
        ({"task": PHYSICS, "answer": "A"}, "line 1, field 'id': is missing"),
        ({"task": PHYSICS, "id": 0}, "line 1, field 'answer': is missing"),
        ({"task": PHYSICS, "id": 1.5, "answer": "A"}, "line 1, field 'id': cannot be 1.5"),
        ({"task": PHYSICS, "id": True, "answer": "A"}, "line 1, field 'id': cannot be True"),
        ({"task": PHYSICS, "id": 0, "answer": 1}, "line 1, field 'answer': cannot be 1"),
        ({"task": None, "id": 0, "answer": "A"}, "line 1, field 'task': cannot be None"),
    ],
)
def test_a_missing_or_wrong_field_is_named(
    tmp_path: Path, suite: Suite, item: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        load_key(write(tmp_path / "key.jsonl", item), suite, Split.TEST)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("key.jsonl", b'{"task": ', "line 1: is not JSON"),
        ("key.jsonl", b"[1]\n", "line 1: is not a JSON object"),
        ("key.csv", b"task,id\nx,1\n", "line 1, field 'answer': is missing in the header"),
        ("key.csv", b"", "line 1, field 'task': is missing in the header"),
        ("key.csv", b"task,id,answer\n" + PHYSICS.encode() + b",1\n", "line 2, field 'answer': is missing"),
        ("key.csv", b"task,id,answer\n" + PHYSICS.encode("gbk") + b",1,A\n", "is not UTF-8"),
        ("key.csv", b"task,id,answer\n" + b"x" * 200_000 + b",1,A\n", "is not CSV"),
        ("key.txt", b"A\nB\n", "neither a folder nor a zip"),
    ],
)
def test_a_file_that_is_no_key_is_one_clear_line(
    tmp_path: Path, suite: Suite, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        load_key(path, suite, Split.TEST)
    assert "\n" not in str(caught.value)


def test_a_key_for_other_questions_is_refused(tmp_path: Path, suite: Suite) -> None:
    path = write(tmp_path / "key.jsonl", {"task": PHYSICS, "id": 99, "answer": "A"})
    with pytest.raises(DataError, match="answers none of the 6 test questions"):
        load_key(path, suite, Split.TEST)


def test_a_key_without_answers_is_refused(tmp_path: Path, suite: Suite) -> None:
    path = write(tmp_path / "key.jsonl", {"task": PHYSICS, "id": 0, "answer": None})
    with pytest.raises(DataError, match="answers none"):
        load_key(path, suite, Split.TEST)


def test_a_key_may_cover_more_than_the_run(tmp_path: Path, suite: Suite) -> None:
    items = [
        {"task": name, "id": 0, "answer": "A"} for name in (PHYSICS, HISTORY, "Law-Social Sciences-College")
    ]
    part = suite.select("物理")
    assert load_key(write(tmp_path / "key.jsonl", *items), part, Split.TEST) == {(PHYSICS, 0): "A"}


def test_an_answer_against_the_suites_own_is_refused(tmp_path: Path, suite: Suite) -> None:
    same = write(tmp_path / "same.jsonl", {"task": PHYSICS, "id": 0, "answer": "A"})
    assert load_key(same, suite, Split.DEV) == {(PHYSICS, 0): "A"}
    other = write(tmp_path / "other.jsonl", {"task": PHYSICS, "id": 0, "answer": "B"})
    with pytest.raises(DataError, match=r"says B to id 0 of 物理.*the suite itself A"):
        load_key(other, suite, Split.DEV)


def test_a_path_that_is_not_there_is_said(tmp_path: Path, suite: Suite) -> None:
    with pytest.raises(DataError, match="no such answer key"):
        load_key(tmp_path / "key.csv", suite, Split.TEST)


# M3KE's own layout


def keyed(root: Path, question: str = "另一个？") -> Path:
    write(root / f"test/{PHYSICS}.jsonl", row("0", "b"), row(1, "C", question), row("q2", ""))
    return root


EXPECTED = {(PHYSICS, 0): "B", (PHYSICS, 1): "C"}


@pytest.mark.parametrize("given", [".", "data", "test", "data/test"])
def test_a_folder_in_m3kes_layout_is_a_key(tmp_path: Path, suite: Suite, given: str) -> None:
    keyed(tmp_path / "key" / "data" if given.startswith("data") else tmp_path / "key")
    assert load_key(tmp_path / "key" / given, suite, Split.TEST) == EXPECTED


def test_the_folder_above_data_is_a_key_too(tmp_path: Path, suite: Suite) -> None:
    keyed(tmp_path / "key" / "data")
    assert load_key(tmp_path / "key", suite, Split.TEST) == EXPECTED


def test_a_zip_in_m3kes_layout_is_a_key(tmp_path: Path, suite: Suite) -> None:
    source = keyed(tmp_path / "key")
    with zipfile.ZipFile(tmp_path / "key.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in source.rglob("*.jsonl"):
            archive.write(file, file.relative_to(source).as_posix())
    assert load_key(tmp_path / "key.zip", suite, Split.TEST) == EXPECTED


def test_a_folder_of_the_other_split_is_refused(tmp_path: Path, suite: Suite) -> None:
    with pytest.raises(DataError, match="a key to dev, and the run asked test"):
        load_key(suite.path / "dev", suite, Split.TEST)


def test_a_folder_whose_answers_are_blank_is_refused(suite: Suite) -> None:
    with pytest.raises(DataError, match="answers none"):
        load_key(suite.path, suite, Split.TEST)


def test_another_question_under_the_same_id_is_refused(tmp_path: Path, suite: Suite) -> None:
    with pytest.raises(DataError, match=r"id 1 of 物理.* is another question"):
        load_key(keyed(tmp_path / "key", question="又一个？"), suite, Split.TEST)


def test_other_white_space_and_width_is_the_same_question(tmp_path: Path, suite: Suite) -> None:
    assert load_key(keyed(tmp_path / "key", question=" 另 一个?"), suite, Split.TEST) == EXPECTED


def test_m3kes_own_dev_folder_answers_all_its_questions(shared: Path) -> None:
    suite = load_suite(shared / "M3KE")
    assert len(load_key(shared / "M3KE", suite, Split.DEV)) == 355
    with pytest.raises(DataError, match="answers none of the 20,122 test questions"):
        load_key(shared / "M3KE", suite, Split.TEST)
