"""Proof, before the first question, that a server does what the answer mode needs.

Servers drop fields that they do not know without a word: newer vLLM the old `guided_choice`, SGLang the
new one. So a task is set whose free answer is a sentence, and only a letter proves that it was held.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3ke_async.breaker import State
from m3ke_async.errors import M3keError, StoppedError
from m3ke_async.manner import AnswerMode
from m3ke_async.suite import Question
from m3ke_async.wire.constraint import held_letter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from m3ke_async.endpoint import Endpoint
    from m3ke_async.evaluation import Evaluation
    from m3ke_async.prompt import Message
    from m3ke_async.request import ChatRequest, Reply

    #: Ask one endpoint, with all patience of a run.
    Send = Callable[[Endpoint, ChatRequest], Awaitable[Reply]]

#: Stands where a question of the run would.
NO_QUESTION = Question("proof", "", ("", "", "", ""), None)

_TASK: tuple[Message, ...] = ({"role": "user", "content": "请用一句话介绍长城。"},)


class RefusedError(M3keError):
    """The server does not take the request of a proof."""


async def prove(evaluation: Evaluation, endpoints: Sequence[Endpoint], send: Send) -> Evaluation:
    """The evaluation with what is proven to work at every endpoint.

    Args:
        evaluation: what is to be asked.
        endpoints: those that were left out are not looked at.
        send: asks one of them; raises RefusedError where it does not take the request.

    Raises:
        StoppedError: no way works.
    """
    asked = [endpoint for endpoint in endpoints if endpoint.breaker.state is not State.FATAL]
    match evaluation.settings.answer:
        case AnswerMode.LOGPROBS:
            for endpoint in asked:
                await _prove_probabilities(evaluation, endpoint, send)
            return evaluation
        case AnswerMode.CONSTRAINED:
            return await _prove_constraint(evaluation, asked, send)
        case _:
            return evaluation


async def _prove_probabilities(evaluation: Evaluation, endpoint: Endpoint, send: Send) -> None:
    place = endpoint.address.public
    try:
        reply = await send(endpoint, _request(evaluation))
    except RefusedError as refusal:
        raise StoppedError(f"{place} refuses --answer logprobs ({refusal}); give --answer text") from None
    if reply.letters is None:
        raise StoppedError(
            f"{place} gives no probabilities of the tokens that might stand at a place (top_logprobs), "
            "which --answer logprobs needs; give --answer text or constrained"
        )


async def _prove_constraint(evaluation: Evaluation, asked: Sequence[Endpoint], send: Send) -> Evaluation:
    failures: list[str] = []
    for constraint in evaluation.constraints:
        tried = replace(evaluation, constraint=constraint)
        for endpoint in asked:
            failure = await _failure(tried, endpoint, send)
            if failure is not None:
                failures.append(f"{constraint} {failure}")
                break
        else:
            return tried
    raise StoppedError(
        f"no constraint takes effect at {asked[0].address.public}: {'; '.join(failures)}; give --answer text"
    )


async def _failure(evaluation: Evaluation, endpoint: Endpoint, send: Send) -> str | None:
    """Why a constraint is not proven at an endpoint; None where it is."""
    try:
        reply = await send(endpoint, _request(evaluation))
    except RefusedError as refusal:
        return f"is refused ({refusal})"
    if held_letter(reply.text) is not None:
        return None
    return "is ignored" if reply.text.strip() else "leaves no text, so --max-tokens may be too small"


def _request(evaluation: Evaluation) -> ChatRequest:
    return evaluation.request(evaluation.wanted(examples=False), _TASK)
