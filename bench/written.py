"""Cells that make their replies instead of asking for them: what a sweep takes that does not divide.

Replies go as real rows through the stream of a cell, Ray and the keeper into the store, and each cell ends
with the files of a real run, that of the folder which `M3KE_BENCH_RUN` names.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.reply_row import dump_reply
from m3ke_async.request import Reply, Usage
from m3ke_async.rundir import RunDir
from m3ke_async.store import Kept
from m3ke_async.sweep import cluster
from m3ke_async.sweep.stream import Stream
from m3ke_async.sweep.worker import LOOKED_UP, CellResult, result_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from m3ke_async.settings import RunSettings
    from m3ke_async.sweep.worker import Desk

#: Names the folder of the run whose files every cell ends with.
RUN = "M3KE_BENCH_RUN"


def evaluate(number: int, settings: RunSettings, keeper: Any, shares: Any) -> CellResult:
    """In place of `cluster.evaluate`, in a process of Ray's."""
    cluster.evaluate_cell = _write_cell  # type: ignore[attr-defined]
    return cluster.evaluate(number, settings, keeper, shares)


async def _write_cell(number: int, settings: RunSettings, desk: Desk) -> CellResult:
    whole = RunDir(Path(os.environ[RUN]))
    record = whole.read()
    assert record is not None
    record["settings"]["model"] = settings.model
    name, questions = f"cell-{number:06}", record["counts"]["total"]
    desk.begin(number, [name], settings.policy)
    keys = [blake2b(b"%d of %d" % (place, number), digest_size=16).digest() for place in range(questions)]
    for first in range(0, questions, LOOKED_UP):
        assert not desk.known(keys[first : first + LOOKED_UP])
    stream = Stream(lambda kept: desk.keep(name, kept, None))
    for kept in _replies(keys, settings.model.partition("/")[2], name):
        stream.add(kept)
    stream.close()
    desk.finish(name, result_files(whole), orjson.dumps(record))
    return CellResult(name, complete=True)


def _replies(keys: list[bytes], model: str, run: str) -> Iterator[Kept]:
    for place, key in enumerate(keys):
        reply = Reply(
            f"答案：{'ABCD'[place % 4]}",
            finish_reason="stop",
            usage=Usage(200 + place % 100, 4),
            model=model,
            latency=0.2,
            received_at=1_790_000_000.0 + place,
        )
        yield Kept((key, dump_reply(key, reply), "custom", model, run))
