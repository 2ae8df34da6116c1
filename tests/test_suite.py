from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.errors import DataError, UsageError
from m3ke_async.manifest import load_manifest
from m3ke_async.suite import POOL_SIZE, Cluster, Level, Question, Split, Suite, load_suite, sample_suite_path
from tests import small_suite

if TYPE_CHECKING:
    from collections.abc import Iterable

TASK = "Cooking-Other-Other"


def row(id_: object = 0, **fields: object) -> dict[str, Any]:
    """A whole row, with the given fields in place of its own."""
    base = {"id": id_, "question": "水的沸点是？", "A": "0", "B": "50", "C": "100", "D": "200", "answer": "C"}
    return base | fields


def jsonl(rows: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in rows)


def write(folder: Path, name: str, content: bytes | Iterable[dict[str, Any]]) -> Path:
    """Put one file, such as `dev/<task>`, into a suite's folder and return the folder."""
    file = folder / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else jsonl(content))
    return folder


def questions(suite: Suite, split: Split = Split.TEST) -> list[Question]:
    return [question for task in suite.tasks for question in task.questions(split)]


def refusal(folder: Path, content: bytes) -> DataError:
    with pytest.raises(DataError) as caught:
        load_suite(write(folder, f"test/{TASK}", content))
    assert "\n" not in str(caught.value)
    assert f"{TASK}.jsonl" in str(caught.value)
    return caught.value


# What is read


def test_a_suite_says_what_its_files_hold(tmp_path: Path) -> None:
    write(tmp_path, f"dev/{TASK}", [row(0)])
    write(tmp_path, f"test/{TASK}", [row(5, answer=""), row("six", answer="A")])
    write(tmp_path, "test/Algebra-Natural Sciences-High school", [row(0)])
    suite = load_suite(tmp_path)
    algebra, cooking = suite.tasks
    assert (algebra.subject, algebra.cluster, algebra.level) == ("Algebra", Cluster.NATURAL, Level.SENIOR)
    assert cooking.name == TASK
    assert cooking.sizes == {Split.DEV: 1, Split.TEST: 2}
    assert cooking.labelled == {Split.DEV: 1, Split.TEST: 1}
    assert (suite.size(Split.TEST), suite.labelled(Split.TEST), suite.size(Split.DEV)) == (3, 2, 1)
    assert list(cooking.questions(Split.TEST)) == [
        Question(5, "水的沸点是？", ("0", "50", "100", "200"), None),
        Question("six", "水的沸点是？", ("0", "50", "100", "200"), "A"),
    ]
    assert next(cooking.questions(Split.DEV)).option_map == {"A": "0", "B": "50", "C": "100", "D": "200"}


def test_the_splits_may_lie_in_data(tmp_path: Path) -> None:
    write(tmp_path, f"data/test/{TASK}", [row()])
    assert load_suite(str(tmp_path)).size(Split.TEST) == 1


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write(tmp_path / "suite", f"test/{TASK}", [row()])
    assert load_suite("~/suite").path == tmp_path / "suite"
    with pytest.raises(DataError, match="no such folder"):
        load_suite("~nobody-of-this-name/suite")


def test_other_files_are_ignored(tmp_path: Path) -> None:
    write(tmp_path, f"test/{TASK}", [row()])
    for junk in (".DS_Store", ".hidden-Other-Other.jsonl", "README.md", "subject_cluster.mapping.json"):
        (tmp_path / "test" / junk).write_bytes(b"\xff junk")
    (tmp_path / "test" / "Folder-Other-Other.jsonl").mkdir()
    assert [task.name for task in load_suite(tmp_path).tasks] == [TASK]


@pytest.mark.parametrize(
    "text", ["a\u2028b\u2029c\x85d\x1ce\x0bf", " 　 ", "", "\ufeff题", "①𠮷😀\ufffd", "A\r\nB\tC\0"]
)
def test_texts_are_kept_as_they_are(tmp_path: Path, text: str) -> None:
    suite = load_suite(write(tmp_path, f"test/{TASK}", [row(question=text, D=text)]))
    assert questions(suite) == [Question(0, text, ("0", "50", "100", text), "C")]


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: b"\xef\xbb\xbf" + plain,
        lambda plain: plain.replace(b"\n", b"\r\n"),
        lambda plain: b"\n  \r\n" + plain.replace(b"\n", b"\n\n\t\n"),
        lambda plain: plain.rstrip(b"\n"),
    ],
    ids=["byte order mark", "CRLF", "blank lines", "no last line end"],
)
def test_the_form_of_the_file_changes_neither_rows_nor_fingerprint(tmp_path: Path, change: Any) -> None:
    rows = [row(0), row(1, question="\u2028")]
    plain = load_suite(write(tmp_path / "plain", f"test/{TASK}", rows))
    other = load_suite(write(tmp_path / "other", f"test/{TASK}", change(jsonl(rows))))
    assert questions(other) == questions(plain)
    assert other.fingerprint == plain.fingerprint


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
IDS = st.integers(-(2**63), 2**64 - 1) | st.text("0aé题", min_size=1)


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT, ANY_TEXT), max_size=4),
    ids=st.lists(IDS, unique_by=str, min_size=4, max_size=4),
    answer=st.sampled_from([None, "A", "D"]),
    crlf=st.booleans(),
)
def test_any_row_comes_back_as_it_was_written(
    texts: list[tuple[str, str, str, str, str]], ids: list[int | str], answer: str | None, crlf: bool
) -> None:
    wanted = [
        Question(id_, question, (a, b, c, d), answer)
        for id_, (question, a, b, c, d) in zip(ids, texts, strict=False)
    ]
    end = "\r\n" if crlf else "\n"
    lines = (
        json.dumps({"id": one.id, "question": one.question, **one.option_map, "answer": one.answer}) + end
        for one in wanted
    )
    with tempfile.TemporaryDirectory() as folder:
        suite = load_suite(write(Path(folder), f"test/{TASK}", "".join(lines).encode()))
        assert questions(suite) == wanted


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        (" B ", "B"),
        ("Ｂ", "B"),
        ("\u3000ｂ\n", "B"),
        ("", None),
        (" \t", None),
        (None, None),
    ],
)
def test_an_answer_is_a_letter_or_unknown(tmp_path: Path, answer: object, letter: str | None) -> None:
    suite = load_suite(write(tmp_path, f"test/{TASK}", [row(answer=answer)]))
    assert [question.answer for question in questions(suite)] == [letter]
    assert suite.labelled(Split.TEST) == (letter is not None)


def test_a_row_without_answer_is_unlabelled(tmp_path: Path) -> None:
    bare = row()
    del bare["answer"]
    assert load_suite(write(tmp_path, f"test/{TASK}", [bare])).labelled(Split.TEST) == 0


def test_json_that_only_the_standard_module_reads_is_read(tmp_path: Path) -> None:
    lines = (
        b'{"id": 1, "question": "\\ud83d", "A": "", "B": "", "C": "", "D": "", "answer": "", "score": NaN}\n'
    )
    (first,) = questions(load_suite(write(tmp_path, f"test/{TASK}", lines)))
    assert first.question == "\ud83d"


def test_an_id_that_no_result_file_could_hold_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    error = refusal(tmp_path, jsonl([row(1), row(10**30)]))
    assert (error.line, error.field) == (2, "id")
    assert "beyond 64 bits" in str(error)


# What is refused


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in row(1).items() if key != name}


BAD_ANSWERS: list[object] = ["E", "AB", "A,B", "1", 1, ["A"], 0, {}]
BAD_ROWS: list[tuple[dict[str, Any], str, str]] = [
    *[(without(name), name, "is missing") for name in ("id", "question", "A", "B", "C", "D")],
    (row(1, question=None), "question", "must be a text, not None"),
    (row(1, A=1), "A", "must be a text, not 1"),
    (row(1, D=["x"]), "D", "must be a text"),
    (row(None), "id", "must be a whole number or a text"),
    (row(True), "id", "must be a whole number or a text, not True"),
    (row(1.0), "id", "must be a whole number or a text, not 1.0"),
    (row(" "), "id", "must be a whole number or a text"),
    (row([1]), "id", "must be a whole number or a text"),
    *[(row(1, answer=bad), "answer", "must be one of A, B, C, D") for bad in BAD_ANSWERS],
]


@pytest.mark.parametrize(("bad", "field", "message"), BAD_ROWS)
def test_a_bad_field_is_named_with_file_and_line(
    tmp_path: Path, bad: dict[str, Any], field: str, message: str
) -> None:
    error = refusal(tmp_path, jsonl([row(0)]) + b"\n" + jsonl([bad]))
    assert (error.line, error.field) == (3, field)
    assert message in str(error)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": 1, "question": "x"', "is not JSON"),
        (b"{'id': 1}", "is not JSON"),
        (b"{} {}", "is not JSON"),
        (b"[1, 2]", "is not a JSON object"),
        (b'"text"', "is not a JSON object"),
        (b"NaN", "is not a JSON object"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"id": ' + b"9" * 10_000 + b"}", "is not JSON that can be read"),
    ],
)
def test_broken_json_is_named_with_file_and_line(tmp_path: Path, line: bytes, message: str) -> None:
    error = refusal(tmp_path, jsonl([row(0)]) + line + b"\n")
    assert error.line == 2
    assert message in str(error)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (jsonl([row()]).decode().encode("utf-16"), 1, "byte 0 (0xff) begins a UTF-16 file"),
        (b"\xfe\xff" + jsonl([row()]).decode().encode("utf-16-be"), 1, "byte 0 (0xfe) begins a UTF-16 file"),
        (jsonl([row()]).decode().encode("utf-16-le"), 1, "byte 1 is 0, as in a UTF-16 file"),
        (b"\xef\xbb\xbf" + jsonl([row()]).decode().encode("gbk"), 1, "byte 28 (0xb5) is not UTF-8"),
        (b'{"id": 7}\n'.replace(b"7", b"\xb5"), 1, "byte 7 (0xb5) is not UTF-8"),
    ],
    ids=["UTF-16", "UTF-16 BE", "UTF-16 without mark", "GBK", "one byte"],
)
def test_another_encoding_is_refused_with_the_byte(
    tmp_path: Path, content: bytes, line: int, message: str
) -> None:
    error = refusal(tmp_path, content)
    assert error.line == line
    assert message in str(error)


def test_the_byte_is_counted_from_the_start_of_the_file(tmp_path: Path) -> None:
    good = jsonl([row()])
    assert f"byte {len(good) + 1} (0xff)" in str(refusal(tmp_path, good + b'"\xff"\n'))


@pytest.mark.parametrize("ids", [[3, 1, 3], [0, 1, 1], ["x", "y", "x"], [1, 2, "1"], [2, 1, 1]])
def test_a_repeated_id_is_named_with_both_lines(tmp_path: Path, ids: list[int | str]) -> None:
    error = refusal(tmp_path, jsonl(row(id_) for id_ in ids))
    first = [str(id_) for id_ in ids].index(str(ids[2]))
    assert (error.line, error.field) == (3, "id")
    assert f"{str(ids[2])!r} is the id of line {first + 1} too" in str(error)


@pytest.mark.parametrize(
    "ids", [[0, 1, 2], [5, 3, 4], [-2, -1, 0], ["b", "a", 1], [1, "01", "1.0"], [2**64 - 1, 2**63, 0]]
)
def test_ids_need_no_order(tmp_path: Path, ids: list[int | str]) -> None:
    suite = load_suite(write(tmp_path, f"test/{TASK}", [row(id_) for id_ in ids]))
    assert [question.id for question in questions(suite)] == ids


def test_the_same_id_may_stand_in_another_file(tmp_path: Path) -> None:
    write(tmp_path, f"dev/{TASK}", [row(0)])
    assert load_suite(write(tmp_path, f"test/{TASK}", [row(0)])).size(Split.TEST) == 1


@pytest.mark.parametrize(
    "prepare", [lambda path: None, lambda path: path.mkdir(), lambda path: (path / "dev").mkdir(parents=True)]
)
def test_a_place_without_files_is_refused(tmp_path: Path, prepare: Any) -> None:
    prepare(tmp_path / "place")
    with pytest.raises(DataError, match=r"no such folder or zip|no dev/ or test/ with"):
        load_suite(tmp_path / "place")


@pytest.mark.parametrize("other", ["Cooking－Others－Other", "Ｃooking-Other-Other", "cooking-other-OTHER"])
def test_one_task_twice_is_refused(tmp_path: Path, other: str) -> None:
    write(tmp_path, f"test/{TASK}", [row()])
    if not (tmp_path / "test" / f"{other}.jsonl").exists():  # on disks that tell case apart
        write(tmp_path, f"test/{other}", [row()])
        with pytest.raises(DataError, match=r"is the same task as .*; keep one of them"):
            load_suite(tmp_path)


def test_a_name_of_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Cooking\.jsonl: .*not <subject>-<cluster>-<level>"):
        load_suite(write(tmp_path, "test/Cooking", [row()]))


WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def test_a_published_name_in_full_width_is_the_published_task(tmp_path: Path) -> None:
    name = "Fine Arts-Arts & Humanities-Other"
    suite = load_suite(write(tmp_path, f"test/{name.translate(WIDE)}", [row()]))
    assert [task.name for task in suite.tasks] == [name]


# What is there, and what is not


def test_a_split_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    write(tmp_path, "test/Algebra-Natural Sciences-College", [row()])
    algebra_only = load_suite(tmp_path)
    suite = load_suite(write(tmp_path, f"dev/{TASK}", [row()]))
    algebra, cooking = suite.tasks
    assert (suite.size(Split.DEV), suite.size(Split.TEST)) == (1, 1)
    with pytest.raises(UsageError, match="has no test split"):
        cooking.questions(Split.TEST)
    with pytest.raises(UsageError, match="has no dev split"):
        _ = algebra.dev
    with pytest.raises(UsageError, match="has no dev split"):
        algebra_only.size(Split.DEV)
    with pytest.raises(UsageError, match="has no dev split"):
        algebra_only.labelled(Split.DEV)


def test_the_pool_is_the_first_labelled_dev_rows(tmp_path: Path) -> None:
    rows = [row(0, answer=""), *(row(number) for number in range(1, 100))]
    (task,) = load_suite(write(tmp_path, f"dev/{TASK}", rows)).tasks
    assert [question.id for question in task.dev] == list(range(1, POOL_SIZE + 1))
    assert task.dev is task.dev


def test_a_pool_without_labels_is_empty(tmp_path: Path) -> None:
    (task,) = load_suite(write(tmp_path, f"dev/{TASK}", [row(answer="")])).tasks
    assert task.dev == ()


@pytest.mark.parametrize("change", [lambda file: file.write_bytes(jsonl([row(), row(1)])), Path.unlink])
def test_a_file_that_changed_since_it_was_loaded_is_refused(tmp_path: Path, change: Any) -> None:
    suite = load_suite(write(tmp_path, f"test/{TASK}", [row()]))
    change(tmp_path / "test" / f"{TASK}.jsonl")
    with pytest.raises(DataError, match=r"Cooking.*\.jsonl.*(has changed|cannot be read)"):
        questions(suite)


def test_a_touched_file_counts_as_changed(tmp_path: Path) -> None:
    suite = load_suite(write(tmp_path, f"test/{TASK}", [row()]))
    os.utime(tmp_path / "test" / f"{TASK}.jsonl", ns=(1, 1))
    with pytest.raises(DataError, match="has changed since it was loaded"):
        questions(suite)


def test_the_fingerprint_hangs_on_texts_names_and_splits_alone(tmp_path: Path) -> None:
    def fingerprint(place: str, name: str, content: list[dict[str, Any]]) -> str:
        return load_suite(write(tmp_path / place, name, content)).fingerprint

    base = fingerprint("one", f"test/{TASK}", [row()])
    assert fingerprint("two", f"test/{TASK}", [row()]) == base
    others = {
        fingerprint("three", f"test/{TASK}", [row(question="水的沸点是?")]),
        fingerprint("four", f"dev/{TASK}", [row()]),
        fingerprint("five", "test/Cooking-Other-College", [row()]),
        fingerprint("one", "test/Baking-Other-Other", [row()]),
    }
    assert len(others | {base}) == 5


# Selecting tasks


@pytest.fixture
def menu(tmp_path: Path) -> Suite:
    for name in (
        "Baking-Other-College",
        "Cooking-Other-College",
        "Cooking-Other-Other",
        "Physics-Natural Sciences-High schoo",
    ):
        write(tmp_path, f"test/{name}", [row()])
    return load_suite(tmp_path)


@pytest.mark.parametrize(
    ("globs", "names"),
    [
        ("Cooking", ["Cooking-Other-College", "Cooking-Other-Other"]),
        (["cooking"], ["Cooking-Other-College", "Cooking-Other-Other"]),
        ("*-College", ["Baking-Other-College", "Cooking-Other-College"]),
        ("*college,baking*", ["Baking-Other-College", "Cooking-Other-College"]),
        (
            ["Cooking-Other-Other", "bak*, COOKING", ""],
            ["Baking-Other-College", "Cooking-Other-College", TASK],
        ),
        ("physics-naturalsciences-high school", ["Physics-Natural Sciences-High schoo"]),
        ("Physics-Natural Sciences-High schoo", ["Physics-Natural Sciences-High schoo"]),
        ("Ｃooking-Other-O*", [TASK]),
    ],
)
def test_globs_choose_tasks_by_name_or_subject(menu: Suite, globs: str | list[str], names: list[str]) -> None:
    assert [task.name for task in menu.select(globs).tasks] == names


def test_a_glob_without_match_names_the_nearest_tasks(menu: Suite) -> None:
    with pytest.raises(UsageError, match=r"no task matches 'Cookin'; near it: Cooking-Other"):
        menu.select(["Baking", "Cookin"])
    with pytest.raises(UsageError, match=r"no task matches 'zzz'; the 4 tasks are in "):
        menu.select("zzz")
    with pytest.raises(UsageError, match="the list of tasks is empty"):
        menu.select(" , ")


def test_a_selection_is_a_suite_with_a_fingerprint_of_its_own(menu: Suite) -> None:
    assert menu.select("*").fingerprint == menu.fingerprint
    assert menu.select("Baking").fingerprint != menu.fingerprint
    assert menu.select("Cooking").size(Split.TEST) == 2


# Everywhere, and with any number of rows


def test_a_poor_locale_reads_the_same(tmp_path: Path) -> None:
    suite = load_suite(write(tmp_path, "test/烹饪①-Other-Other", [row()]))
    command = (
        "import sys; from m3ke_async.suite import load_suite; print(load_suite(sys.argv[1]).fingerprint)"
    )
    environment = os.environ | {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", command, str(tmp_path)],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.strip() == suite.fingerprint


@pytest.mark.parametrize("id_", ["{}", '"x{}"'], ids=["rising ids", "text ids"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, id_: str) -> None:
    line = '{{"id": {}, "question": "{}", "A": "1", "B": "2", "C": "3", "D": "4", "answer": "A"}}\n'
    rows = 12_000
    content = "".join(line.format(id_.format(number), "题" * 100) for number in range(rows)).encode()
    write(tmp_path, f"test/{TASK}", content)
    del content
    load_manifest()
    tracemalloc.start()
    try:
        suite = load_suite(tmp_path)
        assert sum(1 for task in suite.tasks for _ in task.questions(Split.TEST)) == rows
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < rows * 100  # a question of these takes 700 bytes, an id in the sort about 50


# The real data


def test_m3ke_has_its_tasks_and_sizes(shared: Path) -> None:
    suite = load_suite(shared / "M3KE")
    assert (len(suite.tasks), suite.size(Split.TEST), suite.size(Split.DEV)) == (71, 20_122, 355)
    assert (suite.labelled(Split.TEST), suite.labelled(Split.DEV)) == (0, 355)
    test = {task.name: task.sizes[Split.TEST] for task in suite.tasks}
    by_cluster = {
        cluster.name: sum(test[task.name] for task in suite.tasks if task.cluster is cluster)
        for cluster in Cluster
    }
    by_level = {
        level.name: sum(test[task.name] for task in suite.tasks if task.level is level) for level in Level
    }
    assert by_cluster == {"ARTS": 3_612, "SOCIAL": 6_222, "NATURAL": 8_162, "OTHER": 2_126}
    assert by_level == {"PRIMARY": 681, "JUNIOR": 2_167, "SENIOR": 2_061, "COLLEGE": 12_366, "OTHER": 2_847}
    assert sum(1 for task in suite.tasks for _ in task.questions(Split.TEST)) == 20_122
    assert all(len(task.dev) == 5 for task in suite.tasks)


def test_m3ke_is_the_same_from_its_folder_and_its_zip(shared: Path) -> None:
    folder, packed = load_suite(shared / "M3KE"), load_suite(shared / "M3KE" / "M3KE.zip")
    assert packed.fingerprint == folder.fingerprint  # though the zip has CRLF line ends
    assert questions(packed.select("Novels")) == questions(folder.select("Novels"))


def test_every_hash_of_the_manifest_is_that_of_the_file(shared: Path) -> None:
    suite = load_suite(shared / "M3KE")
    assert {task.name: (task.sizes, task.sha256) for task in suite.tasks} == {
        fact.name: (fact.sizes, fact.sha256) for fact in load_manifest().tasks
    }


def test_the_sample_suite_ships_with_the_package() -> None:
    assert sample_suite_path().parts[-2:] == ("data", "sample")


def test_a_name_with_commas_or_brackets_is_reached_by_itself(tmp_path: Path) -> None:
    odd = "Art, music [1]-Other-Other"
    suite = load_suite(
        small_suite.write_suite(tmp_path, tasks=(odd, small_suite.COOKING, small_suite.ALGEBRA), test=0)
    )
    assert [task.name for task in suite.select(odd).tasks] == [odd]
    assert [task.name for task in suite.select(f" {odd.upper()}").tasks] == [odd]
    assert [task.name for task in suite.select([odd, "Cook*"]).tasks] == [odd, small_suite.COOKING]
    assert [task.name for task in suite.select("Cook*,Alg*").tasks] == [
        small_suite.ALGEBRA,
        small_suite.COOKING,
    ]


def test_a_name_that_is_too_long_for_the_file_of_its_predictions_is_refused(tmp_path: Path) -> None:
    """Cluster and level are written with their spaces."""
    stem = "题" * 74
    small_suite.write_split(
        tmp_path, "test", f"{stem}-naturalsciences-highschool", [small_suite.row(0, "问")]
    )
    with pytest.raises(DataError, match="cannot be a file's: at most 255 bytes"):
        load_suite(tmp_path)
