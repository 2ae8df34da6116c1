"""A sweep on Ray: a task a cell, which asks for its GPUs, and two actors beside the results folder."""

from __future__ import annotations

import logging
import os
import time
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import UsageError
from m3ke_async.sweep.course import CellCourse, CellState
from m3ke_async.sweep.keeper import Keeper
from m3ke_async.sweep.shares import Shares
from m3ke_async.sweep.worker import CellResult, evaluate_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from m3ke_async.reply_row import Row
    from m3ke_async.settings import RunSettings
    from m3ke_async.store import Kept
    from m3ke_async.sweep.cells import Cell
    from m3ke_async.sweep.keeper import Begun

#: How often a cell is begun anew after its process or its machine was lost. One that ends its process
#: every time, such as by its memory, must come to an end.
_RETRIES = 5
#: Seconds between two looks.
_LOOK = 0.5


def run_cells(
    cells: Sequence[Cell],
    courses: Sequence[CellCourse],
    results: Path,
    *,
    address: str | None,
    show: Callable[[], None],
    warn: Callable[[str], None],
) -> None:
    """Run every cell to its end.

    Args:
        cells: of the sweep.
        courses: one a cell; brought up to date.
        results: the folder of runs and store, on the disk of this machine.
        address: of a cluster; None starts Ray on this machine, for this sweep.
        show: is called now and then, when something may have changed.
        warn: is told, in one line, of what the user should know.

    Raises:
        UsageError: Ray is not installed, there is no cluster, or it never can run one of the cells.
    """
    ray = _import_ray()
    with _connected(ray, address):
        _refuse_impossible(ray, cells)
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        beside = {"num_cpus": 0, "scheduling_strategy": here, "max_restarts": -1, "max_task_retries": -1}
        keeper = ray.remote(Keeper).options(**beside).remote(results)
        shares = ray.remote(Shares).options(**beside).remote(time.monotonic)
        task = ray.remote(evaluate)
        waiting = {
            task.options(
                num_cpus=cell.cpus, num_gpus=cell.gpus, max_retries=_RETRIES, name=cell.label
            ).remote(number, cell.settings, keeper, shares): course
            for number, (cell, course) in enumerate(zip(cells, courses, strict=True))
        }
        while waiting:
            ended, _ = ray.wait([*waiting], num_returns=1, timeout=_LOOK)
            for reference in ended:
                _note(waiting.pop(reference), _result(ray, reference))
            for number, run in ray.get(keeper.begun.remote()).items():
                _note_begun(courses[number], run)
            for line in ray.get(keeper.warnings.remote()):
                warn(line)
            show()
        ray.get(keeper.close.remote())


def _import_ray() -> Any:
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise UsageError(
            "a sweep runs on Ray, which is not installed: pip install 'm3ke-async[cluster]'"
        ) from None
    return ray


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None:
            # the variable would lead to a cluster that nobody asked for
            ray.init(address="local", include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the Ray cluster at {address}" if address else "Ray on this machine"
        raise UsageError(f"cannot use {where}: {' '.join(str(error).split())}") from None
    try:
        # Ray writes of lost workers to standard output, which is the result's; the keeper tells of them.
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):  # noqa: PTH123 - it is no path
            yield
    finally:
        ray.shutdown()


def _refuse_impossible(ray: Any, cells: Sequence[Cell]) -> None:
    """Ray waits for ever for what no machine of the cluster has."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for cell in cells:
        if not any(
            machine.get("CPU", 0) >= cell.cpus and machine.get("GPU", 0) >= cell.gpus for machine in machines
        ):
            most = {name: max(machine.get(name, 0) for machine in machines) for name in ("CPU", "GPU")}
            raise UsageError(
                f"{cell.label} wants {cell.gpus:g} GPUs and {cell.cpus:g} CPUs, and no machine here has more "
                f"than {most['GPU']:g} and {most['CPU']:g}; change gpus or cpus, or give --address"
            )


def _result(ray: Any, reference: Any) -> CellResult:
    try:
        found: CellResult = ray.get(reference)
    except ray.exceptions.RayError as error:
        lines = str(error).strip().splitlines()
        return CellResult(
            None, complete=False, trouble=f"its process was lost: {lines[-1] if lines else error}"
        )
    return found


def _note_begun(course: CellCourse, run: str) -> None:
    course.run = run
    if course.state is CellState.WAITING:
        course.state = CellState.RUNNING


def _note(course: CellCourse, result: CellResult) -> None:
    course.run = result.run or course.run
    course.state = CellState.COMPLETE if result.complete else CellState.INCOMPLETE
    course.trouble = result.trouble


def evaluate(number: int, settings: RunSettings, keeper: Any, shares: Any) -> CellResult:
    """A cell, in a process of Ray's."""
    from m3ke_async.loop import run_loop

    return run_loop(evaluate_cell(number, settings, _Desk(keeper, shares)))


def _wait(reference: Any) -> Any:
    """What a call came to. Not `ray.get`, which gives the task's processors to another one meanwhile."""
    return reference.future().result()


class _Desk:
    """The actors, called and waited for."""

    def __init__(self, keeper: Any, shares: Any) -> None:
        self._keeper, self._shares = keeper, shares

    def begin(self, cell: int, run: str, policy: str) -> Begun:
        return _wait(self._keeper.begin.remote(cell, run, policy))  # type: ignore[no-any-return]

    def known(self, keys: Sequence[bytes]) -> list[Row]:
        return _wait(self._keeper.known.remote(keys))  # type: ignore[no-any-return]

    def keep(self, run: str, kept: Sequence[Kept], record: bytes | None) -> None:
        _wait(self._keeper.keep.remote(run, kept, record))

    def finish(self, run: str, files: dict[str, bytes], record: bytes) -> None:
        _wait(self._keeper.finish.remote(run, files, record))

    def leave(self, run: str) -> None:
        _wait(self._keeper.leave.remote(run))

    def lease(self, limit: str, holder: str, want: float) -> float:
        return _wait(self._shares.lease.remote(limit, holder, want))  # type: ignore[no-any-return]

    def release(self, limit: str, holder: str) -> None:
        _wait(self._shares.release.remote(limit, holder))
