"""What each part of a run costs by the number of questions, without a network.

python -m bench.scale --questions 1000 --questions 10000
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import orjson

from bench.measure import machine
from bench.mock_server import MODEL
from bench.suite import write_suite
from m3ke_async import connect
from m3ke_async.evaluation import make_evaluation
from m3ke_async.loop import run_loop
from m3ke_async.providers import load_profile
from m3ke_async.report.write import Format, write_report
from m3ke_async.request import Reply, Usage
from m3ke_async.run import run
from m3ke_async.rundir import RunDir
from m3ke_async.session import ask
from m3ke_async.settings_checks import make_settings
from m3ke_async.store import ReplyStore
from m3ke_async.suite import load_suite
from m3ke_async.wire.transport import Response, Transport

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.session import Session

T = TypeVar("T")

_URL = "http://127.0.0.1:1/v1"
_REPLY = Reply("答案：B", finish_reason="stop", usage=Usage(200, 4), model=MODEL)
_BODY = orjson.dumps(
    {
        "model": MODEL,
        "choices": [{"message": {"role": "assistant", "content": "答案：B"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 200, "completion_tokens": 4},
    }
)
_HEADINGS = (
    *("questions", "suite read", "requests made", "engine", "replies stored", "scored and written"),
    *("report.html", "store", "report.html", "peak"),
)


@click.command()
@click.option("--questions", multiple=True, default=(1_000, 10_000), show_default=True)
def main(*, questions: tuple[int, ...]) -> None:
    """Print microseconds a question, of processor time."""
    print(f"| {' | '.join(_HEADINGS)} |\n{'|---' * len(_HEADINGS)}|")
    # each row in a process of its own, which has a peak of its own
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as pool:
        for row in pool.map(_row, questions):
            print(row, flush=True)
    print(f"\nmicroseconds of processor time a question; {machine()}")


def _row(number: int) -> str:
    with tempfile.TemporaryDirectory(prefix="m3ke-scale-") as folder:
        return _measured(Path(folder), number)


def _measured(folder: Path, number: int) -> str:
    path = write_suite(folder / "suite", questions=number)
    loading, suite = _timed(lambda: load_suite(path))
    settings = make_settings(
        f"custom/{MODEL}",
        {"split": "test", "base_url": _URL, "data": str(path), "results": str(folder / "r"), "name": "run"},
    )
    evaluation = make_evaluation(settings, suite, load_profile("custom"), MODEL, _URL)

    def requests() -> int:
        return sum(1 for _ in chain.from_iterable(map(evaluation.items, evaluation.suite.tasks)))

    def fill() -> None:
        with ReplyStore(folder / "filled.sqlite") as store:
            for task in evaluation.suite.tasks:
                for item in evaluation.items(task):
                    store.put(item.request, _REPLY)

    making, _ = _timed(requests)
    storing, _ = _timed(fill)
    asking = 0.0

    async def timed(session: Session, store: ReplyStore, **options: Any) -> None:
        nonlocal asking
        started = time.process_time()
        await ask(session, store, **options)
        asking = time.process_time() - started

    connect.Transport = _Answering  # type: ignore[attr-defined]
    whole, result = _timed(lambda: run_loop(run(settings, suite=suite, asking=timed)))
    assert result.scores.usage.replies == number
    directory = RunDir(result.path)
    reporting, page = _timed(lambda: write_report(directory, Format.HTML, warn=print))
    parts = (loading, making, asking - storing, storing - making, whole - asking, reporting)
    sizes = (directory.store.stat().st_size, page.stat().st_size)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    shown = (
        f"{number:,}",
        *(f"{1e6 * part / number:.0f}" for part in parts),
        *(f"{size / 1e6:.1f} MB" for size in sizes),
        f"{peak:.0f} MiB",
    )
    return f"| {' | '.join(shown)} |"


class _Answering(Transport):
    """Answers every question at once, without a connection."""

    async def ask(self, body: bytes, *, fresh: bool = False) -> Response:
        await asyncio.sleep(0)
        return Response(200, {}, _BODY)

    async def models(self) -> Response:
        return Response(200, {}, orjson.dumps({"data": [{"id": MODEL}]}))


def _timed(function: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    found = function()
    return time.process_time() - started, found


if __name__ == "__main__":
    main()
