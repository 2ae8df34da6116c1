"""The run as its parts see it, and what they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from m3ke_async.backlog import Ask, Backlog, Job
    from m3ke_async.endpoint import Endpoint
    from m3ke_async.engine import EngineSettings
    from m3ke_async.profile import Profile
    from m3ke_async.request import Reply
    from m3ke_async.retry import RetryPolicy
    from m3ke_async.store import ReplyStore
    from m3ke_async.tally import Tally


@dataclass(frozen=True, slots=True)
class Means:
    """What questions are asked with.

    Attributes:
        backlog: the questions.
        endpoints: at least one; the least busy is asked, and a question may go to another one the next time.
        store: keeps replies and failures; knows what is answered, and what another process asks.
        retry: decides on further tries.
        profile: of the provider.
        settings: bounds.
        tally: counts, shared with the progress display.
        on_reply: is told of every reply after it is stored.
        warn: is told, in one line, of what the user should know now.
    """

    backlog: Backlog
    endpoints: tuple[Endpoint, ...]
    store: ReplyStore
    retry: RetryPolicy
    profile: Profile
    settings: EngineSettings
    tally: Tally
    on_reply: Callable[[Ask, Reply], None]
    warn: Callable[[str], None]


class Course(Protocol):
    """The run as a whole, as far as one question concerns it."""

    @property
    def stopping(self) -> bool:
        """Whether nothing more is to be sent."""

    def stop(self, reason: BaseException) -> None:
        """Start nothing more."""

    def check_budget(self) -> bool:
        """Stop the run when its budget is used up; whether it is."""

    def give_place(self, task: asyncio.Task[None], job: Job, endpoint: Endpoint) -> None:
        """Let another worker have the place of one whose attempt is overdue."""
