"""Commands on runs that are there: score, explain, merge, compare, report, runs, watch."""

from __future__ import annotations

from pathlib import Path

import click

from m3ke_async.commands.options import AS_JSON, CONTEXT, DATA, JSON, RESULTS, TEXT
from m3ke_async.commands.printing import fail, print_json, print_lines, print_result
from m3ke_async.errors import ExitCode, UsageError


@click.command(context_settings=CONTEXT)
@click.argument("run_path", metavar="RUN")
@click.option("--policy", metavar="NAME", help="How letters are found: careful, strict, first or last.")
@click.option("--diff", is_flag=True, help="Print what would change, and write nothing.")
@click.option("--key", metavar="FILE", help="Answer key: a folder in M3KE's layout, JSONL or CSV.")
@DATA
@RESULTS
@click.option("--all-tasks", is_flag=True, help="Print a row for every task.")
@JSON
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
    from m3ke_async.reopen import changed_choices, rescore, sum_up
    from m3ke_async.rundir import find_run

    directory = find_run(run_path, results)
    if diff:
        if key is not None:
            raise UsageError("--diff shows how replies are read, which --key does not change: leave one out")
        changed = list(changed_choices(directory, data=data, policy=policy, warn=fail))
        if as_json:
            print_json([change.to_json() for change in changed])
        else:
            print_lines(change.line() for change in changed)
            fail(sum_up(changed))
        return ExitCode.COMPLETE
    result = rescore(directory, data=data, policy=policy, key=key, warn=fail)
    print_result(result, as_json=as_json, tasks=all_tasks)
    return int(result.exit_code)


@click.command(context_settings=CONTEXT)
@click.argument("run_path", metavar="RUN")
@click.argument("task", type=TEXT)
@click.argument("question_id", type=TEXT, metavar="ID")
@DATA
@RESULTS
@AS_JSON
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
    with stored_replies(directory, fail) as find:
        if as_json:
            print_json(explain_json(evaluation, find, task, question_id))
        else:
            print_lines(explain_question(evaluation, find, task, question_id))


@click.command(context_settings=CONTEXT)
@click.argument("run_paths", metavar="RUN...", nargs=-1, required=True)
@DATA
@click.option(
    "--results",
    default="results",
    show_default=True,
    metavar="DIR",
    help="Where the whole run goes, and RUNs' names are looked up.",
)
@JSON
def merge(run_paths: tuple[str, ...], data: str | None, results: str, *, as_json: bool) -> int:
    """Put RUNs, the shards of one run, together into the whole run.

    What is missing then is asked by the command without --shard.
    """
    from m3ke_async.merge import merge as merge_runs
    from m3ke_async.places import user_path
    from m3ke_async.rundir import find_run

    runs = [find_run(run, results) for run in run_paths]
    result = merge_runs(runs, user_path(results), data=data, warn=fail)
    print_result(result, as_json=as_json)
    if result.exit_code is ExitCode.INCOMPLETE:
        left = result.scores.total.owed
        fail(f"incomplete: {left:,} without a reply; m3ke run without --shard asks them")
    return int(result.exit_code)


@click.command(context_settings=CONTEXT)
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
    """Compare the first RUN with the others, question by question."""
    from m3ke_async.compare import compare_runs

    comparison = compare_runs(*run_paths, results=results, force=force, warn=fail)
    if html is not None:
        from m3ke_async.reopen import read_run
        from m3ke_async.report.compare_html import write_comparison

        write_comparison(html, comparison, [read_run(run, results).scores for run in run_paths])
    if as_json:
        print_json(comparison.to_json())
        return
    from rich.console import Console

    from m3ke_async.report.compare import render

    render(comparison, Console())


@click.command(context_settings=CONTEXT)
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
@DATA
@RESULTS
@click.option("--json", "as_json", is_flag=True, help="Print the path, and the table, as JSON.")
def report(
    run_path: str,
    form: str,
    output: Path | None,
    data: str | None,
    results: str,
    *,
    leaderboard: bool,
    as_json: bool,
) -> None:
    """Write a report of RUN, and print where it is."""
    from m3ke_async.report.write import find_format, write_for_leaderboard, write_report
    from m3ke_async.rundir import find_run

    directory = find_run(run_path, results)
    if leaderboard:
        path, lines = write_for_leaderboard(directory, output, data=data)
        if as_json:
            print_json({"path": str(path), "table": lines})
        else:
            print_lines([*lines, "", str(path)])
        return
    path = write_report(directory, find_format(form), output, data=data, warn=fail)
    if as_json:
        print_json({"path": str(path)})
    else:
        print_lines([str(path)])


@click.command(context_settings=CONTEXT)
@click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="The folder of the runs."
)
@AS_JSON
def runs(results: str, *, as_json: bool) -> None:
    """List the runs in the results folder, the latest first."""
    from m3ke_async.listing import list_runs
    from m3ke_async.places import user_path

    found = list_runs(user_path(results))
    if as_json:
        print_json([run.to_json() for run in found])
        return
    from rich.console import Console

    from m3ke_async.report.runs import render

    if not found:
        print_lines([f"no runs in {results}: m3ke run makes one, --results names another folder"])
    render(found, Console())


@click.command(context_settings=CONTEXT)
@click.argument("run_path", metavar="RUN")
@RESULTS
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
            print_lines([dump_json(found.to_json()).decode() if as_json else line])
            before = found
    except KeyboardInterrupt:
        fail("not watching any more; the run goes on")
        return ExitCode.INTERRUPTED
    return found.state.exit_code
