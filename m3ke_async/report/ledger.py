"""The retry ledger for people: what asking took, over all commands of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.progress import duration
from m3ke_async.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from m3ke_async.tally import Ledger, Price


def ledger_lines(ledger: Ledger, price: Price | None) -> Iterator[str]:
    """Requests, retries, waits, waste and money, a line each; nothing for what did not happen."""
    replies = counted(ledger.replies, "reply", "replies")
    yield f"Requests: {ledger.requests:,} sent in {duration(ledger.seconds)}, {replies}"
    if ledger.retries:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in ledger.retries.most_common())
        waited, wasted = duration(ledger.seconds_waited), counted(ledger.wasted_tokens, "prompt token")
        yield f"Without a reply: {kinds}; {waited} waited, about {wasted} wasted"
    if ledger.resent:
        yield f"Kept connections that had ended: {ledger.resent:,}; their requests took fresh ones at once"
    if ledger.unreported:
        unreported = counted(ledger.unreported, "reply, whose prompt is", "replies, whose prompts are")
        yield f"Tokens are unknown for {unreported} estimated"
    if (tokens := ledger.batch_prompt_tokens + ledger.batch_completion_tokens) and price is not None:
        saved = "what that saves is not known" if price.discount is None else f"{price.discount:.0%} off"
        yield f"By batches: {counted(tokens, 'token')}, {saved}"
    if ledger.charges:
        said = counted(ledger.charges, "reply", "replies")
        yield f"Charged: {ledger.charged:,.4f} USD, as the provider says in {said}"
    if price is not None:
        yield f"Cost: {price.shown(ledger.cost(price))}"
