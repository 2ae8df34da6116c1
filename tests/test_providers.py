from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import pytest

from m3ke_async.assets import asset
from m3ke_async.errors import DataError, UsageError
from m3ke_async.providers import (
    EndedModel,
    Hosting,
    LimitHeaders,
    Price,
    Profile,
    TokenParameter,
    Window,
    find_profiles,
    load_profile,
    parse_model,
    profile_names,
    read_profile,
)
from m3ke_async.rules import Certainty, Kind, Rule

if TYPE_CHECKING:
    from pathlib import Path

GENERAL = asset("providers", "_general.toml")


def read(folder: Path, text: str, *, head: str = 'title = "X"\nhosting = "hosted"\n') -> Profile:
    path = folder / "x.toml"
    path.write_text(head + text, "utf-8")
    return read_profile(path, general=GENERAL)


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_file_is_right(name: str) -> None:
    profile = load_profile(name)

    assert profile.name == name
    assert profile.title
    for url in (profile.base_url, *profile.also):
        assert url is None or (url.startswith(("https://", "http://127.0.0.1")) and not url.endswith("/"))
    if profile.hosting is Hosting.HOSTED and name != "custom":
        assert profile.key_required
        assert profile.key_env


def test_every_provider_of_the_survey_has_a_file(shared: Path) -> None:
    survey = json.loads((shared / "providers" / "facts.json").read_text("utf-8"))
    assert set(profile_names()) == {entry["id"] for entry in survey["providers"]} | {
        "custom",
        "local",
        "transformers",
    }


def test_addresses_keys_and_reasons_are_those_of_the_survey(shared: Path) -> None:
    survey = json.loads((shared / "providers" / "facts.json").read_text("utf-8"))
    for entry in survey["providers"]:
        profile = load_profile(entry["id"])
        address = entry["base_url"].replace("//host", "//127.0.0.1").replace("//localhost", "//127.0.0.1")
        assert profile.base_url is None or profile.base_url in address
        assert all(url.removesuffix("/v1") in address for url in profile.also)
        assert all(name in entry["auth"]["env"] for name in profile.key_env)
        assert profile.chat_path.strip("/") == entry["chat"].split()[0].strip("/")
        known = " ".join(entry["finish_reasons"]).replace("mapped to OpenAI's", "content_filter")
        assert all(word in known for word in (*profile.filtered_finish, *profile.retry_finish))


def test_no_source_is_named_for_nothing() -> None:
    for path in asset("providers").glob("*.toml"):
        text = path.read_text("utf-8")
        if "[sources]" not in text:
            continue
        sources = text.split("[sources]")[1].split("\n[")[0]
        names = [line.split(" = ")[0] for line in sources.splitlines() if line and line[0] != "#"]
        assert names
        for name in names:
            assert f'source = "{name}"' in text, f"{path.name}: {name}"


def test_openai_in_full() -> None:
    openai = load_profile("openai")

    assert openai.base_url == "https://api.openai.com/v1"
    assert openai.chat_path == "/chat/completions"
    assert (openai.key_env, openai.key_required) == (("OPENAI_API_KEY",), True)
    assert (openai.key_header, openai.key_prefix) == ("Authorization", "Bearer ")
    assert openai.token_parameter is TokenParameter.MAX_COMPLETION_TOKENS
    assert openai.filtered_finish == ("content_filter",)
    assert openai.request_headers == LimitHeaders(
        Window.MINUTE,
        ("x-ratelimit-limit-requests",),
        ("x-ratelimit-remaining-requests",),
        ("x-ratelimit-reset-requests",),
    )
    assert openai.end_of("gpt-3.5-turbo") == EndedModel(
        "gpt-3.5-turbo",
        date(2026, 10, 23),
        "gpt-5.6-terra",
        (),
        Certainty.VERIFIED,
        "https://developers.openai.com/api/docs/deprecations",
    )
    assert openai.end_of("gpt-5.6-terra") is None
    assert openai.prices == ()


def test_azure_has_its_own_header_for_the_key() -> None:
    azure = load_profile("azure-openai")
    assert (azure.base_url, azure.key_header, azure.key_prefix) == (None, "api-key", "")


def test_groqs_request_headers_are_those_of_a_day() -> None:
    groq = load_profile("groq")
    assert (groq.request_headers.window, groq.token_headers.window) == (Window.DAY, Window.MINUTE)


def test_a_server_of_ones_own_gets_no_key_of_a_hub() -> None:
    assert load_profile("tgi").key_env == ()


# --- provider/model --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("openai/gpt-4o", ("openai", "gpt-4o")),
        ("siliconflow/Qwen/Qwen3-8B", ("siliconflow", "Qwen/Qwen3-8B")),
        ("ollama/qwen3:8b", ("ollama", "qwen3:8b")),
        ("local/./models/a.b.gguf", ("local", "./models/a.b.gguf")),
        (" custom/模型 ", ("custom", "模型")),
    ],
)
def test_a_model_is_what_follows_the_first_slash(text: str, parts: tuple[str, str]) -> None:
    assert parse_model(text) == parts


@pytest.mark.parametrize("text", ["", "gpt-4o", "openai", "openai/", "/gpt-4o", "/"])
def test_a_model_without_provider_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"provider/model.*custom/NAME --base-url URL"):
        parse_model(text)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("opneai/x", "openai"),
        ("OpenAI/x", "openai"),
        ("gemini/x", "gemini-compat"),
        ("doubao/x", "volcengine-ark"),
        ("qwen/x", "dashscope"),
        ("kimi/x", "moonshot"),
    ],
)
def test_an_unknown_provider_is_refused_with_the_nearest_names(text: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean .*{near}.*custom/NAME --base-url URL"):
        parse_model(text)


@pytest.mark.parametrize("name", ["../pyproject", "_general", "nowhere", "", "openai.toml"])
def test_a_name_is_never_used_as_a_path(name: str) -> None:
    with pytest.raises(UsageError, match="no provider"):
        load_profile(name)


# --- Files -----------------------------------------------------------------------------------


def test_a_file_with_everything(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        """
        [sources]
        docs = "https://example.org/errors"
        [address]
        base_url = "https://example.org/v1"
        also = ["https://example.com/v1", "https://example.net/v1"]
        chat_path = "/chat"
        [key]
        env = ["A", "B"]
        required = true
        header = "api-key"
        prefix = ""
        [limits]
        requests_per_minute = 10
        tokens_per_minute = 20
        concurrency = 3
        [limits.requests]
        window = "day"
        limit = "X-Limit"
        [request]
        token_parameter = "max_completion_tokens"
        [reply]
        reasoning = "thoughts"
        filtered = "blocked"
        retry = "broken"
        [[rules]]
        kind = "rate_limit"
        status = [429, "5xx"]
        code = "Slow*"
        text = "Too FAST"
        param = "p"
        header = { Retry-After = "*" }
        advice = "wait"
        certainty = "verified"
        source = "docs"
        [[ended]]
        model = "m"
        on = 2026-01-02
        instead = "n"
        [[prices]]
        model = "m"
        input = 1
        output = 2.5
        currency = "USD"
        on = 2026-01-02
        source = "docs"
        """,
    )
    assert profile.also == ("https://example.com/v1", "https://example.net/v1")
    assert (profile.requests_per_minute, profile.tokens_per_minute, profile.concurrency) == (10, 20, 3)
    assert profile.request_headers == LimitHeaders(Window.DAY, ("x-limit",))
    assert (profile.reasoning_fields, profile.filtered_finish, profile.retry_finish) == (
        ("thoughts",),
        ("blocked",),
        ("broken",),
    )
    assert profile.rules[0] == Rule(
        Kind.RATE_LIMIT,
        frozenset({429, *range(500, 600)}),
        ("slow*",),
        ("too fast",),
        ("p",),
        (("retry-after", "*"),),
        "wait",
        Certainty.VERIFIED,
        "https://example.org/errors",
    )
    assert profile.ended == (EndedModel("m", date(2026, 1, 2), "n"),)
    assert profile.prices == (Price("m", 1.0, 2.5, "USD", date(2026, 1, 2), "https://example.org/errors"),)


def test_a_file_needs_no_more_than_title_and_hosting(tmp_path: Path) -> None:
    assert read(tmp_path, "").chat_path == "/chat/completions"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tilte = 'X'", r"field 'tilte': is no field here; did you mean title\?"),
        ("[adress]", r"field 'adress'.*address"),
        ("[key]\nenviron = 'A'", r"field 'key.environ'.*env"),
        ("[limits.request]", r"field 'limits.request'.*requests"),
        ("[limits.requests]\nlimits = 'a'", r"field 'limits.requests.limits'.*limit"),
        ("[[rules]]\nkind='rate_limit'\nstaus=429", r"field 'rules\[1\].staus'.*status"),
        ("[[rules]]\nkind='rate_limits'\nstatus=429", r"field 'rules\[1\].kind'.*mean rate_limit\?"),
        ("[[rules]]\nstatus=429", r"field 'rules\[1\].kind': is missing"),
        ("[[rules]]\nkind='rate_limit'", r"field 'rules\[1\]': needs a condition"),
        ("[[rules]]\nkind='rate_limit'\nstatus=999", r"status': 999 is no HTTP status"),
        ("[[rules]]\nkind='rate_limit'\nstatus='6xx'", r"status': '6xx' is no HTTP status"),
        ("[[rules]]\nkind='rate_limit'\nstatus=true", r"status': must be a status"),
        ("[[rules]]\nkind='rate_limit'\nstatus=[]", r"status': is empty"),
        ("[[rules]]\nkind='rate_limit'\ncode=[]", r"code': is empty"),
        ("[[rules]]\nkind='rate_limit'\ncode=['']", r"code': must hold strings"),
        ("[[rules]]\nkind='rate_limit'\ncode=['a', 'a']", r"code': names something twice"),
        ("[[rules]]\nkind='rate_limit'\ncode='a[b]'", r"code': may hold no"),
        ("[[rules]]\nkind='rate_limit'\ncode=7", r"code': must be a string or a list"),
        ("[[rules]]\nkind='rate_limit'\nheader={a=1}", r"header': must hold strings"),
        ("[[rules]]\nkind='rate_limit'\nstatus=429\ncertainty='verified'", r"source': is missing"),
        ("[[rules]]\nkind='rate_limit'\nstatus=429\nsource='docs'", r"source': 'docs' is not in"),
        (
            "[[rules]]\nkind='rate_limit'\nstatus='4xx'\n[[rules]]\nkind='no_money'\nstatus=402",
            r"field 'rules\[2\]': can never match, because rules\[1\]",
        ),
        (
            "[[rules]]\nkind='rate_limit'\ncode='a'\n[[rules]]\nkind='rate_limit'\ncode='a'",
            r"field 'rules\[2\]': can never match, because rules\[1\]",
        ),
        ("rules = 3", r"field 'rules': must be a list of tables"),
        ("rules = [3]", r"field 'rules\[1\]': must be a table"),
        ("[key]\nrequired = 'yes'", r"key.required': must be true or false, not 'yes'"),
        ("[limits]\nconcurrency = 0", r"limits.concurrency': must be above 0"),
        ("[limits]\nconcurrency = true", r"limits.concurrency': must be a whole number"),
        ("[address]\nchat_path = 'chat'", r"address.chat_path': must begin with /"),
        ("[address]\nbase_url = 3", r"address.base_url': must be a string, not 3"),
        ("[request]\ntoken_parameter = 'max_token'", r"mean max_tokens\?"),
        ("[[ended]]\nmodel='m'\non='2026-01-02'", r"ended\[1\].on': must be a date"),
        ("[[ended]]\nmodel='m'\non=2026-01-02T00:00:00", r"ended\[1\].on': must be a date without a time"),
        (
            "[[prices]]\nmodel='m'\ninput=1\noutput=2\ncurrency='USD'\non=2026-01-02",
            r"prices\[1\].source': is missing",
        ),
        (
            "[sources]\nd='x'\n[[prices]]\nmodel='m'\ninput=-1\noutput=2\ncurrency='USD'\non=2026-01-02\nsource='d'",
            r"prices\[1\].input': must be 0 or above",
        ),
        ("[sources]\ndocs = 3", r"sources': must hold strings"),
        ("title", r"is no TOML"),
    ],
)
def test_a_wrong_file_names_the_field_and_the_nearest_right_one(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(DataError, match=message) as raised:
        read(tmp_path, text)
    assert raised.value.file == tmp_path / "x.toml"
    assert "\n" not in str(raised.value)


def test_title_and_hosting_are_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'title': is missing"):
        read(tmp_path, "", head="hosting = 'hosted'")
    with pytest.raises(DataError, match="'hosting': cannot be 'hostd'; did you mean hosted"):
        read(tmp_path, "", head="title = 'X'\nhosting = 'hostd'")


def test_a_file_that_is_not_there_or_no_utf8_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_profile(tmp_path / "none.toml", general=GENERAL)
    (tmp_path / "gbk.toml").write_bytes('title = "智谱"'.encode("gbk"))
    with pytest.raises(DataError, match="no TOML in UTF-8"):
        read_profile(tmp_path / "gbk.toml", general=GENERAL)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("Mine.toml", "mine.toml", "_general.toml", "notes.txt"):
        (tmp_path / name).write_text("")
    if len(list(tmp_path.iterdir())) < 4:
        pytest.skip("this file system does not tell upper from lower case")
    with pytest.raises(DataError, match=r"another provider of this name, Mine\.toml"):
        find_profiles(tmp_path)


def test_the_documented_file_is_right_and_every_kind_is_documented(tmp_path: Path) -> None:
    text = asset("docs", "providers.md").read_text("utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    assert read(tmp_path, example, head="").concurrency == 5
    assert [kind for kind in Kind if f"`{kind}`" not in text] == []
