from __future__ import annotations

import multiprocessing
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from m3ke_async.claims import Claims
from tests.command import ROOT

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")

ONE, OTHER = b"\xff" * 16, bytes(15) + b"\x01"


def hold(path: Path, pipe: Connection) -> None:
    """Another process: takes a claim, tells so, and holds it until it is told to let go."""
    claims = Claims(path)
    pipe.send(claims.take(ONE))
    pipe.recv()
    claims.release(ONE)
    pipe.send(None)
    pipe.recv()


def test_a_request_that_another_process_asks_is_not_claimed_until_it_is_done(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    other = multiprocessing.get_context("spawn").Process(target=hold, args=(tmp_path / "claims", theirs))
    other.start()
    claims = Claims(tmp_path / "claims")
    assert ours.recv()
    assert not claims.take(ONE)
    assert claims.take(OTHER)
    ours.send(None)
    ours.recv()
    assert claims.take(ONE)
    ours.send(None)
    other.join()
    claims.close()


def test_a_claim_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from m3ke_async.claims import Claims\n"
        "assert Claims(Path(sys.argv[1])).take(b'\\xff' * 16)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "claims"], check=False, cwd=ROOT)
    claims = Claims(tmp_path / "claims")
    assert claims.take(ONE)
    claims.close()


def test_where_there_can_be_no_file_every_claim_is_granted(tmp_path: Path) -> None:
    claims = Claims(tmp_path / "none" / "claims")
    assert claims.take(ONE)
    claims.release(ONE)
    claims.close()
