"""run.json: when it is written while a command is at work, and when a run needs nothing more."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from m3ke_async import record
from m3ke_async.choice import RULES_VERSION
from m3ke_async.rundir import RunDir
from m3ke_async.tally import Ledger, Tally
from tests import fake_time
from tests.asking import ask
from tests.questions import write_suite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server import Server


def test_it_is_written_whenever_the_ledger_has_changed_also_after_a_batch_or_a_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session: Any = SimpleNamespace(tally=Tally())
    written: list[tuple[int, int]] = []

    def note(session: Any, state: str, **rest: float) -> None:
        written.append((session.tally.ledger.requests, session.tally.ledger.replies))

    monkeypatch.setattr(record, "write_record", note)

    async def main() -> None:
        async with record.recording(session):
            await asyncio.sleep(10)
            session.tally.ledger += Ledger(requests=2)
            await asyncio.sleep(10)
            session.tally.ledger.replies += 1
            await asyncio.sleep(10)

    fake_time.run(main())
    assert written == [(2, 0), (2, 1)]


@pytest.mark.parametrize(
    "changes",
    [{"state": "stopped"}, {"rules": "0"}, {"settings": {"policy": "strict"}}, {"hashes": {}}],
    ids=["a run that was stopped", "older rules", "another policy", "files of which nothing is known"],
)
async def test_a_run_is_finished_by_todays_rules_and_its_own_policy_alone(
    server: Server, tmp_path: Path, changes: dict[str, Any]
) -> None:
    result = await ask(write_suite(tmp_path / "suite", 1, 2), server.url, tmp_path / "results")
    directory = RunDir(result.path)
    found = directory.record()
    assert record.is_finished(directory, found, "careful")
    assert not record.is_finished(directory, found | changes, "careful")


async def test_a_run_that_was_read_by_older_rules_is_read_again_without_a_request(
    server: Server, tmp_path: Path
) -> None:
    suite, results = write_suite(tmp_path / "suite", 1, 2), tmp_path / "results"
    directory = RunDir((await ask(suite, server.url, results)).path)
    directory.run_json.write_bytes(orjson.dumps(directory.record() | {"rules": "0"}))
    again = await ask(suite, server.url, results)
    assert len(server.seen) == 2
    assert (again.stopped, directory.record()["rules"]) == (None, RULES_VERSION)
