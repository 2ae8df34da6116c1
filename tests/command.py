"""The `m3ke` command inside the test's own process, and outside of it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from m3ke_async.cli import main

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Ran:
    """What a command returned and wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which is nothing but JSON."""
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The single line on standard error."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("m3ke: ")
        assert lines[0].isprintable()
        assert self.err.endswith("\n")
        return lines[0].removeprefix("m3ke: ")


def m3ke(*arguments: str | Path) -> Ran:
    """Run the command here; standard input is not read."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return Ran(int(ended.value.code or 0), _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


def m3ke_outside(*arguments: str | Path, cwd: Path, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m m3ke_async` in a process of its own, with hardly more environment than this."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "m3ke_async", *map(str, arguments)],
        cwd=cwd,
        env={**kept, "PYTHONPATH": str(ROOT), **environ},
        check=False,
        capture_output=True,
        timeout=60,
    )
