"""sweep.toml: which evaluations a sweep consists of.

[settings]            options of every cell
[[grid]]              one or more; every combination of what is in lists is a cell
gpus, cpus            what a cell of this grid occupies, or of all grids above them
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import DataError, UsageError
from m3ke_async.places import user_path
from m3ke_async.settings import RunOptions, RunSettings
from m3ke_async.settings_checks import make_settings
from m3ke_async.toml_table import read_toml

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.toml_table import TomlTable

#: Options that belong to a command or a folder, not to what a cell asks.
_NOT_HERE = {"results", "name", "fresh", "retry_failed", "retry_filtered", "batch", "then"}
_OPTIONS = tuple(name for name in RunOptions.__annotations__ if name not in _NOT_HERE)


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


def read_sweep(path: Path, results: Path) -> tuple[Cell, ...]:
    """The cells of a sweep, in the order of the file.

    Args:
        path: of the file.
        results: the folder that their runs go into.

    Raises:
        DataError: it cannot be read, names something that does not exist, or two cells are the same.
    """
    table = read_toml(path)
    common = _given(table.table("settings"))
    gpus, cpus = table.number("gpus", 0.0), table.number("cpus", 1.0)
    found: dict[RunSettings, Cell] = {}
    grids = table.tables("grid")
    table.done()
    for grid in grids:
        resources = grid.number("gpus", gpus), grid.number("cpus", cpus)
        given = _given(grid)
        swept = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
        for name, value in swept.items():
            if not value:
                raise grid.wrong(name, "is empty; leave it out")
        for values in product(*swept.values()):
            chosen = dict(zip(swept, values, strict=True))
            label = " ".join(
                _shown(name, value)
                for name, value in chosen.items()
                if name == "model" or len(swept[name]) > 1
            )
            settings = _settings(grid, {**common, **chosen}, results)
            if settings in found:
                raise grid.wrong(None, f"asks the same twice: {label or settings.model}")
            found[settings] = Cell(label or settings.model, settings, *resources)
    if not found:
        raise DataError("holds no cell: give [[grid]] with model = [...]", file=path)
    return tuple(found.values())


def _given(table: TomlTable) -> dict[str, Any]:
    """The options that stand in a table, by their names in Python."""
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
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if name == "model" else f"{name.replace('_', '-')}={text}"
