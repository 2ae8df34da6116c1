"""The completions protocol: plain text to a body, continuations to replies, and a whole run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.providers import load_profile
from m3ke_async.request import FILTERED, Reply, Usage
from m3ke_async.wire.completions import body, parse
from m3ke_async.wire.protocol import Wanted
from tests import recorded
from tests.asking import ask, lines
from tests.questions import write_suite
from tests.server import USAGE, raw, right

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server import Act, Server

PROFILE = load_profile("custom")


def continued(text: Any, finish: str | None = "stop", **fields: Any) -> bytes:
    choice = {"index": 0, "text": text, "finish_reason": finish, **fields}
    return json.dumps({"object": "text_completion", "choices": [choice], "usage": USAGE}).encode()


def test_the_prompt_is_plain_text_and_the_stops_are_sent() -> None:
    asked = Wanted("m", 0.0, 8, stop=("\n\n",))
    assert body(asked, [{"role": "user", "content": "问题\n正确的选项是："}]) == {
        "model": "m",
        "prompt": "问题\n正确的选项是：",
        "temperature": 0.0,
        "max_tokens": 8,
        "stop": ["\n\n"],
    }
    assert "stop" not in body(Wanted("m", 0.0, 8), [])


def test_a_continuation_is_a_reply() -> None:
    assert parse(continued("A\n"), PROFILE) == Reply("A\n", finish_reason="stop", usage=Usage(10, 2))


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (continued(""), False),
        (continued(" \n"), False),
        (continued("", "length"), True),
        (continued(None), False),
        (continued(5), False),
        (continued("A", "error"), False),
        (json.dumps({"choices": [{"message": {"content": "A"}}]}).encode(), False),
        (json.dumps({"choices": []}).encode(), False),
        (json.dumps({"error": {"message": "no"}, "choices": [{"text": "A"}]}).encode(), False),
        (b"[1]", False),
        (b"<html>", False),
        (b"", False),
    ],
)
def test_what_is_no_text_is_no_reply(answer: bytes, *, kept: bool) -> None:
    assert (parse(answer, PROFILE) is not None) is kept


def test_a_filtered_continuation_has_no_text() -> None:
    reply = parse(continued("A", "content_filter"), PROFILE)
    assert reply is not None
    assert (reply.text, reply.finish_reason) == ("", FILTERED)


@pytest.mark.parametrize("server", [recorded.VLLM, recorded.LLAMACPP, recorded.TRANSFORMERS])
def test_recorded_continuations(shared: Path, server: str) -> None:
    reply = parse(recorded.body(shared, server, "comp ok"), PROFILE)
    assert reply is not None
    assert reply.text.startswith("北京。北京是中国的首都")
    assert (reply.finish_reason, reply.usage.prompt_tokens) == ("length", 3)


def continuation(mark: str) -> Act:
    return raw(json.loads(continued(f"{right(mark)}\n\n下面哪一个词？\nA. 甲\nB. 乙\nC. 丙\nD. 丁")))


@pytest.mark.parametrize("shots", [0, 2])
async def test_a_base_model_is_asked_in_the_papers_words_and_its_first_letter_counts(
    server: Server, tmp_path: Path, shots: int
) -> None:
    server.default = continuation
    suite = write_suite(tmp_path / "suite", rows=5)
    result = await ask(suite, server.url, tmp_path / "results", protocol="completions", shots=shots)
    assert result.exit_code is ExitCode.COMPLETE
    assert {line["rule"] for line in lines(result)} == {"leading"}
    assert result.scores.total.correct == 5
    assert {seen.path for seen in server.seen} == {"/v1/completions"}
    sent = server.seen[0].body
    assert sent["prompt"].startswith("请根据以下")
    assert sent["prompt"].endswith("D. 第四个词\n正确的选项是：")
    assert sent["prompt"].count("正确的选项是：") == 1 + shots
    assert sent["stop"] == ["\n正确的选项是："] + ["\n\n"] * (shots > 0)
    assert "echo" not in sent


async def test_turns_of_examples_become_the_same_text(server: Server, tmp_path: Path) -> None:
    server.default = continuation
    suite = write_suite(tmp_path / "suite", rows=5)
    for fewshot in ("message", "turns"):
        await ask(
            suite, server.url, tmp_path / "r", protocol="completions", shots=2, fewshot=fewshot, system="s"
        )
    texts = {seen.body["prompt"] for seen in server.seen}
    assert len(server.seen) == len(texts) == 5
    assert all(text.startswith("s\n\n请根据") for text in texts)


async def test_a_base_model_that_ends_at_once_fails_the_question_and_is_not_asked_for_ever(
    server: Server, tmp_path: Path
) -> None:
    server.script["Q0-1"] = [raw(json.loads(continued("")))]
    server.default = continuation
    result = await ask(
        write_suite(tmp_path / "suite"), server.url, tmp_path / "results", protocol="completions"
    )
    assert result.exit_code is ExitCode.INCOMPLETE
    assert server.counts["Q0-1"] == 1
    assert "the reply holds no text" in lines(result)[1]["failure"]
