"""A row a question, for spreadsheets and other programs: CSV and Parquet."""

from __future__ import annotations

import csv
import io
from importlib.util import find_spec
from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.extras import how_to_install
from m3ke_async.files import whole_file
from m3ke_async.frame import COLUMNS, polars_frame, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from m3ke_async.score import Scores

#: What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(path: Path, answers: Path, scores: Scores, warn: Callable[[str], None]) -> None:
    """Write CSV in UTF-8 with a byte order mark, by which spreadsheets know it.

    A text that a spreadsheet would compute gets an apostrophe in front.
    """
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", newline="", write_through=True)
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in read_rows(answers, scores, warn):
            writer.writerow([_inert(value) if isinstance(value, str) else value for value in row])
        text.detach()


def _inert(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def write_parquet(path: Path, answers: Path, scores: Scores, warn: Callable[[str], None]) -> None:
    """Write Parquet.

    Raises:
        UsageError: polars is not installed.
    """
    if not find_spec("polars"):
        raise UsageError(f"--format parquet needs polars: {how_to_install('report')}")
    frame = polars_frame(answers, scores, warn)
    with whole_file(path) as file:
        frame.write_parquet(file)
