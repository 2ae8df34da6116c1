"""Options that several commands share, and what they come to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from m3ke_async.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3ke_async.evaluation import Evaluation
    from m3ke_async.progress import Display
    from m3ke_async.settings import RunSettings
    from m3ke_async.target import Target


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Text(click.ParamType[str]):
    """Text that is sent or compared: UTF-8, whatever encoding the locale takes arguments for."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return os.fsencode(value).decode("utf-8", "surrogateescape")


TEXT = _Text()

RESULTS = click.option(
    "--results", default="results", show_default=True, metavar="DIR", help="Where RUN's name is looked up."
)
DATA = click.option("--data", metavar="PATH", help="Where the suite lies now.")
QUIET = click.option("--quiet", is_flag=True, help="Print errors and the result only.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
#: Of commands that print something else than the result of a run.
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print as JSON.")

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
        "--tasks", multiple=True, type=TEXT, metavar="GLOBS", help="Only these tasks, such as 'Math*,*Law*'."
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
    click.option("--system", type=TEXT, metavar="TEXT", help="A system message."),
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
    QUIET,
    JSON,
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """All options of a run."""
    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return command


def given_settings(model: str | None, config: Path | None, given: Mapping[str, Any]) -> RunSettings:
    """Options of the command line before those of the file."""
    from m3ke_async.settings_checks import make_settings, read_config

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


def prepare(settings: RunSettings, display: Display, *, sends: bool) -> tuple[Evaluation, Target]:
    """What a command would ask, and whom; nothing is sent."""
    from m3ke_async.lookup import find_evaluation, find_suite
    from m3ke_async.providers import parse_model
    from m3ke_async.target import find_target

    parse_model(settings.model)
    suite = find_suite(settings.data, settings.suite)
    target = find_target(settings, display, sends=sends)
    return find_evaluation(settings, suite, target), target
