"""A provider's file read into a Profile, field by field, so that nothing misspelt is ignored."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from m3ke_async.address import parse_address
from m3ke_async.errors import UsageError
from m3ke_async.nearest import did_you_mean
from m3ke_async.profile import (
    BatchApi,
    BatchKind,
    Constraint,
    EndedModel,
    Fact,
    Hosting,
    LimitHeaders,
    Logprobs,
    ModelPrice,
    Parameters,
    Profile,
    ProtocolName,
    Support,
    Thinking,
    TokenParameter,
    UnknownFields,
    UsageFields,
    Window,
)
from m3ke_async.rules import Certainty, Kind, Rule, covering_rules, in_order
from m3ke_async.scrub import is_variable
from m3ke_async.toml_table import read_toml

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.toml_table import TomlTable

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")

#: Tables whose certainty and source are those of all their fields.
_TABLES = (
    *("address", "key", "limits", "request", "reply"),
    *("constrain", "logprobs", "usage", "batch"),
)


def read_profile(path: Path, *, general: Path) -> Profile:
    """The provider that a file describes.

    Args:
        path: the provider's file.
        general: the file with the rules that are asked after the provider's own.

    Raises:
        DataError: one of the files is wrong.
    """
    top = read_toml(path)
    sources = top.words("sources")
    tables = {name: top.table(name) for name in _TABLES}
    facts = tuple(Fact(name, *_fact(table, sources)) for name, table in tables.items() if table)
    address, key, limits = tables["address"], tables["key"], tables["limits"]
    request, reply = tables["request"], tables["reply"]
    profile = Profile(
        name=path.stem,
        title=_title(top),
        hosting=top.word("hosting", Hosting),
        file=path,
        protocols=top.some("protocols", ProtocolName) or (ProtocolName.CHAT,),
        base_url=address.text("base_url", None),
        also=address.texts("also"),
        forms=address.texts("forms"),
        chat_path=address.path("chat_path", "/chat/completions"),
        key_env=_variables(key),
        key_required=key.flag("required"),
        key_header=_header(key),
        key_prefix=key.text("prefix", "Bearer "),
        token_parameter=request.word("token_parameter", TokenParameter, TokenParameter.MAX_TOKENS),
        parameters=_parameters(request),
        thinking=_all_thinking(top, sources),
        constraints=tables["constrain"].some("forms", Constraint),
        logprobs=_logprobs(tables["logprobs"]),
        reasoning_fields=reply.texts("reasoning"),
        filtered_finish=reply.texts("filtered"),
        retry_finish=reply.texts("retry"),
        usage=_usage_fields(tables["usage"]),
        request_headers=_limit_headers(limits.table("requests")),
        token_headers=_limit_headers(limits.table("tokens")),
        requests_per_minute=limits.count("requests_per_minute"),
        tokens_per_minute=limits.count("tokens_per_minute"),
        concurrency=limits.count("concurrency"),
        batch=_batch(tables["batch"]) if tables["batch"] else None,
        rules=in_order(_rules(top, sources), _general_rules(general)),
        ended=_all_ended(top, sources),
        prices=tuple(_price(table, sources) for table in top.tables("prices")),
        facts=facts,
    )
    _check_addresses(address)
    for table in (*tables.values(), top):
        table.done()
    return profile


def _title(top: TomlTable) -> str:
    title: str = top.text("title")
    if not title.strip():
        raise top.wrong("title", "is empty; it is the provider's name for people")
    return title


def _fact(table: TomlTable, sources: dict[str, str]) -> tuple[Certainty, str | None]:
    """How certain a table's facts are, and where they were read."""
    certainty = table.word("certainty", Certainty, Certainty.RECALLED)
    source = table.text("source", None)
    if source is None and certainty in (Certainty.VERIFIED, Certainty.MEASURED):
        raise table.wrong("source", f"is missing; what is {certainty} was read somewhere")
    if source is not None and source not in sources:
        near = did_you_mean(source, sources)
        raise table.wrong("source", f"{source!r} is not in the table sources; {near}")
    return certainty, None if source is None else sources[source]


def _variables(table: TomlTable) -> tuple[str, ...]:
    names = table.texts("env")
    # What else is given here is most likely the key itself, so it is not shown.
    if not all(is_variable(name) for name in names):
        raise table.wrong("env", "takes names of environment variables, such as MY_KEY, not the key")
    return names


def _header(table: TomlTable) -> str:
    name: str = table.text("header", "Authorization")
    if not _HEADER.fullmatch(name):
        raise table.wrong("header", f"{name!r} is no name of a header, such as Authorization or api-key")
    return name


def _check_addresses(table: TomlTable) -> None:
    for name in ("base_url", "also", "forms"):
        for url in table.texts(name):
            try:
                address = parse_address(url)
            except UsageError:
                raise table.wrong(name, "must be an http or https address such as https://host/v1") from None
            if address.credentials or address.secrets:
                raise table.wrong(name, "must hold no user, password or key; the key's variable is key.env")


def _parameters(table: TomlTable) -> Parameters:
    parameters = Parameters(
        accepts=table.texts("accepts"),
        ignores=table.texts("ignores"),
        refuses=table.texts("refuses"),
        unknown=table.word("unknown", UnknownFields, UnknownFields.UNKNOWN),
    )
    for one, other in combinations(("accepts", "ignores", "refuses"), 2):
        if both := sorted({*getattr(parameters, one)} & {*getattr(parameters, other)}):
            raise table.wrong(other, f"has {both[0]!r}, which is in {one} as well; keep one")
    return parameters


def _all_thinking(top: TomlTable, sources: dict[str, str]) -> tuple[Thinking, ...]:
    """The switches of one file, each of which some model reaches."""
    found: list[Thinking] = []
    for table in top.tables("thinking"):
        certainty, source = _fact(table, sources)
        model = table.patterns("model") or ("*",)
        thinking = Thinking(model, table.body("on"), table.body("off"), certainty, source)
        table.done()
        if thinking.on is None and thinking.off is None:
            raise table.wrong(None, "needs `on`, `off` or both")
        earlier = [pattern for one in found for pattern in one.model]
        if all(any(fnmatchcase(name, pattern) for pattern in earlier) for name in model):
            raise table.wrong("model", "can never match, because the tables before it cover all of it")
        found.append(thinking)
    return tuple(found)


def _logprobs(table: TomlTable) -> Logprobs:
    logprobs = Logprobs(table.word("support", Support, Support.UNKNOWN), table.count("top"))
    if logprobs.top is not None and logprobs.support is Support.NO:
        raise table.wrong("top", "is of no use where support is no; leave it out")
    return logprobs


def _usage_fields(table: TomlTable) -> UsageFields:
    return UsageFields(table.texts("cached"), table.texts("reasoning"), table.texts("cost"))


def _batch(table: TomlTable) -> BatchApi:
    discount = table.number("discount", None)
    if discount is not None and not 0 < discount < 1:
        raise table.wrong("discount", f"must be between 0 and 1, such as 0.5, not {discount:g}")
    return BatchApi(
        kind=table.word("kind", BatchKind),
        path=table.path("path", None),
        url=table.path("url", None),
        purpose=table.text("purpose", "batch"),
        upload=table.path("upload", "/files"),
        form=table.words("form"),
        until=table.path("until", None),
        max_requests=table.count("max_requests"),
        max_bytes=table.count("max_bytes"),
        discount=discount,
        window_hours=table.count("window_hours"),
        on=table.date("on", None),
    )


def _limit_headers(table: TomlTable) -> LimitHeaders:
    headers = LimitHeaders(
        window=table.word("window", Window, Window.UNKNOWN),
        limit=_lower(table.texts("limit")),
        remaining=_lower(table.texts("remaining")),
        reset=_lower(table.texts("reset")),
    )
    table.done()
    return headers


def _all_ended(top: TomlTable, sources: dict[str, str]) -> tuple[EndedModel, ...]:
    ended: dict[str, EndedModel] = {}
    for table in top.tables("ended"):
        certainty, source = _fact(table, sources)
        one = EndedModel(
            model=table.text("model"),
            on=table.date("on"),
            instead=table.text("instead", None),
            elsewhere=table.texts("elsewhere"),
            certainty=certainty,
            source=source,
        )
        table.done()
        if one.model in ended:
            raise table.wrong("model", f"{one.model!r} is there twice; keep one")
        ended[one.model] = one
    return tuple(ended.values())


def _price(table: TomlTable, sources: dict[str, str]) -> ModelPrice:
    certainty, source = _fact(table, sources)
    if source is None:
        raise table.wrong("source", "is missing; a price without its source is worth nothing")
    price = ModelPrice(
        model=table.text("model"),
        input=table.number("input"),
        output=table.number("output"),
        currency=table.text("currency"),
        on=table.date("on"),
        source=source,
        certainty=certainty,
    )
    table.done()
    return price


@cache  # a file of this package, which does not change; every cell of a sweep reads it
def _general_rules(path: Path) -> tuple[Rule, ...]:
    top = read_toml(path)
    rules = _rules(top, top.words("sources"))
    top.done()
    return rules


def _rules(top: TomlTable, sources: dict[str, str]) -> tuple[Rule, ...]:
    """The rules of one file, none of which is covered by an earlier one."""
    tables = top.tables("rules")
    rules = tuple(_rule(table, sources) for table in tables)
    place = {id(rule): number for number, rule in enumerate(rules, 1)}
    ordered = in_order(rules, ())
    for number, later in enumerate(ordered):
        if covering := covering_rules(later, ordered[:number]):
            names = " and ".join(f"rules[{place[id(rule)]}]" for rule in covering)
            verb = "is asked before and covers" if len(covering) == 1 else "are asked before and cover"
            raise tables[place[id(later)] - 1].wrong(None, f"can never match, because {names} {verb} it")
    return rules


def _rule(table: TomlTable, sources: dict[str, str]) -> Rule:
    certainty, source = _fact(table, sources)
    header = table.words("header")
    for name in header:
        if not _HEADER.fullmatch(name):
            raise table.wrong("header", f"{name!r} is no name of a header; a rule with it can never match")
    rule = Rule(
        kind=table.word("kind", Kind),
        status=table.statuses("status"),
        code=table.patterns("code"),
        text=_lower(table.texts("text")),
        param=table.patterns("param"),
        header=tuple((name.lower(), value) for name, value in header.items()),
        advice=table.text("advice", None),
        certainty=certainty,
        source=source,
    )
    table.done()
    if rule.text and rule.code == ("web_page",):
        raise table.wrong("text", "can never match, because the words of a web page are not read")
    if rule.by_status_alone and not rule.status:
        raise table.wrong(None, "needs a condition: status, code, text, param or header")
    return rule


def _lower(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)
