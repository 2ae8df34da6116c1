"""What a run has done so far: counts, the retry ledger, tokens and money; and its budget."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from m3ke_async.text import counted

if TYPE_CHECKING:
    from m3ke_async.request import Reply, Usage


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens, in whatever currency the user or the provider file counts.

    Attributes:
        prompt, completion: money for a million tokens of each.
        currency: None where the user gave the price, and knows.
        basis: whose price it is, for people.
        discount: the share that a batch saves; None where it is not known.
    """

    prompt: float
    completion: float
    currency: str | None = None
    basis: str = "the given price"
    discount: float | None = None

    def shown(self, *amounts: float) -> str:
        """Amounts of money with the currency, where it is known, and the basis of the price."""
        currency = f" {self.currency}" if self.currency else ""
        return f"{' to '.join(f'{amount:,.4f}' for amount in amounts)}{currency} by {self.basis}"

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """The price of that many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class Budget:
    """What one command may use; None is no limit. Requests count every attempt."""

    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Ledger:
    """What asking took, in a form that adds up over the commands of one run.

    Attributes:
        requests: attempts sent.
        replies: attempts that brought a reply to keep.
        prompt_tokens, completion_tokens, cached_tokens: as reported.
        unreported: replies without usage; their tokens are estimated into the sums.
        wasted_tokens: estimated prompt tokens of attempts that brought no reply.
        retries: attempts that failed, by the decision's kind.
        batch_prompt_tokens, batch_completion_tokens: those of the sums that came by a batch.
        resent: attempts on a kept connection that had ended, sent once more at once; they are no requests.
        charged: USD that the provider says it charged, of those replies that say so.
        charges: how many say so.
        seconds_waited: waits before further attempts, added up over questions.
        seconds: time spent asking.
    """

    requests: int = 0
    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    unreported: int = 0
    wasted_tokens: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    seconds_waited: float = 0.0
    seconds: float = 0.0
    resent: int = 0
    batch_prompt_tokens: int = 0
    batch_completion_tokens: int = 0
    charged: float = 0.0
    charges: int = 0

    def cost(self, price: Price) -> float:
        """Money spent, failed attempts included by their estimate; a batch is cheaper where that is known."""
        full = price.cost(self.prompt_tokens + self.wasted_tokens, self.completion_tokens)
        return full - (price.discount or 0.0) * price.cost(
            self.batch_prompt_tokens, self.batch_completion_tokens
        )

    def add_reply(self, reply: Reply, *, estimate: int) -> None:
        """Count a kept reply; `estimate` is its prompt's tokens, for where usage is missing."""
        usage = reply.usage
        self.replies += 1
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            self.unreported += 1
        self.prompt_tokens += estimate if usage.prompt_tokens is None else usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens or 0
        self.cached_tokens += usage.cached_tokens or 0
        self.add_charge(usage)

    def add_charge(self, usage: Usage) -> None:
        """Count what the provider says that it charged for an answer, if it says so."""
        if usage.cost is not None:
            self.charged += usage.cost
            self.charges += 1

    def add_failure(self, kind: str, *, estimate: int, completion: int = 0) -> None:
        """Count an attempt that brought no reply, and the completion tokens that it used all the same."""
        self.retries[kind] += 1
        self.wasted_tokens += estimate
        self.completion_tokens += completion

    def take_back(self, kind: str, *, estimate: int) -> None:
        """A failure that was counted with `estimate` brought its reply after all, late."""
        self.retries -= Counter({kind: 1})
        self.wasted_tokens -= estimate

    def to_json(self) -> dict[str, Any]:
        """As it stands in run.json."""
        return {
            "requests": self.requests,
            "replies": self.replies,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cached_tokens": self.cached_tokens,
            "unreported": self.unreported,
            "wasted_tokens": self.wasted_tokens,
            "retries": dict(sorted(self.retries.items())),
            "resent": self.resent,
            "batch_prompt_tokens": self.batch_prompt_tokens,
            "batch_completion_tokens": self.batch_completion_tokens,
            "charged": round(self.charged, 9),
            "charges": self.charges,
            "seconds_waited": round(self.seconds_waited, 3),
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> Ledger:
        """The ledger of an earlier command."""
        return cls(**{**table, "retries": Counter(table.get("retries", {}))})

    def __add__(self, other: Ledger) -> Ledger:
        return Ledger(
            **{name: getattr(self, name) + getattr(other, name) for name in Ledger.__dataclass_fields__}
        )

    def __sub__(self, other: Ledger) -> Ledger:
        return Ledger(
            **{name: getattr(self, name) - getattr(other, name) for name in Ledger.__dataclass_fields__}
        )


@dataclass(slots=True)
class Tally:
    """Counts of the present command, for the progress display; changed by the engine.

    Attributes:
        total: questions of the run.
        stored: questions that were passed, since their reply was there already.
        known: questions with such a reply as the command before counted them; most are passed only when the
            turn of their task comes.
        answered: questions that got a reply now.
        failed: questions that ended without one.
        failures: of the failed, by kind.
        waiting: questions that wait for another try.
        in_flight: requests under way.
        dropped_shots: examples left out of prompts because they equal the question.
        ledger: what asking took.
    """

    total: int = 0
    stored: int = 0
    known: int = 0
    answered: int = 0
    failed: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    in_flight: int = 0
    dropped_shots: int = 0
    ledger: Ledger = field(default_factory=Ledger)

    def start_over(self, total: int) -> None:
        """Count the questions anew; what asking took stays."""
        self.total = total
        self.stored = self.known = self.answered = self.failed = self.waiting = self.dropped_shots = 0
        self.failures.clear()

    @property
    def had(self) -> int:
        """Questions whose reply was there already, passed or not, as far as is known."""
        return max(self.stored, min(self.known, self.total - self.answered - self.failed))

    @property
    def done(self) -> int:
        """Questions that need nothing more from this command."""
        return self.had + self.answered + self.failed


def exceeded(budget: Budget, ledger: Ledger, price: Price | None, seconds: float) -> str | None:
    """Which limit is used up, as a phrase for people; None while there is room."""
    tokens = ledger.prompt_tokens + ledger.completion_tokens + ledger.wasted_tokens
    if budget.requests is not None and ledger.requests >= budget.requests:
        sent = counted(ledger.requests, "request was", "requests were")
        return f"{sent} sent (--max-requests {budget.requests})"
    if budget.tokens is not None and tokens >= budget.tokens:
        return f"{counted(tokens, 'token was', 'tokens were')} used (--max-tokens-total {budget.tokens})"
    spent = ledger.charged if price is None else ledger.cost(price)
    if budget.cost is not None and spent >= budget.cost:
        return f"{spent:.4f} was spent (--max-cost {budget.cost})"
    if budget.seconds is not None and seconds >= budget.seconds:
        passed = counted(round(seconds), "second has", "seconds have")
        return f"{passed} passed (--max-time {budget.seconds:g})"
    return None
