"""The settings of a run: one frozen object.

Every field is an option of `m3ke run` with dashes for underscores, and a key of the
TOML file; `settings_checks` makes the object of either.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypedDict

from m3ke_async.address import parse_address
from m3ke_async.choice import POLICIES
from m3ke_async.manner import AnswerMode, ThinkingMode
from m3ke_async.prompt import FewShot
from m3ke_async.shard import WHOLE, Shard
from m3ke_async.suite import AUTO, Split
from m3ke_async.tally import Budget, Price

if TYPE_CHECKING:
    from collections.abc import Sequence


#: `--concurrency auto` never goes above this; a larger number can be given by hand.
AUTO_CONCURRENCY = 512


class RunOptions(TypedDict, total=False):
    """What may be given for a run; see RunSettings for the meaning and the defaults.

    But for `suite`, which in Python is the suite itself: `load_suite(path, "ceval")`.
    """

    base_url: str | Sequence[str]
    protocol: str
    api_key_env: str
    ca_file: str
    serve: bool
    data: str
    split: str
    shots: int
    tasks: str | Sequence[str]
    limit: int
    shard: str
    template: str
    fewshot: str
    system: str
    temperature: float
    max_tokens: int
    answer: str
    thinking: str
    rotate: bool
    samples: int
    concurrency: int | str
    rpm: float
    tpm: float
    max_attempts: int
    timeout: float
    results: str
    name: str
    fresh: bool
    retry_failed: bool
    retry_filtered: bool
    skip_overlap: bool
    batch: bool
    then: str
    policy: str
    price: str
    max_cost: float
    max_requests: int
    max_tokens_total: int
    max_time: float


class Then(StrEnum):
    """How questions are asked that batches left without a reply."""

    LIVE = "live"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What to ask, of whom, how, and within which bounds.

    Attributes:
        model: `provider/model`.
        base_url: addresses of the same model; the provider's own where none is given.
        protocol: how it is asked, one of `wire.protocols.PROTOCOLS`; the provider's own where none is given.
        api_key_env: name of the environment variable that holds the key.
        ca_file: PEM file of certificates to trust beside the system's.
        serve: start the server for this run; the provider names the engine.
        data: folder or zip of a suite, or `sample`; the fetched M3KE where none is given.
        suite: whose files `data` holds, one of `SuiteName`; `auto` tells by their names.
        split: `dev`, `val` or `test`; M3KE has no `val`, and its `test` is not labelled.
        shots: examples before each question, 0 to 5.
        tasks: globs of task names; all where none is given.
        limit: questions per task, from its start; all where none is given.
        shard: which part of these questions; all by default.
        template: name of a prompt template, or path of a TOML file; the suite's own where none is given.
        fewshot: examples inside one message, or as turns of a chat.
        system: text of a system message; none is sent by default.
        temperature: always sent.
        max_tokens: completion tokens of a reply.
        answer: what is taken for an answer.
        thinking: whether the model thinks first; `default` leaves it to the model.
        rotate: whether to ask each question in the four cyclic orders of its options.
        samples: how often to ask each of these.
        concurrency: requests in flight; None adapts to the server.
        rpm, tpm: requests and tokens a minute; None takes the provider's, as far as known.
        max_attempts: how often a question is sent at most.
        timeout: seconds of one attempt; None is 120 for hosted APIs, 600 for other servers.
        results: folder of runs and of the reply store.
        name: name of the run's folder instead of the one made of the settings.
        fresh: ask again what has a stored reply; the old replies are kept aside.
        retry_failed: ask only what failed before.
        retry_filtered: ask again what the provider's content check stopped.
        skip_overlap: leave out questions that stand in the other split as well.
        batch: ask by the provider's batches: cheaper, and later.
        then: how to ask what batches left without a reply; not at all where it is None.
        policy: how letters are found in replies, one of `choice.POLICIES`.
        price: money for a million prompt tokens and a million completion tokens.
        max_cost, max_requests, max_tokens_total, max_time: what this command may use.
    """

    model: str
    base_url: tuple[str, ...] = ()
    protocol: str | None = None
    api_key_env: str | None = None
    ca_file: str | None = None
    serve: bool = False
    data: str | None = None
    suite: str = AUTO
    split: Split = Split.DEV
    shots: int = 0
    tasks: tuple[str, ...] = ()
    limit: int | None = None
    shard: Shard = WHOLE
    template: str | None = None
    fewshot: FewShot = FewShot.MESSAGE
    system: str | None = None
    temperature: float = 0.0
    max_tokens: int = 64
    answer: AnswerMode = AnswerMode.TEXT
    thinking: ThinkingMode = ThinkingMode.DEFAULT
    rotate: bool = False
    samples: int = 1
    concurrency: int | None = None
    rpm: float | None = None
    tpm: float | None = None
    max_attempts: int = 6
    timeout: float | None = None
    results: str = "results"
    name: str | None = None
    fresh: bool = False
    retry_failed: bool = False
    retry_filtered: bool = False
    skip_overlap: bool = False
    batch: bool = False
    then: Then | None = None
    policy: str = POLICIES[0]
    price: Price | None = None
    max_cost: float | None = None
    max_requests: int | None = None
    max_tokens_total: int | None = None
    max_time: float | None = None

    @property
    def budget(self) -> Budget:
        """The bounds of this command."""
        return Budget(self.max_requests, self.max_tokens_total, self.max_cost, self.max_time)

    def lines(self) -> list[str]:
        """The effective settings for people, a line each, those that were left out included."""
        shown = ((name, value) for name, value in self.to_json().items() if value not in (None, ()))
        return [f"{name.replace('_', '-'):17}{_plain(value)}" for name, value in shown if value is not False]

    def to_json(self) -> dict[str, Any]:
        """As it stands in run.json and is printed; no key is ever in it."""
        table = {field.name: getattr(self, field.name) for field in fields(self)}
        table["base_url"] = tuple(parse_address(url).public for url in self.base_url)
        table["shard"] = None if self.shard.is_whole else str(self.shard)
        if self.price is not None:
            table["price"] = f"{self.price.prompt},{self.price.completion}"
        table["concurrency"] = "auto" if self.concurrency is None else self.concurrency
        return table


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
