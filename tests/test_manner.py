"""Thinking: what switches it, where thoughts go, and what a run makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import ExitCode, UsageError
from m3ke_async.manner import ThinkingMode, thinking_fields
from m3ke_async.providers import load_profile
from m3ke_async.request import Outcome
from m3ke_async.wire.protocols import PROTOCOLS
from tests.asking import Notes, ask, lines
from tests.questions import write_suite
from tests.server import reply, right

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server import Server


@pytest.mark.parametrize(
    ("provider", "model", "mode", "fields"),
    [
        ("vllm", "Qwen3-8B", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("vllm", "Qwen3-8B", "on", {"chat_template_kwargs": {"enable_thinking": True}}),
        ("vllm", "deepseek-ai/DeepSeek-V3.1", "off", {"chat_template_kwargs": {"thinking": False}}),
        ("dashscope", "qwen-plus", "off", {"enable_thinking": False}),
        ("deepseek", "deepseek-chat", "on", {"thinking": {"type": "enabled"}}),
        ("openai", "gpt-5.1", "off", {"reasoning_effort": "none"}),
        ("anthropic-compat", "claude", "off", {}),
        ("vllm", "Qwen3-8B", "default", {}),
        ("baichuan", "any", "default", {}),
    ],
)
def test_thinking_is_switched_as_the_providers_file_says(
    provider: str, model: str, mode: str, fields: dict[str, Any]
) -> None:
    profile = load_profile(provider)
    assert thinking_fields(ThinkingMode(mode), profile, model, PROTOCOLS["chat"]) == fields


@pytest.mark.parametrize(
    ("provider", "model", "mode", "protocol", "words"),
    [
        ("baichuan", "any", "off", "chat", "it is not known how Baichuan"),
        ("openai", "o3", "off", "chat", "has no such switch"),
        ("anthropic-compat", "claude", "on", "chat", "has no such switch"),
        ("vllm", "any", "on", "completions", "needs --protocol chat"),
    ],
)
def test_a_switch_that_is_not_there_is_refused_before_anything_is_sent(
    provider: str, model: str, mode: str, protocol: str, words: str
) -> None:
    profile = load_profile(provider)
    with pytest.raises(UsageError, match=words):
        thinking_fields(ThinkingMode(mode), profile, model, PROTOCOLS[protocol])


async def test_thoughts_are_kept_apart_and_no_letter_is_read_from_them(
    server: Server, tmp_path: Path
) -> None:
    server.default = lambda mark: reply(right(mark), reasoning_content="也许是A，不，是B")
    suite = write_suite(tmp_path / "suite")
    result = await ask(suite, server.url, tmp_path / "r", model="vllm/m", thinking="on", max_tokens=4096)
    assert result.exit_code is ExitCode.COMPLETE
    assert result.scores.total.correct == 4
    assert {line["reasoning"] for line in lines(result)} == {"也许是A，不，是B"}
    sent = server.seen[0].body
    assert sent["chat_template_kwargs"] == {"enable_thinking": True}
    assert "stop" not in sent


async def test_thoughts_that_take_all_tokens_are_truncated_replies_and_a_small_budget_is_told_of(
    server: Server, tmp_path: Path
) -> None:
    server.default = lambda mark: reply(None, finish="length", reasoning_content="也许是A")
    notes = Notes()
    suite = write_suite(tmp_path / "suite")
    result = await ask(suite, server.url, tmp_path / "r", notes=notes, model="vllm/m", thinking="on")
    assert result.scores.total.outcomes[Outcome.TRUNCATED] == 4
    assert any("thoughts count as tokens" in warning for warning in notes.warned)


async def test_each_way_of_thinking_is_a_run_of_its_own(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite")
    paths = {
        (await ask(suite, server.url, tmp_path / "r", model="vllm/m", thinking=mode)).path
        for mode in ("on", "off", "default", "off")
    }
    assert len(paths) == 3
    assert len(server.seen) == 12


async def test_thoughts_that_come_although_they_are_off_are_told_of_once(
    server: Server, tmp_path: Path
) -> None:
    server.default = lambda mark: reply(right(mark), reasoning_content="想")
    notes = Notes()
    suite = write_suite(tmp_path / "suite")
    result = await ask(suite, server.url, tmp_path / "r", notes=notes, model="vllm/m", thinking="off")
    assert result.scores.total.correct == 4
    assert [line for line in notes.warned if "although --thinking off" in line] == notes.warned
    assert len(notes.warned) == 1
