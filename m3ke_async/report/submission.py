"""The letters of a split without published answers, in the form that its authors score.

C-Eval's, by the README of hkust-nlp/ceval at 10da8e7: a JSON object in UTF-8 with an object for each subject,
which has a letter by each id as a text.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from m3ke_async.files import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from m3ke_async.report.predictions import WriteLetters
    from m3ke_async.suite import Task


@contextmanager
def submission(path: Path) -> Iterator[WriteLetters]:
    """Write the file, whole when the block ends well; '' is written where there is no letter.

    A subject of which nothing was asked is left out.
    """
    with whole_file(path) as file:
        before = b"{\n"

        def write(task: Task, letters: Mapping[int | str, str | None]) -> None:
            nonlocal before
            if letters:
                chosen = {str(id_): letter or "" for id_, letter in letters.items()}
                file.write(before + f"{json.dumps(task.name)}: {json.dumps(chosen)}".encode())
                before = b",\n"

        yield write
        file.write(b"{\n}\n" if before == b"{\n" else b"\n}\n")
