"""Headless Chromium for tests, as Debian packages it; tests that need it are skipped where it is not."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

#: A page that is never painted, such as one in a tab that was opened in the background.
NO_FRAMES = "window.requestAnimationFrame = () => 0; window.ResizeObserver = class { observe() {} };"


@dataclass(frozen=True, slots=True)
class Opened:
    """A page with everything that it asked for and complained of."""

    page: Page
    requested: list[str]
    complaints: list[str]

    def wait_for(self, *selectors: str) -> None:
        """Wait until each of these is seen; a page on which one is not fails with what it says instead."""
        from playwright.sync_api import TimeoutError as TimedOut

        for selector in selectors:
            try:
                self.page.locator(selector).first.wait_for()
            except TimedOut:
                text = self.page.locator("body").inner_text()
                pytest.fail(f"no {selector} on the page; it complains of {self.complaints} and says:\n{text}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; every page of it is closed with it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed here")
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("chromium is not installed here: apt-get install chromium")
    # Containers often have 64 MB of /dev/shm only, and Chromium crashes where it is full.
    arguments = ["--disable-dev-shm-usage"]
    if os.geteuid() == 0:  # who tests run as in containers, and for whom Chromium's sandbox refuses to run
        arguments.append("--no-sandbox")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=executable, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_page(
    browser: Browser, file: Path, *selectors: str, locale: str = "en-US", script: str = ""
) -> Iterator[Opened]:
    """A page of its own, with these things on it; the script runs before those of the page."""
    with browser.new_context(locale=locale) as context:
        page = context.new_page()
        opened = Opened(page, [], [])
        page.on("request", lambda request: opened.requested.append(request.url))
        page.on("console", lambda message: opened.complaints.append(message.text))
        page.on("pageerror", lambda problem: opened.complaints.append(str(problem)))
        if script:
            page.add_init_script(script)
        page.goto(file.as_uri())
        opened.wait_for(*selectors)
        yield opened
