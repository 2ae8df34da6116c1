"""What lies in a results folder, and how far a run is: read from the runs' own files, never written."""

from __future__ import annotations

import calendar
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.errors import ExitCode, UsageError
from m3ke_async.rundir import RunDir
from m3ke_async.score import Scores
from m3ke_async.suites.layout import load_layout
from m3ke_async.suites.taxonomy import SuiteName
from m3ke_async.verified import is_claimed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

#: Seconds between two looks at a run; its own record is written every three.
_LOOK_SECONDS = 1.0


class State(StrEnum):
    """How a run is, or how its last command ended."""

    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"  # it says that it runs, and no process is at work on it
    DAMAGED = "damaged"

    @property
    def exit_code(self) -> ExitCode:
        """What a command returns that has seen a run end so."""
        return ExitCode.COMPLETE if self is State.COMPLETE else ExitCode.INCOMPLETE


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One run of a results folder.

    Attributes:
        name: of its folder.
        state: how it is.
        model: `provider/model`; '' where run.json is damaged, as for the fields below.
        split: what it asks, behind the suite's name where that is not M3KE.
        shots: examples a question; None where run.json is damaged.
        asked: questions that it asks; None without scores, as for the fields below.
        labelled: of these, questions with a reply whose right letter is known.
        accuracy: over these; None without any.
        age: seconds since its record was written; None where run.json is damaged.
        trouble: what is wrong with its run.json, in one line.
    """

    name: str
    state: State
    model: str = ""
    split: str = ""
    shots: int | None = None
    asked: int | None = None
    labelled: int | None = None
    accuracy: float | None = None
    age: float | None = None
    trouble: str | None = None

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the last command of a run is.

    Attributes:
        state: how the run is.
        total: what this command asks.
        stored, answered, failed: of it, what had a reply before, got one, or failed.
        requests, retries, prompt_tokens, completion_tokens, seconds: over all commands of the run.
        stopped: why questions are left, in one line.
    """

    state: State
    total: int
    stored: int
    answered: int
    failed: int
    requests: int
    retries: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    stopped: str | None

    @property
    def ended(self) -> int:
        """What got a reply from this command, or failed."""
        return self.answered + self.failed

    @property
    def done(self) -> int:
        """What needs nothing more from this command."""
        return self.stored + self.ended

    def rate(self, earlier: Standing | None) -> float | None:
        """Replies and failures a second since an earlier look; None where that cannot be told."""
        if earlier is None or self.seconds <= earlier.seconds or self.ended < earlier.ended:
            return None
        return (self.ended - earlier.ended) / (self.seconds - earlier.seconds)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self) | {"done": self.done}


def list_runs(results: Path, *, now: Callable[[], float] = time.time) -> list[ListedRun]:
    """All runs of a results folder, the latest first, the damaged ones last.

    Args:
        results: the folder; one that is not there holds no runs.
        now: Unix time in seconds.
    """
    found = [_listed(RunDir(path.parent), now()) for path in sorted(results.glob("*/run.json"))]
    return sorted(
        found, key=lambda run: (run.state is State.DAMAGED, float("inf") if run.age is None else run.age)
    )


def standing(directory: RunDir) -> Standing:
    """How far a run is.

    Raises:
        UsageError: there is no run, or its run.json is damaged.
    """
    record = directory.read()
    if record is None:
        raise UsageError(f"{directory.path} holds no run.json any more; see m3ke runs")
    counts, ledger = record["counts"], record["ledger"]
    return Standing(
        state=_state(directory, record),
        total=counts.get("total", 0),
        stored=counts.get("stored", 0),
        answered=counts.get("answered", 0),
        failed=counts.get("failed", 0),
        requests=ledger["requests"],
        retries=sum(ledger["retries"].values()),
        prompt_tokens=ledger["prompt_tokens"],
        completion_tokens=ledger["completion_tokens"],
        seconds=ledger["seconds"],
        stopped=record.get("stopped"),
    )


def watch(directory: RunDir, *, sleep: Callable[[float], None] = time.sleep) -> Iterator[Standing]:
    """How far a run is, whenever that changes, until no process is at work on it.

    Raises:
        UsageError: as of `standing`.
    """
    last: Standing | None = None
    while True:
        found = standing(directory)
        if found != last:
            yield found
        if found.state is not State.RUNNING:
            return
        last = found
        sleep(_LOOK_SECONDS)


def _listed(directory: RunDir, now: float) -> ListedRun:
    name = directory.path.name
    try:
        record = directory.read()
    except UsageError as error:
        return ListedRun(name, State.DAMAGED, trouble=str(error))
    if record is None:
        return ListedRun(name, State.DAMAGED, trouble=f"{directory.run_json}: went away")
    settings, scores = record["settings"], None
    suite = SuiteName(settings.get("suite", SuiteName.M3KE))
    # Where there are none yet, or of another version, the run is there all the same.
    with suppress(OSError, orjson.JSONDecodeError, UsageError):
        scores = Scores.from_json(orjson.loads(directory.scores.read_bytes()))
    total = scores.total if scores else None
    return ListedRun(
        name=name,
        state=_state(directory, record),
        model=settings["model"],
        split=load_layout(suite).taxonomy.named(settings["split"]),
        shots=scores.shots(settings["shots"]) if scores else settings["shots"],
        asked=total.asked if total else None,
        labelled=total.labelled if total else None,
        accuracy=total.accuracy if total else None,
        age=_age(record.get("written_at"), now),
    )


def _state(directory: RunDir, record: Mapping[str, Any]) -> State:
    if is_claimed(directory.path):  # whatever stands in the record: it is written before the results are
        return State.RUNNING
    state = State(record["state"])
    return State.INTERRUPTED if state is State.RUNNING else state


def _age(written: Any, now: float) -> float | None:
    try:
        return max(0.0, now - calendar.timegm(time.strptime(written, "%Y-%m-%dT%H:%M:%SZ")))
    except (TypeError, ValueError):
        return None
