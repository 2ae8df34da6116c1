"""Whatever becomes of the file, each row that is carved from it is one that was written."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from m3ke_async.carve import carve
from m3ke_async.database import open_database
from m3ke_async.reply_row import Row, dump_reply
from m3ke_async.request import Reply

if TYPE_CHECKING:
    from collections.abc import Iterator


def row(number: int, text: str) -> Row:
    key = number.to_bytes(16, "big")
    return key, dump_reply(key, Reply(text)), "vllm", None if number % 2 else "模型", f"run-{number}"


#: Lengths on both sides of those at which a row spills over to further pages.
ROWS = [row(n * 2**120 % 2**128 + n, "字" * (n * 37 % 900) + "B" * (n % 41)) for n in range(300)]


@pytest.fixture(scope="module")
def stores() -> Iterator[Path]:
    """Two files: one that was closed, and one whose last rows are in the log still."""
    folder = Path(tempfile.mkdtemp())
    for name, late in (("closed", len(ROWS)), ("open", 200)):
        database = open_database(folder / name)
        insert = "INSERT INTO replies VALUES (?, ?, ?, ?, ?)"
        database.executemany(insert, ROWS[:late])
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.executemany(insert, ROWS[late:])
        for suffix in ("", "-wal"):
            shutil.copyfile(folder / f"{name}{suffix}", folder / f"{name}.copy{suffix}")
        database.close()
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["closed", "open"])
def test_a_whole_file_gives_every_row(stores: Path, name: str) -> None:
    assert set(carve(stores / f"{name}.copy")) == set(ROWS)


def test_no_file_gives_no_row(tmp_path: Path) -> None:
    assert list(carve(tmp_path / "none")) == []


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_file_gives_nothing_but_rows_that_were_written(
    stores: Path, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311 - repeatable damage
    for suffix in ("", "-wal"):
        content = bytearray((stores / f"open.copy{suffix}").read_bytes())
        for _ in range(rng.randint(0, 40)):
            start = rng.choice((rng.randrange(200), rng.randrange(len(content))))
            spoilt = rng.choice((rng.randbytes(rng.randint(1, 9)), bytes(5000), rng.randbytes(300)))
            content[start : start + len(spoilt)] = spoilt
        if rng.random() < 0.3:
            del content[rng.randrange(len(content)) :]
        (tmp_path / f"x{suffix}").write_bytes(content)
    assert {found[:2] for found in carve(tmp_path / "x")} <= {written[:2] for written in ROWS}


@pytest.mark.parametrize("page", range(0, 40, 3))
def test_a_spoilt_page_costs_no_more_than_its_own_rows(stores: Path, tmp_path: Path, page: int) -> None:
    content = bytearray((stores / "closed").read_bytes())
    assert len(content) > 41 * 4096
    content[page * 4096 : (page + 1) * 4096] = b"\xa5" * 4096
    (tmp_path / "x").write_bytes(content)
    # a page of 4096 bytes holds few such rows, and a page of overflow belongs to one
    assert len(set(carve(tmp_path / "x"))) >= len(ROWS) - 40
