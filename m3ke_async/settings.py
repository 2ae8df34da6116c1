"""The settings of a run: one frozen object, from the command line, a TOML file or Python.

Every field is an option of `m3ke run` with dashes for underscores, and a key of the
TOML file; each is checked here, once, whoever gave it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from m3ke_async.address import parse_address
from m3ke_async.choice import POLICIES
from m3ke_async.errors import DataError, UsageError
from m3ke_async.manner import AnswerMode, ThinkingMode
from m3ke_async.nearest import nearest
from m3ke_async.prompt import FewShot, template_names
from m3ke_async.scrub import is_variable
from m3ke_async.shard import WHOLE, Shard
from m3ke_async.suite import AUTO, Split
from m3ke_async.suites.taxonomy import SuiteName
from m3ke_async.tally import Budget, Price
from m3ke_async.text import one_line
from m3ke_async.toml_file import load_toml
from m3ke_async.wire.protocols import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


#: `--concurrency auto` never goes above this; a larger number can be given by hand.
AUTO_CONCURRENCY = 512

#: No number of a run needs to be larger; JSON's readers keep whole numbers of this size.
_MOST = 1_000_000_000_000


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


def make_settings(model: object, options: Mapping[str, object]) -> RunSettings:
    """Check options of any source and fill in the defaults.

    Raises:
        UsageError: an unknown option (names the nearest), or a value that is not allowed.
    """
    values: dict[str, Any] = {}
    for name, value in options.items():
        check = _CHECKS.get(name.replace("-", "_"))
        if check is None:
            raise UsageError(f"unknown option {one_line(name, limit=60)!r}{nearest(name, _CHECKS)}")
        if value is not None:
            values[name.replace("-", "_")] = check(_option(name), value)
    if values.get("then") is not None and not values.get("batch"):
        raise UsageError("--then says what follows a batch: give --batch as well")
    return RunSettings(_text("the model", model), **values)


def read_config(path: Path) -> dict[str, object]:
    """Options from a TOML file, keys as on the command line; `model` may be among them.

    Raises:
        DataError: unreadable, not TOML, or an unknown key (names the nearest).
    """
    table = load_toml(path)
    options: dict[str, object] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in _CHECKS and name != "model":
            known = (option.replace("_", "-") for option in ("model", *_CHECKS))
            raise DataError(f"unknown key{nearest(key.replace('_', '-'), known)}", file=path, field=key)
        if name in options:
            raise DataError("is there twice, with - and with _; keep one", file=path, field=key)
        options[name] = value
    return options


# -- checks of single values ---------------------------------------------------------


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _bad(option: str, wanted: str, value: object) -> UsageError:
    return UsageError(f"{option} must be {wanted}, not {one_line(repr(value), limit=60)}")


def _integer(low: int, high: int = _MOST) -> Callable[[str, object], int]:
    wanted = f"a whole number from {low} to {high:,}"

    def check(option: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _bad(option, wanted, value)
        return value

    return check


def _number(low: int, *, above: bool = False, high: int = _MOST) -> Callable[[str, object], float]:
    wanted = f"a number {'above' if above else 'from'} {low} to {high:,}"

    def check(option: str, value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise _bad(option, wanted, value)  # nan is not within anything
        if above and value == low:
            raise _bad(option, wanted, value)
        return float(value)

    return check


def _text(option: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise _bad(option, "a text", value)
    return value


def _template(option: str, value: object) -> str:
    """A name, or a path that is found from any folder."""
    text = _text(option, value)
    if text in template_names():
        return text
    try:
        path = Path(text).expanduser().resolve()
        return str(path) if path.is_file() else text
    except (OSError, ValueError, RuntimeError):  # no path at all; the template says so when it is read
        return text


def _path(option: str, value: object) -> str:
    """A path that is found from any folder."""
    try:
        return str(Path(_text(option, value)).expanduser().resolve())
    except (OSError, ValueError, RuntimeError):
        raise _bad(option, "the path of a file", value) from None


def _texts(option: str, value: object) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not items:
        raise _bad(option, "a text or a list of texts", value)
    return tuple(_text(option, item) for item in items)


def _addresses(option: str, value: object) -> tuple[str, ...]:
    addresses = _texts(option, value)
    for address in addresses:
        parse_address(address)
    return addresses


def _variable(option: str, value: object) -> str:
    # what else is given here is most likely the key itself, so it is not shown
    if not isinstance(value, str) or not is_variable(value):
        raise UsageError(f"{option} takes the name of an environment variable, such as MY_KEY, not the key")
    return value


def _flag(option: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _bad(option, "true or false", value)
    return value


def _word(known: Sequence[str]) -> Callable[[str, object], str]:
    def check(option: str, value: object) -> str:
        if value not in known:
            hint = nearest(value, known) if isinstance(value, str) else ""
            shown = one_line(repr(value), limit=60)
            raise UsageError(f"{option} must be {' or '.join(known)}, not {shown}{hint}")
        return str(value)

    return check


def _one_of(kind: type[StrEnum]) -> Callable[[str, object], StrEnum]:
    check = _word([item.value for item in kind])
    return lambda option, value: kind(check(option, value))


def _concurrency(option: str, value: object) -> int | None:
    if value == "auto":
        return None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}", value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10_000:
        raise _bad(option, "auto or a whole number from 1 to 10000", value)
    return value


def _price(option: str, value: object) -> Price:
    wanted = "two numbers from 0 up, PROMPT,COMPLETION, in money per million tokens"
    if isinstance(value, Price):
        return value
    parts = value.split(",") if isinstance(value, str) else value
    try:
        prompt, completion = (float(part) for part in parts)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise _bad(option, wanted, value) from None
    if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
        raise _bad(option, wanted, value)
    return Price(prompt, completion)


def _shard(option: str, value: object) -> Shard:
    shard = value if isinstance(value, Shard) else Shard.parse(value) if isinstance(value, str) else None
    if shard is None:
        raise _bad(option, "i/n with i from 1 to n, such as 1/4", value)
    return shard


_CHECKS: dict[str, Callable[[str, object], Any]] = {
    "base_url": _addresses,
    "protocol": _word([*PROTOCOLS]),
    "api_key_env": _variable,
    "ca_file": _path,
    "serve": _flag,
    "data": _text,
    "suite": _word([AUTO, *map(str, SuiteName)]),
    "split": _one_of(Split),
    "shots": _integer(0, 5),
    "tasks": _texts,
    "limit": _integer(1),
    "shard": _shard,
    "template": _template,
    "fewshot": _one_of(FewShot),
    "system": _text,
    "temperature": _number(0, high=2),
    "max_tokens": _integer(1),
    "answer": _one_of(AnswerMode),
    "thinking": _one_of(ThinkingMode),
    "rotate": _flag,
    "samples": _integer(1, 100),
    "concurrency": _concurrency,
    "rpm": _number(0, above=True),
    "tpm": _number(0, above=True),
    "max_attempts": _integer(1, 100),
    "timeout": _number(0, above=True),
    "results": _text,
    "name": _text,
    "fresh": _flag,
    "retry_failed": _flag,
    "retry_filtered": _flag,
    "skip_overlap": _flag,
    "batch": _flag,
    "then": _one_of(Then),
    "policy": _word(POLICIES),
    "price": _price,
    "max_cost": _number(0, above=True),
    "max_requests": _integer(1),
    "max_tokens_total": _integer(1),
    "max_time": _number(0, above=True),
}
