"""Which suite lies in a folder or zip, by the names of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.manifest import Split
from m3ke_async.suites.layout import M3KE_LAYOUT, PUBLISHED, TABLE_LAYOUT, load_layout

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.archive import Container
    from m3ke_async.suites.layout import Layout


def detect(container: Container, path: Path) -> Layout:
    """The layout of what is there; M3KE's where its files are, or where nothing is.

    A published suite is recognised by its subjects: more than half of the files must be named so. A file by
    itself, and CSV files of other names, are a table.

    Raises:
        UsageError: the names are those of more than one suite.
    """
    if container.single:
        return TABLE_LAYOUT
    if container.members(M3KE_LAYOUT.splits, M3KE_LAYOUT.suffixes):
        return M3KE_LAYOUT
    files = container.members(tuple(Split), (".csv",))
    layouts = [load_layout(name) for name in PUBLISHED]
    known = [sum(layout.stem(file) in layout.subjects for file in files) for layout in layouts]
    most = max(known) if 2 * max(known) > len(files) else 0
    found = [layout for layout, n in zip(layouts, known, strict=True) if n and n == most]
    if len(found) > 1:
        names = " or ".join(layout.name for layout in found)
        raise UsageError(f"{path} may be {names}, by the names of its files; give --suite")
    if found:
        return found[0]
    return TABLE_LAYOUT if files or container.members(tuple(Split), (".jsonl",)) else M3KE_LAYOUT
