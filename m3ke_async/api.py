"""Evaluating from a script or a notebook."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from m3ke_async.errors import StoppedError
from m3ke_async.run import RunResult, run
from m3ke_async.settings_checks import make_settings
from m3ke_async.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from m3ke_async.settings import RunOptions


async def evaluate(
    model: str, suite: Suite | str | Path | None = None, **options: Unpack[RunOptions]
) -> RunResult:
    """Evaluate a model, or continue; for scripts and notebooks.

    Args:
        model: `provider/model`.
        suite: a loaded suite, a path, or `sample`; the fetched M3KE where it is None.
        options: as of `m3ke run`, with underscores; see RunSettings.

    Raises:
        UsageError: settings that cannot work; nothing was sent.
        StoppedError: the provider stopped the run: key, money, model. What was answered is kept.
    """
    if suite is not None and not isinstance(suite, Suite):
        options["data"], suite = str(suite), None
    result = await run(make_settings(model, options), suite=suite)
    if isinstance(result.stopped, StoppedError):
        raise result.stopped
    return result


def evaluate_sync(
    model: str, suite: Suite | str | Path | None = None, **options: Unpack[RunOptions]
) -> RunResult:
    """`evaluate` for code that is not asynchronous; it works inside a running loop, too."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(evaluate(model, suite, **options))
    return _in_a_thread(evaluate(model, suite, **options))


def _in_a_thread(evaluation: Coroutine[Any, Any, RunResult]) -> RunResult:
    """Run it in a loop of its own, since a notebook's loop is running in this thread; Ctrl-C ends it."""
    from concurrent.futures import Future, ThreadPoolExecutor

    cancel: Future[Callable[[], object]] = Future()

    async def main() -> RunResult:
        task = asyncio.ensure_future(evaluation)
        cancel.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel))
        return await task

    with ThreadPoolExecutor(1, thread_name_prefix="m3ke") as pool:
        result = pool.submit(asyncio.run, main())
        try:
            return result.result()
        except KeyboardInterrupt:
            cancel.result()()
            raise
