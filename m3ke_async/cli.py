"""The command line: its errors and its list of commands, which are in `commands`."""

from __future__ import annotations

import io
import sys

import click

from m3ke_async import __version__
from m3ke_async.again import interrupted
from m3ke_async.commands import asking, batch, data, results, servers, sweep
from m3ke_async.commands.options import CONTEXT
from m3ke_async.commands.printing import fail, say, show_note
from m3ke_async.errors import ExitCode, InterruptedRunError, M3keError, system_error
from m3ke_async.nearest import nearest
from m3ke_async.streams import drop, open_closed_streams


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
        fail(f"no such option {error.option_name}{nearest(error.option_name, known)}")
        code = ExitCode.USAGE
    except click.ClickException as error:
        fail(_in_one_line(error))
        code = ExitCode.USAGE
    except (InterruptedRunError, KeyboardInterrupt, click.Abort):
        say(f"m3ke: {interrupted(arguments)}", sys.stderr)
        code = ExitCode.INTERRUPTED
    except M3keError as error:
        for note in getattr(error, "__notes__", ()):
            show_note(note)
        fail(str(error))
        code = error.exit_code
    except BrokenPipeError:  # the reader of our output is gone
        code = ExitCode.ERROR
    except OSError as error:
        fail(system_error(error))
        code = ExitCode.ERROR
    try:
        sys.stdout.flush()
    except OSError:
        drop(sys.stdout)
        code = code or ExitCode.ERROR
    sys.exit(int(code or 0))


def _in_one_line(error: click.ClickException) -> str:
    """What click says; where something is missing, also where it is described."""
    words = error.format_message().replace("\n", " ")
    if isinstance(error, click.MissingParameter) and error.ctx:
        return f"{words.rstrip('.')}: see {error.ctx.command_path} --help"
    return words


def _speak_utf8() -> None:
    """What a poor terminal cannot show is escaped, never fatal."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a shell such as IDLE's has its own
            stream.reconfigure(errors="backslashreplace")


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="m3ke")
def cli() -> None:
    """Run the M3KE benchmark on chat models: paced, resumable, auditable."""


for _command in (
    asking.run,
    asking.plan,
    asking.check,
    results.score,
    results.explain,
    results.merge,
    results.compare,
    results.report,
    results.runs,
    results.watch,
    servers.providers,
    servers.serve,
    data.data,
    batch.batch,
    sweep.sweep,
):
    cli.add_command(_command)
