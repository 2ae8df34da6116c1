from __future__ import annotations

import os
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.errors import DataError, UsageError
from m3ke_async.record_form import RECORD_VERSION
from m3ke_async.rundir import RunDir, checked_name, differences, find_run, run_name
from m3ke_async.tally import Ledger

MODELS = [
    "Qwen/Qwen2.5-7B-Instruct",
    "Qwen/Qwen2.5-7B-Instruct.bak",
    "deepseek-r1:7b",
    "..",
    "../..",
    "/etc/passwd",
    "CON",
    "a" * 300,
    "a" * 301,
    "模型/一",
    "模型/二",
    "x y?*",
    "A/b",
    "a/B",
    "A_b",
    "a\\b",
    "\x1b[31m",
    "\udcff",
    ".",
    "-",
]

RECORD: dict[str, Any] = {
    "state": "complete",
    "identity": {"address": "http://h/v1"},
    "settings": {"model": "vllm/m", "policy": "careful", "split": "dev", "shots": 0},
    "provider": "vllm",
    "model": "m",
    "data": "d",
    "is_m3ke": False,
    "rules": "1",
    "adapted": ["none"],
    "sent": {"protocol": "chat", "token_parameter": "max_tokens", "thinking": {}},
    "counts": {"total": 1},
    "ledger": Ledger(retries=Counter(timeout=1)).to_json(),
    "fresh_since": None,
    "hashes": {"answers.jsonl": "00"},
}


def name_of(model: str, **identity: object) -> str:
    return run_name({"model": model, **identity}, provider="custom", model=model, split="dev", shots=5)


# The folder's name


def test_a_name_is_readable() -> None:
    name = name_of("Qwen/Qwen2.5-7B-Instruct")
    assert re.fullmatch(r"custom-qwen-qwen2\.5-7b-instruct-dev-5shot-[0-9a-f]{8}", name)


@pytest.mark.parametrize("model", MODELS)
def test_a_name_is_one_safe_folder_whatever_the_model_is_called(model: str, tmp_path: Path) -> None:
    name = name_of(model)
    assert re.fullmatch(r"custom[a-z0-9.-]*-dev-5shot-[0-9a-f]{8}", name)
    assert len(name) < 100
    (tmp_path / name).mkdir()
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=[])))
def test_no_model_leads_out_of_the_results_folder(model: str) -> None:
    name = name_of(model)
    assert Path(name).name == name
    assert name.isascii()
    assert name == name.lower()


def test_no_two_models_share_a_folder_on_a_disk_that_ignores_case() -> None:
    names = [name_of(model) for model in MODELS]
    assert len({name.casefold() for name in names}) == len(MODELS)


def test_whatever_makes_another_run_makes_another_name() -> None:
    names = [
        name_of("m"),
        name_of("m", limit=1),
        name_of("m", limit=None),
        name_of("m", wording=["，"]),
        name_of("m", wording=[","]),
        name_of("m", temperature=0.5),
    ]
    for one, other in combinations(names, 2):
        assert one != other


def test_the_order_of_settings_does_not_matter() -> None:
    assert name_of("m", a=1, b=2) == name_of("m", b=2, a=1)


# The name that a user gives


@pytest.mark.parametrize("name", ["qwen-5shot", "模型一", "a", "A_b.1", "console", "x" * 100, "2026-11-29"])
def test_an_ordinary_name_is_taken(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "/abs",
        "C:",
        "~",
        "-x",
        "_x",
        ".hidden",
        "a.",
        "a b",
        "a\n",
        "a\0",
        "CON",
        "con.txt",
        "Lpt1",
        "nul",
        "x" * 101,
        "x?*",
        "\x1b[31m",
        "replies.sqlite",
        "Replies.SQLite-wal",
    ],
)
def test_a_name_that_no_disk_takes_or_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_name(name)
    assert "--name" in str(caught.value)
    assert str(caught.value).isprintable()


# run.json


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    assert run.read() is None
    run.write({**RECORD, "model": "模型\ud83d"})
    assert run.read() == {"version": RECORD_VERSION, **RECORD, "model": "模型\\ud83d"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is damaged"),
        (b'{"version": 1, "sta', "is damaged"),
        (b"\0" * 100, "is damaged"),
        (b'{"version": 1, "model": "\xe6\xa8', "is damaged"),
        (b"[]", "another version"),
        (b"{}", "another version"),
        (b'{"version": 2}', "another version"),
        (b'{"version": 1}', "is missing; remove the file"),
        (b'{"version": "1"}', "another version"),
    ],
)
def test_a_damaged_run_json_is_one_line_that_says_what_to_do(
    tmp_path: Path, content: bytes, words: str
) -> None:
    run = RunDir(tmp_path)
    run.run_json.write_bytes(content)
    with pytest.raises(DataError) as caught:
        run.read()
    assert caught.value.file == run.run_json
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


NO_LEDGERS = [{}, {"requests": 1}, *({**RECORD["ledger"], name: "1"} for name in RECORD["ledger"])]
WRONG: dict[str, list[object]] = {
    "state": ["done", None, []],
    "identity": [{}, {"address": None}, "x"],
    "settings": [{}, {**RECORD["settings"], "model": 1}, {**RECORD["settings"], "shots": None}, []],
    "provider": [None, 7],
    "model": [[]],
    "data": [{}],
    "is_m3ke": ["yes", None],
    "rules": [2],
    "adapted": [None, [1]],
    "sent": [
        None,
        {"protocol": "chat", "token_parameter": "max_tokens"},
        {"protocol": "chats", "token_parameter": "max_tokens", "thinking": {}},
        {"protocol": "chat", "token_parameter": ["max_tokens"], "thinking": {}},
    ],
    "counts": [None, {"total": "1"}],
    "ledger": [None, [], *NO_LEDGERS, {**RECORD["ledger"], "retries": {"timeout": None}}],
    "fresh_since": ["now", True],
    "hashes": [None, {"answers.jsonl": 5}],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field in WRONG for value in WRONG[field]])
def test_a_field_of_the_wrong_kind_is_one_line_that_names_it(
    tmp_path: Path, field: str, value: object
) -> None:
    run = RunDir(tmp_path)
    run.write({**RECORD, field: value})
    with pytest.raises(DataError, match=f"field '{field}': is damaged; remove the file, and run") as caught:
        run.read()
    assert caught.value.file == run.run_json


@pytest.mark.parametrize("field", RECORD)
def test_a_field_that_is_missing_is_named(tmp_path: Path, field: str) -> None:
    run = RunDir(tmp_path)
    run.write({name: value for name, value in RECORD.items() if name != field})
    with pytest.raises(DataError, match=f"field '{field}': is missing; remove the file"):
        run.read()


def test_where_no_folder_can_be_there_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert RunDir(tmp_path / "file" / "run").read() is None
    (tmp_path / "run.json").mkdir()
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        RunDir(tmp_path).read()


def test_the_store_lies_beside_the_runs() -> None:
    run = RunDir(Path("results") / "one")
    assert run.store == Path("results/replies.sqlite")
    assert run.spare_stores[0] == Path("results/one/replies.sqlite")
    assert run.spare_stores[1] != RunDir(Path("other") / "one").spare_stores[1]


def test_a_ledger_from_before_something_was_counted_is_read(tmp_path: Path) -> None:
    later = ("batch_prompt_tokens", "batch_completion_tokens", "charged", "charges")
    older = {name: value for name, value in RECORD["ledger"].items() if name not in later}
    directory = RunDir(tmp_path / "run")
    directory.prepare()
    directory.write({**RECORD, "ledger": older})
    record = directory.read()
    assert record is not None
    assert Ledger.from_json(record["ledger"]) == Ledger(retries=Counter(timeout=1))


# Making and finding the folder


def test_the_folder_is_made_with_its_parents_and_left_empty(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "a" / "b")
    run.prepare()
    run.prepare()
    assert list(run.path.iterdir()) == []


@pytest.mark.parametrize("place", ["file/run", "file", "x" * 300])
def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as caught:
        RunDir(tmp_path / place).prepare()
    assert "choose another by --results" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_folder_that_is_read_only_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(UsageError, match="cannot write to the folder"):
        RunDir(tmp_path).prepare()


def test_a_run_is_found_by_path_and_by_name(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "one")
    run.prepare()
    run.write(RECORD)
    assert find_run(str(run.path), "nowhere") == run
    assert find_run("one", str(tmp_path)) == run


@pytest.mark.parametrize("name", ["two", "", "../one/..", "x" * 300, "a\0b"])
def test_a_run_that_is_not_there_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no run at") as caught:
        find_run(name, str(tmp_path))
    assert "m3ke runs" in str(caught.value)


# Being alone


def test_a_run_has_one_process_at_work_on_it(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    with run.claim(), pytest.raises(UsageError, match="another process is at work"), RunDir(tmp_path).claim():
        pass
    with run.claim():
        pass


def test_what_killed_commands_left_half_written_is_removed(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    run.answers.write_text("whole")
    (tmp_path / ".answers.jsonl.0a1b2c3d.tmp").write_text("ha")
    (tmp_path / ".predictions-x1").mkdir()
    with run.claim():
        assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "answers.jsonl"]


# What differs


def test_differences_name_each_field_with_both_values() -> None:
    old = {"model": "a", "shots": 0, "system": None}
    new = {"model": "b", "shots": 0, "temperature": 0.5}
    assert differences(old, new) == ['model was "a", now "b"', "temperature was null, now 0.5"]
    assert differences(old, dict(old)) == []


def test_a_long_value_is_cut_and_hostile_text_is_harmless() -> None:
    (phrase,) = differences({"wording": "x" * 500}, {"wording": "\x1b[31m"})
    assert len(phrase) < 200
    assert phrase.isprintable()
