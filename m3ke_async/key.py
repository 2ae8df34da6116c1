"""Answer keys from elsewhere: the public test split has none of its own.

A key is joined to the suite by task and id, and where it carries the questions themselves, they
must be the suite's: a key of another copy, or of the other split, would score without any error.
"""

from __future__ import annotations

import csv
import unicodedata
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.errors import DataError
from m3ke_async.manifest import parse_task_name
from m3ke_async.places import user_path
from m3ke_async.suite import LETTERS, Split, load_suite
from m3ke_async.text import counted, normalised, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from m3ke_async.suite import Question, Suite, Task

#: Task, the id as the suite has it, and the right letter.
Key = dict[tuple[str, int | str], str]
_Row = tuple[int, "Mapping[str, Any]"]

_FIELDS = ("task", "id", "answer")
_BOM = b"\xef\xbb\xbf"


def load_key(path: str | Path, suite: Suite, split: Split) -> Key:
    """The right letters that the key gives to questions of the suite.

    Args:
        path: a folder or zip in M3KE's layout, its `test/` or `dev/` folder, or a .jsonl or .csv file
            with task, id and answer. Blank answers are unknown ones.
        suite: what the run asks. The key may cover a part of it, and more than it.
        split: what the run asks.

    Raises:
        DataError: nothing there, a letter that is none of A to D, two answers to one question, an
            answer that is not the suite's own, other questions, or no answer to any question.
    """
    path = user_path(path)
    if not path.exists():
        raise DataError("no such answer key; give a folder, a .jsonl or a .csv file", file=path)
    rows = _TABLES.get(path.suffix.lower()) if path.is_file() else None
    try:
        key = _from_table(path, rows(path), suite, split) if rows else _from_layout(path, suite, split)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from None
    if not key:
        raise DataError(
            f"answers none of the {counted(suite.size(split), f'{split} question')} of the suite in "
            f"{suite.path}; task and id must be the suite's, and answer one of A, B, C, D",
            file=path,
        )
    return key


def _from_layout(path: Path, suite: Suite, split: Split) -> Key:
    folder = path.resolve()
    if folder.name in tuple(Split):
        if folder.name != split:
            raise DataError(f"is a key to {folder.name}, and the run asked {split}; give that one", file=path)
        folder = folder.parent
    given_suite = load_suite(folder, suite.layout.name)
    theirs = {task.name: task for task in given_suite.tasks if split in task.parts}
    key: Key = {}
    for task in suite.tasks:
        if task.name not in theirs or split not in task.parts:
            continue
        given = {str(row.id): row for row in theirs[task.name].questions(split) if row.answer is not None}
        for question in task.questions(split):
            row = given.get(str(question.id))
            if row is None or row.answer is None:
                continue
            if _content(row) != _content(question):
                raise DataError(
                    f"id {question.id} of {task.name} is another question than the suite's; give its own key",
                    file=path,
                )
            _add(key, task, question, row.answer, path)
    return key


def _from_table(path: Path, rows: Iterator[_Row], suite: Suite, split: Split) -> Key:
    letters: dict[tuple[str, str], str] = {}
    for line, row in rows:
        name, id_, answer = (_field(row, field, path, line) for field in _FIELDS)
        letter = unicodedata.normalize("NFKC", answer).strip().upper()
        if not letter:
            continue
        if len(letter) != 1 or letter not in LETTERS:
            raise DataError(
                f"must be one of A, B, C, D, or empty where unknown, not {one_line(answer, limit=40)!r}",
                file=path,
                line=line,
                field="answer",
            )
        place = (_task_name(name), id_.strip())
        if letters.setdefault(place, letter) != letter:
            raise DataError(
                f"a second answer to id {one_line(id_, limit=40)} of {one_line(name, limit=80)},"
                f" {letter} after {letters[place]}; keep the right one",
                file=path,
                line=line,
            )
    key: Key = {}
    named = {name for name, _ in letters}
    for task in suite.tasks:
        if task.name not in named or split not in task.parts:
            continue
        for question in task.questions(split):
            letter = letters.get((task.name, str(question.id)), "")
            if letter:
                _add(key, task, question, letter, path)
    return key


def _add(key: Key, task: Task, question: Question, letter: str, path: Path) -> None:
    if question.answer not in (None, letter):
        raise DataError(
            f"says {letter} to id {question.id} of {task.name}, and the suite itself {question.answer};"
            " leave the answers out that the suite has",
            file=path,
        )
    key[task.name, question.id] = letter


def _content(question: Question) -> tuple[str, ...]:
    """What must be the same, white space and the width of characters apart."""
    return tuple(normalised(text) for text in (question.question, *question.options))


def _task_name(text: str) -> str:
    """The name as a suite has it; a name of another form stays as it is and matches nothing."""
    try:
        return parse_task_name(text.strip().removesuffix(".jsonl")).name
    except DataError:
        return text


def _field(row: Mapping[str, Any], name: str, path: Path, line: int) -> str:
    value = row.get(name)
    if name == "answer" and value is None and name in row:
        return ""
    if isinstance(value, str) or (name == "id" and isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    what = f"cannot be {one_line(repr(value), limit=40)}" if name in row else "is missing"
    raise DataError(f"{what}; a key has task, id and answer in every row", file=path, line=line, field=name)


def _jsonl(path: Path) -> Iterator[_Row]:
    with path.open("rb") as file:
        for line, text in enumerate(file, 1):
            if line == 1:
                text = text.removeprefix(_BOM)  # noqa: PLW2901
            if not text.strip():
                continue
            try:
                row = orjson.loads(text)
            except orjson.JSONDecodeError as error:
                raise DataError(f"is not JSON: {error.msg}", file=path, line=line) from None
            if not isinstance(row, dict):
                raise DataError("is not a JSON object with task, id and answer", file=path, line=line)
            yield line, {name.strip().lower(): value for name, value in row.items()}


def _csv(path: Path) -> Iterator[_Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        try:
            header = [name.strip().lower() for name in next(reader, [])]
            for name in _FIELDS:
                if name not in header:
                    raise DataError("is missing in the header", file=path, line=1, field=name)
            for row in reader:
                if any(row):
                    yield reader.line_num, dict(zip(header, row, strict=False))
        except UnicodeDecodeError:
            raise DataError("is not UTF-8; save it as CSV UTF-8", file=path) from None
        except csv.Error as error:
            raise DataError(f"is not CSV: {error}", file=path, line=reader.line_num) from None


_TABLES: dict[str, Callable[[Path], Iterator[_Row]]] = {".jsonl": _jsonl, ".csv": _csv}
