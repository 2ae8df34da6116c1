"""`m3ke providers` and `m3ke serve`."""

from __future__ import annotations

import click

from m3ke_async.commands.options import AS_JSON, CONTEXT
from m3ke_async.commands.printing import fail, print_json, print_lines
from m3ke_async.errors import DataError, ExitCode


@click.command(context_settings=CONTEXT)
@click.argument("name", required=False)
@AS_JSON
def providers(name: str | None, *, as_json: bool) -> int:
    """What is known of the providers, or of one."""
    from m3ke_async.providers import load_profile, profile_names
    from m3ke_async.report.providers import profile_json, profile_lines, table_lines

    if name is not None:
        profile = load_profile(name)
        if as_json:
            print_json([profile_json(profile)])
        else:
            print_lines(profile_lines(profile))
        return ExitCode.COMPLETE
    profiles, wrong = [], []
    for one in profile_names():
        try:
            profiles.append(load_profile(one))
        except DataError as error:
            wrong.append(str(error))
    if as_json:
        print_json([profile_json(profile) for profile in profiles])
    else:
        print_lines(table_lines(profiles))
    for line in wrong:
        fail(line)
    return ExitCode.USAGE if wrong else ExitCode.COMPLETE


@click.command(context_settings=CONTEXT)
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
    """Serve MODEL (hub id, folder, GGUF file) here until Ctrl-C.

    ARGUMENTS after -- go to the engine as they are, such as `-- --trust-remote-code`.
    """
    from m3ke_async.lookup import find_suite
    from m3ke_async.loop import run_loop
    from m3ke_async.places import default_suite_path
    from m3ke_async.progress import make_display
    from m3ke_async.serving.command import demand_for
    from m3ke_async.serving.command import serve as serve_until_stopped
    from m3ke_async.serving.hosted import find_hosted

    display = make_display(quiet=False)
    suite = find_suite(data) if data is not None or default_suite_path() is not None else None
    demand = demand_for(suite, {"shots": shots, "max_tokens": max_tokens})
    hosted = find_hosted(engine, model, display, extra=arguments, fetch=not dry_run)
    if dry_run:
        print_lines(hosted.preview(demand, port or hosted.port))
        return
    run_loop(serve_until_stopped(hosted, demand, port, display, lambda line: print_lines([line])))
