"""The single writer of a sweep: replies of all cells into one store, and each cell's run into its folder.

It keeps nothing that is not on disk but the claims on the folders, so that another one can take its
place at any time; what is sent to it twice is kept once.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.choice import RULES_VERSION
from m3ke_async.files import whole_file
from m3ke_async.replies import open_store
from m3ke_async.rundir import RunDir

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from m3ke_async.reply_row import Row
    from m3ke_async.store import Kept


@dataclass(frozen=True, slots=True)
class Begun:
    """How far the run of a cell is.

    Attributes:
        record: its run.json as bytes; None where there is none.
        complete: whether nothing is left to do.
    """

    record: bytes | None
    complete: bool


class Keeper:
    """Keeps what the cells of a sweep bring.

    Args:
        results: the folder of runs and store.
    """

    def __init__(self, results: Path) -> None:
        self._results = results
        self._claims: dict[str, ExitStack] = {}
        self._begun: dict[int, str] = {}
        self._warnings: list[str] = []
        self._store = open_store(RunDir(results / "sweep"), self._warnings.append)

    def begin(self, cell: int, run: str, policy: str) -> Begun:
        """Claim the folder of a run, also for a cell that was begun elsewhere and lost.

        Args:
            cell: its number in the sweep.
            run: name of the folder.
            policy: how letters are to be found.

        Raises:
            UsageError: another process is at work on it, or it cannot be written.
        """
        directory = RunDir(self._results / run)
        if run in self._claims:
            self._warnings.append(f"{run}: the process that asked it was lost; it goes on in another one")
        else:
            directory.prepare()
            with ExitStack() as stack:
                stack.enter_context(directory.claim())
                self._claims[run] = stack.pop_all()
        self._begun[cell] = run
        record = directory.read()
        if record is None:
            return Begun(None, complete=False)
        complete = (
            record["state"] == "complete"
            and record["rules"] == RULES_VERSION
            and record["settings"]["policy"] == policy
            and record["hashes"] == directory.hashes()
        )
        return Begun(orjson.dumps(record), complete)

    def known(self, keys: Sequence[bytes]) -> list[Row]:
        """The stored replies to these requests."""
        return self._store.rows(keys)

    def keep(self, run: str, kept: Sequence[Kept], record: bytes | None) -> None:
        """Keep what a cell has received; durable when this returns.

        Args:
            run: name of the folder.
            kept: replies and failures.
            record: the run.json of the cell where it is, if it has changed.
        """
        if kept:
            self._store.put_all(kept)
        if record is not None:
            self._write(run, record)

    def finish(self, run: str, files: Mapping[str, bytes], record: bytes) -> None:
        """Write the results of a run, and give up its folder.

        Args:
            run: name of the folder.
            files: content by path below the folder.
            record: its run.json.
        """
        folder = self._results / run
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # The disk is not waited for 71 times: predictions can be written again from the store.
            with whole_file(path, durable=path.parent == folder) as file:
                file.write(content)
        self._write(run, record)
        self.leave(run)

    def leave(self, run: str) -> None:
        """Give up the folder of a run."""
        if (claim := self._claims.pop(run, None)) is not None:
            claim.close()

    def begun(self) -> dict[int, str]:
        """Names of the runs by their cells' numbers, of those that have begun since the last time."""
        begun, self._begun = self._begun, {}
        return begun

    def warnings(self) -> list[str]:
        """What there is to say of the store since the last time."""
        told, self._warnings[:] = self._warnings[:], []
        return told

    def close(self) -> None:
        """Let go of the store and of all folders."""
        for run in [*self._claims]:
            self.leave(run)
        self._store.close()

    def _write(self, run: str, record: bytes) -> None:
        table: dict[str, Any] = orjson.loads(record)
        table["settings"]["results"] = str(self._results)
        table.pop("version", None)
        RunDir(self._results / run).write(table)
