"""Stored replies to result files: answers, scores, predictions. Offline, and the same every time."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING

from m3ke_async.answer import Answer
from m3ke_async.choice import Choice, extract_choice
from m3ke_async.diagnostics import Diagnosis
from m3ke_async.files import whole_file, write_json
from m3ke_async.manner import AnswerMode
from m3ke_async.repeats import majority
from m3ke_async.report.predictions import predictions
from m3ke_async.report.submission import submission
from m3ke_async.request import Outcome, dump_json
from m3ke_async.rotation import own_letter
from m3ke_async.score import score
from m3ke_async.store import Failure
from m3ke_async.suite import Split
from m3ke_async.wire.constraint import held_letter
from m3ke_async.wire.letters import most_likely

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from m3ke_async.evaluation import Evaluation, Item
    from m3ke_async.replies import Find
    from m3ke_async.report.predictions import WriteLetters
    from m3ke_async.request import Reply
    from m3ke_async.rundir import RunDir
    from m3ke_async.score import Scores
    from m3ke_async.settings import RunSettings
    from m3ke_async.suite import Question, Task


#: Outcomes whose replies are worth reading: a letter may be there that no rule finds.
_UNCLEAR = (Outcome.UNPARSED, Outcome.AMBIGUOUS)


def choose(question: Question, reply: Reply, settings: RunSettings) -> Choice:
    """What a reply chooses, by the outcome of the provider where that decides."""
    if reply.filtered:
        return Choice(None, Outcome.FILTERED)
    if reply.refusal:
        return Choice(None, Outcome.REFUSED)
    match settings.answer:
        case AnswerMode.LOGPROBS:
            return _likeliest(reply)
        case AnswerMode.CONSTRAINED:
            return _held(reply)
    return extract_choice(
        reply.text,
        options=question.option_map,
        question=question.question,
        finish_reason=reply.finish_reason,
        reasoning=reply.reasoning,
        policy=settings.policy,
    )


def _likeliest(reply: Reply) -> Choice:
    """The letter with the highest probability; none where no letter is among the likely tokens."""
    letter = most_likely(reply.letters) if reply.letters is not None else None
    return Choice(letter, Outcome.ANSWERED if letter else Outcome.UNPARSED, "logprobs" if letter else None)


def _held(reply: Reply) -> Choice:
    """The letter that a constraint left; a reply of any other form was not held to it."""
    found = held_letter(reply.text)
    if found is not None:
        return Choice(found[0], Outcome.ANSWERED, "constrained", found[1])
    return Choice(None, Outcome.TRUNCATED if reply.finish_reason == "length" else Outcome.UNPARSED)


def write_results(
    evaluation: Evaluation,
    find: Find,
    run: RunDir,
    *,
    key: Mapping[tuple[str, int | str], str] | None = None,
) -> Scores:
    """Write answers.jsonl, unclear.jsonl, failed.jsonl, scores.json and, for the test split, predictions/.

    Of a split whose answers its authors keep, submission.json as well, where they take one.

    Args:
        evaluation: what was asked.
        find: the reply to a request.
        run: where to write.
        key: right letters by task and id, which go before the suite's own.
    """
    split, diagnosis, asks = evaluation.settings.split, Diagnosis(), len(evaluation.variants)
    run.path.mkdir(parents=True, exist_ok=True)  # it may have been removed while questions were asked
    with (
        whole_file(run.answers) as file,
        whole_file(run.unclear) as unclear,
        whole_file(run.failed) as failed,
        _letter_files(evaluation, run) as write_letters,
    ):

        def written(task: Task) -> Iterator[Answer]:
            letters: dict[int | str, str | None] = {}
            for id_, asked in groupby(_found(evaluation, task, find), lambda pair: pair[0].question.id):
                choices = []
                for item, found in asked:
                    answer = make_answer(evaluation.settings, item, found, key)
                    choices.append((answer.outcome, answer.choice))
                    diagnosis.add_prompt(item.prompt.shots)
                    if not isinstance(found, Failure):
                        diagnosis.add_reply(found.model, found.fingerprint, found.letters)
                    line = dump_json(answer.to_json()) + b"\n"
                    file.write(line)
                    if answer.outcome in _UNCLEAR:
                        unclear.write(line)
                    elif answer.outcome is Outcome.FAILED:
                        failed.write(line)
                    yield answer
                letter = letters[id_] = _letter(choices, asks)
                if letter is not None:
                    diagnosis.add_choice(item.question, letter, answer.key)
            write_letters(task, letters)

        scores = score(
            evaluation.whole.tasks,
            chain.from_iterable(map(written, evaluation.suite.tasks)),
            split=split,
            selected={task.name for task in evaluation.suite.tasks},
            limit=evaluation.settings.limit,
            taxonomy=evaluation.whole.layout.taxonomy,
            rotate=evaluation.settings.rotate,
            samples=evaluation.settings.samples,
            shard=evaluation.settings.shard,
            left_out=evaluation.left_out,
        )
    scores = replace(scores, diagnostics=diagnosis.found())
    write_json(run.scores, scores.to_json())
    return scores


@contextmanager
def _letter_files(evaluation: Evaluation, run: RunDir) -> Iterator[WriteLetters]:
    """The files that hold nothing but letters, as far as the split has such."""
    split = evaluation.settings.split
    with ExitStack() as files:
        kept: list[WriteLetters] = []
        if split is Split.TEST:
            kept.append(files.enter_context(predictions(run.predictions, split)))
        if evaluation.whole.layout.takes_submission(split):
            kept.append(files.enter_context(submission(run.submission)))

        def write_letters(task: Task, letters: Mapping[int | str, str | None]) -> None:
            for write in kept if split in task.sizes else ():
                write(task, letters)

        yield write_letters


def _letter(choices: Sequence[tuple[Outcome, str | None]], asks: int) -> str | None:
    """What the asks of a question chose; None while one of them is missing."""
    return majority(choices)[1] if len(choices) == asks else None


def make_answers(
    evaluation: Evaluation,
    find: Find,
    key: Mapping[tuple[str, int | str], str] | None = None,
) -> Iterator[Answer]:
    """One answer a question that has a reply or has failed, in the suite's order."""
    for task in evaluation.suite.tasks:
        for item, found in _found(evaluation, task, find):
            yield make_answer(evaluation.settings, item, found, key)


def _found(evaluation: Evaluation, task: Task, find: Find) -> Iterator[tuple[Item, Reply | Failure]]:
    """What was asked of a task and has a reply or has failed, in the suite's order."""
    for item in evaluation.items(task):
        found = find(item.request.key)
        if found is not None:
            yield item, found


def make_answer(
    settings: RunSettings,
    item: Item,
    found: Reply | Failure,
    key: Mapping[tuple[str, int | str], str] | None = None,
) -> Answer:
    """The answer to what was asked; `key` as of `write_results`."""
    split = settings.split
    question, task = item.question, item.task.name
    known = question.answer if key is None else key.get((task, question.id), question.answer)
    make = partial(
        Answer,
        task,
        split,
        question.id,
        item.request.key.hex(),
        key=known,
        attempts=found.attempts,
        rotation=item.rotation,
        sample=item.sample,
    )
    if isinstance(found, Failure):
        return make(Outcome.FAILED, failure=f"{found.kind}: {found.message}")
    choice = choose(item.shown, found, settings)
    return make(
        choice.outcome,
        choice=choice.letter and own_letter(choice.letter, item.rotation or 0),
        rule=choice.rule,
        span=choice.span,
        reply=found.text,
        reasoning=found.reasoning,
        finish_reason=found.finish_reason,
        usage=found.usage,
        latency=None if found.latency is None else round(found.latency, 6),
        letters=found.letters,
    )
