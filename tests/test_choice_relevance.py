"""A sentence answers the question that it repeats, and no other one."""

from __future__ import annotations

import pytest

from m3ke_async.extraction.polarity import Asks, asks, denied_kind
from m3ke_async.extraction.relevance import Stem, asks_else
from m3ke_async.extraction.texts import words


@pytest.mark.parametrize(
    ("question", "said", "other"),
    [
        ("我国最大的淡水湖是", "是我国最大的淡水湖", False),
        ("我国最大的淡水湖是", "是我国最大的咸水湖", True),
        ("人体最大的器官是", "是人体最大的器官", False),
        ("人体最大的器官是", "是人体最大的内脏器官", True),
        ("慢性支气管炎最常见的病因是", "是慢性支气管炎最常见的主要病因", False),
        ("下列各项中，会引起需求曲线向右移动的是", "会使需求曲线向左移动", True),
        ("我国最大的淡水湖是", "位于江西", False),
    ],
)
def test_a_part_exchanged_or_put_in_asks_something_else(question: str, said: str, other: bool) -> None:
    assert asks_else(words(said), Stem(question)) is other


def test_a_stem_is_what_the_last_sentence_asks() -> None:
    stem = Stem("甲将房屋租给乙。租期内又卖给丙，乙享有的权利是（  ）？")
    assert "".join(stem.words) == "租期内又卖给丙乙享有的权利是"
    assert "".join(stem.clause) == "乙享有的权利是"
    assert stem.lead == "乙享有的权利"


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("下列不属于四大发明的是", "四大发明"),
        ("下列物质中，不是电解质的是（ ）", "电解质"),
        ("某思想的三个基本方面不包括", "某思想的三个基本方面"),
        ("Which of the following is not a mammal?", "mammal"),
        ("All of the following are symptoms of flu EXCEPT", "symptoms of flu"),
        ("系数不可能是", ""),
    ],
)
def test_a_question_for_the_odd_one_out_names_the_kind_of_the_others(question: str, kind: str) -> None:
    assert denied_kind(question) == kind


@pytest.mark.parametrize("question", ["下列各句中，没有语病的一项是", "下列词语中没有错别字的一组是"])
def test_what_is_free_of_flaws_is_right(question: str) -> None:
    assert asks(question) is Asks.RIGHT
