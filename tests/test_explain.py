from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode
from tests.command import m3ke
from tests.questions import task_name, write_suite
from tests.server import error, in_thread, reply

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command import Ran
    from tests.server import Act

TASK = task_name(0)


def asked(tmp_path: Path, *acts: Act) -> Path:
    """A run whose single question is answered so."""
    suite = write_suite(tmp_path / "suite", 1, 1)
    with in_thread() as server:
        server.script["Q0-0"] = list(acts)
        ran = m3ke(
            *("run", "custom/m", "--base-url", server.url, "--data", suite, "--quiet"),
            *("--results", tmp_path / "results", "--name", "run"),
        )
        assert ran.code in {ExitCode.COMPLETE, ExitCode.INCOMPLETE, ExitCode.STOPPED}, ran.err
    return tmp_path / "results" / "run"


def explain(run: Path, task: str = TASK, question: str = "0", *options: str | Path) -> Ran:
    return m3ke("explain", run, task, question, *options)


def test_a_question_is_shown_from_the_prompt_to_the_letter(tmp_path: Path) -> None:
    ran = explain(asked(tmp_path, reply("我选。\n答案：A，因为甲。")))
    assert (ran.code, ran.err) == (0, "")
    before, _, after = ran.out.partition("# Reply")
    assert before.startswith("# Prompt\n请根据以下问题从‘A’、‘B’、‘C’、‘D’中选择正确的选项\n\nQ0-0 下面")
    assert before.endswith("D. 第四个词\n正确的选项是：\n\n")
    assert "(finish_reason stop, " in after
    assert "attempt 1)\n我选。\n答案：⟦A⟧，因为甲。\n\n# Choice\n" in after
    assert "outcome answered, letter A, rule " in after
    assert ", key A\nthe rule catches: " in after


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (reply("我不知道。"), "rule none, key A\nunparsed: no choice is found\n"),
        (reply("B和C都对。"), "key A\nambiguous: several letters stand, and none takes the others back\nthe"),
        (reply("让我想想", finish="length"), "key A\ntruncated: it ends before a choice; a run with a "),
        (reply("", finish="content_filter"), "key A\nfiltered: the provider's content check "),
        (reply(None, refusal="我不能回答。"), "key A\nrefused: no choice is found, and the model declines "),
    ],
)
def test_a_reply_without_a_letter_says_what_that_means(tmp_path: Path, act: Act, words: str) -> None:
    ran = explain(asked(tmp_path, act))
    assert words in ran.out
    assert "⟦" not in ran.out


@pytest.mark.parametrize(
    ("words", "marked"),
    [
        ("第三个词", "\n⟦第三个词⟧\n"),
        ("既不是A和B，也不是D。", "既不是A和B，也不是⟦D⟧。\n"),
    ],
)
def test_what_is_marked_is_said_where_it_is_not_the_letter(tmp_path: Path, words: str, marked: str) -> None:
    out = explain(asked(tmp_path, reply(words))).out
    assert marked in out
    assert "outcome answered, letter C" in out
    text = "marked is an option's text, place or number, read in place of its letter\n"
    last = "marked is what the rule read last; C follows from it\n"
    assert out.endswith(last if "D" in words else text)


def test_a_letter_in_another_alphabet_is_marked_as_the_letter(tmp_path: Path) -> None:
    out = explain(asked(tmp_path, reply("答案：Ⓒ"))).out
    assert "答案：⟦Ⓒ⟧\n" in out
    assert "marked is" not in out


def test_another_policy_is_named(tmp_path: Path) -> None:
    run = asked(tmp_path, reply("不是A，应该选B。"))
    assert "--policy" not in explain(run).out
    m3ke("score", run, "--policy", "first")
    out = explain(run).out
    assert "不是⟦A⟧，应该选B。\n" in out
    assert out.endswith("rule first, key A\nread by --policy first\n")


def test_thoughts_in_a_field_of_their_own_are_shown_apart(tmp_path: Path) -> None:
    out = explain(asked(tmp_path, reply("A", reasoning_content="先看B，再看A"))).out
    assert "# Reasoning\n先看B，再看A\n\n# Reply" in out
    assert "\n⟦A⟧\n" in out


def test_a_failed_question_says_why_and_how_often_it_was_sent(tmp_path: Path) -> None:
    run = asked(tmp_path, error(400, "too many words", param="messages"))
    out = explain(run).out
    assert "# Reply\nfailed: " in out
    assert "too many words" in out
    assert "(attempts: 1)" in out


def test_a_question_that_was_not_asked_says_so(tmp_path: Path) -> None:
    out = explain(asked(tmp_path, error(401, "no"))).out
    assert out.endswith("# Reply\nnot asked yet\n")


def test_hostile_replies_are_harmless_and_stay_on_their_lines(tmp_path: Path) -> None:
    out = explain(asked(tmp_path, reply("\x1b[2J\x1b]0;t\x07答案：A\r\u202e\u2028尾\n\x9b1m"))).out
    assert "⟦A⟧" in out
    assert not [char for char in out if ord(char) < 32 and char != "\n"]
    assert "\x9b" not in out
    assert "\u202e" not in out


def test_the_task_and_the_id_must_be_the_runs(tmp_path: Path) -> None:
    run = asked(tmp_path, reply("A"))
    ran = explain(run, "Task 00-Natural Sciences-High schol")
    assert ran.code == ExitCode.USAGE
    assert f"near it: {TASK}" in ran.error
    ran = explain(run, TASK, "7")
    assert ran.code == ExitCode.USAGE
    assert f"asks no question with id '7' in {TASK}: it asks 1 question there, such as 0" in ran.error


def test_ids_that_are_like_the_wrong_one_are_named(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 13)
    with in_thread() as server:
        m3ke(
            *("run", "custom/m", "--base-url", server.url, "--data", suite, "--quiet"),
            *("--results", tmp_path / "results", "--name", "run"),
        )
    ran = explain(tmp_path / "results" / "run", TASK, "112")
    assert ran.code == ExitCode.USAGE
    assert "it asks 13 questions there, such as 12, 11" in ran.error


def test_a_run_without_its_store_is_explained_from_its_answers(tmp_path: Path) -> None:
    run = asked(tmp_path, reply("答案：A"))
    (tmp_path / "results" / "replies.sqlite").unlink()
    ran = explain(run)
    assert (ran.code, ran.err) == (0, "")
    assert "attempt 1)\n答案：⟦A⟧\n" in ran.out


def test_a_suite_that_moved_can_be_named(tmp_path: Path) -> None:
    run = asked(tmp_path, reply("A"))
    (tmp_path / "suite").rename(tmp_path / "moved")
    ran = explain(run)
    assert ran.code == ExitCode.USAGE
    assert "no such folder or zip" in ran.error
    assert explain(run, TASK, "0", "--data", tmp_path / "moved").code == 0


def test_explain_looks_only(tmp_path: Path) -> None:
    run = asked(tmp_path, reply("A"))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    explain(run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_the_same_for_programs_holds_the_messages_and_the_line_of_the_answers(tmp_path: Path) -> None:
    run = asked(tmp_path, reply("答案：A"))
    (told,) = explain(run, TASK, "0", "--json").json
    assert told["messages"][0]["content"].startswith("请根据以下问题")
    assert told["answer"] == json.loads((run / "answers.jsonl").read_bytes())


def test_what_was_not_asked_has_no_answer(tmp_path: Path) -> None:
    run = asked(tmp_path, reply("答案：A"))
    for path in (run / "answers.jsonl", run.parent / "replies.sqlite"):
        path.unlink()
    (told,) = explain(run, TASK, "0", "--json").json
    assert told["answer"] is None
