"""What holds of every reply, whatever it says."""

from __future__ import annotations

import time
from itertools import permutations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from m3ke_async.choice import POLICIES, extract_choice
from m3ke_async.extraction.normalise import invisible, is_plain, same_alphabet, without_markup
from m3ke_async.extraction.reasoning import thoughts
from m3ke_async.request import Outcome

CAPITAL = "中华人民共和国的首都是"
CITIES = {"A": "上海", "B": "北京", "C": "广州", "D": "西安"}

PIECES = st.sampled_from(
    [
        "A",
        "B",
        "C",
        "D",
        "a",
        "E",
        "（B）",
        "【C】",
        "**D**",
        "$A$",
        "选项",
        "项",
        "答案",
        "正确",
        "错误",
        "不对",
        "是",
        "为",
        "不是",
        "而是",
        "选",
        "故选",
        "排除",
        "只有",
        "除了",
        "因此",
        "。",
        "，",
        "：",
        "\n",
        "\t",
        "北京",
        "上海",
        "第二个选项",
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "\\boxed{",
        "}",
        "{",
        '"',
        "[",
        "]",
        "The",
        "answer",
        "is",
        "not",
        "true",
        "false",
        "0.9",
        "✓",
        "✗",
        "×",
        "|",
        "-",
        "\u200b",
        "Ｂ",
        "𝐁",
        "🅱️",
        "С",
        "&#66;",
        "&nbsp;",
        "Question:",
        "题目：",
        "抱歉",
        "�",
        "\ue000",
        "\ue002",
    ]
)
REPLIES = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=24).map("".join))
OPTIONS = st.one_of(
    st.none(), st.just(CITIES), st.fixed_dictionaries({letter: st.text(max_size=8) for letter in "ABCD"})
)
STATEMENTS = st.sampled_from(
    [
        "答案是B。",
        "故选B。",
        "【答案】B\n",
        "B。",
        "B. 北京\n",
        "The answer is B. ",
        "\\boxed{B}\n",
        "正确选项为B，",
        "应选第二项。",
    ]
)
PROSE = st.lists(
    st.sampled_from(
        [
            "因为",
            "北方",
            "城市",
            "历史",
            "悠久",
            "政治",
            "中心",
            "，",
            "。",
            "其次",
            "这",
            "一点",
            "很",
            "重要",
            "；",
            "参见",
            "教材",
            "第三章",
            "\n",
            "1949年",
            "because",
            "it",
            "is",
            "well",
            "known",
            ".",
            ",",
        ]
    ),
    max_size=30,
)


@settings(max_examples=300, deadline=None)
@given(REPLIES)
@example("[think]A[/think]B")
@example("◁think▷A◁/think▷B")
@example("`<think>` B")
def test_a_plain_reply_is_read_as_it_is(reply: str) -> None:
    changed = (
        without_markup(same_alphabet(reply)) != reply or invisible(reply) or thoughts(reply) != ([], False)
    )
    assert not (is_plain(reply) and changed)


@settings(max_examples=300, deadline=None)
@given(REPLIES, OPTIONS, st.none() | st.text(max_size=20), st.sampled_from([None, "stop", "length"]))
def test_a_choice_is_well_formed(
    reply: str, options: dict[str, str] | None, question: str | None, finish_reason: str | None
) -> None:
    choice = extract_choice(reply, options, question, finish_reason)
    assert choice == extract_choice(reply, options, question, finish_reason)
    assert (choice.letter is not None) == (choice.outcome is Outcome.ANSWERED)
    if choice.letter is None:
        assert choice.span is None
        return
    assert choice.letter in "ABCD"
    assert choice.rule
    assert choice.span is not None
    start, end = choice.span
    assert 0 <= start < end <= len(reply)


@settings(max_examples=100, deadline=None)
@given(REPLIES, st.sampled_from(POLICIES))
def test_every_policy_is_total(reply: str, policy: str) -> None:
    assert extract_choice(reply, CITIES, CAPITAL, policy=policy).letter in (None, *"ABCD")


@settings(max_examples=200, deadline=None)
@given(STATEMENTS, PROSE)
def test_explanations_that_name_no_other_option_change_nothing(statement: str, prose: list[str]) -> None:
    assert extract_choice(statement + "".join(prose), CITIES, CAPITAL).letter == "B"


@pytest.mark.parametrize("order", list(permutations("ABCD")), ids="".join)
@pytest.mark.parametrize(
    "template",
    [
        "答案是{1}。",
        "{0}项错误，{1}项正确，{2}项错误，{3}项错误。",
        "{0}、{2}、{3}都不对",
        "不是{0}，而是{1}",
        "先看{0}，再看{2}，所以选{1}。",
        "{1}。{0}说的是港口，{2}在南方。",
        "The answer is {0}. Wait, no. The answer is {1}.",
        "{0} is wrong, {2} is wrong, and {3} is wrong.",
        '{{"{0}": false, "{1}": true, "{2}": false, "{3}": false}}',
    ],
)
def test_the_choice_follows_when_the_letters_change_places(template: str, order: tuple[str, ...]) -> None:
    options = {letter: CITIES[own] for letter, own in zip(order, "ABCD", strict=True)}
    assert extract_choice(template.format(*order), options, CAPITAL).letter == order[1]


@pytest.mark.parametrize(
    "wrap", ["**{}**", "> {}", "```\n{}\n```", "<p>{}</p>", "\u200b{}\u200b", "  {}\n\n", "*{}*"]
)
@pytest.mark.parametrize(
    "reply", ["B", "答案：B", "B. 北京", "The answer is B.", "因此选B。", "北京", "A、C、D都不对"]
)
def test_markup_around_a_reply_changes_nothing(reply: str, wrap: str) -> None:
    assert extract_choice(wrap.format(reply), CITIES, CAPITAL).letter == "B"


@pytest.mark.parametrize("wrap", ["**{}**", "*{}*", "`{}`", "***{}***"])
@pytest.mark.parametrize(
    "template",
    [
        "是{B}。",
        "{B}超即超声检查，选{A}。",
        "维生素{C}与{D}无关，故选{A}项",
        "{A}型或{B}型",
        "{C}语言",
        "{B}项、{C}项和{D}项都不对",
        "the answer is {B}",
    ],
)
def test_a_letter_in_bold_is_read_as_any_other(template: str, wrap: str) -> None:
    plain = template.replace("{", "").replace("}", "")
    bold = template.format(**{letter: wrap.format(letter) for letter in "ABCD"})
    assert extract_choice(bold).letter == extract_choice(plain).letter


HOSTILE = [
    "A ",
    "答案A。",
    "<think>",
    "</think>",
    " ",
    "\n",
    "$",
    "选",
    "(",
    "A(",
    "the answer is not ",
    "不是",
    "&amp;",
    "<b ",
    "\u200b",
    '{"A":',
    "[",
    "A、",
    "北京",
    "`",
    "<",
    "\\(",
    "第一个选项",
    "𝐀",
    "Ａ，",
    "`<think",
    "1.",
    "A是",
    "答案",
    "\nquestion",
    "下一题：",
    "<eoa> 问 A. x B. y",
    "。问题是什么？ A. x B. y ",
    "**A**",
    "`",
    "A=",
    "\n需要我",
    "\n（2）下列",
    "**A. x**\n",
    "A对。因此北京。",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_megabyte_of_anything_is_read_in_time(unit: str) -> None:
    reply = unit * (1_000_000 // len(unit))
    extract_choice(unit, CITIES, CAPITAL)
    began = time.process_time()
    extract_choice(reply, CITIES, CAPITAL)
    assert time.process_time() - began < 1.0  # a fifth of it on a machine that does nothing else


@pytest.mark.parametrize("unit", ["甲", "是", "A", "①", "题", "《甲》", "不属于", "the ", "1/", "（ ）"])
@pytest.mark.parametrize(
    "reply", ["北京是首都。", "A：{0}\nB：{0}\nC：{0}\nD：{0}", "上海、北京都不是", "{0}"]
)
def test_questions_and_options_of_any_length_are_read_in_time(unit: str, reply: str) -> None:
    long = unit * (100_000 // len(unit))
    said = (reply.format(unit * 30) * 12_000)[:12_000]
    options = {"A": long, "B": long + "x", "C": "北京", "D": unit}
    extract_choice("北京是首都。", CITIES, CAPITAL)
    began = time.process_time()
    extract_choice(said, options, long * 10)
    assert time.process_time() - began < 1.0  # a fifth of it on a machine that does nothing else


@pytest.mark.parametrize("unit", ["答案A。", "<think>", "(", "不是A", "\n", "A、", "第一个选项", "1 "])
def test_time_grows_no_faster_than_the_reply(unit: str) -> None:
    def spent(size: int) -> float:
        reply = unit * (size // len(unit))
        times = []
        for _ in range(5):
            began = time.process_time()
            extract_choice(reply, CITIES, CAPITAL)
            times.append(time.process_time() - began)
        return min(times)

    spent(1_000)
    assert spent(20_000) < 30 * max(spent(2_000), 0.0005)
