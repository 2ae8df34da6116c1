"""Mending that is killed half-way goes on; see test_store.py for what it gives."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from m3ke_async.store import ReplyStore
from tests.test_store import MANY, filled, found_again

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store whose header is gone."""
    path = tmp_path / "replies.sqlite"
    filled(path)
    shutil.copyfile(path, tmp_path / "whole")
    path.write_bytes(b"\xa5" * 100 + path.read_bytes()[100:])
    return path


def names(path: Path) -> list[str]:
    return sorted(file.name.partition(".damaged-")[0] for file in path.parent.glob("replies.sqlite*"))


def test_killed_before_the_new_file_was_whole_it_begins_again(path: Path) -> None:
    for suffix in (".new", ".new-wal", ".new-shm"):
        path.with_name(path.name + suffix).write_bytes(b"half")
    with ReplyStore(path) as store:
        assert found_again(store) == MANY
    assert names(path) == ["replies.sqlite", "replies.sqlite"]  # the new one, and the damaged one aside


@pytest.mark.parametrize("moved", [False, True])
def test_killed_before_the_new_file_was_in_place_it_is_put_there(path: Path, *, moved: bool) -> None:
    (path.parent / "whole").rename(path.with_name(f"{path.name}.rescued"))
    if moved:
        path.rename(path.with_name(f"{path.name}.damaged-1"))
    else:
        path.with_name(f"{path.name}-wal").write_bytes(b"of the damaged file")
    with ReplyStore(path, warn=pytest.fail) as store:
        assert found_again(store) == MANY
    assert not list(path.parent.glob("*.rescued"))
    assert list(path.parent.glob("replies.sqlite.damaged-*"))
