"""Probabilities of letters: which tokens are letters, where an answer begins, what lies outside."""

from __future__ import annotations

import json
from math import exp, log
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.providers import load_profile
from m3ke_async.wire.chat import parse
from m3ke_async.wire.completions import parse as parse_continuation
from m3ke_async.wire.letters import letter_in, letters_in, most_likely, outside
from tests import recorded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("token", "letter"),
    [
        ("A", "A"),
        (" A", "A"),
        ("\nB", "B"),
        ("▁C", "C"),
        ("ĠD", "D"),
        ("Ａ", "A"),
        ("（Ｂ", "B"),
        ("(A", "A"),
        ("A.", "A"),
        ("B、", "B"),
        ("**C**", "C"),
        ("d", "D"),
        ("Ⓐ", "A"),
        ("E", None),
        ("AB", None),
        ("An", None),
        ("选A", None),
        ("", None),
        (" ", None),
        ("。", None),
        ("<|im_end|>", None),
        ("А", None),
        ("1", None),
    ],
)
def test_which_tokens_are_letters(token: str, letter: str | None) -> None:
    assert letter_in(token) == letter


def chat(*positions: tuple[str, dict[str, float]]) -> dict[str, Any]:
    return {
        "content": [
            {
                "token": token,
                "logprob": log(top.get(token, 0.5)),
                "top_logprobs": [{"token": other, "logprob": log(share)} for other, share in top.items()],
            }
            for token, top in positions
        ]
    }


def test_tokens_of_one_letter_add_up() -> None:
    found = letters_in(chat(("A", {"A": 0.4, " A": 0.1, "a": 0.05, "B": 0.2, "答案": 0.15})))
    assert found == (0.55, 0.2, 0.0, 0.0)
    assert most_likely(found) == "A"
    assert outside(found) == pytest.approx(0.25)


def test_the_likeliest_letter_need_not_be_the_token_that_was_written() -> None:
    found = letters_in(chat(("答案", {"答案": 0.6, "C": 0.2, "B": 0.1})))
    assert found is not None
    assert most_likely(found) == "C"
    assert outside(found) == pytest.approx(0.7)


@pytest.mark.parametrize("begin", ["\n", " ", "（", "\n\n", "▁", "**"])
def test_an_answer_begins_where_something_is_said(begin: str) -> None:
    found = letters_in(chat((begin, {begin: 0.9, "A": 0.1}), ("B", {"B": 0.8, "A": 0.1})))
    assert found == (0.1, 0.8, 0.0, 0.0)


def test_no_letter_and_a_tie_choose_nothing() -> None:
    assert most_likely((0.0, 0.0, 0.0, 0.0)) is None
    assert most_likely((0.3, 0.3, 0.1, 0.0)) is None
    assert letters_in(chat(("我", {"我": 0.5, "你": 0.3}))) == (0.0, 0.0, 0.0, 0.0)
    assert letters_in(chat(("\n", {"\n": 0.9, "A": 0.1}))) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        [],
        "A",
        {"content": None},
        {"content": [None, 5, {}]},
        {"content": [{"token": "A", "logprob": -0.1}]},
        {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": []}]},
        chat(("A", {"A": 0.9})),  # the written token alone tells nothing of the others
        {"tokens": ["A"], "top_logprobs": None},
        {"tokens": ["A"], "top_logprobs": [None]},
    ],
)
def test_without_alternatives_there_are_no_probabilities(value: Any) -> None:
    assert letters_in(value) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["content", "tokens", "token", "text", "logprob", "top_logprobs", "top_tokens", "A"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_whatever_comes_the_shares_are_shares(value: Any) -> None:
    found = letters_in(value)
    assert found is None or (len(found) == 4 and all(0 <= share <= 1 for share in found))


def test_the_forms_of_completions_and_of_tgi() -> None:
    plain = {"tokens": [" B"], "token_logprobs": [-0.1], "top_logprobs": [{" B": log(0.7), " A": log(0.2)}]}
    assert letters_in(plain) == (0.2, 0.7, 0.0, 0.0)
    details = {
        "tokens": [{"id": 1, "text": "D", "logprob": -0.1, "special": False}],
        "top_tokens": [[{"text": "D", "logprob": log(0.6)}, {"text": "C", "logprob": log(0.3)}]],
    }
    assert letters_in(details) == (0.0, 0.0, 0.3, 0.6)


@pytest.mark.parametrize("server", [recorded.VLLM, recorded.LLAMACPP])
def test_recorded_probabilities_of_a_chat(shared: Path, server: str) -> None:
    reply = parse(recorded.body(shared, server, "chat logprobs"), load_profile("custom"))
    assert reply is not None
    assert reply.letters is not None
    top = recorded.probe(shared, server, "chat logprobs")["body"]["choices"][0]["logprobs"]["content"][0]
    wanted = {entry["token"]: entry["logprob"] for entry in top["top_logprobs"]}
    for letter, share in zip("ABCD", reply.letters, strict=True):
        assert share == pytest.approx(exp(wanted[letter]), abs=1e-6)
    assert most_likely(reply.letters) == "A"
    assert 0 <= outside(reply.letters) < 0.1


def test_recorded_probabilities_of_a_continuation(shared: Path) -> None:
    raw = recorded.body(shared, recorded.VLLM, "comp logprobs 5")
    reply = parse_continuation(raw, load_profile("custom"))
    assert reply is not None
    assert reply.letters == (0.0, 0.0, 0.0, 0.0)  # it goes on with the capital's name


def test_a_server_that_drops_the_wish_gives_none(shared: Path) -> None:
    raw = recorded.body(shared, recorded.TRANSFORMERS, "chat logprobs")
    reply = parse(raw, load_profile("custom"))
    assert reply is not None
    assert reply.letters is None


def test_a_reply_without_text_counts_by_its_probabilities() -> None:
    answer = {
        "choices": [
            {
                "message": {"role": "assistant", "content": ""},
                "finish_reason": "stop",
                "logprobs": chat(("<|im_end|>", {"<|im_end|>": 0.6, "A": 0.3})),
            }
        ]
    }
    reply = parse(json.dumps(answer).encode(), load_profile("custom"))
    assert reply is not None
    assert reply.letters == (0.3, 0.0, 0.0, 0.0)
