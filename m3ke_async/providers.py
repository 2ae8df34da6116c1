"""What is known about each provider: one checked TOML file each, `providers/NAME.toml`.

How a file looks is described in docs/providers.md. A wrong field is an error that names
the file, the field and the nearest right one, so that nothing misspelt is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

from m3ke_async.assets import asset
from m3ke_async.errors import DataError, UsageError
from m3ke_async.rules import Certainty, Kind, Rule, in_order
from m3ke_async.toml_table import TomlTable, read_toml

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

#: Rules that hold for most providers, asked after a provider's own.
_GENERAL = "_general.toml"
_SUFFIX = ".toml"


class Hosting(StrEnum):
    """Who runs the server."""

    HOSTED = "hosted"
    SELF_HOSTED = "self-hosted"
    PROXY = "proxy"
    EMBEDDED = "embedded"  # started and stopped by m3ke itself


class TokenParameter(StrEnum):
    """The request's field that limits the reply's length."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


class Window(StrEnum):
    """The time in which a limit counts. Equal header names have other windows elsewhere."""

    MINUTE = "minute"
    DAY = "day"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LimitHeaders:
    """Names of reply headers for one budget, in lower case; the first that is there counts."""

    window: Window = Window.UNKNOWN
    limit: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EndedModel:
    """A model that is or will be shut down."""

    model: str
    on: date
    instead: str | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """What a model cost on a day, for a million tokens."""

    model: str
    input: float
    output: float
    currency: str
    on: date
    source: str


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything known about one provider.

    Attributes:
        name: the file's name, the part before the slash in `provider/model`.
        title: the provider's name for people.
        hosting: who runs the server.
        base_url: None where each user has an address of their own.
        also: other addresses of the same provider, such as another region's.
        chat_path: what follows the base URL for a chat request, with a leading slash.
        key_env: environment variables that may hold the key; the first that is set counts.
        key_required: whether nothing works without a key.
        key_header: the header that carries the key.
        key_prefix: what stands before the key in that header.
        token_parameter: the field that limits the reply's length.
        reasoning_fields: fields of the reply's message that hold thoughts.
        filtered_finish: finish reasons that mean that a content check stopped the reply.
        retry_finish: finish reasons that mean that the server failed.
        request_headers: headers about the budget of requests.
        token_headers: headers about the budget of tokens.
        requests_per_minute: a limit for all accounts, where there is one.
        tokens_per_minute: the same for tokens.
        concurrency: the same for requests in flight.
        rules: what error answers mean, in the order in which they are asked.
        ended: models with the date of their end, past or future.
        prices: prices with date and source, where known.
    """

    name: str
    title: str
    hosting: Hosting
    base_url: str | None = None
    also: tuple[str, ...] = ()
    chat_path: str = "/chat/completions"
    key_env: tuple[str, ...] = ()
    key_required: bool = False
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    token_parameter: TokenParameter = TokenParameter.MAX_TOKENS
    reasoning_fields: tuple[str, ...] = ()
    filtered_finish: tuple[str, ...] = ()
    retry_finish: tuple[str, ...] = ()
    request_headers: LimitHeaders = LimitHeaders()
    token_headers: LimitHeaders = LimitHeaders()
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None
    rules: tuple[Rule, ...] = ()
    ended: tuple[EndedModel, ...] = ()
    prices: tuple[Price, ...] = ()


def profile_names() -> tuple[str, ...]:
    """Names of all providers, sorted."""
    return tuple(sorted(find_profiles(asset("providers"))))


def load_profile(name: str) -> Profile:
    """The provider of that name; only its file and the general rules are read.

    Raises:
        UsageError: there is no such provider.
        DataError: its file is wrong.
    """
    folder = asset("providers")
    files = find_profiles(folder)
    if name not in files:
        raise UsageError(_unknown_provider(name, files))
    return read_profile(files[name], general=folder / _GENERAL)


def parse_model(text: str) -> tuple[str, str]:
    """The provider and the model of `provider/model`; the model may hold slashes, colons and dots.

    Raises:
        UsageError: the form is another, or there is no such provider.
    """
    provider, slash, model = text.strip().partition("/")
    if not slash or not provider or not model:
        raise UsageError(
            f"{text!r} is not a model: write provider/model, such as vllm/Qwen3-8B; "
            "for any other OpenAI-compatible address write custom/NAME --base-url URL"
        )
    files = find_profiles(asset("providers"))
    if provider not in files:
        raise UsageError(_unknown_provider(provider, files))
    return provider, model


def _unknown_provider(name: str, files: dict[str, Path]) -> str:
    word = name.casefold()
    near = get_close_matches(word, files, n=3)
    # Brands stand in the titles: Doubao is served by Volcengine Ark.
    near += [
        other
        for other, path in files.items()
        if len(word) > 2 and other not in near and (word in other or word in _title(path).casefold())
    ]
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return (
        f"there is no provider {name!r}: {meant}`m3ke providers` lists all; "
        "for any other OpenAI-compatible address write custom/NAME --base-url URL"
    )


def _title(path: Path) -> str:
    title: str = read_toml(path).text("title", "")
    return title


def find_profiles(folder: Path) -> dict[str, Path]:
    """Provider files in a folder by name.

    Raises:
        DataError: two files have one name but for upper and lower case.
    """
    files = sorted(path for path in folder.glob(f"*{_SUFFIX}") if not path.name.startswith("_"))
    for one, two in combinations(files, 2):
        if one.stem.casefold() == two.stem.casefold():
            raise DataError(f"there is another provider of this name, {one.name}; rename one", file=two)
    return {path.stem: path for path in files}


def read_profile(path: Path, *, general: Path) -> Profile:
    """The provider that a file describes.

    Args:
        path: the provider's file.
        general: the file with the rules that are asked after the provider's own.

    Raises:
        DataError: one of the files is wrong.
    """
    top = read_toml(path)
    address, key, limits = top.table("address"), top.table("key"), top.table("limits")
    request, reply = top.table("request"), top.table("reply")
    sources = top.words("sources")
    own = _read_rules(top, sources)
    profile = Profile(
        name=path.stem,
        title=top.text("title"),
        hosting=top.word("hosting", Hosting),
        base_url=address.text("base_url", None),
        also=address.texts("also"),
        chat_path=address.text("chat_path", "/chat/completions"),
        key_env=key.texts("env"),
        key_required=key.flag("required"),
        key_header=key.text("header", "Authorization"),
        key_prefix=key.text("prefix", "Bearer "),
        token_parameter=request.word("token_parameter", TokenParameter, TokenParameter.MAX_TOKENS),
        reasoning_fields=reply.texts("reasoning"),
        filtered_finish=reply.texts("filtered"),
        retry_finish=reply.texts("retry"),
        request_headers=_read_limit_headers(limits.table("requests")),
        token_headers=_read_limit_headers(limits.table("tokens")),
        requests_per_minute=limits.count("requests_per_minute"),
        tokens_per_minute=limits.count("tokens_per_minute"),
        concurrency=limits.count("concurrency"),
        rules=in_order(own, _general_rules(general)),
        ended=tuple(_read_ended(table, sources) for table in top.tables("ended")),
        prices=tuple(_read_price(table, sources) for table in top.tables("prices")),
    )
    for table in (address, key, limits, request, reply):
        _fact(table, sources)
        table.done()
    top.done()
    if not profile.chat_path.startswith("/"):
        raise address.wrong("chat_path", "must begin with /")
    return profile


def _general_rules(path: Path) -> tuple[Rule, ...]:
    top = read_toml(path)
    rules = _read_rules(top, top.words("sources"))
    top.done()
    return rules


def _read_limit_headers(table: TomlTable) -> LimitHeaders:
    headers = LimitHeaders(
        window=table.word("window", Window, Window.UNKNOWN),
        limit=_lower(table.texts("limit")),
        remaining=_lower(table.texts("remaining")),
        reset=_lower(table.texts("reset")),
    )
    table.done()
    return headers


def _read_ended(table: TomlTable, sources: dict[str, str]) -> EndedModel:
    ended = EndedModel(table.text("model"), table.date("on"), table.text("instead", None))
    _fact(table, sources)
    table.done()
    return ended


def _read_price(table: TomlTable, sources: dict[str, str]) -> Price:
    _, source = _fact(table, sources)
    if source is None:
        raise table.wrong("source", "is missing; a price without its source is worth nothing")
    price = Price(
        model=table.text("model"),
        input=table.number("input"),
        output=table.number("output"),
        currency=table.text("currency"),
        on=table.date("on"),
        source=source,
    )
    table.done()
    return price


def _read_rules(top: TomlTable, sources: dict[str, str]) -> tuple[Rule, ...]:
    """The rules of one file, none of which is covered by an earlier one."""
    tables = top.tables("rules")
    rules = tuple(_read_rule(table, sources) for table in tables)
    place = {id(rule): number for number, rule in enumerate(rules)}
    for earlier, later in combinations(in_order(rules, ()), 2):
        if earlier.covers(later):
            raise tables[place[id(later)]].wrong(
                None,
                f"can never match, because rules[{place[id(earlier)] + 1}] is asked before and covers it",
            )
    return rules


def _read_rule(table: TomlTable, sources: dict[str, str]) -> Rule:
    certainty, source = _fact(table, sources)
    rule = Rule(
        kind=table.word("kind", Kind),
        status=table.statuses("status"),
        code=table.patterns("code"),
        text=_lower(table.texts("text")),
        param=table.patterns("param"),
        header=tuple((name.lower(), value) for name, value in table.words("header").items()),
        advice=table.text("advice", None),
        certainty=certainty,
        source=source,
    )
    table.done()
    if rule.by_status_alone and not rule.status:
        raise table.wrong(None, "needs a condition: status, code, text, param or header")
    return rule


def _lower(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)


def _fact(table: TomlTable, sources: dict[str, str]) -> tuple[Certainty, str | None]:
    """How certain a table's facts are, and where they were read."""
    certainty = table.word("certainty", Certainty, Certainty.RECALLED)
    source = table.text("source", None)
    if source is None and certainty in (Certainty.VERIFIED, Certainty.MEASURED):
        raise table.wrong("source", f"is missing; what is {certainty} was read somewhere")
    if source is not None and source not in sources:
        near = get_close_matches(source, sources, n=1) or [*sources]
        raise table.wrong(
            "source", f"{source!r} is not in the table sources; did you mean {' or '.join(near)}?"
        )
    return certainty, None if source is None else sources[source]
