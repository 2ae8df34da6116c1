"""A signal ends what runs in the loop, also where Ctrl-C is ignored."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.command import ROOT

_SCRIPT = """
import asyncio, signal, sys
from m3ke_async.loop import run_loop

async def main():
    try:
        print("runs", flush=True)
        await asyncio.sleep(30)
    finally:
        print("cleaned up", flush=True)

signal.signal(signal.SIGINT, signal.{ctrl_c})
signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command does
try:
    run_loop(main())
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signals")
@pytest.mark.parametrize("ctrl_c", ["default_int_handler", "SIG_IGN"])
def test_sigterm_ends_it_at_once_and_in_order(ctrl_c: str) -> None:
    command = [sys.executable, "-c", _SCRIPT.format(ctrl_c=ctrl_c)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        process.send_signal(signal.SIGTERM)
        try:
            said, _ = process.communicate(timeout=10)
        finally:
            process.kill()
    assert (process.returncode, said) == (130, "cleaned up\n")
