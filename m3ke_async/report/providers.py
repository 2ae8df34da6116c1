"""Provider files for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.providers import Hosting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from m3ke_async.providers import Profile
    from m3ke_async.rules import Rule


def table_lines(profiles: Iterable[Profile]) -> Iterator[str]:
    """One provider a line."""
    yield f"{'name':18}{'hosting':13}{'key':24}address"
    for profile in profiles:
        key = profile.key_env[0] if profile.key_env else "-"
        yield f"{profile.name:18}{profile.hosting:13}{key:24}{_address(profile)}"
    yield ""
    yield "`m3ke providers NAME` shows one; docs/providers.md says how to add one."


def profile_lines(profile: Profile) -> Iterator[str]:
    """Everything that a file says."""
    yield f"{profile.name}: {profile.title} ({profile.hosting})"
    yield f"address     {_address(profile)}"
    for address in profile.also:
        yield f"also        {address}"
    need = "needed" if profile.key_required else "sent when set"
    yield f"key         {' or '.join(profile.key_env) or 'none'} ({need})"
    yield f"requests    {_limit(profile.requests_per_minute)}"
    yield f"tokens      {_limit(profile.tokens_per_minute)}"
    for model in profile.ended:
        yield f"ended       {model.model} on {model.on}" + (
            f", instead {model.instead}" if model.instead else ""
        )
    for price in profile.prices:
        cost = f"{price.input:g} in, {price.output:g} out, {price.currency} a million tokens"
        yield f"price       {price.model}: {cost} ({price.on})"
    for rule in profile.rules:
        yield f"rule        {rule.kind}: {_condition(rule)}"


def _address(profile: Profile) -> str:
    if profile.hosting is Hosting.EMBEDDED:
        return "started by m3ke"
    return profile.base_url or "--base-url URL"


def _limit(count: int | None) -> str:
    return "a limit per account" if count is None else f"{count:,} a minute"


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
