"""What a reply chooses, and what is said of one that chooses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from m3ke_async.choice import POLICIES, RULES_VERSION, Choice, extract_choice
from m3ke_async.errors import UsageError
from m3ke_async.extraction.table import RULES
from m3ke_async.request import Outcome

CAPITAL = "中华人民共和国的首都是"
CITIES = {"A": "上海", "B": "北京", "C": "广州", "D": "西安"}


def letter_of(reply: str, options: dict[str, str] | None = None, question: str | None = None) -> str | None:
    return extract_choice(reply, options, question).letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("只有选项C是正确的，A和B都不对", "C"),
        ("因此本题选D。", "D"),
        ("答案是：（B）", "B"),
        ("【答案】C", "C"),
        ("正确选项为Ａ", "A"),
        ("A项错误，B项错误，C项正确，D项错误，故选C", "C"),
        ("选B、C", None),
        ("答案：BC", None),
        ("我无法判断", None),
        ("答案不是A而是B", "B"),
        ("综上，Ｂ．", "B"),
        ("b", "B"),
        ("故答案为：\nC", "C"),
        ("Answer: Let us think. Water is wet. So it is C", "C"),
        ("ANSWER: None of the above", None),
        ("Don't know", None),
        ("This is a question about B cells; the answer is D", "D"),
        ("(B) 3.3 MeV", "B"),
        ("DNA", None),
        ("A、维生素B和维生素C", "A"),
        ("answer: $C$", "C"),
        (r"\boxed{A}", "A"),
        ("**D**", "D"),
        ("C. CD-ROM", "C"),
        ("Answer:\n\nAnswer: C", "C"),
        ("A person", None),
        ("5A景区", None),
        ("C语言", None),
    ],
)
def test_letters_count_only_where_they_stand_for_options(reply: str, letter: str | None) -> None:
    assert letter_of(reply) == letter


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("电流为 5 A", "C"),
        ("答案是5 A", "C"),
        ("文件大小为1024 B。", "D"),
        ("The charge is 3 C.", None),
        ("温度为 20 C", None),
    ],
)
def test_a_unit_is_no_letter(reply: str, letter: str | None) -> None:
    assert letter_of(reply) is None
    assert letter_of(reply, {"A": "1 A", "B": "2 A", "C": "5 A", "D": "1024 B"}) == letter


@pytest.mark.parametrize(
    "reply", ['"B" or <C>?', "C+", "<\nD because", "A % C", "#B'C选$", "A&B", "B-", "答案是*B*"]
)
def test_full_width_signs_read_like_the_usual_ones(reply: str) -> None:
    wide = "".join(chr(ord(sign) + 0xFEE0) if sign in "\"#$%&'*+-<" else sign for sign in reply)
    assert wide != reply
    found, known = extract_choice(wide, CITIES, CAPITAL), extract_choice(reply, CITIES, CAPITAL)
    assert (found.letter, found.outcome, found.rule) == (known.letter, known.outcome, known.rule)


def test_a_letter_that_no_option_has_is_no_choice() -> None:
    assert letter_of("答案：D", {"A": "对", "B": "错"}) is None
    assert letter_of("答案：E") is None


def test_a_place_is_a_choice_where_the_options_are_known() -> None:
    assert letter_of("答案应为第三项") is None
    assert letter_of("答案应为第三项", CITIES, CAPITAL) == "C"


@pytest.mark.parametrize(
    ("reply", "letter", "outcome"),
    [
        ("<think>可能是A</think>\n答案：B", "B", Outcome.ANSWERED),
        ("可能是A</think>\nB", "B", Outcome.ANSWERED),
        ("<think>A，B，还是C", None, Outcome.TRUNCATED),
        ("<think>A</think>再想想<think>C</think>B", "B", Outcome.ANSWERED),
        ("<think>A<think>C</think>D</think>B", "B", Outcome.ANSWERED),
        ("<think>A<think>C</think>D", None, Outcome.TRUNCATED),
        ("<think></think>B", "B", Outcome.ANSWERED),
        ("答案是B<think>A?</think>", "B", Outcome.ANSWERED),
        ("标签`<think>`不计入，答案是B", "B", Outcome.ANSWERED),
        ("<think>选B</think>\n", None, Outcome.TRUNCATED),
        ("<THINK>A</THINK>B", "B", Outcome.ANSWERED),
        ("<think\nA</think\nB", "B", Outcome.ANSWERED),
        ("&lt;think&gt;A&lt;/think&gt;B", "B", Outcome.ANSWERED),
        ("<ns:thinking>A</ns:thinking>B", "B", Outcome.ANSWERED),
        ("<|channel|>analysis<|message|>A?<|end|><|channel|>final<|message|>B", "B", Outcome.ANSWERED),
    ],
)
def test_thoughts_are_never_an_answer(reply: str, letter: str | None, outcome: Outcome) -> None:
    choice = extract_choice(reply)
    assert (choice.letter, choice.outcome) == (letter, outcome)


def test_thoughts_in_a_field_of_their_own_are_never_an_answer() -> None:
    assert extract_choice("", reasoning="答案是A").outcome is Outcome.TRUNCATED
    assert extract_choice("B", reasoning="答案是A").letter == "B"
    assert extract_choice("", reasoning=None).outcome is Outcome.UNPARSED


@pytest.mark.parametrize(
    ("reply", "finish_reason", "outcome"),
    [
        ("答案是A或B", "stop", Outcome.AMBIGUOUS),
        ("抱歉，我无法回答这个问题。", "stop", Outcome.REFUSED),
        ("I'm sorry, I cannot help with that.", "stop", Outcome.REFUSED),
        ("这个问题很有意思。", "stop", Outcome.UNPARSED),
        ("这个问题很有意思，首先", "length", Outcome.TRUNCATED),
        ("A项正确，B项", "length", Outcome.TRUNCATED),
        ("答案是A或B", "length", Outcome.TRUNCATED),
        ("", "content_filter", Outcome.UNPARSED),
        ("答案是E", "stop", Outcome.UNPARSED),
    ],
)
def test_a_reply_without_a_choice_says_why(reply: str, finish_reason: str, outcome: Outcome) -> None:
    choice = extract_choice(reply, CITIES, CAPITAL, finish_reason)
    assert (choice.letter, choice.outcome, choice.span) == (None, outcome, None)


def test_a_reply_that_broke_off_after_its_statement_has_chosen() -> None:
    choice = extract_choice("答案：B\n解析：首都是北京，因为", CITIES, CAPITAL, "length")
    assert (choice.letter, choice.outcome) == ("B", Outcome.ANSWERED)


@pytest.mark.parametrize(
    ("question", "letter"),
    [("下列说法正确的是", None), ("下列说法错误的是", "D"), ("Which statement is not correct?", "D")],
)
def test_the_question_says_whether_the_wrong_option_is_asked_for(question: str, letter: str | None) -> None:
    assert letter_of("D项错误。", CITIES, question) == letter


@pytest.mark.parametrize(
    ("reply", "core", "rule"),
    [
        ("我想，答案是**B**。", "B", "zh-answer"),
        ("<think>A</think>\n\u200b答\u200b案：Ｂ", "Ｂ", "zh-answer"),
        ("不是上海，而是北\u200b京。", "北\u200b京", "text:zh-must-be"),
        (r"$\boxed{\text{B}}$", "B", "boxed"),
        ("&#66;", "&", "whole"),
    ],
)
def test_the_span_is_where_the_choice_stands_in_the_original(reply: str, core: str, rule: str) -> None:
    choice = extract_choice(reply, CITIES, CAPITAL)
    assert choice.span is not None
    assert (choice.letter, choice.rule, reply[slice(*choice.span)]) == ("B", rule, core)


@pytest.mark.parametrize(
    "unseen",
    ["\u00ad", "\u061c", "\u180e", "\u200b", "\u200f", "\u202e", "\u2060", "\ufe0f", "\ufeff", "\U000e0042"],
)
def test_what_shows_nothing_is_not_read(unseen: str) -> None:
    choice = extract_choice(f"{unseen}答{unseen}案：{unseen}B{unseen}。", CITIES, CAPITAL)
    assert (choice.letter, choice.rule, choice.span) == ("B", "zh-answer", (6, 7))


@pytest.mark.parametrize("before", ["", "<think>" + "A？" * 20_000 + "</think>"])
def test_of_an_endless_reply_both_ends_are_read(before: str) -> None:
    filler = "这一点很重要。" * 5_000
    for reply in (f"{before}答案：B\n{filler}", f"{before}{filler}\n答案：B"):
        choice = extract_choice(reply, CITIES, CAPITAL)
        assert choice.letter == "B"
        assert choice.span is not None
        assert reply[slice(*choice.span)] == "B"


def test_every_letter_has_a_rule_of_the_table_behind_it() -> None:
    names = {rule.name for rule in RULES}
    for reply in ("B", "答案：B", "首都是北京。", "应选第二个选项", "A、C、D都不对"):
        rule = extract_choice(reply, CITIES, CAPITAL).rule
        assert rule is not None
        assert rule.removeprefix("text:") in names


def test_every_choice_tells_the_version_of_the_rules() -> None:
    for reply in ("B", "答案：B", "答案是A或B", "我不知道。", ""):
        assert extract_choice(reply, CITIES, CAPITAL).rules_version == RULES_VERSION


@pytest.mark.parametrize(
    "options",
    [{"A": "北京", "B": "北京", "C": "广州", "D": "西安"}, {"A": "", "B": "", "C": "", "D": ""}],
)
def test_a_text_that_fits_two_options_is_no_choice(options: dict[str, str]) -> None:
    assert letter_of("首都是北京。", options, CAPITAL) is None


def test_the_longest_text_that_stands_there_is_meant() -> None:
    options = {"A": "强制性标准", "B": "推荐性标准", "C": "国际标准", "D": "强制性标准或推荐性标准"}
    assert letter_of("应为强制性标准或推荐性标准。", options, "应遵守哪种标准") == "D"
    assert letter_of("应为强制性标准。", options, "应遵守哪种标准") == "A"


def test_a_number_is_no_part_of_a_longer_one() -> None:
    options = {"A": "21", "B": "21.25", "C": "21.75", "D": "22"}
    assert letter_of("21.75\n解析：先乘后除", options, "结果是多少") == "C"
    assert letter_of("121", options, "结果是多少") is None


def test_names_of_the_question_are_no_options() -> None:
    options = {"A": "甲法院", "B": "乙法院", "C": "丙法院", "D": "丁法院"}
    assert letter_of("A厂与B厂签约，所以是丙法院。", options, "A厂与B厂签约，应由哪个法院管辖") == "C"


@pytest.mark.parametrize(
    ("reply", "strict", "first", "last"),
    [
        ("B", "B", "B", "B"),
        ("答案：Ｂ", "B", "B", "B"),
        ("B, not A", None, "B", "A"),
        ("答案是B。" + "因为北京是首都。" * 10, None, "B", "B"),
        ("没有", None, None, None),
    ],
)
def test_policies_do_what_older_scripts_do(
    reply: str, strict: str | None, first: str | None, last: str | None
) -> None:
    found = [extract_choice(reply, policy=policy).letter for policy in ("strict", "first", "last")]
    assert found == [strict, first, last]


def test_the_strict_policy_reads_no_longer_reply_than_it_says() -> None:
    said = "我认为答案是B。"
    assert extract_choice(said.ljust(40, "。"), policy="strict").letter == "B"
    assert extract_choice(said.ljust(41, "。"), policy="strict").letter is None


def test_a_policy_says_by_its_name_that_it_decided() -> None:
    assert extract_choice("选B", policy="first") == Choice("B", Outcome.ANSWERED, "first", (1, 2))


def test_the_careful_policy_is_the_default() -> None:
    assert POLICIES[0] == "careful"
    assert extract_choice("B, not A", policy="careful") == extract_choice("B, not A")


def test_a_policy_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no policy 'lax'; take one of careful, strict, first, last"):
        extract_choice("B", policy="lax")


def test_the_example_of_the_documentation_is_true() -> None:
    page = (Path(__file__).parents[1] / "docs" / "extraction.md").read_text(encoding="utf-8")
    reply = "A项是港口，C、D两项太远，故选B。"
    assert f'"{reply}"' in page
    assert f"choice.rules_version  # '{RULES_VERSION}'" in page
    assert extract_choice(reply, CITIES, CAPITAL, "stop") == Choice(
        "B", Outcome.ANSWERED, "zh-conclude", (16, 17)
    )


ANALYSIS = (
    "我们逐项分析：\n\nA. 上海是港口城市，不是首都。\n\nB. 北京是首都。\n\nC. 广州在南方，不是首都。\n\n"
    "D. 天津是直辖市，不是首都。\n\n所以选B。"
)


@pytest.mark.parametrize("cut", range(1, ANALYSIS.index("D. 天津")))
def test_an_analysis_that_breaks_off_between_the_options_chooses_nothing(cut: int) -> None:
    options = {"A": "上海", "B": "北京", "C": "广州", "D": "天津"}
    found = extract_choice(ANALYSIS[:cut], options, "中国的首都是哪座城市？", finish_reason="length")
    assert found.letter in {None, "B"}, found
    assert found.letter is None or "B. 北京是首都" in ANALYSIS[:cut]


@pytest.mark.parametrize(
    "reply", ["A项正确。B项", "C项不正确。D", "让我们分析每个选项。A选项", "先看题目。\nA"]
)
def test_a_letter_at_the_cut_may_begin_the_next_sentence(reply: str) -> None:
    assert extract_choice(reply, finish_reason="length").outcome is Outcome.TRUNCATED


@pytest.mark.parametrize("order", ["ABCD", "BCDA", "CDAB", "DABC"])
@pytest.mark.parametrize("line", ["{}. {}", "{}：{}", "({}) {}", "{}、{}这座城市"])
def test_options_that_are_only_told_one_after_another_are_no_choice(order: str, line: str) -> None:
    options = {letter: CITIES[own] for letter, own in zip(order, "ABCD", strict=True)}
    reply = "\n".join(line.format(letter, options[letter]) for letter in order)
    assert letter_of(reply, options, CAPITAL) is None
    assert letter_of(f"{reply}\n\n答案：{order[1]}", options, CAPITAL) == order[1]
