from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.datacheck import LONG_ROW, PICTURE_WORDS, RULES, Report, check, format_report
from m3ke_async.manifest import Split
from m3ke_async.suite import load_suite
from tests.command import m3ke
from tests.test_suite import TASK, jsonl, row, write

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "Baking-Other-Other"


def places(report: Report) -> dict[str, list[str]]:
    return {name: [str(place) for place in found] for name, found in report.findings.items() if found}


def found(tmp_path: Path, **files: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Findings in rows given by file: `dev`, `test` of one task, `dev2`, `test2` of another."""
    for name, rows in files.items():
        write(tmp_path, f"{name.rstrip('2')}/{OTHER if name.endswith('2') else TASK}", rows)
    return places(check(load_suite(tmp_path)))


def q(id_: int, question: str, **fields: object) -> dict[str, Any]:
    return row(id_, question=question, **fields)


def test_a_clean_suite_has_no_findings(tmp_path: Path) -> None:
    assert found(tmp_path, dev=[q(0, "一"), q(1, "二")], test=[q(0, "三"), q(1, "四")]) == {}


def test_empty_and_equal_options_are_found(tmp_path: Path) -> None:
    rows = [
        q(0, "一", A=""),
        q(1, "二", B=" \u3000"),
        q(2, "三", A="100"),
        q(3, "四", A="Co", B="CO", C="10²", D="102"),
        q(4, "五", A="", B="", C=" "),
    ]
    assert found(tmp_path, test=rows) == {
        "empty option": [f"{TASK}/test 0", f"{TASK}/test 1", f"{TASK}/test 4"],
        "equal options": [f"{TASK}/test 2", f"{TASK}/test 4"],
    }


def test_repeated_rows_and_questions_are_found_across_tasks_within_a_split(tmp_path: Path) -> None:
    assert found(
        tmp_path,
        test2=[q(0, "一"), q(1, "二")],
        test=[q(0, "一"), q(1, "二", D="另"), q(2, "二", A="0 "), q(3, "一 ")],
    ) == {
        "duplicate row": [f"{TASK}/test 0"],
        "shared question": [f"{TASK}/test 0", f"{TASK}/test 1", f"{TASK}/test 2"],
    }


def test_overlap_of_dev_and_test_is_found_from_both_sides(tmp_path: Path) -> None:
    assert found(
        tmp_path,
        dev=[q(0, "一"), q(1, "二")],
        test=[q(7, "一"), q(8, "二", D="另")],
        test2=[q(9, "一", D="另")],
    ) == {
        "shared question": [f"{TASK}/test 7"],
        "dev row in test": [f"{TASK}/dev 0"],
        "dev question in test": [f"{OTHER}/test 9", f"{TASK}/test 7", f"{TASK}/test 8"],
        "shot equals question": [f"{TASK}/test 7", f"{TASK}/test 8"],
    }


def test_a_shot_that_equals_the_question_is_found_in_other_spellings_but_not_in_other_tasks(
    tmp_path: Path,
) -> None:
    dev = [q(0, "Ａ 是？"), q(1, "a是?"), q(2, "乙")]
    assert found(tmp_path, dev=dev, test=[q(3, " a 是?"), q(4, "丙")], test2=[q(5, "A是?")]) == {
        "shot equals question": [f"{TASK}/dev 0", f"{TASK}/dev 1", f"{TASK}/test 3"],
    }


PICTURE_TABLE = [
    ("如图所示，电路中", ["例如图书馆", "如图形工具"]),
    ("请看下图", ["楼上图书室", "地图"]),
    ("按图示的轨迹运动", ["图示法是"]),
    ("图中的甲是", ["有向图中的顶点", "统计图中"]),
    ("以下三幅图反映", ["图幅大小"]),
    ("图3是漫画", ["图三角"]),
    ("漫画所显示的", ["漫画家是"]),
    ("下表反映了", ["以下表述正确的是", "如上表示"]),
]


@pytest.mark.parametrize(
    ("word", "yes", "no"), [(w, *case) for w, case in zip(PICTURE_WORDS, PICTURE_TABLE, strict=True)]
)
def test_each_picture_word_finds_its_question_alone(word: str, yes: str, no: list[str]) -> None:
    assert [w for w in PICTURE_WORDS if re.search(w, yes)] == [word]
    assert not any(re.search(w, text) for w in PICTURE_WORDS for text in no)


def test_pictures_and_long_rows_are_found(tmp_path: Path) -> None:
    options = {"A": "1", "B": "2", "C": "3", "D": "4"}
    rows = [
        q(0, "如图，"),
        q(1, "长" * (LONG_ROW - 4), **options),
        q(2, "很" + "长" * (LONG_ROW - 4), **options),
    ]
    assert found(tmp_path, test=rows) == {
        "needs a picture": [f"{TASK}/test 0"],
        "long row": [f"{TASK}/test 2"],
    }


def test_splits_are_counted_with_their_keys(tmp_path: Path) -> None:
    write(tmp_path, f"dev/{TASK}", [q(0, "一", answer="A"), q(1, "二", answer="A"), q(2, "三", answer="")])
    summary = check(load_suite(tmp_path)).splits
    assert list(summary) == [Split.DEV]
    dev = summary[Split.DEV]
    assert (dev.tasks, dev.rows, dev.labelled) == (1, 3, 2)
    assert dev.keys == {"A": 2, "B": 0, "C": 0, "D": 0}


def test_an_own_suite_is_called_so(tmp_path: Path) -> None:
    report = check(load_suite(write(tmp_path, f"test/{TASK}", [row(answer="")])))
    assert not report.whole
    assert report.extra == (f"{TASK}/test",)
    assert "This is a suite of its own" in format_report(report)
    assert "test: tasks 1, questions 1, no answer known" in format_report(report)


def test_part_of_m3ke_says_what_is_missing_changed_and_added(tmp_path: Path, shared: Path) -> None:
    m3ke = shared / "M3KE"
    novels, religion, music = "Novels-Other-Other", "Religion-Other-Other", "Music-Arts & Humanities-Other"
    for name, tail in (
        (f"dev/{novels}", b""),
        (f"dev/{religion}", jsonl([row(9_999)])),
        (f"dev/{music}", b""),
    ):
        write(tmp_path, name, (m3ke / f"{name}.jsonl").read_bytes() + tail)
    write(tmp_path, f"dev/{music}", [row(number) for number in range(5)])
    write(tmp_path, f"test/{TASK}", [row()])
    report = check(load_suite(tmp_path))
    assert report.published == (f"{novels}/dev",)
    assert report.changed == {f"{music}/dev": "other rows", f"{religion}/dev": "6 rows instead of 5"}
    assert report.extra == (f"{TASK}/test",)
    assert len(report.missing) == 142 - 3
    assert not report.whole
    text = format_report(report)
    assert "This is not M3KE at b370aae (2023-07-20) as published. Files with the published rows: 1." in text
    assert f"{religion}/dev (6 rows instead of 5)" in text
    assert "139 missing: " in text
    assert "; and 134 more" in text


@pytest.mark.parametrize("form", ["M3KE", "M3KE/M3KE.zip"])
def test_m3ke_is_whole_and_has_the_known_oddities(shared: Path, form: str) -> None:
    report = check(load_suite(shared / form))
    assert report.whole
    assert {name: len(found) for name, found in report.findings.items()} == {
        "empty option": 3,
        "equal options": 147,
        "duplicate row": 20,
        "shared question": 681 + 5,  # test and dev
        "dev row in test": 3,
        "dev question in test": 105,
        "shot equals question": 92 + 7,  # test and dev
        "needs a picture": 55,
        "long row": 21,
    }
    assert report.splits[Split.DEV].keys == {"A": 84, "B": 82, "C": 93, "D": 96}
    assert report.splits[Split.TEST].labelled == 0
    text = format_report(report)
    assert "M3KE at b370aae (2023-07-20), whole: all 142 files" in text
    assert "shared question: dev 5, test 681 (" in text
    assert all(name in text for name in RULES)


def test_the_findings_are_json_too() -> None:
    ran = m3ke("data", "check", "sample", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["whole"] is False
    assert ran.json["splits"]["dev"]["labelled"] > 0
    assert set(ran.json["findings"]) <= set(RULES)
