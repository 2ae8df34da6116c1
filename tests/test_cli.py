from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import ExitCode
from tests.command import ROOT, m3ke, m3ke_outside
from tests.questions import task_name, write_suite
from tests.server import HANG, error, in_thread, raw, right_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.command import Ran
    from tests.server import Server

KEY = "sk-test-SENTINEL0123456789abcdef"
OTHER_KEY = "ZZSENTINEL-without-any-prefix-98765"


@pytest.fixture
def server() -> Iterator[Server]:
    with in_thread() as running:
        yield running


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite", 2, 3)


@pytest.fixture
def ask(tmp_path: Path, suite: Path, server: Server) -> Callable[..., Ran]:
    """`m3ke run` on the small suite and the scripted server, unless told otherwise."""

    def run(*options: str | Path, model: str = "vllm/m", command: str = "run") -> Ran:
        given: dict[str, str | Path] = {
            "--base-url": server.url,
            "--data": suite,
            "--results": tmp_path / "results",
        }
        rest = [part for name, value in given.items() if name not in options for part in (name, value)]
        return m3ke(command, model, *rest, *options)

    return run


# Help


def test_help_comes_at_once_because_nothing_heavy_is_imported() -> None:
    heavy = [
        "torch",
        "openai",
        "aiohttp",
        "httpx",
        "rich",
        "uvloop",
        "tenacity",
        "numpy",
        "orjson",
        "asyncio",
    ]
    code = (
        "import sys\n"
        "from m3ke_async.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit as ended:\n    assert not ended.code\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    )
    assert shown.stderr.strip() == "[]"
    for command in (
        "run",
        "plan",
        "check",
        "score",
        "explain",
        "compare",
        "runs",
        "watch",
        "data",
        "providers",
    ):
        assert f"  {command} " in shown.stdout


def test_the_package_is_a_command_too(tmp_path: Path) -> None:
    shown = m3ke_outside("--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert shown.stdout.startswith(b"Usage: m3ke ")
    assert shown.stderr == b""


@pytest.mark.parametrize("words", [[], ["data"]])
def test_a_command_without_its_verb_shows_the_help_on_several_lines(words: list[str]) -> None:
    ran = m3ke(*words)
    assert ran.code == ExitCode.USAGE
    assert ran.out == ""
    assert len(ran.err.splitlines()) > 5


def test_what_is_missing_is_said_with_where_it_is_described() -> None:
    ran = m3ke("score")
    assert (ran.code, ran.error) == (ExitCode.USAGE, "Missing argument 'RUN': see m3ke score --help")


def test_every_option_of_a_run_is_in_its_help_and_is_a_setting() -> None:
    from m3ke_async.settings import RunOptions

    shown = m3ke("run", "--help").out
    for name in RunOptions.__annotations__:
        assert f"--{name.replace('_', '-')} " in shown
    for name in ("--config", "--quiet", "--json"):
        assert name in shown


# Misspelt


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["run", "vllm/m", "--max-token", "5"], "--max-tokens"),
        (["run", "vllm/m", "--base-ulr", "http://h"], "--base-url"),
        (["run", "vllm/m", "--shot", "5"], "--shots"),
        (["plan", "vllm/m", "--template-name", "x"], "--template"),
        (["score", "run", "--keys", "x"], "--key"),
        (["rum", "vllm/m"], "run"),
        (["run", "vlm/m", "--data", "sample", "--quiet"], "vllm"),
        (["run", "vllm/m", "--data", "sample", "--split", "tset", "--quiet"], "test"),
        (["run", "vllm/m", "--data", "sample", "--fewshot", "turn", "--quiet"], "turns"),
        (["run", "vllm/m", "--data", "sample", "--template", "m3ke-zh/2", "--quiet"], "m3ke-zh/1"),
        (["run", "vllm/m", "--data", "sample", "--tasks", "Biologie*", "--quiet"], "Biology"),
        (["providers", "opneai"], "openai"),
    ],
)
def test_what_is_misspelt_is_an_error_that_names_the_nearest_right_one(words: list[str], near: str) -> None:
    ran = m3ke(*words)
    assert ran.code == ExitCode.USAGE
    assert near in ran.error
    assert ran.out == ""


def test_a_misspelt_key_of_the_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('model = "vllm/m"\nmax_token = 5\n')
    ran = m3ke("run", "--config", tmp_path / "run.toml", "--quiet")
    assert ran.code == ExitCode.USAGE
    assert "run.toml, field 'max_token': unknown key, did you mean 'max-tokens'?" in ran.error


# Bad input: one line, the exit code, no traceback


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--shots", "9"], "--shots must be a whole number from 0 to 5, not 9"),
        (["--shots", "nine"], "'nine' is not a valid integer"),
        (["--temperature", "nan"], "--temperature must be a number from 0 to 2"),
        (["--limit", "99999999999999999999"], "--limit must be a whole number"),
        (["--split", "test"], "has no test split; give --split or another --data"),
        (["--tasks", "Nothing*"], "no task matches 'Nothing*'"),
        (["--tasks", ","], "the list of tasks is empty"),
        (["--base-url", "localhost:8000"], "give --base-url like http://host:8000/v1"),
        (["--name", "../x"], "--name '../x'"),
        (["--name", "replies.sqlite"], "--name 'replies.sqlite'"),
        (["--data", "nowhere"], "nowhere: no such folder or zip"),
        (["--template", "x" * 5000], "no template"),
        (["--max-cost", "1"], "give --price IN,OUT"),
        (["--price", "cheap"], "--price must be two numbers"),
        (["--api-key-env", "NOT_SET_HERE"], "the environment variable NOT_SET_HERE is not set"),
        (["--config", "nowhere.toml"], "nowhere.toml: cannot be read"),
    ],
)
def test_settings_that_cannot_work_are_one_line_and_leave_nothing_sent_or_written(
    ask: Callable[..., Ran], server: Server, tmp_path: Path, options: list[str], words: str
) -> None:
    ran = ask("--quiet", *options)
    assert ran.code == ExitCode.USAGE
    assert not (tmp_path / "results").exists()
    assert words in ran.error
    assert ran.out == ""
    assert server.looks == len(server.seen) == 0


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("openai/gpt-4o-mini", "no key for OpenAI: set OPENAI_API_KEY"),
        ("gpt-4o-mini", "write provider/model"),
        ("/m", "write provider/model"),
        ("vllm/", "write provider/model"),
        ("nobody/m", "there is no provider 'nobody'"),
    ],
)
def test_a_model_that_cannot_be_asked_is_one_line(
    suite: Path, monkeypatch: pytest.MonkeyPatch, model: str, words: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ran = m3ke("run", model, "--data", suite, "--quiet")
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert words in ran.error


def test_no_model_at_all_says_how_to_name_one() -> None:
    ran = m3ke("run", "--quiet")
    assert ran.code == ExitCode.USAGE
    assert "provider/model" in ran.error


def test_custom_needs_an_address(suite: Path) -> None:
    ran = m3ke("run", "custom/m", "--data", suite, "--quiet")
    assert ran.code == ExitCode.USAGE
    assert "give --base-url" in ran.error


def test_without_data_the_ways_to_get_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("m3ke_async.lookup.default_suite_path", lambda: None)
    ran = m3ke("run", "vllm/m", "--quiet")
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert "`m3ke data fetch`" in ran.error
    assert "--data sample" in ran.error


def test_shots_need_dev_rows_in_every_task(ask: Callable[..., Ran], suite: Path) -> None:
    write_suite(suite, 3, 3, split="test")  # one task more than dev has
    ran = ask("--split", "test", "--shots", "5", "--quiet")
    assert ran.code == ExitCode.USAGE
    assert f"1 of 3 tasks have none, such as {task_name(2)}" in ran.error
    assert ask("--split", "test", "--shots", "2", "--tasks", "Task 00*", "--quiet").code == 0


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_results_folder_that_cannot_be_written_is_one_line(
    ask: Callable[..., Ran], server: Server, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").touch()
    ran = ask("--results", tmp_path / place, "--quiet")
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert "cannot write to the folder" in ran.error
    assert "--results" in ran.error
    assert len(server.seen) == 0


def test_a_key_with_a_line_break_or_chinese_in_it_is_refused_unseen(
    ask: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in (f"{KEY}\nX-Evil: 1", f"{KEY}密钥"):
        monkeypatch.setenv("MY_KEY", key)
        ran = ask("--api-key-env", "MY_KEY", "--quiet")
        assert ran.code == ExitCode.USAGE
        assert "MY_KEY" in ran.error
        assert KEY not in ran.error


# What the server says


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (error(401, "Incorrect API key provided"), "the key was refused"),
        (error(404, "The model `m` does not exist.", code="model_not_found"), "there is no such model"),
        (raw(b"<html>404</html>", 404, Content_Type="text/html"), "it may lack /v1"),
        (error(402, "Insufficient Balance"), "no credit left"),
        (error(400, "unknown parameter: 'model_kwargs'", code="unknown_parameter"), "model_kwargs"),
    ],
)
def test_what_holds_for_every_question_stops_the_run_in_one_line(
    ask: Callable[..., Ran], server: Server, act: Any, words: str
) -> None:
    server.models = None  # the first question goes alone
    server.default = lambda mark: act
    ran = ask("--quiet")
    assert (ran.code, ran.out) == (ExitCode.STOPPED, "")
    assert words in ran.error
    paths = [seen.path for seen in server.seen]
    assert len(set(paths)) == len(paths)  # no address twice


def test_where_nothing_answers_the_run_is_incomplete(
    ask: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("m3ke_async.preflight._LOOK_PAUSE", 0.0)
    ran = ask("--base-url", "http://127.0.0.1:9/v1", "--quiet")
    assert (ran.code, ran.out) == (ExitCode.INCOMPLETE, "")
    assert "nothing answers at http://127.0.0.1:9/v1" in ran.error


def test_a_stopped_run_keeps_its_replies_and_the_same_command_goes_on(
    ask: Callable[..., Ran], server: Server
) -> None:
    server.script["Q1-1"] = [error(402, "Insufficient Balance"), right_reply("Q1-1")]
    first = ask("--quiet", "--concurrency", "1")
    assert first.code == ExitCode.STOPPED
    assert "no credit left" in first.error
    assert "6 asked" in first.out  # what was answered is reported
    sent = len(server.seen)
    assert sent < 7
    second = ask("--quiet", "--concurrency", "1")
    assert (second.code, second.err) == (ExitCode.COMPLETE, "")
    assert len(server.seen) == 7
    assert set(server.counts.values()) == {1, 2}


def test_questions_without_a_reply_make_the_run_incomplete_and_are_named(
    ask: Callable[..., Ran], server: Server, tmp_path: Path
) -> None:
    server.script["Q0-0"] = [error(400, "no", param="messages")]
    ran = ask("--quiet")
    assert ran.code == ExitCode.INCOMPLETE
    assert ran.error == "incomplete: 1 question has no reply; the same command goes on"
    assert "Failed: 1 question (1 bad_request)" in ran.out
    assert f"  {task_name(0)} 0: vLLM" in ran.out
    (failed,) = tmp_path.glob("results/*/failed.jsonl")
    assert [json.loads(line)["id"] for line in failed.read_bytes().splitlines()] == [0]


@pytest.mark.parametrize("command", ["run", "plan", "check"])
def test_a_misspelt_model_is_told_before_anything_is_read(command: str, tmp_path: Path) -> None:
    assert "write provider/model" in m3ke(command, "openai", "--data", tmp_path / "nowhere").error
    assert "did you mean openai?" in m3ke(command, "openia/m", "--data", tmp_path / "nowhere").error


# What is printed


def test_quiet_prints_the_result_and_nothing_else(ask: Callable[..., Ran]) -> None:
    ran = ask("--quiet")
    assert (ran.code, ran.err) == (ExitCode.COMPLETE, "")
    assert "Accuracy 100.0 %" in ran.out
    assert "\x1b" not in ran.out


def test_json_is_all_of_standard_output(ask: Callable[..., Ran], tmp_path: Path) -> None:
    ran = ask("--json")
    assert ran.json["exit_code"] == 0
    assert ran.json["stopped"] is None
    folder = tmp_path / "results" / os.path.basename(ran.json["path"])  # noqa: PTH119
    assert ran.json["scores"] == json.loads((folder / "scores.json").read_bytes())
    assert ran.json["ledger"]["replies"] == 6
    assert "6 of 6" in ran.err  # the progress goes elsewhere


def test_json_of_a_stopped_run_says_why(ask: Callable[..., Ran], server: Server) -> None:
    server.models = None
    server.default = lambda mark: error(401, "no")
    ran = ask("--json", "--quiet")
    assert ran.json["exit_code"] == ran.code == ExitCode.STOPPED
    assert "the key was refused" in ran.json["stopped"]
    assert ran.json["stopped"] == ran.error


def test_the_effective_settings_are_printed_and_stored_those_of_zero_too(
    ask: Callable[..., Ran], tmp_path: Path
) -> None:
    ran = ask("--json", "--max-tokens", "7")
    lines = dict(line.split(maxsplit=1) for line in ran.err.splitlines())
    assert (lines["shots"], lines["temperature"], lines["max-tokens"]) == ("0", "0.0", "7")
    record = json.loads((tmp_path / "results" / ran.json["path"] / "run.json").read_bytes())
    assert (record["settings"]["shots"], record["settings"]["max_tokens"]) == (0, 7)
    assert record["settings"]["model"] == "vllm/m"


def test_the_command_line_goes_before_the_file(
    ask: Callable[..., Ran], server: Server, tmp_path: Path
) -> None:
    (tmp_path / "run.toml").write_bytes(b"\xef\xbb\xbfmax-tokens = 7\ntemperature = 0.5\nlimit = 1\n")
    assert ask("--config", tmp_path / "run.toml", "--max-tokens", "9", "--quiet").code == 0
    assert len(server.seen) == 2
    assert {(seen.body["max_tokens"], seen.body["temperature"]) for seen in server.seen} == {(9, 0.5)}


def test_a_model_in_the_file_must_be_a_text(ask: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("model = 5\n")
    ran = m3ke("run", "--config", tmp_path / "run.toml", "--quiet")
    assert ran.code == ExitCode.USAGE
    assert "the model must be a text, not 5" in ran.error


def test_a_pipe_gets_few_lines_and_no_control_characters(suite: Path, server: Server, tmp_path: Path) -> None:
    """As a CI job sees it: standard error is no terminal."""
    ran = m3ke_outside(
        "run", "vllm/m", "--base-url", server.url, "--data", suite, "--json", cwd=tmp_path, FORCE_COLOR="0"
    )
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["exit_code"] == 0
    lines = ran.stderr.decode().splitlines()
    assert lines[-1].startswith("6 of 6")
    assert len(lines) < 25
    assert all(line.isprintable() for line in lines)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_terminal_for_progress_leaves_standard_output_clean(
    suite: Path, server: Server, tmp_path: Path
) -> None:
    terminal, other_end = os.openpty()
    command = ["run", "vllm/m", "--base-url", server.url, "--data", str(suite), "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "m3ke_async", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "40"},
        stdout=subprocess.PIPE,
        stderr=other_end,
    ) as process:
        os.close(other_end)
        shown = b""
        with suppress(OSError):  # so Linux says that the other end was closed
            while part := os.read(terminal, 65536):
                shown += part
        os.close(terminal)
        out, _ = process.communicate(timeout=60)
    assert json.loads(out)["exit_code"] == process.returncode == 0
    assert b"6 of 6" in shown
    assert "━".encode() in shown
    assert b"\x1b" not in out


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such shell")
def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    shown = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m m3ke_async providers openai | head -c 1 > /dev/null"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert shown.stderr == b""


def test_a_disk_that_gives_out_is_one_line(ask: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*arguments: object) -> None:
        raise OSError(28, "No space left on device", "answers.jsonl")

    monkeypatch.setattr("m3ke_async.run.write_results", no_room)
    ran = ask("--quiet")
    assert ran.code == ExitCode.INCOMPLETE
    assert "No space left on device; stored replies are kept, and the same command goes on" in ran.error


@pytest.mark.parametrize("words", [["plan"], ["check"]])
def test_quiet_commands_print_their_result_alone(ask: Callable[..., Ran], words: list[str]) -> None:
    ran = ask("--quiet", command=words[0])
    assert (ran.code, ran.err) == (0, "")
    assert ran.out


# check


def test_check_asks_one_question_and_tells_what_it_saw(ask: Callable[..., Ran], server: Server) -> None:
    ran = ask(command="check")
    assert ran.code == 0
    assert len(server.seen) == 1
    assert "model        listed" in ran.out
    assert "tokens       10 in, 2 out" in ran.out
    (one,) = ask("--json", command="check").json
    assert (one["choice"], one["outcome"], one["listed"]) == ("A", "answered", True)


def test_check_takes_a_question_from_wherever_there_is_one(ask: Callable[..., Ran], suite: Path) -> None:
    write_suite(suite, 1, 1, split="test")
    (suite / "dev" / f"{task_name(0)}.jsonl").unlink()  # the first task has no dev rows
    assert ask("--quiet", command="check").code == 0


def test_check_names_the_setting_when_the_reply_is_cut_off(ask: Callable[..., Ran], server: Server) -> None:
    from tests.server import reply

    server.default = lambda mark: reply("让我们一步一步地想", finish="length")
    ran = ask(command="check")
    assert ran.code == 0
    assert "--max-tokens" in ran.out


@pytest.mark.parametrize(
    ("act", "code", "words"),
    [
        (error(401, "no"), ExitCode.STOPPED, "the key was refused"),
        (raw(b"nothing here", 404), ExitCode.STOPPED, "it may lack /v1"),
        (error(500, "oops"), ExitCode.INCOMPLETE, "the server failed"),
        (raw(b"{}"), ExitCode.INCOMPLETE, "no choices"),
    ],
)
def test_check_says_in_one_line_what_is_wrong_and_at_which_address(
    ask: Callable[..., Ran], server: Server, act: Any, code: ExitCode, words: str
) -> None:
    server.default = lambda mark: act
    ran = ask("--quiet", command="check")
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.error
    assert server.url in ran.error


def test_check_waits_no_longer_than_its_timeout(ask: Callable[..., Ran], server: Server) -> None:
    server.default = lambda mark: HANG
    ran = ask("--quiet", "--timeout", "0.2", command="check")
    assert ran.code == ExitCode.INCOMPLETE
    assert "no answer came in time" in ran.error


# Keys (C20): in no file and in no stream


def everything_in(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("key", [KEY, OTHER_KEY])
def test_a_key_that_the_server_repeats_is_nowhere(
    ask: Callable[..., Ran],
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    echo = f"Incorrect API key provided: {key}, {key[:-5]}*****. Bearer {key} https://h?key={key}"
    server.default = lambda mark: error(401, echo)
    for command in ("run", "check"):
        ran = ask("--api-key-env", "MY_KEY", command=command)
        assert ran.code == ExitCode.STOPPED
        assert server.seen[-1].headers["authorization"] == f"Bearer {key}"
        assert "set MY_KEY to a valid key" in ran.err
        for text in (ran.out, ran.err, everything_in(tmp_path).decode("latin-1")):
            assert "SENTINEL" not in text


@pytest.mark.parametrize("status", [400, 429, 500])
def test_a_key_in_the_body_of_any_failure_is_not_kept(
    ask: Callable[..., Ran], server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("MY_KEY", OTHER_KEY)
    server.script["Q0-0"] = [error(status, f"you sent {OTHER_KEY}", param="messages")]
    ran = ask("--api-key-env", "MY_KEY", "--max-attempts", "1", "--json")
    assert ran.code == ExitCode.INCOMPLETE
    assert "SENTINEL" not in ran.out + ran.err
    assert b"SENTINEL" not in everything_in(tmp_path)


def test_a_key_in_the_address_is_sent_and_kept_nowhere(
    ask: Callable[..., Ran], server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = server.url.replace("http://", f"http://user:{KEY}@") + f"?key={KEY}&version=1"
    server.script["Q0-0"] = [error(400, f"bad request to /v1?key={KEY}", param="messages")]
    ran = ask("--base-url", url, "--json", model="custom/m")
    assert ran.code == ExitCode.INCOMPLETE
    assert server.seen[0].path == f"/v1/chat/completions?key={KEY}&version=1"
    assert server.seen[0].headers["authorization"].startswith("Basic ")
    assert "?version=1" in ran.err
    for text in (ran.out, ran.err, caplog.text, everything_in(tmp_path).decode("latin-1")):
        assert "SENTINEL" not in text
    again = m3ke("score", ran.json["path"], "--json")
    assert "SENTINEL" not in again.out + again.err


def test_a_user_in_the_address_and_a_key_cannot_both_be_sent(
    ask: Callable[..., Ran], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    url = server.url.replace("http://", f"http://user:{KEY}@")
    ran = ask("--base-url", url, "--api-key-env", "MY_KEY", "--quiet", model="custom/m")
    assert ran.code == ExitCode.USAGE
    assert "give one of them" in ran.error
    assert "SENTINEL" not in ran.error


def test_a_key_given_in_place_of_its_variable_is_not_printed(ask: Callable[..., Ran]) -> None:
    ran = ask("--api-key-env", KEY)
    assert ran.code == ExitCode.USAGE
    assert "SENTINEL" not in ran.out + ran.err


@pytest.mark.parametrize("wrong", [f"Bearer {KEY}", f"{KEY} {KEY}", f"{KEY}\u200b"])
def test_a_key_that_cannot_be_one_is_refused_before_it_is_sent(
    ask: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, server: Server, wrong: str
) -> None:
    monkeypatch.setenv("MY_KEY", wrong)
    ran = ask("--api-key-env", "MY_KEY", "--quiet")
    assert (ran.code, ran.out, server.looks) == (ExitCode.USAGE, "", 0)
    assert "without a space or a word such as Bearer before it" in ran.error
    assert "SENTINEL" not in ran.error


def test_a_crash_shows_no_key(
    ask: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    def crash(*arguments: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setattr("m3ke_async.run.write_results", crash)
    with pytest.raises(RuntimeError) as caught:
        ask("--api-key-env", "MY_KEY", "--base-url", f"{server.url}?key={KEY}")
    shown = "".join(traceback.format_exception(caught.value))
    assert "SENTINEL" not in shown
    assert b"SENTINEL" not in everything_in(tmp_path)
    monkeypatch.undo()
    assert ask("--base-url", f"{server.url}?key={KEY}", "--quiet").code == 0
    assert set(server.counts.values()) == {1}  # what the crash did not lose is not asked again
