"""A run as the results of lm-evaluation-harness, which dashboards read and its own tables print.

The form is that of its `results_<time>.json`: https://github.com/EleutherAI/lm-evaluation-harness. Tasks are
grouped by cluster, and the clusters under the run; a group's accuracy pools its questions.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

from m3ke_async.files import write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from m3ke_async.run import RunResult
    from m3ke_async.statistics import Counts, TaskScore

#: lm-evaluation-harness' word for an error that cannot be told.
_UNKNOWN = "N/A"


def lm_eval_name(record: Mapping[str, Any]) -> str:
    """The file's name, as lm-evaluation-harness gives it."""
    return f"results_{record['written_at'].removesuffix('Z').replace(':', '-')}.json"


def write_lm_eval_results(path: Path, result: RunResult, record: Mapping[str, Any]) -> None:
    """Write the results; a run without labels has the share of answered questions and no accuracy.

    Args:
        path: of the file.
        result: of the run.
        record: the content of run.json.
    """
    settings, scores = record["settings"], result.scores
    tasks = [task for task in scores.tasks.values() if task.asked]
    whole = f"{scores.taxonomy.name}_{scores.split}"
    clusters = {
        f"{whole}: {cluster}": [task for task in tasks if task.cluster == cluster]
        for cluster in scores.clusters
    }
    clusters = {name: members for name, members in clusters.items() if members}
    groups = {whole: _group(scores.total, tasks)} | {
        name: _group(scores.clusters[members[0].cluster or ""], members) for name, members in clusters.items()
    }
    names = [*(task.name for task in tasks), *groups]
    generation = {"temperature": settings["temperature"], "max_gen_toks": settings["max_tokens"]}
    write_json(
        path,
        {
            "results": {task.name: _metrics(task, _stderr(task)) for task in tasks} | groups,
            "groups": groups,
            "group_subtasks": {whole: list(clusters)}
            | {name: [task.name for task in members] for name, members in clusters.items()},
            "configs": {task.name: _config(task, settings, generation) for task in tasks},
            "versions": dict.fromkeys(names, settings["template"]),
            "n-shot": dict.fromkeys(names, result.scores.shots(settings["shots"])),
            "higher_is_better": {name: {"acc": True, "answered": True} for name in names},
            "n-samples": {task.name: {"original": task.size, "effective": task.asked} for task in tasks},
            "config": {
                "model": record["provider"],
                "model_args": {"model": record["model"], "base_url": record["identity"]["address"]},
                "limit": settings["limit"],
                "gen_kwargs": generation,
            },
            "date": datetime.fromisoformat(record["written_at"]).timestamp(),
            "model_source": record["provider"],
            "model_name": record["model"],
            "system_instruction": settings["system"],
            "total_evaluation_time_seconds": str(result.ledger.seconds),
        },
    )


def _config(task: TaskScore, settings: Mapping[str, Any], generation: dict[str, Any]) -> dict[str, Any]:
    return {
        "task": task.name,
        "tag": [str(group) for group in (task.cluster, task.level) if group],
        "output_type": "generate_until",
        "num_fewshot": settings["shots"],
        "generation_kwargs": generation,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"version": settings["template"]},
    }


def _metrics(counts: Counts, stderr: float | None) -> dict[str, Any]:
    metrics = {"alias": counts.name, "answered,none": counts.answered / counts.asked}
    if counts.accuracy is not None:
        metrics |= {
            "acc,none": counts.accuracy,
            "acc_stderr,none": _UNKNOWN if stderr is None else stderr,
        }
    return metrics


def _stderr(counts: Counts) -> float | None:
    """Standard error of a mean, with the sample's own deviation; None for fewer than two questions."""
    accuracy, n = counts.accuracy, counts.labelled
    return None if accuracy is None or n < 2 else math.sqrt(accuracy * (1 - accuracy) / (n - 1))


def _group(counts: Counts, tasks: Iterable[TaskScore]) -> dict[str, Any]:
    return _metrics(counts, _pooled_stderr(list(tasks)))


def _pooled_stderr(tasks: list[TaskScore]) -> float | None:
    """The standard error of a mean over all tasks' questions, by their pooled variance within tasks."""
    labelled = [task for task in tasks if task.labelled]
    errors = [_stderr(task) for task in labelled]
    n = sum(task.labelled for task in labelled)
    if not labelled or n == len(labelled) or None in errors:
        return None
    squares = sum(
        (task.labelled - 1) * task.labelled * (error or 0.0) ** 2
        for task, error in zip(labelled, errors, strict=True)
    )
    return math.sqrt(squares / (n - len(labelled)) / n)
