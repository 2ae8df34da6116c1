"""`m3ke data`: get the published questions, and check what lies on the disk."""

from __future__ import annotations

from pathlib import Path

import click

from m3ke_async.commands.options import AS_JSON, CONTEXT
from m3ke_async.commands.printing import print_json, print_lines


@click.group(context_settings=CONTEXT)
def data() -> None:
    """Get M3KE, or look at a suite."""


@data.command(context_settings=CONTEXT)
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="A copy on this machine: folder or zip."
)
@click.option("--mirror", metavar="URL", help="Another address of the published repository.")
@click.option(
    "--to", "target", type=click.Path(path_type=Path), help="Where to.  [default: the user's data folder]"
)
def fetch(source: Path | None, mirror: str | None, target: Path | None) -> None:
    """Download the published M3KE and verify every file."""
    from m3ke_async.downloading import shown
    from m3ke_async.fetch import fetch_suite
    from m3ke_async.progress import make_display

    display = make_display(quiet=False)
    with shown(display) as progress:
        path = fetch_suite(target, progress=progress, source=source, mirror=mirror, say=display.say)
    print_lines([str(path)])


@data.command("check", context_settings=CONTEXT)
@click.argument("path")
@click.option("--suite", default="auto", show_default=True, metavar="NAME", help="Whose files lie there.")
@AS_JSON
def check_data(path: str, suite: str, *, as_json: bool) -> None:
    """Compare the suite at PATH with the manifest and print what is odd."""
    from m3ke_async.datacheck import check, format_report
    from m3ke_async.lookup import find_suite

    found = check(find_suite(path, suite))
    if as_json:
        print_json(found.to_json())
    else:
        print_lines(format_report(found).split("\n"))
