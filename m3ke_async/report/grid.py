"""What all reports in the terminal are made of: lines, tables that turn into lists, numbers as texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from m3ke_async.intervals import Interval

#: Columns that the names in a table need; longer ones are folded.
_LEAST_NAME = 16


def print_grid(
    console: Console,
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    whole_names: bool = False,
) -> None:
    """A table with the first column on the left; a list of its rows where the console is too narrow.

    Args:
        console: where to.
        title: stands above.
        headings: of the columns.
        rows: a cell for each heading.
        whole_names: the names in the first column are typed again by people, so none is folded.
    """
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    headings = [_safe(heading, console) for heading in headings]
    rows = [[_safe(cell, console) for cell in row] for row in rows]
    say(console, "")
    say(console, title, style="bold")
    widths = [max(map(cell_len, column)) for column in zip(headings, *rows, strict=True)]
    least = widths[0] if whole_names else min(widths[0], _LEAST_NAME)
    if least + sum(1 + width for width in widths[1:]) > console.width:
        for name, *cells in rows:
            say(console, name)
            named = (f"{heading} {cell}" for heading, cell in zip(headings[1:], cells, strict=True))
            say(console, f"  {', '.join(named)}")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for place, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if place else "left", no_wrap=place > 0)
    for row in rows:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    console.print(table)


def say(console: Console, line: str, style: str = "") -> None:
    """Print a line; foreign text in it is made harmless."""
    from rich.text import Text

    console.print(Text(_safe(line, console), style=style, overflow="fold"))


def _safe(text: str, console: Console) -> str:
    """Nothing that steers a terminal, and nothing that its encoding cannot hold."""
    return printable(text).encode(console.encoding, "backslashreplace").decode(console.encoding)


# Numbers


def percent(share: float | None) -> str:
    """A share with its unit, such as `41.2 %`."""
    return "none" if share is None else f"{100 * share:.1f} %"


def points(share: float | None) -> str:
    """A share in a column of percentages."""
    return "-" if share is None else f"{100 * share:.1f}"


def ranged(interval: Interval | None) -> str:
    """An interval in a column of percentages."""
    return "-" if interval is None else f"{100 * interval[0]:.1f}-{100 * interval[1]:.1f}"


def number(tokens: int | None) -> str:
    """A count that may be unknown."""
    return "unknown" if tokens is None else f"{tokens:,}"


def chance(p: float) -> str:
    """A p with its sign, such as `= 0.031` and `< 0.001`."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
