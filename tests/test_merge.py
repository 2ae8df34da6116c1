"""Shards, wherever they were asked, become the run that asks all at once; nothing is asked again for it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.batch.state import Batches, Part, Stage
from m3ke_async.errors import ExitCode, UsageError
from m3ke_async.merge import merge
from m3ke_async.rundir import RunDir
from m3ke_async.verified import claimed
from tests.asking import ask, lines, unmeasured
from tests.command import m3ke
from tests.questions import write_suite
from tests.server import error, reply

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.run import RunResult
    from tests.server import Server


async def shards(server: Server, suite: Path, folder: Path, count: int = 3, **options: Any) -> list[RunDir]:
    """The shards of a run, each asked on a machine of its own."""
    runs = []
    for number in range(1, count + 1):
        run = await ask(suite, server.url, folder / f"machine{number}", shard=f"{number}/{count}", **options)
        runs.append(RunDir(run.path))
    return runs


def merged(runs: list[RunDir], folder: Path) -> RunResult:
    return merge(runs, folder / "results", data=None, warn=pytest.fail)


@pytest.mark.parametrize(
    "options", [{}, {"rotate": True}, {"shots": 2}, {"split": "test"}, {"skip_overlap": True}]
)
async def test_the_merged_run_is_the_undivided_one_and_asks_nothing_again(
    server: Server, tmp_path: Path, options: dict[str, Any]
) -> None:
    suite = write_suite(tmp_path / "suite", 3, 5)
    write_suite(suite, 2, 4, split="test")
    server.script["Q0-1"] = [reply("我不知道。")]
    undivided = await ask(suite, server.url, tmp_path / "alone", **options)
    result = merged(await shards(server, suite, tmp_path, **options), tmp_path)
    assert result.path.name == undivided.path.name
    assert unmeasured(result) == unmeasured(undivided)
    mine, other = result.scores.to_json(), undivided.scores.to_json()
    assert mine.pop("usage")["replies"] == other.pop("usage")["replies"]
    assert mine == other
    asked = len(server.seen)
    again = await ask(suite, server.url, tmp_path / "results", **options)
    assert (again.exit_code, len(server.seen)) == (ExitCode.COMPLETE, asked)
    shutil.rmtree(result.path)
    again = await ask(suite, server.url, tmp_path / "results", **options)  # the store holds all
    assert (again.ledger.requests, len(server.seen)) == (0, asked)


async def test_what_asking_took_adds_up_and_counts_once(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 2, 6)
    runs = await shards(server, suite, tmp_path)
    assert merged(runs[:2], tmp_path).ledger.requests < 12
    for _ in range(2):
        assert merged(runs, tmp_path).ledger.requests == 12


async def test_without_one_shard_it_is_incomplete_and_the_undivided_command_asks_the_rest(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 2, 6)
    runs = await shards(server, suite, tmp_path)
    part = merged(runs[:2], tmp_path)
    assert part.exit_code is ExitCode.INCOMPLETE
    missing = part.scores.total.missing
    asked = len(server.seen)
    whole = await ask(suite, server.url, tmp_path / "results")
    assert (whole.exit_code, len(server.seen)) == (ExitCode.COMPLETE, asked + missing)
    assert whole.ledger.requests == 12
    assert merged(runs[:2], tmp_path).exit_code is ExitCode.COMPLETE  # and nothing is taken back


async def test_a_failed_question_stays_failed_with_its_reason(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 2, 6)
    server.script["Q1-3"] = [error(400, "no such thing")]
    result = merged(await shards(server, suite, tmp_path), tmp_path)
    assert result.exit_code is ExitCode.INCOMPLETE
    (failed,) = (line for line in lines(result) if line["outcome"] == "failed")
    assert "no such thing" in failed["failure"]


async def test_a_shard_of_which_only_the_folder_was_copied_is_merged_from_its_answers(
    server: Server, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite", 2, 6)
    runs = await shards(server, suite, tmp_path)
    runs[1].store.unlink()
    assert merged(runs, tmp_path).exit_code is ExitCode.COMPLETE


async def test_of_two_replies_to_one_question_the_later_one_counts(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 4)
    merged(await shards(server, suite, tmp_path, count=2), tmp_path)
    server.default = lambda mark: reply("我不知道。")
    runs = await shards(server, suite, tmp_path, count=2, fresh=True)
    assert {line["reply"] for line in lines(merged(runs, tmp_path))} == {"我不知道。"}


async def test_runs_that_ask_other_things_are_not_merged(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    one = await ask(suite, server.url, tmp_path / "a", shard="1/2")
    other = await ask(suite, server.url, tmp_path / "b", shard="2/2", shots=1)
    with pytest.raises(UsageError, match=r"no part of the same run.*shots was 0, now 1.*--shard only"):
        merged([RunDir(one.path), RunDir(other.path)], tmp_path)
    assert not (tmp_path / "results").exists()


async def test_a_shard_that_is_being_asked_is_waited_for(server: Server, tmp_path: Path) -> None:
    runs = await shards(server, write_suite(tmp_path / "suite", 1, 6), tmp_path)
    with claimed(runs[0].path), pytest.raises(UsageError, match="another process is at work"):
        merged(runs, tmp_path)


async def test_a_shard_with_batches_under_way_is_waited_for(server: Server, tmp_path: Path) -> None:
    runs = await shards(server, write_suite(tmp_path / "suite", 1, 6), tmp_path)
    Batches(runs[1]).put(Part("m3ke-0123456789abcdef", 2, "http://x", stage=Stage.SUBMITTED))
    with pytest.raises(UsageError, match="2 questions of this run are in batches that are under way"):
        merged(runs, tmp_path)
    assert not (tmp_path / "results").exists()


async def test_the_merged_run_finds_the_suite_where_it_lies_now(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 6)
    runs = await shards(server, suite, tmp_path)
    now = suite.rename(tmp_path / "moved")
    result = merge(runs, tmp_path / "results", data=str(now), warn=pytest.fail)
    assert m3ke("score", result.path).code == ExitCode.COMPLETE


async def test_the_command_prints_the_result_and_tells_what_is_missing(
    server: Server, tmp_path: Path
) -> None:
    suite, results = write_suite(tmp_path / "suite", 1, 6), tmp_path / "results"
    one = await ask(suite, server.url, results, shard="1/2", name="mine")
    ran = m3ke("merge", one.path, "--results", results)
    assert ran.code == ExitCode.INCOMPLETE
    assert ran.error == "incomplete: 3 without a reply; m3ke run without --shard asks them"
    await ask(suite, server.url, results, shard="2/2", name="mine")
    ran = m3ke("merge", "mine-1of2", "mine-2of2", "--results", results, "--json")
    assert (ran.code, ran.json["scores"]["total"]["asked"]) == (ExitCode.COMPLETE, 6)
    assert ran.json["path"] == str(results / "mine")
