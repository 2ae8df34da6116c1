"""Lines of batch files in OpenAI's form: a request, and what came for it.

    {"custom_id", "method", "url", "body"}                           a request
    {"custom_id", "response": {"status_code", "body"}, "error"}      what came for it

`custom_id` is the request's key in hex, so that nothing is matched by order. Lines of results are
foreign: any bytes are read, nothing is raised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.error_body import load_json
from m3ke_async.request import dump_json

if TYPE_CHECKING:
    from m3ke_async.request import ChatRequest

#: What stands in place of an answer where the batch ended before the request was sent.
_NOT_ASKED = frozenset({"batch_expired", "batch_cancelled", "batch_canceled"})


@dataclass(frozen=True, slots=True)
class ResultLine:
    """What came for one request.

    Attributes:
        custom_id: as it was given with the request.
        status: of the answer; 200 where the line tells of none.
        body: the answer, or the error in its place, as JSON.
        asked: whether the request was sent at all.
    """

    custom_id: str
    status: int
    body: bytes
    asked: bool = True

    @property
    def key(self) -> bytes | None:
        """The key of the request; None where the custom id is none of ours."""
        try:
            return bytes.fromhex(self.custom_id)
        except ValueError:
            return None


def request_line(request: ChatRequest, url: str) -> bytes:
    """A request as a line; its body has the very bytes that a live request has."""
    parts = (request.key.hex().encode(), orjson.dumps(url), request.body)
    return b'{"custom_id":"%b","method":"POST","url":%b,"body":%b}\n' % parts


def prompt_chars(raw: bytes) -> tuple[bytes, int] | None:
    """Key and characters of the prompt of a line that `request_line` wrote; None where it is damaged."""
    try:
        line = orjson.loads(raw)
        key = bytes.fromhex(line["custom_id"])
        return key, sum(len(message["content"]) for message in line["body"]["messages"])
    except (ValueError, KeyError, TypeError):
        return None


def read_result(raw: bytes) -> ResultLine | None:
    """What a line says; None where it is damaged or names no request."""
    try:
        return _result(load_json(raw))
    except (ValueError, TypeError):  # no JSON, or such as cannot be written again
        return None


def _result(line: Any) -> ResultLine | None:
    if not isinstance(line, dict) or not isinstance(line.get("custom_id"), str):
        return None
    if not line.keys() & {"response", "error"}:  # a line of requests, say
        return None
    custom_id, error = line["custom_id"], line.get("error")
    response = line["response"] if isinstance(line.get("response"), dict) else {}
    # Older versions of vLLM put the answer itself where its status and body belong.
    body = response if "choices" in response else response.get("body")
    status = _status(response.get("status_code"))
    replied = isinstance(body, dict) and body.get("choices")  # a reply goes before an error
    if error and not replied and not (body and status >= 400):
        asked = not (isinstance(error, dict) and str(error.get("code")).lower() in _NOT_ASKED)
        return ResultLine(custom_id, status, dump_json({"error": error}), asked)
    return ResultLine(custom_id, status, body.encode() if isinstance(body, str) else dump_json(body))


def _status(value: Any) -> int:
    """The status of an answer; an error inside 200 is still an error."""
    known = isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600
    return value if known else 200
