"""Runs on disk made of a few letters, for the tests of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.answer import Answer
from m3ke_async.compare import compare, load_side
from m3ke_async.request import Outcome, dump_json
from m3ke_async.rundir import RunDir
from m3ke_async.suite import Split
from m3ke_async.tally import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.comparison import Comparison

ARTS, MATHS, LAW = (
    "Art-Arts & Humanities-College",
    "Maths-Natural Sciences-High school",
    "Law-Social Sciences-College",
)

Line = tuple[str, str | None, str | None]


def write_run(folder: Path, name: str, lines: list[Line], state: str = "complete", **identity: Any) -> RunDir:
    """A run whose lines are (task, choice, key); `!` is a failed question, None one without a letter."""
    directory = RunDir(folder / name)
    directory.prepare()
    rows, ids = [], dict.fromkeys((ARTS, MATHS, LAW), 0)
    for task, choice, key in lines:
        outcome = Outcome.ANSWERED if choice else Outcome.UNPARSED
        outcome = Outcome.FAILED if choice == "!" else outcome
        letter = choice if outcome is Outcome.ANSWERED else None
        rows.append(Answer(task, Split.DEV, ids[task], "00", outcome, letter, key=key, reply="x"))
        ids[task] += 1
    directory.answers.write_bytes(b"".join(dump_json(row.to_json()) + b"\n" for row in rows))
    asked = {"suite": "s", "split": "dev", "shots": 0, "template": "t", "wording": ["w"], "temperature": 0.0}
    record: dict[str, Any] = {
        "state": state,
        "identity": {"model": f"vllm/{name}", "address": name, **asked, **identity},
        "settings": {"model": f"vllm/{name}", "policy": "careful", "split": "dev", "shots": 0},
        "provider": "vllm",
        "model": name,
        "data": "",
        "is_m3ke": False,
        "rules": "1",
        "adapted": [],
        "sent": {"protocol": "chat", "token_parameter": "max_tokens", "thinking": {}},
        "counts": {},
        "ledger": Ledger().to_json(),
        "fresh_since": None,
        "hashes": {},
    }
    directory.write(record)
    return directory


def compared(*runs: RunDir, force: bool = False) -> Comparison:
    return compare([load_side(run, pytest.fail) for run in runs], force=force)


def labelled(task: str, pairs: dict[str, int], *, side: int, key: str | None = "A") -> list[Line]:
    """So many questions on which the two sides chose these two letters; `-` is none."""
    return [
        (task, None if pair[side] == "-" else pair[side], key) for pair, n in pairs.items() for _ in range(n)
    ]


def two_runs(folder: Path, tasks: dict[str, dict[str, int]], key: str | None = "A") -> Comparison:
    runs = [
        write_run(
            folder,
            name,
            [line for task, pairs in tasks.items() for line in labelled(task, pairs, side=side, key=key)],
        )
        for side, name in enumerate(("one", "two"))
    ]
    return compared(*runs)
