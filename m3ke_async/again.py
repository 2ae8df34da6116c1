"""The command that goes on, to be copied: what was called, quoted for a shell, without any key."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from m3ke_async.scrub import scrub

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def interrupted(arguments: list[str] | None = None) -> str:
    """What to say at the end of an interrupted command: one line, with the command that goes on.

    Args:
        arguments: of the command; those of the process where it is None.
    """
    return f"interrupted; every reply is kept; go on with: {command_again(arguments)}"


def command_again(arguments: list[str] | None = None) -> str:
    """The command with these arguments, as a shell takes it; `[key]` stands for keys in addresses."""
    program = ["m3ke"]
    if Path(sys.argv[0]).name == "__main__.py":
        program = [sys.executable, "-m", "m3ke_async"]
    given = sys.argv[1:] if arguments is None else arguments
    return " ".join(_quoted(scrub(part, None)) for part in (*program, *given))


def _quoted(part: str) -> str:
    if not _CONTROL.search(part):
        return shlex.quote(part)
    escaped = part.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", escaped) + "'"
