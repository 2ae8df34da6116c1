"""A run's reports as files: one writer a format."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from m3ke_async.answer import read_answers
from m3ke_async.errors import UsageError
from m3ke_async.files import whole_file
from m3ke_async.nearest import one_of
from m3ke_async.published import table_beside
from m3ke_async.reopen import read_run, reopen, stored_replies
from m3ke_async.replies import is_as_written
from m3ke_async.report.asked import asked_questions
from m3ke_async.report.html import write_html
from m3ke_async.report.inspect_log import inspect_name, write_inspect_log
from m3ke_async.report.leaderboard import leaderboard_row, write_leaderboard
from m3ke_async.report.lm_eval_results import lm_eval_name, write_lm_eval_results
from m3ke_async.report.markdown import markdown
from m3ke_async.report.picture import write_png
from m3ke_async.report.shorten import room_for_each
from m3ke_async.report.tables import write_csv, write_parquet
from m3ke_async.rundir import RunDir
from m3ke_async.text import escape_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from m3ke_async.report.asked import Asked
    from m3ke_async.run import RunResult


class Format(StrEnum):
    """What a report can be; the value is its name on the command line."""

    HTML = "html"
    MARKDOWN = "md"
    CSV = "csv"
    PARQUET = "parquet"
    PNG = "png"
    INSPECT = "inspect"
    LM_EVAL = "lm-eval"


#: Formats in which the lines of answers.jsonl stand beside the numbers of scores.json, or alone.
_SHOW_ANSWERS = (Format.HTML, Format.INSPECT, Format.CSV, Format.PARQUET)


def find_format(name: str) -> Format:
    """The format of this name.

    Raises:
        UsageError: there is none; it names those that are.
    """
    return Format(one_of("--format", name, [form.value for form in Format]))


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
        path: of the file; None is one in the run's folder, with the name by which its readers find it.
        data: where the suite lies now; None where it lay then. Formats that show questions need it.
        warn: is told of answers that are not those of the scores, and of trouble with the store.

    Raises:
        UsageError: the run, or the suite where the report shows questions, is not what it was; or a library
            that the format needs is not installed.
    """
    result, record = read_run(directory.path), directory.record()
    path = path or directory.path / _name(form, record)
    if form in _SHOW_ANSWERS and not is_as_written(directory, record):
        warn(f"{directory.answers} is not what scores.json counts; write both again with: m3ke score RUN")
    if form in (Format.HTML, Format.INSPECT):
        evaluation = reopen(directory, data)
        with stored_replies(directory, warn, told=True) as find:
            answers = read_answers(directory.answers, _is_told)
            asked = asked_questions(evaluation, answers, find, directory.answers)
            _write_asked(path, form, asked, result, record)
        return path
    _write_numbers(path, form, result, record)
    return path


def _is_told(line: str) -> None:
    """A damaged line: the file is not as it was written then, and that is said."""


def _name(form: Format, record: Mapping[str, Any]) -> str:
    """What the file is called: other programs find theirs by its name."""
    if form is Format.INSPECT:
        return inspect_name(record)
    return lm_eval_name(record) if form is Format.LM_EVAL else f"report.{form}"


def _write_asked(
    path: Path, form: Format, asked: Iterable[Asked], result: RunResult, record: Mapping[str, Any]
) -> None:
    """The formats that show questions."""
    if form is Format.INSPECT:
        write_inspect_log(path, asked, result=result, record=record)
        return
    price = result.price
    write_html(
        path,
        asked,
        scores=result.scores,
        record=record,
        published=table_beside(record),
        cost=price.shown(result.ledger.cost(price)) if price is not None else None,
        room=room_for_each(RunDir(result.path).answers, result.scores.usage.replies),
    )


def _write_numbers(path: Path, form: Format, result: RunResult, record: Mapping[str, Any]) -> None:
    """The formats that need nothing but the run's files."""
    scores, settings = result.scores, record["settings"]
    if form is Format.MARKDOWN:
        with whole_file(path) as file:
            file.write(escape_surrogates(markdown(scores, record, table_beside(record))).encode())
    elif form is Format.PNG:
        split, shots = scores.taxonomy.named(scores.split), scores.shots(settings["shots"])
        write_png(path, scores, f"{settings['model']}, {split}, {shots}-shot")
    elif form is Format.LM_EVAL:
        write_lm_eval_results(path, result, record)
    else:
        write = write_csv if form is Format.CSV else write_parquet
        write(path, RunDir(result.path).answers, scores, _is_told)


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
    record = directory.record()
    if not record["is_m3ke"]:
        raise UsageError(
            f"{directory.path} asks other questions than M3KE's, whose tables it does not fit; "
            "m3ke report RUN --format md writes tables of its own"
        )
    evaluation, scores = reopen(directory, data), read_run(directory.path).scores
    path = path or directory.path / "leaderboard.zip"
    write_leaderboard(path, evaluation, scores, record, directory.predictions)
    return path, leaderboard_row(scores, evaluation.model)
