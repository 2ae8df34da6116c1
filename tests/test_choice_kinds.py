"""Kinds of replies that readers of the first or the last letter get wrong. All were written for this file."""

from __future__ import annotations

import pytest

from m3ke_async.choice import extract_choice

Question = tuple[str, tuple[str, str, str, str]]

CAPITAL: Question = ("中国的首都是", ("上海", "北京", "广州", "西安"))
INVENTIONS: Question = ("下列不属于中国古代四大发明的是", ("造纸术", "指南针", "火药", "地动仪"))
PORT: Question = ("HTTP 默认使用的端口是", ("21", "25", "80", "443"))
LEAF: Question = (
    "关于光合作用，下列说法错误的是",
    ("在叶绿体中进行", "需要光照", "暗反应只能在黑暗中进行", "产物包括氧气"),
)
COLOURS: Question = ("Which of these is NOT a primary colour?", ("red", "green", "blue", "orange"))
LENGTH: Question = ("这段绳子长多少米", ("7", "7.5", "17.5", "75"))
TERM: Question = ("试用期最长不得超过", ("一个月", "两个月", "三个月", "六个月"))
ACCOUNT: Question = ("先付给供货方的钱记入", ("应收账款", "预付账款", "应付账款", "预收账款"))

#: Replies by kind and question, with the letter that they choose; "" for those that choose none.
KINDS: list[tuple[str, Question, dict[str, list[str]]]] = [
    (
        "full width",
        CAPITAL,
        {"B": ["Ｂ", "选项Ｂ", "ｂ", "正确选项：Ｂ，其余Ａ、Ｃ、Ｄ均不对"], "D": ["Ｄ．"]},
    ),
    (
        "lower case",
        CAPITAL,
        {
            "B": ["答案是b，a和c都不对", "the answer is (b), since a is a port"],
            "C": ["应该选c"],
            "D": ["d. 西安"],
        },
    ),
    (
        "look-alike",
        CAPITAL,
        {"B": ["🅑", "答案：ⓑ", "故选 В。", "𝔅", "选择⒝", "答案为Β", "🅱", "答案是🄱"], "C": ["答案：𝙲"]},
    ),
    (
        "place",
        CAPITAL,
        {"B": ["The second option.", "选项二", "Option 2"], "C": ["我选第三个。"], "D": ["应选最后一项"]},
    ),
    (
        "three ruled out",
        CAPITAL,
        {
            "A": ["B、C、D三项明显有误。"],
            "B": ["首先排除A，其次排除C，D也不符合题意。", "A, C and D can be ruled out."],
            "D": ["把A、B、C去掉就行了。"],
        },
    ),
    (
        "only denied",
        CAPITAL,
        {
            "A": ["答案并非B、C或D。"],
            "B": ["It is neither A nor C, and not D."],
            "D": ["不选A，不选B，不选C"],
            "": ["不是A，也不是B"],
        },
    ),
    (
        "the others are of the kind",
        INVENTIONS,
        {"D": ["A、B、C三项均为四大发明之一", "造纸术、指南针、火药都是四大发明。"]},
    ),
    ("the others are right", LEAF, {"C": ["A、B、D的说法都是对的", "A正确，B正确，D正确", "A对B对C错D对"]}),
    ("the others are of the kind, in English", COLOURS, {"D": ["A, B and C are all primary colours."]}),
    (
        "ticks on a line",
        CAPITAL,
        {
            "B": ["A× B√ C× D×", "A(×)B(√)C(×)D(×)"],
            "C": ["A:❌ B:❌ C:✅ D:❌"],
            "D": ["A✘ B✘ C✘ D✔"],
            "": ["A✓ B✓ C✗ D✗"],
        },
    ),
    (
        "one echoed option is marked",
        PORT,
        {
            "C": [
                "A. 21\nB. 25\nC. 80 ✅\nD. 443",
                "A. 21\nB. 25\nC. 80 (correct)\nD. 443",
                "A. 21\nB. 25\n√ C. 80\nD. 443",
                "A. 21\nB. 25\n**C. 80**\nD. 443",
                "A. 21\nB. 25\nC. 80（正确答案）\nD. 443",
            ]
        },
    ),
    (
        "a flag for each option",
        CAPITAL,
        {
            "B": [
                '{"A": 0, "B": 1, "C": 0, "D": 0}',
                '```json\n{"A": False, "B": True, "C": False, "D": False}\n```',
                '{"A": "incorrect", "B": "correct", "C": "incorrect", "D": "incorrect"}',
                '{"A": "no", "B": "yes", "C": "no", "D": "no"}',
            ],
            "": ['{"A": true, "B": true, "C": false, "D": false}'],
        },
    ),
    (
        "a table of verdicts",
        CAPITAL,
        {
            "B": [
                "| 选项 | 是否正确 |\n|---|---|\n| A | 否 |\n| B | 是 |\n| C | 否 |\n| D | 否 |",
                "|Option|Verdict|\n|:-:|:-:|\n|A|wrong|\n|B|correct|\n|C|wrong|\n|D|wrong|",
                "| A | 上海 | 不正确 |\n| B | 北京 | 正确 |\n| C | 广州 | 不正确 |\n| D | 西安 | 不正确 |",
            ],
            "C": ["| A | ✗ |\n| B | ✗ |\n| C | ✓ |\n| D | ✗ |"],
        },
    ),
    (
        "a checked box",
        CAPITAL,
        {
            "B": ["☐ A ☑ B ☐ C ☐ D", "[ ] A [√] B [ ] C [ ] D", "○A ●B ○C ○D", "* [x] B. 北京"],
            "C": ["- [ ] A. 上海\n- [ ] B. 北京\n- [X] C. 广州\n- [ ] D. 西安"],
        },
    ),
    (
        "a probability for each option",
        CAPITAL,
        {
            "B": [
                "A: 5%, B: 85%, C: 5%, D: 5%",
                "P(A)=0.05\nP(B)=0.9\nP(C)=0.03\nP(D)=0.02",
                "A（1%）B（97%）C（1%）D（1%）",
                "| A | 0.02 |\n| B | 0.95 |\n| C | 0.01 |\n| D | 0.02 |",
            ],
            "C": ['{"A":0.1,"B":0.1,"C":0.7,"D":0.1}'],
            "": ["A 0.25\nB 0.25\nC 0.25\nD 0.25"],
        },
    ),
    (
        "options told, none chosen",
        CAPITAL,
        {
            "": [
                "A、上海；B、北京；C、广州；D、西安",
                "选项有：上海、北京、广州、西安。",
                "A项说的是上海，B项说的是北京，C项说的是广州，D项说的是西安。",
                "The options are A. Shanghai, B. Beijing, C. Guangzhou and D. Xi'an.",
                "上海\n北京\n广州\n西安",
            ]
        },
    ),
    (
        "a list that breaks off",
        CAPITAL,
        {
            "": [
                "A. 上海\nB. 北",
                "A. 上海\nB",
                "选项：\nA. 上海\nB. 北京\nC.",
                "中国的首都是\nA. 上海\nB. 北京\nC. 广",
            ]
        },
    ),
    (
        "labels without options",
        CAPITAL,
        {"": ["A.\nB.\nC.\nD.", "(A) (B) (C) (D)", "A____ B____ C____ D____", "A: \nB: \nC: \nD: \n答案: "]},
    ),
    (
        "several letters",
        CAPITAL,
        {
            "": [
                "选A. 上海 以及 B. 北京",
                "答案：\nA. 上海\nB. 北京",
                "The correct answers are A (上海) and C (广州).",
                "【答案】B、D",
                "A项正确，C项也正确，B、D项错误。",
            ]
        },
    ),
    (
        "answer and explanation disagree",
        CAPITAL,
        {
            "": [
                "【答案】A【解析】……因此选D。",
                "选C。因为北京是首都，故正确答案为B。",
                "正确答案是A。综上，答案为C。",
                "The answer is A. Explanation: Beijing is the capital, so the correct answer is B.",
            ]
        },
    ),
    (
        "a value of which another is a part",
        LENGTH,
        {
            "A": ["7米"],
            "B": ["(20-5)/2=7.5", "7.5\n解析：先减后除"],
            "C": ["绳长为17.5米。"],
            "": ["117.5", "5"],
        },
    ),
    ("another script", ACCOUNT, {"B": ["預付賬款", "應計入預付帳款"]}),
    ("another writing", TERM, {"B": ["期限为2个月。"], "C": ["三個月"], "D": ["6个月"], "": ["60天"]}),
]


@pytest.mark.parametrize(("kind", "question", "replies"), KINDS, ids=[kind for kind, _, _ in KINDS])
def test_a_reply_of_a_hard_kind_is_read_right(
    kind: str, question: Question, replies: dict[str, list[str]]
) -> None:
    options = dict(zip("ABCD", question[1], strict=True))
    read = {
        reply: extract_choice(reply, options, question[0]).letter or ""
        for said in replies.values()
        for reply in said
    }
    assert read == {reply: letter for letter, said in replies.items() for reply in said}, kind
