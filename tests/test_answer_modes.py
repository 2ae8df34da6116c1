"""Constrained answers and answers by probability: what is sent, what is proven first, what comes of it."""

from __future__ import annotations

import json
from math import log
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from m3ke_async.errors import ExitCode, StoppedError, UsageError
from m3ke_async.reopen import rescore
from m3ke_async.rundir import RunDir
from m3ke_async.wire.constraint import held_letter
from tests.asking import Notes, ask, lines, quick
from tests.command import m3ke
from tests.questions import write_suite
from tests.server import Server, error, raw, reply, right

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.server import Act

FREE = "长城是中国古代的伟大工程。"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite")


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("A", "A"),
        (" B\n", "B"),
        ('{"answer": "C"}', "C"),
        ('{ "answer" :"D" }\n', "D"),
        ("A.", None),
        ("AB", None),
        ("答案A", None),
        ('{"answer": "E"}', None),
        ('{"answer": "A"', None),
        ('{"answer": "A", "b": 1}', None),
        ("", None),
    ],
)
def test_only_a_reply_of_the_exact_form_was_held(text: str, letter: str | None) -> None:
    found = held_letter(text)
    assert (found[0] if found else None) == letter
    assert found is None or text[slice(*found[1])] == letter


# -- constrained ---------------------------------------------------------------------------


def holds(server: Server, field: str, *, refuses: tuple[str, ...] = ()) -> Callable[[str], Act]:
    """A server that knows one field; others are refused or dropped without a word."""

    def answer(mark: str) -> Act:
        body = server.seen[-1].body
        for name in refuses:
            if name in body:
                return raw({"detail": f"Unexpected fields in the request: {{'{name}'}}"}, 422)
        is_proof = mark == "proof"
        if field in body:
            letter = "B" if is_proof else right(mark)
            form = body.get("response_format", {}).get("type")
            return reply(json.dumps({"answer": letter}) if form == "json_schema" else letter)
        return reply(FREE if is_proof else f"答案：{right(mark)}")

    return answer


KEY = "zq81SENTINELx0123456789"  # of no known form

FIELDS = {
    "structured_outputs": {"choice": ["A", "B", "C", "D"]},
    "guided_choice": ["A", "B", "C", "D"],
    "regex": "[ABCD]",
    "grammar": "root ::= [ABCD]",
}


@pytest.mark.parametrize(
    ("field", "refuses", "proofs"),
    [
        ("structured_outputs", (), 1),
        ("guided_choice", (), 2),
        ("regex", (), 3),
        ("regex", ("structured_outputs", "guided_choice"), 3),
        ("grammar", ("regex",), 4),
        ("response_format", ("structured_outputs",), 5),
    ],
)
async def test_the_first_form_that_takes_effect_is_used_for_every_question(
    server: Server, suite: Path, tmp_path: Path, *, field: str, refuses: tuple[str, ...], proofs: int
) -> None:
    server.default, notes = holds(server, field, refuses=refuses), Notes()
    result = await ask(suite, server.url, tmp_path / "r", notes=notes, answer="constrained")
    assert result.exit_code is ExitCode.COMPLETE
    assert result.scores.total.correct == 4
    assert server.counts["proof"] == proofs
    for seen in server.seen[proofs:]:
        assert field in seen.body
        assert len(seen.body.keys() & {*FIELDS, "response_format"}) == 1
        assert seen.body[field] == FIELDS.get(field, seen.body[field])
    assert {line["rule"] for line in lines(result)} == {"constrained"}
    assert any("held to one letter" in line for line in notes.said)
    assert result.ledger.requests == 4 + proofs


async def test_a_constraint_that_is_dropped_without_a_word_is_found_out(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.default = holds(server, "none of them")
    result = await ask(suite, server.url, tmp_path / "r", model="vllm/m", answer="constrained")
    assert isinstance(result.stopped, StoppedError)
    said = str(result.stopped)
    assert "structured_outputs.choice is ignored; guided_choice is ignored" in said
    assert "--answer text" in said
    assert {seen.mark for seen in server.seen} == {"proof"}


async def test_a_refusal_is_shown_in_the_servers_words(server: Server, suite: Path, tmp_path: Path) -> None:
    server.default = holds(server, "none", refuses=("regex", "response_format"))
    result = await ask(suite, server.url, tmp_path / "r", model="sglang/m", answer="constrained")
    assert "regex is refused (Unexpected fields in the request: {'regex'})" in str(result.stopped)


async def test_a_key_in_the_words_of_a_refused_proof_is_not_shown(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    from m3ke_async.run import run
    from tests.asking import settings

    server.default = lambda mark: raw(
        {"detail": f"Unexpected fields in the request: {{'regex'}} of {KEY}"}, 422
    )
    made = settings(
        suite, server.url, tmp_path / "r", model="sglang/m", answer="constrained", api_key_env="THE_KEY"
    )
    result = await run(made, environ={"THE_KEY": KEY})
    assert "regex is refused (Unexpected fields in the request: {'regex'} of [key])" in str(result.stopped)


async def test_every_server_must_be_proven(server: Server, suite: Path, tmp_path: Path) -> None:
    server.default = holds(server, "structured_outputs")
    async with Server() as older:
        older.default = holds(older, "guided_choice")
        urls = [server.url, older.url]
        result = await ask(suite, urls, tmp_path / "r", model="vllm/m", answer="constrained")
    assert isinstance(result.stopped, StoppedError)
    assert server.counts["proof"] == 3  # each form in turn
    assert older.counts["proof"] == 1


async def test_the_next_command_keeps_the_form_and_proves_it_again(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.default = holds(server, "guided_choice")
    first = await ask(suite, server.url, tmp_path / "r", model="vllm/m", answer="constrained", max_requests=3)
    assert first.exit_code is ExitCode.INCOMPLETE
    record = orjson.loads((first.path / "run.json").read_bytes())
    assert record["sent"]["constraints"] == ["guided_choice"]
    before = len(server.seen)
    again = await ask(suite, server.url, tmp_path / "r", model="vllm/m", answer="constrained")
    assert again.exit_code is ExitCode.COMPLETE
    assert [seen.mark for seen in server.seen[before:]].count("proof") == 1
    assert all(count == 1 for mark, count in server.paid.items() if mark != "proof")
    assert rescore(RunDir(again.path), warn=print).scores.total.correct == 4


async def test_a_server_that_no_longer_holds_replies_gives_no_letters(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    held = holds(server, "guided_choice")
    server.default = lambda mark: held(mark) if mark == "proof" else reply(f"答案：{right(mark)}")
    result = await ask(suite, server.url, tmp_path / "r", model="vllm/m", answer="constrained")
    assert [line["choice"] for line in lines(result)] == [None] * 4
    assert {line["outcome"] for line in lines(result)} == {"unparsed"}


async def test_a_busy_server_is_asked_again_for_the_proof(
    server: Server, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(monkeypatch)
    server.script["proof"] = [error(503, "overloaded"), error(429, "slow"), reply("A")]
    server.default = holds(server, "structured_outputs")
    result = await ask(suite, server.url, tmp_path / "r", model="vllm/m", answer="constrained")
    assert result.exit_code is ExitCode.COMPLETE
    assert server.counts["proof"] == 3


async def test_a_parameter_that_is_refused_meanwhile_is_adapted(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    held = holds(server, "structured_outputs")
    no = error(400, "temperature is not supported", param="temperature")
    server.default = lambda mark: no if "temperature" in server.seen[-1].body else held(mark)
    result = await ask(suite, server.url, tmp_path / "r", model="vllm/m", answer="constrained")
    assert result.exit_code is ExitCode.COMPLETE
    record = orjson.loads((result.path / "run.json").read_bytes())
    assert record["adapted"] == ["no_temperature"]
    assert record["sent"]["constraints"] == ["structured_outputs.choice"]


async def test_tgi_takes_a_grammar_among_its_parameters(server: Server, suite: Path, tmp_path: Path) -> None:
    def answer(mark: str) -> Act:
        held = server.seen[-1].body["parameters"].get("grammar") == {"type": "regex", "value": "[ABCD]"}
        text = (right(mark) if mark != "proof" else "A") if held else FREE
        return raw({"generated_text": text, "details": {"finish_reason": "eos_token", "generated_tokens": 1}})

    server.default = answer
    result = await ask(suite, server.url, tmp_path / "r", model="tgi/m", protocol="tgi", answer="constrained")
    assert result.exit_code is ExitCode.COMPLETE
    assert result.scores.total.correct == 4


# -- by probability --------------------------------------------------------------------------


def likely(letter: str, *, share: float = 0.7, text: str | None = None) -> Act:
    """A reply that writes something, and whose first token is this letter so likely."""
    others = {other: (0.9 - share) / 3 for other in "ABCD" if other != letter}
    written = text if text is not None else letter
    top = {letter: share, **others, "答案": 0.1}
    entry = {
        "token": written,
        "logprob": -0.1,
        "top_logprobs": [{"token": token, "logprob": log(part)} for token, part in top.items()],
    }
    answer: dict[str, Any] = orjson.loads(reply(written).body)
    answer["choices"][0]["logprobs"] = {"content": [entry]}
    return raw(answer)


async def test_the_likeliest_letter_is_the_answer_whatever_the_text_says(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.default = lambda mark: likely("A" if mark == "proof" else right(mark), text="答案是D")
    result = await ask(suite, server.url, tmp_path / "r", answer="logprobs")
    assert result.exit_code is ExitCode.COMPLETE
    assert result.scores.total.correct == 4
    assert {(line["rule"], line["span"]) for line in lines(result)} == {("logprobs", None)}
    found = lines(result)[0]["letters"]
    assert list(found) == list("ABCD")
    assert sum(found.values()) == pytest.approx(0.9, abs=1e-5)
    assert result.scores.diagnostics is not None
    assert result.scores.diagnostics.outside == pytest.approx(0.1, abs=1e-5)
    sent = server.seen[-1].body
    assert (sent["logprobs"], sent["top_logprobs"], sent["max_tokens"]) == (True, 20, 4)
    assert server.counts["proof"] == 1
    shown = m3ke("explain", str(result.path), "Task 00*", "0").out
    assert "other tokens 10.0 %" in shown
    told = m3ke("score", str(result.path)).out
    assert "--answer logprobs" in told
    assert "Probability on no letter where answers begin: 10.0 %" in told


async def test_replies_without_probabilities_stop_the_run_before_the_first_question(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.default = lambda mark: reply(FREE if mark == "proof" else right(mark))
    result = await ask(suite, server.url, tmp_path / "r", answer="logprobs")
    assert isinstance(result.stopped, StoppedError)
    assert "top_logprobs" in str(result.stopped)
    assert {seen.mark for seen in server.seen} == {"proof"}


async def test_probabilities_that_are_refused_stop_the_run(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.default = lambda mark: error(400, "logprobs are not supported with this model", param="logprobs")
    result = await ask(suite, server.url, tmp_path / "r", answer="logprobs")
    assert isinstance(result.stopped, StoppedError)
    assert "refuses --answer logprobs (logprobs are not supported with this model)" in str(result.stopped)


async def test_fewer_tokens_are_asked_for_where_so_many_are_refused(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    no = error(400, "top_logprobs must be less than or equal to 5", param="top_logprobs")
    server.default = lambda mark: (
        no if server.seen[-1].body["top_logprobs"] > 5 else likely("A" if mark == "proof" else right(mark))
    )
    result = await ask(suite, server.url, tmp_path / "r", answer="logprobs")
    assert result.exit_code is ExitCode.COMPLETE
    assert server.seen[-1].body["top_logprobs"] == 5


async def test_the_probabilities_are_stored_and_found_again(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.default = lambda mark: likely("A" if mark == "proof" else right(mark))
    result = await ask(suite, server.url, tmp_path / "r", answer="logprobs")
    before = lines(result)
    again = rescore(RunDir(result.path), warn=print)
    assert again.scores.total.correct == 4
    (tmp_path / "r" / "replies.sqlite").unlink()
    without_store = rescore(RunDir(result.path), warn=print)
    assert without_store.scores.diagnostics is not None
    assert without_store.scores.total.correct == 4
    assert lines(result) == before


async def test_a_base_model_is_asked_for_the_first_token_alone(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    def answer(mark: str) -> Act:
        letter = "A" if mark == "proof" else right(mark)
        tops = {f" {letter}": log(0.5), " E": log(0.1)}
        choice = {
            "text": f" {letter}",
            "finish_reason": "length",
            "logprobs": {"tokens": [f" {letter}"], "top_logprobs": [tops]},
        }
        return raw({"choices": [choice]})

    server.default = answer
    result = await ask(suite, server.url, tmp_path / "r", protocol="completions", answer="logprobs")
    assert result.scores.total.correct == 4
    sent = server.seen[-1].body
    assert (sent["logprobs"], sent["max_tokens"]) == (20, 4)
    assert "stop" not in sent


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("groq/m", {"answer": "logprobs"}, "gives no probabilities"),
        ("vllm/m", {"answer": "logprobs", "thinking": "on"}, "which is a thought"),
        ("deepseek/m", {"answer": "constrained"}, "it is not known how DeepSeek holds a reply"),
    ],
)
async def test_what_cannot_be_is_refused_before_anything_is_sent(
    server: Server, suite: Path, tmp_path: Path, *, model: str, options: dict[str, str], words: str
) -> None:
    from m3ke_async.run import run
    from tests.asking import settings

    made = settings(suite, server.url, tmp_path / "r", model=model, **options)
    keys = {"GROQ_API_KEY": "k" * 40, "DEEPSEEK_API_KEY": "k" * 40}
    with pytest.raises(UsageError, match=words):
        await run(made, environ=keys)
    assert server.seen == []


async def test_each_mode_is_a_run_of_its_own(server: Server, suite: Path, tmp_path: Path) -> None:
    held = holds(server, "structured_outputs")
    server.default = lambda mark: (
        likely("A" if mark == "proof" else right(mark)) if "logprobs" in server.seen[-1].body else held(mark)
    )
    paths = {
        (await ask(suite, server.url, tmp_path / "r", model="vllm/m", answer=mode)).path
        for mode in ("text", "constrained", "logprobs", "text")
    }
    assert len(paths) == 3
    assert len([seen for seen in server.seen if seen.mark != "proof"]) == 12


# -- m3ke check ------------------------------------------------------------------------------


async def checked(server: Server, suite: Path, *options: str) -> Any:
    import asyncio

    given = ["check", "vllm/m", "--base-url", server.url, "--data", str(suite), "--quiet", *options]
    return await asyncio.to_thread(m3ke, *given)


async def test_check_proves_the_constraint_and_names_it(server: Server, suite: Path) -> None:
    server.default = holds(server, "guided_choice")
    ran = await checked(server, suite, "--answer", "constrained")
    assert ran.code == ExitCode.COMPLETE
    assert "constraint   guided_choice, which took effect" in ran.out
    assert "choice       A (answered)" in ran.out


async def test_check_shows_the_probabilities(server: Server, suite: Path) -> None:
    server.default = lambda mark: likely("A" if mark == "proof" else right(mark))
    ran = await checked(server, suite, "--answer", "logprobs")
    assert "letters      A 70.0 %" in ran.out
    assert "other tokens 10.0 %" in ran.out


async def test_check_says_what_each_form_came_to(server: Server, suite: Path) -> None:
    server.default = holds(server, "none", refuses=("guided_choice",))
    ran = await checked(server, suite, "--answer", "constrained")
    assert ran.code == ExitCode.STOPPED
    assert "structured_outputs.choice is ignored; guided_choice is refused" in ran.err
