"""The rules: one entry each, in one table, with an example that it must catch and one that it must not.

Most are patterns over the shape of a reply: lower case, markup overwritten, every mention of options a
mark, written `@` here, or `§` where it holds the option's text. One without `@` is a predicate, sought in the words after a mention. Gaps
are bounded and nothing repeats inside a repetition, so reading takes linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from m3ke_async.extraction.mentions import FIRST, REST, TOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

RULES_VERSION = "1"


class Tier(IntEnum):
    """Which rules are asked first."""

    WHOLE = 1  # the reply is one letter
    STATEMENT = 2  # an explicit final statement, or letter and separator at the start
    VERDICT = 3  # options asserted, denied, eliminated
    TEXT = 4  # the same, said of the option's text or place instead of its letter
    SINGLE = 5  # a single option in all
    NEAR = 6  # an option's text in other words


class Says(StrEnum):
    """What a match says about the options that it names."""

    ANSWER = "answer"  # this is the answer
    LIKELY = "likely"  # the same, in words that also serve on the way to it
    ONLY = "only"  # this one, unlike the others, is what follows
    BUT = "but"  # all but this one are what follows
    REJECT = "reject"  # this is not the answer
    TRUE = "true"  # this holds
    FALSE = "false"  # this does not hold
    TICK = "tick"  # this is marked
    CROSS = "cross"  # this is marked as out
    UNSURE = "unsure"  # a statement that its own clause takes back
    NONE = "none"  # a reading of the whole, not of one place


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which replies speak of options.

    Attributes:
        name: stable id, stored with every choice.
        tier: which rules are asked first.
        says: what a match says.
        catches: what it is for.
        pattern: regular expression over the shape; `@` is a mention, one without `@` a predicate,
            and None a rule that weighs what the others found.
        example: a reply that it must decide, to the question of `EXAMPLE`.
        counter: a reply near the example that it must not decide.
    """

    name: str
    tier: Tier
    says: Says
    catches: str
    pattern: str | None
    example: str
    counter: str


_IS = r"[\s:：=是为应该当选择就只能最终显然即乃填的故】\])）〕」』>》“\"#,，-]{0,16}"

RULES: tuple[Rule, ...] = (
    Rule(
        "whole",
        Tier.WHOLE,
        Says.ANSWER,
        "the reply is one letter",
        r"\A(?:[^\w✓✔✅☑√✗×✘❌☒╳●○☐◉]|\d{1,2}(?=[.、)）:：]))*(?<![:：])\Z",
        "(B)。",
        "B 国",
    ),
    Rule(
        "zh-answer",
        Tier.STATEMENT,
        Says.ANSWER,
        "答案 with or without its verb and brackets",
        rf"答案(?:可能|大概|肯定|一定|选项|选择|序号|字母|选)?{_IS}@",
        "参考答案应该是 B。A 也有人选。",
        "答案不是B。",
    ),
    Rule(
        "zh-label",
        Tier.STATEMENT,
        Says.ANSWER,
        "a label other than 答案",
        r"(?:正解|解答|回答|作答|结论|结果|答え|选择|答)(?:は|[:：是为])\s{0,3}@",
        "我的选择：B，A 不是",
        "回答时要看B",
    ),
    Rule(
        "zh-choose",
        Tier.STATEMENT,
        Says.LIKELY,
        "选 in its forms",
        r"选(?:择|取|定|了|出|的?是|为|答案)?[:：\s]{0,3}@",
        "要我说就选B，A 不行",
        "不选B，A 也不行",
    ),
    Rule(
        "zh-conclude",
        Tier.STATEMENT,
        Says.ANSWER,
        "选 after a word of conclusion",
        r"(?:故|因此|所以|综上|从而|应该?|应当|本题|此题|该题|最终|最后)"
        r"[^\ue000。；\n]{0,8}选(?:择|取|定|了|出|的?是|为|答案)?[:：\s]{0,3}@",
        "先看字面，选A；所以选B",
        "为何应选B",
    ),
    Rule(
        "zh-the-one",
        Tier.STATEMENT,
        Says.LIKELY,
        "的是 and its kin: 正确的是, 不属于的是",
        r"(?:的|选项|说法|一[项个]|表述|叙述|做法|描述)[^\ue000。；\n，,不非没无解如]{0,4}(?:是|为|[:：])\s{0,3}@",
        "A 也行，更准确的是B",
        "A 也行，更准确的不是B",
    ),
    Rule(
        "zh-right",
        Tier.STATEMENT,
        Says.LIKELY,
        "正确的 before the option",
        r"(?:正确|恰当|合适|符合题意|符合要求|准确)的\s?@",
        "A 之外，最恰当的B选项写的是首都",
        "A 之外，不正确的B选项写的是首都",
    ),
    Rule(
        "zh-hence",
        Tier.STATEMENT,
        Says.LIKELY,
        "a word of conclusion, then nothing but the option",
        r"(?:因此|所以|故|综上|综上所述|即|从而|可知|则)[，,:：\s]{0,3}@(?=\s?[。.\n!！]|\s?\Z)",
        "A 是港口；因此 (B)。",
        "A 是港口；因此 (B) 更北。",
    ),
    Rule(
        "zh-must-be",
        Tier.STATEMENT,
        Says.LIKELY,
        "应为, 而是, 只能是",
        r"(?:(?:应该?|应当|而|就|只能|一定|必然|显然|还|才|改|更正|纠正|修正|即|这|这就|那就|(?:\A|[，,。；\n])\s?(?:那么?|则)?)(?:是|为|选|成|[:：])|剩下?的?(?:只有|就|只能)?(?:是|为)?|只剩下?)[:：\s]{0,3}@",
        "A 不对，应为B",
        "A 不对，不应为B",
    ),
    Rule(
        "zh-is-answer",
        Tier.STATEMENT,
        Says.ANSWER,
        "the option, then that it is the answer",
        r"@[^\ue000。；\n，,不非]{0,12}(?:(?:是|为|成为|即)(?:本题|该题|此题|我的)?(?:唯一|最终)?的?(?:正确|最佳|标准|最终|最合适|最恰当|最优|合适)?的?"
        r"(?:答案|选择|选项)|(?<!不)符合(?:题意|题目要求|要求|题干)|当选|入选)",
        "B就是正确答案，而A说的是另一个城市",
        "B不是正确答案，而A说的是另一个城市",
    ),
    Rule(
        "zh-also",
        Tier.STATEMENT,
        Says.ANSWER,
        "a second option beside the first",
        r"也(?:可能|可以|能|行)(?:是|为|选|选择)?\s?@",
        "答案可能是A，也可能是B",
        "答案是A，也就是上海",
    ),
    Rule(
        "not-that",
        Tier.STATEMENT,
        Says.LIKELY,
        "this option, not that one",
        r"@[\s，,(（]{0,2}(?:而?不是|而不选|而非|not|rather than|instead of)\s?@",
        "B，而不是A",
        "B，还有A",
    ),
    Rule(
        "marked",
        Tier.STATEMENT,
        Says.ANSWER,
        "a note beside a listed option that it is the answer",
        r"@[ —-]{0,3}(?:[←⬅(（]|<-{1,2})[ —-]{0,3}(?:此为|这是|this is )?(?:正确答案|正确选项|正解|答案|本题答案|the correct answer|correct answer|answer)",
        "A. 上海\nB. 北京 ← 正确答案\nC. 广州\nD. 西安",
        "A. 上海\nB. 北京 ← 直辖市\nC. 广州\nD. 西安",
    ),
    Rule(
        "en-answer",
        Tier.STATEMENT,
        Says.ANSWER,
        "answer, choice, option with its verb or colon",
        r"(?:answer|choice|option|solution|conclusion|\bans\b)s?"
        r"(?:[^\ue000.\n?!]{0,80}?\b(?:is|be|are|was)\b|[^\ue000.\n?!:]{0,30}:)?"
        r"(?:\s(?:the|clearly|definitely|likely|probably|therefore|thus|most likely|indeed|simply|obviously))?"
        r"[\s:=\"'(>\]】）)-]{0,8}@",
        "The correct answer to this question is (B), for A is another city.",
        "The answer is not B, for A is another city.",
    ),
    Rule(
        "en-choose",
        Tier.STATEMENT,
        Says.ANSWER,
        "I choose, go with, opt for",
        r"\b(?:choose|pick|select|go(?:ing)? with|opt for|settle on|vote for|say)\s(?:the\s)?@",
        "Between A and the rest, I would go with B.",
        "Between A and the rest, do not pick B.",
    ),
    Rule(
        "en-conclude",
        Tier.STATEMENT,
        Says.LIKELY,
        "so, therefore, it is, must be",
        r"\b(?:so|thus|therefore|hence|it is|it's|must be|should be|would be|left with|leav(?:es|ing)(?: us)?(?: only)?(?: with)?|refers to"
        r"|conclude(?: that)?|(?:false|true|correct|incorrect|wrong|right|best)(?: one| option| statement)? is)[,:\s]{1,3}"
        r"(?:(?:it is|it's|the|only|is)\s)?@",
        "A is a port, so it must be B",
        "A is a port, so is it B",
    ),
    Rule(
        "en-is",
        Tier.STATEMENT,
        Says.LIKELY,
        "a sentence that ends on the option",
        r"\bis[: ]{1,2}@(?=\s?[.\n!]|\s?\Z)",
        "A and C are ports. The odd one out is B.",
        "A and C are ports. The odd one out is B or D.",
    ),
    Rule(
        "en-is-answer",
        Tier.STATEMENT,
        Says.ANSWER,
        "the option, then that it is the answer, English",
        r"@[^\ue000.\n;,]{0,30}?\b(?:is|would be|must be|seems|appears)(?: to be)?(?: clearly| therefore| thus)?(?: the| my| our)?"
        r"(?: most| single| only| one)?(?: correct| right| best| final| proper| appropriate| suitable| accurate)?"
        r" (?:answer|choice|option|solution)\b",
        "B is the right answer, A is a port",
        "B is not the right answer, A is a port",
    ),
    Rule(
        "other-answer",
        Tier.STATEMENT,
        Says.ANSWER,
        "answer in other languages",
        r"(?:respuesta|réponse|antwort|resposta|risposta|ответ|정답|답|đáp án|jawaban|odpowiedź|antwoord|正解|答え)"
        r"[^\ue000.\n?!。]{0,40}?(?:\b(?:es|est|ist|è|é|adalah|jest|là)\b|[:：は은는이])\s?(?:la |le |l'|die |der |das |a )?"
        r"(?:opción |lettre |letra |opção |lettera )?@",
        "La respuesta correcta es la B, A no.",
        "La respuesta no es la B, A no.",
    ),
    Rule(
        "boxed",
        Tier.STATEMENT,
        Says.ANSWER,
        "a LaTeX box",
        r"boxed\s?\{?[\s{(]{0,16}@",
        r"$\boxed{\text{B}}$ (A: 上海)",
        r"$\boxed{4}$ B (A: 上海)",
    ),
    Rule(
        "tag",
        Tier.STATEMENT,
        Says.ANSWER,
        "an answer tag",
        r"<(?:final_?)?(?:answer|答案|ans|choice|选项|result|output|option)[^>\n]{0,20}>\s{0,3}@",
        "A 也可以\n<answer>\nB\n</answer>",
        "A 也可以\n<note>\nB\n</note>",
    ),
    Rule(
        "json",
        Tier.STATEMENT,
        Says.ANSWER,
        "an answer field",
        r"[\"'][^\"'\n]{0,16}(?:answer|choice|option|result|答案|选项|letter|prediction|correct|选择)[^\"'\n]{0,16}[\"']"
        r"\s{0,3}:[\s\[{]{0,4}@",
        '{"why": "A is a port", "final_choice": "B"}',
        '{"why": "A is a port", "note": "B"}',
    ),
    Rule(
        "hashes",
        Tier.STATEMENT,
        Says.ANSWER,
        "four hashes, as GSM8K writes",
        r"####\s{0,3}@",
        "A 是上海\n#### B",
        "A 是上海\n# B",
    ),
    Rule(
        "arrow",
        Tier.STATEMENT,
        Says.LIKELY,
        "an arrow to the option",
        r"(?:=>|->|→|⇒|👉|☞)\s{0,3}@",
        "A 是上海，首都 → B",
        "A 是上海，首都 / B",
    ),
    Rule(
        "leading",
        Tier.STATEMENT,
        Says.ANSWER,
        "letter and separator at the start",
        r"\A(?:[\s:：.。,，#>\]】<-]|is\b|为|是|案|[a-z]{0,10}assistant|助手|\d{1,2}[.、)）]){0,8}@(?="
        r"\s{0,3}(?:\Z|[.。．,，:：、)）;；!！\n<\[【]|解析|解释|分析|理由|原因|因为|题目|答案|根据)|\s(?!\d{1,2}[.、．])[^a-z\s(（\ue000])",
        "B\n解析：A 说的是另一个城市",
        "B 和 A 都说得通",
    ),
    Rule(
        "leading-text",
        Tier.STATEMENT,
        Says.LIKELY,
        "letter and text at the start of a sentence",
        r"\A[\s#>-]{0,8}§(?!\s?(?:和|与|或|及|、|and|or|vs))",
        "(B) 北京 is where A is not",
        "(B) is where A is not",
    ),
    Rule(
        "closing",
        Tier.STATEMENT,
        Says.LIKELY,
        "a last sentence of one letter",
        r"[。.!！?？\n]\s{0,4}@[.。]?\s{0,4}\Z",
        "A 是港口，C 在南方。B。",
        "A 是港口，C 在南方。D 在西边。",
    ),
    Rule(
        "checkbox",
        Tier.VERDICT,
        Says.TICK,
        "a ticked box before the option",
        r"(?:\[[x✓✔√]\]|[☑●◉]|(?:\A|\n)[\s-]{0,4}[✓✔✅√])\s{0,3}@",
        "- [ ] A\n- [x] B\n- [ ] C\n- [ ] D",
        "- [ ] A\n- [ ] B\n- [ ] C\n- [ ] D",
    ),
    Rule(
        "unchecked",
        Tier.VERDICT,
        Says.CROSS,
        "an empty box or a cross before the option",
        r"(?:\[\s?\]|[☐☒○]|(?:\A|\n)[\s-]{0,4}[✗×✘❌╳])\s{0,3}@",
        "❌ A ❌ C\n❌ C\n❌ D",
        "A C\nC\nD",
    ),
    Rule(
        "only",
        Tier.VERDICT,
        Says.ONLY,
        "the only one of which something holds",
        r"(?:只有|唯有|仅有|只剩|\bonly)\s?@",
        "A、C、D 里没有首都，只有B是首都",
        "A、C、D 里没有首都，不只有B",
    ),
    Rule(
        "all-but",
        Tier.VERDICT,
        Says.BUT,
        "all except one",
        r"(?:除了?@(?:以外|之外|外)?|\bexcept(?: for)?\s@)",
        "除B外都不对，包括A",
        "A、B都不对",
    ),
    Rule(
        "zh-reject",
        Tier.VERDICT,
        Says.REJECT,
        "excluded by name",
        r"(?:排除|划掉|划去|去掉|剔除|淘汰|否定|不选|并非|而非|不(?:能|应|该|可|会|太|可能|应该)*(?:是|选|为|选择))[了掉\s的项也]{0,4}@",
        "先排除A、C，再排除D",
        "先看A、C，再看D",
    ),
    Rule(
        "zh-rejected",
        Tier.VERDICT,
        Says.REJECT,
        "named, then excluded",
        r"@[^\ue000。；;\n]{0,8}(?:(?:[^\ue000。；;\n]{0,10}[故以此可应要予])?(?:排除|划掉|划去|剔除|淘汰|舍去|去掉|舍弃|不选))",
        "A、C、D都可以划掉",
        "A、C、D都可以看看",
    ),
    Rule(
        "en-reject",
        Tier.VERDICT,
        Says.REJECT,
        "excluded by name, English",
        r"\b(?:not|neither|nor|rul(?:e|es|ed|ing) out|eliminat\w{1,4}|exclud\w{1,4}|rather than|instead of|discard\w{0,3}"
        r"|reject\w{0,3})\s(?:either |both )?@",
        "We can rule out A, C and D",
        "We can look at A, C and D",
    ),
    Rule(
        "en-rejected",
        Tier.VERDICT,
        Says.REJECT,
        "named, then excluded, English",
        r"@[^\ue000.\n;]{0,12}\b(?:ruled out|eliminated|excluded|discarded|rejected|impossible)\b",
        "A, C and D can be ruled out",
        "A, C and D can be seen",
    ),
    Rule(
        "flag-on",
        Tier.VERDICT,
        Says.TICK,
        "a flag or a tick after the option",
        r"\A[\s:：|.(（—-]{0,4}(?:true|yes)|\A[^\n\ue000✗×✘❌]{0,24}[✓✔✅☑√]",
        '{"A": false, "B": true, "C": false, "D": false}',
        '{"A": false, "B": null, "C": false, "D": null}',
    ),
    Rule(
        "flag-off",
        Tier.VERDICT,
        Says.CROSS,
        "a flag or a cross after the option",
        r"\A[\s:：|.(（—-]{0,4}(?:false|no)\b|\A[\s:：|.(（—-]{0,4}[×☒╳]|\A[^\n\ue000✓✔✅√]{0,24}[✗✘❌]",
        "A✗ C✗ D✗",
        "A C D",
    ),
    Rule(
        "zh-false",
        Tier.VERDICT,
        Says.FALSE,
        "said to be wrong",
        r"(?:不|非|未|没有)(?:太|完全|够|一定|是|那么|能算|算|能)?(?:正确|对|准确|符合|恰当|成立|合理|属实|妥|合适|适合|合题意|精确|真)"
        r"|错误|错(?=[的了。，,;；\s)）|]|\Z)|有误|非正确|并非|不相?符|\A\s?(?:都|均|也|皆|并|就)?(?:不是|不属于|不能|不会|不可能|不行|不选)|\A[^\ue000。，,]{0,8}不属于",
        "A项错误，C项错误，D项有误",
        "A项存疑，C项存疑，D项存疑",
    ),
    Rule(
        "zh-true",
        Tier.VERDICT,
        Says.TRUE,
        "said to be right",
        r"正确(?!答案|选项|的是|与否)|符合|成立|准确|恰当|无误|属实|合理|(?<![不针相面])对(?=[的。，,;；\s)）|]|\Z)|\A[^\ue000。，,]{0,8}(?<!不)属于|没错|\A\s?(?:才|就)(?:是|对)|\A\s?(?:都|均|皆)(?:是|为|能|可以|可|会|有)",
        "A说的是港口，B项正确，C、D太远",
        "A说的是港口，B项存疑，C、D太远",
    ),
    Rule(
        "en-false",
        Tier.VERDICT,
        Says.FALSE,
        "said to be wrong, English",
        r"\b(?:incorrect|wrong|false|not|inaccurate|isn't|doesn't|aren't|cannot|can't|untrue|unlikely)\b",
        "A is wrong. C is wrong. D is false.",
        "A is odd. C is odd. D is odd.",
    ),
    Rule(
        "en-true",
        Tier.VERDICT,
        Says.TRUE,
        "said to be right, English",
        r"\b(?:correct|true|right|accurate|valid)\b",
        "A is a port. B is correct. C is far.",
        "A is a port. B is far. C is far.",
    ),
    Rule(
        "elimination",
        Tier.VERDICT,
        Says.NONE,
        "three options denied: the fourth",
        None,
        "既不是A和C，也不是D。",
        "既不是A，也不是D。",
    ),
    Rule(
        "odds",
        Tier.VERDICT,
        Says.NONE,
        "a probability for each option, one above a half",
        None,
        "A 0.02\nB 0.95\nC 0.01\nD 0.02",
        "A 0.30\nB 0.30\nC 0.20\nD 0.20",
    ),
)


def statements(rules: Sequence[Rule]) -> re.Pattern[str]:
    """One pattern for all rules with a mention; the leftmost match counts, then the order of the table."""
    told = f"{FIRST}{REST}*{TOLD}"
    mention = f"{told}?"
    return re.compile(
        "|".join(
            f"(?P<r{place}>{rule.pattern.replace('@', mention).replace('§', told)})"
            for place, rule in enumerate(rules)
            if rule.pattern and "@" in rule.pattern and rule.tier is not Tier.WHOLE
        )
    )


def predicates(rules: Sequence[Rule]) -> re.Pattern[str]:
    """One pattern for all rules without a mention: what is said of the option just named."""
    return re.compile(
        "|".join(
            f"(?P<r{place}>{rule.pattern})"
            for place, rule in enumerate(rules)
            if rule.pattern and "@" not in rule.pattern and rule.tier is not Tier.WHOLE
        )
    )
