"""The chat completions protocol: messages to a body, an answer to a Reply.

`parse` is total: any bytes give a Reply or None. What it means that there is none, and
whether to try again, is decided in `faults`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from m3ke_async.error_body import find_error, load_json
from m3ke_async.request import FILTERED, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.prompt import Message
    from m3ke_async.providers import Profile


#: More tokens than this are a mistake of the server, and unknown.
_MOST_TOKENS = 1 << 32


def body(
    model: str, messages: Sequence[Message], *, temperature: float, max_tokens: int, token_parameter: str
) -> dict[str, Any]:
    """The request's body; every field in it is sent, a temperature of 0 too."""
    return {
        "model": model,
        "messages": list(messages),
        "temperature": temperature,
        token_parameter: max_tokens,
    }


def parse(raw: bytes, profile: Profile) -> Reply | None:
    """The reply in a 200 answer, without its latency and number of attempts; None where there is none."""
    try:
        answer = load_json(raw)
    except ValueError:
        return None
    if not isinstance(answer, dict) or find_error(answer) is not None:
        return None
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return None
    message = choice.get("message")
    finish = _string(choice.get("finish_reason"))
    if finish == FILTERED or finish in profile.filtered_finish:
        return _reply(profile, answer, {}, "", FILTERED, refusal=False)
    if not isinstance(message, dict) or finish in profile.retry_finish:
        return None
    text = _text(message.get("content"))
    if text.strip():
        return _reply(profile, answer, message, text, finish, refusal=False)
    if refusal := _text(message.get("refusal")).strip():
        return _reply(profile, answer, message, refusal, finish, refusal=True)
    if finish == "length":  # the tokens went into thoughts: a true, if useless, reply
        return _reply(profile, answer, message, "", finish, refusal=False)
    return None


def usage_of(raw: bytes) -> Usage:
    """Tokens that an answer without a reply reports; an empty Usage where it reports none."""
    try:
        answer = load_json(raw)
    except ValueError:
        return Usage()
    return _usage(answer.get("usage")) if isinstance(answer, dict) else Usage()


def _reply(
    profile: Profile,
    answer: dict[str, Any],
    message: dict[str, Any],
    text: str,
    finish: str | None,
    *,
    refusal: bool,
) -> Reply:
    reasoning = (_text(message.get(field)) for field in profile.reasoning_fields)
    return Reply(
        text=text,
        reasoning=next(filter(None, reasoning), None),
        finish_reason=finish,
        refusal=refusal,
        usage=_usage(answer.get("usage")),
        model=_string(answer.get("model")),
        fingerprint=_string(answer.get("system_fingerprint")),
    )


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _text(content: Any) -> str:
    """Text of a content field: a string, or the texts of a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    reasoning = _count(completion, "reasoning_tokens")
    return Usage(
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        cached_tokens=_count(prompt, "cached_tokens"),
        reasoning_tokens=_count(usage, "reasoning_tokens") if reasoning is None else reasoning,
    )


def _count(table: Any, name: str) -> int | None:
    value = table.get(name) if isinstance(table, dict) else None
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS
    return value if known else None
