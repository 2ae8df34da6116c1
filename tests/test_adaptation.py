"""What is sent in place of a refused request: told from real words, done once a run, found again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from m3ke_async.adaptation import CHANGES, adapt, find_change, named, refused_by_file
from m3ke_async.error_body import read_body
from m3ke_async.errors import DataError, ExitCode, StoppedError
from m3ke_async.faults import decide
from m3ke_async.providers import load_profile
from m3ke_async.reopen import rescore
from m3ke_async.request import canonical_body
from m3ke_async.rules import Kind
from m3ke_async.rundir import RunDir
from tests import recorded
from tests.asking import Notes, ask, lines, quick
from tests.command import m3ke
from tests.questions import write_suite
from tests.server import error, raw, right_reply

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.server import Act, Server

USER = {"role": "user", "content": "问"}
BODY: dict[str, Any] = {"model": "m", "messages": [USER], "temperature": 0, "max_tokens": 64}
NEWER = {"model": "m", "messages": [USER], "temperature": 0, "max_completion_tokens": 64}
SYSTEM = {**BODY, "messages": [{"role": "system", "content": "s"}, USER]}
TEXT = {"model": "m", "prompt": "问", "temperature": 0, "max_tokens": 64, "stop": ["\n\n"], "logprobs": 20}
TOP = {**BODY, "logprobs": True, "top_logprobs": 20}
TGI = {"inputs": "问", "parameters": {"max_new_tokens": 8, "temperature": 0.5, "stop": ["\n"]}}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


def openai_says(message: str, param: str | None = None, code: str | None = None) -> Any:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def tgi_says(message: str) -> Any:
    return {"error": message, "error_type": "validation"}


def found(body: dict[str, Any], answer: Any, *, status: int = 400, provider: str = "custom") -> str | None:
    raw_answer = json.dumps(answer).encode()
    kind = decide(
        load_profile(provider), status=status, headers={}, body=raw_answer, exception=None, now=0.0
    ).kind
    change = find_change(kind, read_body(raw_answer, success=False), canonical_body(body))
    return None if change is None else change.name


REFUSALS = [
    (
        BODY,
        openai_says(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
            "value is supported.",
            "temperature",
            "unsupported_value",
        ),
        "no_temperature",
    ),
    (
        BODY,
        openai_says(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        ),
        "max_completion_tokens",
    ),
    (NEWER, openai_says("Unrecognized request argument supplied: max_completion_tokens"), "max_tokens"),
    (NEWER, {"detail": "Unexpected fields in the request: {'max_completion_tokens'}"}, "max_tokens"),
    (
        NEWER,
        {
            "detail": [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "max_completion_tokens"],
                    "msg": "Extra inputs are not permitted",
                }
            ]
        },
        "max_tokens",
    ),
    (
        SYSTEM,
        openai_says(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "messages[0].role",
            "unsupported_value",
        ),
        "system_in_user",
    ),
    (SYSTEM, openai_says("System role not supported"), "system_in_user"),
    (
        SYSTEM,
        openai_says("Conversation roles must alternate user/assistant/user/assistant/...", "messages"),
        "system_in_user",
    ),
    (BODY, openai_says("`temperature` is deprecated for this model."), "no_temperature"),
    (BODY, openai_says("invalid temperature: only 1 is allowed for this model"), "no_temperature"),
    (BODY, tgi_says("Input validation error: `temperature` must be strictly positive"), "low_temperature"),
    (BODY, openai_says("temperature must be in (0, 1], got 0", "temperature"), "low_temperature"),
    (BODY, openai_says("temperature 参数必须大于0", "temperature"), "low_temperature"),
    (TEXT, openai_says("Unsupported parameter: 'stop'", "stop"), "no_stop"),
    (TGI, tgi_says("Input validation error: `stop` supports up to 0 stop sequences"), "no_stop"),
    (
        TOP,
        openai_says("Requested sample logprobs of 20, which is greater than max allowed: 5", "logprobs"),
        "few_logprobs",
    ),
    (TEXT, openai_says("logprobs must be less than or equal to 5", "logprobs"), "few_logprobs"),
]

NOT_ABOUT_US = [
    # the user's own value, which nobody changes for them
    ({**BODY, "temperature": 1.5}, openai_says("temperature must be in [0, 1], got 1.5", "temperature")),
    (BODY, openai_says("max_tokens is too large: 64. This model supports at most 16 tokens", "max_tokens")),
    # another parameter, another matter
    (BODY, openai_says("Unknown parameter: 'seed'", "seed", "unknown_parameter")),
    (BODY, openai_says("The parameter temperature is fine, top_p is not", "top_p")),
    (BODY, openai_says("System role not supported")),
    (BODY, openai_says("no such user")),
    (SYSTEM, openai_says("messages: at least one message is required", "messages")),
    (
        BODY,
        openai_says(
            "This model's maximum context length is 4096 tokens, reduce the length of the messages or "
            "max_tokens",
            code="context_length_exceeded",
        ),
    ),
    ({"model": "m", "messages": [USER]}, openai_says("Unsupported parameter: 'temperature'", "temperature")),
    (BODY, "Internal Server Error"),
]


@pytest.mark.parametrize(("body", "answer", "name"), REFUSALS)
def test_the_words_of_a_refusal_name_what_to_change(body: dict[str, Any], answer: Any, name: str) -> None:
    assert found(body, answer) == name


@pytest.mark.parametrize(("body", "answer"), NOT_ABOUT_US)
def test_what_is_not_about_a_parameter_of_ours_changes_nothing(body: dict[str, Any], answer: Any) -> None:
    assert found(body, answer) is None


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429, 503])
def test_key_money_model_and_load_are_never_adapted_away(status: int) -> None:
    assert found(BODY, openai_says("temperature is not supported"), status=status) is None


def test_a_template_that_fails_on_the_server_is_a_refusal_too() -> None:
    answer = openai_says("Jinja Exception: System role not supported")
    assert found(SYSTEM, answer, status=500) == "system_in_user"
    assert found(BODY, openai_says("temperature broke"), status=500) is None


def test_a_change_is_made_once() -> None:
    raw_answer = json.dumps(openai_says("temperature is not supported", "temperature")).encode()
    refusal = read_body(raw_answer, success=False)
    (made,) = named(["no_temperature"])
    assert find_change(Kind.BAD_PARAMETER, refusal, canonical_body(BODY), (made,)) is None


def test_every_change_changes_what_it_is_for() -> None:
    changed = {change.name: adapt(TOP | SYSTEM | {"stop": ["x"]}, [change]) for change in CHANGES}
    assert changed["max_completion_tokens"]["max_completion_tokens"] == 64
    assert "max_tokens" not in changed["max_completion_tokens"]
    assert changed["low_temperature"]["temperature"] == 0.01
    assert "temperature" not in changed["no_temperature"]
    assert "stop" not in changed["no_stop"]
    assert changed["system_in_user"]["messages"] == [{"role": "user", "content": "s\n\n问"}]
    assert (changed["few_logprobs"]["top_logprobs"], changed["few_logprobs"]["logprobs"]) == (5, True)
    assert adapt(TGI, named(["no_temperature", "no_stop"])) == {
        "inputs": "问",
        "parameters": {"max_new_tokens": 8},
    }
    assert adapt({"prompt": "问"}, CHANGES) == {"prompt": "问"}


def test_a_providers_file_can_say_it_beforehand() -> None:
    assert [change.name for change in refused_by_file(("seed", "temperature"))] == ["no_temperature"]


@pytest.mark.parametrize(
    ("server", "name", "sent"),
    [
        (recorded.VLLM, "chat top_logprobs 30", {**TOP, "top_logprobs": 30}),
    ],
)
def test_recorded_refusals(shared: Path, server: str, name: str, sent: dict[str, Any]) -> None:
    probe = recorded.probe(shared, server, name)
    assert found(sent, probe["body"], status=probe["status"], provider="vllm") == "few_logprobs"


# -- a run ---------------------------------------------------------------------------------


def unless(server: Server, refused: str, answer: Act) -> Callable[[str], Act]:
    """The right letter to every question whose body lacks a field."""
    return lambda mark: answer if refused in server.seen[-1].body else right_reply(mark)


NO_TEMPERATURE = raw(REFUSALS[0][1], 400)
NO_MAX_TOKENS = raw(REFUSALS[1][1], 400)


async def test_a_run_goes_on_without_what_the_model_refuses_and_says_so_once(
    server: Server, tmp_path: Path
) -> None:
    server.default = unless(server, "temperature", NO_TEMPERATURE)
    notes = Notes()
    suite = write_suite(tmp_path / "suite", tasks=2)
    result = await ask(suite, server.url, tmp_path / "results", notes=notes)
    assert result.exit_code is ExitCode.COMPLETE
    assert result.scores.total.correct == 8
    assert len(server.seen) == 9  # one refusal, which costs nothing
    (warning,) = notes.warned
    assert "'temperature' does not support 0" in warning
    assert "no temperature is sent" in warning
    record = orjson.loads((result.path / "run.json").read_bytes())
    assert record["adapted"] == ["no_temperature"]
    assert record["settings"]["temperature"] == 0.0
    assert record["counts"] == {
        "total": 8,
        "stored": 0,
        "answered": 8,
        "failed": 0,
        "dropped_shots": 0,
    }


async def test_several_parameters_are_found_one_after_the_other(server: Server, tmp_path: Path) -> None:
    def answer(mark: str) -> Act:
        body = server.seen[-1].body
        if "max_tokens" in body:
            return NO_MAX_TOKENS
        return NO_TEMPERATURE if "temperature" in body else right_reply(mark)

    server.default = answer
    result = await ask(write_suite(tmp_path / "suite"), server.url, tmp_path / "results")
    assert result.exit_code is ExitCode.COMPLETE
    assert server.seen[-1].body.keys() == {"model", "messages", "max_completion_tokens"}
    assert result.ledger.requests == 6
    assert result.ledger.wasted_tokens == 0


async def test_the_next_command_asks_nothing_again_and_begins_with_what_is_known(
    server: Server, tmp_path: Path
) -> None:
    server.default = unless(server, "temperature", NO_TEMPERATURE)
    suite = write_suite(tmp_path / "suite", tasks=2)
    first = await ask(suite, server.url, tmp_path / "r", max_requests=4)
    assert first.exit_code is ExitCode.INCOMPLETE
    notes = Notes()
    second = await ask(suite, server.url, tmp_path / "r", notes=notes)
    assert second.exit_code is ExitCode.COMPLETE
    assert [seen.mark for seen in server.seen if "temperature" in seen.body] == ["Q0-0"]
    assert sum(server.paid.values()) == 8
    assert notes.warned == []
    assert any("no temperature is sent" in line for line in notes.said)


@pytest.mark.parametrize("gone", ["run.json", None])
async def test_another_run_of_the_same_questions_finds_the_adapted_replies(
    server: Server, tmp_path: Path, gone: str | None
) -> None:
    server.default = unless(server, "temperature", NO_TEMPERATURE)
    suite = write_suite(tmp_path / "suite")
    first = await ask(suite, server.url, tmp_path / "r", limit=2)
    if gone:
        (first.path / gone).unlink()
    again = await ask(suite, server.url, tmp_path / "r", limit=2 if gone else None)
    assert again.exit_code is ExitCode.COMPLETE
    assert sum(server.paid.values()) == (2 if gone else 4)


async def test_many_at_once_are_refused_without_a_failure_that_stays(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The list of models came at once, so that others go along with the first question.
    monkeypatch.setattr("m3ke_async.session._ALONE", 0.0)
    monkeypatch.setattr("m3ke_async.preflight._ALONE_FACTOR", 0.0)
    server.default = unless(server, "temperature", NO_TEMPERATURE.after(0.02))
    result = await ask(write_suite(tmp_path / "suite", tasks=3), server.url, tmp_path / "r")
    assert result.exit_code is ExitCode.COMPLETE
    assert result.scores.total.correct == 12
    assert server.max_in_flight > 1
    assert all(line["failure"] is None for line in lines(result))


async def test_what_was_answered_before_is_not_mixed_with_another_request(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite")
    await ask(suite, server.url, tmp_path / "r", max_requests=2)
    server.default = unless(server, "temperature", NO_TEMPERATURE)
    result = await ask(suite, server.url, tmp_path / "r")
    assert result.exit_code is ExitCode.INCOMPLETE
    assert [line["failure"] is None for line in lines(result)] == [True, True, False, False]
    assert orjson.loads((result.path / "run.json").read_bytes())["adapted"] == []


async def test_a_parameter_that_stays_refused_stops_the_run(server: Server, tmp_path: Path) -> None:
    server.default = lambda mark: NO_TEMPERATURE
    result = await ask(write_suite(tmp_path / "suite"), server.url, tmp_path / "r")
    assert isinstance(result.stopped, StoppedError)
    assert len(server.seen) == 2


async def test_scoring_and_planning_know_the_adapted_requests(server: Server, tmp_path: Path) -> None:
    server.default = unless(server, "temperature", NO_TEMPERATURE)
    suite = write_suite(tmp_path / "suite")
    result = await ask(suite, server.url, tmp_path / "r")
    again = rescore(RunDir(result.path), warn=print)
    assert again.scores.total.correct == 4
    given = ["--base-url", server.url, "--data", str(suite), "--results", str(tmp_path / "r")]
    assert m3ke("plan", "custom/m", *given, "--json").json["stored"] == 4
    shown = m3ke("explain", str(result.path), "Task 00*", "0").out
    assert "outcome answered" in shown


async def test_a_run_that_was_adapted_by_a_newer_version_is_not_touched(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite")
    result = await ask(suite, server.url, tmp_path / "r", max_requests=1)
    file = result.path / "run.json"
    record = orjson.loads(file.read_bytes())
    file.write_bytes(orjson.dumps(record | {"adapted": ["by_magic"]}))
    with pytest.raises(DataError, match="by_magic"):
        await ask(suite, server.url, tmp_path / "r")


async def test_a_secret_in_a_refusal_is_not_shown(server: Server, tmp_path: Path) -> None:
    server.default = unless(
        server, "temperature", error(400, "temperature is not supported, S3cretPassw0rd", param="temperature")
    )
    notes = Notes()
    url = server.url.replace("http://", "http://user:S3cretPassw0rd@")
    await ask(write_suite(tmp_path / "suite"), url, tmp_path / "r", notes=notes)
    assert len(notes.warned) == 1
    assert "S3cret" not in notes.warned[0]
