from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode
from tests import small_run
from tests.browser import Opened, chromium, open_page
from tests.command import m3ke

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from playwright.sync_api import Browser

#: A model that has nearly all right, and one that has nearly all wrong.
GOOD = {f"Q{task}-{n}": ("A", "答案：A") for task in range(2) for n in range(8)}
BAD = GOOD | dict.fromkeys([*GOOD][1:], ("A", "答案：B"))


def write_comparison(
    folder: Path, *sides: Mapping[str, tuple[str, str | None]], labelled: bool = True
) -> Path:
    split = "dev" if labelled else "test"
    runs = [
        small_run.write_run(folder / str(place), asked=asked, labelled=labelled, split=split)
        for place, asked in enumerate(sides)
    ]
    ran = m3ke("compare", *runs, "--html", folder / "compare.html", "--json")
    assert (ran.code, ran.err) == (0, "")
    return folder / "compare.html"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    make = tmp_path_factory.mktemp
    return {
        "labelled": write_comparison(make("labelled"), BAD, GOOD, BAD),
        "unlabelled": write_comparison(make("unlabelled"), BAD, GOOD, labelled=False),
        "alike": write_comparison(make("alike"), {"Q0-0": ("A", "A")}, {"Q0-0": ("A", "A")}),
    }


@pytest.fixture(scope="module")
def browser(pages: dict[str, Path]) -> Iterator[Browser]:
    """A browser. It has an event loop in this thread, in which no run can be made any more."""
    with chromium() as started:
        yield started


def open_comparison(browser: Browser, file: Path) -> AbstractContextManager[Opened]:
    return open_page(browser, file, "section svg")


def test_a_run_without_scores_says_how_to_write_them(tmp_path: Path) -> None:
    runs = [small_run.write_run(tmp_path / name) for name in "ab"]
    (runs[1] / "scores.json").unlink()
    ran = m3ke("compare", *runs, "--html", tmp_path / "compare.html")
    assert ran.code == ExitCode.USAGE
    assert "write it with: m3ke score RUN" in ran.error


def test_runs_stand_side_by_side_with_a_verdict(browser: Browser, pages: dict[str, Path]) -> None:
    with open_comparison(browser, pages["labelled"]) as opened:
        text = opened.page.locator("body").inner_text()
        assert "run 2 is better than run 1: 100.0 % to 6.2 %, 93.8 points." in text
        assert "No difference seen between run 1 (6.2 %) and run 3 (6.2 %): 0.0 points." in text
        assert opened.page.locator("h2").all_inner_texts()[-2:] == ["All runs", "Disputed questions"]
        assert "15 of 15" in text
        opened.page.locator("summary").first.click()
        assert opened.page.locator("details table").first.inner_text().count("Algebra-") == 1
        opened.page.get_by_role("button", name="中文").click()
        assert "运行 2 优于 运行 1" in opened.page.locator("body").inner_text()
        assert opened.complaints == []


def test_unlabelled_runs_are_shown_by_their_agreement(browser: Browser, pages: dict[str, Path]) -> None:
    with open_comparison(browser, pages["unlabelled"]) as opened:
        text = opened.page.locator("body").inner_text()
        assert "None of these questions has a known right letter" in text
        assert "The same letter in 6.2 % of 16 questions" in text
        assert opened.complaints == []


@pytest.mark.parametrize("name", ["labelled", "unlabelled", "alike"])
def test_no_number_on_the_page_is_nonsense(browser: Browser, pages: dict[str, Path], name: str) -> None:
    with open_comparison(browser, pages[name]) as opened:
        opened.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        text = opened.page.locator("body").inner_text()
        assert re.findall(r"NaN|Infinity|undefined|\bnull\b|\[object", text) == []
        assert opened.complaints == []
