"""The commands: parsing and printing, no logic.

Modules that do the work are imported by the command that needs them, so that
`m3ke --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from m3ke_async import __version__
from m3ke_async.again import interrupted
from m3ke_async.errors import DataError, ExitCode, InterruptedRunError, M3keError, UsageError
from m3ke_async.nearest import nearest
from m3ke_async.streams import Forgiving, drop, open_closed_streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from m3ke_async.evaluation import Evaluation
    from m3ke_async.progress import Display
    from m3ke_async.run import RunResult
    from m3ke_async.settings import RunSettings
    from m3ke_async.sweep.course import CellCourse
    from m3ke_async.target import Target

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main(arguments: list[str] | None = None) -> None:
    """Run the command; every expected error is one line on standard error."""
    open_closed_streams()
    _speak_utf8()
    try:
        code = cli.main(args=arguments, prog_name="m3ke", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = ExitCode.USAGE
    except click.NoSuchOption as error:
        known = (
            [name for parameter in error.ctx.command.params for name in parameter.opts] if error.ctx else []
        )
        _fail(f"no such option {error.option_name}{nearest(error.option_name, known)}")
        code = ExitCode.USAGE
    except click.ClickException as error:
        _fail(error.format_message().replace("\n", " "))
        code = ExitCode.USAGE
    except (InterruptedRunError, KeyboardInterrupt, click.Abort):
        _say(f"m3ke: {interrupted(arguments)}", sys.stderr)
        code = ExitCode.INTERRUPTED
    except M3keError as error:
        for note in getattr(error, "__notes__", ()):
            _show_note(note)
        _fail(str(error))
        code = error.exit_code
    except BrokenPipeError:  # the reader of our output is gone
        code = ExitCode.ERROR
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _fail(f"{place}{error.strerror or error}; replies that came are kept, and the same command goes on")
        code = ExitCode.ERROR
    try:
        sys.stdout.flush()
    except OSError:
        drop(sys.stdout)
        code = code or ExitCode.ERROR
    sys.exit(int(code or 0))


def _speak_utf8() -> None:
    """What a poor terminal cannot show is escaped, never fatal."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _fail(message: str) -> None:
    from m3ke_async.text import printable

    _say(f"m3ke: {printable(' '.join(message.split()))}", cast("TextIO", Forgiving(sys.stderr)))


def _show_note(note: str) -> None:
    from m3ke_async.text import printable

    _say(f"  | {printable(note)}", sys.stderr)


def _say(line: str, stream: TextIO) -> None:
    # not click.echo, which writes UTF-8 to streams that say they are ASCII
    stream.write(line + "\n")
    stream.flush()


def _print_json(value: object) -> None:
    import orjson

    from m3ke_async.text import escape_surrogates

    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    text = orjson.dumps(escape_surrogates(value), option=options).decode()
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # JSON has escapes of its own
        import json

        text = json.dumps(orjson.loads(text), indent=2)
    _say(text, sys.stdout)


@click.group(context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="m3ke")
def cli() -> None:
    """Run the M3KE benchmark on chat models: paced, resumable, auditable."""


# -- options of a run ------------------------------------------------------------------


class _Text(click.ParamType[str]):
    """Text that is sent or compared: UTF-8, whatever encoding the locale takes arguments for."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return os.fsencode(value).decode("utf-8", "surrogateescape")


_TEXT = _Text()

_RUN_OPTIONS = (
    click.option(
        "--config", type=click.Path(dir_okay=False, path_type=Path), help="TOML file with these options."
    ),
    click.option(
        "--base-url", multiple=True, metavar="URL", help="Address of the server; repeat for several."
    ),
    click.option(
        "--protocol",
        metavar="chat|completions|tgi",
        help="How to ask: base models by completions.  [default: the provider's]",
    ),
    click.option("--api-key-env", metavar="VAR", help="Environment variable that holds the key."),
    click.option("--ca-file", metavar="FILE", help="Certificates to trust beside the system's, in PEM form."),
    click.option(
        "--serve", is_flag=True, default=None, help="Start the provider's server here, for this run."
    ),
    click.option(
        "--data", metavar="PATH", help="Folder or zip of a suite, or `sample`.  [default: the fetched M3KE]"
    ),
    click.option(
        "--suite",
        metavar="NAME",
        help="m3ke, ceval, cmmlu, mmlu, table, or auto: whose files --data holds.  [default: auto]",
    ),
    click.option(
        "--split",
        metavar="dev|val|test",
        help="Which questions; M3KE's dev is labelled, its test not.  [default: dev]",
    ),
    click.option(
        "--shots", type=int, metavar="N", help="Examples before each question, 0 to 5.  [default: 0]"
    ),
    click.option(
        "--tasks", multiple=True, type=_TEXT, metavar="GLOBS", help="Only these tasks, such as 'Math*,*Law*'."
    ),
    click.option("--limit", type=int, metavar="N", help="Questions per task, from its start."),
    click.option("--shard", metavar="I/N", help="Only the I-th of N parts of these; see m3ke merge."),
    click.option(
        "--skip-overlap", is_flag=True, default=None, help="Leave out questions that are in both splits."
    ),
    click.option("--template", metavar="NAME|FILE", help="Prompt template.  [default: the suite's]"),
    click.option(
        "--fewshot", metavar="message|turns", help="Examples in one message or as turns.  [default: message]"
    ),
    click.option("--system", type=_TEXT, metavar="TEXT", help="A system message."),
    click.option("--temperature", type=float, help="Always sent.  [default: 0]"),
    click.option("--max-tokens", type=int, metavar="N", help="Tokens of a reply.  [default: 64]"),
    click.option(
        "--answer", metavar="MODE", help="text, constrained or logprobs: what is an answer.  [default: text]"
    ),
    click.option(
        "--thinking", metavar="on|off|default", help="Whether the model thinks first.  [default: its own way]"
    ),
    click.option(
        "--rotate", is_flag=True, default=None, help="Ask in the four cyclic orders of the options."
    ),
    click.option("--samples", type=int, metavar="N", help="Ask everything N times.  [default: 1]"),
    click.option("--concurrency", metavar="N|auto", help="Requests in flight.  [default: auto]"),
    click.option(
        "--rpm", type=float, metavar="N", help="Requests a minute.  [default: as the provider says]"
    ),
    click.option("--tpm", type=float, metavar="N", help="Tokens a minute.  [default: as the provider says]"),
    click.option("--max-attempts", type=int, metavar="N", help="Tries of one question.  [default: 6]"),
    click.option(
        "--timeout", type=float, metavar="SECONDS", help="Of one try.  [default: 120, own servers 600]"
    ),
    click.option("--results", metavar="DIR", help="Where runs and replies are kept.  [default: results]"),
    click.option("--name", metavar="NAME", help="Name of the run's folder."),
    click.option(
        "--fresh", is_flag=True, default=None, help="Ask again what has a reply; old replies are kept aside."
    ),
    click.option("--retry-failed", is_flag=True, default=None, help="Ask only what failed before."),
    click.option(
        "--retry-filtered", is_flag=True, default=None, help="Ask again what a content check stopped."
    ),
    click.option(
        "--batch", is_flag=True, default=None, help="Ask by the provider's batches: cheaper, and later."
    ),
    click.option("--then", metavar="live", help="With --batch: ask now what it left without a reply."),
    click.option(
        "--policy", metavar="NAME", help="Finding letters: careful, strict, first, last.  [default: careful]"
    ),
    click.option("--price", metavar="IN,OUT", help="Money per million prompt and completion tokens."),
    click.option("--max-cost", type=float, metavar="MONEY", help="Stop when this command has spent so much."),
    click.option("--max-requests", type=int, metavar="N", help="Stop after so many requests."),
    click.option("--max-tokens-total", type=int, metavar="N", help="Stop after so many tokens."),
    click.option("--max-time", type=float, metavar="SECONDS", help="Stop after so long."),
    click.option("--quiet", is_flag=True, help="Print errors and the result only."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
)


def _run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return command


def _settings(model: str | None, config: Path | None, given: Mapping[str, Any]) -> RunSettings:
    """Options of the command line before those of the file."""
    from m3ke_async.settings import make_settings, read_config

    options = read_config(config) if config is not None else {}
    named = options.pop("model", None)
    try:
        make_settings("any", options)
    except UsageError as error:
        raise DataError(str(error), file=config) from None
    options |= {name: value for name, value in given.items() if value not in (None, ())}
    chosen = model or named
    if chosen is None:
        raise click.UsageError(
            "which model? Give provider/model, such as vllm/Qwen3-8B; `m3ke providers` lists them"
        )
    return make_settings(chosen, options)


def _prepare(settings: RunSettings, display: Display, *, sends: bool) -> tuple[Evaluation, Target]:
    from m3ke_async.providers import parse_model
    from m3ke_async.run import find_evaluation, find_suite
    from m3ke_async.target import find_target

    parse_model(settings.model)
    suite = find_suite(settings.data, settings.suite)
    target = find_target(settings, display, sends=sends)
    return find_evaluation(settings, suite, target), target


# -- commands --------------------------------------------------------------------------


@cli.command(context_settings=_CONTEXT)
@click.argument("model", type=_TEXT, required=False)
@_run_options
def run(model: str | None, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> int:
    """Evaluate MODEL (provider/model), or continue.

    The same settings continue the same run: what has a reply is never asked again.
    """
    from m3ke_async.loop import run_loop
    from m3ke_async.progress import make_display
    from m3ke_async.run import run as run_evaluation

    settings = _settings(model, config, options)
    display = make_display(quiet=quiet)
    return _show(run_loop(run_evaluation(settings, display=display, signals=True)), settings, as_json=as_json)


def _show(result: RunResult, settings: RunSettings, *, as_json: bool) -> int:
    """Print what a run came to; the exit code."""
    from m3ke_async.request import Outcome

    if as_json or result.stopped is None or result.scores.usage.replies:
        _print_result(result, as_json=as_json)
    if result.stopped is not None:
        raise result.stopped
    if result.exit_code is ExitCode.INCOMPLETE:
        total = result.scores.total
        left = total.outcomes[Outcome.FAILED] + total.missing
        command = "the command without --retry-failed" if settings.retry_failed else "the same command"
        questions = "question has" if left == 1 else "questions have"
        _fail(f"incomplete: {left:,} {questions} no reply; {command} goes on")
    return int(result.exit_code)


@cli.command(context_settings=_CONTEXT)
@click.argument("model", type=_TEXT, required=False)
@_run_options
def plan(model: str | None, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> None:
    """Requests, tokens, price and time of a run; sends nothing."""
    from m3ke_async.owed import fresh_since
    from m3ke_async.plan import make_plan
    from m3ke_async.progress import make_display
    from m3ke_async.replies import open_store
    from m3ke_async.run import run_directory
    from m3ke_async.target import batch_price, price_of

    settings = _settings(model, config, options)
    evaluation, target = _prepare(settings, make_display(quiet=quiet), sends=False)
    directory = run_directory(evaluation)
    record = directory.read()
    evaluation, since = evaluation.as_begun(record), fresh_since(settings, record)
    batch = filling = None
    if settings.batch:
        from m3ke_async.batch.client import batch_api
        from m3ke_async.batch.write import Filling

        batch = batch_api(target)
        filling = Filling(batch)
    if directory.store.exists():
        with open_store(directory, _fail) as store:
            planned = make_plan(evaluation, store, since, filling)
    else:
        planned = make_plan(evaluation, None, since, filling)
    price = price_of(settings, target.profile, target.model)
    if batch is not None and price is not None:
        price = batch_price(price, target.profile) or price
    seconds = planned.seconds(
        settings.rpm or target.profile.requests_per_minute, settings.tpm or target.profile.tokens_per_minute
    )
    if as_json:
        cost = planned.cost(price) if price else None
        _print_json({**planned.to_json(), "cost": cost, "seconds": seconds})
        return
    from m3ke_async.report.plan import plan_lines

    _print_lines(plan_lines(planned, settings, price, seconds, batch))


@cli.command(context_settings=_CONTEXT)
@click.argument("model", type=_TEXT, required=False)
@_run_options
def check(model: str | None, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> None:
    """Ask MODEL one question: key, address, model, limits."""
    import tempfile

    from m3ke_async.check import check as check_endpoints
    from m3ke_async.check import refuse_without_key
    from m3ke_async.loop import run_loop
    from m3ke_async.progress import make_display
    from m3ke_async.target import NoKeyError

    settings = _settings(model, config, {**options, "data": options["data"] or "sample"})
    display = make_display(quiet=quiet)
    try:
        evaluation, target = _prepare(settings, display, sends=True)
    except NoKeyError as error:
        raise refuse_without_key(settings.model, error) from None
    with tempfile.TemporaryDirectory() as folder:
        checked = run_loop(check_endpoints(evaluation, target, Path(folder) / "server.log", display))
    if as_json:
        _print_json([one.to_json() for one in checked])
        return
    for one in checked:
        _print_lines(one.lines())


@cli.command(context_settings=_CONTEXT)
@click.argument("run_path", metavar="RUN")
@click.option("--policy", metavar="NAME", help="How letters are found: careful, strict, first or last.")
@click.option("--diff", is_flag=True, help="Print what would change, and write nothing.")
@click.option("--key", metavar="FILE", help="Answer key: a folder in M3KE's layout, JSONL or CSV.")
@click.option("--data", metavar="PATH", help="Where the suite lies now.")
@click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="Where RUN's name is looked up."
)
@click.option("--all-tasks", is_flag=True, help="Print a row for every task.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def score(
    run_path: str,
    policy: str | None,
    key: str | None,
    data: str | None,
    results: str,
    *,
    diff: bool,
    all_tasks: bool,
    as_json: bool,
) -> int:
    """Score RUN again, offline; --key scores the test split."""
    from m3ke_async.reopen import changed_choices, rescore
    from m3ke_async.rundir import find_run

    directory = find_run(run_path, results)
    if diff:
        changed = changed_choices(directory, data=data, policy=policy, warn=_fail)
        if as_json:
            _print_json([change.to_json() for change in changed])
        else:
            _print_lines(change.line() for change in changed)
        return ExitCode.COMPLETE
    result = rescore(directory, data=data, policy=policy, key=key, warn=_fail)
    _print_result(result, as_json=as_json, tasks=all_tasks)
    return int(result.exit_code)


@cli.command(context_settings=_CONTEXT)
@click.argument("run_path", metavar="RUN")
@click.argument("task", type=_TEXT)
@click.argument("question_id", type=_TEXT, metavar="ID")
@click.option("--data", metavar="PATH", help="Where the suite lies now.")
@click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="Where RUN's name is looked up."
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def explain(
    run_path: str, task: str, question_id: str, data: str | None, results: str, *, as_json: bool
) -> None:
    """One question of RUN: prompt, reply, marked choice, rule."""
    from m3ke_async.explain import explain as explain_question
    from m3ke_async.explain import explain_json
    from m3ke_async.reopen import reopen, stored_replies
    from m3ke_async.rundir import find_run

    directory = find_run(run_path, results)
    evaluation = reopen(directory, data)
    with stored_replies(directory, _fail) as find:
        if as_json:
            _print_json(explain_json(evaluation, find, task, question_id))
        else:
            _print_lines(explain_question(evaluation, find, task, question_id))


@cli.command(context_settings=_CONTEXT)
@click.argument("run_paths", metavar="RUN...", nargs=-1, required=True)
@click.option("--data", metavar="PATH", help="Where the suite lies now.")
@click.option(
    "--results",
    default="results",
    show_default=True,
    metavar="DIR",
    help="Where the whole run goes, and RUNs' names are looked up.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def merge(run_paths: tuple[str, ...], data: str | None, results: str, *, as_json: bool) -> int:
    """Put RUNs that asked shards of the same together into the undivided run.

    What is missing then is asked by the command without --shard.
    """
    from m3ke_async.merge import merge as merge_runs
    from m3ke_async.places import user_path
    from m3ke_async.request import Outcome
    from m3ke_async.rundir import find_run

    runs = [find_run(run, results) for run in run_paths]
    result = merge_runs(runs, user_path(results), data=data, warn=_fail)
    _print_result(result, as_json=as_json)
    if result.exit_code is ExitCode.INCOMPLETE:
        total = result.scores.total
        left = total.outcomes[Outcome.FAILED] + total.missing
        _fail(f"incomplete: {left:,} without a reply; m3ke run without --shard asks them")
    return int(result.exit_code)


@cli.command(context_settings=_CONTEXT)
@click.argument("run_paths", metavar="RUN RUN...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Compare runs that do not ask the same, and say so.")
@click.option(
    "--results",
    default="results",
    show_default=True,
    metavar="DIR",
    help="Where the runs' names are looked up.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the comparison as a page, too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    run_paths: tuple[str, ...], results: str, html: Path | None, *, force: bool, as_json: bool
) -> None:
    """Compare the first RUN with each of the others, question by question."""
    from m3ke_async.compare import compare_runs

    comparison = compare_runs(*run_paths, results=results, force=force, warn=_fail)
    if html is not None:
        from m3ke_async.reopen import read_run
        from m3ke_async.report.compare_html import write_comparison

        write_comparison(html, comparison, [read_run(run, results).scores for run in run_paths])
    if as_json:
        _print_json(comparison.to_json())
        return
    from rich.console import Console

    from m3ke_async.report.compare import render

    render(comparison, Console())


@cli.command(context_settings=_CONTEXT)
@click.argument("run_path", metavar="RUN")
@click.option(
    "--format",
    "form",
    metavar="NAME",
    default="html",
    show_default=True,
    help="html, md, png; csv, parquet with a row a question; inspect, lm-eval.",
)
@click.option(
    "--leaderboard", is_flag=True, help="Print the row of M3KE's tables; write a zip for its authors."
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="File.  [default: in the run's folder]"
)
@click.option("--data", metavar="PATH", help="Where the suite lies now.")
@click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="Where RUN's name is looked up."
)
def report(
    run_path: str, form: str, output: Path | None, data: str | None, results: str, *, leaderboard: bool
) -> None:
    """Write a report of RUN, and print where it is."""
    from m3ke_async.report.write import find_format, write_for_leaderboard, write_report
    from m3ke_async.rundir import find_run

    directory = find_run(run_path, results)
    if leaderboard:
        path, lines = write_for_leaderboard(directory, output, data=data)
        _print_lines([*lines, "", str(path)])
        return
    path = write_report(directory, find_format(form), output, data=data, warn=_fail)
    _print_lines([str(path)])


@cli.command(context_settings=_CONTEXT)
@click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="The folder of the runs."
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def runs(results: str, *, as_json: bool) -> None:
    """What is in the results folder: model, split, shots, score, age, state."""
    from m3ke_async.listing import list_runs
    from m3ke_async.places import user_path

    found = list_runs(user_path(results))
    if as_json:
        _print_json([run.to_json() for run in found])
        return
    from rich.console import Console

    from m3ke_async.report.runs import render

    if not found:
        _print_lines([f"no runs in {results}"])
    render(found, Console())


@cli.command(context_settings=_CONTEXT)
@click.argument("run_path", metavar="RUN")
@click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="Where RUN's name is looked up."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line.")
def watch(run_path: str, results: str, *, as_json: bool) -> int:
    """Follow RUN while another process is at work on it; reads only."""
    from m3ke_async.listing import watch as watch_run
    from m3ke_async.report.runs import standing_line
    from m3ke_async.request import dump_json
    from m3ke_async.rundir import find_run

    before = None
    try:
        for found in watch_run(find_run(run_path, results)):
            line = standing_line(found, found.rate(before))
            _print_lines([dump_json(found.to_json()).decode() if as_json else line])
            before = found
    except KeyboardInterrupt:
        _fail("not watching any more; the run goes on")
        return ExitCode.INTERRUPTED
    return found.state.exit_code


class _FileFirst(click.Group):
    """A group of commands whose `run` may be left out before a file."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        named = args[0] in self.commands or args[0].startswith("-")
        return super().resolve_command(ctx, args if named else ["run", *args])


@cli.group(cls=_FileFirst, context_settings=_CONTEXT)
def sweep() -> None:
    """Run many evaluations on one machine or a Ray cluster: `m3ke sweep FILE`."""


_SWEEP_FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
_SWEEP_RESULTS = click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="Where runs and replies are kept."
)


@sweep.command("run", context_settings=_CONTEXT)
@_SWEEP_FILE
@_SWEEP_RESULTS
@click.option("--address", metavar="ADDRESS", help="Of a Ray cluster, or `auto`.  [default: this machine]")
@click.option("--quiet", is_flag=True, help="Print errors and the result only.")
@click.option("--json", "as_json", is_flag=True, help="Print the cells as JSON.")
def run_sweep(file: Path, results: str, address: str | None, *, quiet: bool, as_json: bool) -> int:
    """Run the cells of FILE, or go on with them, and compare them."""
    from m3ke_async.places import user_path
    from m3ke_async.report.sweep import shown
    from m3ke_async.sweep.campaign import run_sweep as run_cells
    from m3ke_async.sweep.campaign import write_page

    folder = user_path(results)
    with shown(folder, quiet=quiet) as show:
        courses = run_cells(file, folder, address=address, show=show, warn=_fail)
    page = write_page(file, folder, courses, _fail)
    code = _print_sweep(courses, folder, as_json=as_json)
    if page is not None and not as_json:
        _print_lines(["", f"compared in {page}"])
    return code


@sweep.command("status", context_settings=_CONTEXT)
@_SWEEP_FILE
@_SWEEP_RESULTS
@click.option("--json", "as_json", is_flag=True, help="Print the cells as JSON.")
def sweep_status(file: Path, results: str, *, as_json: bool) -> int:
    """How far the cells of FILE are; reads only."""
    from m3ke_async.places import user_path
    from m3ke_async.sweep.campaign import sweep_status as read_status

    folder = user_path(results)
    return _print_sweep(read_status(file, folder), folder, as_json=as_json)


@cli.group(context_settings=_CONTEXT)
def data() -> None:
    """Get M3KE, or look at a suite."""


@data.command(context_settings=_CONTEXT)
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
    _print_lines([str(path)])


@data.command("check", context_settings=_CONTEXT)
@click.argument("path")
@click.option("--suite", default="auto", show_default=True, metavar="NAME", help="Whose files lie there.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def check_data(path: str, suite: str, *, as_json: bool) -> None:
    """Compare the suite at PATH with the manifest and print what is odd."""
    from m3ke_async.datacheck import check, format_report
    from m3ke_async.run import find_suite

    found = check(find_suite(path, suite))
    if as_json:
        _print_json(found.to_json())
    else:
        _print_lines(format_report(found).split("\n"))


@cli.command(context_settings=_CONTEXT)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def providers(name: str | None, *, as_json: bool) -> None:
    """What is known of the providers, or of one."""
    from m3ke_async.providers import load_profile, profile_names
    from m3ke_async.report.providers import profile_json, profile_lines, table_lines

    profiles = [load_profile(one) for one in ([name] if name else profile_names())]
    if as_json:
        _print_json([profile_json(profile) for profile in profiles])
        return
    _print_lines(profile_lines(profiles[0]) if name else table_lines(profiles))


@cli.command(context_settings=_CONTEXT)
@click.argument("model")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--engine",
    type=click.Choice(["auto", "vllm", "sglang", "transformers", "tgi", "llama.cpp"]),
    default="auto",
    show_default=True,
    help="What serves it.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", help="Where it listens.  [default: the engine's]"
)
@click.option("--data", metavar="PATH", help="The suite that will be asked, for the length of its prompts.")
@click.option("--shots", type=int, default=5, show_default=True, metavar="N", help="Examples at most.")
@click.option("--max-tokens", type=int, metavar="N", help="Tokens of a reply at most.  [default: 64]")
@click.option("--dry-run", is_flag=True, help="Print the command and why it is so, and start nothing.")
def serve(
    model: str,
    arguments: tuple[str, ...],
    engine: str,
    *,
    port: int | None,
    data: str | None,
    shots: int,
    max_tokens: int | None,
    dry_run: bool,
) -> None:
    """Serve MODEL on this machine until Ctrl-C: a hub id, a folder, or a GGUF file.

    ARGUMENTS after -- go to the engine as they are, such as `-- --trust-remote-code`.
    """
    from m3ke_async.loop import run_loop
    from m3ke_async.places import default_suite_path
    from m3ke_async.progress import make_display
    from m3ke_async.run import find_suite
    from m3ke_async.serving.command import demand_for
    from m3ke_async.serving.command import serve as serve_until_stopped
    from m3ke_async.serving.hosted import find_hosted

    display = make_display(quiet=False)
    suite = find_suite(data) if data is not None or default_suite_path() is not None else None
    demand = demand_for(suite, {"shots": shots, "max_tokens": max_tokens})
    hosted = find_hosted(engine, model, display, extra=arguments, fetch=not dry_run)
    if dry_run:
        _print_lines(hosted.preview(demand, port or hosted.port))
        return
    run_loop(serve_until_stopped(hosted, demand, port, display, lambda line: _print_lines([line])))


# -- batches ---------------------------------------------------------------------------


@cli.group(context_settings=_CONTEXT)
def batch() -> None:
    """The providers' batches: cheaper, and later."""


_RESULTS = click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="Where RUN's name is looked up."
)
_DATA = click.option("--data", metavar="PATH", help="Where the suite lies now.")
_QUIET = click.option("--quiet", is_flag=True, help="Print errors and the result only.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


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
        return _settings(run, config, {**given, "batch": batch})
    given = {name: value for name, value in given.items() if value not in (None, ()) and name != "results"}
    more = [name for name in given if name not in _CHANGEABLE] + (["config"] if config else [])
    if more:
        raise click.UsageError(
            f"{directory.path} is a run that has begun, and --{more[0].replace('_', '-')} is no option of "
            "going on with it: leave it out, or give provider/model"
        )
    return settings_again(directory, {**given, "batch": batch, "then": given.get("then")})


#: Options that may change from one command of a run to the next.
_CHANGEABLE = ("data", "then", "max_cost", "max_requests", "max_tokens_total", "max_time", "price")


def _run_batch(steps: str, settings: RunSettings, *, quiet: bool, as_json: bool) -> int:
    from functools import partial

    from m3ke_async.batch.asking import Steps, ask_in_batches
    from m3ke_async.loop import run_loop
    from m3ke_async.progress import make_display
    from m3ke_async.run import run as run_evaluation

    asking = partial(ask_in_batches, steps=Steps(steps))
    display = make_display(quiet=quiet)
    result = run_loop(run_evaluation(settings, display=display, signals=True, asking=asking))
    if steps == "collect":
        return _show(result, settings, as_json=as_json)
    if as_json:
        from m3ke_async.batch.status import parts_on_disk

        _print_json([one.to_json() for one in parts_on_disk(result.path)])
    if result.stopped is not None:
        raise result.stopped
    return ExitCode.COMPLETE


@batch.command(context_settings=_CONTEXT)
@click.argument("run", metavar="RUN|MODEL", type=_TEXT)
@_run_options
def submit(run: str, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> int:
    """Submit what is owed, and return: of RUN, or of the run that MODEL and its options begin."""
    settings = _batch_settings(run, config, options)
    return _run_batch("submit", settings, quiet=quiet, as_json=as_json)


@batch.command(context_settings=_CONTEXT)
@click.argument("run", metavar="RUN", type=_TEXT)
@click.option("--then", metavar="live", help="Ask now what the batches left without a reply.")
@_DATA
@_RESULTS
@_QUIET
@_JSON
def collect(run: str, then: str | None, data: str | None, results: str, *, quiet: bool, as_json: bool) -> int:
    """Take the replies of RUN's batches that have ended."""
    settings = _batch_settings(run, None, {"then": then, "data": data, "results": results})
    return _run_batch("collect", settings, quiet=quiet, as_json=as_json)


@batch.command(context_settings=_CONTEXT)
@click.argument("run", metavar="RUN", type=_TEXT)
@_DATA
@_RESULTS
@_QUIET
def cancel(run: str, data: str | None, results: str, *, quiet: bool) -> int:
    """Begin nothing more of RUN's batches; what was answered can be collected, and is paid."""
    return _run_batch(
        "cancel", _batch_settings(run, None, {"data": data, "results": results}), quiet=quiet, as_json=False
    )


@batch.command(context_settings=_CONTEXT)
@click.argument("run", metavar="RUN", type=_TEXT)
@_RESULTS
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def status(run: str, results: str, *, as_json: bool) -> None:
    """How far RUN's batches are; asks the provider, and changes nothing."""
    from m3ke_async.batch.status import batch_status
    from m3ke_async.loop import run_loop
    from m3ke_async.rundir import find_run

    found = run_loop(batch_status(find_run(run, results)))
    if as_json:
        _print_json([one.to_json() for one in found])
        return
    _print_lines(one.line() for one in found)
    if not found:
        _print_lines(["no batches"])


@batch.command(context_settings=_CONTEXT)
@click.argument("run", metavar="RUN|MODEL", type=_TEXT)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_run_options
def write(run: str, file: Path, config: Path | None, *, quiet: bool, as_json: bool, **options: Any) -> int:
    """Write what is owed into FILE, for `vllm run-batch -i FILE`."""
    settings = _batch_settings(run, config, options, batch=False)
    return _run_offline("write_requests", file, settings, quiet=quiet, as_json=as_json)


@batch.command(context_settings=_CONTEXT)
@click.argument("run", metavar="RUN", type=_TEXT)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@_DATA
@_RESULTS
@_QUIET
@_JSON
def read(run: str, file: Path, data: str | None, results: str, *, quiet: bool, as_json: bool) -> int:
    """Take the replies in FILE, which `vllm run-batch -o FILE` wrote, or a provider."""
    settings = _batch_settings(run, None, {"data": data, "results": results}, batch=False)
    return _run_offline("read_results", file, settings, quiet=quiet, as_json=as_json)


def _run_offline(step: str, file: Path, settings: RunSettings, *, quiet: bool, as_json: bool) -> int:
    from functools import partial

    from m3ke_async.batch import offline
    from m3ke_async.loop import run_loop
    from m3ke_async.progress import make_display
    from m3ke_async.run import run as run_evaluation

    asking = partial(getattr(offline, step), file=file)
    display = make_display(quiet=quiet)
    result = run_loop(run_evaluation(settings, display=display, asking=asking, sends=False))
    if step == "write_requests" and result.stopped is None and not as_json:
        return ExitCode.COMPLETE
    return _show(result, settings, as_json=as_json)


# -- printing --------------------------------------------------------------------------


def _print_lines(lines: Iterable[str]) -> None:
    from m3ke_async.text import printable

    for line in lines:
        _say(printable(line), sys.stdout)


def _print_result(result: RunResult, *, as_json: bool, tasks: bool = False) -> None:
    if as_json:
        _print_json(
            {
                "path": str(result.path),
                "exit_code": int(result.exit_code),
                "stopped": str(result.stopped) if result.stopped else None,
                "scores": result.scores.to_json(),
                "ledger": result.ledger.to_json(),
            }
        )
        return
    from rich.console import Console

    from m3ke_async.published import table_beside
    from m3ke_async.report.failed import failed_lines
    from m3ke_async.report.ledger import ledger_lines
    from m3ke_async.report.terminal import render
    from m3ke_async.rundir import RunDir

    directory = RunDir(result.path)
    record = directory.read() or {}
    render(
        result.scores,
        [
            f"{record['settings']['model']}, {record['data']}, {result.scores.split}{_mode(record)}",
            f"results in {result.path}",
        ],
        table_beside(record),
        Console(),
        shots=record["settings"]["shots"],
        tasks=tasks,
    )
    _print_lines([""])
    _print_lines(ledger_lines(result.ledger, result.price))
    _print_lines(failed_lines(directory.failed))


def _print_sweep(courses: Sequence[CellCourse], results: Path, *, as_json: bool) -> int:
    """The cells of a sweep; what the command returns."""
    from m3ke_async.sweep.course import CellState

    whole = all(course.state is CellState.COMPLETE for course in courses)
    if as_json:
        _print_json([course.to_json(results) for course in courses])
    else:
        from rich.console import Console

        from m3ke_async.report.sweep import render, trouble_lines

        render(courses, results, Console())
        _print_lines(trouble_lines(courses))
    return ExitCode.COMPLETE if whole else ExitCode.INCOMPLETE


def _mode(record: Mapping[str, Any]) -> str:
    """What was taken for an answer, where it was not the text."""
    mode = record["settings"].get("answer", "text")
    return "" if mode == "text" else f", --answer {mode}"
