"""Provider files for people."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from m3ke_async.profile import Hosting, Support
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from m3ke_async.profile import BatchApi, EndedModel, Fact, LimitHeaders, ModelPrice, Profile, Thinking
    from m3ke_async.rules import Rule

    Known = Fact | Thinking | EndedModel | ModelPrice | Rule


def table_lines(profiles: Iterable[Profile]) -> Iterator[str]:
    """One provider a line."""
    rows = [
        (profile.name, profile.hosting, profile.key_env[0] if profile.key_env else "-", _address(profile))
        for profile in profiles
    ]
    names, hostings, keys = (max(len(row[column]) for row in rows) + 2 for column in range(3))
    for row in [("name", "hosting", "key", "address"), *rows]:
        yield f"{row[0]:{names}}{row[1]:{hostings}}{row[2]:{keys}}{row[3]}"
    yield ""
    yield "`m3ke providers NAME` shows one; docs/providers.md says how to add one."


def profile_json(profile: Profile) -> dict[str, Any]:
    """Everything that a file says, for `--json`."""
    table = {**asdict(profile), "file": str(profile.file) if profile.file else None}
    for rule in table["rules"]:
        rule["status"] = sorted(rule["status"])
    return table


def profile_lines(profile: Profile) -> Iterator[str]:
    """Everything that a file says, how well each part of it is known, and by which source."""
    sources: dict[str, int] = {}
    yield f"{profile.name}: {profile.title} ({profile.hosting})"
    before = None
    for name, words, fact in _parts(profile):
        mark = f"  [{_mark(fact, sources)}]" if fact else ""
        yield f"{'' if name == before else name:12}{words}{mark}"
        before = name
    for source, number in sources.items():
        yield f"{'source':12}{number} {source}"


def _mark(fact: Known, sources: dict[str, int]) -> str:
    """How certain, and the number of the source, which is listed from here on."""
    if fact.source is None:
        return fact.certainty
    return f"{fact.certainty}, {sources.setdefault(fact.source, len(sources) + 1)}"


def _parts(profile: Profile) -> Iterator[tuple[str, str, Known | None]]:
    """What is said about what, and how well that is known."""
    facts = {fact.about: fact for fact in profile.facts}
    for name, about, lines in _tables(profile):
        for line in lines:
            yield name, line, facts.get(about)
    for thinking in profile.thinking:
        yield "thinking", _thinking(thinking), thinking
    for ended in profile.ended:
        yield "ends", _ended(ended), ended
    for price in profile.prices:
        cost = f"{price.input:g} in, {price.output:g} out, {price.currency} a million tokens"
        yield "price", f"{price.model}: {cost} ({price.on})", price
    for rule in profile.rules:
        yield "rule", f"{rule.kind}: {_condition(rule)}", rule


def _tables(profile: Profile) -> Iterator[tuple[str, str, list[str]]]:
    """What is said, the table of the file that says it, and the words, a line each."""
    yield "file", "", [str(profile.file)]
    yield "protocol", "", [" or ".join(profile.protocols)]
    yield (
        "address",
        "address",
        [_address(profile), *profile.also, *(f"such as {one}" for one in profile.forms)],
    )
    key = " or ".join(profile.key_env) or "none"
    need = "needed" if profile.key_required else "sent when set"
    yield "key", "key", [f"{key} ({need}), as {profile.key_header}: {profile.key_prefix}..."]
    yield "requests", "limits", list(_limits(profile.requests_per_minute, profile.request_headers))
    yield "tokens", "limits", list(_limits(profile.tokens_per_minute, profile.token_headers))
    if profile.concurrency:
        yield "in flight", "limits", [f"{profile.concurrency:,}"]
    parameters = profile.parameters
    yield "parameters", "request", [f"the limit of tokens is {profile.token_parameter}"]
    for word, names in (
        ("takes", parameters.accepts),
        ("ignores", parameters.ignores),
        ("refuses", parameters.refuses),
    ):
        yield "parameters", "request", [f"{word} {', '.join(names)}"] if names else []
    yield "parameters", "request", [f"fields that it does not know: {parameters.unknown}"]
    yield "constraint", "constrain", [", then ".join(profile.constraints) or "none known"]
    yield "logprobs", "logprobs", [_logprobs(profile)]
    for name, words, names in (
        ("reasoning", "in ", profile.reasoning_fields),
        ("filtered", "finish_reason ", profile.filtered_finish),
        ("failed", "finish_reason ", profile.retry_finish),
    ):
        yield name, "reply", [words + " or ".join(names)] if names else []
    for name, paths in asdict(profile.usage).items():
        yield "usage", "usage", [f"{name} in {', '.join(paths)}"] if paths else []
    yield "batch", "batch", [_batch(profile.batch)] if profile.batch else []


def _address(profile: Profile) -> str:
    if profile.hosting is Hosting.EMBEDDED:
        return "started by m3ke"
    return profile.base_url or "--base-url URL"


def _limits(count: int | None, headers: LimitHeaders) -> Iterator[str]:
    yield "a limit per account" if count is None else f"{count:,} a minute"
    for what, names in (("limit", headers.limit), ("left", headers.remaining), ("reset", headers.reset)):
        if names:
            yield f"{what} in {', '.join(names)} (window: {headers.window})"


def _logprobs(profile: Profile) -> str:
    top = profile.logprobs.top
    if profile.logprobs.support is not Support.YES:
        return str(profile.logprobs.support)
    return "yes" if top is None else f"yes, of {top} tokens at a position"


def _thinking(thinking: Thinking) -> str:
    switches = [
        f"{word} by {json.dumps(fields, ensure_ascii=False) if fields else 'default'}"
        for word, fields in (("on", thinking.on), ("off", thinking.off))
        if fields is not None
    ]
    return f"{' or '.join(thinking.model)}: {', '.join(switches)}"


def _batch(batch: BatchApi) -> str:
    parts = [
        f"{batch.kind} at {batch.path}" if batch.path else f"{batch.kind}",
        counted(batch.max_requests, "request") if batch.max_requests else "",
        counted(batch.max_bytes, "byte") if batch.max_bytes else "",
        f"within {counted(batch.window_hours, 'hour')}" if batch.window_hours else "",
        f"{batch.discount:.0%} off" if batch.discount else "",
        f"as of {batch.on}" if batch.on else "",
    ]
    return ", ".join(filter(None, parts))


def _ended(model: EndedModel) -> str:
    instead = f", instead {model.instead}" if model.instead else ""
    elsewhere = f", perhaps still at {' or '.join(model.elsewhere)}" if model.elsewhere else ""
    return f"{model.model} on {model.on}{instead}{elsewhere}"


def _condition(rule: Rule) -> str:
    """When a rule holds, in words."""
    parts = [f"status {_statuses(rule.status)}"] if rule.status else []
    parts += [
        f"{name} {' or '.join(words)}"
        for name, words in (("code", rule.code), ("param", rule.param))
        if words
    ]
    parts += [f"text {' or '.join(repr(text) for text in rule.text)}"] if rule.text else []
    parts += [f"header {name}: {value}" for name, value in rule.header]
    return ", ".join(parts)


def _statuses(statuses: frozenset[int]) -> str:
    """Statuses in order; a whole hundred is written like 5xx."""
    hundreds = [first for first in range(100, 600, 100) if statuses.issuperset(range(first, first + 100))]
    rest = sorted(status for status in statuses if status // 100 * 100 not in hundreds)
    return " or ".join([*map(str, rest), *(f"{first // 100}xx" for first in hundreds)])
