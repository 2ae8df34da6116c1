"""The completions protocol: a base model continues the prompt as plain text, without a chat template.

The paper asks pretrained models in the same words as tuned ones. `echo` is never asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from m3ke_async.prompt import plain_text
from m3ke_async.request import FILTERED, Reply
from m3ke_async.wire.constraint import constraint_fields
from m3ke_async.wire.fields import answer_in, first_choice, string, usage_in, usage_of
from m3ke_async.wire.letters import letters_in
from m3ke_async.wire.protocol import Protocol, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.profile import Profile
    from m3ke_async.prompt import Message


def body(wanted: Wanted, messages: Sequence[Message]) -> dict[str, Any]:
    """The request's body; every field in it is sent."""
    made: dict[str, Any] = {
        "model": wanted.model,
        "prompt": plain_text(messages),
        "temperature": wanted.temperature,
        "max_tokens": wanted.max_tokens,
        **(constraint_fields(wanted.constraint) if wanted.constraint else {}),
        **({"logprobs": wanted.logprobs} if wanted.logprobs else {}),
    }
    if wanted.stop:
        made["stop"] = list(wanted.stop)
    return made


def parse(raw: bytes, profile: Profile) -> Reply | None:
    """The reply in a 200 answer, without its latency and number of attempts; None where there is none."""
    answer = answer_in(raw)
    choice = None if answer is None else first_choice(answer)
    if answer is None or choice is None:
        return None
    text, finish = string(choice.get("text")), string(choice.get("finish_reason"))
    letters = letters_in(choice.get("logprobs"))
    if finish == FILTERED or finish in profile.filtered_finish:
        text, finish = "", FILTERED
    elif text is None or finish in profile.retry_finish:
        return None
    if not text.strip() and finish not in {"length", FILTERED} and letters is None:
        return None
    return Reply(
        text=text,
        finish_reason=finish,
        usage=usage_in(answer, profile.usage),
        model=string(answer.get("model")),
        fingerprint=string(answer.get("system_fingerprint")),
        letters=letters,
    )


COMPLETIONS = Protocol("completions", "/completions", "/models", body, parse, usage_of)
