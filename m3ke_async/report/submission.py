"""The letters of a split without published answers, in the form that its authors score.

C-Eval's, by the README of hkust-nlp/ceval at 10da8e7: a JSON object in UTF-8 with an object for each subject,
which has a letter by each id as a text.
"""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from m3ke_async.files import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_submission(path: Path, letters: Iterable[tuple[str, int | str, str | None]]) -> None:
    """Write the file, whole; only one subject at a time is in memory.

    Args:
        path: of the file.
        letters: subject, id and letter, a subject's side by side; '' is written where there is no letter.
    """
    with whole_file(path) as file:
        file.write(b"{")
        for number, (subject, rows) in enumerate(groupby(letters, itemgetter(0))):
            chosen = {str(id_): letter or "" for _, id_, letter in rows}
            before = ",\n" if number else "\n"
            file.write(f"{before}{json.dumps(subject)}: {json.dumps(chosen)}".encode())
        file.write(b"\n}\n")
