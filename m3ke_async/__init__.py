"""Run the M3KE benchmark on chat models over HTTP: paced, resumable, auditable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from m3ke_async.api import evaluate, evaluate_sync
    from m3ke_async.choice import Choice, extract_choice
    from m3ke_async.compare import compare_runs
    from m3ke_async.comparison import Comparison
    from m3ke_async.errors import DataError, ExitCode, IncompleteError, M3keError, StoppedError, UsageError
    from m3ke_async.reopen import read_run
    from m3ke_async.request import Outcome
    from m3ke_async.run import RunResult
    from m3ke_async.suite import Question, Suite, Task, load_suite

__all__ = [
    "Choice",
    "Comparison",
    "DataError",
    "ExitCode",
    "IncompleteError",
    "M3keError",
    "Outcome",
    "Question",
    "RunResult",
    "StoppedError",
    "Suite",
    "Task",
    "UsageError",
    "compare_runs",
    "evaluate",
    "evaluate_sync",
    "extract_choice",
    "load_suite",
    "read_run",
]

# Names are looked up when they are used, so that `m3ke --help` imports next to nothing.
_HOMES = {
    "Choice": "choice",
    "extract_choice": "choice",
    "compare_runs": "compare",
    "Comparison": "comparison",
    "DataError": "errors",
    "ExitCode": "errors",
    "IncompleteError": "errors",
    "M3keError": "errors",
    "StoppedError": "errors",
    "UsageError": "errors",
    "read_run": "reopen",
    "Outcome": "request",
    "RunResult": "run",
    "evaluate": "api",
    "evaluate_sync": "api",
    "Question": "suite",
    "Suite": "suite",
    "Task": "suite",
    "load_suite": "suite",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
