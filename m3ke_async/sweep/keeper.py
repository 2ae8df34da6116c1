"""The single writer of a sweep: replies of all cells into one store, and each cell's run into its folder.

It keeps nothing that is not on disk but the claims on the folders, so that another one can take its
place at any time; what is sent to it twice is kept once.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.errors import UsageError
from m3ke_async.files import whole_file
from m3ke_async.record import is_finished
from m3ke_async.replies import open_store
from m3ke_async.run import in_batches
from m3ke_async.rundir import RunDir
from m3ke_async.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from m3ke_async.reply_row import Row
    from m3ke_async.store import Kept


@dataclass(frozen=True, slots=True)
class Begun:
    """How far the run of a cell is.

    Attributes:
        run: name of its folder.
        record: its run.json as bytes; None where there is none.
        complete: whether nothing is left to do.
        elsewhere: requests that batches under way may answer, as of `under_way`.
    """

    run: str
    record: bytes | None
    complete: bool
    elsewhere: Mapping[bytes, Path] = field(default_factory=dict)


class Keeper:
    """Keeps what the cells of a sweep bring.

    Args:
        results: the folder of runs and store.
    """

    def __init__(self, results: Path) -> None:
        self._results = results
        self._claims: dict[str, tuple[int, ExitStack]] = {}
        self._begun: dict[int, str] = {}
        self._warnings: list[str] = []
        self._said: set[str] = set()
        self._store = open_store(RunDir(results / "sweep"), self._warnings.append)

    def begin(self, cell: int, runs: Sequence[str], policy: str) -> Begun:
        """Claim the folder of a run, also for a cell that was begun elsewhere and lost.

        Args:
            cell: its number in the sweep.
            runs: names that the folder may have, one an address; the first where none is there yet.
            policy: how letters are to be found.

        Raises:
            UsageError: another process or cell is at work on it, questions of it are in batches under way,
                or it cannot be written.
        """
        run = next((run for run in runs if RunDir(self._results / run).run_json.exists()), runs[0])
        directory = RunDir(self._results / run)
        self._claim(cell, directory)
        try:
            begun = self._look(directory, policy)
        except BaseException:
            self.leave(run)
            raise
        self._begun[cell] = run
        return begun

    def _claim(self, cell: int, directory: RunDir) -> None:
        run = directory.path.name
        if run not in self._claims:
            directory.prepare()
            with ExitStack() as stack:
                stack.enter_context(directory.claim())
                self._claims[run] = cell, stack.pop_all()
        elif self._claims[run][0] == cell:
            self._warnings.append(f"{run}: the process that asked it was lost; it goes on in another one")
        else:
            raise UsageError(
                f"another cell of this sweep is at work on {directory.path}: leave out one of them, "
                "since both ask the same"
            )

    def _look(self, directory: RunDir, policy: str) -> Begun:
        run, record = directory.path.name, directory.read()
        complete = record is not None and is_finished(directory, record, policy)
        elsewhere = {} if complete else in_batches(directory)
        return Begun(run, None if record is None else orjson.dumps(record), complete, elsewhere)

    def known(self, keys: Sequence[bytes]) -> list[Row]:
        """The stored replies to these requests."""
        return self._store.rows(keys)

    def keep(self, run: str, kept: Sequence[Kept], record: bytes | None) -> None:
        """Keep what a cell has received; durable when this returns.

        Args:
            run: name of the folder.
            kept: replies and failures.
            record: the run.json of the cell where it is, if it has changed.

        Raises:
            StoreError: there is no room for them, nor in a spare store.
        """
        if kept:
            try:
                self._store.put_all(kept)
            except StoreError as error:
                self._warn_once(f"{error}; make room")
                if not error.kept:
                    raise
        if record is not None:
            with suppress(OSError):  # the replies are kept; the last record says so
                self._write(run, record)

    def _warn_once(self, line: str) -> None:
        """Say what all cells meet together."""
        if line not in self._said:
            self._said.add(line)
            self._warnings.append(line)

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
            claim[1].close()

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
