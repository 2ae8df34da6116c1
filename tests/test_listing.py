"""What lies in a results folder, and how far a run is."""

from __future__ import annotations

import io
import json
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from m3ke_async.errors import ExitCode, UsageError
from m3ke_async.listing import ListedRun, Standing, State, list_runs, standing, watch
from m3ke_async.report.runs import render, standing_line
from m3ke_async.rundir import RunDir
from m3ke_async.verified import claimed, is_claimed
from tests.command import m3ke
from tests.comparing import ARTS, write_run
from tests.questions import write_suite
from tests.server import error, in_thread

if TYPE_CHECKING:
    from pathlib import Path


def _record(run: RunDir, **changes: Any) -> None:
    record = run.read()
    assert record is not None
    run.write(record | changes)


def _run(folder: Path, name: str = "one", **changes: Any) -> RunDir:
    run = write_run(folder, name, [(ARTS, "A", "A")])
    _record(run, **changes)
    return run


# The list


def test_the_latest_run_comes_first_with_its_score(tmp_path: Path) -> None:
    results = tmp_path / "results"
    suite = write_suite(tmp_path / "suite", 1, 4)
    with in_thread() as server:
        given = ("--base-url", server.url, "--data", suite, "--results", results, "--quiet")
        assert m3ke("run", "vllm/m", "--name", "old", *given).code == ExitCode.COMPLETE
        server.script = {"Q0-0": [error(400, "no", param="messages")]}
        more = ("--temperature", "1", "--shots", "2")
        assert m3ke("run", "vllm/m", "--name", "new", *given, *more).code == ExitCode.INCOMPLETE
    _record(RunDir(results / "old"), written_at="2020-01-01T00:00:00Z")
    new, old = list_runs(results)
    assert (old.name, old.state, old.model, old.split, old.shots) == ("old", "complete", "vllm/m", "dev", 0)
    assert (old.asked, old.labelled, old.accuracy) == (4, 4, 1.0)
    assert (new.name, new.state, new.shots, new.accuracy) == ("new", "incomplete", 2, 0.75)
    ran = m3ke("runs", "--results", results, "--json")
    assert [run["name"] for run in ran.json] == ["new", "old"]
    shown = " ".join(m3ke("runs", "--results", results).out.split())
    assert "2 runs" in shown
    assert "vllm/m" in shown
    assert "75.0" in shown


def test_ages_are_told_from_the_record(tmp_path: Path) -> None:
    _run(tmp_path, written_at="2026-01-02T03:04:05Z")
    (found,) = list_runs(tmp_path, now=lambda: 1767323045 + 90)  # that moment in Unix time
    assert found.age == 90
    (found,) = list_runs(tmp_path, now=lambda: 0)
    assert found.age == 0  # a clock that was put back


def test_a_run_without_scores_and_one_with_foreign_ones_are_listed_without_them(tmp_path: Path) -> None:
    _run(tmp_path, "bare")
    _run(tmp_path, "foreign").scores.write_text('{"version": 99}')
    assert [(run.name, run.state, run.accuracy) for run in list_runs(tmp_path)] == [
        ("bare", "complete", None),
        ("foreign", "complete", None),
    ]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 7}', '{"version": 1}'])
def test_a_damaged_run_is_told_of_and_hides_no_other(tmp_path: Path, content: str) -> None:
    _run(tmp_path, "good")
    _run(tmp_path, "bad").run_json.write_text(content)
    good, bad = list_runs(tmp_path)
    assert (good.name, bad.name, bad.state) == ("good", "bad", "damaged")
    assert bad.trouble is not None
    assert "\n" not in bad.trouble
    ran = m3ke("runs", "--results", tmp_path)
    assert ran.code == ExitCode.COMPLETE
    assert "Damaged: " in ran.out


def test_an_empty_folder_and_none_hold_no_runs(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        ran = m3ke("runs", "--results", folder)
        assert (ran.code, ran.err) == (ExitCode.COMPLETE, "")
        assert "no runs in" in ran.out
        assert m3ke("runs", "--results", folder, "--json").json == []


@pytest.mark.parametrize("width", [40, 80, 160])
def test_the_list_fits_the_width_and_steers_no_terminal(width: int) -> None:
    file = io.StringIO()
    runs = [
        ListedRun("很长的名字" * 9, State.COMPLETE, "vllm/\x1b[31mm" * 3, "dev", 5, 355, 355, 0.5, 3e5),
        ListedRun("x", State.DAMAGED, trouble="run.json: is \x1b[0m damaged " * 5),
    ]
    render(runs, Console(file=file, width=width, _environ={}))
    text = file.getvalue()
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "3 d" in " ".join(text.split())


def test_names_are_whole_so_that_they_can_be_copied() -> None:
    name = "vllm-qwen-qwen3-8b-test-5shot-4082b286"
    file = io.StringIO()
    run = ListedRun(name, State.COMPLETE, "vllm/Qwen/Qwen3-8B", "test", 5, 130, 130, 0.5, 60.0)
    render([run], Console(file=file, width=80, _environ={}))
    assert name in file.getvalue()


# One run


def _standing(**changes: Any) -> Standing:
    found = Standing(State.RUNNING, 1000, 100, 300, 5, 310, 5, 9000, 600, 30.0, None)
    return replace(found, **changes)


def test_a_line_says_how_far_it_is_and_how_long_it_takes() -> None:
    earlier = _standing(answered=200, seconds=20.0, stored=64)  # stored ones that were passed are no replies
    rate = _standing().rate(earlier)
    assert rate == 10
    assert standing_line(_standing(), rate) == (
        "running · 405 of 1,000 · 100 stored before · 10.0/s · 5 failed · 9,000+600 tokens · 5 retries"
        " · 60 s left"
    )
    ended = _standing(state=State.STOPPED, stopped="no credit", stored=0, failed=0, retries=0)
    assert standing_line(ended, None) == "stopped · 300 of 1,000 · 9,000+600 tokens · no credit"


@pytest.mark.parametrize(
    "earlier", [None, _standing(), _standing(seconds=99.0), _standing(answered=900, seconds=1.0)]
)
def test_no_rate_is_made_up(earlier: Standing | None) -> None:
    assert _standing().rate(earlier) is None


def test_a_run_is_running_while_a_process_has_it_and_interrupted_after_a_kill(tmp_path: Path) -> None:
    run = _run(tmp_path, state="running")
    assert standing(run).state is State.INTERRUPTED
    with claimed(run.path):
        assert is_claimed(run.path)
        assert standing(run).state is State.RUNNING
        _record(run, state="stopped")  # as a run has it while it writes its results
        assert standing(run).state is State.RUNNING
    assert not is_claimed(run.path)
    assert standing(run).state is State.STOPPED


def test_who_just_looks_keeps_no_run_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _run(tmp_path)
    with ExitStack() as look:
        look.enter_context(claimed(run.path))  # as is_claimed holds it for a moment
        monkeypatch.setattr("m3ke_async.verified.time.sleep", lambda seconds: look.close())
        with claimed(run.path) as alone:
            assert alone


def test_watching_tells_every_change_and_ends_with_the_run(tmp_path: Path) -> None:
    run = _run(tmp_path, state="running", counts={"total": 10, "answered": 1})
    with ExitStack() as process:
        process.enter_context(claimed(run.path))
        answered = iter([1, 4, 10])

        def sleep(seconds: float) -> None:
            if (now := next(answered, None)) is not None:
                _record(run, counts={"total": 10, "answered": now})
            else:
                _record(run, state="complete")
                process.close()

        seen = [(found.state, found.answered) for found in watch(run, sleep=sleep)]
    assert seen == [("running", 1), ("running", 4), ("running", 10), ("complete", 10)]


def test_watching_what_does_not_run_says_so_once(tmp_path: Path) -> None:
    run = _run(tmp_path, counts={"total": 1, "answered": 1})
    ran = m3ke("watch", run.path)
    assert (ran.code, ran.out, ran.err) == (ExitCode.COMPLETE, "complete · 1 of 1\n", "")
    ran = m3ke("watch", run.path, "--json")
    assert (json.loads(ran.out)["state"], json.loads(ran.out)["done"]) == ("complete", 1)
    _record(run, state="running")
    ran = m3ke("watch", "one", "--results", tmp_path)
    assert (ran.code, ran.out) == (ExitCode.INCOMPLETE, "interrupted · 1 of 1\n")


def test_a_run_that_went_away_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="m3ke runs"):
        standing(RunDir(tmp_path))
    assert "no run at 'x'" in m3ke("watch", "x", "--results", tmp_path).error
