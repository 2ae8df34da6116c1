from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.plan import TOKENS_PER_CHAR
from tests.command import m3ke
from tests.questions import write_suite
from tests.server import error, in_thread, reply
from tests.small_suite import COOKING, row, write_split
from tests.small_suite import write_suite as write_small_suite

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = "http://127.0.0.1:9/v1"


def plan(suite: Path, results: Path, *options: str, model: str = "vllm/m") -> Any:
    ran = m3ke(
        "plan", model, "--base-url", NOWHERE, "--data", suite, "--results", results, "--json", *options
    )
    assert (ran.code, ran.err) == (ExitCode.COMPLETE, "")
    return ran.json


def shown(suite: Path, results: Path, *options: str, model: str = "vllm/m") -> str:
    ran = m3ke("plan", model, "--base-url", NOWHERE, "--data", suite, "--results", results, *options)
    assert (ran.code, ran.err) == (ExitCode.COMPLETE, "")
    return ran.out


def test_every_question_is_a_request_at_first_and_nothing_is_written(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 3, 4)
    planned = plan(suite, tmp_path / "results")
    assert (planned["questions"], planned["requests"], planned["stored"], planned["repeated"]) == (
        12,
        12,
        0,
        0,
    )
    assert not (tmp_path / "results").exists()


def test_questions_that_repeat_others_are_sent_once(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 2, 3, again=("Q0-0", "Q1-2"))
    planned = plan(suite, tmp_path / "results")
    assert (planned["questions"], planned["requests"], planned["repeated"]) == (8, 6, 2)


def test_what_has_a_reply_is_not_sent_again(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 2, 3)
    with in_thread() as server:
        ask = [
            "vllm/m",
            "--base-url",
            server.url,
            "--data",
            str(suite),
            "--results",
            str(tmp_path / "results"),
        ]
        assert m3ke("run", *ask, "--limit", "1", "--quiet").code == 0
        sent, looks = len(server.seen), server.looks
        planned = m3ke("plan", *ask, "--json").json
        assert (planned["questions"], planned["requests"], planned["stored"]) == (6, 4, 2)
        assert m3ke("plan", *ask, "--limit", "1", "--json").json["requests"] == 0
        assert (len(server.seen), server.looks) == (sent, looks)  # nothing was sent


def test_what_is_asked_again_or_not_at_all_is_planned_as_the_run_does_it(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    with in_thread() as server:
        server.script = {"Q0-1": [reply("", finish="content_filter")], "Q0-2": [error(400)]}
        ask = ["vllm/m", "--base-url", server.url, "--data", str(suite), "--results", str(tmp_path / "r")]
        assert m3ke("plan", *ask, "--json", "--retry-failed").json["requests"] == 0
        m3ke("run", *ask, "--quiet")
        for option, requests in (("--retry-failed", 1), ("--retry-filtered", 2), ("--fresh", 6)):
            assert m3ke("plan", *ask, "--json", option).json["requests"] == requests
            server.seen.clear()
            m3ke("run", *ask, "--quiet", option)
            assert len(server.seen) == requests


def test_the_plan_is_what_the_run_then_sends(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 2, 5, again=("Q0-0",))
    with in_thread() as server:
        ask = [
            "vllm/m",
            "--base-url",
            server.url,
            "--data",
            str(suite),
            "--results",
            str(tmp_path / "results"),
        ]
        ask += ["--shots", "3"]
        planned = m3ke("plan", *ask, "--json").json
        assert m3ke("run", *ask, "--quiet").code == 0
        assert len(server.seen) == planned["requests"]
        chars = sum(len(seen.body["messages"][0]["content"]) for seen in server.seen)
        assert planned["prompt_tokens"] == [round(chars * rate) for rate in TOKENS_PER_CHAR]


def test_no_key_is_needed_to_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    suite = write_suite(tmp_path / "suite")
    assert plan(suite, tmp_path / "results", model="openai/gpt-4o-mini")["requests"] == 4


# Examples


def test_examples_that_are_left_out_are_counted(tmp_path: Path) -> None:
    suite = write_small_suite(tmp_path / "suite", tasks=(COOKING,), test=0)
    write_split(suite, "test", COOKING, [row(0, "Cooking例题1？"), row(1, "新？")])
    planned = plan(suite, tmp_path / "results", "--split", "test", "--shots", "5")
    assert (planned["dropped_shots"], planned["fewer_shots"]) == (1, 0)
    text = shown(suite, tmp_path / "results", "--split", "test", "--shots", "5")
    assert "1 left out, because they equal the question" in text


def test_on_dev_five_shots_are_four_and_the_plan_says_why(tmp_path: Path) -> None:
    suite = write_small_suite(tmp_path / "suite", tasks=(COOKING,))
    planned = plan(suite, tmp_path / "results", "--shots", "5")
    assert (planned["questions"], planned["fewer_shots"], planned["dropped_shots"]) == (5, 5, 0)
    assert "leave-one-out on dev" in shown(suite, tmp_path / "results", "--shots", "5")
    assert "fewer" not in shown(suite, tmp_path / "results", "--shots", "4")


# Tokens, money, time


def test_tokens_money_and_time_follow_from_the_requests(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 2, 3)
    options = ["--max-tokens", "10", "--price", "2,8", "--rpm", "3"]
    planned = plan(suite, tmp_path / "results", *options)
    low, high = planned["prompt_tokens"]
    assert 0 < low < high
    assert planned["completion_tokens"] == [6, 60]
    assert planned["cost"] == pytest.approx([(low * 2 + 6 * 8) / 1e6, (high * 2 + 60 * 8) / 1e6])
    assert planned["seconds"] == 120
    text = shown(suite, tmp_path / "results", *options)
    assert "time               at least 2 min under the limits" in text
    low_cost, high_cost = planned["cost"]
    assert (
        f"price              {low_cost:.4f} to {high_cost:.4f} by the given price, retries not counted"
        in text
    )


def test_a_price_that_is_known_is_told_with_its_day_its_currency_and_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M3KE_CONFIG", str(tmp_path))
    (tmp_path / "providers").mkdir()
    (tmp_path / "providers" / "mine.toml").write_text(
        'title = "mine"\nhosting = "self-hosted"\n[sources]\nlist = "https://mine.example/prices"\n'
        '[[prices]]\nmodel = "m"\ninput = 2\noutput = 8\ncurrency = "CNY"\non = 2026-11-29\nsource = "list"\n'
    )
    suite, results = write_suite(tmp_path / "suite", 2, 3), tmp_path / "results"
    low, high = plan(suite, results, model="mine/m")["cost"]
    text = shown(suite, results, model="mine/m")
    basis = "CNY by the price of 2026-11-29 (https://mine.example/prices)"
    assert f"price              {low:.4f} to {high:.4f} {basis}, retries not counted" in text
    with in_thread() as server:
        ran = m3ke(
            *(
                "run",
                "mine/m",
                "--base-url",
                server.url,
                "--data",
                suite,
                "--results",
                results,
                "--max-cost",
                "9",
            )
        )
    assert "Cost: 0.0002 CNY by the price of 2026-11-29" in ran.out


def test_tokens_a_minute_bound_the_time_too(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 2, 3)
    planned = plan(suite, tmp_path / "results", "--rpm", "600", "--tpm", "60")
    assert planned["seconds"] == pytest.approx(planned["prompt_tokens"][0] + 6)


def test_what_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite")
    planned = plan(suite, tmp_path / "results")
    assert (planned["cost"], planned["seconds"]) == (None, None)
    text = shown(suite, tmp_path / "results")
    assert "price              unknown" in text
    assert "--rpm" in text


# Prompts


def test_one_full_prompt_a_template_is_shown_the_runs_own_first(tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite")
    prompts = plan(suite, tmp_path / "results", "--template", "m3ke-en/1")["prompts"]
    assert list(prompts) == ["m3ke-en/1", "m3ke-zh/1"]  # M3KE's, and none of another suite's paper
    for prompt in prompts.values():
        assert "Q0-0 下面哪一个词符合题意？\nA. 第一个词" in prompt
    assert prompts["m3ke-zh/1"].endswith("正确的选项是：")
    assert "--- one prompt of m3ke-en/1 ---" in shown(suite, tmp_path / "results")


def test_roles_are_shown_where_there_are_several_messages(tmp_path: Path) -> None:
    suite = write_small_suite(tmp_path / "suite", tasks=(COOKING,))
    text = shown(suite, tmp_path / "results", "--system", "答", "--shots", "1", "--fewshot", "turns")
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("[")][:4] == [
        "[system]",
        "[user]",
        "[assistant]",
        "[user]",
    ]


def test_hostile_text_in_a_suite_does_not_reach_the_terminal(tmp_path: Path) -> None:
    suite = write_split(tmp_path / "suite", "dev", COOKING, [row(0, "\x1b]0;title\x07？", "A")])
    text = shown(suite, tmp_path / "results")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "title" in text
    assert all("\x1b" in prompt for prompt in plan(suite, tmp_path / "results")["prompts"].values())


@pytest.mark.parametrize("protocol", ["completions", "tgi"])
def test_a_base_models_prompt_is_shown_as_the_plain_text_that_is_sent(tmp_path: Path, protocol: str) -> None:
    ran = m3ke(
        *["plan", "custom/m", "--base-url", "http://h/v1", "--data", "sample", "--json"],
        *["--protocol", protocol, "--system", "只答字母", "--results", str(tmp_path)],
    )
    shown = ran.json["prompts"]["m3ke-zh/1"]
    assert shown.startswith("只答字母\n\n请根据以下问题")
    assert shown.endswith("正确的选项是：")
