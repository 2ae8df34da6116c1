"""The shipped provider files against the survey of providers, row by row.

Errors are compared in test_faults.py. What a file says beyond the survey is measured, or marked as recalled.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.providers import load_profile, profile_names
from m3ke_async.rules import Certainty

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


#: From the best known to the least.
RANKS = [Certainty.MEASURED, Certainty.VERIFIED, Certainty.SECONDARY, Certainty.RECALLED]
#: The table of a file, and the entry of the survey that it is made of.
TABLES = {"key": "auth", "limits": "limits", "request": "params", "batch": "batch"}
#: Read in the source or the documentation after the survey was made.
BEYOND = {
    ("tgi", "request"),
    ("moonshot", "thinking"),
    ("openrouter", "thinking"),
    ("openai", "batch"),
    ("siliconflow", "batch"),
    ("zhipu", "batch"),
}
#: Names of OpenAI's, which others may have copied.
COPIED = ("x-ratelimit-limit-*", "x-ratelimit-remaining-*", "x-ratelimit-reset-*")

SHIPPED = [name for name in profile_names() if name not in {"custom", "local", "transformers"}]


@pytest.fixture(scope="session")
def survey(shared: Path) -> dict[str, dict[str, Any]]:
    table = json.loads((shared / "providers" / "facts.json").read_text("utf-8"))
    return {entry["id"]: entry for entry in table["providers"]}


def test_every_provider_of_the_survey_has_a_file(survey: dict[str, Any]) -> None:
    assert set(SHIPPED) == set(survey)


@pytest.mark.parametrize("name", SHIPPED)
def test_addresses_keys_and_reasons(survey: dict[str, Any], name: str) -> None:
    entry, profile = survey[name], load_profile(name)
    address = entry["base_url"].replace("//host", "//127.0.0.1").replace("//localhost", "//127.0.0.1")
    assert profile.base_url is None or profile.base_url in address
    assert all(url.removesuffix("/v1") in address for url in profile.also)
    own = address.replace("<resource>", "RESOURCE").replace("<deployment>", "DEPLOYMENT")
    assert all(form.split("?")[0] in own for form in profile.forms)
    assert profile.base_url or profile.forms
    assert all(variable in entry["auth"]["env"] for variable in profile.key_env)
    assert profile.chat_path.strip("/") == entry["chat"].split()[0].strip("/")
    known = " ".join(entry["finish_reasons"]).replace("mapped to OpenAI's", "content_filter")
    assert all(word in known for word in (*profile.filtered_finish, *profile.retry_finish))


@pytest.mark.parametrize("name", SHIPPED)
def test_nothing_is_called_better_known_than_it_is(survey: dict[str, Any], name: str) -> None:
    entry = survey[name]
    for fact in load_profile(name).facts:
        source = entry.get(TABLES.get(fact.about, ""))
        if source and fact.certainty is not Certainty.MEASURED and (name, fact.about) not in BEYOND:
            assert RANKS.index(fact.certainty) >= RANKS.index(rank(source.get("certainty", ""))), fact


def rank(words: str) -> Certainty:
    """Of the survey's words; what is partly verified is no better than secondary."""
    if "verified" in words:
        return Certainty.VERIFIED
    return Certainty.SECONDARY if words in {"secondary", "partly"} else Certainty.RECALLED


@pytest.mark.parametrize("name", SHIPPED)
def test_headers_of_limits(survey: dict[str, Any], name: str) -> None:
    headers, profile = survey[name]["limits"]["headers"], load_profile(name)
    known = [*(one for row in headers for one in spelled_out(row[0])), *(COPIED if is_copy(name) else ())]
    ours = [
        header
        for names in (profile.request_headers, profile.token_headers)
        for header in (*names.limit, *names.remaining, *names.reset)
    ]
    for header in ours:
        assert any(fnmatchcase(header, pattern) for pattern in known), header
    assert bool(ours) == any("ratelimit" in pattern or "tokenlimit" in pattern for pattern in known)


def is_copy(name: str) -> bool:
    return name in {"anthropic-compat", "litellm-proxy"}


def spelled_out(row: str) -> Iterator[str]:
    """`x-a-limit / -left` names x-a-limit and x-a-left."""
    name = ""
    for part in re.split(r"\s*[,/]\s*", row.lower()):
        name = "-".join(name.split("-")[: -part.count("-")]) + part if part.startswith("-") else part
        yield name


@pytest.mark.parametrize("name", SHIPPED)
def test_reasoning_usage_and_batch(survey: dict[str, Any], name: str) -> None:
    entry, profile = survey[name], load_profile(name)
    assert all(field in (entry["reasoning"]["field"] or "") for field in profile.reasoning_fields)
    usage = " ".join(entry["usage"])
    for path in (*profile.usage.cached, *profile.usage.reasoning, *profile.usage.cost):
        assert path in usage
    batch, ours = entry["batch"], profile.batch
    if not batch or "offline" in batch["how"]:
        assert ours is None
        return
    assert ours is not None
    if (name, "batch") in BEYOND:
        return
    text = json.dumps(batch)
    for number in (ours.max_requests, (ours.max_bytes or 0) // 1_000_000 or None, ours.window_hours):
        assert number is None or f"{number:,}" in text
    assert ours.discount is None or ours.discount == 0.5
    # what is saved "up to" some share is not known of a model, and counts as nothing
    known = "price" in batch and "up to" not in batch["price"]
    assert (ours.discount is not None) == known


@pytest.mark.parametrize("name", SHIPPED)
def test_parameters_and_thinking(survey: dict[str, Any], name: str) -> None:
    entry, profile = survey[name], load_profile(name)
    text = json.dumps([entry["params"], entry["reasoning"], entry["quirks"]])
    for parameter in (*profile.parameters.ignores, *profile.parameters.refuses):
        assert parameter in text or (name, "request") in BEYOND
    for thinking in profile.thinking:
        if thinking.certainty is not Certainty.RECALLED and (name, "thinking") not in BEYOND:
            assert all(field in text for body in (thinking.on, thinking.off) for field in fields(body))
    assert bool(profile.thinking) or not re.search(r"reasoning_switch|reasoning_effort|enable_thinking", text)
    assert bool(profile.constraints) or not re.search(r"structured|grammar", text)


def fields(body: Any) -> Iterator[str]:
    """Names of all fields, at any depth."""
    for name, value in body.items() if isinstance(body, dict) else ():
        yield name
        yield from fields(value)


def test_models_that_end(survey: dict[str, Any]) -> None:
    text = " ".join(survey["openai"]["quirks"])
    text = text.replace("gpt-4o/4o-mini/4.1/4.1-mini", "gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-mini")
    for ended in load_profile("openai").ended:
        assert re.search(rf"(?<![\w-]){re.escape(ended.model)}(?![\w-])", text), ended
        assert str(ended.on) in text
