from __future__ import annotations

import json
from typing import Any

import pytest

from m3ke_async.error_body import ErrorBody, find_error, load_json, read_body


def read(body: Any, *, success: bool = False) -> ErrorBody:
    return read_body(body if isinstance(body, bytes) else json.dumps(body).encode(), success=success)


@pytest.mark.parametrize(
    ("body", "message", "codes"),
    [
        ({"error": {"message": "m", "type": "t", "param": None, "code": "c"}}, "m", ("c", "t")),
        ({"error": {"message": "m", "code": 404}}, "m", ("404",)),
        ({"error": {"message": "m", "code": None}}, "m", ()),
        ({"error": "m"}, "m", ()),
        ({"error": "m", "error_type": "overloaded"}, "m", ("overloaded",)),
        ({"object": "error", "message": "m", "type": "t", "code": "1300"}, "m", ("1300", "t")),
        ({"code": 20012, "message": "m", "data": None}, "m", ("20012",)),
        ({"detail": "m"}, "m", ()),
        ({"detail": [{"loc": ["body", "seed"], "msg": "m", "type": "t"}]}, "seed: m", ("t",)),
        ([{"error": {"code": 429, "message": "m", "status": "S"}}], "m", ("429", "S")),
        ({"base_resp": {"status_code": 1002, "status_msg": "m"}}, "m", ("1002",)),
        ({"error_code": 17, "error_msg": "m"}, "m", ("17",)),
        ({"choices": [{"error": {"code": 502, "message": "m"}}]}, "m", ("502",)),
        ({"Response": {"Error": {"Code": "C", "Message": "m"}}}, "m", ("C",)),
        ({"errors": [{"code": 7, "message": "m"}], "success": False}, "m", ("7",)),
        ({"error": {"message": {"error": "m"}}}, "m", ()),
        ("m", "m", ()),
        (b"m", "m", ()),
        (b"<html><head><title>502 Bad\nGateway</title>", "502 Bad\nGateway", ("web_page",)),
        (b"", "", ()),
        (b"[]", "", ()),
        (b"null", "", ()),
        (b"\n\n  " + b'{"error": {"message": "m"}}', "m", ()),
        (b"\xef\xbb\xbf" + b'{"error": {"message": "m"}}', "m", ()),
        (b'{"error": {"message": "m", "code": "c", "x": NaN}}', "m", ("c",)),
        (b'{"error": {"message": "m \\ud83d", "code": "c"}}', "m \\ud83d", ("c",)),
        # A gateway that writes GBK: the words are spoilt, the code is not.
        (
            '{"error": {"code": "1301", "message": "敏感"}}'.encode("gbk"),
            "\ufffd\ufffd\ufffd\ufffd",
            ("1301",),
        ),
    ],
    ids=repr,
)
def test_every_shape_of_an_error(body: Any, message: str, codes: tuple[str, ...]) -> None:
    error = read(body)
    assert (error.message, error.codes) == (message, codes)


@pytest.mark.parametrize(
    "body",
    [
        {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None},
        {"error_code": 110, "error_msg": "Access token invalid"},
        {"error": {"message": "m"}},
        {"choices": [{"message": None, "error": {"code": 502}}]},
        {"choices": [{"message": {"content": "A"}}], "base_resp": {"status_code": 1027}},
    ],
)
def test_errors_inside_success_are_found(body: dict[str, Any]) -> None:
    assert find_error(body) is not None


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"content": "A"}}]},
        {"choices": [{"message": {"content": "A"}}], "error": None, "errors": []},
        {"choices": [{"message": {"content": "A"}}], "base_resp": {"status_code": 0}, "error_code": 0},
        {"choices": [], "message": "x", "code": 1},
        {},
    ],
)
def test_replies_are_no_errors(body: dict[str, Any]) -> None:
    assert find_error(body) is None


@pytest.mark.parametrize(
    ("body", "lacking"),
    [
        (b"", "malformed"),
        (b'{"choices": [', "malformed"),
        (b"<!doctype html>", "web_page"),
        ({"choices": []}, "no_choices"),
        ({"choices": [{"message": None}]}, "no_choices"),
        ({"choices": [{"message": {"content": None}}]}, "empty"),
        ({"choices": [{"message": {"content": "", "tool_calls": []}}]}, "empty"),
        ({"choices": [{"message": {"content": [{"type": "text", "text": ""}]}}]}, "empty"),
        ({"choices": [{"message": {"content": None, "tool_calls": [{"id": "1"}]}}]}, "tool_call"),
        ({"choices": [{"message": {"content": "", "function_call": {"name": "f"}}}]}, "tool_call"),
        ({"choices": [{"message": {"content": None, "audio": {"data": "AAA="}}}]}, "not_text"),
        ({"choices": [{"message": {"content": [{"type": "image_url", "image_url": {}}]}}]}, "not_text"),
        ({"choices": [{"message": {"content": "", "reasoning_content": "hm"}}]}, "only_reasoning"),
        ({"choices": [{"message": {"content": None, "reasoning": "hm"}}]}, "only_reasoning"),
        ({"choices": [{"message": {"content": [{"type": "thinking", "thinking": []}]}}]}, "only_reasoning"),
        (b'{"choices": [{"message": {"content": "\xb4\xf0\xb0\xb8B"}}]}', "malformed"),
        (b'{"choices": [{"message": {"content": "", "id": "\xff"}}]}', "malformed"),
        ('{"choices": [{"message": {"content": "", "id": "\ufffd"}}]}'.encode(), "empty"),
    ],
)
def test_what_a_success_lacks(body: Any, lacking: str) -> None:
    assert read(body, success=True).codes == (lacking,)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"error": {"message": "m", "param": "temperature"}}, "temperature"),
        ({"error": {"message": "m", "param": "body.temperature"}}, "temperature"),
        ({"error": {"message": "m", "param": "body.28"}}, None),
        ({"error": {"message": "m", "param": "body"}}, None),
        ({"error": {"message": "m", "param": ""}}, None),
        ({"error": {"message": "m", "param": 3}}, None),
        ({"detail": [{"loc": ["body"], "msg": "m"}, {"loc": ["body", "seed"], "msg": "m"}]}, "seed"),
    ],
)
def test_the_parameter_that_is_complained_about(body: Any, param: str | None) -> None:
    assert read(body).param == param


@pytest.mark.parametrize(
    ("code", "status"), [(429, 429), ("502", 502), (1002, None), ("c", None), (200, None), (True, None)]
)
def test_the_status_that_the_body_names(code: Any, status: int | None) -> None:
    assert read({"error": {"message": "m", "code": code}}).status == status


def test_nested_places_are_searched_and_others_are_not() -> None:
    error = read(
        {
            "error": {
                "code": "content_filter",
                "message": "m",
                "innererror": {"code": "Inner", "elsewhere": {"code": "hidden"}},
                "details": [{"reason": "R", "violations": [{"quotaId": "PerDay"}]}, {"retryDelay": "5s"}],
                "metadata": {"reasons": ["violence"], "limit_source": "key"},
            }
        }
    )
    assert set(error.codes) == {"content_filter", "Inner", "R", "PerDay", "key", "reasons", "limit_source"}
    assert error.retry_delay == "5s"


def test_long_and_many_codes_are_bounded() -> None:
    error = read(
        {
            "error": {
                "message": "x" * 10_000,
                "code": "y" * 1000,
                "metadata": dict.fromkeys(map(str, range(99))),
            }
        }
    )
    assert len(error.message) == 4000
    assert len(error.codes) == 32
    assert "y" * 1000 not in error.codes


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 3000, "", "{", b"\xff"])
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        load_json(text)
