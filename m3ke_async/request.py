"""What is asked and what comes back: ChatRequest, Reply, Outcome.

A reply answers exactly one request. Its identity is a hash of the provider, the
address and the whole body, so that another shot, comma or temperature is another
request, and the order of the body's keys is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import orjson

from m3ke_async.text import escape_surrogates

#: The finish reason of every reply that a provider's content check took the place of.
FILTERED = "content_filter"

#: Part of every key: a change of the canonical form must not hit old replies.
_KEY_VERSION = b"m3ke-request/1"


class Outcome(StrEnum):
    """What became of a question. Only `FAILED` is owed again on the next run."""

    ANSWERED = "answered"
    AMBIGUOUS = "ambiguous"  # several letters
    UNPARSED = "unparsed"  # text without a choice
    REFUSED = "refused"  # the model declined
    FILTERED = "filtered"  # the provider's content check
    TRUNCATED = "truncated"  # out of tokens before a choice
    FAILED = "failed"  # no reply after all tries


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request: where it goes and its body.

    Attributes:
        provider: name of the provider file.
        base_url: the address that stands in the identity, without any key.
        body: canonical JSON in UTF-8, the very bytes that are sent.
        sample: number of the sample, from 0, where a question is asked more than once.
        key: 16 bytes, the identity.
        prompt_chars: characters of the prompt; the engine turns them into an estimate of tokens.
    """

    provider: str
    base_url: str
    body: bytes
    sample: int = 0
    prompt_chars: int = field(default=0, compare=False)
    key: bytes = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        key = _hashed(self.provider, self.base_url, self.sample).copy()
        _add(key, self.body)
        object.__setattr__(self, "key", key.digest())


@lru_cache(maxsize=256)  # every sample of one model has its own
def _hashed(provider: str, base_url: str, sample: int) -> blake2b:
    """What the keys of all questions of a run begin with; to be copied."""
    key = blake2b(digest_size=16)
    for part in (_KEY_VERSION, provider.encode(), base_url.encode(), b"%d" % sample):
        _add(key, part)
    return key


def _add(key: blake2b, part: bytes) -> None:
    key.update(b"%d:" % len(part))  # lengths keep neighbours from running together
    key.update(part)


@dataclass(frozen=True, slots=True)
class RequestKey:
    """What is left of a request whose reply comes by a file: its identity and its provider."""

    key: bytes
    provider: str


def canonical_body(body: dict[str, Any]) -> bytes:
    """The body as JSON bytes with sorted keys; 0.0 is written as 0, an absent field stays absent."""
    whole = {
        name: int(value) if type(value) is float and value.is_integer() else value
        for name, value in body.items()
    }
    return dump_json(whole, sort=True)


def dump_json(value: Any, *, sort: bool = False) -> bytes:
    """JSON in UTF-8; lone surrogates, which UTF-8 cannot hold, are written as backslash escapes."""
    option = orjson.OPT_SORT_KEYS if sort else 0
    try:
        return orjson.dumps(value, option=option)
    except (orjson.JSONEncodeError, UnicodeEncodeError):
        return orjson.dumps(escape_surrogates(value), option=option)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider reported them; None is unknown, never 0.

    Attributes:
        cost: what the provider says that it charged, in USD.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that is kept.

    Attributes:
        text: what the model wrote as its answer; '' where the provider's filter took its place.
        reasoning: thoughts that came in a field of their own.
        finish_reason: the provider's word, `content_filter` for every kind of filter.
        refusal: whether the text came in the reply's refusal field.
        usage: tokens.
        model: the model's name as the server gave it back.
        fingerprint: `system_fingerprint`, where given.
        letters: probabilities of A to D where the answer begins, where they were asked for.
        latency: seconds from sending to the whole reply, of the attempt that succeeded; None where it is
            unknown, as in a batch.
        attempts: how many times the request was sent, the successful one included.
        received_at: Unix time in seconds.
    """

    text: str
    reasoning: str | None = None
    finish_reason: str | None = None
    refusal: bool = False
    usage: Usage = Usage()
    model: str | None = None
    fingerprint: str | None = None
    letters: tuple[float, ...] | None = None
    latency: float | None = None
    attempts: int = 1
    received_at: float = 0.0

    @property
    def filtered(self) -> bool:
        """Whether the provider's content check took the place of an answer."""
        return self.finish_reason == FILTERED
