"""sweep.toml: which evaluations a sweep consists of.

[settings]            options of every cell
[[grid]]              one or more; every combination of what is in lists is a cell
gpus, cpus            what a cell of this grid occupies, or of all grids above them
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import product
from typing import TYPE_CHECKING, Any

from m3ke_async.address import parse_address
from m3ke_async.errors import DataError, UsageError
from m3ke_async.places import user_path
from m3ke_async.request import dump_json
from m3ke_async.settings import RunOptions, RunSettings
from m3ke_async.settings_checks import make_settings
from m3ke_async.toml_table import read_toml

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.toml_table import TomlTable

#: Options that belong to a command or a folder, not to what a cell asks.
_NOT_HERE = {"results", "name", "fresh", "retry_failed", "retry_filtered", "batch", "then"}
_OPTIONS = (*(name for name in RunOptions.__annotations__ if name not in _NOT_HERE), "suite")
#: Options whose one value may be a list.
_LISTS = ("base_url", "tasks")
#: The smallest part of a processor that Ray counts.
_SMALLEST_PART = 0.0001
#: Options of how is asked and read: with another value the run is the same.
_HOW = (
    *("ca_file", "api_key_env", "concurrency", "rpm", "tpm", "max_attempts", "timeout", "policy", "price"),
    *("max_cost", "max_requests", "max_tokens_total", "max_time"),
)
#: Options that say which questions are asked, and how often: with other values they may be the same ones.
_WHICH = ("split", "tasks", "limit", "skip_overlap", "rotate", "samples")


@dataclass(frozen=True, slots=True)
class Cell:
    """One evaluation of a sweep.

    Attributes:
        label: what sets it apart from the others, for people.
        settings: of its run.
        gpus, cpus: what it occupies while it runs; parts of one are for cells that share it.
    """

    label: str
    settings: RunSettings
    gpus: float
    cpus: float

    @property
    def family(self) -> RunSettings:
        """Equal for cells that may have requests in common, which two of them at once would both send."""
        return _without(self.settings, _HOW + _WHICH)

    @property
    def key(self) -> str:
        """Equal for cells that ask the same, whatever they are called."""
        plain = RunSettings(self.settings.model).to_json()
        asked = _without(self.settings, (*_HOW, "results")).to_json()
        # only what is given, so that options to come change no key
        given = {name: value for name, value in asked.items() if name == "model" or value != plain[name]}
        return blake2b(dump_json(given), digest_size=16).hexdigest()


def read_sweep(path: Path, results: Path) -> tuple[Cell, ...]:
    """The cells of a sweep, in the order of the file.

    Args:
        path: of the file.
        results: the folder that their runs go into.

    Raises:
        DataError: it cannot be read, names something that does not exist, or two cells are the same.
    """
    table = read_toml(path)
    shared = table.table("settings")
    shared.refuse(("gpus", "cpus"), "is no option of a run: write it above [settings], or under [[grid]]")
    common = _given(shared)
    for name, value in common.items():
        if isinstance(value, list) and name not in _LISTS:
            raise shared.wrong(
                name.replace("_", "-"), "is a list; under [[grid]] each of its values is a cell"
            )
    _settings(shared, {"model": "custom/any", **common}, results)  # what is wrong is wrong here
    gpus, cpus = _amount(table, "gpus", 0.0), _amount(table, "cpus", 1.0)
    found: dict[RunSettings, Cell] = {}
    whole_labels: list[str] = []
    grids = table.tables("grid")
    table.done()
    for grid in grids:
        resources = _amount(grid, "gpus", gpus), _amount(grid, "cpus", cpus)
        given = _given(grid)
        swept = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
        for name, value in swept.items():
            if not value:
                raise grid.wrong(name, "is empty; leave it out")
        for values in product(*swept.values()):
            chosen = dict(zip(swept, values, strict=True))
            settings = _settings(grid, {**common, **chosen}, results)
            shown = {name: _shown(name, value) for name, value in chosen.items()}
            told = [shown[name] for name in shown if name == "model" or len(swept[name]) > 1]
            label = " ".join(told) or settings.model
            earlier = found.setdefault(_without(settings, _HOW), cell := Cell(label, settings, *resources))
            if earlier is not cell:
                also = f", which is the run of {earlier.label}" if earlier.label != label else ""
                raise grid.wrong(None, f"asks the same twice: {label}{also}")
            whole_labels.append(" ".join(shown.values()))
    if not found:
        raise DataError("holds no cell: give [[grid]] with model = [...]", file=path)
    often = Counter(cell.label for cell in found.values())
    return tuple(
        replace(cell, label=whole) if often[cell.label] > 1 else cell
        for cell, whole in zip(found.values(), whole_labels, strict=True)
    )


def _amount(table: TomlTable, name: str, default: float) -> float:
    """What a cell occupies of something, as Ray counts it: several whole ones, or a part of one."""
    value: float = table.number(name, default)
    if 0 < value < _SMALLEST_PART or (name == "gpus" and value > 1 and not value.is_integer()):
        raise table.wrong(
            name, f"must be a whole number, or a part of 1 from {_SMALLEST_PART:g}, not {value:g}"
        )
    return value


def _without(settings: RunSettings, names: tuple[str, ...]) -> RunSettings:
    """The same with these options as they are by default."""
    plain = RunSettings(settings.model)
    return replace(settings, **{name: getattr(plain, name) for name in names})


def _given(table: TomlTable) -> dict[str, Any]:
    """The options that stand in a table, by their names in Python."""
    table.refuse(
        (name.replace("_", "-") for name in _NOT_HERE),
        "is not allowed in a sweep: it belongs to one command or folder; leave it out",
    )
    found: dict[str, Any] = {}
    for name, value in table.values(("model", *(option.replace("_", "-") for option in _OPTIONS))).items():
        found[name.replace("-", "_")] = value
    table.done()
    return found


def _settings(grid: TomlTable, options: dict[str, Any], results: Path) -> RunSettings:
    model = options.pop("model", None)
    if model is None:
        raise grid.wrong("model", 'is missing; it must be such as "vllm/Qwen3-8B", or a list of them')
    try:
        settings = make_settings(model, {**options, "results": str(results)})
    except UsageError as error:
        raise grid.wrong(None, str(error)) from None
    if settings.data is None or not user_path(settings.data).exists():
        return settings  # a name, or nothing that is here; the run says so
    return replace(settings, data=str(user_path(settings.data).resolve()))


def _shown(name: str, value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    if name == "base_url":  # without its passwords
        values = [parse_address(url).public for url in values]
    text = ",".join(map(str, values))
    return text if name == "model" else f"{name.replace('_', '-')}={text}"
