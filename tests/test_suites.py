"""C-Eval, CMMLU, MMLU and tables of one's own: how their files are told apart, read, asked and scored."""

from __future__ import annotations

import csv
import io
import tempfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.errors import DataError, UsageError
from m3ke_async.evaluation import make_evaluation
from m3ke_async.providers import load_profile
from m3ke_async.score import Scores
from m3ke_async.settings_checks import make_settings
from m3ke_async.suite import Question, Split, Suite, load_suite
from m3ke_async.suites.layout import PUBLISHED, load_layout
from m3ke_async.suites.taxonomy import SuiteName
from tests.browser import chromium, open_page
from tests.command import m3ke
from tests.server import in_thread, reply
from tests.small_suite import ALGEBRA, row, write_split
from tests.test_schemas import faults

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CEVAL = ("id", "question", "A", "B", "C", "D", "answer", "explanation")
CMMLU = ("", "Question", "A", "B", "C", "D", "Answer")
OPTIONS = ("甲", "乙", "丙", "丁")
OWN = ("question", "A", "B", "C", "D", "answer")
#: All that a text in UTF-8 may hold; line ends are LF.
_CHARACTERS = st.characters(codec="utf-8", exclude_characters="\r\0")


def table(*rows: Sequence[object]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def write(folder: Path, name: str, content: bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return folder


def questions(suite: Suite, split: Split) -> list[Question]:
    return [question for task in suite.tasks for question in task.questions(split)]


def ceval(folder: Path, subjects: Iterable[str] = ("law", "computer_network")) -> Path:
    for subject in subjects:
        dev = [(n, f"{subject}例{n}", *OPTIONS, "ABCDA"[n], "因为\n如此") for n in range(5)]
        write(folder, f"dev/{subject}_dev.csv", table(CEVAL, *dev))
        val = [(n, f"Q0-{n} {subject}", *OPTIONS, "AB"[n], "") for n in range(2)]
        write(folder, f"val/{subject}_val.csv", table(CEVAL, *val))
        test = [(n, f"Q1-{n} {subject}", *OPTIONS) for n in range(3)]
        write(folder, f"test/{subject}_test.csv", table(CEVAL[:6], *test))
    return folder


def cmmlu(folder: Path) -> Path:
    for split in ("dev", "test"):
        rows = [(n, f"{split}题{n}", *OPTIONS, "D") for n in range(5)]
        write(folder, f"{split}/ancient_chinese.csv", table(CMMLU, *rows))
    return folder


def mmlu(folder: Path) -> Path:
    for split in ("dev", "val", "test"):
        rows = [(f"{split} {n}, so?", "one", 'a "two"', "three\nfour", "None", "C") for n in range(5)]
        write(folder, f"data/{split}/abstract_algebra_{split}.csv", table(*rows))
    return folder


# What they are


@pytest.mark.parametrize(
    ("name", "clusters", "average"),
    [
        ("ceval", {"STEM": 20, "Social Science": 10, "Humanities": 11, "Other": 11}, "tasks"),
        ("cmmlu", {"STEM": 17, "Humanities": 13, "Social Science": 22, "Other": 15}, "tasks"),
        ("mmlu", {"STEM": 18, "Humanities": 13, "Social Sciences": 12, "Other": 14}, "questions"),
    ],
)
def test_each_suite_has_its_own_subjects_categories_and_average(
    name: str, clusters: dict[str, int], average: str
) -> None:
    layout = load_layout(SuiteName(name))
    counted = dict.fromkeys(clusters, 0)
    for _, cluster in layout.subjects.values():
        counted[cluster] += 1
    assert counted == clusters
    assert layout.taxonomy.tasks == sum(clusters.values())
    assert layout.taxonomy.average == average


def test_subjects_are_spelt_as_their_authors_do() -> None:
    assert load_layout(SuiteName.CEVAL).subjects["computer_network"] == ("计算机网络", "STEM")
    assert load_layout(SuiteName.CMMLU).subjects["virology"] == ("病毒学", "STEM")
    assert load_layout(SuiteName.MMLU).subjects["us_foreign_policy"] == (
        "us foreign policy",
        "Social Sciences",
    )


# What is read


def test_a_suite_is_told_by_the_names_of_its_files(tmp_path: Path) -> None:
    assert load_suite(ceval(tmp_path / "1")).layout.name == "ceval"
    assert load_suite(cmmlu(tmp_path / "2")).layout.name == "cmmlu"
    assert load_suite(mmlu(tmp_path / "3")).layout.name == "mmlu"
    assert load_suite(write_split(tmp_path / "4", "dev", ALGEBRA, [row(1, "?")])).layout.name == "m3ke"
    own = table(("question", "A", "B", "C", "D", "answer"), ("?", *OPTIONS, "A"))
    assert load_suite(write(tmp_path / "5", "test/own.csv", own)).layout.name == "table"


def test_names_that_fit_two_suites_need_the_users_word(tmp_path: Path) -> None:
    folder = write(tmp_path, "dev/college_physics_dev.csv", table(("?", *OPTIONS, "A")))
    with pytest.raises(UsageError, match=r"may be ceval or mmlu, .*; give --suite"):
        load_suite(folder)
    assert load_suite(folder, "mmlu").tasks[0].subject == "college physics"


def test_a_suite_that_is_not_fetched_needs_its_data() -> None:
    ran = m3ke("run", "custom/m", "--base-url", "http://127.0.0.1:9/v1", "--suite", "mmlu")
    assert (ran.code, ran.err) == (
        2,
        "m3ke: --suite mmlu needs --data PATH: m3ke data fetch gets M3KE alone\n",
    )


def test_an_unknown_suite_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--suite must be auto or m3ke or .*, did you mean 'ceval'"):
        load_suite(ceval(tmp_path), "c-eval")


def test_ceval_as_its_authors_write_it(tmp_path: Path) -> None:
    suite = load_suite(ceval(tmp_path))
    network, law = suite.tasks
    assert (network.name, network.subject, network.cluster, network.level) == (
        "computer_network",
        "计算机网络",
        "STEM",
        None,
    )
    assert law.sizes == {Split.DEV: 5, Split.VAL: 2, Split.TEST: 3}
    assert law.labelled == {Split.DEV: 5, Split.VAL: 2, Split.TEST: 0}
    assert next(law.questions(Split.VAL)) == Question(0, "Q0-0 law", OPTIONS, "A")


def test_cmmlu_has_its_ids_in_a_column_without_a_name(tmp_path: Path) -> None:
    (task,) = load_suite(cmmlu(tmp_path)).tasks
    assert list(task.questions(Split.TEST))[4] == Question(4, "test题4", OPTIONS, "D")


def test_mmlu_has_no_header_and_quotes_what_holds_commas_and_line_ends(tmp_path: Path) -> None:
    (task,) = load_suite(mmlu(tmp_path)).tasks
    options = ("one", 'a "two"', "three\nfour", "None")
    assert list(task.questions(Split.TEST))[2] == Question(2, "test 2, so?", options, "C")


def test_line_ends_and_a_byte_order_mark_make_no_difference(tmp_path: Path) -> None:
    one = load_suite(mmlu(tmp_path / "lf"))
    for file in (mmlu(tmp_path / "crlf") / "data").rglob("*.csv"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    other = load_suite(tmp_path / "crlf")
    assert other.fingerprint == one.fingerprint
    assert questions(other, Split.VAL) == questions(one, Split.VAL)


def test_a_zip_is_read_like_a_folder(tmp_path: Path) -> None:
    folder = ceval(tmp_path / "folder")
    with zipfile.ZipFile(tmp_path / "ceval-exam.zip", "w") as archive:
        for file in folder.rglob("*.csv"):
            archive.write(file, file.relative_to(folder))
    assert load_suite(tmp_path / "ceval-exam.zip").fingerprint == load_suite(folder).fingerprint


def test_a_file_by_itself_is_a_task(tmp_path: Path) -> None:
    header = ("Answer", "question", "Ａ", "b", "C", "D", "source")
    write(
        tmp_path,
        "physics_val.csv",
        table(header, ("b", "一\n\n二？", *OPTIONS, "x"), ("", "三？", *OPTIONS, "")),
    )
    (task,) = load_suite(tmp_path / "physics_val.csv").tasks
    assert (task.name, task.cluster, task.level) == ("physics", None, None)
    assert list(task.questions(Split.VAL)) == [
        Question(0, "一\n\n二？", OPTIONS, "B"),
        Question(1, "三？", OPTIONS, None),
    ]
    lines = [{"Question": "一？", **dict(zip("ABCD", OPTIONS, strict=True)), "id": "x"}]
    write(tmp_path, "own.jsonl", b"\n".join(map(orjson.dumps, lines)))
    assert questions(load_suite(tmp_path / "own.jsonl"), Split.DEV) == [Question("x", "一？", OPTIONS, None)]


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(*[st.text(_CHARACTERS, max_size=12)] * 5, st.sampled_from("ABCD")), max_size=4)
)
def test_what_a_csv_writer_wrote_is_read_as_it_was(rows: list[tuple[str, ...]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows([OWN, *rows])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "own.csv"
        file.write_bytes(text.getvalue().encode())
        read = questions(load_suite(file), Split.DEV)
    assert [(row.question, *row.options, row.answer) for row in read] == rows


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        header = ("question", "A", "B", "C", "D", "answer")
        file = f"{rows}.csv"
        write(tmp_path, file, table(header, *((f"题{n}" * 20, *OPTIONS, "A") for n in range(rows))))
        tracemalloc.start()
        assert load_suite(tmp_path / file).size(Split.DEV) == rows
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(4000) < peak(400) + 100_000


# What is wrong with them

GOOD = ("?", *OPTIONS, "A")


@pytest.mark.parametrize(
    ("name", "file", "content", "words"),
    [
        (
            "ceval",
            "val/law_val.csv",
            table(CEVAL[:6], (0, "?", *OPTIONS)),
            r"line 1: lacks the column 'answer'",
        ),
        (
            "ceval",
            "val/law_val.csv",
            table(CEVAL[:7], (0, "?", *OPTIONS, "")),
            r"line 2, field 'answer': is empty, ",
        ),
        ("ceval", "val/law_val.csv", table(CEVAL[1:]), r"lacks the column 'id': .* is 'question, A, B"),
        ("ceval", "val/law_val.csv", table(CEVAL[:7], ("", *GOOD)), r"line 2, field 'id': is empty"),
        (
            "ceval",
            "val/law_val.csv",
            table(CEVAL[:7], (3, *GOOD), (3, *GOOD)),
            r"line 3, field 'id': '3' is the id of line 2 too",
        ),
        ("ceval", "val/lwa_val.csv", b"", r"52 subjects of C-Eval, did you mean 'law'\?; rename or remove"),
        ("ceval", "val/law.csv", b"", r"the name is not <subject>_val\.csv"),
        (
            "cmmlu",
            "test/arts.csv",
            table(CMMLU[1:], GOOD),
            r"lacks the column without a name, which holds the ids",
        ),
        (
            "cmmlu",
            "test/arts.csv",
            table((0, *GOOD)),
            r"line 1: lacks the column 'question': the first line must",
        ),
        (
            "mmlu",
            "test/anatomy_test.csv",
            table(GOOD, OWN),
            r"line 2, field 'answer': must be one of A, B, C, D",
        ),
        (
            "mmlu",
            "test/anatomy_test.csv",
            table((*GOOD[:5], "戊", "A")),
            r"line 1: has 7 columns, not 6; a text with",
        ),
        ("mmlu", "test/anatomy_test.csv", table(GOOD[:5]), r"line 1: has 5 columns, not 6"),
        (
            "mmlu",
            "test/anatomy_test.csv",
            table((*GOOD[:5], "")),
            r"line 1, field 'answer': is empty, and every",
        ),
        (
            "table",
            "own.csv",
            b"",
            r"is empty; its first line must name the columns question, A, B, C, D and answer",
        ),
        (
            "table",
            "own.csv",
            table(OWN, GOOD, (*GOOD[:5], "E")),
            r"line 3, field 'answer': must be one of .*, not 'E'",
        ),
        (
            "table",
            "own.csv",
            table((*OWN, "E"), (*GOOD, "戊")),
            r"line 1, field 'E': is a fifth option; only",
        ),
        (
            "table",
            "own.csv",
            table((*OWN, "a"), (*GOOD, "戊")),
            r"line 1, field 'A': stands twice in the first line",
        ),
        ("table", "own.csv", table(OWN[:5], GOOD[:5]), r"line 1: lacks the column 'answer'"),
        ("table", "own.csv", table(OWN, GOOD).replace(b",", b";"), r"line 1: lacks the column 'question'"),
        (
            "table",
            "own.csv",
            table(OWN) + b'?,"\xe7,b,c,d,A\n',
            r"byte \d+ \(0xe7\) is not UTF-8; save the file as",
        ),
        (
            "table",
            "own.csv",
            table(OWN) + b'?,"a,b,c,d,A\n',
            r"line 2: is not CSV: unexpected end of data; a",
        ),
        (
            "table",
            "own.csv",
            table(OWN) + b'?,"a"b,b,c,d,A\n',
            r"line 2: is not CSV: .* a text with a comma, a quote",
        ),
        (
            "table",
            "own.csv",
            table(OWN, GOOD).decode().encode("gbk"),
            r"line 2: byte \d+ \(0x..\) is not UTF-8",
        ),
        (
            "table",
            "own.csv",
            table(OWN, GOOD).decode().encode("utf-16"),
            r"line 1: byte 0 .* begins a UTF-16 file",
        ),
        ("table", "own.jsonl", b'{"question": "?", "A": "1"}', r"line 1, field 'B': is missing"),
        ("table", "own.jsonl", b'{"question": "?", "A": 1}', r"line 1, field 'A': must be a text, not 1"),
        (
            "table",
            "own.jsonl",
            b'{"question": "?", "A": "1", "B": "2", "C": "3", "D": "4", "E": "5", "answer": "E"}',
            r"line 1, field 'E': is a fifth option",
        ),
        (
            "table",
            "own.jsonl",
            b'{"question": "?", "Question": "!"}',
            r"field 'Question': stands twice, in upper and",
        ),
        ("ceval", "own.csv", table(OWN, GOOD), r"the name is not <subject>_dev\.csv"),
        ("mmlu", "val/x.txt", b"", r"no dev/ or val/ or test/ with \.csv files, here or in data/"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_file_line_and_column(
    tmp_path: Path, name: str, file: str, content: bytes, words: str
) -> None:
    write(tmp_path, file, content)
    with pytest.raises(DataError, match=words) as caught:
        load_suite(tmp_path / file if "/" not in file else tmp_path, name)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


def test_a_file_that_changes_while_it_is_asked_is_refused(tmp_path: Path) -> None:
    suite = load_suite(ceval(tmp_path))
    (tmp_path / "val" / "law_val.csv").write_bytes(table(CEVAL, (9, "?", *OPTIONS, "A", "")))
    with pytest.raises(DataError, match="has changed since it was loaded"):
        questions(suite, Split.VAL)


# What is asked


@pytest.mark.parametrize(
    ("make", "split", "prompt"),
    [
        (
            ceval,
            "test",
            (
                "以下是中国关于计算机网络考试的单项选择题，请选出其中的正确答案。\n\n"
                "computer_network例0\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n答案：A\n\n"
                "Q1-0 computer_network\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n答案："
            ),
        ),
        (
            cmmlu,
            "test",
            (
                "以下是关于古汉语的单项选择题，请直接给出正确答案的选项。\n\n"
                "题目：dev题0\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n答案是：D\n\n"
                "题目：test题0\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n答案是："
            ),
        ),
        (
            mmlu,
            "val",
            (
                "The following are multiple choice questions (with answers) about abstract algebra.\n\n"
                'dev 0, so?\nA. one\nB. a "two"\nC. three\nfour\nD. None\nAnswer: C\n\n'
                'val 0, so?\nA. one\nB. a "two"\nC. three\nfour\nD. None\nAnswer:'
            ),
        ),
    ],
)
def test_each_suite_is_asked_in_the_words_of_its_paper(
    tmp_path: Path, make: object, split: str, prompt: str
) -> None:
    assert callable(make)
    suite = load_suite(make(tmp_path))
    chosen = make_settings("custom/m", {"split": split, "shots": 1})
    made = make_evaluation(chosen, suite, load_profile("custom"), "m", "http://h/v1")
    (message,) = next(made.items(suite.tasks[0])).prompt.messages
    assert message["content"] == prompt
    assert made.settings.suite == suite.layout.name


def test_a_plan_shows_the_prompt_of_the_suites_paper_first(tmp_path: Path) -> None:
    options = ("--base-url", "http://127.0.0.1:9/v1", "--data", ceval(tmp_path), "--split", "val", "--json")
    prompts = m3ke("plan", "custom/m", *options, "--results", tmp_path / "results").json["prompts"]
    assert list(prompts) == ["ceval/1", "m3ke-en/1", "m3ke-zh/1"]


def test_another_template_can_be_given(tmp_path: Path) -> None:
    chosen = make_settings("custom/m", {"split": "val", "template": "m3ke-en/1"})
    made = make_evaluation(chosen, load_suite(ceval(tmp_path)), load_profile("custom"), "m", "http://h/v1")
    assert made.identity()["template"] == "m3ke-en/1"


# What comes of it


def run(folder: Path, data: Path, *options: str, code: int = 0) -> Path:
    with in_thread() as server:
        server.script = {
            "Q0-0": [reply("答案是A")],
            "Q0-1": [reply("C")],
            "Q1-1": [reply("不知道")],
            "Q1-2": [reply("D")],
        }
        server.script["Q1-0"] = [reply("B")]
        places = ("--base-url", server.url, "--data", data, "--results", folder / "results", "--name", "run")
        ran = m3ke("run", "custom/m", *places, *options)
    assert ran.code == code, ran.err
    (folder / "out").write_text(ran.out, "utf-8")
    (folder / "err").write_text(ran.err, "utf-8")
    return folder / "results" / "run"


def test_the_validation_split_gives_a_labelled_number_by_the_suites_own_categories(tmp_path: Path) -> None:
    path = run(tmp_path, ceval(tmp_path / "data"), "--split", "val")
    scores = Scores.from_json(orjson.loads((path / "scores.json").read_bytes()))
    assert {name: group.accuracy for name, group in scores.clusters.items()} == {
        "STEM": 0.5,
        "Humanities": 0.5,
    }
    assert scores.levels == {}
    assert faults("scores", orjson.loads((path / "scores.json").read_bytes())) == []
    assert faults("answers", orjson.loads((path / "answers.jsonl").read_bytes().splitlines()[0])) == []
    assert scores.averages.over_tasks.value == 0.5
    assert scores.averages.over_tasks.partial  # two subjects of 52
    assert scores.averages.over_clusters_pooled.absent == ("Social Science", "Other")
    out = (tmp_path / "out").read_text("utf-8")
    assert "C-Eval's own Average is the one over tasks" in out
    assert "of 52 tasks, 2 of 4 clusters" in " ".join(out.split())
    assert "M3KE" not in out
    assert "holds 2 of C-Eval's 52 subjects" in (tmp_path / "err").read_text("utf-8")
    record = orjson.loads((path / "run.json").read_bytes())
    assert not record["is_m3ke"]
    assert m3ke("runs", "--results", path.parent, "--json").json[0]["split"] == "C-Eval val"
    assert (record["settings"]["suite"], record["settings"]["template"]) == ("ceval", "ceval/1")
    assert not (path / "submission.json").exists()


def test_the_hidden_split_gives_the_file_that_its_authors_take(tmp_path: Path) -> None:
    path = run(tmp_path, ceval(tmp_path / "data"), "--split", "test")
    letters = {"0": "B", "1": "", "2": "D"}
    assert orjson.loads((path / "submission.json").read_bytes()) == {
        "computer_network": letters,
        "law": letters,
    }
    assert orjson.loads((path / "scores.json").read_bytes())["total"]["accuracy"] is None
    before = (path / "submission.json").read_bytes()
    (path / "submission.json").unlink()
    assert m3ke("score", path).code == 0
    assert (path / "submission.json").read_bytes() == before


def test_reports_and_comparisons_show_the_suites_own_categories(tmp_path: Path) -> None:
    path = run(tmp_path, ceval(tmp_path / "data"), "--split", "val")
    for form in ("md", "html", "csv"):
        assert m3ke("report", path, "--format", form).code == 0
    report = (path / "report.md").read_text("utf-8")
    assert report.startswith("# custom/m, C-Eval val, 0-shot")
    assert "## Levels" not in report
    assert "| STEM |" in report
    assert "M3KE's" not in report
    compared = m3ke("compare", path, path, "--json").json
    assert [group["name"] for group in compared["pairs"][0]["clusters"]] == ["STEM", "Humanities"]
    assert "asks other questions than M3KE's" in m3ke("report", path, "--leaderboard").err


def test_a_table_of_ones_own_has_an_accuracy_and_no_categories(tmp_path: Path) -> None:
    rows = [("Q0-0 ?", *OPTIONS, "A"), ("Q0-1 ?", *OPTIONS, "A")]
    write(tmp_path, "mine.csv", table(OWN, *rows))
    path = run(tmp_path, tmp_path / "mine.csv")
    scores = Scores.from_json(orjson.loads((path / "scores.json").read_bytes()))
    assert (scores.total.accuracy, scores.clusters, scores.levels) == (0.5, {}, {})
    assert faults("scores", orjson.loads((path / "scores.json").read_bytes())) == []
    for form in ("md", "html", "csv"):
        assert m3ke("report", path, "--format", form).code == 0
    assert m3ke("compare", path, path, "--json").json["pairs"][0]["clusters"] == []


def test_the_page_shows_a_suite_by_its_own_categories_and_a_table_without_any(tmp_path: Path) -> None:
    write(tmp_path, "mine.csv", table(OWN, ("Q0-0 ?", *OPTIONS, "A"), ("Q0-1 ?", *OPTIONS, "A")))
    paths = []
    for name, data in (("one", ceval(tmp_path / "data")), ("other", tmp_path / "mine.csv")):
        (tmp_path / name).mkdir()
        paths.append(run(tmp_path / name, data, *(("--split", "val") if name == "one" else ())))
        assert m3ke("report", paths[-1]).code == 0
    shown: list[str] = []
    with chromium() as browser:
        for path, tiles in zip(paths, (2, 1), strict=True):
            with open_page(browser, path / "report.html", ".tile") as opened:
                assert opened.page.locator(".tile").count() == tiles
                shown.append(opened.page.inner_text("#report"))
                assert opened.complaints == []
    assert "C-Eval's Average" in shown[0]
    assert "mean of the subjects" in shown[0]
    assert "STEM" in shown[0]
    assert "C-Eval val, 0-shot" in shown[0]
    assert "mine.csv dev, 0-shot" in shown[1]
    assert "Average" not in shown[1]
    assert not any("M3KE's" in text for text in shown)


def test_tasks_can_be_chosen_by_category(tmp_path: Path) -> None:
    suite = load_suite(ceval(tmp_path))
    assert [task.name for task in suite.select("*-STEM").tasks] == ["computer_network"]
    assert [task.name for task in suite.select("法学").tasks] == ["law"]


def test_without_answers_there_is_no_accuracy_and_a_key_gives_one(tmp_path: Path) -> None:
    write(tmp_path, "mine.csv", table(OWN, ("Q0-0 ?", *OPTIONS, ""), ("Q0-1 ?", *OPTIONS, "")))
    path = run(tmp_path, tmp_path / "mine.csv")
    out = " ".join((tmp_path / "out").read_text("utf-8").split())
    assert "No dev question has a known answer, so there is no accuracy" in out
    write(tmp_path, "key.csv", b"task,id,answer\nmine,0,A\nmine,1,A\n")
    assert (
        m3ke("score", path, "--key", tmp_path / "key.csv", "--json").json["scores"]["total"]["correct"] == 1
    )


def test_data_check_says_which_subjects_are_missing(tmp_path: Path) -> None:
    checked = m3ke("data", "check", ceval(tmp_path))
    assert "This is C-Eval, 2 of 52 subjects" in checked.out
    assert "50 missing: accountant; " in checked.out
    assert "val: tasks 2, questions 4, 4 with a known answer" in checked.out


def test_scores_of_a_suite_with_a_task_outside_its_categories_are_refused(tmp_path: Path) -> None:
    path = run(tmp_path, ceval(tmp_path / "data"), "--split", "val")
    told = orjson.loads((path / "scores.json").read_bytes())
    told["suite"]["clusters"].remove("STEM")
    with pytest.raises(DataError, match="a task has no cluster of C-Eval"):
        Scores.from_json(told)


def test_every_published_suite_names_a_template_that_exists() -> None:
    from m3ke_async.prompt import load_template

    for name in PUBLISHED:
        layout = load_layout(name)
        assert "{subject}" in load_template(layout.template).few_shot
