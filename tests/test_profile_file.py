"""A provider's file: what it may hold, and how each mistake in it is told."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from m3ke_async.assets import asset
from m3ke_async.errors import DataError
from m3ke_async.profile import (
    BatchApi,
    BatchKind,
    Constraint,
    EndedModel,
    Fact,
    LimitHeaders,
    Logprobs,
    ModelPrice,
    Parameters,
    Profile,
    ProtocolName,
    Support,
    Thinking,
    UnknownFields,
    UsageFields,
    Window,
)
from m3ke_async.profile_file import read_profile
from m3ke_async.rules import Certainty, Kind, Rule

if TYPE_CHECKING:
    from pathlib import Path

GENERAL = asset("providers", "_general.toml")


def read(folder: Path, text: str, *, head: str = 'title = "X"\nhosting = "hosted"\n') -> Profile:
    path = folder / "x.toml"
    path.write_text(head + text, "utf-8")
    return read_profile(path, general=GENERAL)


def test_a_file_with_everything(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        """
        protocols = ["completions", "chat"]
        [sources]
        docs = "https://example.org/errors"
        [address]
        base_url = "https://example.org/v1"
        also = ["https://example.com/v1", "https://example.net/v1"]
        chat_path = "/chat"
        forms = ["https://NAME.example.org/v1"]
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
        accepts = ["temperature", "stop"]
        ignores = "seed"
        refuses = "logit_bias"
        unknown = "refused"
        certainty = "measured"
        source = "docs"
        [[thinking]]
        model = "Deep*"
        on = { thinking = { type = "enabled", budget = 5 } }
        off = {}
        [[thinking]]
        off = { think = false }
        certainty = "secondary"
        [constrain]
        forms = ["grammar", "regex"]
        [logprobs]
        support = "yes"
        top = 20
        [usage]
        cached = "hits"
        reasoning = ["details.thoughts"]
        cost = "cost"
        [batch]
        kind = "files"
        path = "/batches"
        url = "/v1/chat/completions"
        max_requests = 50_000
        max_bytes = 200_000_000
        discount = 0.5
        window_hours = 24
        on = 2026-11-29
        purpose = "evals"
        upload = "/files/upload"
        form = { file_name = "{name}" }
        until = "/deployments/"
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
        elsewhere = ["azure-openai", "openrouter"]
        [[prices]]
        model = "m"
        input = 1
        output = 2.5
        currency = "USD"
        on = 2026-01-02
        source = "docs"
        """,
    )
    assert profile.forms == ("https://NAME.example.org/v1",)
    assert profile.file == tmp_path / "x.toml"
    assert profile.protocols == (ProtocolName.COMPLETIONS, ProtocolName.CHAT)
    assert profile.parameters == Parameters(
        ("temperature", "stop"), ("seed",), ("logit_bias",), UnknownFields.REFUSED
    )
    assert profile.thinking == (
        Thinking(("deep*",), {"thinking": {"type": "enabled", "budget": 5}}, {}),
        Thinking(("*",), None, {"think": False}, Certainty.SECONDARY),
    )
    assert profile.constraints == (Constraint.GRAMMAR, Constraint.REGEX)
    assert profile.logprobs == Logprobs(Support.YES, 20)
    assert profile.usage == UsageFields(("hits",), ("details.thoughts",), ("cost",))
    assert profile.batch == BatchApi(
        BatchKind.FILES,
        "/batches",
        "/v1/chat/completions",
        purpose="evals",
        upload="/files/upload",
        form={"file_name": "{name}"},
        until="/deployments/",
        max_requests=50_000,
        max_bytes=200_000_000,
        discount=0.5,
        window_hours=24,
        on=date(2026, 11, 29),
    )
    assert Fact("request", Certainty.MEASURED, "https://example.org/errors") in profile.facts
    assert Fact("batch", Certainty.RECALLED) in profile.facts
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
    assert profile.ended == (EndedModel("m", date(2026, 1, 2), "n", ("azure-openai", "openrouter")),)
    assert profile.prices == (
        ModelPrice("m", 1.0, 2.5, "USD", date(2026, 1, 2), "https://example.org/errors"),
    )


def test_a_file_needs_no_more_than_title_and_hosting(tmp_path: Path) -> None:
    profile = read(tmp_path, "")
    assert (profile.chat_path, profile.protocols, profile.facts) == (
        "/chat/completions",
        (ProtocolName.CHAT,),
        (),
    )


def test_thinking_is_switched_as_the_first_table_that_fits_the_model_says(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        """
        [[thinking]]
        model = ["*DeepSeek-v3*", "granite*"]
        on = { thinking = true }
        [[thinking]]
        model = "qwen3*"
        off = { enable_thinking = false }
        """,
    )
    deepseek, granite = (profile.thinking_of(name) for name in ("deepseek-ai/DeepSeek-V3.1", "granite-4"))
    assert deepseek == granite
    assert deepseek is not None
    assert (deepseek.on, deepseek.off) == ({"thinking": True}, None)
    assert profile.thinking_of("Qwen3-8B") == profile.thinking[1]
    assert profile.thinking_of("qwen2") is None


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
        ("[[rules]]\nkind='rate_limit'\nstatus=100", r"status': 100 is no HTTP status"),
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
        (
            (
                "[[rules]]\nkind='overload'\nstatus=429\n[[rules]]\nkind='overload'\nstatus=430\n[[rules]]\n"
                "kind='no_money'\nstatus=[429, 430]"
            ),
            r"field 'rules\[3\]': can never match, because rules\[1\] and rules\[2\] are asked before",
        ),
        (
            "[[rules]]\nkind='rate_limit'\nheader={'x a'='1'}",
            r"header': 'x a' is no name of a header; a rule with it can never match",
        ),
        ("[[rules]]\nkind='rate_limit'\ncode='web_page'\ntext='a'", r"rules\[1\].text': can never match"),
        ("rules = 3", r"field 'rules': must be a list of tables"),
        ("rules = [3]", r"field 'rules\[1\]': must be a table"),
        ("[key]\nrequired = 'yes'", r"key.required': must be true or false, not 'yes'"),
        ("[limits]\nconcurrency = 0", r"limits.concurrency': must be above 0"),
        ("[limits]\nconcurrency = true", r"limits.concurrency': must be a whole number"),
        ("[address]\nchat_path = 'chat'", r"address.chat_path': must begin with /"),
        ("[address]\nbase_url = 3", r"address.base_url': must be a string, not 3"),
        ("[request]\ntoken_parameter = 'max_token'", r"mean max_tokens\?"),
        ("protocols = 'chats'", r"protocols': cannot be 'chats'; did you mean chat\?"),
        ("protocols = []", r"protocols': is empty; leave it out"),
        ("[request]\naccept = 'stop'", r"request.accept'.*did you mean accepts\?"),
        (
            "[request]\naccepts = 'n'\nrefuses = 'n'",
            r"request.refuses': has 'n', which is in accepts as well",
        ),
        ("[request]\nunknown = 'dropped'", r"request.unknown': cannot be 'dropped'"),
        ("[[thinking]]\nmodel = 'a'", r"thinking\[1\]': needs `on`, `off` or both"),
        ("[[thinking]]\non = true", r"thinking\[1\].on': must be a table of fields"),
        ("[[thinking]]\non = {a = 2026-01-02}", r"thinking\[1\].on': holds something that JSON has not"),
        ("[[thinking]]\non = {a = nan}", r"thinking\[1\].on': holds something that JSON has not"),
        ("[[thinking]]\nOn = {}", r"thinking\[1\].On': is no field here; did you mean on\?"),
        (
            (
                "[[thinking]]\nmodel='a*'\noff={}\n[[thinking]]\nmodel='b'\noff={}\n"
                "[[thinking]]\nmodel=['b', 'ab*']\noff={}"
            ),
            r"thinking\[3\].model': can never match",
        ),
        ("[constrain]\nforms = 'guided_choices'", r"constrain.forms'.*did you mean guided_choice\?"),
        ("[logprobs]\nsupport = true", r"logprobs.support': must be a string, not True"),
        ("[logprobs]\nsupport = 'no'\ntop = 5", r"logprobs.top': is of no use"),
        ("[usage]\ncache = 'a'", r"usage.cache'.*cached"),
        ("[batch]\npath = '/b'", r"batch.kind': is missing"),
        ("[batch]\nkind = 'files'\npath = 'b'", r"batch.path': must begin with /"),
        ("[batch]\nkind = 'files'\ndiscount = 50", r"batch.discount': must be between 0 and 1"),
        ("[address]\nbase_url = 'host:8000/v1'", r"address.base_url': must be an http or https address"),
        ("[address]\nalso = ['https://a/v1', 'ftp://b']", r"address.also': must be an http or https"),
        ("[address]\nbase_url = 'https://u:p4ss@h/v1'", r"address.base_url': must hold no user"),
        ("[address]\nbase_url = 'https://h/v1?key=abc'", r"address.base_url': must hold no user"),
        ("[key]\nheader = 'api key'", r"key.header': 'api key' is no name of a header"),
        ("[[ended]]\nmodel='m'\non=2026-01-02\n[[ended]]\nmodel='m'\non=2026-01-03", r"'m' is there twice"),
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
        ("title", r"not valid TOML"),
    ],
)
def test_a_wrong_file_names_the_field_and_the_nearest_right_one(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(DataError, match=message) as raised:
        read(tmp_path, text)
    assert raised.value.file == tmp_path / "x.toml"
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "[key]\nenv = 'sk-SENTINEL12345678'",
        "[key]\nenv = 'SEN-TINEL'",
        "key = 'SENTINEL'",
        "[key]\nSK='SENTINEL'",
    ],
)
def test_a_key_in_the_file_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="key") as raised:
        read(tmp_path, text)
    assert "TINEL" not in str(raised.value)


def test_title_and_hosting_are_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'title': is missing"):
        read(tmp_path, "", head="hosting = 'hosted'")
    with pytest.raises(DataError, match="'title': is empty"):
        read(tmp_path, "", head="title = ' '\nhosting = 'hosted'")
    with pytest.raises(DataError, match="'hosting': cannot be 'hostd'; did you mean hosted"):
        read(tmp_path, "", head="title = 'X'\nhosting = 'hostd'")


def test_a_file_that_is_not_there_or_no_utf8_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_profile(tmp_path / "none.toml", general=GENERAL)
    (tmp_path / "gbk.toml").write_bytes('title = "智谱"'.encode("gbk"))
    with pytest.raises(DataError, match="not UTF-8 at byte 9"):
        read_profile(tmp_path / "gbk.toml", general=GENERAL)


def test_the_documented_file_is_right_and_every_kind_is_documented(tmp_path: Path) -> None:
    text = asset("docs", "providers.md").read_text("utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    assert read(tmp_path, example, head="").concurrency == 5
    assert [kind for kind in Kind if f"`{kind}`" not in text] == []
