"""TOML files read field by field, so that nothing misspelt is ignored.

Whatever is wrong names the file, the field and the nearest right one.
"""

from __future__ import annotations

import json
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from m3ke_async.errors import DataError
from m3ke_async.nearest import did_you_mean
from m3ke_async.toml_file import load_toml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_Word = TypeVar("_Word", bound=StrEnum)


def read_toml(path: Path) -> TomlTable:
    """The top table of a file.

    Raises:
        DataError: it cannot be read, or is no TOML in UTF-8.
    """
    return TomlTable(load_toml(path), path)


class TomlTable:
    """A TOML table that is read field by field; what nobody asked for is an error."""

    def __init__(self, data: Any, file: Path, place: str = "") -> None:
        self._file, self._place = file, place
        if not isinstance(data, dict):
            raise self.wrong(None, "must be a table")
        self._data: dict[str, Any] = data
        self._asked: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._data)

    def wrong(self, name: str | None, message: str) -> DataError:
        """The error to raise about a field, or about the table itself."""
        field = ".".join(part for part in (self._place, name) if part)
        return DataError(message, file=self._file, field=field or None)

    def done(self) -> None:
        """Refuse fields that nobody asked for."""
        for name in self._data:
            if name not in self._asked:
                raise self.wrong(name, f"is no field here; {did_you_mean(name, self._asked)}")

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Say of fields that stand elsewhere why they cannot stand here."""
        for name in names:
            if name in self._data:
                raise self.wrong(name, why)

    def _get(self, name: str, kind: type | tuple[type, ...], what: str, default: Any) -> Any:
        self._asked.append(name)
        value = self._data.get(name, default)
        if value is ...:
            raise self.wrong(name, f"is missing; it must be {what}")
        if name in self._data and (
            not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
        ):
            # What stands in the place of a table may be a key.
            shown = "" if kind is dict else f", not {value!r}"
            raise self.wrong(name, f"must be {what}{shown}")
        return value

    def text(self, name: str, default: Any = ...) -> Any:
        """A string; `default` where it is absent."""
        return self._get(name, str, "a string", default)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings, or one string for a list of one."""
        value = self._get(name, (str, list), "a string or a list of strings", [])
        words = [value] if isinstance(value, str) else value
        if name in self._data and not words:
            raise self.wrong(name, "is empty; leave it out")
        if not all(isinstance(word, str) and word for word in words):
            raise self.wrong(name, "must hold strings that are not empty")
        if len(set(words)) < len(words):
            raise self.wrong(name, "names something twice")
        return tuple(words)

    def patterns(self, name: str) -> tuple[str, ...]:
        """Strings in lower case in which `*` is special."""
        words = tuple(word.lower() for word in self.texts(name))
        if any(set(word) & set("?[]") for word in words):
            raise self.wrong(name, "may hold no ?, [ or ]; only * is special")
        return words

    def words(self, name: str) -> dict[str, str]:
        """A table of strings."""
        value: dict[str, Any] = self._get(name, dict, "a table of strings", {})
        if not all(isinstance(word, str) for word in value.values()):
            raise self.wrong(name, "must hold strings")
        return value

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of these fields that are there, as they are; whoever takes them checks them."""
        known = list(names)
        self._asked += known
        return {name: self._data[name] for name in known if name in self._data}

    def word(self, name: str, words: type[_Word], default: Any = ...) -> _Word:
        """One of a closed set of words."""
        text = self.text(name, default)
        try:
            return words(text)
        except ValueError:
            raise self._no_word(name, text, words) from None

    def some(self, name: str, words: type[_Word]) -> tuple[_Word, ...]:
        """Several of a closed set of words; none where it is absent."""
        found = []
        for text in self.texts(name):
            if text not in [*words]:
                raise self._no_word(name, text, words)
            found.append(words(text))
        return tuple(found)

    def _no_word(self, name: str, text: str, words: type[_Word]) -> DataError:
        return self.wrong(name, f"cannot be {text!r}; {did_you_mean(text, words)}")

    def flag(self, name: str) -> bool:
        """A boolean; false where it is absent."""
        value: bool = self._get(name, bool, "true or false", False)
        return value

    def count(self, name: str) -> int | None:
        """A whole number above 0, or None."""
        value: int | None = self._get(name, int, "a whole number", None)
        if value is not None and value < 1:
            raise self.wrong(name, f"must be above 0, not {value}")
        return value

    def number(self, name: str, default: Any = ...) -> Any:
        """A number that is not negative; `default` where it is absent."""
        value = self._get(name, (int, float), "a number", default)
        if value is not None and not 0 <= value < float("inf"):
            raise self.wrong(name, f"must be 0 or above, not {value}")
        return value if value is None else float(value)

    def path(self, name: str, default: Any = ...) -> Any:
        """A path of an address; `default` where it is absent."""
        value = self.text(name, default)
        if value is not None and not value.startswith("/"):
            raise self.wrong(name, "must begin with /")
        return value

    def body(self, name: str) -> dict[str, Any] | None:
        """A table of fields as they are sent in JSON, or None."""
        value: dict[str, Any] | None = self._get(name, dict, "a table of fields", None)
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise self.wrong(name, "holds something that JSON has not, such as a date") from None
        return value

    def date(self, name: str, default: Any = ...) -> Any:
        """A date such as 2026-10-23; `default` where it is absent."""
        value = self._get(name, date, "a date such as 2026-10-23", default)
        if value is not None and type(value) is not date:  # a date with a time is a date too
            raise self.wrong(name, f"must be a date without a time, not {value}")
        return value

    def statuses(self, name: str) -> frozenset[int]:
        """HTTP statuses: numbers, and `5xx` for all of a hundred."""
        value = self._get(name, (int, str, list), 'a status such as 429, "5xx", or a list of them', [])
        found: set[int] = set()
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and item in {"2xx", "3xx", "4xx", "5xx"}:
                found.update(range(int(item[0]) * 100, int(item[0]) * 100 + 100))
            elif isinstance(item, int) and not isinstance(item, bool) and 200 <= item < 600:
                found.add(item)
            else:
                raise self.wrong(name, f"{item!r} is no HTTP status; a rule with it can never match")
        if name in self._data and not found:
            raise self.wrong(name, "is empty; leave it out")
        return frozenset(found)

    def table(self, name: str) -> TomlTable:
        """A table; empty where it is absent."""
        return self._below(self._get(name, dict, "a table", {}), name)

    def tables(self, name: str) -> list[TomlTable]:
        """A list of tables; empty where it is absent."""
        items: list[Any] = self._get(name, list, f"a list of tables [[{name}]]", [])
        return [self._below(item, f"{name}[{number}]") for number, item in enumerate(items, 1)]

    def _below(self, data: Any, name: str) -> TomlTable:
        return TomlTable(data, self._file, f"{self._place}.{name}" if self._place else name)
