from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.waits import LONGEST, http_date, parse_wait, retry_after, server_time, wait_in_words

NOW = 1_774_792_800.0  # 2026-03-29T14:00:00Z


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("12ms", 0.012),
        ("120ms", 0.12),
        ("1s", 1.0),
        ("547ms", 0.547),
        ("7.66s", 7.66),
        ("6m0s", 360.0),
        ("2m59.56s", 179.56),
        ("2m52.8s", 172.8),
        ("1h30m", 5400.0),
        ("1h30m0.5s", 5400.5),
        ("2d", 172_800.0),
        ("57.238747106s", 57.238747106),
        ("64", 64.0),
        ("0.25", 0.25),
        (".5", 0.5),
        (" 3 ", 3.0),
        ("2026-03-29T14:00:32Z", 32.0),
        ("2026-03-29t14:00:32.5z", 32.5),
        ("2026-03-29T22:00:32+08:00", 32.0),
        ("1774792832000", 32.0),
        ("1774792832", 32.0),
        ("0", None),
        ("0s", None),
        ("0ms", None),
        ("-5", None),
        ("-5s", None),
        ("nan", None),
        ("inf", None),
        ("Infinity", None),
        ("1e3", None),
        ("1_000", None),
        ("٣", None),
        ("", None),
        ("soon", None),
        ("5 parsecs", None),
        ("1.2.3s", None),
        ("2026-03-29T13:59:59Z", None),
        ("2026-13-99T14:00:00Z", None),
        ("1774792799000", None),
        ("604800", LONGEST),
        ("604801", None),
        ("999h", None),
        ("9" * 500, None),
    ],
)
def test_waits_in_every_spelling(text: str, seconds: float | None) -> None:
    assert parse_wait(text, NOW) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["2026-03-29T14:00:32Z", "1774792832000"])
def test_points_in_time_are_no_hint_without_a_clock(text: str) -> None:
    assert parse_wait(text, None) is None


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached. Please try again in 7.66s. Visit https://example.org", 7.66),
        ("Please try again in 2m59.56s.", 179.56),
        ("Please try again in 120ms.", 0.12),
        ("max organization concurrency: 1, please try again after 1 seconds", 1.0),
        ("Please retry after 6 seconds.", 6.0),
        ("Please retry in 45.83s.", 45.83),
        ("Please retry in 45.8s", 45.8),
        ("Try again in 60 seconds. Passed model=x", 60.0),
        ("try again in 2 minutes", 120.0),
        ("wait 500 milliseconds", 0.5),
        ("Please wait for 1 hour", 3600.0),
        ("请求过多，请在 5 秒后重试", 5.0),
        ("请10秒钟后再试", 10.0),
        ("Please try again later", None),
        ("try again in 0s", None),
        ("try again in 5 steps", None),
        ("try again after 2026", None),
        ("Limit 10000, Used 9000", None),
        ("", None),
    ],
)
def test_waits_in_words(message: str, seconds: float | None) -> None:
    assert wait_in_words(message) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ],
)
def test_all_three_forms_of_an_http_date(text: str) -> None:
    assert http_date(text) == 784_111_777.0


@pytest.mark.parametrize(
    "text", ["", "soon", "7", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 9994 08:49:37 +9999", "a, b:c"]
)
def test_what_is_no_date_is_no_date(text: str) -> None:
    assert http_date(text) is None


def test_the_servers_clock_counts_where_it_is_told() -> None:
    assert server_time({"date": "Sun, 06 Nov 1994 08:49:37 GMT"}, NOW) == 784_111_777.0
    assert server_time({"date": "yesterday"}, NOW) == NOW


def test_milliseconds_win_over_seconds() -> None:
    assert retry_after({"retry-after-ms": "1500.5", "retry-after": "9"}, NOW) == 1.5005


@given(st.text(max_size=30), st.floats())
def test_any_value_gives_a_usable_wait_or_none(text: str, now: float) -> None:
    for wait in (parse_wait(text, now), wait_in_words(text), retry_after({"retry-after": text}, now)):
        assert wait is None or 0 < wait <= LONGEST
