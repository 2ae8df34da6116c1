"""Fixtures that many tests use."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.server import Server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Provider files of whoever runs the tests are none of their business.
os.environ["M3KE_CONFIG"] = os.devnull

# In the background of a script Ctrl-C is ignored, and would be by every command that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# An example that is slow on a busy machine is no defect; pytest's own limit is for what hangs.
settings.register_profile("here", deadline=None)
settings.load_profile("here")

_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with M3KE's data and recorded facts that lies beside some checkouts."""
    if not (_SHARED / "M3KE").is_dir():
        pytest.skip("the folder ../shared with M3KE's data is not here")
    return _SHARED


class FakeClock:
    """A clock that moves only when told, for everything that takes `now` as a function."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Move the clock."""
        self.now += seconds


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still."""
    return FakeClock()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A scripted server on a socket; what it answers is set by the test."""
    async with Server() as started:
        yield started
