"""Where things are kept between runs. Imports nothing heavy: every run asks."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from platformdirs import user_cache_dir, user_config_dir, user_data_dir


def user_path(path: str | Path) -> Path:
    """A path that the user gave; `~` is the home folder, and stays where there is none."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib's raises where the user is unknown


def cache_dir() -> Path:
    """Where downloads are kept: the folder in M3KE_CACHE, or the user's cache folder."""
    chosen = os.environ.get("M3KE_CACHE")
    return user_path(chosen) if chosen else Path(user_cache_dir("m3ke-async", appauthor=False))


def config_dir() -> Path:
    """Where the user's provider files are kept: the folder in M3KE_CONFIG, or the user's configuration."""
    chosen = os.environ.get("M3KE_CONFIG")
    return user_path(chosen) if chosen else Path(user_config_dir("m3ke-async", appauthor=False))


def spare_store(store: Path) -> Path:
    """Where replies go that neither a reply store nor its folder takes: most often another disk."""
    digest = blake2b(os.fsencode(store.absolute()), digest_size=8).hexdigest()
    return Path(user_data_dir("m3ke-async", appauthor=False)) / "spare" / f"{digest}.sqlite"


def suite_dir() -> Path:
    """Where M3KE is kept: the folder in M3KE_DATA, or one in the user's data folder."""
    chosen = os.environ.get("M3KE_DATA")
    return user_path(chosen) if chosen else Path(user_data_dir("m3ke-async", appauthor=False)) / "M3KE"


def default_suite_path() -> Path | None:
    """The folder in M3KE_DATA, else the fetched copy where there is one."""
    path = suite_dir()
    return path if os.environ.get("M3KE_DATA") or path.is_dir() else None
