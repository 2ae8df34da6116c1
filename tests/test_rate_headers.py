from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.providers import load_profile, profile_names
from m3ke_async.rate_headers import NOTHING, Limits, observed_limits, reset_wait

load = cache(load_profile)
OPENAI = {
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-limit-tokens": "150000",
    "x-ratelimit-remaining-requests": "59",
    "x-ratelimit-remaining-tokens": "149984",
    "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-reset-tokens": "6m0s",
}


@pytest.mark.parametrize(
    ("provider", "headers", "limits"),
    [
        ("openai", OPENAI, Limits(60, 59, 1.0, 150_000, 149_984, 360.0)),
        ("openai", {"x-ratelimit-limit-tokens_usage_based": "7"}, NOTHING),
        # The same names as OpenAI's, but the requests are those of a day.
        ("groq", OPENAI, Limits(None, None, None, 150_000, 149_984, 360.0)),
        (
            "azure-openai",
            {"x-ratelimit-remaining-tokens": "-27689", "x-ratelimit-reset-tokens": "64"},
            Limits(remaining_tokens=0, reset_tokens_s=64.0),
        ),
        (
            "mistral",
            {
                "x-ratelimit-limit-req-minute": "60",
                "x-ratelimit-remaining-req-minute": "58",
                "x-ratelimit-limit-tokens-minute": "500000",
                "x-ratelimit-limit-tokens-month": "1000000000",
            },
            Limits(requests_per_minute=60, remaining_requests=58, tokens_per_minute=500_000),
        ),
        (
            "anthropic-compat",
            {
                "date": "Sun, 29 Mar 2026 14:00:00 GMT",
                "anthropic-ratelimit-requests-limit": "50",
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-03-29T14:00:32Z",
                "anthropic-ratelimit-input-tokens-limit": "30000",
            },
            Limits(50, 0, 32.0, 30_000, None, None),
        ),
        ("anthropic-compat", OPENAI, Limits(60, 59, 1.0, 150_000, 149_984, 360.0)),
        ("openrouter", {"x-ratelimit-limit": "20", "x-ratelimit-remaining": "0"}, NOTHING),
        ("vllm", OPENAI, NOTHING),
        ("custom", {"x-ratelimit-limit-requests": "6000"}, Limits(requests_per_minute=6000)),
        ("custom", {}, NOTHING),
        # 0 would stop everything for ever; the refusal itself says so.
        ("custom", {"x-ratelimit-limit-requests": "0"}, NOTHING),
        ("custom", {"x-ratelimit-limit-requests": "many"}, NOTHING),
        ("custom", {"x-ratelimit-limit-requests": "9" * 5000}, NOTHING),
    ],
)
def test_limits_by_the_names_of_the_provider(provider: str, headers: dict[str, str], limits: Limits) -> None:
    assert observed_limits(load(provider), headers) == limits


def test_a_reset_that_is_a_point_in_time_needs_a_clock() -> None:
    headers = {"anthropic-ratelimit-requests-reset": "2026-03-29T14:00:32Z"}
    profile = load("anthropic-compat")
    assert observed_limits(profile, headers) == NOTHING
    assert observed_limits(profile, headers, now=1_774_792_800.0).reset_requests_s == 32.0


def test_the_larger_reset_is_the_wait() -> None:
    assert reset_wait(load("openai"), OPENAI, 0.0) == 360.0
    assert reset_wait(load("openai"), {"x-ratelimit-reset-requests": "0s"}, 0.0) is None


def test_openrouters_reset_in_milliseconds_counts_when_nothing_remains() -> None:
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1774792832000"}
    assert reset_wait(load("openrouter"), headers, 1_774_792_800.0) == 32.0
    assert reset_wait(load("openrouter"), {**headers, "x-ratelimit-remaining": "3"}, 1.0) is None


@given(
    st.sampled_from(profile_names()),
    st.dictionaries(st.sampled_from([*OPENAI, "date"]), st.text(max_size=10)),
)
def test_no_headers_raise(provider: str, headers: dict[str, str]) -> None:
    limits = observed_limits(load(provider), headers)
    assert limits.requests_per_minute is None or limits.requests_per_minute > 0
    assert limits.remaining_tokens is None or limits.remaining_tokens >= 0
