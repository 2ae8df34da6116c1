"""Text Generation Inference's own protocol: POST /generate, GET /info; no chat template is applied.

Source: github.com/huggingface/text-generation-inference, router/src at db931fc (2026-01-08).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from m3ke_async.profile import Constraint
from m3ke_async.prompt import plain_text
from m3ke_async.request import Reply, Usage
from m3ke_async.wire.constraint import constraint_fields
from m3ke_async.wire.fields import answer_in, count, string
from m3ke_async.wire.letters import letters_in
from m3ke_async.wire.protocol import Protocol, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.profile import Profile
    from m3ke_async.prompt import Message


#: What a server takes unless it was started with another --max-top-n-tokens.
_MOST_TOP_TOKENS = 5


def body(wanted: Wanted, messages: Sequence[Message]) -> dict[str, Any]:
    """The request's body; every field in it is sent.

    Without `parameters` the server samples, and a temperature of 0 is refused: greedy is to
    send none. `details` is what tells the finish reason and the number of tokens.
    """
    parameters: dict[str, Any] = {
        "max_new_tokens": wanted.max_tokens,
        "do_sample": wanted.temperature > 0,
        "details": True,
        "return_full_text": False,
    }
    if wanted.temperature > 0:
        parameters["temperature"] = wanted.temperature
    if wanted.constraint is Constraint.FORMAT_REGEX:
        parameters["grammar"] = constraint_fields(wanted.constraint)["response_format"]
    if wanted.logprobs:
        parameters["top_n_tokens"] = min(wanted.logprobs, _MOST_TOP_TOKENS)
    if wanted.stop:
        parameters["stop"] = list(wanted.stop)
    return {"inputs": plain_text(messages), "parameters": parameters}


def parse(raw: bytes, profile: Profile) -> Reply | None:
    """The reply in a 200 answer, without its latency and number of attempts; None where there is none."""
    answer = answer_in(raw)
    if answer is None:
        return None
    text, details = string(answer.get("generated_text")), answer.get("details")
    finish = string(details.get("finish_reason")) if isinstance(details, dict) else None
    letters = letters_in(details)
    if text is None or (not text.strip() and finish != "length" and letters is None):
        return None
    return Reply(text=text, finish_reason=finish, usage=_usage(answer), letters=letters)


def usage_of(raw: bytes, profile: Profile) -> Usage:
    """Tokens that an answer without a reply reports; an empty Usage where it reports none."""
    answer = answer_in(raw)
    return Usage() if answer is None else _usage(answer)


TGI = Protocol(
    "tgi",
    "/generate",
    "/info",
    body,
    parse,
    usage_of,
    constraints=(Constraint.FORMAT_REGEX,),
    at_root=True,
    names_model=False,
)


def _usage(answer: dict[str, Any]) -> Usage:
    """The prompt's tokens are told only with the whole prompt sent back, so they stay unknown."""
    return Usage(completion_tokens=count(answer.get("details"), "generated_tokens"))
