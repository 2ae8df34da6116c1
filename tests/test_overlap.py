"""Questions that stand in both splits are found however they are spelt, and can be left out of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.overlap import overlapping
from m3ke_async.suite import Split, load_suite
from tests.asking import Notes, ask, lines
from tests.server import Server
from tests.small_suite import ALGEBRA, COOKING, row, write_split

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DEV = [row(0, "Q0-0 盐 (NaCl) 是什么？", "B"), row(1, "Q0-1 糖是什么？", "C")]
TEST = [row(0, "Q1-0 水是什么？"), row(1, "Q0-0盐（NaCl）是什么?"), row(2, "Q1-2 油是什么？")]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server() as running:
        yield running


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A test question of one task is a dev question of the other, in other spelling."""
    folder = write_split(tmp_path / "suite", "dev", COOKING, DEV)
    write_split(folder, "dev", ALGEBRA, [row(0, "Q2-0 1+1=？", "A")])
    return write_split(folder, "test", ALGEBRA, TEST)


@pytest.mark.parametrize(
    ("split", "limit", "ids"), [(Split.TEST, None, {ALGEBRA: {1}}), (Split.TEST, 1, {ALGEBRA: set()})]
)
def test_other_spaces_widths_and_tasks_do_not_hide_a_question(
    suite: Path, split: Split, limit: int | None, ids: dict[str, set[int]]
) -> None:
    loaded = load_suite(suite)
    assert overlapping(loaded, loaded, split, limit) == ids


def test_it_works_from_either_side(suite: Path) -> None:
    loaded = load_suite(suite)
    assert overlapping(loaded, loaded, Split.DEV, None) == {ALGEBRA: frozenset(), COOKING: frozenset({0})}


async def test_a_run_leaves_them_out_and_is_complete_without_them(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    notes = Notes()
    result = await ask(suite, server.url, tmp_path / "results", split="test", skip_overlap=True, notes=notes)
    assert result.exit_code is ExitCode.COMPLETE
    assert [line["id"] for line in lines(result)] == [0, 2]
    assert (result.scores.total.asked, result.scores.total.missing, len(server.seen)) == (2, 0, 2)
    assert any("1 question that is in both splits is left out" in line for line in notes.said)
    whole = await ask(suite, server.url, tmp_path / "results", split="test")
    assert whole.path != result.path
    assert (whole.scores.total.asked, len(server.seen)) == (3, 3)
