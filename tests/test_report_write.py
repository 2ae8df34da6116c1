from __future__ import annotations

import csv
import json
import shutil
import zipfile
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.published import published_table
from m3ke_async.report.leaderboard import leaderboard_row
from m3ke_async.report.markdown import markdown
from m3ke_async.report.picture import write_png
from m3ke_async.score import score
from m3ke_async.suite import Cluster, Split
from tests.command import m3ke
from tests.scoring import answers, make_task
from tests.small_run import write_run
from tests.small_suite import ALGEBRA
from tests.test_frame import check

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.score import Scores

RECORD = {"settings": {"model": "custom/m", "shots": 0, "system": None, "fresh": False}}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("write"))


def written(run: Path, form: str) -> Path:
    ran = m3ke("report", run, "--format", form)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{run / f'report.{form}'}\n"
    return run / f"report.{form}"


def four_clusters(*right: int) -> Scores:
    """Ten questions a cluster, so many right."""
    tasks = [make_task(f"S{place}", cluster) for place, cluster in enumerate(Cluster)]
    lines = [
        line for task, n in zip(tasks, right, strict=True) for line in answers(task, right=n, wrong=10 - n)
    ]
    return score(tasks, lines, split=Split.DEV)


# -- Markdown --------------------------------------------------------------------------


def test_markdown_has_the_sentences_and_every_table(run: Path) -> None:
    text = written(run, "md").read_text("utf-8")
    assert text.startswith("# custom/m, dev, 0-shot\n\n- Accuracy 50.0 % of 6 labelled questions")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Clusters", "## Levels", "## Tasks", "## Settings"]
    assert f"| {ALGEBRA} | 3 | 3 | 3 | 66.7 | 20.8-93.9 | 1 | 1 | 1 | 0 | 0 | 0 |" in text
    assert "| A | B | C | D | unparsed | failed |" in text
    assert text.count("| 0 | 1 | 0 | 0 | 1 | 1 |\n") == 3  # of Cooking, its cluster and its level


def test_markdown_names_another_way_of_reading_than_the_usual_one() -> None:
    record = {"settings": {**RECORD["settings"], "policy": "first", "answer": "text"}}
    assert markdown(four_clusters(1, 1, 1, 1), record, None).startswith(
        "# custom/m, dev, 0-shot, --policy first\n"
    )


def test_markdown_stands_beside_the_published_table() -> None:
    text = markdown(four_clusters(9, 8, 7, 6), RECORD, published_table(0))
    assert "| **this run** | 0.900 | 0.800 | 0.700 | 0.600 | 0.750 |" in text
    assert "| GPT-4 | 0.588 | 0.676 | 0.623 | 0.665 | 0.638 |" in text


def test_no_foreign_text_is_markup() -> None:
    record = {"settings": {"model": "custom/<b>|`![x](http://evil.test)\n# y", "shots": 0}}
    text = markdown(four_clusters(1, 1, 1, 1), record, None)
    assert "<b>" not in text
    assert "![x](" not in text
    assert "\n# y" not in text
    assert r"\|\`!\[x\](http://evil.test) # y" in text


def test_markdown_of_nothing_divides_by_nothing() -> None:
    text = markdown(score([], [], split=Split.TEST), RECORD, published_table(0))
    assert "nan" not in text.lower()


# -- a row a question ------------------------------------------------------------------


def test_csv_has_a_row_a_question(run: Path) -> None:
    raw = written(run, "csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")  # by which spreadsheets know UTF-8
    rows = list(csv.DictReader(raw.decode("utf-8-sig").splitlines()))
    assert [row["choice"] for row in rows[:2]] == ["A", "B"]
    assert [row["correct"] for row in rows[:2]] == ["True", "False"]
    assert rows[5]["reply"] == ""


def test_no_cell_is_a_formula(run: Path) -> None:
    rows = list(csv.DictReader(written(run, "csv").read_text("utf-8-sig").splitlines()))
    assert rows[2]["reply"] == '\'=HYPERLINK("http://evil.test";"C")'


def test_parquet_keeps_types_and_texts(run: Path) -> None:
    pl = pytest.importorskip("polars")
    rows = pl.read_parquet(written(run, "parquet")).to_dicts()
    check(rows)
    assert rows[2]["reply"] == '=HYPERLINK("http://evil.test";"C")'


@pytest.mark.parametrize(("form", "library"), [("parquet", "polars"), ("png", "matplotlib")])
def test_a_missing_library_is_named_with_the_command(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, library: str
) -> None:
    for module in ("tables", "picture"):
        monkeypatch.setattr(f"m3ke_async.report.{module}.find_spec", lambda name: None)
    ran = m3ke("report", run, "--format", form, "--output", tmp_path / "out")
    assert ran.code == ExitCode.USAGE
    assert ran.error == f"--format {form} needs {library}: pip install '.[report]' in the clone of m3ke-async"
    assert not (tmp_path / "out").exists()


# -- a picture -------------------------------------------------------------------------


def test_the_picture_is_a_png(run: Path) -> None:
    pytest.importorskip("matplotlib")
    assert written(run, "png").read_bytes().startswith(b"\x89PNG\r\n")


def test_a_picture_without_labels_shows_what_was_answered(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    task = make_task("X", labelled=0)
    unlabelled = score([task], [], split=Split.DEV)
    write_png(tmp_path / "out.png", unlabelled, "$a_$ 1-shot")
    assert (tmp_path / "out.png").stat().st_size > 1000


# -- the leaderboard -------------------------------------------------------------------


def test_the_row_has_the_form_of_the_repositorys_tables() -> None:
    assert leaderboard_row(four_clusters(9, 8, 7, 6), "m") == [
        "| Models | Arts & Humanities | Social Sciences | Natural Sciences | Other | Average |",
        "| --- | --- | --- | --- | --- | --- |",
        "| m | 0.900 | 0.800 | 0.700 | 0.600 | 0.750 |",
    ]


def test_a_run_of_other_questions_has_no_row(run: Path) -> None:
    ran = m3ke("report", run, "--leaderboard")
    assert ran.code == ExitCode.USAGE
    assert "asks other questions than M3KE's, whose tables it does not fit; m3ke report RUN" in ran.error


def test_the_zip_holds_what_the_authors_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("m3ke_async.record.is_published", lambda suite, split: True)
    run = write_run(tmp_path, labelled=False, split="test")
    ran = m3ke("report", run, "--leaderboard")
    assert (ran.code, ran.err) == (0, "")
    assert "| m | - | - | - | - | - |" in ran.out
    with zipfile.ZipFile(run / "leaderboard.zip") as archive:
        assert archive.namelist() == [
            "README.txt",
            "row.md",
            "prompt.txt",
            "settings.json",
            f"predictions/{ALGEBRA}.jsonl",
            "predictions/Cooking-Other-Other.jsonl",
        ]
        assert archive.read("README.txt").startswith(b"m on M3KE, test split, 0-shot: 6 questions, 4 with")
        assert "Q0-0 哪一个？\nA. 甲" in archive.read("prompt.txt").decode()
        settings = json.loads(archive.read("settings.json"))
        assert settings["settings"]["temperature"] == 0
        assert settings["identity"]["suite"]
        first = archive.read(f"predictions/{ALGEBRA}.jsonl").decode().splitlines()[0]
        assert json.loads(first)["answer"] == "A"


def test_the_same_run_gives_the_same_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("m3ke_async.record.is_published", lambda suite, split: True)
    run = write_run(tmp_path, labelled=False, split="test")
    m3ke("report", run, "--leaderboard")
    m3ke("report", run, "--leaderboard", "--output", tmp_path / "again.zip")
    assert (run / "leaderboard.zip").read_bytes() == (tmp_path / "again.zip").read_bytes()


def test_a_folder_that_was_copied_alone_is_reported_but_for_the_page(run: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(run, tmp_path / "copied")
    assert m3ke("report", copied, "--format", "md").code == 0


def test_answers_that_are_not_those_of_the_scores_are_told(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    assert m3ke("report", run, "--format", "csv").err == ""
    (run / "answers.jsonl").write_bytes(b"")
    ran = m3ke("report", run, "--format", "csv")
    assert ran.code == 0
    assert "answers.jsonl is not what scores.json counts; write both again with: m3ke score RUN" in ran.err


@pytest.mark.parametrize("form", ["html", "csv"])
@pytest.mark.parametrize("with_store", [True, False])
def test_half_a_line_of_the_answers_is_told_once(tmp_path: Path, form: str, *, with_store: bool) -> None:
    run = write_run(tmp_path)
    answers = run / "answers.jsonl"
    answers.write_bytes(answers.read_bytes()[:-40])
    if not with_store:
        (run.parent / "replies.sqlite").unlink()
    ran = m3ke("report", run, "--format", form)
    assert ran.code == 0
    assert ran.err.count("m3ke: ") == 1
    assert "answers.jsonl is not what scores.json counts" in ran.err


@pytest.mark.parametrize(
    ("rows", "shots", "said"),
    [
        ((1, 1), 0, "Fewer examples than --shots 3: 2 of 2 prompts have 0"),
        ((3, 1), 2, "Fewer examples than --shots 3: 4 of 4 prompts have 0 to 2"),
        ((4, 3), 3, "Fewer examples than --shots 3: 3 of 7 prompts have 2"),
        ((4, 4), 3, None),
    ],
)
def test_a_run_is_called_by_the_examples_that_were_sent(
    tmp_path: Path, rows: tuple[int, int], shots: int, said: str | None
) -> None:
    asked = {f"Q{task}-{n}": ("A", "A") for task, size in enumerate(rows) for n in range(size)}
    run = write_run(tmp_path, asked=asked, options=("--shots", "3"))
    assert m3ke("report", run, "--format", "md").code == 0
    text = (run / "report.md").read_text("utf-8")
    assert text.startswith(f"# custom/m, dev, {shots}-shot\n")
    assert said in text if said else "Fewer examples" not in text
    assert [one["shots"] for one in m3ke("runs", "--results", run.parent, "--json").json] == [shots]


def test_where_a_report_is_is_told_as_json(run: Path) -> None:
    ran = m3ke("report", run, "--format", "md", "--json")
    assert ran.json == {"path": str(run / "report.md")}
