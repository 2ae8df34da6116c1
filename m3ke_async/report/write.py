"""A run's reports as files: one writer a format."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from m3ke_async.answer import read_answers
from m3ke_async.errors import UsageError
from m3ke_async.files import whole_file
from m3ke_async.nearest import nearest
from m3ke_async.published import table_beside
from m3ke_async.reopen import read_record, read_run, reopen, stored_replies
from m3ke_async.text import escape_surrogates, one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from m3ke_async.rundir import RunDir


class Format(StrEnum):
    """What a report can be; the value is its name on the command line and its suffix."""

    HTML = "html"
    MARKDOWN = "md"
    CSV = "csv"
    PARQUET = "parquet"
    PNG = "png"


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
        data: where the suite lies now; None where it lay then. Only the page needs it.
        warn: is told of damaged lines and of trouble with the store.

    Raises:
        UsageError: the run, or the suite where the report shows questions, is not what it was; or a library
            that the format needs is not installed.
    """
    path = path or directory.path / f"report.{form}"
    if form is Format.HTML:
        _html(directory, path, data, warn)
        return path
    scores, record = read_run(directory.path).scores, read_record(directory)
    if form is Format.MARKDOWN:
        from m3ke_async.report.markdown import markdown

        with whole_file(path) as file:
            file.write(escape_surrogates(markdown(scores, record, table_beside(record))).encode())
    elif form is Format.PNG:
        from m3ke_async.report.picture import write_png

        settings = record["settings"]
        write_png(path, scores, f"{settings['model']}, {scores.split}, {settings['shots']}-shot")
    else:
        from m3ke_async.report.tables import write_csv, write_parquet

        write = write_csv if form is Format.CSV else write_parquet
        write(path, directory.answers, scores, warn)
    return path


def write_for_leaderboard(
    directory: RunDir, path: Path | None = None, *, data: str | None = None
) -> tuple[Path, list[str]]:
    """Write the zip for M3KE's authors, and return where it is and the lines of the table.

    Args:
        directory: of the run.
        path: of the zip; None is `leaderboard.zip` in the run's folder.
        data: as of `write_report`.

    Raises:
        UsageError: the run asks other questions than M3KE's own, or is not what it was.
    """
    from m3ke_async.report.leaderboard import leaderboard_row, write_leaderboard

    record = read_record(directory)
    if not record["is_m3ke"]:
        raise UsageError(f"{directory.path} asks other questions than M3KE's, whose tables it does not fit")
    evaluation, scores = reopen(directory, data), read_run(directory.path).scores
    path = path or directory.path / "leaderboard.zip"
    write_leaderboard(path, evaluation, scores, record, directory.predictions)
    return path, leaderboard_row(scores, evaluation.model)


def _html(directory: RunDir, path: Path, data: str | None, warn: Callable[[str], None]) -> None:
    from m3ke_async.report.asked import asked_questions
    from m3ke_async.report.html import write_html

    evaluation, result, record = reopen(directory, data), read_run(directory.path), read_record(directory)
    with stored_replies(directory, warn) as find:
        answers = read_answers(directory.answers, warn)
        write_html(
            path,
            asked_questions(evaluation, answers, find, directory.answers),
            scores=result.scores,
            record=record,
            published=table_beside(record),
            cost=result.ledger.cost(result.price) if result.price is not None else None,
        )
