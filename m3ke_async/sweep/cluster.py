"""A sweep on Ray: a task a cell, which asks for its GPUs, and two actors beside the results folder."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import deque
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import IncompleteError, UsageError
from m3ke_async.extras import how_to_install
from m3ke_async.loop import on_sigterm
from m3ke_async.replies import open_store
from m3ke_async.rundir import RunDir
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
        IncompleteError: the keeper cannot go on, nor another in its place.
    """
    ray = _import_ray()
    open_store(RunDir(results / "sweep"), warn).close()  # what is wrong with it is told before anything runs
    with _connected(ray, address):
        _refuse_impossible(ray, cells)
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        beside = {"num_cpus": 0, "scheduling_strategy": here, "max_restarts": -1, "max_task_retries": -1}
        keeper = ray.remote(Keeper).options(**beside).remote(results)
        shares = ray.remote(Shares).options(**beside).remote(time.monotonic)
        running = _Running(ray, cells, courses, keeper, shares)

        def until_ended() -> None:
            while running.cells:
                for line in running.look():
                    warn(line)
                show()
            ray.get(keeper.close.remote())

        try:
            until_ended()
        except KeyboardInterrupt:
            warn("stopping: cells wait for what is in flight (once more to leave at once); replies are kept")
            running.stop()
            until_ended()
            raise
        except ray.exceptions.RayError as error:
            raise IncompleteError(
                f"what keeps the replies of the sweep cannot go on: {_last_line(error)}; what came is kept, "
                "and the same command goes on"
            ) from None


def _import_ray() -> Any:
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise UsageError(
            f"a sweep runs on Ray, which is not installed: {how_to_install('cluster')}"
        ) from None
    return ray


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    if address is not None and address.startswith("ray://"):
        raise UsageError(
            f"--address {address} is Ray's client, whose sweep would write its results on another machine: "
            "run m3ke sweep on a machine of the cluster, with --address auto"
        )
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    before = signal.getsignal(signal.SIGTERM)
    try:
        if address is None:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent that nobody asked for
            # the variable would lead to a cluster that nobody asked for
            ray.init(address="local", include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the Ray cluster at {address}" if address else "Ray on this machine"
        raise UsageError(f"cannot use {where}: {' '.join(str(error).split())}") from None
    finally:
        on_sigterm(before)  # Ray's own ends the command as if by a mistake
    # Ray writes of lost workers to standard output, which is the result's; the keeper tells of them.
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):  # noqa: PTH123 - it is no path
        try:
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


def _result(ray: Any, reference: Any) -> CellResult | None:
    """What a cell came to; None where it was stopped."""
    try:
        found: CellResult = ray.get(reference)
    except ray.exceptions.TaskCancelledError:
        return None
    except ray.exceptions.RayError as error:
        what = "it failed" if isinstance(error, ray.exceptions.RayTaskError) else "its process was lost"
        return CellResult(None, complete=False, trouble=f"{what}: {_last_line(error)}")
    return found


def _last_line(error: Exception) -> str:
    """The end of an error of Ray's, whose text may be a traceback of another machine."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


class _Running:
    """The cells of a sweep on Ray; of those that may ask the same, one at a time.

    Args:
        ray: the module.
        cells: of the sweep.
        courses: one a cell; brought up to date.
        keeper, shares: the actors.

    Attributes:
        cells: numbers of those that Ray has, by reference.
    """

    def __init__(
        self, ray: Any, cells: Sequence[Cell], courses: Sequence[CellCourse], keeper: Any, shares: Any
    ) -> None:
        self._ray, self._all, self._courses, self._keeper, self._shares = ray, cells, courses, keeper, shares
        self._task = ray.remote(evaluate)
        self._turns: dict[RunSettings, deque[int]] = {}
        for number, cell in enumerate(cells):
            self._turns.setdefault(cell.family, deque()).append(number)
        self.cells: dict[Any, int] = {}
        for turns in self._turns.values():
            self._begin_next(turns)

    def _begin_next(self, turns: deque[int]) -> None:
        if not turns:
            return
        number = turns.popleft()
        cell = self._all[number]
        task = self._task.options(
            num_cpus=cell.cpus, num_gpus=cell.gpus, max_retries=_RETRIES, name=cell.label
        )
        self.cells[task.remote(number, cell.settings, self._keeper, self._shares)] = number

    def look(self) -> list[str]:
        """Wait a moment for cells to end, and bring all up to date; what the keeper has to say."""
        ended, _ = self._ray.wait([*self.cells], num_returns=1, timeout=_LOOK)
        for reference in ended:
            number = self.cells.pop(reference)
            _note(self._courses[number], _result(self._ray, reference))
            self._begin_next(self._turns[self._all[number].family])
        for number, run in self._ray.get(self._keeper.begun.remote()).items():
            _note_begun(self._courses[number], run)
        warnings: list[str] = self._ray.get(self._keeper.warnings.remote())
        return warnings

    def stop(self) -> None:
        """Begin no more cells, and let those that run end as `m3ke run` does at Ctrl-C."""
        for turns in self._turns.values():
            turns.clear()
        for reference in self.cells:
            self._ray.cancel(reference, recursive=False)  # not what they are telling the keeper


def _note_begun(course: CellCourse, run: str) -> None:
    course.run = run
    if course.state is CellState.WAITING:
        course.state = CellState.RUNNING


def _note(course: CellCourse, result: CellResult | None) -> None:
    if result is None:
        if course.state is CellState.RUNNING:
            course.state, course.trouble = CellState.INCOMPLETE, "stopped; the same command goes on"
        return
    course.run = result.run or course.run
    course.state = CellState.COMPLETE if result.complete else CellState.INCOMPLETE
    course.trouble = result.trouble


def evaluate(number: int, settings: RunSettings, keeper: Any, shares: Any) -> CellResult:
    """A cell, in a process of Ray's."""
    from m3ke_async.loop import run_loop

    return run_loop(evaluate_cell(number, settings, _Desk(keeper, shares)))


def _wait(reference: Any) -> Any:
    """What a call came to. Not `ray.get`, which gives the task's processors to another one meanwhile.

    Raises:
        Exception: what it raised there, without the lines that tell where.
    """
    from ray.exceptions import RayTaskError

    try:
        return reference.future().result()
    except RayTaskError as error:
        raise error.cause from None


class _Desk:
    """The actors, called and waited for."""

    def __init__(self, keeper: Any, shares: Any) -> None:
        self._keeper, self._shares = keeper, shares

    def begin(self, cell: int, runs: Sequence[str], policy: str) -> Begun:
        begun: Begun = _wait(self._keeper.begin.remote(cell, runs, policy))
        return begun

    def known(self, keys: Sequence[bytes]) -> list[Row]:
        rows: list[Row] = _wait(self._keeper.known.remote(keys))
        return rows

    def keep(self, run: str, kept: Sequence[Kept], record: bytes | None) -> None:
        _wait(self._keeper.keep.remote(run, kept, record))

    def finish(self, run: str, files: dict[str, bytes], record: bytes) -> None:
        _wait(self._keeper.finish.remote(run, files, record))

    def leave(self, run: str) -> None:
        _wait(self._keeper.leave.remote(run))

    def lease(self, limit: str, holder: str, want: float) -> float:
        share: float = _wait(self._shares.lease.remote(limit, holder, want))
        return share

    def release(self, limit: str, holder: str) -> None:
        _wait(self._shares.release.remote(limit, holder))
