"""Suites of a few made-up questions in M3KE's layout, for tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from m3ke_async.suite import load_suite

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.suite import Task

COOKING = "Cooking-Other-Other"
ALGEBRA = "Algebra-Natural Sciences-High school"


def row(id_: int | str, question: str, answer: str = "", **options: str) -> dict[str, Any]:
    """A whole row; the options are 甲 to 丁 unless told otherwise."""
    texts = {"A": "甲", "B": "乙", "C": "丙", "D": "丁"} | options
    return {"id": id_, "question": question, **texts, "answer": answer}


def write_split(folder: Path, split: str, task: str, rows: list[dict[str, Any]]) -> Path:
    """Put one file into a suite's folder, and return the folder."""
    file = folder / split / f"{task}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)
    file.write_bytes(text.encode("utf-8", "backslashreplace"))
    return folder


def write_suite(folder: Path, *, tasks: tuple[str, ...] = (ALGEBRA, COOKING), test: int = 3) -> Path:
    """Five labelled dev rows and `test` unlabelled test rows a task."""
    for task in tasks:
        subject = task.partition("-")[0]
        dev = [row(n, f"{subject}例题{n}？", "ABCDA"[n]) for n in range(5)]
        write_split(folder, "dev", task, dev)
        if test:
            write_split(folder, "test", task, [row(n, f"{subject}考题{n}？") for n in range(test)])
    return folder


def only_task(folder: Path) -> Task:
    """The single task of a suite."""
    (task,) = load_suite(folder).tasks
    return task
