"""Numbers are the same number in any writing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from m3ke_async.choice import extract_choice
from m3ke_async.extraction.amounts import amount, amounts
from tests.choices import misread


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
        ("24立方厘米", 24, "cm3"),
        ("24 cm^3", 24, "cm3"),
        ("340米每秒", 340, "m/s"),
        ("零下四摄氏度", -4, "°"),
        ("3×10⁸", 300_000_000, ""),
        ("3\\times10^{8} m/s", 300_000_000, "m/s"),
        ("10^-2", Fraction(1, 100), ""),
        ("twelve", 12, ""),
    ],
)
def test_an_amount_is_a_value_and_a_unit(text: str, value: Fraction, unit: str) -> None:
    found = amount(text)
    assert found is not None
    assert (found.value, found.unit) == (value, unit)


@pytest.mark.parametrize("text", ["", "北京", "公元前221年", "第三", "1/0", "16周岁以上的人"])
def test_other_texts_are_no_amounts(text: str) -> None:
    assert amount(text) is None


@pytest.mark.parametrize("text", ["12~20次", "12次至20次", "十二到二十次", "12–20次", "12-20次"])
def test_a_range_is_the_same_in_any_writing(text: str) -> None:
    found = amount(text)
    assert found is not None
    assert (int(found.value), int(found.until or 0), found.unit) == (12, 20, "次")


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


#: Question, options, and replies by the letter that they choose; "" for those that choose none.
NUMBERS: list[tuple[str, tuple[str, str, str, str], dict[str, list[str]]]] = [
    (
        "成人安静时的正常心率是每分钟",
        ("40~60次", "60~100次", "100~120次", "120~160次"),
        {
            "B": [
                "成年人安静状态下心率一般为60-100次/分。",
                "正常心率为60至100次",
                "60—100次",
                "六十到一百次",
                "60次～100次",
                "一般在60到100次/分之间",
            ],
            "": [
                "60次到160次都有可能",
                "心率为60次",
                "心率大约是60到80次",
                "40-100次",
            ],
        },
    ),
    (
        "冷藏室的适宜温度是",
        ("-10℃~0℃", "0℃~10℃", "10℃~20℃", "20℃~30℃"),
        {
            "B": [
                "冷藏室温度应保持在0-10℃。",
                "0°C至10°C",
            ],
            "": [
                "10-30℃都行",
            ],
        },
    ),
    (
        "The normal pH of human blood is",
        ("6.35-6.45", "7.35-7.45", "7.55-7.65", "8.35-8.45"),
        {
            "B": [
                "Blood pH is kept at 7.35 to 7.45.",
                "7.35–7.45",
            ],
            "": [
                "It is between 6.35 and 8.45 in theory.",
            ],
        },
    ),
    (
        "地球的质量约为",
        ("6×10^20 kg", "6×10^22 kg", "6×10^24 kg", "6×10^26 kg"),
        {
            "C": [
                "地球质量约为6×10²⁴千克。",
                "6×10²⁴kg",
                "约 $6\\times10^{24}$ kg",
                "6.0×10^24千克",
                "约为6x10^24kg",
            ],
            "": [
                "约为6×10²⁵千克",
                "约为5×10^24 kg",
                "数量级是10",
                "10^24附近，具体不清楚",
            ],
        },
    ),
    (
        "阿伏伽德罗常数约为",
        ("6.02×10^21", "6.02×10^22", "6.02×10^23", "6.02×10^24"),
        {
            "C": [
                "6.02×10²³",
                "阿伏伽德罗常数约为 6.02×10^{23}/mol",
            ],
            "": [
                "3.01×10²³",
            ],
        },
    ),
    (
        "一个长方体长4cm、宽3cm、高2cm，体积是",
        ("12cm³", "24cm³", "26cm³", "52cm³"),
        {
            "B": [
                "体积是24立方厘米。",
                "4×3×2=24（立方厘米）",
                "V = 24 cm^3",
                "24 cm3",
                "体积为二十四立方厘米",
                "4×3×2=24(立方厘米)\n表面积=(4×3+4×2+3×2)×2=52(平方厘米)\n所以体积是24立方厘米。",
            ],
            "": [
                "表面积是52平方厘米。",
                "底面积12平方厘米",
                "体积是48立方厘米",
            ],
        },
    ),
    (
        "标准大气压下冰的熔点是",
        ("-4℃", "0℃", "4℃", "100℃"),
        {
            "B": [
                "零摄氏度",
                "零度",
                "0摄氏度",
                "0 °C",
            ],
            "A": [
                "零下四摄氏度",
            ],
            "": [
                "三摄氏度",
            ],
        },
    ),
    (
        "声音在空气中的传播速度约为",
        ("34m/s", "340m/s", "3400m/s", "340km/s"),
        {
            "B": [
                "340米每秒",
                "340米/秒",
                "三百四十米每秒",
            ],
            "D": [
                "340千米每秒",
                "340千米/秒",
            ],
            "": [
                "430米每秒",
            ],
        },
    ),
    (
        "某长方形面积为",
        ("6m²", "8m²", "10m²", "12m²"),
        {
            "A": [
                "六平方米",
                "6平方米",
                "6 m^2",
                "6m2",
            ],
            "": [
                "6平方厘米",
                "6立方米",
            ],
        },
    ),
    (
        "How many sides does a hexagon have?",
        ("four", "five", "six", "eight"),
        {
            "C": [
                "A hexagon has 6 sides.",
                "6",
                "It has 6.",
            ],
            "": [
                "It has 7 sides.",
                "It has 16 sides.",
            ],
        },
    ),
    (
        "A spider has how many legs?",
        ("4", "6", "8", "10"),
        {
            "C": [
                "eight",
                "Spiders have eight legs.",
                "Eight legs, unlike insects.",
            ],
            "": [
                "Spiders have twelve legs.",
            ],
        },
    ),
    (
        "我国刑法规定，有期徒刑的最低期限为",
        ("3个月", "6个月", "9个月", "1年"),
        {
            "B": [
                "六个月",
                "有期徒刑的最低期限为六个月。",
            ],
            "": [
                "四个月",
            ],
        },
    ),
    (
        "How many days are in a week of the old calendar?",
        ("ten", "twelve", "fifteen", "twenty"),
        {
            "A": [
                "10 days",
                "There were 10.",
            ],
            "D": [
                "20",
            ],
            "": [
                "30",
            ],
        },
    ),
    (
        "小明有20元，买书花了8元，妈妈又给他5元，现在有多少元？",
        ("12", "13", "17", "33"),
        {
            "C": [
                "20-8=12（元），12+5=17（元）。",
                "先算买书后剩下：20-8=12。再算妈妈给的：12+5=17。",
                "20 - 8 = 12\n12 + 5 = 17\n答：现在有17元。",
                "He has 20 - 8 = 12 left, then 12 + 5 = 17. So he has 17 yuan now.",
                "20-8=12，12+5=17元",
            ],
            "": [
                "20-8=12，20+13=33，12+5=17，哪个对呢？",
                "12、17都有可能",
                "20-8=12，还要再算。20+5=25",
            ],
        },
    ),
    (
        "某厂计划投资利润率为",
        ("20%", "40%", "60%", "80%"),
        {
            "B": [
                "利润率 = 200 ÷ 500 = 0.4",
                "利润率 = 200/500 = 0.4，即五分之二。",
                "利润率=200÷500=0.4。\n注意不要误用100÷500得出20%。",
            ],
            "": [
                "利润率=0.5",
                "0.4、0.6都可以",
            ],
        },
    ),
    (
        "售价是原价的",
        ("1.5a", "0.7a", "1.2a", "1.05a"),
        {
            "D": [
                "先提价得1.5a，再打七折，售价为1.5a×0.7=1.05a元。",
                "=1.05a（元）",
            ],
            "A": [
                "0.5a×3=1.5a元",
            ],
        },
    ),
    (
        "剪成每段2米的绳子，长10米，要剪几次",
        ("4", "5", "6", "8"),
        {
            "A": [
                "10÷2=5（段），剪成5段需要剪5-1=4次。\n答：需要剪4次。",
                "10÷2=5，5-1=4（次）",
            ],
            "": [
                "对折痕x=5，代入得2×5-1+3",
            ],
        },
    ),
    (
        "方程2x+1=7的解是",
        ("x=1", "x=2", "x=3", "x=7"),
        {
            "C": [
                "2x=6，x=3。",
            ],
        },
    ),
    (
        "已知 x+2=5，则 x 等于",
        ("3", "5", "7", "10"),
        {
            "A": [
                "移项得 x=5-2=3。检验：3+2=5。",
            ],
        },
    ),
    (
        "某指标的值约为",
        ("-0.22", "0.22", "0.33", "3"),
        {
            "C": [
                "$\\beta = \\dfrac{0.11}{0.33} \\approx 0.33$",
                "$$x = \\frac{0.22}{0.66} \\approx 0.33$$",
            ],
            "": [
                "$x = 0.11/0.33$",
            ],
        },
    ),
    (
        "正常成人24小时尿量约为",
        ("100~400ml", "400~1000ml", "1000~2000ml", "2500~4000ml"),
        {
            "C": [
                "一天1000到2000毫升",
                "1000ml～2000ml",
            ],
            "": [
                "少于400毫升为少尿。",
                "尿量超过2500毫升为多尿，低于100ml为无尿",
                "100~2000ml",
            ],
        },
    ),
    (
        "我国刑法规定，已满几周岁的人犯罪应当负刑事责任",
        ("12周岁", "14周岁", "16周岁", "18周岁"),
        {
            "C": [
                "十六周岁",
                "已满16岁",
                "十六岁以上应负刑事责任，故为十六周岁。",
            ],
            "": [
                "十五周岁",
                "已满十四周岁不满十六周岁的人只对特定犯罪负责。",
            ],
        },
    ),
    (
        "一辆车以20m/s行驶10s，路程为",
        ("2m", "20m", "200m", "2000m"),
        {
            "C": [
                "s=vt=20×10=200m",
                "s = 20 m/s × 10 s = 200 m",
                "20×10=200（米），所以路程是200米。",
            ],
            "": [
                "20×10=?",
                "速度是20m/s，时间是10s。",
            ],
        },
    ),
    (
        "人的正常体温（腋窝）约为",
        ("35~36℃", "36~37℃", "37~38℃", "38~39℃"),
        {
            "B": [
                "36℃到37℃",
                "36至37摄氏度",
                "三十六到三十七度",
            ],
            "": [
                "35至38摄氏度",
                "37℃左右",
            ],
        },
    ),
    (
        "某班男生24人女生16人，男生占",
        ("40%", "50%", "60%", "66.7%"),
        {
            "C": [
                "24÷(24+16)=24÷40=0.6",
                "24/40=3/5",
                "24÷40=0.6=60%。",
                "0.6",
            ],
            "": [
                "16÷24≈0.667吗？",
                "男生有24人",
            ],
        },
    ),
    (
        "下列数中最大的是",
        ("2^3", "3^2", "10^0", "5^1"),
        {
            "B": [
                "3²=9最大，选B",
            ],
            "": [
                "2³=8",
            ],
        },
    ),
    (
        "1光年约等于",
        ("9.46×10^11 km", "9.46×10^12 km", "9.46×10^13 km", "9.46×10^15 km"),
        {
            "B": [
                "约9.46×10¹²千米",
                "9.46×10¹²公里",
                "一光年约为 $9.46\\times 10^{12}$ km。",
            ],
            "": [
                "9.46×10¹⁴千米",
                "9.46×10^12 米",
            ],
        },
    ),
    (
        "How many players are on a soccer team?",
        ("nine", "ten", "eleven", "twelve"),
        {
            "C": [
                "11",
                "A team has 11 players.",
            ],
            "": [
                "There are 22 players in all.",
                "One of them is the goalkeeper.",
            ],
        },
    ),
    (
        "电路中的电流约为",
        ("0.2A", "2A", "20A", "200mA"),
        {
            "A": [
                "约为0.2安",
                "I=U/R=0.2安培",
            ],
            "B": [
                "二安",
            ],
            "": [
                "0.2伏",
            ],
        },
    ),
    (
        "正常成人的肺活量是",
        ("1.5L", "2.5L", "3.5L", "9.5L"),
        {
            "C": [
                "3.5升",
                "约三点五升，即3.5升",
            ],
            "": [
                "3.5毫升",
            ],
        },
    ),
]


@pytest.mark.parametrize(("question", "options", "replies"), NUMBERS)
def test_a_number_chooses_the_option_that_it_is(
    question: str, options: tuple[str, str, str, str], replies: dict[str, list[str]]
) -> None:
    assert misread(question, options, replies) == []
