"""What became of the last replies: read when somebody looks, and never all of them.

Finding the letter in a reply costs about as much as everything else that the engine does
for it, and the results read every reply once more in the end.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.backlog import Ask
    from m3ke_async.request import Outcome, Reply

#: Enough to see that something is wrong, and few enough to be read between two frames.
_LAST = 100


class Recent:
    """The outcomes of the last `_LAST` replies.

    Args:
        read: finds the outcome of a reply.
    """

    def __init__(self, read: Callable[[Ask, Reply], Outcome]) -> None:
        self._read = read
        self._unread: deque[tuple[Ask, Reply]] = deque(maxlen=_LAST)
        self._outcomes: deque[Outcome] = deque(maxlen=_LAST)

    def add(self, ask: Ask, reply: Reply) -> None:
        """Take note of a reply; nothing is read yet."""
        self._unread.append((ask, reply))

    def outcomes(self) -> Counter[Outcome]:
        """How often each outcome stands among the last replies."""
        while self._unread:
            self._outcomes.append(self._read(*self._unread.popleft()))
        return Counter(self._outcomes)
