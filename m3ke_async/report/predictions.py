"""A run's choices in M3KE's own layout: the suite's rows with `answer` filled in."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from m3ke_async.errors import DataError
from m3ke_async.suite import LETTERS
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from m3ke_async.suite import Question, Split, Task

#: Takes the letters of a task by id; None where a question has none.
WriteLetters: TypeAlias = "Callable[[Task, Mapping[int | str, str | None]], None]"

#: M3KE's files were written with these spaces and without escapes.
_JSON = json.JSONEncoder(ensure_ascii=False)


@contextmanager
def predictions(folder: Path, split: Split) -> Iterator[WriteLetters]:
    """Write `<task>.jsonl` for every task that is given; the files appear whole when the block ends well.

    Rows, their order and their texts are the suite's; `answer` is the chosen letter, '' where there is none.
    What is yielded raises a DataError where a letter belongs to no question of its task.

    Args:
        folder: made where it is not there; files of the same names are replaced.
        split: what the run asks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".predictions-", dir=folder.parent))
    try:
        yield lambda task, letters: _write_task(beside, task, split, letters)
        for file in sorted(beside.iterdir()):
            file.replace(folder / file.name)
    finally:
        shutil.rmtree(beside)


def _write_task(folder: Path, task: Task, split: Split, letters: Mapping[int | str, str | None]) -> None:
    if Path(task.name).name != task.name:
        raise DataError(f"the task name {task.name!r} cannot be a file name; rename the task")
    found = 0
    # as UTF-8 whatever the locale, like the suite's own files
    with (folder / os.fsdecode(f"{task.name}.jsonl".encode())).open("wb") as file:
        for question in task.questions(split):
            found += question.id in letters
            file.write(_row(question, letters.get(question.id) or ""))
    if found != len(letters):
        strangers = counted(len(letters) - found, "prediction belongs", "predictions belong")
        raise DataError(f"{strangers} to no {split} question of {task.name}")


def _row(question: Question, letter: str) -> bytes:
    """One line, byte for byte as M3KE has it; texts that UTF-8 cannot hold are escaped."""
    options = dict(zip(LETTERS, question.options, strict=True))
    row = {"id": question.id, "question": question.question, **options, "answer": letter}
    try:
        return _JSON.encode(row).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row).encode() + b"\n"
