"""The run as its parts see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio

    from m3ke_async.backlog import Job
    from m3ke_async.endpoint import Endpoint


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
