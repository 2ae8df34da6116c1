"""One question to an endpoint: whether key, address and model work, and what the server tells."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from m3ke_async.breaker import State
from m3ke_async.connect import connect
from m3ke_async.ending import ending_line, today
from m3ke_async.errors import IncompleteError, M3keError, StoppedError
from m3ke_async.faults import Action, decide
from m3ke_async.preflight import preflight
from m3ke_async.providers import load_profile, parse_model
from m3ke_async.rate_headers import NOTHING, observed_limits
from m3ke_async.request import Outcome, Reply
from m3ke_async.results import choose
from m3ke_async.scrub import scrub_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from m3ke_async.endpoint import Endpoint
    from m3ke_async.evaluation import Evaluation, Item
    from m3ke_async.preflight import Look
    from m3ke_async.profile import EndedModel, Profile
    from m3ke_async.progress import Display
    from m3ke_async.rate_headers import Limits
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
        advice: lines on what to change.
    """

    address: str
    listed: bool
    reply: Reply
    choice: str | None
    outcome: Outcome
    limits: Limits
    ending: EndedModel | None
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
                f"limits       {_shown(self.limits.requests_per_minute)} requests and "
                f"{_shown(self.limits.tokens_per_minute)} tokens a minute, by the reply's headers"
            )
        if reply.reasoning:
            found.append(f"reasoning    {len(reply.reasoning):,} characters in a field of their own")
        return found + [f"advice       {line}" for line in self.advice]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def _shown(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


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
    item = next(item for task in evaluation.suite.tasks for item in evaluation.items(task))
    async with AsyncExitStack() as stack:
        rng = random.Random()  # noqa: S311 - spreads requests, guards nothing
        endpoints, _ = await connect(evaluation, target, display, log=log, rng=rng, stack=stack)
        look = await preflight(endpoints, target, display)
        return tuple(
            [
                await _check_one(endpoint, item, evaluation, target, look)
                for endpoint in endpoints
                if endpoint.breaker.state is not State.FATAL  # it was not reached, and left out
            ]
        )


async def _check_one(
    endpoint: Endpoint, item: Item, evaluation: Evaluation, target: Target, look: Look
) -> Checked:
    started = time.perf_counter()
    status, headers, body, error = None, {}, b"", None
    try:
        async with asyncio.timeout(target.timeout(evaluation.settings)):
            response = await endpoint.transport.ask(item.request.body)
        status, headers, body = response.status, dict(response.headers), response.body
    except Exception as caught:  # whatever it is, `decide` says what it means
        error = caught
    latency = time.perf_counter() - started
    reply = (
        target.protocol.parse(body, target.profile) if status is not None and 200 <= status < 300 else None
    )
    if not isinstance(reply, Reply):
        decision = decide(
            target.profile, status=status, headers=headers, body=body, exception=error, now=time.time()
        )
        message = f"{endpoint.address.public}: {scrub_all(decision.message, target.secrets)}"
        if look.ending is not None:
            message += f"; {ending_line(target.profile, look.ending, today())}"
        if decision.action is not Action.RETRY or decision.then_stop:
            raise StoppedError(message)
        raise IncompleteError(message)
    choice = choose(item.shown, reply, evaluation.settings.policy)
    return Checked(
        address=endpoint.address.public,
        listed=look.alone is not None,
        reply=replace(reply, latency=latency),
        choice=choice.letter,
        outcome=choice.outcome,
        limits=observed_limits(target.profile, headers),
        ending=look.ending,
        advice=tuple(_advice(choice.outcome, evaluation.settings.max_tokens, target.profile, look.ending)),
    )


def _advice(outcome: Outcome, max_tokens: int, profile: Profile, ending: EndedModel | None) -> Iterator[str]:
    if ending is not None:
        yield ending_line(profile, ending, today())
    if outcome is Outcome.TRUNCATED:
        yield (
            f"the reply was cut off after {max_tokens} tokens without a choice: the model explains or thinks "
            "first; give a larger --max-tokens"
        )
    elif outcome in {Outcome.UNPARSED, Outcome.AMBIGUOUS}:
        yield "no single choice was found: more --shots, another --template or a larger model helps"
