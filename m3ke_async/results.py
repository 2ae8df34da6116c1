"""Stored replies to result files: answers, scores, predictions. Offline, and the same every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from m3ke_async.answer import Answer, read_answers
from m3ke_async.choice import Choice, extract_choice
from m3ke_async.errors import DataError
from m3ke_async.files import whole_file, write_json
from m3ke_async.report.predictions import write_predictions
from m3ke_async.request import Outcome, Reply, dump_json
from m3ke_async.score import score
from m3ke_async.suite import Split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from m3ke_async.evaluation import Evaluation, Item
    from m3ke_async.rundir import RunDir
    from m3ke_async.score import Scores
    from m3ke_async.store import ReplyStore
    from m3ke_async.suite import Question


def choose(question: Question, reply: Reply) -> Choice:
    """What a reply chooses, by the outcome of the provider where that decides."""
    if reply.filtered:
        return Choice(None, Outcome.FILTERED)
    if reply.refusal:
        return Choice(None, Outcome.REFUSED)
    return extract_choice(
        reply.text,
        options=question.option_map,
        question=question.question,
        finish_reason=reply.finish_reason,
        reasoning=reply.reasoning,
    )


def write_results(
    evaluation: Evaluation,
    store: ReplyStore | None,
    run: RunDir,
    *,
    key: Mapping[tuple[str, int | str], str] | None = None,
    tick: Callable[[int], None] = lambda done: None,
) -> Scores:
    """Write answers.jsonl, scores.json and, for the test split, predictions/.

    Args:
        evaluation: what was asked.
        store: the replies; None reads them from the run's own answers.jsonl, for a run
            that was copied without its store.
        run: where to write.
        key: right letters by task and id, which go before the suite's own.
        tick: told the number of questions done.

    Raises:
        DataError: without a store, a question of the suite is not in answers.jsonl.
    """
    source = _from_store(store) if store is not None else _from_answers(run)
    split = evaluation.settings.split
    with whole_file(run.answers) as file:

        def written() -> Iterator[Answer]:
            for done, answer in enumerate(_answers(evaluation, source, key), 1):
                file.write(dump_json(answer.to_json()) + b"\n")
                tick(done)
                yield answer

        scores = score(
            evaluation.whole.tasks,
            written(),
            split=split,
            selected={task.name for task in evaluation.suite.tasks},
            limit=evaluation.settings.limit,
        )
    write_json(run.scores, scores.to_json())
    if split is Split.TEST:
        with run.answers.open("rb") as lines:
            rows = map(orjson.loads, lines)  # written a moment ago: nothing to check
            letters = ((row["task"], row["id"], row["choice"]) for row in rows)
            write_predictions(run.path / "predictions", evaluation.suite, split, letters)
    return scores


def _answers(
    evaluation: Evaluation,
    source: Callable[[Item], Reply | str | None],
    key: Mapping[tuple[str, int | str], str] | None,
) -> Iterator[Answer]:
    """One answer a question that has a reply or has failed, in the suite's order."""
    for task in evaluation.suite.tasks:
        for item in evaluation.items(task):
            found = source(item)
            if found is not None:
                yield _answer(item, evaluation.settings.split, found, key)


def _answer(
    item: Item, split: Split, found: Reply | str, key: Mapping[tuple[str, int | str], str] | None
) -> Answer:
    question, task = item.question, item.task.name
    known = question.answer if key is None else key.get((task, question.id), question.answer)
    request = item.request.key.hex()
    if isinstance(found, str):
        return Answer(task, split, question.id, request, Outcome.FAILED, key=known, failure=found, attempts=0)
    choice = choose(question, found)
    return Answer(
        task=task,
        split=split,
        id=question.id,
        request=request,
        outcome=choice.outcome,
        choice=choice.letter,
        rule=choice.rule,
        span=choice.span,
        key=known,
        reply=found.text,
        reasoning=found.reasoning,
        finish_reason=found.finish_reason,
        usage=found.usage,
        latency=round(found.latency, 6),
        attempts=found.attempts,
    )


def _from_store(store: ReplyStore) -> Callable[[Item], Reply | str | None]:
    def find(item: Item) -> Reply | str | None:
        reply = store.get(item.request.key)
        if reply is not None:
            return reply
        failure = store.get_failure(item.request.key)
        return None if failure is None else f"{failure.kind}: {failure.message}"

    return find


def _from_answers(run: RunDir) -> Callable[[Item], Reply | str | None]:
    """The replies of the run's own file, matched by the hash of what was asked."""
    known: dict[str, Reply | str] = {}
    for answer in read_answers(run.answers):
        if answer.reply is None:
            known[answer.request] = answer.failure or "unknown"
        else:
            known[answer.request] = Reply(
                text=answer.reply,
                reasoning=answer.reasoning,
                finish_reason=answer.finish_reason,
                refusal=answer.outcome is Outcome.REFUSED and answer.rule is None,
                usage=answer.usage,
                latency=answer.latency or 0.0,
                attempts=answer.attempts,
            )
    used = 0

    def find(item: Item) -> Reply | str | None:
        nonlocal used
        found = known.get(item.request.key.hex())
        used += found is not None
        if found is None and not used:
            raise DataError(
                "holds no reply to the questions of this suite, and the store is gone; give the right --data",
                file=run.answers,
            )
        return found

    return find
