"""What each part of a run costs by the number of questions, without a network.

python -m bench.scale --questions 1000 --questions 10000
"""

from __future__ import annotations

import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from bench.measure import machine
from bench.suite import write_suite
from m3ke_async.evaluation import make_evaluation
from m3ke_async.providers import load_profile
from m3ke_async.replies import in_store
from m3ke_async.request import Reply, Usage
from m3ke_async.results import write_results
from m3ke_async.rundir import RunDir
from m3ke_async.settings import make_settings
from m3ke_async.store import ReplyStore
from m3ke_async.suite import load_suite

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_REPLY = Reply("答案：B", finish_reason="stop", usage=Usage(200, 4), model="mock")


@click.command()
@click.option("--questions", multiple=True, default=(1_000, 10_000), show_default=True)
def main(*, questions: tuple[int, ...]) -> None:
    """Print microseconds a question, of processor time."""
    print("| questions | suite read | requests made | replies stored | scored and written | store |")
    print("|---|---|---|---|---|---|")
    for number in questions:
        with tempfile.TemporaryDirectory(prefix="m3ke-scale-") as folder:
            print(_row(Path(folder), number), flush=True)
    print(f"\nmicroseconds of processor time a question; {machine()}")


def _row(folder: Path, number: int) -> str:
    path = write_suite(folder / "suite", questions=number)
    loading, suite = _timed(lambda: load_suite(path))
    settings = make_settings("custom/mock", {"split": "test", "base_url": "http://127.0.0.1:1/v1"})
    evaluation = make_evaluation(settings, suite, load_profile("custom"), "mock", "http://127.0.0.1:1/v1")

    def requests() -> int:
        return sum(1 for _ in chain.from_iterable(map(evaluation.items, evaluation.suite.tasks)))

    making, _ = _timed(requests)
    directory = RunDir(folder / "results" / "run")
    with ReplyStore(directory.store) as store:

        def fill() -> None:
            for task in evaluation.suite.tasks:
                for item in evaluation.items(task):
                    store.put(item.request, _REPLY)

        storing, _ = _timed(fill)
        scoring, scores = _timed(lambda: write_results(evaluation, in_store(store), directory))
        assert scores.total.asked == number
    size = directory.store.stat().st_size
    parts = (loading, making, storing - making, scoring)
    shown = " | ".join(f"{1e6 * part / number:.0f}" for part in parts)
    return f"| {number:,} | {shown} | {size / 1e6:.1f} MB |"


def _timed(function: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    found = function()
    return time.process_time() - started, found


if __name__ == "__main__":
    main()
