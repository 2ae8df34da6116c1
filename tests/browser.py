"""Headless Chromium for tests, as Debian packages it; tests that need it are skipped where it is not."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; every page of it is closed with it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed here")
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("chromium is not installed here: apt-get install chromium")
    # Chromium's sandbox refuses to run as root, which is who tests run as in containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=executable, args=arguments)
        yield browser
        browser.close()
