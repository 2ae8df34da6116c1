"""Replies that are read at once are read as by all the rules."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.choice import extract_choice, read_in_full
from m3ke_async.extraction.plain import plain
from tests.test_choice_manners import MANNERS
from tests.test_choice_sentences import SENTENCES
from tests.test_choice_wordings import WORDINGS

if TYPE_CHECKING:
    from pathlib import Path

CITIES = {"A": "上海", "B": "北京", "C": "广州", "D": "西安"}
LETTERS = {"A": "C", "B": "A", "C": "D", "D": "B"}
TWINS = {"A": "北京", "B": "北京", "C": "B", "D": "D北京"}
SIGNS = {"A": "上海（港）", "B": "一、二，三", "C": "“海”·空", "D": "不是A，是B"}
DENIALS = {"A": "（错误）", "B": "选C", "C": "答案是D", "D": "，"}
FORMULAS = {"A": "x2", "B": "b", "C": "Ｂ", "D": "100"}

BEFORE = (
    "",
    " ",
    "\n",
    "答案",
    "答案：",
    "答案是",
    "答案为：",
    "正确答案: ",
    "最终答案：\n",
    "Answer: ",
    "answer is ",
    "The correct answer is ",
    "**",
    "**答案：",
    "答案：**",
    "【答案】",
    "【正确答案】",
    "【答案：",
    "(",
    "（",
    "答案是（",
    "**(",
    "选项",
    "选项 ",
    "选",
    "故选",
    "所以选择",
    "本题选(",
    "应选择**",
    "我选择",
    "我选（",
)
AFTER = (
    "",
    "。",
    ".",
    "\n",
    ". ",
    ".北京",
    "、上海",
    ": 广州",
    "：西安。",
    ". D北京",
    "。\n\n",
    ".x2",
    ". b",
    "、100.",
    ".C",
    ". B",
    "**",
    "**。",
    "。**",
    "**\n",
    ")",
    "）",
    "）北京",
    ") 北京。",
    ")**",
    ". 北京**",
    "、上海（港）",
    ". 一、二，三",
    ". “海”·空",
    ". 不是A，是B",
    ". （错误）",
)


@pytest.mark.parametrize(
    "options", [None, CITIES, LETTERS, TWINS, FORMULAS, SIGNS, DENIALS, {"A": "对", "B": "错"}]
)
@pytest.mark.parametrize("question", [None, "A点到B点，C是D的中点，答案是B吗？下列不属于首都的是"])
def test_a_plain_reply_is_read_as_by_all_the_rules(
    options: dict[str, str] | None, question: str | None
) -> None:
    for before, letter, after in product(BEFORE, "ABCDE", AFTER):
        for finish_reason in ("stop", "length"):
            said = (before + letter + after, options, question, finish_reason, None)
            if plain(said[0], options):
                assert extract_choice(*said) == read_in_full(*said), said


@settings(max_examples=300, deadline=None)
@given(
    st.tuples(
        st.sampled_from(BEFORE),
        st.sampled_from("ABCD"),
        st.sampled_from(["", ".", "、", ". ", ":", "：", ")", "）", ") "]),
        st.sampled_from(["", ".", "。", "\n", "**", "**。"]),
    ),
    st.text(max_size=6) | st.text("ABCDabcd01北京是不对题问好选，、“”（）·", max_size=8),
    st.text(max_size=12) | st.none(),
)
def test_whatever_the_options_say_it_is_read_the_same(
    around: tuple[str, str, str, str], text: str, question: str | None
) -> None:
    before, letter, separator, after = around
    said = (before + letter + separator + text + after, CITIES | {letter: text}, question, "stop", None)
    assert extract_choice(*said) == read_in_full(*said)


def test_every_reply_of_the_tables_is_read_the_same() -> None:
    for question, texts, replies in (*WORDINGS, *MANNERS, *SENTENCES):
        options = dict(zip("ABCD", texts, strict=True))
        for reply in (reply for said in replies.values() for reply in said):
            said = (reply, options, question, None, None)
            if plain(reply, options):
                assert extract_choice(*said) == read_in_full(*said)


def test_every_labelled_reply_is_read_the_same(shared: Path) -> None:
    file = shared / "extraction" / "public.jsonl"
    if not file.is_file():
        pytest.skip("the labelled replies are not here")
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        said = (record["raw"], record["options"], record["question"], None, None)
        assert extract_choice(*said) == read_in_full(*said)


@pytest.mark.parametrize(
    "reply",
    [
        "B",
        "B.\n",
        "答案：B",
        "B. 北京",
        "正确答案是B、北京。",
        "The answer is B.",
        "**B**",
        "（B）北京",
        "故选B。",
        "答案：**B**",
    ],
)
def test_the_usual_replies_are_plain(reply: str) -> None:
    assert plain(reply, CITIES) is not None


@pytest.mark.parametrize(
    "reply", ["B？", "B. 上海", "答案不是B", "B\nA", "B？不对", "北京", "AB", "b", "B" * 200]
)
def test_others_are_not(reply: str) -> None:
    assert plain(reply, CITIES) is None
