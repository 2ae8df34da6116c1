"""One cell where it runs: an ordinary run in a folder of its own, whose replies go to the keeper at once.

The run begins with what the keeper has of it, so that a cell that was lost elsewhere asks only what
was not kept there.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from m3ke_async.errors import M3keError, system_error
from m3ke_async.lookup import evaluations, find_suite, run_directory
from m3ke_async.progress import Silent
from m3ke_async.run import run
from m3ke_async.rundir import RunDir
from m3ke_async.session import ask
from m3ke_async.store import Kept
from m3ke_async.sweep.stream import Stream
from m3ke_async.target import find_target
from m3ke_async.text import counted
from m3ke_async.verified import claimed, is_claimed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from m3ke_async.endpoint import Endpoint
    from m3ke_async.evaluation import Evaluation
    from m3ke_async.reply_row import Row
    from m3ke_async.run import RunResult
    from m3ke_async.session import Session
    from m3ke_async.settings import RunSettings
    from m3ke_async.store import ReplyStore
    from m3ke_async.sweep.keeper import Begun
    from m3ke_async.tally import Price
    from m3ke_async.target import Target

    class Desk(Protocol):
        """The keeper and the shares of limits, from where a cell runs. Every call waits for its answer."""

        def begin(self, cell: int, runs: Sequence[str], policy: str) -> Begun:
            """As of `Keeper`."""

        def known(self, keys: Sequence[bytes]) -> list[Row]:
            """As of `Keeper`."""

        def keep(self, run: str, kept: Sequence[Kept], record: bytes | None) -> None:
            """As of `Keeper`."""

        def finish(self, run: str, files: dict[str, bytes], record: bytes) -> None:
            """As of `Keeper`."""

        def leave(self, run: str) -> None:
            """As of `Keeper`."""

        def lease(self, limit: str, holder: str, want: float) -> float:
            """As of `Shares`."""

        def release(self, limit: str, holder: str) -> None:
            """As of `Shares`."""


#: Keys that are looked up together.
LOOKED_UP = 1_000
#: Seconds between two leases, and between two tries to get a first one.
_RENEW, _WAIT = 1.0, 0.2
#: How much less a cell wants of a limit after a second in which none of its requests waited.
_LESS, _LEAST_WANT = 0.8, 0.02
#: Of a limit that is wholly leased to others: next to nothing, until they have given up some of it.
_NONE = 1e-4

#: How the folders of cells begin, and the seconds after which one that nobody claims was left behind.
_FOLDER, _LEFT = "m3ke-cell-", 60.0


@dataclass(frozen=True, slots=True)
class CellResult:
    """What a cell came to.

    Attributes:
        run: name of its folder; None where it was refused before it had one.
        complete: whether every question has a reply.
        trouble: why not, in one line.
    """

    run: str | None
    complete: bool
    trouble: str | None = None


async def evaluate_cell(number: int, settings: RunSettings, desk: Desk) -> CellResult:
    """Run a cell, or go on with it; whatever the settings or the provider are at fault for is a result.

    Args:
        number: of the cell in its sweep.
        settings: of its run.
        desk: where its replies go, and limits come from.
    """
    name: str | None = None
    try:
        suite = find_suite(settings.data, settings.suite)
        target = find_target(settings, Silent())
        names = [run_directory(one).path.name for one in evaluations(settings, suite, target)]
        begun = desk.begin(number, names, settings.policy)
        name = begun.run
        if begun.complete:
            desk.leave(name)
            return CellResult(name, complete=True)
        with _own_folder() as folder:
            directory = RunDir(folder / name)
            if begun.record is not None:
                directory.prepare()
                directory.run_json.write_bytes(begun.record)
            asking = _Asking(desk, name, begun.elsewhere)
            here = replace(settings, results=str(folder))
            # Ray passes on that the sweep is to stop as if by Ctrl-C.
            result = await run(here, suite=suite, asking=asking, signals=True)
            desk.finish(name, result_files(directory), directory.run_json.read_bytes())
    except (M3keError, OSError) as error:
        if name is not None:
            desk.leave(name)
        trouble = str(error) if isinstance(error, M3keError) else system_error(error)
        return CellResult(name, complete=False, trouble=trouble)
    return CellResult(name, result.stopped is None and not result.scores.total.incomplete, _left(result))


def _left(result: RunResult) -> str | None:
    """Why questions are left; None where none are."""
    if result.stopped is not None:
        return str(result.stopped)
    owed = result.scores.total.owed
    return (
        f"{counted(owed, 'question has', 'questions have')} no reply; the same command goes on"
        if owed
        else None
    )


@contextmanager
def _own_folder() -> Iterator[Path]:
    """A folder for the time of a cell; those that killed cells left on this machine are removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        with suppress(OSError):
            found = left.lstat()
            mine = sys.platform == "win32" or found.st_uid == os.getuid()
            if mine and found.st_mtime < time.time() - _LEFT and not is_claimed(left):
                shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=_FOLDER) as name, claimed(Path(name)):
        yield Path(name)


def result_files(directory: RunDir) -> dict[str, bytes]:
    """The result files of a run, by path below its folder."""
    names = [*directory.hashes(), "server.log"]
    return {name: (directory.path / name).read_bytes() for name in names if (directory.path / name).is_file()}


@dataclass(frozen=True, slots=True)
class _Asking:
    """Asks as `session.ask` does, with the keeper's replies as a start, and every new one sent to it."""

    desk: Desk
    run: str
    elsewhere: Mapping[bytes, Path]

    async def __call__(
        self, session: Session, store: ReplyStore, *, price: Price | None, signals: bool
    ) -> None:
        session.elsewhere = self.elsewhere
        sent: bytes | None = None

        def bring(evaluation: Evaluation) -> None:
            asked = _keys(evaluation)
            while keys := list(islice(asked, LOOKED_UP)):
                store.put_all(Kept(row) for row in self.desk.known(keys))

        def send(kept: list[Kept]) -> None:
            nonlocal sent
            record = sent
            with suppress(OSError):  # replies go on without it
                record = session.directory.run_json.read_bytes()
            if kept or record != sent:
                self.desk.keep(self.run, kept, record if record != sent else None)
                sent = record

        store.follower = stream = Stream(send)
        try:
            await ask(session, store, price=price, signals=signals, sharing=self.sharing, bring=bring)
        finally:
            store.follower = None
            stream.close()

    @asynccontextmanager
    async def sharing(self, target: Target, endpoints: tuple[Endpoint, ...]) -> AsyncIterator[None]:
        """Keep each endpoint to its share of what its key may use."""
        if target.hosted is not None:  # a server of its own is nobody else's
            yield
            return
        leases = [_Lease(self.desk, target, endpoint) for endpoint in endpoints]
        tasks = []
        try:
            for lease in leases:
                await lease.get()
                tasks.append(asyncio.create_task(lease.renew()))
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for lease in leases:
                await lease.release()


def _keys(evaluation: Evaluation) -> Iterator[bytes]:
    """The keys of every request of a run."""
    items = chain.from_iterable(map(evaluation.items, evaluation.suite.tasks))
    return (item.request.key for item in items)


class _Lease:
    """The share that one endpoint has of its limits."""

    def __init__(self, desk: Desk, target: Target, endpoint: Endpoint) -> None:
        self._desk, self._pace = desk, endpoint.pace
        account = f"{target.profile.name}\0{endpoint.address.public}\0{target.key or ''}"
        # a hash, since the key is in it
        self._limit = blake2b(account.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        self._holder = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._want = 1.0

    async def get(self) -> None:
        """Wait until there is a share, and keep to it."""
        while not (share := await self._ask()):  # noqa: ASYNC110 - who gives it up is in another process
            await asyncio.sleep(_WAIT)
        self._pace.set_share(share)

    async def renew(self) -> None:
        """Ask for as much as is needed, for ever."""
        while True:
            await asyncio.sleep(_RENEW)
            self._want = 1.0 if self._pace.is_waited_for else max(_LEAST_WANT, self._want * _LESS)
            self._pace.set_share(await self._ask() or _NONE)

    async def release(self) -> None:
        """Leave it to others."""
        await asyncio.to_thread(self._desk.release, self._limit, self._holder)

    async def _ask(self) -> float:
        return await asyncio.to_thread(self._desk.lease, self._limit, self._holder, self._want)
