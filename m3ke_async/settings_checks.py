"""How the settings of a run are made, from the command line, a TOML file or Python.

Each option is checked here, once, whoever gave it.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m3ke_async.address import parse_address
from m3ke_async.choice import POLICIES
from m3ke_async.errors import DataError, UsageError
from m3ke_async.manner import AnswerMode, ThinkingMode
from m3ke_async.nearest import nearest, one_of
from m3ke_async.prompt import FewShot, template_names
from m3ke_async.scrub import is_variable
from m3ke_async.settings import RunSettings, Then
from m3ke_async.shard import Shard
from m3ke_async.suite import SUITE_NAMES, Split
from m3ke_async.tally import Price
from m3ke_async.text import one_line
from m3ke_async.toml_file import load_toml
from m3ke_async.wire.protocols import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from enum import StrEnum

#: No number of a run needs to be larger; JSON's readers keep whole numbers of this size.
_MOST = 1_000_000_000_000


def make_settings(model: object, options: Mapping[str, object]) -> RunSettings:
    """Check options of any source and fill in the defaults.

    Raises:
        UsageError: an unknown option (names the nearest), or a value that is not allowed.
    """
    values: dict[str, Any] = {}
    for name, value in options.items():
        check = _CHECKS.get(name.replace("-", "_"))
        if check is None:
            raise UsageError(f"unknown option {one_line(name, limit=60)!r}{nearest(name, _CHECKS)}")
        if value is not None:
            values[name.replace("-", "_")] = check(_option(name), value)
    if values.get("then") is not None and not values.get("batch"):
        raise UsageError("--then says what follows a batch: give --batch as well")
    return RunSettings(_text("the model", model), **values)


def read_config(path: Path) -> dict[str, object]:
    """Options from a TOML file, keys as on the command line; `model` may be among them.

    Raises:
        DataError: unreadable, not TOML, or an unknown key (names the nearest).
    """
    table = load_toml(path)
    options: dict[str, object] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in _CHECKS and name != "model":
            known = (option.replace("_", "-") for option in ("model", *_CHECKS))
            raise DataError(f"unknown key{nearest(key.replace('_', '-'), known)}", file=path, field=key)
        if name in options:
            raise DataError("is there twice, with - and with _; keep one", file=path, field=key)
        options[name] = value
    return options


# -- checks of single values ---------------------------------------------------------


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _bad(option: str, wanted: str, value: object) -> UsageError:
    return UsageError(f"{option} must be {wanted}, not {one_line(repr(value), limit=60)}")


def _integer(low: int, high: int = _MOST) -> Callable[[str, object], int]:
    wanted = f"a whole number from {low} to {high:,}"

    def check(option: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _bad(option, wanted, value)
        return value

    return check


def _number(low: int, *, above: bool = False, high: int = _MOST) -> Callable[[str, object], float]:
    wanted = f"a number {'above' if above else 'from'} {low} to {high:,}"

    def check(option: str, value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise _bad(option, wanted, value)  # nan is not within anything
        if above and value == low:
            raise _bad(option, wanted, value)
        return float(value)

    return check


def _text(option: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise _bad(option, "a text", value)
    return value


def _template(option: str, value: object) -> str:
    """A name, or a path that is found from any folder."""
    text = _text(option, value)
    if text in template_names():
        return text
    try:
        path = Path(text).expanduser().resolve()
        return str(path) if path.is_file() else text
    except (OSError, ValueError, RuntimeError):  # no path at all; the template says so when it is read
        return text


def _path(option: str, value: object) -> str:
    """A path that is found from any folder."""
    try:
        return str(Path(_text(option, value)).expanduser().resolve())
    except (OSError, ValueError, RuntimeError):
        raise _bad(option, "the path of a file", value) from None


def _texts(option: str, value: object) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not items:
        raise _bad(option, "a text or a list of texts", value)
    return tuple(_text(option, item) for item in items)


def _addresses(option: str, value: object) -> tuple[str, ...]:
    addresses = _texts(option, value)
    for address in addresses:
        parse_address(address)
    return addresses


def _variable(option: str, value: object) -> str:
    # what else is given here is most likely the key itself, so it is not shown
    if not isinstance(value, str) or not is_variable(value):
        raise UsageError(f"{option} takes the name of an environment variable, such as MY_KEY, not the key")
    return value


def _flag(option: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _bad(option, "true or false", value)
    return value


def _word(known: Sequence[str]) -> Callable[[str, object], str]:
    return lambda option, value: one_of(option, value, known)


def _one_of(kind: type[StrEnum]) -> Callable[[str, object], StrEnum]:
    check = _word([item.value for item in kind])
    return lambda option, value: kind(check(option, value))


def _concurrency(option: str, value: object) -> int | None:
    if value == "auto":
        return None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}", value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10_000:
        raise _bad(option, "auto or a whole number from 1 to 10000", value)
    return value


def _price(option: str, value: object) -> Price:
    wanted = "two numbers from 0 up, PROMPT,COMPLETION, in money per million tokens"
    if isinstance(value, Price):
        return value
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise _bad(option, wanted, value)
    try:
        prompt, completion = map(float, parts)
    except (TypeError, ValueError):
        raise _bad(option, wanted, value) from None
    if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
        raise _bad(option, wanted, value)
    return Price(prompt, completion)


def _shard(option: str, value: object) -> Shard:
    shard = value if isinstance(value, Shard) else Shard.parse(value) if isinstance(value, str) else None
    if shard is None:
        raise _bad(option, "i/n with i from 1 to n, such as 1/4", value)
    return shard


_CHECKS: dict[str, Callable[[str, object], Any]] = {
    "base_url": _addresses,
    "protocol": _word([*PROTOCOLS]),
    "api_key_env": _variable,
    "ca_file": _path,
    "serve": _flag,
    "data": _text,
    "suite": _word(SUITE_NAMES),
    "split": _one_of(Split),
    "shots": _integer(0, 5),
    "tasks": _texts,
    "limit": _integer(1),
    "shard": _shard,
    "template": _template,
    "fewshot": _one_of(FewShot),
    "system": _text,
    "temperature": _number(0, high=2),
    "max_tokens": _integer(1),
    "answer": _one_of(AnswerMode),
    "thinking": _one_of(ThinkingMode),
    "rotate": _flag,
    "samples": _integer(1, 100),
    "concurrency": _concurrency,
    "rpm": _number(0, above=True),
    "tpm": _number(0, above=True),
    "max_attempts": _integer(1, 100),
    "timeout": _number(0, above=True),
    "results": _text,
    "name": _text,
    "fresh": _flag,
    "retry_failed": _flag,
    "retry_filtered": _flag,
    "skip_overlap": _flag,
    "batch": _flag,
    "then": _one_of(Then),
    "policy": _word(POLICIES),
    "price": _price,
    "max_cost": _number(0, above=True),
    "max_requests": _integer(1),
    "max_tokens_total": _integer(1),
    "max_time": _number(0, above=True),
}
