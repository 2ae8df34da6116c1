"""The order of asking: each worker takes a whole task at a time.

The questions of a task share their few-shot examples, so a server that keeps prompt
prefixes computes them once a lane instead of once a question. Measured with five shots:
llama.cpp with two slots finds 59 % of the prompt tokens in its cache in lanes, 34 % in
plain task order, 10 % shuffled. When workers outnumber the tasks left, one leader goes
before its siblings, since requests that start together all miss the prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Lane(Generic[T]):
    """What is left of one task.

    Attributes:
        items: the questions to come.
        workers: how many are at work in it.
        led: whether the leader is back, or none is wanted.
        drained: whether there is no item left.
    """

    items: Iterator[T]
    workers: int = 0
    led: bool = False
    drained: bool = False


class Lanes(Generic[T]):
    """Hands out the items of many lanes.

    Args:
        lanes: one iterator a task; each is opened when a worker first takes it.
        lead: whether the first item of a lane goes alone until `led`.
    """

    def __init__(self, lanes: Iterable[Iterator[T]], *, lead: bool) -> None:
        self._unopened = iter(lanes)
        self._open: list[Lane[T]] = []
        self._lead = lead

    def take(self, own: Lane[T] | None) -> tuple[Lane[T], T] | None:
        """The next item for a worker whose lane is `own`; None when there is none now.

        The worker counts as being in the returned lane until `leave`.
        """
        lane = own if own is not None and own.led and not own.drained else None
        while True:
            if lane is None:
                lane = self._best()
                if lane is None:
                    return None
            try:
                item = next(lane.items)
            except StopIteration:
                self._open.remove(lane)
                lane.drained = True
                lane = None
                continue
            lane.workers += 1
            if not self._lead:
                lane.led = True
            return lane, item

    def leave(self, lane: Lane[T], *, led: bool) -> None:
        """A worker is done with its item; `led` lets the others of the lane go."""
        lane.workers -= 1
        lane.led = lane.led or led

    def _best(self) -> Lane[T] | None:
        """A lane that nobody has opened, else the open one with the fewest workers."""
        items = next(self._unopened, None)
        if items is not None:
            lane = Lane(items)
            self._open.append(lane)
            return lane
        free = [lane for lane in self._open if lane.led or not lane.workers]
        return min(free, key=lambda lane: lane.workers, default=None)
