"""Processes measured whole, the mock server beside them, and tables of what came out."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bench.mock_server import MODEL
from bench.suite import ROOT, write_suite
from m3ke_async.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Packages whose versions the figures depend on.
_PACKAGES = ("m3ke-async", "aiohttp", "orjson", "uvloop", "openai")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a whole process took, from its start to its exit.

    Attributes:
        wall: seconds.
        cpu: seconds of processor time, user and system.
        peak: MiB of memory at most.
    """

    wall: float
    cpu: float
    peak: float


class ProcessError(Exception):
    """A measured process failed; the text is the end of what it printed."""


def measure(*arguments: str, codes: tuple[int, ...] = (0,)) -> Cost:
    """Run `python ARGUMENTS` in the repository's root to its end.

    Raises:
        ProcessError: it exited with none of `codes`.
    """
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            output.seek(0)
            raise ProcessError(f"{' '.join(arguments)}: {output.read().decode('utf-8', 'replace')[-2000:]}")
    # On Linux it is never less than what this process held, so nothing large is done here.
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**20)


@dataclass(frozen=True, slots=True)
class Counters:
    """What the mock server saw.

    Attributes:
        requests: chat requests that arrived whole.
        answered: different prompts that got a good answer, written out whole.
        duplicates: good answers to prompts that had one already: bought twice.
        refused: requests above a limit.
        faults: attempts that met one, by kind.
        gone: answers that nobody waited for.
        connections: opened.
        max_in_flight: requests without an answer at the same moment.
        span: seconds from the first request to the last good answer.
        requests_used, tokens_used: share of the enforced rate that was accepted, from the
            first to the last accepted request; None without a limit.
    """

    requests: int
    answered: int
    duplicates: int
    refused: int
    faults: dict[str, int]
    gone: int
    connections: int
    max_in_flight: int
    span: float
    requests_used: float | None
    tokens_used: float | None


class Server:
    """A mock server in a process of its own, for the time of a `with` block."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.mock_server", "--port", "0"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self._root = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.communicate()

    @property
    def base_url(self) -> str:
        """What clients are told."""
        return f"{self._root}/v1"

    def begin(self, **settings: Any) -> None:
        """Set the server's ways, as in `bench.mock_server.Settings`, and all counters to 0."""
        with self._opener.open(f"{self._root}/control", data=json.dumps(settings).encode()) as response:
            response.read()

    def counters(self) -> Counters:
        """What it has seen since."""
        with self._opener.open(f"{self._root}/control") as response:
            return Counters(**json.load(response))


class Bench:
    """One measurement: a server, made-up suites, and a folder for what the clients write."""

    def __init__(self) -> None:
        self.server = Server()
        self._folder = tempfile.TemporaryDirectory(prefix="m3ke-bench-")
        self._work = Path(self._folder.name)
        self._number = 0

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.server.__exit__(*exc)
        self._folder.cleanup()

    def suite(self, questions: int) -> Path:
        """A suite of so many questions, made once."""
        folder = self._work / f"suite-{questions}"
        return folder if folder.exists() else write_suite(folder, questions=questions)

    def fresh_folder(self) -> Path:
        """An empty place for results."""
        self._number += 1
        folder = self._work / f"results-{self._number}"
        folder.mkdir()
        return folder

    def m3ke(
        self,
        suite: Path,
        *options: str,
        results: Path | None = None,
        entry: tuple[str, ...] = ("-m", "m3ke_async"),
    ) -> Cost:
        """`m3ke run` on the test split of a suite, in a fresh folder unless told otherwise."""
        results = results or self.fresh_folder()
        return measure(
            *(*entry, "run", f"custom/{MODEL}", "--base-url", self.server.base_url),
            *("--data", str(suite), "--split", "test", "--results", str(results), *options),
            codes=(ExitCode.COMPLETE, ExitCode.INCOMPLETE),
        )

    def ceiling(self, suite: Path, concurrency: int) -> Cost:
        """The bare loop of bench/ceiling.py."""
        return measure("-m", "bench.ceiling", self.server.base_url, str(suite), str(concurrency))

    def naive(self, suite: Path, concurrency: int) -> Cost:
        """The plain script of bench/naive.py."""
        file = str(self.fresh_folder() / "texts.jsonl")
        return measure("-m", "bench.naive", self.server.base_url, str(suite), str(concurrency), file)


@dataclass(frozen=True, slots=True)
class Row:
    """A figure, measured several times, and what was asked of it.

    Attributes:
        what: is measured.
        values: one of each repeat.
        form: format of a value, with its unit, such as `{:.2f} ms`.
        must: bound that has to be kept; None for a reference.
        hoped: bound that was hoped for.
        at_least: whether the bounds are lower ones.
    """

    what: str
    values: Sequence[float]
    form: str
    must: float | None = None
    hoped: float | None = None
    at_least: bool = False

    def cells(self) -> tuple[str, ...]:
        """Cells of the table."""
        middle = statistics.median(self.values)
        spread = f"{self._show(min(self.values))} to {self._show(max(self.values))}"
        return (
            self.what,
            self._bound(self.must),
            self._bound(self.hoped),
            self._show(middle),
            spread,
            self._verdict(middle),
        )

    def _show(self, value: float) -> str:
        return self.form.format(value)

    def _bound(self, bound: float | None) -> str:
        return "" if bound is None else ("≥ " if self.at_least else "≤ ") + self._show(bound)

    def _verdict(self, value: float) -> str:
        def kept(bound: float) -> bool:
            return value >= bound if self.at_least else value <= bound

        if self.must is None:
            return ""
        if not kept(self.must):
            return "missed"
        return "kept" if self.hoped is None or kept(self.hoped) else "kept, not hoped"


def show(title: str, rows: Iterable[Row]) -> None:
    """Print a table, in Markdown, and below it what it was measured on."""
    head = ("", "must", "hoped", "median", "of", "")
    table = [head, tuple("---" for _ in head), *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(head))]
    print(f"\n{title}\n")
    for line in table:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
    print(f"\n{machine()}")


def machine() -> str:
    """Processor, versions and load, on one line."""
    packages = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{os.cpu_count()} cores ({_processor()}), {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {packages}; load {load}"
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text("utf-8").splitlines() if facts.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
