"""Downloads and data lie where the environment says, or where the system keeps such things."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from m3ke_async import places
from m3ke_async.places import cache_dir, config_dir, default_suite_path, suite_dir

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(places, "user_cache_dir", lambda *names, **options: str(tmp_path / "cache"))
    monkeypatch.setattr(places, "user_data_dir", lambda *names, **options: str(tmp_path / "data"))
    monkeypatch.setattr(places, "user_config_dir", lambda *names, **options: str(tmp_path / "config"))
    monkeypatch.delenv("M3KE_CACHE", raising=False)
    monkeypatch.delenv("M3KE_CONFIG", raising=False)
    monkeypatch.delenv("M3KE_DATA", raising=False)


def test_the_system_decides_where_nothing_is_said(tmp_path: Path) -> None:
    assert cache_dir() == tmp_path / "cache"
    assert config_dir() == tmp_path / "config"
    assert suite_dir() == tmp_path / "data" / "M3KE"


def test_the_environment_decides_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("M3KE_CACHE", str(tmp_path / "mine"))
    monkeypatch.setenv("M3KE_CONFIG", str(tmp_path / "own"))
    monkeypatch.setenv("M3KE_DATA", str(tmp_path / "suite"))
    assert config_dir() == tmp_path / "own"
    assert cache_dir() == tmp_path / "mine"
    assert suite_dir() == default_suite_path() == tmp_path / "suite"  # though nothing is there


def test_the_default_suite_is_the_fetched_one_once_it_is_there(tmp_path: Path) -> None:
    assert default_suite_path() is None
    (tmp_path / "data" / "M3KE").mkdir(parents=True)
    assert default_suite_path() == tmp_path / "data" / "M3KE"
