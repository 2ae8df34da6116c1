"""A run's reports as files: one writer a format."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from m3ke_async.answer import read_answers
from m3ke_async.errors import UsageError
from m3ke_async.nearest import nearest
from m3ke_async.published import published_table
from m3ke_async.reopen import read_record, read_run, reopen, stored_replies
from m3ke_async.report.asked import asked_questions
from m3ke_async.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from m3ke_async.rundir import RunDir


class Format(StrEnum):
    """What a report can be; the value is its name on the command line."""

    HTML = "html"


def find_format(name: str) -> Format:
    """The format of this name.

    Raises:
        UsageError: there is none; it names those that are.
    """
    try:
        return Format(name)
    except ValueError:
        known = [form.value for form in Format]
        shown = repr(one_line(name, limit=60))
        raise UsageError(f"--format must be {', '.join(known)}, not {shown}{nearest(name, known)}") from None


def write_report(
    directory: RunDir,
    form: Format,
    path: Path | None = None,
    *,
    data: str | None = None,
    warn: Callable[[str], None],
) -> Path:
    """Write one report, and return where it is.

    Args:
        directory: of the run.
        form: of the report.
        path: of the file; None is `report` with the format's suffix in the run's folder.
        data: where the suite lies now; None where it lay then.
        warn: is told of damaged lines and of trouble with the store.

    Raises:
        UsageError: the run, or its suite where the report shows questions, is not what it was.
    """
    path = path or directory.path / f"report.{form}"
    _html(directory, path, data, warn)
    return path


def _html(directory: RunDir, path: Path, data: str | None, warn: Callable[[str], None]) -> None:
    from m3ke_async.report.html import write_html

    evaluation, result, record = reopen(directory, data), read_run(directory.path), read_record(directory)
    with stored_replies(directory, warn) as find:
        answers = read_answers(directory.answers, warn)
        write_html(
            path,
            asked_questions(evaluation, answers, find, directory.answers),
            scores=result.scores,
            record=record,
            published=published_table(record["settings"]["shots"]) if record["is_m3ke"] else None,
            cost=result.ledger.cost(result.price) if result.price is not None else None,
        )
