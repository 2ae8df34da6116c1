from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.request import ChatRequest, Reply, canonical_body, dump_json

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "甲，乙？"}],
    "temperature": 0,
    "max_tokens": 64,
}


def key(
    body: dict[str, Any], *, provider: str = "vllm", base_url: str = "http://a/v1", sample: int = 0
) -> bytes:
    return ChatRequest(provider, base_url, canonical_body(body), sample).key


def asked(content: str) -> dict[str, Any]:
    return BODY | {"messages": [{"role": "user", "content": content}]}


# One request, one key


def test_zero_is_the_same_number_in_both_spellings() -> None:
    assert (
        key(BODY | {"temperature": 0})
        == key(BODY | {"temperature": 0.0})
        == key(BODY | {"temperature": -0.0})
    )
    assert key(BODY | {"temperature": 1}) == key(BODY | {"temperature": 1.0})


def test_the_order_of_the_bodys_keys_makes_no_difference() -> None:
    assert key(BODY) == key(dict(reversed(BODY.items())))
    extra = {"extra_body": {"top_k": 1, "min_p": {"b": 2, "a": 1}}}
    turned = {"extra_body": {"min_p": {"a": 1, "b": 2}, "top_k": 1}}
    assert key(BODY | extra) == key(turned | BODY)


def test_whatever_differs_in_what_is_asked_makes_another_key() -> None:
    shots = {
        "messages": [
            {"role": "user", "content": "例？"},
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": "甲，乙？"},
        ]
    }
    absent = {name: value for name, value in BODY.items() if name != "temperature"}
    keys = {
        "plain": key(BODY),
        "no temperature": key(absent),
        "null temperature": key(BODY | {"temperature": None}),
        "temperature 1": key(BODY | {"temperature": 1}),
        "temperature 0.1": key(BODY | {"temperature": 0.1}),
        "max_tokens": key(BODY | {"max_tokens": 16}),
        "other token field": key(
            {**absent, "temperature": 0, "max_completion_tokens": 64, "max_tokens": None}
        ),
        "seed 0": key(BODY | {"seed": 0}),
        "model": key(BODY | {"model": "M"}),
        "comma": key(asked("甲,乙？")),
        "blank": key(asked("甲，乙？ ")),
        "system": key(BODY | {"messages": [{"role": "system", "content": ""}, *BODY["messages"]]}),
        "shots": key(BODY | shots),
        "role": key(BODY | {"messages": [{"role": "system", "content": "甲，乙？"}]}),
        "provider": key(BODY, provider="sglang"),
        "base_url": key(BODY, base_url="http://b/v1"),
        "sample": key(BODY, sample=1),
    }
    for one, other in combinations(keys, 2):
        assert keys[one] != keys[other], (one, other)


def test_neighbouring_parts_cannot_run_into_each_other() -> None:
    body = canonical_body(BODY)
    assert ChatRequest("ab", "c", body).key != ChatRequest("a", "bc", body).key
    assert ChatRequest("a", "b", body, 11).key != ChatRequest("a", "b1", body, 1).key


def test_the_key_is_the_same_in_every_process_and_version() -> None:
    """Stored replies are found by it: a change here would ask, and bill, everything again."""
    assert key(BODY).hex() == "cd4b73cbc68153452db6a6461764bee2"


def test_the_prompts_length_is_no_part_of_the_identity() -> None:
    one, two = ChatRequest("a", "b", b"{}", prompt_chars=1), ChatRequest("a", "b", b"{}", prompt_chars=2)
    assert one == two
    assert one.key == two.key


def test_a_key_has_sixteen_bytes() -> None:
    assert len(key(BODY)) == 16


# The body is what is sent


def test_a_temperature_of_zero_is_sent_and_an_absent_one_is_not() -> None:
    assert json.loads(canonical_body(BODY))["temperature"] == 0
    assert b'"temperature":0,' in canonical_body(BODY | {"temperature": 0.0, "top_p": 1})
    assert b"temperature" not in canonical_body({"model": "m"})


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()))
def test_the_body_says_what_was_given(body: dict[str, Any]) -> None:
    escaped = json.loads(json.dumps(body).encode("utf-8", "backslashreplace"))
    assert json.loads(canonical_body(body)) == escaped


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    raw = canonical_body(asked("坏\ud83d尾"))
    assert raw.decode()  # it is UTF-8
    assert json.loads(raw)["messages"][0]["content"] == "坏\\ud83d尾"


def test_json_of_real_characters_is_not_escaped() -> None:
    assert dump_json({"字": "𠮷①😀\ufffd"}) == '{"字":"𠮷①😀\ufffd"}'.encode()
    assert dump_json({"b": 1, "a": 2}, sort=True) == b'{"a":2,"b":1}'


# Replies


@pytest.mark.parametrize(
    ("finish", "filtered"), [("content_filter", True), ("stop", False), ("length", False), (None, False)]
)
def test_a_reply_knows_whether_the_filter_took_its_place(finish: str | None, *, filtered: bool) -> None:
    assert Reply("", finish_reason=finish).filtered is filtered
