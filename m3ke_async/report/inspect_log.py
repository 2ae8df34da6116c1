"""A run as a log of inspect_ai, which its viewer opens and its data frames read.

The form is that of version 2 of its logs: https://inspect.aisi.org.uk/eval-logs.html. A question that is
asked more than once has an epoch an ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from m3ke_async.files import whole_file
from m3ke_async.request import FILTERED, dump_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from m3ke_async.answer import Answer
    from m3ke_async.report.asked import Asked
    from m3ke_async.request import Usage
    from m3ke_async.run import RunResult

_VERSION = 2
_SCORER = "choice"
_STOP_REASONS = {"stop": "stop", "length": "max_tokens", FILTERED: "content_filter"}


def inspect_name(record: Mapping[str, Any]) -> str:
    """The file's name: inspect_ai looks for logs by the time in front."""
    moment = record["written_at"].removesuffix("Z").replace(":", "-")
    return f"{moment}_{_task(record)}_{record['identity']['suite'][:16]}.json"


def write_inspect_log(
    path: Path, asked: Iterable[Asked], *, result: RunResult, record: Mapping[str, Any]
) -> None:
    """Write the log; samples are written one by one.

    Args:
        path: of the file.
        asked: the run's questions with what came of them; those without an answer are left out.
        result: of the run.
        record: the content of run.json.
    """
    model = record["settings"]["model"]
    asks = record["settings"].get("samples") or 1
    header = dump_json(_header(result, record))
    with whole_file(path) as file:
        file.write(header[:-1] + b',"samples":[')
        separator = b""
        for one in asked:
            if one.answer is not None:
                file.write(separator + dump_json(_sample(one, one.answer, model, asks)))
                separator = b",\n"
        file.write(b"]}\n")


def _task(record: Mapping[str, Any]) -> str:
    return f"m3ke-{record['settings']['split']}"


def _header(result: RunResult, record: Mapping[str, Any]) -> dict[str, Any]:
    settings, total = record["settings"], result.scores.total
    model, usage = settings["model"], result.scores.usage
    identity = record["identity"]["suite"]
    return {
        "version": _VERSION,
        "status": "cancelled" if total.incomplete else "success",
        "eval": {
            "created": record["written_at"],
            "eval_id": result.path.name,
            "run_id": result.path.name,
            "task": _task(record),
            "task_id": identity,
            "task_version": settings["template"],
            "dataset": {
                "name": "M3KE" if record["is_m3ke"] else _task(record),
                "location": record["data"],
                "samples": total.asked,
                "shuffled": False,
            },
            "model": model,
            "model_generate_config": _generation(settings),
            "config": {"limit": settings["limit"]},
            "packages": {"m3ke-async": record["versions"]["m3ke-async"]},
            "metadata": {"settings": settings, "identity": record["identity"], "rules": record["rules"]},
            "scorers": [{"name": _SCORER}],
        },
        "plan": {"name": "m3ke-async", "config": _generation(settings)},
        "results": {
            "total_samples": total.asked,
            "completed_samples": total.asked - total.owed,
            "scores": [_score(result)] if total.accuracy is not None else [],
        },
        "stats": {
            "started_at": "",
            "completed_at": record["written_at"],
            "model_usage": {
                model: {
                    "input_tokens": usage.prompt_tokens or 0,
                    "output_tokens": usage.completion_tokens or 0,
                    "total_tokens": (usage.prompt_tokens or 0) + (usage.completion_tokens or 0),
                    "input_tokens_cache_read": usage.cached_tokens,
                    "reasoning_tokens": usage.reasoning_tokens,
                }
            },
        },
    }


def _generation(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"temperature": settings["temperature"], "max_tokens": settings["max_tokens"]}


def _score(result: RunResult) -> dict[str, Any]:
    total, averages = result.scores.total, result.scores.averages
    values = {
        "accuracy": total.accuracy,
        "over_tasks": averages.over_tasks.value,
        "m3ke_average": averages.over_clusters_pooled.value,
    }
    return {
        "name": _SCORER,
        "scorer": _SCORER,
        "scored_samples": total.labelled,
        "unscored_samples": total.asked - total.labelled,
        "metrics": {name: {"name": name, "value": value} for name, value in values.items()},
    }


def _sample(one: Asked, answer: Answer, model: str, asks: int) -> dict[str, Any]:
    item = one.item
    sample: dict[str, Any] = {
        "id": f"{answer.task}/{answer.id}",
        "epoch": 1 + asks * (answer.rotation or 0) + (answer.sample or 0),
        "input": list(item.prompt.messages),
        "choices": list(item.question.options),
        "target": answer.key or "",
        "messages": list(item.prompt.messages),
        "metadata": {
            "subject": item.task.subject,
            "cluster": item.task.cluster,
            "level": item.task.level,
            "outcome": answer.outcome,
            "rule": answer.rule,
            "attempts": answer.attempts,
            "rotation": answer.rotation,
        },
    }
    if answer.reply is None:
        return sample | {"error": {"message": answer.failure or "", "traceback": "", "traceback_ansi": ""}}
    message = {"role": "assistant", "content": _content(answer), "source": "generate", "model": model}
    sample["messages"].append(message)
    sample["output"] = {
        "model": model,
        "choices": [
            {"message": message, "stop_reason": _STOP_REASONS.get(answer.finish_reason or "", "unknown")}
        ],
        "usage": _usage(answer.usage),
        "time": answer.latency,
    }
    if answer.key is not None:
        right = answer.choice == answer.key
        sample["scores"] = {
            _SCORER: {
                "value": "C" if right else "I",
                "answer": answer.choice,
                "explanation": f"{answer.outcome}, rule {answer.rule or 'none'}",
            }
        }
    return sample


def _content(answer: Answer) -> str | list[dict[str, str]]:
    text = answer.reply or ""
    if not answer.reasoning:
        return text
    return [{"type": "reasoning", "reasoning": answer.reasoning}, {"type": "text", "text": text}]


def _usage(usage: Usage) -> dict[str, Any] | None:
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "input_tokens_cache_read": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
