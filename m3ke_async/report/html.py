"""report.html: one file that opens from disk, asks the network for nothing, and shows model text as text.

The numbers stand in it as they are in scores.json and run.json; the questions follow in compressed
blocks, which the page reads when it is painted.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from m3ke_async.extraction.table import RULES
from m3ke_async.files import whole_file
from m3ke_async.report.page import PAGE_END, page_head
from m3ke_async.report.shorten import shorten
from m3ke_async.request import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from m3ke_async.answer import Answer
    from m3ke_async.published import PublishedTable
    from m3ke_async.report.asked import Asked
    from m3ke_async.score import Scores

_SCRIPTS = ("words.js", "dom.js", "charts.js", "questions.js", "report.js")
#: Questions of one block: opening a question unpacks the prompts of as many.
_BLOCK = 500
#: Fields of an answer that the page shows.
_SHOWN = (
    "id",
    "rotation",
    "sample",
    "outcome",
    "choice",
    "rule",
    "span",
    "key",
    "reply",
    "reasoning",
    "finish_reason",
    "latency",
    "attempts",
    "failure",
)
_MISSING = dict.fromkeys(_SHOWN) | {"outcome": "missing"}


def write_html(
    path: Path,
    asked: Iterable[Asked],
    *,
    scores: Scores,
    record: Mapping[str, Any],
    published: PublishedTable | None,
    cost: str | None,
    room: int | None = None,
) -> None:
    """Write the page, whole; questions are taken one block at a time.

    Args:
        path: of the file.
        asked: the run's questions with what came of them.
        scores: the run's.
        record: the content of run.json.
        published: the table to stand beside the run; None for other suites than M3KE.
        cost: of the run with its currency and basis; None where no price is known.
        room: characters of each reply with its reasoning, as of `shorten`; None for all.
    """
    tasks = [task.name for task in scores.tasks.values() if task.asked]
    summary = {
        "scores": scores.to_json(),
        "run": dict(record),
        "published": _published(published) if published is not None else None,
        "cost": cost,
        "tasks": tasks,
        "rules": {rule.name: rule.catches for rule in RULES},
    }
    places = {name: place for place, name in enumerate(tasks)}
    with whole_file(path) as file:
        file.write(page_head(summary, _SCRIPTS))
        rows = iter(asked)
        while block := list(islice(rows, _BLOCK)):
            file.write(_packed("questions", [_question(one, places, room) for one in block]))
            file.write(_packed("prompts", [one.item.prompt.messages for one in block]))
        file.write(PAGE_END)


def _published(table: PublishedTable) -> dict[str, Any]:
    rows = [
        asdict(row) | {"clusters": {str(cluster): share for cluster, share in row.clusters.items()}}
        for row in table.rows
    ]
    return asdict(table) | {"rows": rows}


def _question(one: Asked, places: Mapping[str, int], room: int | None) -> dict[str, Any]:
    question, answer = one.item.question, one.answer
    given = _MISSING | {
        "id": question.id,
        "key": question.answer,
        "rotation": one.item.rotation,
        "sample": one.item.sample,
    }
    if answer is not None:
        given = {name: getattr(answer, name) for name in _SHOWN} | _texts(answer, room)
    return {
        "task": places[one.item.task.name],
        "question": question.question,
        "options": question.options,
        "at": one.received_at,
        **given,
    }


def _texts(answer: Answer, room: int | None) -> dict[str, Any]:
    """Reply, place of the choice and reasoning as far as there is room, and how much is left out."""
    half = room if room is None or not answer.reasoning else room // 2
    reply = shorten(answer.reply or "", answer.span, half)
    thought = shorten(answer.reasoning or "", None, half)
    return {
        "reply": None if answer.reply is None else reply.text,
        "span": reply.span,
        "reply_left_out": reply.left_out,
        "reasoning": thought.text,
        "reasoning_left_out": thought.left_out,
    }


def _packed(kind: str, value: Any) -> bytes:
    """A script element of a type that no browser runs; base64 has no character that could end it."""
    packed = b64encode(zlib.compress(dump_json(value)))
    return b'<script type="text/plain" class="%b">%b</script>\n' % (kind.encode(), packed)
