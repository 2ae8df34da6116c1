"""Sweeps on a local Ray, against the mock server or without one.

python -m bench.sweep cells --cells 4 --cells 8 --questions 1000
python -m bench.sweep written --cells 10 --cells 20 --questions 2000
python -m bench.sweep rate --rpm 6000
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.measure import Bench, Row, machine, show
from bench.suite import ROOT
from bench.written import RUN, evaluate
from m3ke_async import cli
from m3ke_async.rundir import STORE_NAME
from m3ke_async.sweep import cluster
from m3ke_async.sweep.course import course_path

if TYPE_CHECKING:
    from collections.abc import Mapping

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Use:
    """What a process has used so far: seconds of processor time, and MiB at most."""

    cpu: float = 0.0
    peak: float = 0.0

    def look(self, pid: int) -> None:
        """Bring it up to date; a process that has ended stays as it was."""
        with suppress(OSError, IndexError, ValueError):
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
            status = Path(f"/proc/{pid}/status").read_text("utf-8")
            self.cpu = (int(stat[11]) + int(stat[12])) / _TICKS
            self.peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep took.

    Attributes:
        wall: seconds.
        end: seconds of it after the last cell had ended: the table, and the page that compares.
        driver, keeper: its two processes that do not divide among machines.
    """

    wall: float
    end: float
    driver: Use
    keeper: Use

    def cells(self, replies: int) -> str:
        """Cells of a table's row."""
        return (
            f"{self.wall:.1f} s | {1e6 * self.wall / replies:.0f} µs | {self.end:.1f} s "
            f"| {self.driver.cpu:.1f} s | {self.driver.peak:.0f} MiB "
            f"| {self.keeper.cpu:.1f} s | {self.keeper.peak:.0f} MiB"
        )


_HEADINGS = (
    "| cells | replies | wall | a reply | the end | driver CPU | driver peak | keeper CPU | keeper peak |"
)


def sweep(
    folder: Path,
    text: str,
    entry: tuple[str, ...] = ("m3ke_async", "sweep"),
    environment: Mapping[str, str] | None = None,
) -> Swept:
    """Run a sweep of this text to its end."""
    file, results = folder / "bench.toml", folder / "results"
    file.write_text(text, encoding="utf-8")
    driver, keeper, started = Use(), Use(), time.time()
    command = [sys.executable, "-m", *entry, str(file), "--results", str(results), "--quiet"]
    with (folder / "log").open("wb") as log:
        environment = {**os.environ, "NO_PROXY": "127.0.0.1", **(environment or {})}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        while process.poll() is None:
            time.sleep(0.3)
            driver.look(process.pid)
            for pid in _titled("ray::Keeper", process.pid):
                keeper.look(pid)
    if process.returncode:
        sys.exit((folder / "log").read_text("utf-8")[-2000:])
    ended = time.time()
    asked = course_path(results, file.stem).stat().st_mtime
    return Swept(ended - started, ended - asked, driver, keeper)


def _titled(title: str, ancestor: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(title.encode()):
                pid = int(entry.name)
                while pid > 1 and pid != ancestor:
                    pid = int(
                        (Path("/proc") / str(pid) / "stat").read_text("utf-8").rpartition(")")[2].split()[1]
                    )
                if pid == ancestor:
                    found.append(int(entry.name))
    return found


def _text(url: str, suite: Path, models: int, **settings: object) -> str:
    more = "".join(f"{name} = {value}\n" for name, value in settings.items())
    names = ", ".join(f'"custom/mock{number}"' for number in range(models))
    return (
        f'[settings]\nbase-url = "{url}"\ndata = "{suite}"\nsplit = "test"\n{more}'
        f"[[grid]]\nmodel = [{names}]\n"
    )


@click.group()
def main() -> None:
    """Measure sweeps."""


@main.command()
@click.option("--cells", multiple=True, default=(4, 8, 16), show_default=True)
@click.option("--questions", default=1000, show_default=True)
def cells(*, cells: tuple[int, ...], questions: int) -> None:
    """Cost by the number of cells."""
    print(f"{_HEADINGS}\n{'|---' * 9}|")
    with Bench() as bench:
        suite = bench.suite(questions)
        for number in cells:
            bench.server.begin()
            with tempfile.TemporaryDirectory(prefix="m3ke-sweep-") as folder:
                took = sweep(Path(folder), _text(bench.server.base_url, suite, number))
            asked = bench.server.counters().requests
            assert asked == number * questions, asked
            print(f"| {number:,} | {asked:,} | {took.cells(asked)} |", flush=True)
    print(f"\n{machine()}")


@main.command()
@click.option("--cells", multiple=True, default=(10, 20), show_default=True)
@click.option("--questions", default=2000, show_default=True)
def written(*, cells: tuple[int, ...], questions: int) -> None:
    """Cost of driver, keeper and store by the number of cells, which make their replies themselves."""
    print(f"{_HEADINGS[:-1]}| store |\n{'|---' * 10}|")
    with Bench() as bench:
        suite, results = bench.suite(questions), bench.fresh_folder()
        bench.server.begin()
        bench.m3ke(suite, "--name", "whole", results=results)
        for number in cells:
            with tempfile.TemporaryDirectory(prefix="m3ke-sweep-") as folder:
                text = _text(bench.server.base_url, suite, number)
                took = sweep(Path(folder), text, ("bench.sweep", "write"), {RUN: str(results / "whole")})
                store = Path(folder) / "results" / STORE_NAME
                with closing(sqlite3.connect(store)) as database:
                    (kept,) = database.execute("SELECT count(*) FROM replies").fetchone()
                size = store.stat().st_size / 1e6
            assert kept == number * questions, kept
            print(f"| {number:,} | {kept:,} | {took.cells(kept)} | {size:,.0f} MB |", flush=True)
    print(f"\n{machine()}")


@main.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def write(arguments: tuple[str, ...]) -> None:
    """`m3ke sweep` whose cells make their replies themselves."""
    cluster.evaluate = evaluate
    cli.main(["sweep", *arguments])


@main.command()
@click.option("--rpm", default=6000, show_default=True)
@click.option("--questions", default=4000, show_default=True, help="Of each of the two cells.")
def rate(*, rpm: int, questions: int) -> None:
    """Use of one key's limit by two workers, and refusals."""
    with Bench() as bench:
        suite = bench.suite(questions)
        bench.server.begin(latency=0.2, rpm=rpm)
        with tempfile.TemporaryDirectory(prefix="m3ke-sweep-") as folder:
            sweep(Path(folder), _text(bench.server.base_url, suite, 2, rpm=rpm))
        seen = bench.server.counters()
    used, refused = seen.requests_used or 0.0, seen.refused / seen.requests
    rows = [
        Row("rate used", [used], "{:.1%}", must=0.95, hoped=0.98, at_least=True),
        Row("share of 429s", [refused], "{:.2%}", must=0.005, hoped=0.0),
    ]
    show(f"Two workers, {rpm:,} requests a minute enforced together, {seen.requests:,} requests", rows)


if __name__ == "__main__":
    main()
