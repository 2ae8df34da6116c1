"""A comparison of runs as one page that opens from disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3ke_async.files import whole_file
from m3ke_async.report.page import PAGE_END, page_head

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from m3ke_async.comparison import Comparison
    from m3ke_async.score import Scores

_SCRIPTS = ("words.js", "dom.js", "charts.js", "compare.js")
#: Disputed questions in the page; `m3ke compare --json` has all.
_DISPUTED = 500


def write_comparison(path: Path, comparison: Comparison, scores: Sequence[Scores]) -> None:
    """Write the page, whole.

    Args:
        path: of the file.
        comparison: of two runs or more.
        scores: of each of them, in the same order.
    """
    content = comparison.to_json()
    disputed = content["disputed"]
    summary = {
        "comparison": content | {"disputed": disputed[:_DISPUTED]},
        "disputed": len(disputed),
        "scores": [one.to_json() for one in scores],
    }
    with whole_file(path) as file:
        file.write(page_head(summary, _SCRIPTS))
        file.write(PAGE_END)
