"""Policies of a run: how letters are found can change without a request."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from m3ke_async.api import evaluate
from m3ke_async.errors import ExitCode
from m3ke_async.reopen import changed_choices, rescore
from m3ke_async.rundir import RunDir
from tests.asking import Notes
from tests.command import m3ke
from tests.questions import write_suite
from tests.server import Server, reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from m3ke_async.run import RunResult


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server() as server:
        server.script = {
            "Q0-0": [reply("答案：B")],
            "Q0-1": [reply("A不对，C也不对，应该选B。")],
            "Q0-2": [reply("我不知道。")],
            "Q0-3": [reply("B和C都对。")],
        }
        yield server


@pytest.fixture
async def result(server: Server, tmp_path: Path) -> RunResult:
    suite = write_suite(tmp_path / "suite", 1, 4)
    return await evaluate(
        "custom/m", suite, base_url=server.url, results=str(tmp_path / "results"), split="dev"
    )


def letters(result: RunResult) -> list[str | None]:
    lines = (result.path / "answers.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["choice"] for line in lines]


async def test_replies_without_one_clear_letter_are_listed_for_reading(result: RunResult) -> None:
    unclear = [json.loads(line) for line in (result.path / "unclear.jsonl").read_text("utf-8").splitlines()]
    assert [line["reply"] for line in unclear] == ["我不知道。", "B和C都对。"]
    assert not {line["outcome"] for line in unclear} - {"unparsed", "ambiguous", "refused"}


async def test_a_run_is_read_by_another_policy_without_a_request(server: Server, result: RunResult) -> None:
    assert letters(result) == ["B", "B", None, None]
    sent = len(server.seen)
    notes = Notes()
    again = rescore(RunDir(result.path), policy="first", warn=notes.warn)
    assert letters(again) == ["B", "A", None, "B"]
    assert RunDir(result.path).read()["settings"]["policy"] == "first"  # type: ignore[index]
    assert len(server.seen) == sent


async def test_a_diff_shows_what_would_change_and_writes_nothing(result: RunResult) -> None:
    before = {path: path.read_bytes() for path in result.path.rglob("*") if path.is_file()}
    notes = Notes()
    changed = changed_choices(RunDir(result.path), data=None, policy="first", warn=notes.warn)
    lines = [change.line() for change in changed]
    assert [line.split(": ")[1].split(" ")[0] for line in lines] == ["B", "ambiguous"]
    assert list(changed_choices(RunDir(result.path), data=None, policy=None, warn=notes.warn)) == []
    assert {path: path.read_bytes() for path in result.path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("first", "2 replies would be read otherwise: 1 gain a letter, 0 lose theirs, 1 get another; "),
        ("strict", "2 replies would be read otherwise: 0 gain a letter, 1 lose theirs, 0 get another; "),
        ("careful", "m3ke: no reply would be read otherwise\n"),
    ],
)
async def test_a_diff_ends_with_what_it_comes_to(result: RunResult, policy: str, told: str) -> None:
    ran = await asyncio.to_thread(m3ke, "score", result.path, "--policy", policy, "--diff")
    assert ran.code == 0
    assert told in ran.err
    assert len(ran.out.splitlines()) == (0 if policy == "careful" else 2)


async def test_a_diff_tells_the_asks_of_a_question_apart(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 2)
    results = str(tmp_path / "results")
    result = await evaluate("custom/m", suite, base_url=server.url, results=results, rotate=True, limit=2)
    changed = changed_choices(RunDir(result.path), data=None, policy="first", warn=Notes().warn)
    lines = [change.line() for change in changed]
    assert [line.split(":")[0].partition(", ")[2] for line in lines] == [f"rotation {n}" for n in range(4)]


async def test_the_report_names_another_policy_than_the_usual_one(result: RunResult) -> None:
    usual = await asyncio.to_thread(m3ke, "score", result.path)
    assert "--policy" not in usual.out
    other = await asyncio.to_thread(m3ke, "score", result.path, "--policy", "last")
    assert "--policy last" in " ".join(other.out.split())


async def test_a_policy_that_does_not_exist_is_no_fault_of_the_run(result: RunResult) -> None:
    ran = await asyncio.to_thread(m3ke, "score", result.path, "--policy", "best", "--diff")
    assert ran.code == ExitCode.USAGE
    assert ran.err == "m3ke: --policy must be careful or strict or first or last, not 'best'\n"


async def test_a_key_says_nothing_of_how_replies_are_read(result: RunResult) -> None:
    ran = await asyncio.to_thread(m3ke, "score", result.path, "--key", "key.csv", "--diff")
    assert ran.code == ExitCode.USAGE
    assert "leave one out" in ran.error


async def test_the_same_command_with_another_policy_asks_nothing(server: Server, result: RunResult) -> None:
    sent, looks = len(server.seen), server.looks
    suite = result.path.parent.parent / "suite"
    again = await evaluate(
        "custom/m", suite, base_url=server.url, results=str(result.path.parent), policy="last"
    )
    assert again.path == result.path
    assert letters(again) == ["B", "B", None, "C"]
    assert (len(server.seen), server.looks) == (sent, looks)
