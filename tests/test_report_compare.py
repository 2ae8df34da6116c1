"""The comparison as it is printed, and the command."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.console import Console

from m3ke_async.errors import ExitCode
from m3ke_async.report.compare import render
from tests.command import m3ke
from tests.comparing import ARTS, LAW, MATHS, compared, labelled, two_runs, write_run
from tests.questions import marks, write_suite
from tests.server import in_thread, reply, right

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from m3ke_async.comparison import Comparison
    from tests.server import Server


def _printed(comparison: Comparison, width: int = 80) -> str:
    file = io.StringIO()
    render(comparison, Console(file=file, width=width, _environ={}))
    return file.getvalue()


def _flat(comparison: Comparison) -> str:
    return " ".join(_printed(comparison).split())


def test_the_verdict_is_a_sentence_with_its_numbers(tmp_path: Path) -> None:
    text = _flat(two_runs(tmp_path, {ARTS: {"AA": 4, "AB": 1, "CA": 9, "BB": 6}}))
    assert "Run 2 is better than run 1: 65.0 % to 25.0 %, 40.0 points, exact McNemar p = 0.021" in text
    assert "20 labelled questions: both right 4, only run 1 1, only run 2 9, neither 6" in text
    assert "Run 1: one, vllm/one" in text


def test_no_difference_seen_is_said_with_what_would_have_been_seen(tmp_path: Path) -> None:
    text = _flat(two_runs(tmp_path, {ARTS: {"AA": 50, "AB": 6, "BA": 8, "BB": 36}}))
    assert "No difference seen between run 1 (56.0 %) and run 2 (58.0 %): 2.0 points" in text
    assert "A difference of 10.4 points would have been seen four times in five" in text


def test_a_handful_of_questions_cannot_show_anything(tmp_path: Path) -> None:
    assert "So few questions cannot show any difference" in _flat(two_runs(tmp_path, {ARTS: {"AB": 3}}))


def test_without_right_letters_there_is_agreement_by_task_and_no_accuracy(tmp_path: Path) -> None:
    text = _printed(two_runs(tmp_path, {ARTS: {"AA": 3, "AB": 1}, LAW: {"CC": 2, "-D": 1}}, key=None))
    assert "Agreement by task" in text
    assert "right" not in text
    assert "McNemar" not in text
    assert "choose the same letter in 83.3 % of 6" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_everything_fits_the_width(tmp_path: Path, width: int) -> None:
    tasks = {ARTS: {"AA": 30, "BA": 20}, LAW: {"AA": 30, "AB": 5}, MATHS: {"-A": 5, "CC": 3}}
    text = _printed(two_runs(tmp_path, tasks), width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "nan" not in text


def test_a_comparison_by_force_says_so_first(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path, "one", labelled(ARTS, {"AA": 3}, side=0)),
        write_run(tmp_path, "two", labelled(ARTS, {"AA": 3}, side=1), shots=5),
    ]
    assert _printed(compared(*runs, force=True)).startswith("NOT THE SAME: shots (0, 5)")


def test_what_is_foreign_steers_no_terminal(tmp_path: Path) -> None:
    runs = [write_run(tmp_path, name, labelled(ARTS, {"AB": 1}, side=0)) for name in ("one", "two")]
    runs[1].run_json.write_text(runs[1].run_json.read_text().replace("vllm/two", "vllm/\\u001b[31mtwo"))
    assert "\x1b" not in _printed(compared(*runs))


# The command


@pytest.fixture
def server() -> Iterator[Server]:
    with in_thread() as running:
        yield running


def test_two_runs_from_the_question_to_the_verdict(server: Server, tmp_path: Path) -> None:
    suite, results = write_suite(tmp_path / "suite", 2, 6), tmp_path / "results"
    given = ("--base-url", server.url, "--data", suite, "--results", results, "--quiet")
    assert m3ke("run", "vllm/m", "--name", "good", *given).code == ExitCode.COMPLETE
    server.script = {
        mark: [reply("ABCD"["DABC".index(right(mark))])] for mark in marks(2, 6)[:7]
    }  # seven are wrong now
    assert m3ke("run", "vllm/m", "--name", "bad", "--temperature", "1", *given).code == ExitCode.COMPLETE
    ran = m3ke("compare", "bad", "good", "--results", results, "--json")
    assert (ran.code, ran.err) == (ExitCode.COMPLETE, "")
    total = ran.json["pairs"][0]["total"]
    assert (total["n"], total["first_only"], total["second_only"], total["verdict"]) == (12, 0, 7, "second")
    assert total["p"] == 2 / 128
    assert ran.json["notes"] == ["temperature (1.0, 0.0)"]
    assert len(ran.json["disputed"]) == 7
    assert "Run 2 is better than run 1" in m3ke("compare", results / "bad", results / "good").out


def test_runs_that_are_not_there_are_one_line(tmp_path: Path) -> None:
    ran = m3ke("compare", "one", "two", "--results", tmp_path)
    assert ran.code == ExitCode.USAGE
    assert "no run at 'one'" in ran.error
