"""A whole run on disk: what its files hold, and that they can be made again from the store."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.answer import read_answers
from m3ke_async.errors import ExitCode
from m3ke_async.lookup import find_evaluation, find_suite
from m3ke_async.request import Reply
from m3ke_async.results import write_results
from m3ke_async.rundir import RunDir
from m3ke_async.score import score
from m3ke_async.suite import Split, load_suite
from m3ke_async.target import find_target
from tests import questions
from tests.asking import Notes, settings
from tests.command import m3ke, m3ke_outside
from tests.questions import task_name, write_suite
from tests.server import completion, error, in_thread, raw, reply, right, right_reply
from tests.small_suite import write_split

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.server import Server

TASKS, ROWS = 3, 4
MARKS = questions.marks(TASKS, ROWS)

WORDING = """
name = "own/1"
zero_shot = "答"
few_shot = "答"
question = "{question}{A}{B}{C}{D}"
answer = "{answer}"
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with in_thread() as running:
        yield running


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite", TASKS, ROWS)


@pytest.fixture
def unlabelled(tmp_path: Path) -> Path:
    """A test split without answers."""
    folder = tmp_path / "unlabelled"
    for task in range(TASKS):
        rows = [questions.row(f"Q{task}-{number}", number, labelled=False) for number in range(ROWS)]
        write_split(folder, "test", task_name(task), rows)
    return folder


def ask(server: Server, suite: Path, results: Path, *options: str) -> Path:
    """Run, and return the run's folder."""
    ran = m3ke(
        "run", "vllm/m", "--base-url", server.url, "--data", suite, "--results", results, "--json", *options
    )
    assert ran.code in {ExitCode.COMPLETE, ExitCode.INCOMPLETE}, ran.err
    return results / str(ran.json["path"]).rpartition("/")[2]


def rescored(run: Path, *options: str | Path) -> Any:
    ran = m3ke("score", run, "--json", *options)
    assert ran.err.count("\n") == ("--key" in options)  # how much it covers
    assert ran.code in {ExitCode.COMPLETE, ExitCode.INCOMPLETE}
    return ran.json["scores"]


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "answers.jsonl").read_bytes().splitlines()]


def scores(run: Path) -> Any:
    return json.loads((run / "scores.json").read_bytes())


def all_files(run: Path) -> dict[str, bytes]:
    """Contents but for run.json, which holds the time."""
    return {
        str(path.relative_to(run)): path.read_bytes()
        for path in sorted(run.rglob("*"))
        if path.is_file() and path.name != "run.json"
    }


def timeless(content: bytes) -> bytes:
    """A file without how long the replies took."""
    return re.sub(rb'("latency(_mean)?": ?)[\d.e-]+', rb"\1_", content)


# What is sent


def test_the_body_holds_the_papers_prompt_and_every_parameter_zero_too(
    server: Server, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    ask(server, suite, tmp_path / "results", "--limit", "1", "--tasks", "Task 00*")
    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.body == {
        "model": "m",
        "messages": [
            {
                "role": "user",
                "content": "请根据以下问题从‘A’、‘B’、‘C’、‘D’中选择正确的选项\n\n"
                "Q0-0 下面哪一个词符合题意？\nA. 第一个词\nB. 第二个词\nC. 第三个词\nD. 第四个词\n"
                "正确的选项是：",
            }
        ],
        "temperature": 0,
        "max_tokens": 64,
    }
    assert "authorization" not in seen.headers  # no key is made up where the server wants none


# What the files hold


def test_answers_have_one_line_a_question_in_the_suites_order(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    run = ask(server, suite, tmp_path / "results")
    found = lines(run)
    assert [(line["task"], line["id"]) for line in found] == [
        (task_name(task), number) for task in range(TASKS) for number in range(ROWS)
    ]
    assert [line["choice"] for line in found] == [right(mark) for mark in MARKS]
    assert all(line["choice"] == line["key"] for line in found)
    assert {(line["outcome"], line["reply"][:3], line["attempts"]) for line in found} == {
        ("answered", "答案：", 1)
    }
    for line in found:
        start, end = line["span"]
        assert line["reply"][start:end] == line["choice"]
    assert len({line["request"] for line in found}) == len(MARKS)


def test_scores_are_what_counting_the_answers_again_gives(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.script = {
        "Q0-0": [reply("答案：" + "ABCD"["DABC".index(right("Q0-0"))])],  # wrong
        "Q0-1": [reply("我不知道。")],
        "Q1-0": [reply("选A或者B。")],
        "Q1-1": [error(400, "no", code="content_filter")],
        "Q2-0": [error(400, "no", param="messages")],
        "Q2-1": [reply("想", finish="length")],
        "Q2-2": [reply(None, refusal="我不能回答。")],
    }
    run = ask(server, suite, tmp_path / "results")
    found = lines(run)
    outcomes = Counter(line["outcome"] for line in found)
    assert outcomes == Counter(
        answered=6, unparsed=1, ambiguous=1, filtered=1, failed=1, truncated=1, refused=1
    )
    written = scores(run)
    assert {name: count for name, count in written["total"]["outcomes"].items() if count} == outcomes
    right_ones = sum(line["choice"] == line["key"] for line in found if line["choice"])
    assert (written["total"]["correct"], written["total"]["labelled"]) == (right_ones, 12) == (5, 12)
    again = score(
        load_suite(suite).tasks,
        read_answers(run / "answers.jsonl", pytest.fail),
        split=Split.DEV,
    )
    assert json.loads(json.dumps(again.to_json())) == {**written, "diagnostics": None}
    (failed,) = [line for line in found if line["outcome"] == "failed"]
    assert (failed["reply"], failed["choice"]) == (None, None)
    assert "HTTP 400" in failed["failure"]


def test_a_model_that_changes_its_name_during_the_run_is_told_of_again_by_score(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    other = {**completion({"role": "assistant", "content": "A"}), "model": "m-2", "system_fingerprint": "fp"}
    server.script = {"Q1-1": [raw(other)]}
    run = ask(server, suite, tmp_path / "results")
    served = [
        {"model": "m", "fingerprint": None, "replies": len(MARKS) - 1},
        {"model": "m-2", "fingerprint": "fp", "replies": 1},
    ]
    assert scores(run)["diagnostics"]["served"] == served
    assert rescored(run)["diagnostics"]["served"] == served
    assert "the served model changed during the run" in " ".join(m3ke("score", run).out.split())


def test_the_order_of_arrival_and_of_arguments_makes_no_difference(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    """C08: replies are matched by what was asked, never by their order."""
    runs = []
    for seed, globs in ((1, "Task*"), (2, "Task 02*,Task 00*,Task 01*,Task 00*")):
        rng = random.Random(seed)  # noqa: S311 - makes no secret
        server.script = {mark: [right_reply(mark).after(rng.uniform(0, 0.1))] for mark in MARKS}
        runs.append(ask(server, suite, tmp_path / f"results-{seed}", "--concurrency", "8", "--tasks", globs))
    one, two = ({name: timeless(raw) for name, raw in all_files(run).items()} for run in runs)
    assert one == two
    assert runs[0].name == runs[1].name
    assert scores(runs[0])["total"]["correct"] == len(MARKS)


# The same command again


def test_the_same_command_again_sends_nothing_and_changes_nothing(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    run = ask(server, suite, tmp_path / "results")
    before, sent, looks = all_files(run), len(server.seen), server.looks
    assert ask(server, suite, tmp_path / "results") == run
    assert (len(server.seen), server.looks) == (sent, looks) == (len(MARKS), looks)
    assert all_files(run) == before


def test_another_run_takes_the_replies_that_are_there(server: Server, suite: Path, tmp_path: Path) -> None:
    first = ask(server, suite, tmp_path / "results", "--limit", "2")
    second = ask(server, suite, tmp_path / "results")
    assert first != second
    assert set(server.counts.values()) == {1}


def test_whatever_changes_what_is_asked_asks_it(server: Server, tmp_path: Path) -> None:
    """C15, C16: five settings, five times all requests; the second again, none."""
    suite = write_suite(tmp_path / "suite", 1, 5)
    wording = tmp_path / "own.toml"
    ours = WORDING.replace("答", "答，")
    wording.write_text(ours, encoding="utf-8")
    comma = tmp_path / "comma.toml"
    comma.write_text(ours.replace("，", ","), encoding="utf-8")
    second = ["--shots", "5"]
    for options in (
        [],
        second,
        ["--shots", "5", "--system", "只答字母"],
        ["--shots", "5", "--fewshot", "turns"],
        ["--shots", "5", "--template", str(wording)],
        ["--shots", "5", "--template", str(comma)],
        ["--temperature", "0.5"],
        ["--max-tokens", "16"],
    ):
        sent = len(server.seen)
        ask(server, suite, tmp_path / "results", *options)
        assert len(server.seen) - sent == 5, options
    sent = len(server.seen)
    ask(server, suite, tmp_path / "results", *second)
    ask(server, suite, tmp_path / "results", *second, "--temperature", "0.0", "--name", "again")
    assert len(server.seen) == sent
    assert len(list((tmp_path / "results").glob("*/run.json"))) == 9


def test_a_name_holds_one_run(server: Server, suite: Path, tmp_path: Path) -> None:
    """C14: other settings under the same name are refused with the list of differences."""
    ask(server, suite, tmp_path / "results", "--name", "mine")
    ran = m3ke(
        *("run", "vllm/m", "--base-url", server.url, "--data", suite, "--results", tmp_path / "results"),
        *("--name", "mine", "--temperature", "0.5", "--max-tokens", "16", "--quiet"),
    )
    assert ran.code == ExitCode.USAGE
    assert "temperature was 0.0, now 0.5; max_tokens was 64, now 16" in ran.error
    assert len(server.seen) == len(MARKS)


def test_the_replies_of_a_run_are_never_in_memory_together(tmp_path: Path) -> None:
    given = settings(write_suite(tmp_path / "suite", 1, 400), "http://h/v1", tmp_path)
    target = find_target(given, Notes(), {})
    evaluation = find_evaluation(given, find_suite(given.data), target)
    kilobytes = 20  # of each reply

    def find(key: bytes) -> Reply:
        return Reply("答案：A", reasoning="x" * 1000 * kilobytes)

    tracemalloc.start()
    try:
        found = write_results(evaluation, find, RunDir(tmp_path / "run"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.total.answered == 400
    assert peak < 400 * kilobytes * 1000 / 4


def test_a_resumed_run_scores_as_one_that_was_never_interrupted(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    """C14: four failures and one filtered reply, then the rest."""
    filtered = [error(400, "no", code="content_filter")]
    server.script = {"Q1-1": filtered} | {
        mark: [error(400, "no", param="messages"), right_reply(mark)]
        for mark in ("Q0-0", "Q0-3", "Q1-0", "Q2-2")
    }
    run = ask(server, suite, tmp_path / "results")
    assert scores(run)["total"]["outcomes"]["failed"] == 4
    sent = len(server.seen)
    assert ask(server, suite, tmp_path / "results") == run
    assert len(server.seen) - sent == 4
    server.script = {"Q1-1": filtered}
    whole = ask(server, suite, tmp_path / "other")
    assert timeless((run / "answers.jsonl").read_bytes()).replace(
        b'"attempts":2', b'"attempts":1'
    ) == timeless((whole / "answers.jsonl").read_bytes())
    assert scores(run)["total"] == scores(whole)["total"]


# The test split


def test_a_split_without_answers_has_predictions_and_no_accuracy(
    server: Server, unlabelled: Path, tmp_path: Path
) -> None:
    """C29: it is said before anything is paid, and at the end."""
    base = ["run", "vllm/m", "--base-url", server.url, "--data", str(unlabelled), "--split", "test"]
    ran = m3ke(*base, "--results", tmp_path / "results")
    assert ran.code == ExitCode.COMPLETE
    said, _, _ = ran.err.partition("12 of 12")
    assert "the test split has no public answers" in said
    assert "no accuracy exists" in " ".join(ran.out.split())
    assert "Accuracy" not in ran.out
    (run,) = (tmp_path / "results").glob("*/")
    assert scores(run)["total"]["accuracy"] is None
    assert {path.name for path in (run / "predictions").iterdir()} == {
        f"{task_name(task)}.jsonl" for task in range(TASKS)
    }


def test_predictions_are_the_suites_rows_with_the_answer_filled_in(
    server: Server, unlabelled: Path, tmp_path: Path
) -> None:
    server.script["Q1-2"] = [reply("不知道")]
    run = ask(server, unlabelled, tmp_path / "results", "--split", "test")
    for task in range(TASKS):
        name = f"{task_name(task)}.jsonl"
        given = [json.loads(line) for line in (unlabelled / "test" / name).read_bytes().splitlines()]
        filled = [json.loads(line) for line in (run / "predictions" / name).read_bytes().splitlines()]
        for number, row in enumerate(given):
            row["answer"] = "" if (task, number) == (1, 2) else right(f"Q{task}-{number}")
        assert filled == given
        assert [list(row) for row in filled] == [list(row) for row in given]


@pytest.fixture
def test_run(server: Server, unlabelled: Path, tmp_path: Path) -> Path:
    server.script["Q0-0"] = [reply("答案：" + "ABCD"["DABC".index(right("Q0-0"))])]  # wrong
    return ask(server, unlabelled, tmp_path / "results", "--split", "test")


def write_key(folder: Path, form: str) -> Path:
    rows = [(task_name(t), n, right(f"Q{t}-{n}")) for t in range(TASKS) for n in range(ROWS)]
    path = folder / f"key.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps({"task": t, "id": n, "answer": a}) + "\n" for t, n, a in rows))
    elif form == "csv":
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows([("task", "id", "answer"), *rows])
    else:
        write_suite(path, TASKS, ROWS, split="test")
    return path


@pytest.mark.parametrize("form", ["jsonl", "csv", "folder"])
def test_a_key_scores_the_test_split_without_a_request(
    server: Server, test_run: Path, tmp_path: Path, form: str
) -> None:
    sent = len(server.seen)
    total = rescored(test_run, "--key", write_key(tmp_path, form))["total"]
    assert (total["correct"], total["labelled"]) == (11, 12)
    assert scores(test_run)["total"] == total
    assert [line["key"] for line in lines(test_run)] == [right(mark) for mark in MARKS]
    assert len(server.seen) == sent


def test_a_key_for_a_part_scores_that_part(test_run: Path, tmp_path: Path) -> None:
    key = tmp_path / "key.csv"
    key.write_text(f"task,id,answer\n{task_name(1)},0,{right('Q1-0')}\n{task_name(1)},1,\n")
    total = rescored(test_run, "--key", key)["total"]
    assert (total["correct"], total["labelled"], total["asked"]) == (1, 1, 12)


def test_how_much_a_key_covers_is_told(test_run: Path, tmp_path: Path) -> None:
    key = tmp_path / "key.csv"
    key.write_text(f"task,id,answer\n{task_name(1)},0,{right('Q1-0')}\n{task_name(1)},1,\n")
    ran = m3ke("score", test_run, "--key", key)
    assert ran.error == f"{key} answers 1 of 12 test questions in the run's tasks"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task,id,answer\nNobody-Other-Other,0,A\n", "answers none of the 12 test questions"),
        (f"task,id,answer\n{task_name(0)},0,E\n", "line 2, field 'answer'"),
        ("task,id\n", "field 'answer': is missing"),
    ],
)
def test_a_wrong_key_is_one_line_and_leaves_the_files(
    test_run: Path, tmp_path: Path, text: str, words: str
) -> None:
    before = all_files(test_run)
    (tmp_path / "key.csv").write_text(text)
    ran = m3ke("score", test_run, "--key", tmp_path / "key.csv")
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert words in ran.error
    assert all_files(test_run) == before


# Made again from the store (C13)


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[: len(raw) * 2 // 3],  # half a line
        lambda raw: raw[: raw.index("答".encode()) + 1],  # half a character
        lambda raw: raw.rstrip(b"\n"),
        lambda raw: raw + b"\0" * 500,  # after a power cut
        lambda raw: raw.replace(b'"outcome"', b"XX", 1),
        lambda raw: raw + raw[: raw.index(b"\n") + 1],  # a question twice
        lambda raw: b"",
    ],
    ids=["half a line", "half a character", "no newline", "NULs", "a bad line", "twice", "empty"],
)
def test_a_torn_answers_file_is_written_again_and_nothing_is_asked(
    server: Server, unlabelled: Path, test_run: Path, damage: Any
) -> None:
    before, sent = all_files(test_run), len(server.seen)
    answers = test_run / "answers.jsonl"
    for again in (
        lambda: rescored(test_run),
        lambda: ask(server, unlabelled, test_run.parent, "--split", "test"),
    ):
        answers.write_bytes(damage(before["answers.jsonl"]))
        again()
        assert all_files(test_run) == before
    assert len(server.seen) == sent


def test_deleted_files_are_written_again_offline(test_run: Path) -> None:
    before = all_files(test_run)
    shutil.rmtree(test_run / "predictions")
    (test_run / "answers.jsonl").unlink()
    (test_run / "scores.json").write_bytes(b'{"version": 1, "spl')
    rescored(test_run)
    assert all_files(test_run) == before


def test_scoring_again_changes_nothing_and_leaves_no_other_file(test_run: Path) -> None:
    before = all_files(test_run)
    assert rescored(test_run) == json.loads(before["scores.json"])
    assert all_files(test_run) == before


def test_a_changed_suite_is_refused(test_run: Path, unlabelled: Path) -> None:
    file = unlabelled / "test" / f"{task_name(0)}.jsonl"
    file.write_bytes(file.read_bytes().replace("符合".encode(), "不合".encode(), 1))
    before = all_files(test_run)
    ran = m3ke("score", test_run)
    assert ran.code == ExitCode.USAGE
    assert "was made of something else: suite was" in ran.error
    assert all_files(test_run) == before


# Moved and copied


def test_a_run_that_was_copied_without_its_store_still_scores(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.script = {
        "Q0-1": [reply("我不知道。")],
        "Q1-1": [error(400, "no", code="content_filter")],
        "Q2-0": [error(400, "no", param="messages")],
        "Q2-2": [reply(None, refusal="我不能回答。")],
    }
    run = ask(server, suite, tmp_path / "results")
    copied = tmp_path / "elsewhere" / "copy"
    shutil.copytree(run, copied)
    moved = tmp_path / "moved"
    suite.rename(moved)
    assert rescored(copied, "--data", moved)["total"] == scores(run)["total"]
    assert [line["outcome"] for line in lines(copied)] == [line["outcome"] for line in lines(run)]


def test_a_run_whose_store_is_damaged_still_scores_and_explains(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    run = ask(server, suite, tmp_path / "results")
    before, store = scores(run), run.parent / "replies.sqlite"
    whole = store.read_bytes()
    for damaged in (whole[:4096] + b"\xa5" * (len(whole) - 4096), whole[: len(whole) // 2]):
        store.write_bytes(damaged)
        assert scores(run)["total"] == before["total"]
        ran = m3ke("explain", run, task_name(0), "0")
        assert (ran.code, "not asked yet" in ran.out) == (0, False)
        assert "is damaged (" in ran.error
        assert rescored(run)["total"] == before["total"]


def test_what_scoring_again_would_change_is_json_too(server: Server, suite: Path, tmp_path: Path) -> None:
    server.script = {"Q0-0": [reply("选A或者B。")]}
    run = ask(server, suite, tmp_path / "results")
    (change,) = m3ke("score", run, "--policy", "first", "--diff", "--json").json
    assert (change["before"]["outcome"], change["before"]["choice"]) == ("ambiguous", None)
    assert (change["after"]["outcome"], change["after"]["choice"]) == ("answered", "A")
    assert m3ke("score", run, "--diff", "--json").json == []


def test_answers_that_somebody_changed_are_told_of_when_they_are_all_there_is(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    run = ask(server, suite, tmp_path / "results")
    (run.parent / "replies.sqlite").unlink()
    raw = (run / "answers.jsonl").read_bytes()
    (run / "answers.jsonl").write_bytes(raw.replace("答案：A".encode(), "答案：B".encode(), 1))
    ran = m3ke("score", run)
    assert "has changed since the run wrote it" in ran.error
    assert "kept as answers.jsonl.bad" in ran.error


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"model": "custom/m", "policy": "careful", "split": "dev", "shots": "two"}},
        {"settings": {"model": "custom/m", "policy": "careful", "split": "dev", "odd": 1}},
        {"settings": {"model": "custom/m", "policy": [], "split": 7}},
        {"identity": {"address": 7}},
        {"provider": "nobody"},
        {"provider": "../../etc/passwd"},
        {"data": ""},
        {"ledger": {"requests": -1}},
        {"version": 2},
        {"hashes": None},
    ],
)
def test_a_run_json_that_is_wrong_inside_is_one_line(
    server: Server, suite: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    run = ask(server, suite, tmp_path / "results")
    record = json.loads((run / "run.json").read_bytes())
    (run / "run.json").write_text(json.dumps({**record, **change}))
    for words in (["score"], ["score", "--diff"], ["explain"]):
        rest = [task_name(0), "0"] if words == ["explain"] else []
        ran = m3ke(*words, run, *rest)
        assert ran.code == ExitCode.USAGE
        assert ran.error


def test_a_run_is_found_by_its_name(test_run: Path, tmp_path: Path) -> None:
    ran = m3ke("score", test_run.name, "--results", tmp_path / "results", "--json")
    assert ran.code == ExitCode.COMPLETE


def test_no_run_there_is_one_line(tmp_path: Path) -> None:
    ran = m3ke("score", tmp_path)
    assert ran.code == ExitCode.USAGE
    assert "`m3ke runs` lists what is there" in ran.error


# Every locale (C10)

LOCALES = {
    "ascii": {
        "LANG": "C",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "ascii",
    },
    "gbk": {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "0", "PYTHONIOENCODING": "gbk"},
}
TASK, ODD = "物理①-Natural Sciences-College", "Q0-0 汉字①𠮷😀\ufffd\u2028？"


def test_the_files_are_the_same_bytes_under_every_locale(server: Server, tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    question = questions.row("Q0-0", 0) | {"question": ODD, "A": "𠮷"}
    write_split(suite, "test", TASK, [question])
    template = tmp_path / "own.toml"
    template.write_bytes(b"\xef\xbb\xbf" + WORDING.replace("答", "答😀").encode())
    content = '"答案：A。𠮷😀 \\ud83d \x7f"'.encode()
    server.default = lambda mark: raw(
        b'{"choices": [{"message": {"content": %s}, "finish_reason": "stop"}]}' % content
    )
    base = ["run", "vllm/m", "--base-url", server.url, "--data", str(suite), "--template", str(template)]
    base += ["--split", "test", "--system", "只答字母", "--name", "run", "--json", "--results"]
    assert m3ke(*base, tmp_path / "utf-8").code == ExitCode.COMPLETE
    expected = {file: timeless(raw) for file, raw in all_files(tmp_path / "utf-8" / "run").items()}
    for name, environ in LOCALES.items():
        ran = m3ke_outside(*base, tmp_path / name, cwd=tmp_path, **environ)
        assert (ran.returncode, ran.stderr.count(b"Traceback")) == (0, 0), ran.stderr
        assert TASK in json.loads(ran.stdout.decode(name))["scores"]["tasks"]
        explained = m3ke_outside("explain", tmp_path / name / "run", TASK, "0", cwd=tmp_path, **environ)
        assert (explained.returncode, explained.stderr) == (0, b"")
        assert "答案：⟦A⟧。𠮷😀".encode(name, "backslashreplace") in explained.stdout
        assert {file: timeless(raw) for file, raw in all_files(tmp_path / name / "run").items()} == expected
    assert {seen.body["messages"][0]["content"] for seen in server.seen} == {"只答字母"}
    assert {seen.body["messages"][1]["content"][:2] for seen in server.seen} == {"答😀"}
    (line,) = lines(tmp_path / "ascii" / "run")
    assert line["reply"] == "答案：A。𠮷😀 \\ud83d \x7f"
    assert line["task"] == TASK
