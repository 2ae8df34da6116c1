"""One part of n of a run's questions: what an array of jobs shares out without talking to each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Self, TypeVar
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

_FORM = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class Shard:
    """Every `count`-th question of each task; together the shards hold each question once.

    Where a task begins depends on its name, so that many small tasks do not all begin in the same shard.

    Attributes:
        number: which of them, from 1.
        count: how many there are.
    """

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The shard that `i/n` means; None where it means none."""
        found = _FORM.fullmatch(text)
        shard = cls(*map(int, found.groups())) if found else None
        return shard if shard and 1 <= shard.number <= shard.count else None

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def is_whole(self) -> bool:
        """Whether it holds every question."""
        return self.count == 1

    @property
    def suffix(self) -> str:
        """What sets the folder of its run apart; nothing for the whole."""
        return "" if self.is_whole else f"-{self.number}of{self.count}"

    def size(self, task: str, questions: int) -> int:
        """How many of the first questions of a task are in it."""
        return len(range(self._first(task), questions, self.count))

    def of(self, task: str, questions: Iterable[T]) -> Iterator[T]:
        """Those of a task's questions that are in it, in their order."""
        return islice(questions, self._first(task), None, self.count)

    def _first(self, task: str) -> int:
        return (self.number - 1 - crc32(task.encode("utf-8", "surrogatepass"))) % self.count


WHOLE = Shard()
