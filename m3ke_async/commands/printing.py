"""What the commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from m3ke_async.errors import ExitCode
from m3ke_async.streams import forgiving

if TYPE_CHECKING:
    from collections.abc import Iterable

    from m3ke_async.run import RunResult
    from m3ke_async.settings import RunSettings


def fail(message: str) -> None:
    """One line for people on standard error."""
    from m3ke_async.text import printable

    say(f"m3ke: {printable(' '.join(message.split()))}", forgiving(sys.stderr))


def show_note(note: str) -> None:
    """A line that goes with an error, such as one of a log."""
    from m3ke_async.text import printable

    say(f"  | {printable(note)}", sys.stderr)


def say(line: str, stream: TextIO) -> None:
    """A line as it is."""
    # not click.echo, which writes UTF-8 to streams that say they are ASCII
    stream.write(line + "\n")
    stream.flush()


def print_json(value: object) -> None:
    """A result for programs, on standard output."""
    import orjson

    from m3ke_async.text import escape_surrogates

    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    text = orjson.dumps(escape_surrogates(value), option=options).decode()
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # JSON has escapes of its own
        import json

        text = json.dumps(orjson.loads(text), indent=2)
    say(text, sys.stdout)


def show(result: RunResult, settings: RunSettings, *, as_json: bool, next_step: str | None = None) -> int:
    """Print what a run came to; the exit code.

    Args:
        result: of the run.
        settings: of the command.
        as_json: whether for programs.
        next_step: what asks the rest, where the same command does not.
    """
    from m3ke_async.text import counted

    if as_json or result.stopped is None or result.scores.usage.replies:
        print_result(result, as_json=as_json)
    if result.stopped is not None:
        raise result.stopped
    if result.exit_code is ExitCode.INCOMPLETE:
        owed = counted(result.scores.total.owed, "question has", "questions have")
        command = "the command without --retry-failed" if settings.retry_failed else "the same command"
        fail(f"incomplete: {owed} no reply; {next_step or f'{command} goes on'}")
    return int(result.exit_code)


def print_lines(lines: Iterable[str]) -> None:
    """Lines for people, on standard output."""
    from m3ke_async.text import printable

    for line in lines:
        say(printable(line), sys.stdout)


def print_result(result: RunResult, *, as_json: bool, tasks: bool = False) -> None:
    """A run: scores, ledger, and what failed."""
    if as_json:
        print_json(
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
    from m3ke_async.report.sentences import unusual_reading
    from m3ke_async.report.terminal import render
    from m3ke_async.rundir import RunDir

    directory = RunDir(result.path)
    record = directory.record()
    asked = f"{result.scores.split}{unusual_reading(record)}"
    render(
        result.scores,
        [
            f"{record['settings']['model']}, {record['data']}, {asked}",
            f"results in {result.path}",
        ],
        table_beside(record),
        Console(),
        shots=record["settings"]["shots"],
        tasks=tasks,
    )
    print_lines([""])
    print_lines(ledger_lines(result.ledger, result.price))
    print_lines(failed_lines(directory.failed))
