"""The chat completions protocol: messages to a body, an answer to a Reply.

`parse` is total: any bytes give a Reply or None. What it means that there is none, and
whether to try again, is decided in `faults`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
    """The request's body; every field in it is sent, a temperature of 0 too."""
    return {
        "model": wanted.model,
        "messages": list(messages),
        "temperature": wanted.temperature,
        wanted.token_parameter: wanted.max_tokens,
        **wanted.fields,
        **(constraint_fields(wanted.constraint) if wanted.constraint else {}),
        **({"logprobs": True, "top_logprobs": wanted.logprobs} if wanted.logprobs else {}),
    }


def parse(raw: bytes, profile: Profile) -> Reply | None:
    """The reply in a 200 answer, without its latency and number of attempts; None where there is none."""
    answer = answer_in(raw)
    choice = None if answer is None else first_choice(answer)
    if answer is None or choice is None:
        return None
    message = choice.get("message")
    finish = string(choice.get("finish_reason"))
    if finish == FILTERED or finish in profile.filtered_finish:
        return _reply(profile, answer, {}, "", FILTERED, refusal=False)
    if not isinstance(message, dict) or finish in profile.retry_finish:
        return None
    text, letters = _text(message.get("content")), letters_in(choice.get("logprobs"))
    if text.strip() or letters is not None:
        reply = _reply(profile, answer, message, text, finish, refusal=False)
        return reply if letters is None else replace(reply, letters=letters)
    if refusal := _text(message.get("refusal")).strip():
        return _reply(profile, answer, message, refusal, finish, refusal=True)
    if finish == "length":  # the tokens went into thoughts: a true, if useless, reply
        return _reply(profile, answer, message, "", finish, refusal=False)
    return None


CHAT = Protocol("chat", None, "/models", body, parse, usage_of)


def _reply(
    profile: Profile,
    answer: dict[str, Any],
    message: dict[str, Any],
    text: str,
    finish: str | None,
    *,
    refusal: bool,
) -> Reply:
    return Reply(
        text=text,
        reasoning=_reasoning(profile, message),
        finish_reason=finish,
        refusal=refusal,
        usage=usage_in(answer, profile.usage),
        model=string(answer.get("model")),
        fingerprint=string(answer.get("system_fingerprint")),
    )


def _reasoning(profile: Profile, message: dict[str, Any]) -> str | None:
    """Thoughts in a field of their own, or in parts of the content."""
    for field in profile.reasoning_fields:
        if found := _text(message.get(field)):
            return found
    return _thoughts(message.get("content")) or None


def _thoughts(content: Any) -> str:
    """Thoughts among the parts of a content: Mistral's `{"type": "thinking", "thinking": [...]}`."""
    parts = content if isinstance(content, list) else ()
    return "".join(_text(part.get("thinking")) for part in parts if isinstance(part, dict))


def _text(content: Any) -> str:
    """Text of a content field: a string, or the texts of a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""
