"""What is known about each provider: one checked TOML file each, `providers/NAME.toml`.

How a file looks is described in docs/providers.md. A wrong field is an error that names
the file, the field and the nearest right one, so that nothing misspelt is ignored.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from m3ke_async.assets import asset
from m3ke_async.errors import DataError, UsageError
from m3ke_async.rules import Certainty, Kind, Rule, in_order

if TYPE_CHECKING:
    from pathlib import Path

#: Rules that hold for most providers, asked after a provider's own.
_GENERAL = "_general.toml"
_SUFFIX = ".toml"

_Word = TypeVar("_Word", bound=StrEnum)


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
    return str(_parse(path).get("title", ""))


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
    top = _Table(_parse(path), path)
    address, key, limits = top.table("address"), top.table("key"), top.table("limits")
    request, reply = top.table("request"), top.table("reply")
    own = _read_rules(top)
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
        ended=tuple(_read_ended(table) for table in top.tables("ended")),
        prices=tuple(_read_price(table) for table in top.tables("prices")),
    )
    for table in (address, key, limits, request, reply):
        table.fact()
        table.done()
    top.done()
    if not profile.chat_path.startswith("/"):
        raise address.wrong("chat_path", "must begin with /")
    return profile


def _general_rules(path: Path) -> tuple[Rule, ...]:
    top = _Table(_parse(path), path)
    rules = _read_rules(top)
    top.done()
    return rules


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"is no TOML in UTF-8: {error}", file=path) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from error


def _read_limit_headers(table: _Table) -> LimitHeaders:
    headers = LimitHeaders(
        window=table.word("window", Window, Window.UNKNOWN),
        limit=_lower(table.texts("limit")),
        remaining=_lower(table.texts("remaining")),
        reset=_lower(table.texts("reset")),
    )
    table.done()
    return headers


def _read_ended(table: _Table) -> EndedModel:
    ended = EndedModel(table.text("model"), table.date("on"), table.text("instead", None))
    table.fact()
    table.done()
    return ended


def _read_price(table: _Table) -> Price:
    price = Price(
        model=table.text("model"),
        input=table.number("input"),
        output=table.number("output"),
        currency=table.text("currency"),
        on=table.date("on"),
        source=table.text("source"),
    )
    table.done()
    return price


def _read_rules(top: _Table) -> tuple[Rule, ...]:
    """The rules of one file, none of which is covered by an earlier one."""
    tables = top.tables("rules")
    rules = tuple(_read_rule(table) for table in tables)
    place = {id(rule): number for number, rule in enumerate(rules)}
    for earlier, later in combinations(in_order(rules, ()), 2):
        if earlier.covers(later):
            raise tables[place[id(later)]].wrong(
                None,
                f"can never match, because rules[{place[id(earlier)] + 1}] is asked before and covers it",
            )
    return rules


def _read_rule(table: _Table) -> Rule:
    certainty, source = table.fact()
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


class _Table:
    """A TOML table that is read field by field; what nobody asked for is an error."""

    def __init__(self, data: Any, file: Path, place: str = "", sources: dict[str, str] | None = None) -> None:
        self._file, self._place = file, place
        if not isinstance(data, dict):
            raise self.wrong(None, "must be a table")
        self._data: dict[str, Any] = data
        self._asked: list[str] = []
        self._sources = self.words("sources") if sources is None else sources

    def wrong(self, name: str | None, message: str) -> DataError:
        """The error to raise about a field, or about the table itself."""
        field = ".".join(part for part in (self._place, name) if part)
        return DataError(message, file=self._file, field=field or None)

    def done(self) -> None:
        """Refuse fields that nobody asked for."""
        for name in self._data:
            if name not in self._asked:
                near = get_close_matches(name, self._asked, n=1) or self._asked
                raise self.wrong(name, f"is no field here; did you mean {' or '.join(near)}?")

    def _get(self, name: str, kind: type | tuple[type, ...], what: str, default: Any) -> Any:
        self._asked.append(name)
        value = self._data.get(name, default)
        if value is ...:
            raise self.wrong(name, f"is missing; it must be {what}")
        if name in self._data and (
            not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
        ):
            raise self.wrong(name, f"must be {what}, not {value!r}")
        return value

    def text(self, name: str, default: Any = ...) -> Any:
        """A string; `default` where it is absent."""
        return self._get(name, str, "a string", default)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings, or one string for a list of one."""
        value = self._get(name, (str, list), "a string or a list of strings", [])
        words = [value] if isinstance(value, str) else value
        if name in self._data and not words:
            raise self.wrong(name, "is empty; leave it out")
        if not all(isinstance(word, str) and word for word in words):
            raise self.wrong(name, "must hold strings that are not empty")
        if len(set(words)) < len(words):
            raise self.wrong(name, "names something twice")
        return tuple(words)

    def patterns(self, name: str) -> tuple[str, ...]:
        """Strings in lower case in which `*` is special."""
        words = _lower(self.texts(name))
        if any(set(word) & set("?[]") for word in words):
            raise self.wrong(name, "may hold no ?, [ or ]; only * is special")
        return words

    def words(self, name: str) -> dict[str, str]:
        """A table of strings."""
        value: dict[str, Any] = self._get(name, dict, "a table of strings", {})
        if not all(isinstance(word, str) for word in value.values()):
            raise self.wrong(name, "must hold strings")
        return value

    def word(self, name: str, words: type[_Word], default: Any = ...) -> _Word:
        """One of a closed set of words."""
        text = self.text(name, default)
        try:
            return words(text)
        except ValueError:
            near = get_close_matches(str(text), [*words], n=1) or [*words]
            raise self.wrong(name, f"cannot be {text!r}; did you mean {' or '.join(near)}?") from None

    def flag(self, name: str) -> bool:
        """A boolean; false where it is absent."""
        value: bool = self._get(name, bool, "true or false", False)
        return value

    def count(self, name: str) -> int | None:
        """A whole number above 0, or None."""
        value: int | None = self._get(name, int, "a whole number", None)
        if value is not None and value < 1:
            raise self.wrong(name, f"must be above 0, not {value}")
        return value

    def number(self, name: str) -> float:
        """A number that is not negative."""
        value = float(self._get(name, (int, float), "a number", ...))
        if not 0 <= value < float("inf"):
            raise self.wrong(name, f"must be 0 or above, not {value}")
        return value

    def date(self, name: str) -> date:
        """A date such as 2026-10-23."""
        value: date = self._get(name, date, "a date such as 2026-10-23", ...)
        return value

    def statuses(self, name: str) -> frozenset[int]:
        """HTTP statuses: numbers, and `5xx` for all of a hundred."""
        value = self._get(name, (int, str, list), 'a status such as 429, "5xx", or a list of them', [])
        found: set[int] = set()
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and item in {"2xx", "3xx", "4xx", "5xx"}:
                found.update(range(int(item[0]) * 100, int(item[0]) * 100 + 100))
            elif isinstance(item, int) and not isinstance(item, bool) and 100 <= item < 600:
                found.add(item)
            else:
                raise self.wrong(name, f"{item!r} is no HTTP status; a rule with it can never match")
        return frozenset(found)

    def fact(self) -> tuple[Certainty, str | None]:
        """How certain the table's facts are, and where they were read."""
        certainty = self.word("certainty", Certainty, Certainty.RECALLED)
        source = self.text("source", None)
        if source is None and certainty in (Certainty.VERIFIED, Certainty.MEASURED):
            raise self.wrong("source", f"is missing; what is {certainty} was read somewhere")
        if source is not None and source not in self._sources:
            near = get_close_matches(source, self._sources, n=1) or [*self._sources]
            raise self.wrong(
                "source", f"{source!r} is not in the table sources; did you mean {' or '.join(near)}?"
            )
        return certainty, None if source is None else self._sources[source]

    def table(self, name: str) -> _Table:
        """A table; empty where it is absent."""
        return self._below(self._get(name, dict, "a table", {}), name)

    def tables(self, name: str) -> list[_Table]:
        """A list of tables; empty where it is absent."""
        items: list[Any] = self._get(name, list, f"a list of tables [[{name}]]", [])
        return [self._below(item, f"{name}[{number}]") for number, item in enumerate(items, 1)]

    def _below(self, data: Any, name: str) -> _Table:
        return _Table(data, self._file, f"{self._place}.{name}" if self._place else name, self._sources)
