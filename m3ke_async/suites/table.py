"""CSV and JSONL with the columns question, A, B, C, D and answer, row by row."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import DataError
from m3ke_async.rows import TEXTS, Question, RowError, check_id, decoded, json_object, letter_of, shown
from m3ke_async.suites.taxonomy import SuiteName
from m3ke_async.text import counted, normalised, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3ke_async.archive import Line, Member
    from m3ke_async.suites.layout import Layout

#: Whole numbers as they are usually written, and short enough for JSON; others stay texts.
_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")
_QUOTES = "a text with a comma, a quote or a line end stands in quotes, and a quote in it is doubled"
_WANTED = "question, A, B, C, D and answer"
_FIFTH = "e"


def csv_rows(lines: Iterator[Line], member: Member, layout: Layout) -> Iterator[tuple[int, Question]]:
    """The questions of a CSV file, each with the number of the line where it begins.

    Args:
        lines: of the file, all of them: a quoted text may hold line ends, which are read as LF.
        member: the file.
        layout: of its suite.

    Raises:
        DataError: a row is not right; the message names file, line and column.
    """
    reader = csv.reader((decoded(text, offset) + "\n" for _, offset, text in lines), strict=True)
    columns = None if layout.header else Columns(None, (0, 1, 2, 3, 4), 5, 6, _is_known(member, layout))
    number = 0
    while True:
        first = reader.line_num + 1
        try:
            row = next(reader, None)
            if row is None:
                break
            if not any(cell.strip() for cell in row):
                continue
            if columns is None:
                columns = find_columns(row, member, layout)
                continue
            question = columns.question(row, number)
        except csv.Error as error:
            raise DataError(f"is not CSV: {error}; {_QUOTES}", file=member.label, line=first) from None
        except RowError as error:
            raise DataError(str(error), file=member.label, line=first, field=error.field) from None
        number += 1
        yield first, question
    if columns is None:
        raise DataError(f"is empty; its first line must name the columns {_WANTED}", file=member.label)


@dataclass(frozen=True, slots=True)
class Columns:
    """Where in a row of CSV everything stands.

    Attributes:
        id: None where the row's number from 0 is its id.
        texts: question and four options.
        answer: None where the file has none.
        width: number of columns.
        known: whether every row must have its answer.
    """

    id: int | None
    texts: tuple[int, ...]
    answer: int | None
    width: int
    known: bool

    def question(self, row: Sequence[str], number: int) -> Question:
        """The question in a row.

        Raises:
            RowError: it is not right.
        """
        if len(row) != self.width:
            raise RowError(f"has {counted(len(row), 'column')}, not {self.width}; {_QUOTES}")
        text, a, b, c, d = (row[place] for place in self.texts)
        answer = _answer("" if self.answer is None else row[self.answer], known=self.known)
        return Question(number if self.id is None else _id(row[self.id]), text, (a, b, c, d), answer)


def find_columns(header: Sequence[str], member: Member, layout: Layout) -> Columns:
    """The columns by their names; case, white space and the width of characters do not matter.

    Raises:
        RowError: one is missing, stands there twice, or is a fifth option.
    """
    names = [normalised(name) for name in header]
    wanted = {normalised(name): name for name in (*TEXTS, "answer")}
    if layout.id is not None:
        wanted[normalised(layout.id)] = layout.id
    for name, spelt in wanted.items():
        if names.count(name) > 1:
            raise RowError("stands twice in the first line; keep one", spelt)
    may_lack_answer = layout.name is not SuiteName.TABLE and not _is_known(member, layout)
    optional = {"answer"} if may_lack_answer else set()
    for name, spelt in wanted.items():
        if name not in names and name not in optional:
            found = one_line(", ".join(header), limit=80)
            what = f"the column {spelt!r}" if spelt else "the column without a name, which holds the ids"
            raise RowError(f"lacks {what}: the first line must name the columns, and is {found!r}")
    if _FIFTH in names:
        raise RowError("is a fifth option; only questions with four can be asked", "E")
    id_ = None if layout.id is None else normalised(layout.id)
    if layout.name is SuiteName.TABLE and "id" in names:
        id_ = "id"
    return Columns(
        id=None if id_ is None else names.index(id_),
        texts=tuple(names.index(normalised(name)) for name in TEXTS),
        answer=names.index("answer") if "answer" in names else None,
        width=len(names),
        known=_is_known(member, layout),
    )


def json_rows(lines: Iterator[Line], member: Member) -> Iterator[tuple[int, Question]]:
    """The questions of a JSONL file of one's own, each with the number of its line.

    Args:
        lines: of the file, without blank ones.
        member: the file.

    Raises:
        DataError: as of `csv_rows`.
    """
    for number, (line, offset, text) in enumerate(lines):
        try:
            yield line, _from_object(json_object(text, offset), number)
        except RowError as error:
            raise DataError(str(error), file=member.label, line=line, field=error.field) from None


def _from_object(given: dict[str, Any], number: int) -> Question:
    row: dict[str, Any] = {}
    for name, value in given.items():
        if normalised(name) in row:
            raise RowError("stands twice, in upper and lower case; keep one", name)
        row[normalised(name)] = value
    texts = []
    for name in TEXTS:
        value = row.get(normalised(name), ...)
        if type(value) is not str:
            raise RowError("is missing" if value is ... else f"must be a text, not {shown(value)}", name)
        texts.append(value)
    if row.get(_FIFTH):
        raise RowError("is a fifth option; only questions with four can be asked", "E")
    id_ = row.get("id", number)
    check_id(id_)
    answer = row.get("answer")
    text, a, b, c, d = texts
    return Question(id_, text, (a, b, c, d), _answer("" if answer is None else answer, known=False))


def _answer(given: object, *, known: bool) -> str | None:
    letter = letter_of(given)
    if known and not letter:
        raise RowError("is empty, and every question of this split has an answer", "answer")
    return letter or None


def _id(text: str) -> int | str:
    if not text.strip():
        raise RowError("is empty", "id")
    return int(text) if _WHOLE.fullmatch(text) else text


def _is_known(member: Member, layout: Layout) -> bool:
    """Whether every question of the file has an answer."""
    return member.split not in layout.hidden
