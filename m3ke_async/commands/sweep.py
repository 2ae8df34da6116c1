"""`m3ke sweep`: many cells in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from m3ke_async.commands.options import CONTEXT, QUIET
from m3ke_async.commands.printing import fail, print_json, print_lines
from m3ke_async.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3ke_async.sweep.course import CellCourse


class _FileFirst(click.Group):
    """A group of commands whose `run` may be left out before a file and its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = not args or args[0] in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if named else ["run", *args])


@click.group(cls=_FileFirst, context_settings=CONTEXT)
def sweep() -> None:
    """Run many evaluations, here or on Ray: `m3ke sweep FILE`."""


_SWEEP_FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


_SWEEP_RESULTS = click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="Where runs and replies are kept."
)


@sweep.command("run", context_settings=CONTEXT)
@_SWEEP_FILE
@_SWEEP_RESULTS
@click.option("--address", metavar="ADDRESS", help="Of a Ray cluster, or `auto`.  [default: this machine]")
@QUIET
@click.option("--json", "as_json", is_flag=True, help="Print the cells as JSON.")
def run_sweep(file: Path, results: str, address: str | None, *, quiet: bool, as_json: bool) -> int:
    """Run the cells of FILE, or go on with them, and compare them."""
    from m3ke_async.places import user_path
    from m3ke_async.report.sweep import shown
    from m3ke_async.sweep.campaign import run_sweep as run_cells
    from m3ke_async.sweep.campaign import write_page
    from m3ke_async.sweep.course import CellState
    from m3ke_async.text import counted

    folder = user_path(results)
    with shown(folder, quiet=quiet) as show:
        courses = run_cells(file, folder, address=address, show=show, warn=fail)
    page = write_page(file, folder, courses, fail)
    code = _print_sweep(courses, folder, as_json=as_json)
    if page is not None and not as_json:
        print_lines(["", f"compared in {page}"])
    if left := sum(course.state is not CellState.COMPLETE for course in courses):
        fail(f"incomplete: {left:,} of {counted(len(courses), 'cell')}; the same command goes on with them")
    return code


@sweep.command("status", context_settings=CONTEXT)
@_SWEEP_FILE
@_SWEEP_RESULTS
@click.option("--json", "as_json", is_flag=True, help="Print the cells as JSON.")
def sweep_status(file: Path, results: str, *, as_json: bool) -> int:
    """How far the cells of FILE are, and which it names no more; reads only."""
    from m3ke_async.places import user_path
    from m3ke_async.sweep.campaign import sweep_status as read_status
    from m3ke_async.text import by_reason

    folder = user_path(results)
    courses, gone = read_status(file, folder)
    code = _print_sweep(courses, folder, as_json=as_json)
    for line in by_reason((course.label, f"in {file} no more; what it asked is kept") for course in gone):
        fail(line)
    return code


def _print_sweep(courses: Sequence[CellCourse], results: Path, *, as_json: bool) -> int:
    """The cells of a sweep; what the command returns."""
    from m3ke_async.sweep.course import CellState

    whole = all(course.state is CellState.COMPLETE for course in courses)
    if as_json:
        print_json([course.to_json(results) for course in courses])
    else:
        from rich.console import Console

        from m3ke_async.report.sweep import render, trouble_lines

        render(courses, results, Console())
        print_lines(trouble_lines(courses))
    return ExitCode.COMPLETE if whole else ExitCode.INCOMPLETE
