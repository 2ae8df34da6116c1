"""A sweep on a local Ray: several cells at once, a worker that is killed, one key for two workers."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.listing import list_runs
from m3ke_async.rundir import STORE_NAME
from m3ke_async.sweep.keeper import Keeper
from m3ke_async.verified import claimed
from tests.command import ROOT, m3ke
from tests.questions import write_suite
from tests.server import Server, in_thread, right_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.timeout(300),
    # Ray's own: sockets and files that it leaves to the end of the process.
    pytest.mark.filterwarnings("ignore"),
]

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]'")


@pytest.fixture
def server() -> Iterator[Server]:
    with in_thread() as server:
        yield server


def write_sweep(folder: Path, server: Server, text: str) -> Path:
    path = folder / "mine.toml"
    suite = write_suite(folder / "suite", 2, 20)
    common = f'[settings]\ndata = "{suite}"\nbase-url = "{server.url}"\n'
    path.write_text(common + text, encoding="utf-8")
    return path


def test_a_sweep_asks_every_cell_and_compares_them_and_goes_on_where_it_was(
    server: Server, tmp_path: Path
) -> None:
    path, results = (
        write_sweep(tmp_path, server, '[[grid]]\nmodel = "custom/m"\nshots = [0, 2]'),
        tmp_path / "r",
    )
    assert "has not begun" in m3ke("sweep", "status", path, "--results", results).error
    ran = m3ke("sweep", path, "--results", results, "--json", "--quiet")
    assert ran.code == ExitCode.COMPLETE, ran.err
    assert [(cell["label"], cell["state"]) for cell in ran.json] == [
        ("custom/m shots=0", "complete"),
        ("custom/m shots=2", "complete"),
    ]
    assert (results / "mine.html").is_file()
    status = m3ke("sweep", "status", path, "--results", results, "--json")
    assert (status.code, status.json) == (ExitCode.COMPLETE, ran.json)
    assert [run.asked for run in list_runs(results)] == [40, 40]
    again = m3ke("sweep", path, "--results", results, "--json", "--quiet")
    assert (again.code, len(server.seen)) == (ExitCode.COMPLETE, 80)


def test_the_cell_of_a_killed_worker_goes_on_and_asks_only_what_was_not_kept(
    server: Server, tmp_path: Path
) -> None:
    results = tmp_path / "r"
    path = write_sweep(tmp_path, server, '[[grid]]\nmodel = "custom/m"\nconcurrency = 1')
    server.default = lambda mark: right_reply(mark).after(0.05)
    kept: list[int] = []

    def kill_its_worker() -> None:
        kept.append(stored(results))
        os.kill(_worker(), signal.SIGKILL)

    def on_request(seen: Any) -> None:
        if len(server.seen) == 20:
            Thread(target=kill_its_worker).start()

    server.on_request = on_request
    ran = m3ke("sweep", path, "--results", results, "--json", "--quiet")
    assert ran.code == ExitCode.COMPLETE, ran.err
    assert "the process that asked it was lost; it goes on in another one" in ran.error
    assert kept[0] >= 8
    assert 40 <= len(server.seen) <= 60 - kept[0]
    assert ran.json[0]["standing"]["total"] == 40


def stored(results: Path) -> int:
    with closing(sqlite3.connect(results / STORE_NAME)) as database:
        count: int = database.execute("SELECT count(*) FROM replies").fetchone()[0]
    return count


def test_a_sweep_that_is_stopped_keeps_what_is_in_flight_and_goes_on_later(
    server: Server, tmp_path: Path
) -> None:
    results = tmp_path / "r"
    path = write_sweep(tmp_path, server, '[[grid]]\nmodel = "custom/m"\nlimit = [10, 20]\nconcurrency = 8')
    server.default = lambda mark: right_reply(mark).after(1.0)
    command = [sys.executable, "-m", "m3ke_async", "sweep", str(path), "--results", str(results), "--quiet"]

    def on_request(seen: Any) -> None:
        if len(server.seen) == 6:
            process.terminate()

    server.on_request = on_request
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path, env=environ, text=True) as process:
        _, said = process.communicate(timeout=200)
    assert process.returncode == ExitCode.INTERRUPTED, said
    assert said.startswith("m3ke: stopping: cells wait for what is in flight")
    assert stored(results) == len(server.seen) < 20
    status = m3ke("sweep", "status", path, "--results", results, "--json").json
    assert [(cell["state"], cell["run"] is None) for cell in status] == [
        ("incomplete", False),
        ("waiting", True),
    ]
    server.on_request, server.default = (lambda seen: None), right_reply
    assert m3ke("sweep", path, "--results", results, "--quiet").code == ExitCode.COMPLETE
    assert set(Counter(seen.mark for seen in server.seen).values()) == {1}
    assert len(server.seen) == 40


def _worker() -> int:
    """The process that evaluates a cell, by the title that Ray gives it."""
    for entry in os.listdir("/proc"):  # noqa: PTH208 - names are all that is needed
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:  # noqa: PTH123 - as above
                    title = file.read()
            except OSError:
                continue
            if title.startswith(b"ray::custom/m") and os.getppid() != int(entry):
                return int(entry)
    raise AssertionError("no worker")


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a cluster of three nodes, two with a processor, and what takes one of the two away."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    memory = 80 * 2**20
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": memory}
    cluster: Any = Cluster(initialize_head=True, head_node_args=head)
    lost, _ = (cluster.add_node(num_cpus=1, object_store_memory=memory) for _ in range(2))
    yield cluster.address, lambda: cluster.remove_node(lost, allow_graceful=False)
    cluster.shutdown()


def test_the_cell_of_a_lost_machine_goes_on_at_another(
    server: Server, tmp_path: Path, machines: tuple[str, Callable[[], None]]
) -> None:
    address, lose_one = machines
    results = tmp_path / "r"
    path = write_sweep(tmp_path, server, '[[grid]]\nmodel = ["custom/m", "custom/n"]\nconcurrency = 2')
    server.default = lambda mark: right_reply(mark).after(0.3)

    def on_request(seen: Any) -> None:
        asked = Counter(seen.body["model"] for seen in server.seen)
        if min(asked["m"], asked["n"]) >= 8 and not lost:
            lost.append(seen)
            Thread(target=lose_one).start()

    lost: list[Any] = []
    server.on_request = on_request
    ran = m3ke("sweep", path, "--results", results, "--address", address, "--json", "--quiet")
    assert ran.code == ExitCode.COMPLETE, ran.err
    assert "the process that asked it was lost; it goes on in another one" in ran.error
    assert [cell["standing"]["total"] for cell in ran.json] == [40, 40]
    assert 80 <= len(server.seen) <= 80 + 8


def test_a_cell_that_no_machine_can_hold_is_told_before_anything_runs(server: Server, tmp_path: Path) -> None:
    path = write_sweep(tmp_path, server, '[[grid]]\nmodel = "custom/m"\ngpus = 64')
    ran = m3ke("sweep", path, "--results", tmp_path / "r", "--quiet")
    assert (ran.code, len(server.seen)) == (ExitCode.USAGE, 0)
    assert ran.error.startswith("custom/m wants 64 GPUs and 1 CPUs, and no machine here has more than")


def test_a_cell_that_cannot_work_leaves_the_others_alone(server: Server, tmp_path: Path) -> None:
    text = '[[grid]]\nmodel = ["custom/m", "custom/busy", "custom/lost"]'
    path, results = write_sweep(tmp_path, server, text), tmp_path / "r"
    asked = (
        "--base-url",
        server.url,
        "--data",
        tmp_path / "suite",
        "--results",
        results,
        "--quiet",
        "--json",
    )
    busy, lost = (
        m3ke("run", model, *asked, "--max-requests", "1").json["path"]
        for model in ("custom/busy", "custom/lost")
    )
    with claimed(Path(busy)), claimed(Path(lost)):
        ran = m3ke("sweep", path, "--results", results, "--quiet")
    assert ran.code == ExitCode.INCOMPLETE
    *_, first, second = ran.out.splitlines()
    assert first.startswith(f"custom/busy: another process is at work on {busy}: ")
    assert second.startswith(f"custom/lost: another process is at work on {lost}: ")
    assert ran.error == "incomplete: 2 of 3 cells; the same command goes on with them"


def test_a_keeper_that_cannot_begin_is_told_in_one_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Keeper):
        def __init__(self, results: Path) -> None:
            raise ValueError("no such thing")

    monkeypatch.setattr("m3ke_async.sweep.cluster.Keeper", Broken)
    path = write_sweep(tmp_path, server, '[[grid]]\nmodel = "custom/m"')
    ran = m3ke("sweep", path, "--results", tmp_path / "r", "--quiet")
    assert (ran.code, len(server.seen)) == (ExitCode.INCOMPLETE, 0)
    assert "cannot go on: ValueError: no such thing; what came is kept" in ran.error


def test_results_that_cannot_be_written_are_told_before_anything_runs(server: Server, tmp_path: Path) -> None:
    (tmp_path / "r").touch()
    path = write_sweep(tmp_path, server, '[[grid]]\nmodel = "custom/m"')
    ran = m3ke("sweep", path, "--results", tmp_path / "r" / "below", "--quiet")
    assert (ran.code, len(server.seen)) == (ExitCode.USAGE, 0)
    assert ran.error.startswith(f"cannot make the folder {tmp_path}")


def test_an_address_that_would_keep_the_results_elsewhere_is_refused(server: Server, tmp_path: Path) -> None:
    path = write_sweep(tmp_path, server, '[[grid]]\nmodel = "custom/m"')
    ran = m3ke("sweep", path, "--results", tmp_path / "r", "--address", "ray://head:10001")
    assert ran.code == ExitCode.USAGE
    assert "with --address auto" in ran.error
