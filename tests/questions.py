"""Small suites of made-up questions, each with a mark that the scripted server knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.server import right

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

OPTIONS = {"A": "第一个词", "B": "第二个词", "C": "第三个词", "D": "第四个词"}


def marks(tasks: int, rows: int) -> list[str]:
    """Marks of a suite, in its order."""
    return [f"Q{task}-{row}" for task in range(tasks) for row in range(rows)]


def row(mark: str, number: int, *, labelled: bool = True) -> dict[str, object]:
    """The question with this mark."""
    text = f"{mark} 下面哪一个词符合题意？"
    return {"id": number, "question": text, **OPTIONS, "answer": right(mark) if labelled else ""}


def task_name(task: int) -> str:
    """Name of a task of the suite."""
    return f"Task {task:02}-Natural Sciences-High school"


def write_suite(
    folder: Path, tasks: int = 1, rows: int = 4, *, split: str = "dev", again: Iterable[str] = ()
) -> Path:
    """Write a suite of `tasks` times `rows` labelled questions.

    Args:
        folder: where to; made where it is missing.
        tasks: number of tasks.
        rows: questions of each.
        split: dev or test.
        again: marks of questions that stand in the last task a second time, under another id.
    """
    (folder / split).mkdir(parents=True, exist_ok=True)
    for task in range(tasks):
        lines = [row(f"Q{task}-{number}", number) for number in range(rows)]
        if task == tasks - 1:
            lines += [row(mark, rows + number) for number, mark in enumerate(again)]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / split / f"{task_name(task)}.jsonl").write_text(text, encoding="utf-8")
    return folder
