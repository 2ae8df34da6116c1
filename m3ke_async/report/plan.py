"""A plan for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.progress import duration
from m3ke_async.suite import Split
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from m3ke_async.plan import Plan
    from m3ke_async.profile import BatchApi
    from m3ke_async.settings import RunSettings
    from m3ke_async.tally import Price


def plan_lines(
    plan: Plan,
    settings: RunSettings,
    price: Price | None,
    seconds: float | None,
    *,
    batch: BatchApi | None = None,
    saving: str | None = None,
) -> Iterator[str]:
    """The plan, one fact a line, and one full prompt a template.

    Args:
        plan: to show.
        settings: of the run.
        price: of tokens, that of a batch where it is known and wanted.
        seconds: of the run at least, under the limits.
        batch: how batches are taken, for a run by batches.
        saving: by a batch, with its source; None where it is not known.
    """
    yield f"questions          {plan.questions:,} of the {settings.split} split, {settings.shots}-shot"
    yield f"requests           {plan.requests:,}"
    stored, repeated = counted(plan.stored, "is", "are"), counted(plan.repeated, "repeats", "repeat")
    held = f"{counted(plan.under_way, 'is', 'are')} in batches under way, " if plan.under_way else ""
    yield f"not sent           {stored} answered already, {held}{repeated} others"
    yield f"prompt tokens      {_span(plan.prompt_tokens)}, estimated from the characters"
    yield f"completion tokens  {_span(plan.completion_tokens)} (--max-tokens {settings.max_tokens})"
    if price is None:
        off = f", {saving}" if batch is not None and saving is not None else ""
        yield f"price              unknown{off}; give --price IN,OUT in money per million tokens"
    else:
        yield f"price              {price.shown(*plan.cost(price))}, retries not counted"
    if batch is not None:
        yield f"batch files        {plan.batch_files:,}"
        saved = "" if batch.discount else "; what a batch saves is not known, and not counted"
        yield f"time               within {counted(batch.window_hours or 24, 'hour')}, or not at all{saved}"
    elif seconds is None:
        yield "time               as the server allows; no limit is known (--rpm, --tpm)"
    else:
        yield f"time               at least {duration(seconds)} under the limits"
    if plan.dropped_shots:
        yield f"examples           {plan.dropped_shots:,} left out, because they equal the question"
    if plan.fewer_shots:
        reason = "leave-one-out on dev" if settings.split is Split.DEV else "not enough dev rows"
        yield f"fewer examples     {counted(plan.fewer_shots, 'question')} ({reason})"
    for name, prompt in plan.prompts.items():
        yield ""
        yield f"--- one prompt of {name} ---"
        yield from prompt.split("\n")


def _span(pair: tuple[int, int]) -> str:
    return f"{pair[0]:,} to {pair[1]:,}"
