"""report.html in a real browser: what it shows, what it does when it is clicked, and what it never does."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.report.page import page_head
from tests import small_run
from tests.browser import NO_FRAMES, Opened, chromium, open_page
from tests.command import m3ke
from tests.server import error, in_thread, reply
from tests.small_suite import ALGEBRA, COOKING, row, write_split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from playwright.sync_api import Browser, Page

LONG = 1_000_000
#: Questions by mark: the right letter, and the reply.
ASKED = {
    "Q0-0": ("A", "答案：A"),
    "Q0-1": ("A", "我选B。答案：B"),
    "Q0-2": ("C", "</script><script>window.hit=1</script></pre></dialog>答案：C"),
    "Q0-3": ("D", '<img src=x onerror="window.hit=1"><svg onload="window.hit=1">\n答案：D'),
    "Q1-0": ("A", "\u202e\u2066反\u202e\n😀😀答案：A，就是它"),
    "Q1-1": ("B", f"{'长' * LONG}\n答案：B"),
    "Q1-2": ("B", "我不知道。"),
    "Q1-3": ("B", None),
}
HOSTILE_QUESTION = "</script><script>window.hit=1</script><b onclick=alert(1)>{{policy}}"


def write_run(folder: Path) -> Path:
    """Ask the questions above, and return the run's folder."""
    suite = folder / "suite"
    for task, name in enumerate((ALGEBRA, COOKING)):
        marks = [mark for mark in ASKED if mark.startswith(f"Q{task}-")]
        rows = [
            row(n, f"{mark} {HOSTILE_QUESTION}", ASKED[mark][0], B="<b>乙</b>")
            for n, mark in enumerate(marks)
        ]
        write_split(suite, "dev", name, rows)
    with in_thread() as server:
        server.script = {
            mark: [reply(text)] if text is not None else [error(400, "no <script>window.hit=1</script>")]
            for mark, (_, text) in ASKED.items()
        }
        ran = m3ke(
            *("run", "custom/m", "--base-url", server.url, "--data", suite, "--quiet"),
            *("--results", folder / "results", "--name", "run"),
        )
    assert ran.code == ExitCode.INCOMPLETE, ran.err
    return folder / "results" / "run"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("html"))


@pytest.fixture(scope="module")
def report(run: Path) -> Path:
    ran = m3ke("report", run)
    assert (ran.code, ran.err) == (0, "")
    return run / "report.html"


@pytest.fixture(scope="module")
def rotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run that asked each question in four orders of its options."""
    run = small_run.write_run(tmp_path_factory.mktemp("rotated"), options=("--rotate",))
    assert m3ke("report", run).code == 0
    return run / "report.html"


#: Runs of which little can be said: what is asked, and whether the answers are known.
ODD: dict[str, tuple[Mapping[str, tuple[str, str | None]], bool]] = {
    "unlabelled": (small_run.ASKED, False),
    "all failed": ({"Q0-0": ("A", None), "Q0-1": ("A", None)}, True),
    "all refused": ({"Q0-0": ("A", "抱歉，我无法回答。"), "Q1-0": ("B", "抱歉，我无法回答。")}, True),
    "one question": ({"Q0-0": ("A", "A")}, True),
    "one without a letter, unlabelled": ({"Q0-0": ("A", "。")}, False),
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of odd runs by name."""
    reports = {}
    for name, (asked, labelled) in ODD.items():
        folder = tmp_path_factory.mktemp("odd")
        split, options = ("dev", ("--shots", "5")) if labelled else ("test", ())
        run = small_run.write_run(folder, asked=asked, labelled=labelled, split=split, options=options)
        assert m3ke("report", run).code == 0
        reports[name] = run / "report.html"
    return reports


@pytest.fixture(scope="module")
def browser(report: Path, rotated: Path, odd: dict[str, Path]) -> Iterator[Browser]:
    """A browser. It has an event loop in this thread, in which no run can be made any more."""
    with chromium() as started:
        yield started


def open_report(
    browser: Browser, report: Path, locale: str = "en-US", charts: int = 4
) -> AbstractContextManager[Opened]:
    return open_page(browser, report, ".row", f"section svg >> nth={charts - 1}", locale=locale)


def open_question(opened: Opened, mark: str) -> str:
    """Open the question with this mark, and return what the dialog says with its prompt."""
    opened.page.get_by_role("searchbox").fill(mark)
    opened.page.locator(".row").click()
    opened.page.locator("dialog pre", has_text="请根据").wait_for()
    return opened.page.locator("dialog").inner_text()


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    with open_report(browser, report) as found:
        yield found


@pytest.fixture
def page(opened: Opened) -> Page:
    return opened.page


def shown(page: Page) -> str:
    return page.locator("#questions > .note").inner_text()


# -- without a browser -----------------------------------------------------------------


def test_the_command_prints_where_the_report_is(run: Path, tmp_path: Path) -> None:
    ran = m3ke("report", run, "--output", tmp_path / "own.html")
    assert ran.out == f"{tmp_path / 'own.html'}\n"
    assert (tmp_path / "own.html").read_bytes().startswith(b"<!DOCTYPE html>")


def test_the_same_run_gives_the_same_report(run: Path, report: Path, tmp_path: Path) -> None:
    m3ke("report", run, "--output", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == report.read_bytes()


def test_no_text_of_a_run_is_markup_in_the_file(report: Path) -> None:
    text = report.read_text("utf-8")
    assert "window.hit" not in text  # questions and replies are packed
    scripts = re.findall(r"<script[^>]*>", text)
    assert scripts == [
        '<script type="application/json" id="summary">',
        "<script>",
        '<script type="text/plain" class="questions">',
        '<script type="text/plain" class="prompts">',
    ]
    assert text.count("</script>") == len(scripts)


def test_no_setting_and_no_models_name_is_markup_in_the_file() -> None:
    summary = {"run": {"system": HOSTILE_QUESTION}, "scores": ["</script>", "<!--<script>", "{{script}}"]}
    text = page_head(summary, []).decode()
    (data,) = re.findall(r'<script type="application/json" id="summary">(.*?)</script>', text, re.DOTALL)
    assert json.loads(data) == summary
    assert "<" not in data
    assert text.count("</script>") == 2


def test_the_policy_allows_one_script_and_no_address(report: Path) -> None:
    head = report.read_text("utf-8").partition("<title>")[0]
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', head)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy


def test_the_licences_of_the_libraries_are_in_the_file(report: Path) -> None:
    text = report.read_text("utf-8")
    assert "Mike Bostock\n\nPermission to use" in text
    assert "Observable, Inc.\n\nPermission to use" in text


def test_an_unknown_format_names_those_that_are(run: Path) -> None:
    ran = m3ke("report", run, "--format", "htm")
    assert ran.code == ExitCode.USAGE
    assert ran.error.startswith("--format must be html")
    assert ran.error.endswith("did you mean 'html'?")


def test_a_run_without_scores_says_how_to_write_them(run: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((run / "run.json").read_bytes())
    ran = m3ke("report", tmp_path)
    assert ran.code == ExitCode.USAGE
    assert ran.error.endswith("scores.json: is not there or damaged; write it with: m3ke score RUN")


# -- what it shows ---------------------------------------------------------------------


def test_the_headline_is_that_of_scores_json(page: Page, run: Path) -> None:
    total = json.loads((run / "scores.json").read_bytes())["total"]
    assert (total["correct"], total["labelled"]) == (5, 8)
    headline = page.locator(".headline").inner_text()
    assert "62.5 %" in headline
    low, high = total["interval"]
    assert f"{100 * low:.1f}–{100 * high:.1f} %" in headline
    assert "6 answered, 1 unparsed, 1 failed" in headline


def test_every_part_of_the_page_is_there(page: Page) -> None:
    assert page.locator("h2").all_inner_texts() == [
        "Accuracy",
        "Tasks by cluster and level",
        "Accuracy with 95 % intervals",
        "Letters chosen",
        "Outcomes",
        "Requests, tokens, price",
        "Speed over time",
        "Settings and versions",
        "Questions",
    ]


def test_an_incomplete_run_says_so(page: Page) -> None:
    assert "Incomplete: 1 failed (counted as wrong), 0 missing" in page.locator(".warning").first.inner_text()


def test_the_page_speaks_the_language_of_the_browser_and_can_be_switched(
    browser: Browser, report: Path
) -> None:
    with open_report(browser, report, "zh-CN") as chinese:
        page = chinese.page
        assert page.locator("h2").first.inner_text() == "准确率"
        assert page.locator("html").get_attribute("lang") == "zh-CN"
        page.get_by_role("button", name="English").click()
        assert page.locator("h2").first.inner_text() == "Accuracy"
        page.get_by_role("button", name="中文").click()
        assert page.locator("h2").last.inner_text() == "题目"
        assert shown(page) == "8 道题中的 8 道"
        assert chinese.complaints == []


def test_the_ledger_has_what_the_provider_charged(browser: Browser, run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "results" / "run")
    record = json.loads((copy / "run.json").read_bytes())
    record["ledger"] |= {"charged": 0.0125, "charges": 1, "batch_prompt_tokens": 1_000, "resent": 3}
    (copy / "run.json").write_text(json.dumps(record), "utf-8")
    assert m3ke("report", copy).code == 0
    with open_report(browser, copy / "report.html") as opened:
        text = opened.page.locator("section", has_text="Requests, tokens, price").last.inner_text()
        assert "Charged, as the provider says\t0.0125 USD in 1 reply" in text
        assert "Tokens by batches\t1,000" in text
        assert "Kept connections that had ended\t3" in text


def test_a_word_has_a_translation_wherever_it_has_an_english_form(page: Page) -> None:
    page.get_by_role("button", name="中文").click()
    own = page.locator("h2, .fact span, th, option, .filters button").all_inner_texts()
    known = {*"ABCD", "", ALGEBRA, COOKING}
    assert [text for text in own if text not in known and not re.search(r"[\u4e00-\u9fff]", text)] == []


@pytest.mark.parametrize("name", ODD)
def test_an_odd_run_is_an_honest_page(browser: Browser, odd: dict[str, Path], name: str) -> None:
    with open_report(browser, odd[name], charts=1) as opened:
        opened.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        opened.page.locator("details svg").wait_for()
        text = opened.page.locator("body").inner_text() + opened.page.locator("svg").evaluate_all(
            "all => all.map(one => one.outerHTML).join()"
        )
        assert re.findall(r"NaN|Infinity|undefined|\bnull\b|\[object|\{\d", text) == []
        assert re.findall(r"\b(?<![.,\d])1 (?:questions|replies|asks|requests)\b", text) == []
        assert opened.complaints == []
        assert ("No accuracy" in text) == (not ODD[name][1])
        assert ("Fewer examples than --shots 5" in text) == ODD[name][1]
        assert ", 5-shot" not in text


def test_a_page_that_was_not_painted_yet_has_its_questions(browser: Browser, rotated: Path) -> None:
    with open_page(browser, rotated, ".row", script=NO_FRAMES) as opened:
        assert shown(opened.page) == "24 of 24 asks"
        assert opened.complaints == []


def test_questions_that_are_damaged_are_said_and_the_rest_is_there(
    browser: Browser, rotated: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.html"
    damaged.write_text(re.sub('(class="questions">.{40}).{40}', r"\1", rotated.read_text("utf-8")), "utf-8")
    with open_page(browser, damaged, ".tile") as opened:
        opened.page.get_by_text("The questions cannot be read by this browser").wait_for()
        assert opened.complaints == []


# -- what it does ----------------------------------------------------------------------


def test_filters_join(page: Page) -> None:
    assert shown(page) == "8 of 8 questions"
    page.get_by_label("All tasks").select_option(COOKING)
    assert shown(page) == "4 of 8 questions"
    page.get_by_label("Right and wrong").select_option("wrong")
    assert shown(page) == "2 of 8 questions"
    page.get_by_label("All outcomes").select_option("failed")
    assert shown(page) == "1 of 8 questions"
    assert page.locator(".row").count() == 1
    page.get_by_role("button", name="Clear").click()
    assert shown(page) == "8 of 8 questions"
    page.get_by_label("All letters").select_option("B")
    assert shown(page) == "2 of 8 questions"


def test_search_reads_questions_and_replies_in_any_case(page: Page) -> None:
    page.get_by_role("searchbox").fill("q0-1")
    assert shown(page) == "1 of 8 questions"
    page.get_by_role("searchbox").fill("我不知道")
    assert shown(page) == "1 of 8 questions"
    page.get_by_role("searchbox").fill("nowhere")
    assert shown(page) == "0 of 8 questions"
    assert page.locator(".row").count() == 0


def test_another_policy_stands_in_the_heading(browser: Browser, run: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(run, tmp_path / "run")
    m3ke("score", copied, "--policy", "first")
    m3ke("report", copied)
    with open_page(browser, copied / "report.html", ".row") as opened:
        assert "0-shot, --policy first, incomplete" in opened.page.locator("header").inner_text()


def test_a_tile_of_the_heat_map_leads_to_its_questions(page: Page) -> None:
    page.locator(".tile", has_text="Algebra").click()
    assert shown(page) == "4 of 8 questions"
    assert page.get_by_label("All tasks").input_value() == ALGEBRA


def test_a_question_shows_prompt_reply_mark_and_rule(opened: Opened) -> None:
    text = open_question(opened, "Q0-1")
    dialog = opened.page.locator("dialog")
    assert dialog.locator("mark").all_inner_texts() == ["B"]
    assert "chosen B · right letter A · rule zh-answer (" in text
    assert "我选B。答案：B" in text
    assert "正确的选项是：" in text


def test_the_mark_stands_right_behind_characters_of_two_units(opened: Opened) -> None:
    open_question(opened, "Q1-0")
    assert opened.page.locator("dialog mark").inner_text() == "A"
    assert opened.page.locator("dialog pre", has_text="就是它").inner_text().endswith("😀😀答案：A，就是它")


def test_a_failed_question_says_why(opened: Opened) -> None:
    assert "no <script>window.hit=1</script>" in open_question(opened, "Q1-3")


def test_the_dialog_steps_through_what_the_filters_left(page: Page) -> None:
    page.get_by_label("Right and wrong").select_option("wrong")
    page.locator(".row").first.click()
    dialog = page.locator("dialog")
    assert "Q0-1" in dialog.inner_text()
    dialog.get_by_role("button", name="Next").click()
    assert "Q1-2" in dialog.inner_text()
    assert dialog.get_by_role("button", name="Previous").is_enabled()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_a_question_that_was_asked_four_times_has_four_lines(browser: Browser, rotated: Path) -> None:
    with open_report(browser, rotated) as opened:
        assert shown(opened.page) == "24 of 24 asks"
        titles = opened.page.locator(".row > :nth-child(2)").all_inner_texts()[:4]
        assert [title.removeprefix(f"{ALGEBRA}, 0") for title in titles] == [
            f", options moved by {places}" for places in range(4)
        ]
        assert opened.complaints == []


def test_a_question_that_was_asked_four_times_tells_how_its_asks_agree(
    browser: Browser, rotated: Path
) -> None:
    repeats = json.loads((rotated.parent / "scores.json").read_bytes())["repeats"]
    with open_report(browser, rotated) as opened:
        section = opened.page.locator("section", has_text="Questions asked more than once").last
        text = section.inner_text()
        assert f"{100 * repeats['consistency']:.1f} % of {repeats['questions']} questions" in text
        assert f"(CircularEval): {100 * repeats['accuracy_always']:.1f} %" in text
        shown_letters = ", ".join(f"{letter} {n}" for letter, n in repeats["shown"].items())
        assert f"Places chosen, each option having stood once in each: {shown_letters}" in text


def test_options_of_another_order_show_the_letter_that_the_model_saw(browser: Browser, rotated: Path) -> None:
    with open_report(browser, rotated) as opened:
        opened.page.get_by_role("searchbox").fill("Q0-0")
        opened.page.locator(".row").nth(1).click()
        prompt = opened.page.locator("dialog pre", has_text="请根据")
        prompt.wait_for()
        dialog = opened.page.locator("dialog")
        assert dialog.locator("mark").inner_text() == "A"  # of the prompt, where B stands first
        chosen = dialog.locator("li", has_text="chosen B")
        assert "(shown to the model as A)" in chosen.inner_text()
        assert "(shown to the model as D)" in dialog.locator("li", has_text="right letter A").inner_text()
        own = chosen.inner_text().removeprefix("B. ").partition(" (")[0]
        assert f"A. {own}\n" in prompt.inner_text()


def test_outcomes_to_choose_from_are_those_of_the_asks(browser: Browser, rotated: Path) -> None:
    with open_report(browser, rotated) as opened:
        outcome = opened.page.get_by_label("All outcomes")
        for value in outcome.locator("option").evaluate_all("all => all.map(one => one.value)")[1:]:
            outcome.select_option(value)
            assert not shown(opened.page).startswith("0 of")


# -- what it never does ----------------------------------------------------------------


def test_hostile_replies_and_questions_are_text(opened: Opened) -> None:
    for mark, (_, text) in ASKED.items():
        said = open_question(opened, mark)
        assert HOSTILE_QUESTION in said
        if text is not None and mark in {"Q0-2", "Q0-3"}:
            assert text in said
        opened.page.keyboard.press("Escape")
    assert opened.page.evaluate("window.hit") is None
    assert opened.complaints == []


def test_marks_that_reorder_text_are_written_out(opened: Opened) -> None:
    open_question(opened, "Q1-0")
    found = opened.page.locator("dialog .control").all_inner_texts()
    assert found == ["\\u202e", "\\u2066", "\\u202e"]


def test_a_megabyte_in_one_line_is_clipped_until_it_is_wanted(opened: Opened) -> None:
    assert len(open_question(opened, "Q1-1")) < 10_000
    reply = opened.page.locator("dialog pre", has_text="答案")
    assert reply.locator("mark").inner_text() == "B"
    reply.get_by_role("button", name="show all 1,000,004 characters").click()
    assert len(reply.inner_text()) > LONG


def test_replies_that_do_not_fit_say_how_much_is_left_out(
    browser: Browser, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("m3ke_async.report.write.room_for_each", lambda answers, replies: 100)
    m3ke("report", run, "--output", tmp_path / "short.html")
    with open_report(browser, tmp_path / "short.html") as short:
        text = open_question(short, "Q1-1")
        assert "999,905 characters more are in answers.jsonl" in text
        assert short.page.locator("dialog mark").inner_text() == "B"
        short.page.keyboard.press("Escape")
        assert "characters more" not in open_question(short, "Q0-0")


def test_nothing_is_asked_of_the_network(opened: Opened, report: Path) -> None:
    open_question(opened, "Q0-0")
    assert [url for url in opened.requested if not url.startswith("data:")] == [report.as_uri()]


def test_another_script_would_not_run(page: Page) -> None:
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hit = 1";
            document.body.append(script);
        }"""
    )
    assert page.evaluate("window.hit") is None
