"""Numbers are the same number in any writing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from m3ke_async.choice import extract_choice
from m3ke_async.extraction.amounts import amount, amounts


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("16周岁", 16, "岁"),
        ("十六周岁", 16, "岁"),
        ("一九四九年", 1949, "年"),
        ("两千五百元", 2500, "元"),
        ("一百零五", 105, ""),
        ("1,500元", 1500, "元"),
        ("19万元", 190_000, "元"),
        ("三亿", 300_000_000, ""),
        ("-1", -1, ""),
        ("12.5米", Fraction(25, 2), "m"),
        ("6/10", Fraction(3, 5), ""),
        ("60%", Fraction(3, 5), ""),
        ("五分之三", Fraction(3, 5), ""),
    ],
)
def test_an_amount_is_a_value_and_a_unit(text: str, value: Fraction, unit: str) -> None:
    found = amount(text)
    assert found is not None
    assert (found.value, found.unit) == (value, unit)


@pytest.mark.parametrize("text", ["", "北京", "公元前221年", "第三", "1/0", "16周岁以上的人"])
def test_other_texts_are_no_amounts(text: str) -> None:
    assert amount(text) is None


def test_amounts_are_found_in_a_sentence_but_not_inside_names_or_longer_numbers() -> None:
    found = [
        (number.value, number.unit) for number in amounts("第三组有十二人，占3/10，型号x2-5，统一为一个")
    ]
    assert found == [(12, "人"), (Fraction(3, 10), "")]


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("概率为6/10。", "A"),
        ("概率是五分之三", "A"),
        ("结果为0.6", "A"),
        ("所以概率是40%。", "B"),
        ("共有6种取法。", None),
        ("概率是0.7", None),
    ],
)
def test_an_option_may_be_written_as_another_number(reply: str, letter: str | None) -> None:
    options = {"A": "3/5", "B": "2/5", "C": "3/10", "D": "1/2"}
    assert extract_choice(reply, options, "恰好一红一白的概率是").letter == letter


def test_another_unit_is_another_amount() -> None:
    options = {"A": "2年", "B": "3年", "C": "4年", "D": "5年"}
    assert extract_choice("满四年", options, "下落不明满几年可以申请宣告死亡").letter == "C"
    assert extract_choice("满四个月", options, "下落不明满几年可以申请宣告死亡").letter is None
