# ruff: noqa: E501
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
POET: Question = ("《静夜思》的作者是", ("杜甫", "李白", "白居易", "王维"))
SMTP: Question = ("SMTP 协议使用的端口号是", ("21", "25", "80", "443"))
HALF: Question = ("三个连续偶数之和的一半是", ("12", "24", "36", "48"))
WATER: Question = ("下列说法错误的是", ("水由氢和氧组成", "冰比水重", "水能溶解食盐", "水在零度结冰"))
MEASURE: Question = (
    "新政策的主要作用是",
    ("降低了企业的生产成本", "制定了新的合理的税收标准", "扩大了对外贸易的规模", "完善了错误信息的更正制度"),
)

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
    (
        "denied ahead",
        CAPITAL,
        {
            "": [
                "切忌选A",
                "A说不通",
                "C讲不通",
                "不见得是A",
                "绝非上海",
                "首都不在上海",
                "切忌选上海。",
                "不见得是上海。",
                "切勿选C",
                "绝不是D",
                "决不选A",
                "并不见得选C",
                "绝非C",
                "切莫选D",
                "首都并不在广州",
                "首都不位于上海",
            ],
            "B": [
                "绝非A，而是B",
                "切忌选A，应选B",
                "首都在北京",
                "首都不在上海，而在北京",
                "非B莫属",
                "不得不选B",
            ],
        },
    ),
    (
        "denied ahead",
        POET,
        {
            "": [
                "绝非杜甫",
                "作者不见得是王维",
                "切忌选白居易",
                "决非李白",
            ],
            "B": [
                "绝对是李白",
                "非李白莫属",
            ],
        },
    ),
    (
        "only supposed or asked",
        CAPITAL,
        {
            "": [
                "除非是A",
                "难道是A",
                "莫非选A",
                "除非是上海。",
                "难道是C？",
                "莫非是广州",
                "难道选D不成",
                "除非选A",
                "莫非不是B？",
            ],
            "B": [
                "难道是A？不，是B",
            ],
        },
    ),
    (
        "only supposed or asked",
        POET,
        {
            "": [
                "难道是杜甫",
                "莫非是王维",
                "除非是白居易",
            ],
        },
    ),
    (
        "one above another",
        CAPITAL,
        {
            "B": [
                "B优于A",
                "与其选A，不如选B",
                "首选B，次选A",
                "A不如B",
                "B胜过A",
                "北京优于上海",
                "与其说是上海，不如说是北京",
                "第一选择B，第二选择C",
                "宁选B，不选A",
                "B要优于C",
                "A逊于B",
                "首选B，其次是C",
            ],
            "D": [
                "C劣于D",
                "与其选C，倒不如选D",
            ],
            "": [
                "A和B，不如都选",
                "B不优于A",
                "优于A",
                "首选A还是B？",
            ],
        },
    ),
    (
        "one above another",
        POET,
        {
            "B": [
                "与其说是杜甫，不如说是李白",
                "李白优于杜甫",
            ],
        },
    ),
    (
        "a flag for each letter",
        CAPITAL,
        {
            "B": [
                '{"A": null, "B": true, "C": null, "D": null}',
                '{"A": false, "B": true, "C": false, "D": false}',
                '{"a": false, "b": true, "c": false, "d": false}',
                "A=错, B=对, C=错, D=错",
                "A - F, B - T, C - F, D - F",
                '[{"option":"A","correct":false},{"option":"B","correct":true},{"option":"C","correct":false},{"option":"D","correct":false}]',
                '[\n  {"选项": "A", "正确": false},\n  {"选项": "B", "正确": true},\n  {"选项": "C", "正确": false},\n  {"选项": "D", "正确": false}\n]',
            ],
            "C": [
                '[{"option":"A","is_correct":false},{"option":"B","is_correct":false},{"option":"C","is_correct":true},{"option":"D","is_correct":false}]',
            ],
            "": [
                '{"A":"对","B":"对","C":"错","D":"错"}',
                '{"A":"上海","B":"北京","C":"广州","D":"西安"}',
                "| A | B | C | D |\n|---|---|---|---|\n| 上海 | 北京 | 广州 | 西安 |",
                "| A | B | C | D |\n|---|---|---|---|\n| 错 | 错 | 对 | 对 |",
                '[{"option":"A","correct":true},{"option":"B","correct":true},{"option":"C","correct":false},{"option":"D","correct":false}]',
            ],
        },
    ),
    (
        "a flag for each letter",
        WATER,
        {
            "B": [
                '{"A":"对","B":"错","C":"对","D":"对"}',
                '{"A":"√","B":"×","C":"√","D":"√"}',
                '{"A":"T","B":"F","C":"T","D":"T"}',
                "A: yes, B: no, C: yes, D: yes",
                "对A 错B 对C 对D",
                "✓A ✗B ✓C ✓D",
            ],
        },
    ),
    (
        "a mark before each letter",
        CAPITAL,
        {
            "B": [
                "✗A ✓B ✗C ✗D",
                "×A √B ×C ×D",
                "( ) A. 上海\n(•) B. 北京\n( ) C. 广州\n( ) D. 西安",
                "A✗ B✓ C✗ D✗",
                "A ✗ B ✓ C ✗ D ✗",
                "✗ A  ✓ B  ✗ C  ✗ D",
                "❌ A. 上海 ✅ B. 北京 ❌ C. 广州 ❌ D. 西安",
                "☐ A ☑ B ☐ C ☐ D",
                "○A ●B ○C ○D",
                "A. 上海\nB. 北京 ←\nC. 广州\nD. 西安",
            ],
            "C": [
                "❌A ❌B ✅C ❌D",
                "( ) A ( ) B (•) C ( ) D",
                "A. 21\nB. 25\nC. 80 ←\nD. 443",
            ],
            "A": [
                "(•) A ( ) B ( ) C ( ) D",
                "✓A ✗B ✗C ✗D",
                "(x) A. 上海\n( ) B. 北京\n( ) C. 广州\n( ) D. 西安",
            ],
            "D": [
                "✗A ✗B ✗C ✓D",
            ],
            "": [
                "( ) A. 上海\n( ) B. 北京\n( ) C. 广州\n( ) D. 西安",
                "✓A ✓B ✗C ✗D",
                "✗A ✗B ✗C ✗D",
                "( ) A ( ) B",
            ],
        },
    ),
    (
        "a list with slips",
        CAPITAL,
        {
            "": [
                "A. 北京\nB. 北京\nC. 广州\nD. 西安",
                "A. 上海\nB. 上海\nC. 广州\nD. 西安",
                "A. 北京 B. 上海 C. 广州 D. 西安",
                "A. 上海\nB. 北京\nC. 北京\nD. 北京",
                "A. 广州\nB. 西安\nC. 上海\nD. 北京",
                "A. 上海\nB. 南京\nC. 广州\nD. 西安",
                "A：北京\nB：北京\nC：北京\nD：北京",
            ],
            "B": [
                "A. 北京\nB. 北京\nC. 广州\nD. 西安\n答案：B",
            ],
        },
    ),
    (
        "a list with slips",
        POET,
        {
            "": [
                "A. 李白\nB. 李白\nC. 白居易\nD. 王维",
                "(A) 杜甫 (B) 杜甫 (C) 白居易 (D) 王维",
            ],
        },
    ),
    (
        "several with numbers",
        CAPITAL,
        {
            "": [
                "正确的有：\n1. A 上海\n2. C 广州",
                "我选：\n1) A\n2) B",
                "正确答案有：\n1. B. 北京\n2. D. 西安",
                "正确的是：\n1、A\n2、C",
                "以下正确：\n1. A：上海\n2. C：广州",
                "1. A 上海\n2. C 广州",
                "答案如下：\n1. A. 上海\n2. B. 北京\n3. C. 广州",
            ],
            "B": [
                "分析：\n1. A 上海是港口\n2. C 广州在南方\n所以选B",
                "1. B\n2. 北京是首都",
                "1. B 北京\n2. 北京是中国的首都",
            ],
        },
    ),
    (
        "all from one to another, one of two, all but one",
        CAPITAL,
        {
            "": [
                "A到C都对",
                "A至C均正确",
                "A-D都不对",
                "不是A就是B",
                "非A即B",
                "不是C就是D",
                "不是上海就是北京",
                "非上海即北京",
                "B以外的都对",
                "不是A，就是B",
                "要么A要么B",
                "A-D四个选项",
                "A—C",
            ],
            "D": [
                "A~C都是错的",
                "从A到C都不对",
                "A到C都错，选D",
            ],
            "B": [
                "B以外都不对",
                "B以外的都错",
                "除B以外都不对",
                "除B以外的都错",
                "不是A，而是B",
            ],
        },
    ),
    (
        "all from one to another, one of two, all but one",
        WATER,
        {
            "B": [
                "B以外的都对",
                "A、C、D以外的错",
                "B之外都正确",
            ],
        },
    ),
    (
        "another number or word",
        SMTP,
        {
            "": [
                "8080",
                "端口号是8080",
                "2525",
                "-25",
                "4430",
                "2580",
            ],
            "B": [
                "25",
                "端口号是25",
                "25端口",
            ],
        },
    ),
    (
        "another number or word",
        HALF,
        {
            "": [
                "3636",
                "-36",
                "136",
                "答案是-36",
                "1212",
            ],
            "C": [
                "36",
                "结果为36。",
                "x=36",
                "答案 - 36",
                "- 36",
            ],
        },
    ),
    (
        "a name by a letter",
        CAPITAL,
        {
            "": [
                "D触发器",
                "B树",
                "A卷",
                "D调",
                "C#",
                "B-52",
                "D-葡萄糖",
                "A*算法",
                "D维",
                "C刊",
                "A段",
                "C段音频",
                "B片",
                "A照",
                "A档",
                "B族维生素",
                "C位出道",
                "B卷",
                "B+树",
                "B树索引",
                "C#语言",
                "A照驾驶员",
                "D-乳酸",
                "B-29",
                "C-14",
                "使用D触发器构成",
                "采用B树作为索引",
                "考试用A卷",
                "曲子是D调的",
                "用C#编写",
                "选B卷",
            ],
            "B": [
                "B-北京",
                "B - 北京",
                "B#",
                "选B-北京",
            ],
        },
    ),
    (
        "held once, or lies elsewhere",
        CAPITAL,
        {
            "": [
                "首都曾经是西安。",
                "首都离上海很远。",
                "首都在上海以北。",
                "首都曾是西安。",
                "首都原来是西安",
                "首都距离广州很远。",
                "首都以前是西安。",
                "首都在上海的北边。",
                "首都不远。",
            ],
            "B": [
                "首都曾经是西安，现在是北京。",
                "首都是北京。",
                "首都位于北京。",
                "首都过去是西安，如今是北京",
            ],
        },
    ),
    (
        "what follows denies others",
        CAPITAL,
        {
            "B": [
                "**B**\n\n\n不是上海，也不是广州。",
                "B\n\n不是上海，也不是广州。",
                "**B**\n\n不是上海，也不是西安。",
                "B。不是上海，也不是广州。",
                "B\n不是A，也不是C。",
            ],
            "C": [
                "**C**\n\n\n不是上海，也不是西安。",
            ],
            "A": [
                "**A**\n\n不是广州，不是西安。",
            ],
            "": [
                "不是上海，也不是广州。",
            ],
        },
    ),
    (
        "said of the others",
        CAPITAL,
        {
            "B": [
                "B. 北京。其他选项都不对。",
                "B. 北京\n\n其他选项都是错误的。",
                "B. 北京，其他均错",
                "B. 北京\n其他选项都不对。",
                "B. 北京\n其余三项均不符合题意。",
                "(B) 北京。其他选项都不对。",
                "(B) 北京。\n其余三项均不符合题意。",
                "B. 北京\n前面的分析没有错。",
                "B. 北京\n如果不是北京，那就错了。",
                "(B) 北京。如果不是北京，那就错了。",
                "B. 北京\n修正主义不在此列。",
                "(B) 北京。no doubt about it.",
                "B. 北京\n我不能保证完全准确。",
                "B. 北京。其余选项不正确。",
                "B. 北京。The other options are incorrect.",
                "B，其他都错",
                "B其他选项都不对。",
                "**B**\n\n我不能保证完全准确。",
                "选B，为什么呢？因为首都在1949年确定。",
                "The answer is B. 为什么呢？因为首都在1949年确定。",
                "I choose B. 为什么呢？因为首都在1949年确定。",
                "B。如果不是北京，那就错了。",
                "B。我不能保证完全准确。",
                "B项正确。no doubt about it.",
                "北京。其他选项都不对。",
                "B. 北京，其余皆非",
            ],
            "": [
                "B. 北京，不对",
                "B. 北京，错误",
                "其他选项都不对。",
                "B错误，其他选项都不对",
            ],
        },
    ),
    (
        "said of the others",
        POET,
        {
            "B": [
                "B. 李白。其他选项都不对。",
                "李白，其余均错",
                "B、李白。其余选项均错误。",
            ],
        },
    ),
    (
        "said of the others",
        WATER,
        {
            "B": [
                "B. 冰比水重。其他选项都正确。",
                "B，其余均正确",
                "B. 冰比水重\n\n其他选项都是正确的。",
            ],
        },
    ),
    (
        "asked and settled",
        CAPITAL,
        {
            "B": [
                "A还是B？B",
                "A or B? B.",
                "上海还是北京？北京。",
                "A还是B？B。",
                "A或B？选B",
            ],
            "D": [
                "C还是D呢？D",
            ],
            "C": [
                "A和C？C",
            ],
            "": [
                "A还是B？",
                "A还是B",
                "A？B？",
                "A还是B？C还是D？",
            ],
        },
    ),
    (
        "struck out",
        CAPITAL,
        {
            "B": [
                "答案：~~A~~ B",
                "~~A~~ B",
                "~~A~~\nB",
                "~~A. 上海~~ B. 北京",
                "选~~A~~B",
            ],
            "D": [
                "答案是~~C~~D",
            ],
            "": [
                "答案：~~B~~",
            ],
            "C": [
                "~~A~~ ~~B~~ C",
            ],
        },
    ),
    (
        "thoughts by other names",
        CAPITAL,
        {
            "B": [
                "<|START_THINKING|>选A<|END_THINKING|>B",
                "<|START_THINKING|>选A，也可能是D<|END_THINKING|>\n\n答案：B",
                "<analysis>选A</analysis>B",
                "<analysis>选A，也可能是D</analysis>\n\n答案：B",
                "<internal_monologue>选A</internal_monologue>B",
                "<internal_monologue>选A，也可能是D</internal_monologue>\n\n答案：B",
                "<think>\n<think>选A</think>B",
                "<think>\n<think>选A，也可能是D</think>\n\n答案：B",
                "<thinking><thinking>选A</thinking>B",
                "<thinking><thinking>选A，也可能是D</thinking>\n\n答案：B",
                "<|START_THINKING|>A<|END_THINKING|><|START_RESPONSE|>B<|END_RESPONSE|>",
                "<analysis>\n选A\n</analysis>\n<answer>B</answer>",
                "<think>A</think>B",
            ],
            "": [
                "<|START_THINKING|>选A",
                "<|START_THINKING|>A<|END_THINKING|>",
                "<analysis>选A",
                "<analysis>A</analysis>",
                "<internal_monologue>选A",
                "<internal_monologue>A</internal_monologue>",
                "<think>\n<think>选A",
                "<think>\n<think>A</think>",
                "<thinking><thinking>选A",
                "<thinking><thinking>A</thinking>",
                "<think>a<think>b</think>",
                "<analysis>A is a port</analysis>",
            ],
            "C": [
                "<think><think>A</think>B</think>C",
            ],
        },
    ),
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


@pytest.mark.parametrize(
    ("off", "on"),
    [("错", "对"), ("否", "是"), ("×", "√"), ("F", "T"), ("no", "yes"), ("错误", "正确"), ("✗", "✓")],
)
@pytest.mark.parametrize("letter", "ABCD")
@pytest.mark.parametrize(
    "form",
    [
        '{{"A":"{}","B":"{}","C":"{}","D":"{}"}}',
        "{{'A': '{}', 'B': '{}', 'C': '{}', 'D': '{}'}}",
        "| A | B | C | D |\n|---|---|---|---|\n| {} | {} | {} | {} |",
        "| 选项 | A | B | C | D |\n| --- | --- | --- | --- | --- |\n| 判断 | {} | {} | {} | {} |",
        "A={}, B={}, C={}, D={}",
    ],
)
def test_a_flag_for_each_letter_sets_one_apart(form: str, letter: str, on: str, off: str) -> None:
    reply = form.format(*(on if own == letter else off for own in "ABCD"))
    assert extract_choice(reply, dict(zip("ABCD", CAPITAL[1], strict=True)), CAPITAL[0]).letter == letter


@pytest.mark.parametrize(
    ("off", "on"), [("错", "对"), ("否", "是"), ("×", "√"), ("✗", "✓"), ("( ) ", "(•) "), ("☐", "☑")]
)
@pytest.mark.parametrize("joint", [" ", "  ", "\n"])
def test_a_flag_before_each_letter_sets_one_apart(joint: str, on: str, off: str) -> None:
    for letter in "ABCD":
        reply = joint.join((on if own == letter else off) + own for own in "ABCD")
        assert extract_choice(reply, dict(zip("ABCD", CAPITAL[1], strict=True)), CAPITAL[0]).letter == letter


def test_an_option_that_is_a_flag_is_not_flagged() -> None:
    options = {"A": "对", "B": "错", "C": "部分对", "D": "无法判断"}
    assert extract_choice('{"A":"对","B":"错","C":"错","D":"错"}', options, "地球是平的").letter is None


@pytest.mark.parametrize("question", [CAPITAL, POET, MEASURE, LEAF])
@pytest.mark.parametrize("finish", [None, "length"])
@pytest.mark.parametrize("joint", ["\n", " ", "；", "\n\n"])
@pytest.mark.parametrize("form", ["{}. {}", "{}、{}", "({}) {}", "{}：{}"])
def test_a_list_that_breaks_off_anywhere_chooses_nothing(
    question: Question, finish: str | None, joint: str, form: str
) -> None:
    stem, texts = question
    rows = [form.format(letter, text) for letter, text in zip("ABCD", texts, strict=True)]
    for size in (2, 3):
        ends = ["ABCD"[size], *(rows[size][:-cut] for cut in range(1, len(texts[size])))]
        for end in ends:
            reply = joint.join([*rows[:size], end])
            assert (
                extract_choice(reply, dict(zip("ABCD", texts, strict=True)), stem, finish).letter is None
            ), reply
