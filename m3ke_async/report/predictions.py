"""A run's choices in M3KE's own layout: the suite's rows with `answer` filled in."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from m3ke_async.errors import DataError
from m3ke_async.suite import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from m3ke_async.suite import Question, Split, Suite, Task


def write_predictions(
    folder: Path, suite: Suite, split: Split, letters: Iterable[tuple[str, int | str, str | None]]
) -> int:
    """Write `<task>.jsonl` for every task of the suite; each file appears whole or not at all.

    Rows, their order and their texts are the suite's; `answer` is the chosen letter, '' where there is none.

    Args:
        folder: made where it is not there; files of the same names are replaced.
        suite: what the run asks.
        split: what the run asks.
        letters: task, id and letter; read once, a task's lines side by side, in any order else.

    Returns:
        How many questions got a letter.

    Raises:
        DataError: where a line belongs to no question of the suite, or a task comes twice.
    """
    tasks = {task.name: task for task in suite.tasks if split in task.sizes}
    filled = 0
    folder.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".predictions-", dir=folder.parent))
    try:
        for name, lines in groupby(letters, itemgetter(0)):
            task = tasks.pop(name, None)
            if task is None:
                raise DataError(f"predictions for {name}, which the run does not ask, or which came before")
            chosen = {id_: letter for _, id_, letter in lines}
            filled += _write_task(beside, task, split, chosen)
        for task in tasks.values():
            _write_task(beside, task, split, {})
        for file in sorted(beside.iterdir()):
            file.replace(folder / file.name)
    finally:
        shutil.rmtree(beside)
    return filled


def _write_task(folder: Path, task: Task, split: Split, chosen: Mapping[int | str, str | None]) -> int:
    if Path(task.name).name != task.name:
        raise DataError(f"the task name {task.name!r} cannot be a file name; rename the task")
    found = filled = 0
    # as UTF-8 whatever the locale, like the suite's own files
    with (folder / os.fsdecode(f"{task.name}.jsonl".encode())).open("wb") as file:
        for question in task.questions(split):
            found += question.id in chosen
            letter = chosen.get(question.id)
            filled += letter is not None
            file.write(_row(question, letter or ""))
    if found != len(chosen):
        raise DataError(f"{len(chosen) - found} predictions belong to no {split} question of {task.name}")
    return filled


def _row(question: Question, letter: str) -> bytes:
    """One line, byte for byte as M3KE has it; texts that UTF-8 cannot hold are escaped."""
    options = dict(zip(LETTERS, question.options, strict=True))
    row = {"id": question.id, "question": question.question, **options, "answer": letter}
    try:
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row).encode() + b"\n"
