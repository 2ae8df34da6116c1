"""A row of a file becomes a question, or an error that names the field."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import orjson

from m3ke_async.text import one_line

LETTERS = "ABCD"

TEXTS = ("question", *LETTERS)
_ROW = itemgetter("id", *TEXTS)
_ANSWERS = (None, "", *LETTERS)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Question:
    """One row; texts are as in the file. `answer` is the right letter, None where unlabelled."""

    id: int | str
    question: str
    options: tuple[str, str, str, str]
    answer: str | None

    @property
    def option_map(self) -> dict[str, str]:
        """Option texts by letter."""
        return dict(zip(LETTERS, self.options, strict=True))


class RowError(Exception):
    """What is wrong with a row; `field` is the column where it is one."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


def m3ke_row(text: bytes, offset: int) -> Question:
    """Check a row of M3KE that begins at byte `offset` of its file.

    Raises:
        RowError: it is not right.
    """
    row = json_object(text, offset)
    try:
        id_, *texts = _ROW(row)
    except KeyError as error:
        raise RowError("is missing", error.args[0]) from None
    for name, value in zip(TEXTS, texts, strict=True):
        if type(value) is not str:
            raise RowError(f"must be a text, not {shown(value)}", name)
    if type(id_) is float:
        id_ = json.loads(text)["id"]  # orjson makes floats of integers beyond 64 bits
        if type(id_) is int:
            raise RowError("is a number beyond 64 bits; write it as a text", "id")
    check_id(id_)
    answer = row.get("answer")
    if answer not in _ANSWERS:
        answer = letter_of(answer)
    question, a, b, c, d = texts
    return Question(id_, question, (a, b, c, d), answer or None)


def check_id(id_: object) -> None:
    """Raises RowError where it is no id."""
    if type(id_) is not int and not (type(id_) is str and id_.strip()):
        raise RowError(f"must be a whole number or a text, not {shown(id_)}", "id")


def json_object(text: bytes, offset: int) -> dict[str, Any]:
    """The object on a line that begins at byte `offset` of its file.

    Raises:
        RowError: it is none, or not UTF-8.
    """
    row = _decode(text, offset)
    if type(row) is not dict:
        raise RowError("is not a JSON object; a row is one object on one line")
    return row


def _decode(text: bytes, offset: int) -> Any:
    """JSON by orjson, and what that refuses but a reader of M3KE may meet by the standard module.

    That is a lone surrogate in an escape, or NaN in a field that nobody reads.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(decoded(text, offset))
    except json.JSONDecodeError as error:
        raise RowError(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 1,000 brackets
        raise RowError(f"is not JSON that can be read: {one_line(str(error))}") from None


def decoded(text: bytes, offset: int) -> str:
    """A line that begins at byte `offset` of its file.

    Raises:
        RowError: it is not UTF-8; the message names the first byte that is wrong.
    """
    if offset == 0 and text.startswith(_UTF16_MARKS):
        raise RowError(f"byte 0 (0x{text[0]:02x}) begins a UTF-16 file; save it as UTF-8")
    if b"\0" in text:
        at = offset + text.index(b"\0")
        raise RowError(f"byte {at} is 0, as in a UTF-16 file; save it as UTF-8")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        at, byte = offset + error.start, text[error.start]
        raise RowError(f"byte {at} (0x{byte:02x}) is not UTF-8; save the file as UTF-8") from None


def letter_of(answer: object) -> str:
    """'b', ' B ' and a full-width 'Ｂ' are B; blanks are ''."""
    letter = unicodedata.normalize("NFKC", answer).strip().upper() if isinstance(answer, str) else None
    if letter is None or letter not in _ANSWERS:
        expected = "must be one of A, B, C, D, or empty where unknown"
        raise RowError(f"{expected}, not {shown(answer)}", "answer")
    return letter


def shown(value: object) -> str:
    """Foreign text for a message."""
    return one_line(repr(value), limit=40)
