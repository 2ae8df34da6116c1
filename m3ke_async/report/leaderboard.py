"""What M3KE's authors need to put a model into their tables: the row, and what it was made of."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.files import whole_file
from m3ke_async.plan import show_messages
from m3ke_async.report.markdown import published_cells
from m3ke_async.suite import Cluster, Split
from m3ke_async.text import counted, escape_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from m3ke_async.evaluation import Evaluation
    from m3ke_async.score import Scores

#: The same content is the same file: zip cannot go further back.
_TIME = (1980, 1, 1, 0, 0, 0)
#: Of run.json, what shaped the numbers.
_SETTINGS = ("settings", "identity", "versions", "rules", "state")
_README = """\
{model} on M3KE, {split} split, {shots}-shot: {asked}, {answered:,} with one chosen letter.

row.md          the row in the form of the repository's tables; a dash where no answer key is known
prompt.txt      the first prompt as it was sent
settings.json   every setting, the wording of the prompt, versions and hashes of the data
predictions/    the test split with `answer` filled in; empty where no letter was chosen
"""


def leaderboard_row(scores: Scores, model: str) -> list[str]:
    """The lines of a table in the form of the repository's, with this run as its row."""
    clusters = {cluster: group.accuracy for cluster, group in scores.clusters.items()}
    cells = published_cells(clusters, scores.averages.over_clusters_pooled.value)
    heads = ["Models", *Cluster, "Average"]
    rows = [heads, ["---"] * len(heads), [model, *cells]]
    return [f"| {' | '.join(row)} |" for row in rows]


def write_leaderboard(
    path: Path, evaluation: Evaluation, scores: Scores, record: Mapping[str, Any], predictions: Path
) -> None:
    """Write one zip with the row, the prompt, the settings and the predictions.

    Args:
        path: of the zip.
        evaluation: what was asked.
        scores: the run's.
        record: the content of run.json.
        predictions: the run's folder of predictions, which only the test split has.
    """
    settings = {name: record[name] for name in _SETTINGS if name in record}
    texts = {
        "README.txt": _README.format(
            model=evaluation.model,
            split=scores.split,
            shots=scores.shots(evaluation.settings.shots),
            asked=counted(scores.total.asked, "question"),
            answered=scores.total.answered,
        ).encode(),
        "row.md": "".join(f"{line}\n" for line in leaderboard_row(scores, evaluation.model)).encode(),
        "prompt.txt": escape_surrogates(_first_prompt(evaluation)).encode(),
        "settings.json": orjson.dumps(settings, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
    }
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**texts, **dict(_predictions(scores, predictions))}.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), content, zipfile.ZIP_DEFLATED)


def _first_prompt(evaluation: Evaluation) -> str:
    return show_messages(next(evaluation.items(evaluation.suite.tasks[0])))


def _predictions(scores: Scores, folder: Path) -> Iterator[tuple[str, bytes]]:
    if scores.split is Split.TEST:
        for file in sorted(folder.iterdir()):
            yield f"predictions/{file.name}", file.read_bytes()
