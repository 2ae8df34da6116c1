"""The chat protocol: bodies, replies in every shape, and what a run makes of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.errors import ExitCode, StoppedError
from m3ke_async.providers import load_profile
from m3ke_async.request import Outcome, Reply, Usage
from m3ke_async.rundir import STORE_NAME
from m3ke_async.store import ReplyStore
from m3ke_async.wire.chat import body, parse
from m3ke_async.wire.fields import usage_of
from m3ke_async.wire.protocol import Wanted
from tests.asking import ask, lines, quick
from tests.questions import write_suite
from tests.server import Server, completion, error, raw, reply

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.run import RunResult
    from tests.server import Act

PROFILE = load_profile("custom")


def parsed(value: Any) -> Reply | None:
    return parse(value if isinstance(value, bytes) else json.dumps(value).encode(), PROFILE)


def said(content: Any, finish: str | None = "stop", **fields: Any) -> Reply | None:
    return parsed(completion({"role": "assistant", "content": content, **fields}, finish=finish))


# -- the body --------------------------------------------------------------------------


def test_a_temperature_of_zero_is_sent() -> None:
    made = body(Wanted("m", temperature=0.0, max_tokens=16, stop=("\n",)), [])
    assert made == {"model": "m", "messages": [], "temperature": 0.0, "max_tokens": 16}


def test_the_limit_of_tokens_goes_by_the_name_that_the_provider_wants() -> None:
    made = body(Wanted("m", 1.0, 16, token_parameter="max_completion_tokens"), [])
    assert made["max_completion_tokens"] == 16
    assert "max_tokens" not in made


# -- replies -----------------------------------------------------------------------------


def test_a_reply_holds_the_text_and_what_came_with_it() -> None:
    answer = completion({"role": "assistant", "content": "答案：B", "reasoning_content": "想"}, finish="stop")
    answer["system_fingerprint"] = "fp"
    answer["usage"] = {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    assert parsed(answer) == Reply(
        "答案：B", "想", "stop", usage=Usage(9, 5, 4, 3), model="m", fingerprint="fp"
    )


@pytest.mark.parametrize(
    ("provider", "usage", "cached", "reasoning"),
    [
        (
            "deepseek",
            {"prompt_cache_hit_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 2}},
            7,
            2,
        ),
        ("moonshot", {"cached_tokens": 7}, 7, None),
        ("sglang", {"reasoning_tokens": 2, "prompt_tokens_details": None}, None, 2),
        ("sglang", {"reasoning_tokens": None, "completion_tokens_details": {"reasoning_tokens": 3}}, None, 3),
        ("openai", {"prompt_cache_hit_tokens": 7, "reasoning_tokens": 2}, None, None),
        ("custom", {"prompt_cache_hit_tokens": 7, "reasoning_tokens": 2}, 7, 2),
        ("custom", {"prompt_cache_hit_tokens": "7", "reasoning_tokens": [2]}, None, None),
    ],
)
def test_usage_is_read_by_the_names_that_the_provider_has_for_it(
    provider: str, usage: dict[str, Any], cached: int | None, reasoning: int | None
) -> None:
    answer = json.dumps({**completion({"content": "B"}), "usage": usage}).encode()
    found = parse(answer, load_profile(provider))
    assert found is not None
    assert (found.usage.cached_tokens, found.usage.reasoning_tokens) == (cached, reasoning)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("B", "B"),
        (" B\n", " B\n"),
        ([{"type": "text", "text": "答案"}, {"type": "text", "text": "：B"}], "答案：B"),
        ([{"type": "image"}, {"text": "B"}, "x", None, {"text": 3}], "B"),
        ("\ud83d", "\\ud83d"),
        ("\x00\x1b[31mB", "\x00\x1b[31mB"),
    ],
)
def test_the_text_is_kept_as_it_came(content: Any, text: str) -> None:
    got = said(content)
    assert got is not None
    assert got.text == text


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"<html>hello</html>",
        b"\xff\xfe",
        b"[" * 100_000,
        [],
        "text",
        None,
        5,
        {},
        {"choices": None},
        {"choices": []},
        {"choices": {}},
        {"choices": [None]},
        {"choices": ["B"]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": []}]},
        {"choices": [{"text": "B"}]},
        {"error": {"message": "no"}, "choices": [{"message": {"content": "B"}}]},
        {"choices": [{"error": {"code": 502}, "message": {"content": "B"}}]},
        completion(None),
        completion({}),
        completion({"content": None}),
        completion({"content": ""}),
        completion({"content": " \n\u3000"}),
        completion({"content": []}),
        completion({"content": 5}),
        completion({"content": None, "tool_calls": [{"function": {"name": "B"}}]}),
        completion({"content": None, "function_call": {"name": "B"}}),
        completion({"content": "", "reasoning_content": "B"}),
        completion({"content": "half an ans"}, finish="insufficient_system_resource"),
        completion({"content": "half"}, finish="network_error"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_holds_no_text_is_no_reply(value: Any) -> None:
    assert parsed(value) is None


def test_a_refusal_is_a_reply_and_marked_as_one() -> None:
    got = said(None, refusal="I cannot help with that.")
    assert got is not None
    assert (got.text, got.refusal) == ("I cannot help with that.", True)


def test_tokens_that_all_went_into_thoughts_are_a_true_reply() -> None:
    got = said("", "length", reasoning_content="让我想想")
    assert got is not None
    assert (got.text, got.reasoning, got.finish_reason) == ("", "让我想想", "length")


@pytest.mark.parametrize("finish", ["content_filter", "sensitive"])
@pytest.mark.parametrize("content", ["", None, "part of an ans"])
def test_a_filtered_reply_keeps_no_text_and_one_name_for_all_filters(
    finish: str, content: str | None
) -> None:
    got = said(content, finish)
    assert got is not None
    assert got.filtered
    assert (got.text, got.finish_reason) == ("", "content_filter")


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "many",
        {},
        {"prompt_tokens": None},
        {"prompt_tokens": -1},
        {"prompt_tokens": "7"},
        {"prompt_tokens": True},
        {"prompt_tokens": 1.5},
        {"prompt_tokens_details": 3},
    ],
)
def test_usage_that_is_not_there_is_unknown_and_never_zero(usage: Any) -> None:
    got = parsed({**completion({"content": "B"}), "usage": usage})
    assert got is not None
    assert got.usage == Usage()


def test_odd_fields_beside_the_text_do_no_harm() -> None:
    raw_body = b'{"created": "now", "model": 5, "system_fingerprint": [], "x": NaN, "choices": [{"message": {"content": "B"}, "finish_reason": {}}]}'  # noqa: E501
    assert parse(raw_body, PROFILE) == Reply("B")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise(content: bytes) -> None:
    parse(content, PROFILE)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "error", "usage", "finish_reason", "refusal"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=15)
@given(_JSON, _JSON)
def test_no_json_raises_and_a_reply_always_has_text_or_a_reason(choice: Any, usage: Any) -> None:
    got = parsed({"choices": [choice], "usage": usage})
    assert got is None or got.text.strip() or got.finish_reason in {"length", "content_filter"}


# -- what a run makes of them --------------------------------------------------------------


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


async def run_with(server: Server, tmp_path: Path, **acts: list[Act]) -> RunResult:
    """Ask twelve questions; those named (q3=...) are answered by these acts, the others rightly."""
    server.script = {f"Q0-{name[1:]}": script for name, script in acts.items()}
    return await ask(write_suite(tmp_path / "suite", 1, 12), server.url, tmp_path / "results", max_attempts=3)


FILTERS = {
    "azure": error(400, "The response was filtered due to the prompt", code="content_filter"),
    "azure, inner": raw(
        {
            "error": {
                "code": "content_filter",
                "message": "filtered",
                "status": 400,
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
        400,
    ),
    "dashscope, input": error(400, "Input data may contain bad content", code="data_inspection_failed"),
    "dashscope, output": error(400, "Output data may contain bad content", code="DataInspectionFailed"),
    "deepseek": error(400, "Content Exists Risk", code="invalid_request_error"),
    "finish": reply("", finish="content_filter"),
    "finish, zhipu": reply("", finish="sensitive"),
}


@pytest.mark.parametrize("act", FILTERS.values(), ids=FILTERS.keys())
async def test_a_filtered_question_is_sent_once_recorded_as_filtered_and_the_run_goes_on(
    server: Server, tmp_path: Path, act: Act
) -> None:
    result = await run_with(server, tmp_path, q5=[act])
    assert server.counts["Q0-5"] == 1
    assert result.exit_code is ExitCode.COMPLETE
    total = result.scores.total
    assert (total.outcomes[Outcome.ANSWERED], total.outcomes[Outcome.FILTERED]) == (11, 1)
    line = next(line for line in lines(result) if line["id"] == 5)
    assert (line["outcome"], line["choice"], line["reply"]) == ("filtered", None, "")
    assert total.accuracy == pytest.approx(11 / 12)  # wrong in the strict score
    assert total.accuracy_answered == pytest.approx(1.0)  # left out of this one


@pytest.mark.parametrize("models", [("m",), None])
async def test_a_wrong_parameter_stops_the_run_at_the_first_question(
    server: Server, tmp_path: Path, models: tuple[str, ...] | None
) -> None:
    server.models = models
    refusal = error(
        400,
        "Unrecognized request argument supplied: logit_bias",
        code="unknown_parameter",
        param="logit_bias",
    )
    server.default = lambda mark: refusal
    result = await ask(
        write_suite(tmp_path / "suite", 3, 12), server.url, tmp_path / "results", concurrency=1
    )
    assert isinstance(result.stopped, StoppedError)
    assert "logit_bias" in str(result.stopped)
    assert len(server.seen) == 1
    assert result.exit_code is ExitCode.STOPPED


CALL = {"name": "answer", "arguments": "B"}

NO_TEXT = {
    "null": ("empty", reply(None)),
    "empty": ("empty", reply("")),
    "blanks": ("empty", reply(" \n ")),
    "tool calls": ("tool_call", reply(None, tool_calls=[{"id": "1", "function": CALL}])),
    "function call": ("tool_call", reply(None, function_call=CALL)),
    "thoughts alone": ("only_reasoning", reply("", reasoning_content="B")),
    "sound": ("not_text", reply(None, audio={"id": "a", "data": "AAAA", "transcript": "B"})),
}


@pytest.mark.parametrize(("kind", "act"), NO_TEXT.values(), ids=NO_TEXT.keys())
async def test_a_reply_without_text_is_sent_once_and_is_a_failure_with_its_body(
    server: Server, tmp_path: Path, kind: str, act: Act
) -> None:
    result = await run_with(server, tmp_path, q5=[act])
    assert server.counts["Q0-5"] == 1
    assert result.exit_code is ExitCode.INCOMPLETE
    line = next(line for line in lines(result) if line["id"] == 5)
    assert (line["outcome"], line["choice"], line["reply"]) == ("failed", None, None)
    assert line["failure"].startswith(f"{kind}: ")
    with ReplyStore(tmp_path / "results" / STORE_NAME) as store:
        failure = store.get_failure(bytes.fromhex(line["request"]))
    assert failure is not None
    assert failure.body == act.body


BROKEN = {
    "no choices": raw({"id": "c", "object": "chat.completion"}),
    "choices null": raw({"choices": None}),
    "choices empty": raw({"choices": []}),
    "message null": raw(completion(None)),
    "no json": raw(b"not { json"),
    "cut json": raw(reply("B").body[:40]),
    "json list": raw([1, 2]),
    "no utf-8": raw('{"choices": [{"message": {"content": "答案：B"}}]}'.encode("gbk")),
    "error in 200": raw({"error": {"message": "upstream failed", "code": 502}}),
}


@pytest.mark.parametrize("act", BROKEN.values(), ids=BROKEN.keys())
async def test_a_broken_answer_is_asked_again_and_never_guessed(
    server: Server, tmp_path: Path, act: Act
) -> None:
    result = await run_with(server, tmp_path, q5=[act, act, reply("答案：B")], q6=[act])
    assert server.counts["Q0-5"] == server.counts["Q0-6"] == 3
    by_id = {line["id"]: line for line in lines(result)}
    assert (by_id[5]["choice"], by_id[5]["attempts"]) == ("B", 3)
    assert (by_id[6]["choice"], by_id[6]["outcome"]) == (None, "failed")
    with ReplyStore(tmp_path / "results" / STORE_NAME) as store:
        failure = store.get_failure(bytes.fromhex(by_id[6]["request"]))
    assert failure is not None
    assert (failure.attempts, failure.body) == (3, act.body)


async def test_a_web_page_is_asked_again_and_then_stops_the_run(server: Server, tmp_path: Path) -> None:
    server.default = lambda mark: raw(b"<!DOCTYPE html><html>log in</html>", Content_Type="text/html")
    result = await run_with(server, tmp_path)
    assert isinstance(result.stopped, StoppedError)
    assert "base URL" in str(result.stopped)
    assert max(server.counts.values()) == 3


async def test_text_that_utf8_cannot_hold_harms_neither_the_store_nor_the_files(
    server: Server, tmp_path: Path
) -> None:
    foreign = {**completion({"role": "assistant", "content": "\ud83d 答案：B"}), "model": "m\ud83d"}
    result = await run_with(
        server,
        tmp_path,
        q4=[raw({**foreign, "system_fingerprint": "\udcff"})],
        q5=[error(400, "bad \ud83d prompt\x00\x1b[31m", code="\ud83d")],
        q6=[raw(b"\xff\xfe\x00")],
    )
    by_id = {line["id"]: line for line in lines(result)}
    assert (by_id[4]["choice"], by_id[4]["reply"]) == ("B", "\\ud83d 答案：B")
    assert by_id[5]["outcome"] == by_id[6]["outcome"] == "failed"
    assert by_id[5]["failure"].isprintable()


async def test_a_refusal_and_text_without_a_letter_are_replies(server: Server, tmp_path: Path) -> None:
    result = await run_with(
        server,
        tmp_path,
        q1=[reply(None, refusal="I cannot.")],
        q2=[reply("我无法判断")],
        q3=[reply("", finish="length")],
    )
    assert set(server.counts.values()) == {1}
    outcomes = {line["id"]: line["outcome"] for line in lines(result)}
    assert (outcomes[1], outcomes[3]) == ("refused", "truncated")
    assert outcomes[2] in {"unparsed", "refused"}
    assert result.exit_code is ExitCode.COMPLETE


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("key", ["sk-test-SENTINEL-0123456789", "zq81SENTINELx0123456789"])
async def test_a_key_that_the_server_repeats_is_not_kept(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("THE_KEY", key)
    server.script = {"Q0-5": [error(500, f"key {key} and {key[:18]}"), error(400, f"no: {key}")]}
    from m3ke_async import evaluate

    result = await evaluate(
        "custom/m",
        write_suite(tmp_path / "suite", 1, 12),
        base_url=server.url,
        results=str(tmp_path / "results"),
        api_key_env="THE_KEY",
    )
    assert all(seen.headers["authorization"] == f"Bearer {key}" for seen in server.seen)
    written = everything_in(tmp_path)
    assert result.scores.total.outcomes[Outcome.FAILED] == 1
    assert b"SENTINEL" not in written


async def test_zero_is_sent_as_the_temperature_and_every_field_by_its_name(
    server: Server, tmp_path: Path
) -> None:
    await ask(write_suite(tmp_path / "suite", 1, 2), server.url, tmp_path / "results", max_tokens=16)
    sent = server.seen[0].body
    assert sent.pop("messages")[-1]["content"].endswith("正确的选项是：")
    assert sent == {"model": "m", "temperature": 0, "max_tokens": 16}


def test_thoughts_among_the_parts_of_a_content_are_kept_apart() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "也许A"}]},
        {"type": "text", "text": "B"},
    ]
    got = said(parts)
    assert got is not None
    assert (got.text, got.reasoning) == ("B", "也许A")


@pytest.mark.parametrize(
    ("cost", "known"),
    [
        (0.00014, 0.00014),
        (0, 0.0),
        (2, 2.0),
        (None, None),
        ("1", None),
        (-1, None),
        (True, None),
        (1e9, None),
    ],
)
def test_money_is_read_where_the_provider_tells_it(cost: Any, known: float | None) -> None:
    answer = completion({"content": "B"}) | {"usage": {"prompt_tokens": 9, "cost": cost}}
    raw = json.dumps(answer).encode()
    assert usage_of(raw, load_profile("openrouter")) == Usage(9, cost=known)
    assert usage_of(raw, load_profile("openai")) == Usage(9)  # elsewhere the field means nothing
