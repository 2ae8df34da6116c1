"""Questions that stand in another split as well, in whatever task; a model may know them as examples."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from m3ke_async.shard import WHOLE, Shard
from m3ke_async.text import normalised

if TYPE_CHECKING:
    from m3ke_async.suite import Split, Suite


def overlapping(
    asked: Suite, whole: Suite, split: Split, limit: int | None, shard: Shard = WHOLE
) -> dict[str, frozenset[int | str]]:
    """Ids, by task, of the questions whose text stands in another split as well.

    Spaces, case and the width of characters do not matter.

    Args:
        asked: tasks that are looked through.
        whole: the suite; all of its tasks' other splits are compared.
        split: of the questions.
        limit: questions of each task that are looked at, from its start; None is all.
        shard: which of these are looked at.
    """
    known = {
        normalised(question.question)
        for task in whole.tasks
        for other in task.parts
        if other is not split
        for question in task.questions(other)
    }
    return {
        task.name: frozenset(
            question.id
            for question in shard.of(task.name, islice(task.questions(split), limit))
            if normalised(question.question) in known
        )
        for task in asked.tasks
        if split in task.parts
    }
