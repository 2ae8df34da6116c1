"""run.json while a command is at work: when it is written."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from m3ke_async import record
from m3ke_async.tally import Ledger, Tally
from tests import fake_time

if TYPE_CHECKING:
    import pytest


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
