"""A run's answers as columns: for data frames, Parquet and CSV."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from m3ke_async.answer import read_answers
from m3ke_async.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from m3ke_async.answer import Answer
    from m3ke_async.score import Scores
    from m3ke_async.statistics import TaskScore

#: The columns in order, and the type of their values, of which each may be missing.
COLUMNS: dict[str, type] = {
    "task": str,
    "subject": str,
    "cluster": str,
    "level": str,
    "split": str,
    "id": str,
    "rotation": int,
    "sample": int,
    "outcome": str,
    "choice": str,
    "key": str,
    "correct": bool,
    "rule": str,
    "finish_reason": str,
    "prompt_tokens": int,
    "completion_tokens": int,
    "cached_tokens": int,
    "reasoning_tokens": int,
    "latency": float,
    "attempts": int,
    "failure": str,
    "reply": str,
    "reasoning": str,
    "request": str,
}


def read_rows(answers: Path, scores: Scores, warn: Callable[[str], None]) -> Iterator[tuple[Any, ...]]:
    """A row of values in the order of `COLUMNS` for each line of answers.jsonl.

    Args:
        answers: the file.
        scores: of the same run, which know where its tasks belong.
        warn: is told of lines that cannot be read, which are left out.

    Raises:
        DataError: an answer belongs to no task of the scores.
    """
    for answer in read_answers(answers, warn):
        if answer.task not in scores.tasks:
            raise DataError(
                f"{answer.task} is not in scores.json; write both again: m3ke score RUN", file=answers
            )
        yield tuple(_row(answer, scores.tasks[answer.task]).values())


def _row(answer: Answer, task: TaskScore) -> dict[str, Any]:
    usage = answer.usage
    return {
        "task": answer.task,
        "subject": task.subject,
        "cluster": task.cluster and str(task.cluster),
        "level": task.level and str(task.level),
        "split": answer.split.value,
        "id": str(answer.id),
        "rotation": answer.rotation,
        "sample": answer.sample,
        "outcome": answer.outcome.value,
        "choice": answer.choice,
        "key": answer.key,
        "correct": None if answer.key is None else answer.choice == answer.key,
        "rule": answer.rule,
        "finish_reason": answer.finish_reason,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "latency": answer.latency,
        "attempts": answer.attempts,
        "failure": answer.failure,
        "reply": answer.reply,
        "reasoning": answer.reasoning,
        "request": answer.request,
    }


def answers_frame(answers: Path, scores: Scores) -> Any:
    """The answers as a `polars.DataFrame`, or a `pandas.DataFrame` where only pandas is installed.

    Args:
        answers: path of an answers.jsonl.
        scores: as of `read_rows`.

    Raises:
        UsageError: neither is installed, or a line cannot be read.
    """
    if find_spec("polars"):
        return polars_frame(answers, scores, _refuse)
    if find_spec("pandas"):
        return pandas_frame(answers, scores, _refuse)
    raise UsageError("a data frame needs polars or pandas: pip install polars")


def _refuse(line: str) -> None:
    """A frame that lacks a question without a word would be worse than none."""
    raise DataError(f"{line}; write it again: m3ke score RUN")


def polars_frame(answers: Path, scores: Scores, warn: Callable[[str], None]) -> Any:
    """The answers as a `polars.DataFrame`."""
    import polars as pl

    kinds = {str: pl.String, bool: pl.Boolean, int: pl.Int64, float: pl.Float64}
    schema = {name: kinds[kind] for name, kind in COLUMNS.items()}
    return pl.DataFrame(list(read_rows(answers, scores, warn)), schema=schema, orient="row")


def pandas_frame(answers: Path, scores: Scores, warn: Callable[[str], None]) -> Any:
    """The answers as a `pandas.DataFrame` with types that can be missing."""
    import pandas as pd

    kinds = {str: "string", bool: "boolean", int: "Int64", float: "Float64"}
    frame = pd.DataFrame(list(read_rows(answers, scores, warn)), columns=list(COLUMNS))
    return frame.astype({name: kinds[kind] for name, kind in COLUMNS.items()})
