"""`m3ke batch`: the providers' batches, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from m3ke_async.commands.options import CONTEXT, DATA, JSON, QUIET, RESULTS, TEXT, given_settings, run_options
from m3ke_async.commands.printing import print_json, print_lines, print_result, show
from m3ke_async.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3ke_async.settings import RunSettings


@click.group(context_settings=CONTEXT)
def batch() -> None:
    """The providers' batches: cheaper, and later."""


def _batch_settings(
    run: str, config: Path | None, given: Mapping[str, Any], *, batch: bool = True
) -> RunSettings:
    """The settings of a run on disk, or those of a run that these options begin."""
    from m3ke_async.reopen import settings_again
    from m3ke_async.rundir import find_run

    results = given.get("results") or "results"
    try:
        directory = find_run(run, results)
    except UsageError:
        if "/" not in run:
            raise
        return given_settings(run, config, {**given, "batch": batch})
    given = {name: value for name, value in given.items() if value not in (None, ()) and name != "results"}
    more = [name for name in given if name not in _CHANGEABLE] + (["config"] if config else [])
    if more:
        raise click.UsageError(
            f"{directory.path} is a run that has begun, and --{more[0].replace('_', '-')} is no option of "
            "going on with it: leave it out, or give provider/model"
        )
    return settings_again(directory, {**given, "batch": batch, "then": given.get("then")})


#: Options that may change from one command of a run to the next.
_CHANGEABLE = (
    *("data", "then", "base_url", "price"),
    *("max_cost", "max_requests", "max_tokens_total", "max_time"),
)


def _run_batch(
    steps: str, settings: RunSettings, *, quiet: bool, as_json: bool, made: str | None = None
) -> int:
    from functools import partial
    from shlex import quote

    from m3ke_async.batch.asking import Steps, ask_in_batches
    from m3ke_async.batch.state import Batches
    from m3ke_async.loop import run_loop
    from m3ke_async.progress import make_display
    from m3ke_async.run import run as run_evaluation
    from m3ke_async.rundir import RunDir

    asking = partial(ask_in_batches, steps=Steps(steps), made=made)
    display = make_display(quiet=quiet)
    if steps in {"cancel", "collect"}:
        run_path = Path(settings.results) / f"{settings.name}{settings.shard.suffix}"
        if not Batches.read(RunDir(run_path)).open:
            display.say(f"nothing to {steps}: no batch of {run_path} is under way")
            if steps == "cancel":
                return ExitCode.COMPLETE
    result = run_loop(run_evaluation(settings, display=display, signals=True, asking=asking))
    if steps == "collect":
        run = quote(str(result.path))
        rest = (
            f"m3ke batch submit {run} submits them again, m3ke batch collect {run} --then live asks them now"
        )
        return show(result, settings, as_json=as_json, next_step=None if settings.then else rest)
    if as_json:
        from m3ke_async.batch.status import parts_on_disk

        print_json([one.to_json() for one in parts_on_disk(result.path)])
    if result.stopped is not None:
        raise result.stopped
    return ExitCode.COMPLETE


_BASE_URL = click.option(
    "--base-url", multiple=True, metavar="URL", help="RUN's address once more, where it holds the key."
)


_MADE = click.option(
    "--made",
    metavar="ID|none",
    help="Where the provider's list cannot be read: the batch that its console shows for the file.",
)


@batch.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN|MODEL", type=TEXT)
@run_options
def submit(run: str, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> int:
    """Submit what RUN, or a new run of MODEL, owes, and return."""
    settings = _batch_settings(run, config, options)
    return _run_batch("submit", settings, quiet=quiet, as_json=as_json)


@batch.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN", type=TEXT)
@click.option("--then", metavar="live", help="Ask now what the batches left without a reply.")
@_MADE
@_BASE_URL
@DATA
@RESULTS
@QUIET
@JSON
def collect(run: str, *, made: str | None, quiet: bool, as_json: bool, **given: Any) -> int:
    """Take the replies of RUN's batches that have ended.

    What a killed command had begun to submit is submitted.
    """
    settings = _batch_settings(run, None, given)
    return _run_batch("collect", settings, quiet=quiet, as_json=as_json, made=made)


@batch.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN", type=TEXT)
@_MADE
@_BASE_URL
@DATA
@RESULTS
@QUIET
def cancel(run: str, *, made: str | None, quiet: bool, **given: Any) -> int:
    """Begin nothing more of RUN's batches.

    What was answered can be collected, and is paid.
    """
    settings = _batch_settings(run, None, given)
    return _run_batch("cancel", settings, quiet=quiet, as_json=False, made=made)


@batch.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN", type=TEXT)
@_BASE_URL
@RESULTS
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def status(run: str, base_url: tuple[str, ...], results: str, *, as_json: bool) -> None:
    """Ask the provider how far RUN's batches are; changes nothing."""
    from m3ke_async.batch.status import batch_status
    from m3ke_async.loop import run_loop
    from m3ke_async.rundir import find_run

    directory = find_run(run, results)
    found = run_loop(batch_status(directory, base_url))
    if as_json:
        print_json([one.to_json() for one in found])
        return
    print_lines(one.line() for one in found)
    if not found:
        print_lines([f"{directory.path} has no batches"])


@batch.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN|MODEL", type=TEXT)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@run_options
def write(run: str, file: Path, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> int:
    """Write what is owed into FILE, for `vllm run-batch -i FILE`."""
    settings = _batch_settings(run, config, options, batch=False)
    return _run_offline("write_requests", file, settings, quiet=quiet, as_json=as_json)


@batch.command(context_settings=CONTEXT)
@click.argument("run", metavar="RUN", type=TEXT)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@DATA
@RESULTS
@QUIET
@JSON
def read(run: str, file: Path, data: str | None, results: str, *, quiet: bool, as_json: bool) -> int:
    """Take the replies in FILE, from `vllm run-batch` or a provider."""
    settings = _batch_settings(run, None, {"data": data, "results": results}, batch=False)
    return _run_offline("read_results", file, settings, quiet=quiet, as_json=as_json)


def _run_offline(step: str, file: Path, settings: RunSettings, *, quiet: bool, as_json: bool) -> int:
    from functools import partial
    from shlex import quote

    from m3ke_async.batch import offline
    from m3ke_async.loop import run_loop
    from m3ke_async.progress import make_display
    from m3ke_async.run import run as run_evaluation

    asking = partial(getattr(offline, step), file=file)
    display = make_display(quiet=quiet)
    result = run_loop(run_evaluation(settings, display=display, asking=asking, sends=False))
    if step == "write_requests" and result.stopped is None:
        if as_json:
            print_result(result, as_json=True)
        return ExitCode.COMPLETE
    rest = f"m3ke batch write {quote(str(result.path))} FILE writes them again"
    return show(result, settings, as_json=as_json, next_step=rest)
