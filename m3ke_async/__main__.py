"""The command: `m3ke`, or `python -m m3ke_async` where it is not on the path."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command; a signal that comes while it is still being loaded ends it like any later one."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from m3ke_async.cli import main as command

        command()
    except KeyboardInterrupt:
        from m3ke_async.again import interrupted

        sys.stderr.write(f"m3ke: {interrupted()}\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
