from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode
from tests.command import ROOT
from tests.questions import write_suite
from tests.server import in_thread

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shell's redirections")


def shell(redirections: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a shell with these redirections."""
    return subprocess.run(
        [
            *("bash", "-o", "pipefail", "-c", f'"$@" {redirections}'),
            *("bash", sys.executable, "-m", "m3ke_async", *map(str, arguments)),
        ],
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("redirections", "code"),
    [
        (">&-", ExitCode.COMPLETE),
        ("2>&-", ExitCode.COMPLETE),
        ("<&-", ExitCode.COMPLETE),
        (">&- 2>&- <&-", ExitCode.COMPLETE),
        ("2>/dev/full", ExitCode.COMPLETE),
        (">/dev/full", ExitCode.ERROR),
        (">/dev/full 2>&1", ExitCode.ERROR),
        ("2>&1 >/dev/null | true", ExitCode.COMPLETE),
        ("| true", ExitCode.ERROR),
    ],
)
def test_no_stream_is_a_reason_to_lose_a_run(tmp_path: Path, redirections: str, code: ExitCode) -> None:
    suite, results = write_suite(tmp_path / "suite", 1, 5), tmp_path / "results"
    arguments = ("--data", suite, "--results", results, "--name", "run")
    with in_thread() as server:
        ran = shell(redirections, "run", "custom/m", "--base-url", server.url, *arguments)
        again = shell("", "run", "custom/m", "--base-url", server.url, *arguments, "--json")
        assert (ran.returncode, len(server.seen)) == (code, 5), ran.stderr
    assert b"Traceback" not in ran.stderr
    assert b"Exception ignored" not in ran.stderr
    assert len((results / "run" / "answers.jsonl").read_bytes().splitlines()) == 5
    assert again.returncode == ExitCode.COMPLETE
    assert b"nothing to ask" in again.stderr


@pytest.mark.parametrize(
    "redirections", [">/dev/full", ">/dev/full 2>/dev/full", ">&-", "2>&-", "| head -c1"]
)
@pytest.mark.parametrize("words", [["providers"], ["--help"], ["nonsense"]])
def test_no_stream_is_a_traceback(redirections: str, words: list[str]) -> None:
    ran = shell(redirections, *words)
    assert ran.returncode in {ExitCode.COMPLETE, ExitCode.ERROR, ExitCode.USAGE}
    assert b"Traceback" not in ran.stderr
    assert b"Exception ignored" not in ran.stderr
