"""One reading of the many shapes in which servers tell of an error.

    {"error": {"message", "type", "param", "code"}}     OpenAI and most others; also in a list (Gemini)
    {"error": "text", "error_type"}                     TGI; 401 of vLLM and SGLang
    {"message", "type", "code", "object": "error"}      SGLang, LMDeploy, Mistral
    {"code", "message", "data"}                         SiliconFlow
    {"detail": "text" or [{"loc", "msg", "type"}]}      FastAPI: Mistral, transformers serve
    {"base_resp": {"status_code", "status_msg"}}        MiniMax, with HTTP 200
    {"error_code", "error_msg"}                         Qianfan v1, with HTTP 200
    {"choices": [{"error": {...}}]}                     OpenRouter, with HTTP 200
    {"Response": {"Error": {"Code", "Message"}}}        Tencent's own form
    "text", plain text, a web page, nothing at all

Everything here is foreign: any bytes are read, nothing is raised.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import orjson

from m3ke_async.text import escape_surrogates

_CODE_KEYS = (
    *("code", "type", "status", "error_type", "error_code", "status_code", "Code"),
    *("reason", "quotaId", "limit_source"),
)
_MESSAGE_KEYS = ("message", "msg", "error_msg", "status_msg", "Message", "detail", "error")
_STATUS_KEYS = ("code", "status", "status_code", "http_status_code")
#: Where codes lie deeper than the error itself: Azure, Gemini, OpenRouter.
_NESTED_KEYS = ("innererror", "details", "violations", "metadata")
#: Values of a code that say that nothing is wrong.
_NO_CODE = (None, "", 0, "0", 200, "200")
#: What a message may hold beside or instead of its text.
_OTHER_MEDIA, _REASONING = ("audio", "images"), ("reasoning_content", "reasoning")
_TEXT_PARTS = ("text", "thinking", None)
_DEPTH = 4
_MOST_CODES = 32
_LONGEST_CODE = 200
_LONGEST_MESSAGE = 4000

_TITLE = re.compile(r"<title[^>]*>(.{0,300}?)</title>", re.IGNORECASE | re.DOTALL)
_HTML = re.compile(r"\s*(?:<!doctype html|<html|<head|<body)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What a body says about an error.

    Attributes:
        message: words for people, unescaped and possibly hostile; '' where there are none.
        codes: short names (code, type, status, reason ...), the most telling first.
        param: the request's parameter that is complained about.
        status: the HTTP status that the body names, which may differ from the reply's own.
        retry_delay: Gemini's `retryDelay`, such as '57.2s'.
        finish_reason: of the first choice, where the body is a reply after all.
    """

    message: str = ""
    codes: tuple[str, ...] = ()
    param: str | None = None
    status: int | None = None
    retry_delay: str | None = None
    finish_reason: str | None = None


def read_body(body: bytes, *, success: bool) -> ErrorBody:
    """What the body says; `success` is whether the reply's status claims success (2xx)."""
    text = body.decode("utf-8", "replace").lstrip("\ufeff").strip()
    try:
        data = load_json(text)
    except ValueError:
        return _read_text(text, success=success)
    if isinstance(data, list) and data and isinstance(data[0], dict):
        data = data[0]
    if isinstance(data, str):
        return ErrorBody(message=data[:_LONGEST_MESSAGE], codes=("malformed",) if success else ())
    if not isinstance(data, dict):
        return ErrorBody(codes=("malformed",) if success else ())
    error = find_error(data)
    if error is not None:
        return error
    if not success:
        return _read_error(data)
    # Bytes that are no UTF-8 were damaged on the way: what they lack says nothing.
    return ErrorBody(codes=("malformed",)) if "\ufffd" in text and not _is_utf8(body) else _read_reply(data)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def load_json(text: bytes | str) -> Any:
    """JSON that may hold lone surrogates or NaN, which orjson refuses; surrogates come back escaped.

    Raises:
        ValueError: not JSON, or nested too deeply.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return escape_surrogates(json.loads(text))
        except RecursionError:
            raise ValueError("nested too deeply") from None


def find_error(data: dict[str, Any]) -> ErrorBody | None:
    """The error inside a body, also inside one that came with HTTP 200; None for a plain reply."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    base = data.get("base_resp")
    for error in (
        data.get("error"),
        choice.get("error") if isinstance(choice, dict) else None,
        base if isinstance(base, dict) and base.get("status_code") not in _NO_CODE else None,
        data if data.get("error_code") not in _NO_CODE else None,
        data.get("errors"),
        data["Response"].get("Error") if isinstance(data.get("Response"), dict) else None,
        None if choices is not None else _flat(data),
    ):
        if error:
            return _read_error(error, beside=data)
    return None


def _flat(data: dict[str, Any]) -> dict[str, Any] | None:
    """The body itself where it is an error without a wrapper."""
    worded = any(isinstance(data.get(key), str) for key in ("message", "msg"))
    named = data.get("object") == "error" or data.get("code") not in _NO_CODE
    return data if data.get("detail") or (worded and named) else None


def _read_error(error: Any, beside: dict[str, Any] | None = None) -> ErrorBody:
    if isinstance(error, list):
        error = next((item for item in error if item), None)
    if not isinstance(error, dict):
        codes: list[str] = []
        _collect(beside if beside is not None else {}, codes, depth=_DEPTH)
        return ErrorBody(message=_text(error), codes=tuple(codes))
    codes = []
    _collect(error, codes, depth=0)
    inner = error.get("message")
    detail = error.get("detail", inner.get("detail") if isinstance(inner, dict) else None)
    if isinstance(detail, list):
        message, param = _read_details(detail, codes)
    else:
        message, param = _message(error), error.get("param")
    return ErrorBody(
        message=message[:_LONGEST_MESSAGE],
        codes=tuple(codes),
        param=_param(param),
        status=next((status for key in _STATUS_KEYS if (status := _http_status(error.get(key)))), None),
        retry_delay=_retry_delay(error),
    )


def _message(error: dict[str, Any]) -> str:
    parts = [_text(error[key]) for key in _MESSAGE_KEYS if error.get(key)][:1]
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        parts.append(metadata["raw"])  # OpenRouter: what the provider behind it said
    return " ".join(parts)


def _read_details(details: list[Any], codes: list[str]) -> tuple[str, str | None]:
    """FastAPI's list of validation errors."""
    messages, param = [], None
    for item in details[:8]:
        if not isinstance(item, dict):
            messages.append(_text(item))
            continue
        _collect(item, codes, depth=_DEPTH)
        loc = item.get("loc")
        place = ".".join(str(step) for step in loc if step != "body") if isinstance(loc, list) else ""
        messages.append(f"{place}: {_text(item.get('msg'))}" if place else _text(item.get("msg")))
        param = param or _param(place)
    return "; ".join(messages), param


def _collect(node: Any, codes: list[str], depth: int) -> None:
    """Add the short names in `node`, and below it in the places that are known to hold some."""
    if isinstance(node, list):
        for item in node[:8]:
            _collect(item, codes, depth)
        return
    if not isinstance(node, dict):
        return
    for key in _CODE_KEYS:
        value = node.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            _add(codes, str(value))
    if depth >= _DEPTH:
        return
    for key in _NESTED_KEYS:
        _collect(node.get(key), codes, depth + 1)
    if isinstance(node.get("metadata"), dict):
        for name in node["metadata"]:
            _add(codes, str(name))


def _add(codes: list[str], code: str) -> None:
    if len(codes) < _MOST_CODES and len(code) <= _LONGEST_CODE and code not in codes:
        codes.append(code)


def _retry_delay(error: dict[str, Any]) -> str | None:
    details = error.get("details")
    for detail in details[:8] if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str):
            return delay
    return None


def _read_reply(data: dict[str, Any]) -> ErrorBody:
    """A body of a success without an error in it: what does it lack?"""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        choice = {}
    message, reason = choice.get("message"), choice.get("finish_reason")
    texts = (choice.get("text"), data.get("generated_text"))  # of completions, and of TGI
    if isinstance(message, dict):
        lacking = _instead_of_text(message)
    else:
        lacking = "empty" if any(isinstance(text, str) for text in texts) else "no_choices"
    return ErrorBody(codes=(lacking,), finish_reason=reason if isinstance(reason, str) else None)


def _instead_of_text(message: dict[str, Any]) -> str:
    """What a message without text holds in its place."""
    content = message.get("content")
    parts = (
        [part.get("type") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    if message.get("tool_calls") or message.get("function_call"):
        return "tool_call"
    if any(message.get(field) for field in _OTHER_MEDIA) or any(kind not in _TEXT_PARTS for kind in parts):
        return "not_text"
    if any(message.get(field) for field in _REASONING) or "thinking" in parts:
        return "only_reasoning"
    return "empty"


def _read_text(text: str, *, success: bool) -> ErrorBody:
    if _HTML.match(text):
        title = _TITLE.search(text[:20000])
        return ErrorBody(message=title[1].strip() if title else "", codes=("web_page",))
    return ErrorBody(message=text[:_LONGEST_MESSAGE], codes=("malformed",) if success else ())


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, dict):
        words = next((value[key] for key in _MESSAGE_KEYS if isinstance(value.get(key), str)), "")
        if words:
            return words
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # nested too deeply
        return ""


def _param(value: Any) -> str | None:
    """The parameter's name without the `body.` that some servers put before it."""
    if not isinstance(value, str):
        return None
    name = value.removeprefix("body").strip(". ")
    return name if name and not name.isdigit() and len(name) <= _LONGEST_CODE else None


def _http_status(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600 else None
