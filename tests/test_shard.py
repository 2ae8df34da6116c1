"""The shards of a run hold each question once, share them evenly, and are runs of their own."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode, UsageError
from m3ke_async.settings_checks import make_settings
from m3ke_async.shard import WHOLE, Shard
from tests.asking import ask
from tests.questions import marks, write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server import Server


@pytest.mark.parametrize(("count", "questions"), [(1, 5), (2, 5), (3, 7), (4, 4), (7, 3), (1000, 20)])
def test_every_question_of_a_task_is_in_one_shard(count: int, questions: int) -> None:
    shards = [Shard(number, count) for number in range(1, count + 1)]
    parts = [list(shard.of("Law", range(questions))) for shard in shards]
    assert sorted(chain.from_iterable(parts)) == list(range(questions))
    assert [len(part) for part in parts] == [shard.size("Law", questions) for shard in shards]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_many_small_tasks_do_not_all_begin_in_the_same_shard() -> None:
    sizes = [sum(Shard(number, 4).size(f"task {n}", 1) for n in range(400)) for number in (1, 2, 3, 4)]
    assert sum(sizes) == 400
    assert min(sizes) > 70


@pytest.mark.parametrize("text", ["1/1", "3/4", "1000/1000"])
def test_a_shard_is_written_as_it_is_read(text: str) -> None:
    assert str(Shard.parse(text)) == text


@pytest.mark.parametrize("value", ["0/4", "5/4", "1/0", "4", "1/4/2", "-1/4", " 1/4", "1/x", "", 4, None])
def test_anything_else_is_refused(value: object) -> None:
    if value is None:
        assert make_settings("vllm/m", {"shard": None}).shard == WHOLE
        return
    with pytest.raises(UsageError, match="--shard must be i/n with i from 1 to n"):
        make_settings("vllm/m", {"shard": value})


async def test_the_shards_of_a_run_ask_everything_once_under_the_same_keys(
    server: Server, tmp_path: Path
) -> None:
    suite, results = write_suite(tmp_path / "suite", 3, 7), tmp_path / "results"
    runs = [await ask(suite, server.url, results, shard=f"{number}/3", limit=5) for number in (1, 2, 3)]
    assert sorted(seen.mark for seen in server.seen) == sorted(marks(3, 5))
    assert [run.scores.total.missing for run in runs] == [0, 0, 0]
    assert [run.path.name[-5:] for run in runs] == ["-1of3", "-2of3", "-3of3"]
    assert {run.exit_code for run in runs} == {ExitCode.COMPLETE}
    whole = await ask(suite, server.url, results, limit=5)
    assert (whole.scores.total.asked, whole.ledger.requests, len(server.seen)) == (15, 0, 15)


async def test_a_named_run_has_a_folder_for_each_of_its_shards(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 4)
    for number in (1, 2):
        run = await ask(suite, server.url, tmp_path / "results", shard=f"{number}/2", name="mine")
        assert run.path.name == f"mine-{number}of2"


async def test_a_shard_without_a_question_is_refused(server: Server, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", 1, 2)
    empty = next(n for n in (1, 2, 3) if not Shard(n, 3).size("Task 00-Natural Sciences-High school", 2))
    with pytest.raises(UsageError, match=f"--shard {empty}/3 holds no question"):
        await ask(suite, server.url, tmp_path / "results", shard=f"{empty}/3")
    assert not server.seen
