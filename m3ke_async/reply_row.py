"""A reply as one row of the store: JSON that carries a checksum over itself and its key.

SQLite does not notice when bytes of a row have changed on the disk; a changed letter must
not pass for what the model wrote, nor one request's reply for another's.
"""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeAlias
from zlib import crc32

import orjson

from m3ke_async.request import Reply, Usage, dump_json

#: Key, sealed reply, provider, the model's name as the server gave it, run: the table's columns.
Row: TypeAlias = tuple[bytes, bytes, str, str | None, str]

_DEFAULTS = {field.name: field.default for field in fields(Reply) if field.name not in {"text", "usage"}}
_USAGE = tuple(field.name for field in fields(Usage))
_values, _numbers = attrgetter(*_DEFAULTS), attrgetter(*_USAGE)
_SEAL = b'{"crc32":"%08x",'
_SEAL_LENGTH = len(_SEAL % 0)


class DamageError(Exception):
    """A row or a file is not what was written."""


def seal(key: bytes, row: bytes) -> bytes:
    """A JSON object with the checksum as its first member."""
    return _SEAL % crc32(row[1:], crc32(key)) + row[1:]


def dump_reply(key: bytes, reply: Reply) -> bytes:
    """A reply as it is stored; what has its default is left out."""
    row: dict[str, Any] = {"text": reply.text}
    for (name, default), value in zip(_DEFAULTS.items(), _values(reply), strict=True):
        if value != default:
            row[name] = value
    usage = {
        name: value for name, value in zip(_USAGE, _numbers(reply.usage), strict=True) if value is not None
    }
    if usage:
        row["usage"] = usage
    return seal(key, dump_json(row))


def load_reply(key: bytes, raw: bytes) -> Reply:
    """The reply that `dump_reply` wrote.

    Raises:
        DamageError: it has changed, or belongs to another key.
    """
    if raw[:_SEAL_LENGTH] != _SEAL % crc32(raw[_SEAL_LENGTH:], crc32(key)):
        raise DamageError("a reply has changed on the disk")
    row = orjson.loads(raw)
    del row["crc32"]
    usage, letters = row.pop("usage", None), row.pop("letters", None)
    if letters is not None:
        row["letters"] = tuple(letters)
    return Reply(**row, usage=Usage(**usage) if usage else Usage())
