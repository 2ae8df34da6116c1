"""What is known about a provider, as data; `profile_file` reads it, docs/providers.md describes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from m3ke_async.rules import Certainty

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

    from m3ke_async.rules import Rule


class Hosting(StrEnum):
    """Who runs the server."""

    HOSTED = "hosted"
    SELF_HOSTED = "self-hosted"
    PROXY = "proxy"
    EMBEDDED = "embedded"  # started and stopped by m3ke itself


class ProtocolName(StrEnum):
    """What is spoken with a server."""

    CHAT = "chat"  # POST /chat/completions: messages
    COMPLETIONS = "completions"  # POST /completions: plain text, for base models
    TGI = "tgi"  # POST /generate beside the base URL: TGI's own


class TokenParameter(StrEnum):
    """The request's field that limits the reply's length."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


class UnknownFields(StrEnum):
    """What becomes of a request's field that the server does not know."""

    IGNORED = "ignored"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Window(StrEnum):
    """The time in which a limit counts. Equal header names have other windows elsewhere."""

    MINUTE = "minute"
    DAY = "day"
    UNKNOWN = "unknown"


class Constraint(StrEnum):
    """How a reply is held to one of a few letters: the request's field, and what stands in it."""

    STRUCTURED_CHOICE = "structured_outputs.choice"  # vLLM from 0.12: {"choice": [...]}
    GUIDED_CHOICE = "guided_choice"  # vLLM before 0.12: [...]
    REGEX = "regex"  # SGLang: a pattern
    GRAMMAR = "grammar"  # llama.cpp: GBNF
    FORMAT_REGEX = "response_format.regex"  # TGI: {"type": "regex", "value": a pattern}
    JSON_SCHEMA = "response_format.json_schema"  # OpenAI: an object with an enum in it


class Support(StrEnum):
    """Whether a server can do something."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class BatchKind(StrEnum):
    """What a batch API wants."""

    FILES = "files"  # OpenAI's: a JSONL file is uploaded, a batch names it
    INLINE = "inline"  # the requests stand in the body
    OWN = "own"  # a form of the provider's own


@dataclass(frozen=True, slots=True)
class Fact:
    """How well one table of a provider's file is known, and where it was read."""

    about: str
    certainty: Certainty
    source: str | None = None


@dataclass(frozen=True, slots=True)
class LimitHeaders:
    """Names of reply headers for one budget, in lower case; the first that is there counts."""

    window: Window = Window.UNKNOWN
    limit: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameters:
    """What becomes of a request's fields beyond model, messages and the tokens' limit.

    Attributes:
        accepts: they take effect.
        ignores: they are taken without a word and without effect.
        refuses: they are answered by an error, with every model.
        unknown: what becomes of a field that the server does not know.
    """

    accepts: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    unknown: UnknownFields = UnknownFields.UNKNOWN


@dataclass(frozen=True, slots=True)
class Thinking:
    """How thinking is switched for some models.

    Attributes:
        model: patterns of their names, in lower case; `*` stands for any characters.
        on: fields of the request that switch it on; None where nothing does.
        off: the same for off; empty where it is off unless it is switched on.
    """

    model: tuple[str, ...]
    on: Mapping[str, Any] | None
    off: Mapping[str, Any] | None
    certainty: Certainty = Certainty.RECALLED
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Logprobs:
    """Whether probabilities of tokens are given, and of how many at a position at most."""

    support: Support = Support.UNKNOWN
    top: int | None = None


@dataclass(frozen=True, slots=True)
class UsageFields:
    """Paths below `usage` that are a provider's own, with dots; asked before the usual ones.

    Attributes:
        cached: prompt tokens that were read from a cache.
        reasoning: completion tokens that were thoughts.
        cost: what the request cost, in USD.
    """

    cached: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    cost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchApi:
    """Where many requests can be left at once, for less money.

    Attributes:
        kind: what it wants.
        path: what follows the base URL, with a leading slash; None where it is not known.
        url: the `url` of each line of a JSONL file.
        purpose: what a file is uploaded for.
        upload: where to, below the address.
        form: further fields of the upload; `{name}` stands for the file's name.
        until: what ends the address of batches where questions are asked at one that goes on.
        max_requests: in one batch.
        max_bytes: of one file.
        discount: the share of the price that is saved, between 0 and 1.
        on: when the discount was read.
        window_hours: time in which it is answered.
    """

    kind: BatchKind
    path: str | None = None
    url: str | None = None
    purpose: str = "batch"
    upload: str = "/files"
    form: Mapping[str, str] = field(default_factory=dict)
    until: str | None = None
    max_requests: int | None = None
    max_bytes: int | None = None
    discount: float | None = None
    window_hours: int | None = None
    on: date | None = None


@dataclass(frozen=True, slots=True)
class EndedModel:
    """A model that is or will be shut down.

    Attributes:
        model: its name.
        on: the first day without it.
        instead: the model that the provider names in its place.
        elsewhere: providers that may still serve it.
    """

    model: str
    on: date
    instead: str | None = None
    elsewhere: tuple[str, ...] = ()
    certainty: Certainty = Certainty.RECALLED
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """What a model cost on a day, for a million tokens."""

    model: str
    input: float
    output: float
    currency: str
    on: date
    source: str
    certainty: Certainty = Certainty.RECALLED


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything known about one provider.

    Attributes:
        name: the file's name, the part before the slash in `provider/model`.
        title: the provider's name for people.
        hosting: who runs the server.
        file: where the file lies; it stands in no identity.
        protocols: what can be spoken with it; the first is the default.
        base_url: None where each user has an address of their own.
        also: other addresses of the same provider, such as another region's.
        forms: what an address looks like where each user has another.
        chat_path: what follows the base URL for a chat request, with a leading slash.
        key_env: environment variables that may hold the key; the first that is set counts.
        key_required: whether nothing works without a key.
        key_header: the header that carries the key.
        key_prefix: what stands before the key in that header.
        token_parameter: the field that limits the reply's length.
        parameters: what becomes of the request's other fields.
        thinking: how it is switched on and off; the first that fits a model counts.
        constraints: how a reply is held to one of a few letters, in the order in which to try.
        logprobs: whether probabilities are given.
        reasoning_fields: fields of the reply's message that hold thoughts.
        filtered_finish: finish reasons that mean that a content check stopped the reply.
        retry_finish: finish reasons that mean that the server failed.
        usage: fields of the usage that are the provider's own.
        request_headers: headers about the budget of requests.
        token_headers: headers about the budget of tokens.
        requests_per_minute: a limit for all accounts, where there is one.
        tokens_per_minute: the same for tokens.
        concurrency: the same for requests in flight.
        batch: where there is a batch API.
        rules: what error answers mean, in the order in which they are asked.
        ended: models with the date of their end, past or future.
        prices: prices with date and source, where known.
        facts: how well each table of the file is known.
    """

    name: str
    title: str
    hosting: Hosting
    file: Path | None = None
    protocols: tuple[ProtocolName, ...] = (ProtocolName.CHAT,)
    base_url: str | None = None
    also: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    chat_path: str = "/chat/completions"
    key_env: tuple[str, ...] = ()
    key_required: bool = False
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    token_parameter: TokenParameter = TokenParameter.MAX_TOKENS
    parameters: Parameters = Parameters()
    thinking: tuple[Thinking, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    logprobs: Logprobs = Logprobs()
    reasoning_fields: tuple[str, ...] = ()
    filtered_finish: tuple[str, ...] = ()
    retry_finish: tuple[str, ...] = ()
    usage: UsageFields = UsageFields()
    request_headers: LimitHeaders = LimitHeaders()
    token_headers: LimitHeaders = LimitHeaders()
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None
    batch: BatchApi | None = None
    rules: tuple[Rule, ...] = ()
    ended: tuple[EndedModel, ...] = ()
    prices: tuple[ModelPrice, ...] = ()
    facts: tuple[Fact, ...] = ()

    def as_sent(self, sent: Mapping[str, Any]) -> Profile:
        """The provider as it was when a run began, by what its run.json keeps of it.

        A file that says something else by now, or is gone, must not turn stored replies into
        answers to other requests.
        """
        thinking = sent["thinking"]
        return replace(
            self,
            protocols=(ProtocolName(sent["protocol"]),),
            token_parameter=TokenParameter(sent["token_parameter"]),
            thinking=(Thinking(("*",), thinking, thinking),),
            constraints=tuple(map(Constraint, sent.get("constraints", ()))),
            logprobs=Logprobs(Support.YES, sent.get("top_logprobs")),
        )

    def thinking_of(self, model: str) -> Thinking | None:
        """How thinking is switched for a model; None where that is not known."""
        name = model.lower()
        return next(
            (one for one in self.thinking if any(fnmatchcase(name, pattern) for pattern in one.model)), None
        )

    def end_of(self, model: str) -> EndedModel | None:
        """When a model ends or ended; None where no end is known."""
        return next((one for one in self.ended if one.model == model), None)
