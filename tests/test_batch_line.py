"""Lines of batch files, and what providers say of batches, in all the forms that are known."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from m3ke_async.batch.line import ResultLine, prompt_chars, read_result, request_line
from m3ke_async.batch.remote import RemoteBatch, RemoteFile, page_of
from m3ke_async.batch.request_files import Filling
from m3ke_async.profile import BatchApi, BatchKind
from m3ke_async.request import ChatRequest, canonical_body

BODY = {"choices": [{"message": {"content": "A"}}]}
ERROR = {"message": "no", "code": "bad"}


def test_a_request_line_holds_the_key_and_the_very_body() -> None:
    body = canonical_body({"model": "m", "messages": [{"role": "user", "content": "\u2028选 \ud800"}]})
    request = ChatRequest("openai", "https://host/v1", body)
    line = request_line(request, "/v1/chat/completions")
    assert line.endswith(b'"body":' + body + b"}\n")
    assert line.count(b"\n") == 1
    assert orjson.loads(line)["custom_id"] == request.key.hex()
    assert prompt_chars(line) == (request.key, len("\u2028选 \\ud800"))
    assert prompt_chars(line[:20]) is None


@pytest.mark.parametrize(
    ("line", "status", "body", "asked"),
    [
        ({"response": {"status_code": 200, "body": BODY}, "error": None}, 200, BODY, True),
        ({"response": {"body": BODY}}, 200, BODY, True),
        ({"response": BODY}, 200, BODY, True),
        ({"response": {"status_code": 200, "body": orjson.dumps(BODY).decode()}}, 200, BODY, True),
        ({"response": {"status_code": 400, "body": {"error": ERROR}}}, 400, {"error": ERROR}, True),
        ({"response": {"status_code": 429}, "error": ERROR}, 429, {"error": ERROR}, True),
        ({"response": None, "error": ERROR}, 200, {"error": ERROR}, True),
        ({"error": "overloaded"}, 200, {"error": "overloaded"}, True),
        ({"response": {"body": BODY}, "error": {"code": None, "message": None}}, 200, BODY, True),
        ({"response": {"body": {"choices": []}}, "error": ERROR}, 200, {"error": ERROR}, True),
        ({"error": {"code": "batch_expired"}}, 200, {"error": {"code": "batch_expired"}}, False),
        ({"error": {"code": "batch_cancelled"}}, 200, {"error": {"code": "batch_cancelled"}}, False),
        ({"response": {"status_code": "x", "body": 3}}, 200, 3, True),
        ({"response": [], "error": []}, 200, None, True),
    ],
)
def test_results_in_their_forms(line: dict[str, Any], status: int, body: Any, *, asked: bool) -> None:
    found = read_result(orjson.dumps({"custom_id": "ab", **line}))
    assert found is not None
    assert (found.status, orjson.loads(found.body), found.asked) == (status, body, asked)
    assert found.key == b"\xab"


_DEEP = b"[" * 300 + b"]" * 300


@pytest.mark.parametrize(
    "raw",
    [
        b'{"custom_id": "ab", "method": "POST", "url": "/v1/chat/completions", "body": {}}',
        *(b"", b"{", b"[]", b"3", b'{"custom_id": 3}', b"\xff\xfe", b"[" * 100_000),
        b'{"custom_id": "ab", "response": {"body": %b}}' % _DEEP,
        b'{"custom_id": "ab", "error": %b}' % _DEEP,
        b'{"custom_id": "ab", "response": {"body": {"a": NaN, "b": %b}}}' % (b"9" * 30),
    ],
)
def test_what_is_no_line_is_none(raw: bytes) -> None:
    assert read_result(raw) is None


@pytest.mark.parametrize("custom_id", ["", "zz", "../x", "ａｂ"])
def test_a_custom_id_that_is_no_key_finds_nothing(custom_id: str) -> None:
    assert not ResultLine(custom_id, 200, b"").key


@pytest.mark.parametrize(
    ("table", "batch"),
    [
        (
            {"id": "b", "status": "in_progress", "request_counts": {"total": 4, "completed": 1, "failed": 1}},
            RemoteBatch("b", "in_progress", total=4, done=2, answered=1),
        ),
        (
            {"id": "b", "status": "completed", "request_counts": {"completed": "4", "failed": 0}},
            RemoteBatch("b", "completed", done=0),
        ),
        ({"id": "b", "status": "completed", "input_file_id": ["f"]}, RemoteBatch("b", "completed")),
        ({"job": {"id": "b", "status": "COMPLETED"}}, RemoteBatch("b", "completed")),
        ({"id": "b", "status": "in_queue", "request_counts": None}, RemoteBatch("b", "in_queue")),
        (
            {
                "id": "b",
                "status": "expired",
                "expired_at": 7,
                "input_file_id": "f",
                "output_file_id": "",
                "error_file_id": "e",
            },
            RemoteBatch("b", "expired", "f", ("e",), ended_at=7.0),
        ),
        ({"id": "b", "status": "in\n" + "x" * 90}, RemoteBatch("b", "in " + "x" * 56 + "…")),
        (
            {"id": "b", "status": "failed", "error": "bad file"},
            RemoteBatch("b", "failed", trouble="bad file"),
        ),
        (
            {"id": "b", "status": "failed", "errors": {"data": [{"code": "c", "line": 2, "message": "m"}]}},
            RemoteBatch("b", "failed", trouble="c: line 2: m"),
        ),
    ],
)
def test_batches_in_their_forms(table: dict[str, Any], batch: RemoteBatch) -> None:
    assert RemoteBatch.from_json(table) == batch


@pytest.mark.parametrize("word", ["completed", "COMPLETED", "expired", "cancelled", "failed"])
def test_a_batch_has_ended_by_any_of_these_words(word: str) -> None:
    assert RemoteBatch.from_json({"id": "b", "status": word}).is_ended


@pytest.mark.parametrize("word", ["validating", "in_queue", "in_progress", "finalizing", "cancelling", "new"])
def test_other_words_mean_that_it_goes_on(word: str) -> None:
    assert not RemoteBatch.from_json({"id": "b", "status": word}).is_ended


@pytest.mark.parametrize(
    "table",
    [
        None,
        [],
        {},
        {"id": 3},
        {"id": ""},
        {"job": None},
        "text",
        {"id": "a\nb"},
        {"id": "\x1b[2J"},
        {"id": "x" * 501},
    ],
)
def test_what_describes_nothing_is_refused(table: Any) -> None:
    for kind in (RemoteBatch, RemoteFile):
        with pytest.raises(ValueError, match="no "):
            kind.from_json(table)


def test_pages_are_framed_or_bare_and_nothing_else_is_one() -> None:
    assert page_of([1]) == ([1], False)
    assert page_of({"data": [1], "has_more": True}) == ([1], True)
    assert page_of({"code": 20000, "data": {"data": [1], "object": "file"}}) == ([1], False)
    for other in (None, {}, {"data": None}, "text"):
        with pytest.raises(ValueError, match="no list"):
            page_of(other)


@pytest.mark.parametrize(
    ("requests", "size", "begins"),
    [
        (2, 10**9, [1, 0, 1, 0, 1]),
        (100, 25, [1, 0, 1, 0, 1]),
        (100, 5, [1, 1, 1, 1, 1]),  # a line that is larger than a file has one to itself
        (100, 10**9, [1, 0, 0, 0, 0]),
    ],
)
def test_files_are_filled_up_to_their_limits(requests: int, size: int, begins: list[int]) -> None:
    filling = Filling(BatchApi(BatchKind.FILES, max_requests=requests, max_bytes=size))
    assert [filling.add(10) for _ in range(5)] == [bool(one) for one in begins]
    assert filling.files == sum(begins)
