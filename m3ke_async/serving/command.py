"""`m3ke serve`: a server until Ctrl-C, or the command that would start it."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from m3ke_async.errors import ExitCode, M3keError
from m3ke_async.evaluation import make_evaluation
from m3ke_async.places import cache_dir
from m3ke_async.providers import load_profile
from m3ke_async.serving.hosted import M3KE_LONGEST, demand_of
from m3ke_async.serving.sizing import Demand
from m3ke_async.settings_checks import make_settings
from m3ke_async.suite import Split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from m3ke_async.progress import Display
    from m3ke_async.serving.hosted import Hosted
    from m3ke_async.suite import Suite


class ServingStoppedError(M3keError):
    """The user ended `m3ke serve`, which is how it ends."""

    exit_code = ExitCode.INTERRUPTED


def demand_for(suite: Suite | None, options: Mapping[str, Any]) -> Demand:
    """What runs over either split of a suite ask of a server; M3KE's own where there is none.

    Args:
        suite: from which will be asked.
        options: those of a run.

    Raises:
        UsageError: options that cannot work.
    """
    settings = [make_settings("custom/any", {**options, "split": split.value}) for split in Split]
    if suite is None:
        return Demand(*M3KE_LONGEST, settings[0].max_tokens)
    profile = load_profile("custom")
    demands = [
        demand_of(make_evaluation(each, suite, profile, "any", "any"))
        for each in settings
        if any(task.sizes.get(each.split) for task in suite.tasks)
    ]
    chars, size = max(one.chars for one in demands), max(one.size for one in demands)
    return Demand(chars, size, settings[0].max_tokens)


async def serve(
    hosted: Hosted, demand: Demand, port: int | None, display: Display, say: Callable[[str], None]
) -> None:
    """Serve until a signal comes or the server ends.

    Args:
        hosted: the model.
        demand: what will be asked.
        port: where to listen; None takes the engine's usual one.
        display: where to say how it loads.
        say: is told the address, the log and what to do next.

    Raises:
        ServingStoppedError: Ctrl-C or SIGTERM.
        UsageError: it does not start.
        StoppedError: it ended by itself.
    """
    port = port or hosted.port
    log = cache_dir() / "servers" / f"{hosted.provider}-{port}.log"
    with _signals_cancel():
        try:
            async with hosted.server(demand, log=log, say=display.say, port=port) as server:
                say(f"address  {server.base_url}")
                say(f"log      {log}")
                say(f"run      m3ke run {hosted.provider}/{hosted.name} --base-url {server.base_url}")
                display.say("Ctrl-C stops it")
                raise await server.ended()
        except asyncio.CancelledError:
            raise ServingStoppedError("the server was stopped") from None


@contextmanager
def _signals_cancel() -> Iterator[None]:
    """Ctrl-C and SIGTERM cancel what runs inside."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    watched = (signal.SIGINT, signal.SIGTERM)
    if task is None or sys.platform == "win32":  # there Ctrl-C cancels by asyncio's own means
        yield
        return
    for number in watched:
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in watched:
            loop.remove_signal_handler(number)
