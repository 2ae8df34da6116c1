"""A finished run of a few made-up questions, for the tests of reports and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.errors import ExitCode
from tests.command import m3ke
from tests.server import error, in_thread, reply
from tests.small_suite import ALGEBRA, COOKING, row, write_split

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: The right letter and the reply by mark; no reply is a refusal of the server.
ASKED = {
    "Q0-0": ("A", "答案：A"),
    "Q0-1": ("A", "答案：B"),
    "Q0-2": ("C", '=HYPERLINK("http://evil.test";"C")'),
    "Q1-0": ("B", "答案：B"),
    "Q1-1": ("B", "我不知道。"),
    "Q1-2": ("B", None),
}


def write_run(
    folder: Path,
    *,
    labelled: bool = True,
    split: str = "dev",
    options: tuple[str, ...] = (),
    asked: Mapping[str, tuple[str, str | None]] = ASKED,
) -> Path:
    """Ask these questions, and return the run's folder; a run in which one has failed is incomplete."""
    for task, name in enumerate((ALGEBRA, COOKING)):
        marks = [mark for mark in asked if mark.startswith(f"Q{task}-")]
        rows = [
            row(n, f"{mark} 哪一个？", asked[mark][0] if labelled else "") for n, mark in enumerate(marks)
        ]
        if rows:
            write_split(folder / "suite", split, name, rows)
    with in_thread() as server:
        server.script = {
            mark: [reply(text) if text is not None else error(400, "no")] for mark, (_, text) in asked.items()
        }
        places = ("--base-url", server.url, "--data", folder / "suite", "--results", folder / "results")
        ran = m3ke("run", "custom/m", *places, "--split", split, "--quiet", "--name", "run", *options)
    failed = any(text is None for _, text in asked.values())
    assert ran.code == (ExitCode.INCOMPLETE if failed else ExitCode.COMPLETE), ran.err
    return folder / "results" / "run"
