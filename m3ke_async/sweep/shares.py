"""Who may use how much of a limit that several processes share, such as that of one API key.

A lease is a share of the whole limit for a few seconds, whatever that limit is and whether or not
anybody knows it yet: requests and tokens a minute alike are divided by it. Leases never add up to
more than the whole. Who needs less than an equal part leaves the rest to those who wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Seconds that a lease holds where it is not renewed: so long the share of a lost process lies idle.
LEASE_SECONDS = 5.0
#: Less than this is no lease: its first request would be too long in coming.
_LEAST = 1e-4


@dataclass(slots=True)
class _Lease:
    share: float
    want: float
    until: float


class Shares:
    """Leases of limits, by name.

    Args:
        now: seconds of a clock that does not go back.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._limits: dict[str, dict[str, _Lease]] = {}

    def lease(self, limit: str, holder: str, want: float) -> float:
        """The share that a holder has for the next `LEASE_SECONDS`, in place of the one it had.

        Args:
            limit: name of what is shared.
            holder: who asks.
            want: the share that it could use, up to 1.

        Returns:
            Its share; 0 where the others have not given up anything yet.
        """
        now = self._now()
        held = {
            name: lease
            for name, lease in self._limits.get(limit, {}).items()
            if lease.until > now or name == holder
        }
        self._limits[limit] = held
        others = [lease for name, lease in held.items() if name != holder]
        free = max(0.0, 1.0 - sum(lease.share for lease in others))
        share = min(_fair(want, [lease.want for lease in others]), free)
        share = share if share >= _LEAST else 0.0
        held[holder] = _Lease(share, want, now + LEASE_SECONDS)
        return share

    def release(self, limit: str, holder: str) -> None:
        """Give up a lease."""
        self._limits.get(limit, {}).pop(holder, None)


def _fair(want: float, others: Sequence[float]) -> float:
    """What one gets where nobody gets more than it wants, and those who want more get the same."""
    left, wants = 1.0, sorted([want, *others])
    for number, one in enumerate(wants):
        part = left / (len(wants) - number)
        if one >= part:
            return min(want, part)
        left -= one
    return want
