"""Imports run downwards, without a circle; network, disk and foreign libraries are met at the rim."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "m3ke_async").rglob("*.py")
}


def statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that happen, those inside functions too; not what only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        else:
            yield from statements(node)


@cache
def imported(module: str) -> frozenset[str]:
    """Modules of the package, and top names of others, that a module imports."""
    found: set[str] = set()
    for node in statements(ast.parse(FILES[module].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif node.module is not None and node.module.startswith("m3ke_async"):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else node.module for name in names}
        elif node.module is not None:
            found.add(node.module.partition(".")[0])
    return frozenset(found - {module})


def test_imports_have_no_circle() -> None:
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module not in done:
            for other in sorted(imported(module) & FILES.keys()):
                visit(other, (*way, module))
            done.add(module)

    for module in FILES:
        visit(module, ())


def importers(*names: str) -> set[str]:
    """Modules that import one of these, without the package's name."""
    return {module.partition(".")[2] for module in FILES if imported(module) & {*names}}


def test_nothing_below_the_command_line_knows_of_it() -> None:
    commands = [module for module in FILES if module.startswith("m3ke_async.commands")]
    above = {name for name in importers("m3ke_async.cli", *commands) if not name.startswith("commands")}
    assert above == {"cli", "__main__"}
    assert {name for name in importers("click") if not name.startswith("commands")} == {"cli"}


@pytest.mark.parametrize(
    ("libraries", "modules"),
    [
        (("sqlite3",), {"database", "store", "store_file"}),
        (("aiohttp", "aiohttp_socks"), {"wire.transport", "wire.connector", "preflight"}),
        (("tenacity",), {"retry"}),
        (("aiolimiter",), {"limits"}),
        (("ray",), {"sweep.cluster"}),
        (("xllamacpp",), {"serving.llamacpp_child"}),
        (("matplotlib",), {"report.picture"}),
    ],
)
def test_each_library_is_known_where_it_is_needed(libraries: tuple[str, ...], modules: set[str]) -> None:
    assert importers(*libraries) == modules


PURE = (
    *("faults", "rules", "error_body", "waits", "breaker", "concurrency", "refusals", "lanes", "backlog"),
    *("score", "statistics", "intervals", "paired", "repeats", "choice", "rotation", "adaptation"),
)


@pytest.mark.parametrize("module", PURE)
def test_what_decides_knows_nothing_of_network_disk_and_time(module: str) -> None:
    effects = {"aiohttp", "httpx", "sqlite3", "asyncio", "time", "random", "os", "pathlib", "subprocess"}
    assert not imported(f"m3ke_async.{module}") & effects
