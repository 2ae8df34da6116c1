"""One question to an endpoint: whether key, address and model work, and what the server tells."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.adaptation import REFUSALS, find_change
from m3ke_async.breaker import State
from m3ke_async.connect import connect
from m3ke_async.ending import ending_line, ending_of, today
from m3ke_async.endpoint import NOTHING_THERE
from m3ke_async.error_body import read_body
from m3ke_async.errors import IncompleteError, M3keError, StoppedError
from m3ke_async.faults import Action, decide
from m3ke_async.preflight import preflight
from m3ke_async.proof import RefusedError, prove
from m3ke_async.providers import load_profile, parse_model
from m3ke_async.rate_headers import NOTHING, observed_limits
from m3ke_async.request import Outcome, Reply, canonical_body
from m3ke_async.results import choose
from m3ke_async.rules import Kind
from m3ke_async.scrub import scrub_all
from m3ke_async.text import counted, one_line
from m3ke_async.wire.letters import letter_shares

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from m3ke_async.adaptation import Change
    from m3ke_async.endpoint import Endpoint
    from m3ke_async.evaluation import Evaluation, Item
    from m3ke_async.faults import Decision
    from m3ke_async.preflight import Look
    from m3ke_async.profile import EndedModel, Profile
    from m3ke_async.progress import Display
    from m3ke_async.rate_headers import Limits
    from m3ke_async.request import ChatRequest
    from m3ke_async.target import NoKeyError, Target


@dataclass(frozen=True, slots=True)
class Checked:
    """What one endpoint answered to one question.

    Attributes:
        address: of the endpoint.
        listed: whether its list of models has the model.
        reply: the reply; its latency is in seconds.
        choice: the letter that was found in it.
        outcome: of the question.
        limits: what the reply's headers say.
        ending: when the model ends or ended, where that is known.
        adapted: what a run sends otherwise than meant, since the model refuses that.
        constraint: how the reply was held to one letter, where that was wanted.
        advice: lines on what to change.
    """

    address: str
    listed: bool
    reply: Reply
    choice: str | None
    outcome: Outcome
    limits: Limits
    ending: EndedModel | None
    adapted: tuple[str, ...]
    constraint: str | None
    advice: tuple[str, ...]

    def lines(self) -> list[str]:
        """For people."""
        reply, usage = self.reply, self.reply.usage
        found = [
            f"address      {self.address}",
            f"model        {'listed' if self.listed else 'not listed, but it answers'}"
            + (f"; it calls itself {reply.model}" if reply.model else ""),
            f"reply        {reply.text!r} ({reply.latency:.2f} s, finish_reason {reply.finish_reason})",
            f"choice       {self.choice or 'none'} ({self.outcome})",
            f"tokens       {_shown(usage.prompt_tokens)} in, {_shown(usage.completion_tokens)} out"
            + (f", {usage.cached_tokens} cached" if usage.cached_tokens is not None else ""),
        ]
        if self.limits != NOTHING:
            found.append(
                f"limits       {_limit(self.limits.requests_per_minute, 'request')} and "
                f"{_limit(self.limits.tokens_per_minute, 'token')} a minute, by the reply's headers"
            )
        if reply.reasoning:
            found.append(f"reasoning    {counted(len(reply.reasoning), 'character')} in a field of their own")
        if self.constraint is not None:
            found.append(f"constraint   {self.constraint}, which took effect")
        if reply.letters is not None:
            found.append(f"letters      {letter_shares(reply.letters)}")
        found += [f"adapted      {line}" for line in self.adapted]
        return found + [f"advice       {line}" for line in self.advice]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def _shown(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def _limit(count: int | None, unit: str) -> str:
    return f"unknown {unit}s" if count is None else counted(count, unit)


def refuse_without_key(model: str, error: NoKeyError) -> M3keError:
    """What to raise where there is no key: that a model is gone comes before how to pay for it."""
    provider, name = parse_model(model)
    profile = load_profile(provider)
    ending = profile.end_of(name)
    if ending is None or ending.on > today():
        return error
    return StoppedError(ending_line(profile, ending, today()))


async def check(evaluation: Evaluation, target: Target, log: Path, display: Display) -> tuple[Checked, ...]:
    """Ask every endpoint the first question of the run.

    Raises:
        StoppedError: the provider refuses: key, money, model, a parameter.
        IncompleteError: it does not answer now.
    """
    async with AsyncExitStack() as stack:
        rng = random.Random()  # noqa: S311 - spreads requests, guards nothing
        endpoints, _ = await connect(evaluation, target, display, log=log, rng=rng, stack=stack)
        try:
            look = await preflight(endpoints, target, display)
        except IncompleteError as error:
            ending = ending_of(target.profile, target.model, None)
            if ending is None:
                raise
            # What nobody can ask may be gone all the same.
            raise IncompleteError(f"{error}; {ending_line(target.profile, ending, today())}") from None
        return tuple(
            [
                await _check_one(endpoint, evaluation, target, look)
                for endpoint in endpoints
                if endpoint.breaker.state is not State.FATAL  # it was not reached, and left out
            ]
        )


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came for one request; the latency is in seconds."""

    status: int | None
    headers: Mapping[str, str]
    body: bytes
    error: Exception | None
    latency: float


async def _ask(endpoint: Endpoint, body: bytes, seconds: float) -> _Answer:
    started = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            response = await endpoint.transport.ask(body)
    except Exception as error:  # whatever it is, `decide` says what it means
        return _Answer(None, {}, b"", error, time.perf_counter() - started)
    return _Answer(response.status, response.headers, response.body, None, time.perf_counter() - started)


def _first(evaluation: Evaluation) -> Item:
    return next(item for task in evaluation.suite.tasks for item in evaluation.items(task))


async def _check_one(endpoint: Endpoint, evaluation: Evaluation, target: Target, look: Look) -> Checked:
    async def send(endpoint: Endpoint, request: ChatRequest) -> Reply:
        return (await _reply_to(request, endpoint, evaluation, target, look, proof=True))[1]

    given = endpoint.address
    evaluation = await prove(evaluation, (endpoint,), send)
    item = _first(evaluation)
    answer, reply, changes = await _reply_to(item.request, endpoint, evaluation, target, look)
    choice = choose(item.shown, reply, evaluation.settings)
    advice = [*_advice(choice.outcome, evaluation.settings.max_tokens, target.profile, look.ending)]
    if endpoint.address is not given:
        advice.append(f"nothing takes questions at {given.public}: give --base-url {endpoint.address.public}")
    return Checked(
        address=endpoint.address.public,
        listed=look.alone is not None,
        reply=replace(reply, latency=answer.latency),
        choice=choice.letter,
        outcome=choice.outcome,
        limits=observed_limits(target.profile, answer.headers),
        ending=look.ending,
        adapted=tuple(change.says for change in changes),
        constraint=evaluation.constraint,
        advice=tuple(advice),
    )


async def _reply_to(
    request: ChatRequest,
    endpoint: Endpoint,
    evaluation: Evaluation,
    target: Target,
    look: Look,
    *,
    proof: bool = False,
) -> tuple[_Answer, Reply, tuple[Change, ...]]:
    """The reply, as it came and as it is read, and what it took to get it."""
    body, changes = request.body, evaluation.changes
    while True:
        answer = await _ask(endpoint, body, target.timeout(evaluation.settings))
        success = answer.status is not None and 200 <= answer.status < 300
        reply = target.protocol.parse(answer.body, target.profile) if success else None
        if reply is not None:
            return answer, reply, changes
        decision = decide(
            target.profile,
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            exception=answer.error,
            now=time.time(),
        )
        other = endpoint.address.other
        if decision.kind is Kind.WRONG_ADDRESS and answer.status in NOTHING_THERE and other is not None:
            endpoint.move(other)  # as a run does
            continue
        change = find_change(decision.kind, read_body(answer.body, success=False), body, changes)
        if change is None and proof and decision.kind in REFUSALS:
            raise RefusedError(one_line(scrub_all(decision.message, target.secrets), limit=160))
        if change is None:
            raise _refusal(endpoint, decision, target, look.ending)
        # With what the model takes, as a run does.
        body, changes = canonical_body(change.apply(orjson.loads(body))), (*changes, change)


def _refusal(endpoint: Endpoint, decision: Decision, target: Target, ending: EndedModel | None) -> M3keError:
    message = f"{endpoint.named(decision.kind)}: {scrub_all(decision.message, target.secrets)}"
    if ending is not None:
        message += f"; {ending_line(target.profile, ending, today())}"
    stops = decision.action is not Action.RETRY or decision.then_stop
    return StoppedError(message) if stops else IncompleteError(message)


def _advice(outcome: Outcome, max_tokens: int, profile: Profile, ending: EndedModel | None) -> Iterator[str]:
    if ending is not None:
        yield ending_line(profile, ending, today())
    if outcome is Outcome.TRUNCATED:
        yield (
            f"the reply was cut off after {counted(max_tokens, 'token')} without a choice: the model "
            "explains or thinks first; give a larger --max-tokens"
        )
    elif outcome in {Outcome.UNPARSED, Outcome.AMBIGUOUS}:
        yield "no single choice was found: more --shots, another --template or a larger model helps"
