"""Failed questions are named: counts by kind, the first few with their reasons, and where the rest is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.answer import Answer
from m3ke_async.report.failed import failed_lines
from m3ke_async.request import Outcome, dump_json
from m3ke_async.suite import Split

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, *failures: str) -> Path:
    lines = (
        Answer("Law-Other-Other", Split.DEV, number, "00", Outcome.FAILED, failure=failure).to_json()
        for number, failure in enumerate(failures)
    )
    path.write_bytes(b"".join(dump_json(line) + b"\n" for line in lines))
    return path


def test_each_of_a_few_is_named_with_its_reason(tmp_path: Path) -> None:
    path = write(tmp_path / "failed.jsonl", "timeout: no answer came in time", "too_long: use fewer --shots")
    assert list(failed_lines(path)) == [
        "Failed: 2 questions (1 timeout, 1 too_long)",
        "  Law-Other-Other 0: no answer came in time",
        "  Law-Other-Other 1: use fewer --shots",
    ]


def test_of_many_the_first_are_named_and_the_file_that_holds_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path / "failed.jsonl", *["timeout: late"] * 1200, "too_long: long")
    first, *named, rest = failed_lines(path)
    assert first == "Failed: 1,201 questions (1,200 timeout, 1 too_long)"
    assert len(named) == 3
    assert rest == f"  and 1,198 more in {path}"


def test_where_none_failed_nothing_is_said(tmp_path: Path) -> None:
    assert list(failed_lines(write(tmp_path / "failed.jsonl"))) == []
    assert list(failed_lines(tmp_path / "of an older version")) == []


def test_a_reason_stays_on_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "failed.jsonl", "bad_request: the server said\n\x1b[2Jno")
    assert list(failed_lines(path))[1:] == ["  Law-Other-Other 0: the server said �[2Jno"]
