"""The Python face: names, `evaluate` and `evaluate_sync`."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Unpack

import pytest

import m3ke_async
from m3ke_async import DataError, ExitCode, StoppedError, UsageError, evaluate, evaluate_sync, load_suite
from m3ke_async.api import _in_a_thread
from tests.command import ROOT
from tests.questions import write_suite
from tests.server import HANG, Server, error, in_thread, right_reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from m3ke_async import RunResult, Suite
    from m3ke_async.settings import RunOptions


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite", 2, 3)


@pytest.fixture
def server() -> Iterator[Server]:
    with in_thread() as running:
        yield running


def options(server: Server, tmp_path: Path, **others: Unpack[RunOptions]) -> RunOptions:
    return {"base_url": server.url, "results": str(tmp_path / "results"), **others}


def all_right(result: RunResult) -> bool:
    return (result.scores.total.correct, result.scores.total.asked) == (6, 6)


# Names


def test_every_public_name_is_there_and_is_listed_in_order() -> None:
    assert m3ke_async.__all__ == sorted(m3ke_async.__all__)
    for name in m3ke_async.__all__:
        assert getattr(m3ke_async, name).__name__ == name
    assert set(m3ke_async._HOMES) == set(m3ke_async.__all__)


def test_the_names_are_what_the_documentation_promises() -> None:
    assert set(m3ke_async.__all__) >= {
        "evaluate",
        "evaluate_sync",
        "extract_choice",
        "load_suite",
        "Choice",
        "Outcome",
        "Suite",
        "UsageError",
    }


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'evalute'"):
        m3ke_async.evalute  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, m3ke_async\n"
        "print(sorted(name for name in sys.modules if name.startswith('m3ke_async.')))\n"
        "print([name for name in ('aiohttp', 'orjson', 'rich', 'torch') if name in sys.modules])\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    )
    assert shown.stdout == "[]\n[]\n"


def test_every_module_can_be_imported_on_its_own() -> None:
    """No circle that works only in one order."""
    names = [
        path.stem for path in (ROOT / "m3ke_async").glob("*.py") if path.stem not in {"__main__", "__init__"}
    ]
    for name in names:
        if name != "llamacpp_child":  # a program of its own
            importlib.import_module(f"m3ke_async.{name}")
    assert len(names) > 20


# evaluate (C09)


async def test_evaluate_works_under_a_running_loop(suite: Path, tmp_path: Path) -> None:
    async with Server() as server:
        result = await evaluate("vllm/m", suite, **options(server, tmp_path))
        assert all_right(result)
        assert (result.exit_code, result.stopped) == (ExitCode.COMPLETE, None)
        assert (result.path / "scores.json").is_file()
        assert result.ledger.replies == len(server.seen) == 6


async def test_a_second_call_asks_nothing_and_two_at_once_share_the_loop(suite: Path, tmp_path: Path) -> None:
    async with Server() as server:
        given = options(server, tmp_path)
        first = await evaluate("vllm/m", suite, **given)
        assert (await evaluate("vllm/m", suite, **given)).scores == first.scores
        assert len(server.seen) == 6
        results = await asyncio.gather(
            *(evaluate("vllm/m", suite, **options(server, tmp_path, max_tokens=number)) for number in (1, 2))
        )
        assert all(all_right(result) for result in results)
        assert len(server.seen) == 18


@pytest.mark.parametrize("form", ["path", "text", "suite"])
async def test_a_suite_may_be_loaded_or_named(suite: Path, tmp_path: Path, form: str) -> None:
    forms: dict[str, Path | str | Suite] = {"path": suite, "text": str(suite), "suite": load_suite(suite)}
    given = forms[form]
    async with Server() as server:
        result = await evaluate("vllm/m", given, **options(server, tmp_path, limit=1, shots=0, split="dev"))
        assert result.scores.total.asked == 2


async def test_the_sample_is_known_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no task matches"):
        await evaluate("vllm/m", "sample", tasks="Nothing of this name", results=str(tmp_path))


async def test_a_loaded_suite_can_be_scored_again_by_the_command(suite: Path, tmp_path: Path) -> None:
    from tests.command import m3ke

    async with Server() as server:
        result = await evaluate("vllm/m", load_suite(suite), **options(server, tmp_path))
    ran = await asyncio.to_thread(m3ke, "score", result.path, "--json")
    assert ran.json["scores"] == json.loads(json.dumps(result.scores.to_json()))


async def test_results_are_typed_and_groups_are_found_by_their_published_names(
    suite: Path, tmp_path: Path
) -> None:
    async with Server() as server:
        result = await evaluate("vllm/m", suite, **options(server, tmp_path))
    # mypy reads this line, too: the keys are plain strings
    accuracy: float | None = result.scores.clusters["Natural Sciences"].accuracy
    assert accuracy == 1


async def test_it_says_nothing(suite: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with Server() as server:
        await evaluate("vllm/m", suite, **options(server, tmp_path))
    assert capfd.readouterr() == ("", "")


async def test_a_misspelt_option_names_the_nearest(suite: Path) -> None:
    with pytest.raises(UsageError, match="unknown option 'max_token', did you mean 'max_tokens'"):
        await evaluate("vllm/m", suite, max_token=5)  # type: ignore[call-arg]


async def test_a_wrong_suite_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder or zip"):
        await evaluate("vllm/m", tmp_path / "nowhere")


async def test_what_stops_the_run_is_raised_and_nothing_is_lost(suite: Path, tmp_path: Path) -> None:
    async with Server() as server:
        given = options(server, tmp_path, concurrency=1)
        server.script["Q1-2"] = [error(402, "Insufficient Balance")]
        with pytest.raises(StoppedError, match="no credit left"):
            await evaluate("vllm/m", suite, **given)
        del server.script["Q1-2"]
        assert all_right(await evaluate("vllm/m", suite, **given))
        assert server.counts == {**dict.fromkeys(server.counts, 1), "Q1-2": 2}


async def test_an_incomplete_run_is_a_result(suite: Path, tmp_path: Path) -> None:
    async with Server() as server:
        server.script["Q0-0"] = [error(400, "no", param="messages")]
        result = await evaluate("vllm/m", suite, **options(server, tmp_path))
    assert result.exit_code is ExitCode.INCOMPLETE
    assert result.scores.total.answered == 5


async def test_a_cancelled_run_keeps_what_came(suite: Path, tmp_path: Path) -> None:
    last = asyncio.Event()
    async with Server() as server:
        given = options(server, tmp_path, concurrency=1)
        server.script["Q1-2"] = [HANG, right_reply("Q1-2")]
        server.on_request = lambda seen: last.set() if seen.mark == "Q1-2" else None
        running = asyncio.create_task(evaluate("vllm/m", suite, **given))
        async with asyncio.timeout(10):
            await last.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert all_right(await evaluate("vllm/m", suite, **given))
        assert {mark for mark, count in server.counts.items() if count > 1} == {"Q1-2"}


# evaluate_sync (C09)


def test_it_works_in_a_script_and_twice_in_a_row(server: Server, suite: Path, tmp_path: Path) -> None:
    for max_tokens in (1, 2):
        assert all_right(evaluate_sync("vllm/m", suite, **options(server, tmp_path, max_tokens=max_tokens)))
    assert len(server.seen) == 12


async def test_it_works_inside_a_running_loop_and_twice(server: Server, suite: Path, tmp_path: Path) -> None:
    for max_tokens in (1, 2):
        assert all_right(evaluate_sync("vllm/m", suite, **options(server, tmp_path, max_tokens=max_tokens)))
    assert len(server.seen) == 12


def test_it_works_in_worker_threads_side_by_side(server: Server, suite: Path, tmp_path: Path) -> None:
    def ask(max_tokens: int) -> bool:
        return all_right(evaluate_sync("vllm/m", suite, **options(server, tmp_path, max_tokens=max_tokens)))

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(ask, (1, 2, 3))) == [True] * 3
    assert len(server.seen) == 18


@pytest.mark.parametrize("inside", [False, True])
def test_errors_come_through(suite: Path, *, inside: bool) -> None:
    async def main() -> None:
        evaluate_sync("vllm/m", suite, shots=9)

    with pytest.raises(UsageError, match="from 0 to 5"):
        asyncio.run(main()) if inside else evaluate_sync("vllm/m", suite, shots=9)


def test_the_interrupt_key_ends_the_thread_of_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C reaches the waiting thread only; the asking one must not go on, and be paid, unseen."""
    from concurrent.futures import Future

    started, ended = threading.Event(), threading.Event()

    async def ask_for_ever() -> RunResult:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    def interrupted(future: Future[object], timeout: float | None = None) -> object:
        monkeypatch.undo()  # once
        started.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _in_a_thread(ask_for_ever())
    assert ended.is_set()
