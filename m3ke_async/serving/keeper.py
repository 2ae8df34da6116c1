"""The process that an engine runs under: it ends the engine, and all that came of it, with its parent.

It is run as `python keeper.py COMMAND...`, outside the package, so it imports nothing of it.
Its standard input is a pipe that the parent holds and never writes to: the operating system
closes it when the parent ends, whatever ended that. The engine is asked to end, killed where
it does not, and what it leaves behind is killed; the status is the engine's own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds that an engine has to end by itself.
_GRACE = 10.0
_NOT_FOUND = 127
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36


def main(command: list[str]) -> None:
    """Run the command until it or the parent ends."""
    prctl = _prctl()

    def die_with_parent() -> None:
        prctl(_SET_PDEATHSIG, signal.SIGKILL)

    # What loses its own parent, even in a session of its own, becomes a child of this process.
    prctl(_SET_CHILD_SUBREAPER, 1)
    try:
        process = subprocess.Popen(  # noqa: S603 - the command is the user's
            command,
            stdin=subprocess.DEVNULL,
            # Should this process be killed, nobody else would end the engine. No thread runs yet.
            preexec_fn=die_with_parent if os.name == "posix" else None,  # noqa: PLW1509
        )
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 - this goes to the log
        sys.exit(_NOT_FOUND)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    threading.Thread(target=_end_with_parent, args=(process,), daemon=True).start()
    status = process.wait()
    _kill_the_rest()
    if status < 0:  # a signal: end by the same one
        with suppress(OSError, ValueError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)  # the thread still waits for the parent


def _prctl() -> Callable[[int, int], object]:
    """Linux's prctl; elsewhere a function that does nothing."""
    if sys.platform != "linux":
        return lambda option, value: None
    import ctypes

    library = ctypes.CDLL(None)
    return lambda option, value: library.prctl(option, value, 0, 0, 0)


def _end_with_parent(process: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1 << 12):
        pass
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


def _kill_the_rest() -> None:
    """Kill what the engine left: its process group, and on Linux whatever became a child of ours."""
    if os.name != "posix":
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform != "linux":
        os.killpg(0, signal.SIGTERM)
        return
    while True:
        for child in _children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)  # its own children are ours from now on
        except ChildProcessError:
            return


def _children() -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # The name in brackets may hold anything; state and parent follow it.
            parent = int(status.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
            if parent == os.getpid():
                found.append(int(status.parent.name))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
