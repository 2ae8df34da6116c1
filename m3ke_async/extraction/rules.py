"""The rules: one entry each, in one table, with an example that it must catch and one that it must not.

A pattern is read on the shape of a reply: lower case, markup overwritten, every mention of options a
run of one mark, written `@` here. Patterns hold no nested or unbounded gaps, so reading is linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from m3ke_async.extraction.normalise import MENTION

if TYPE_CHECKING:
    from collections.abc import Iterable

RULES_VERSION = "1"


class Tier(IntEnum):
    """Which rules are asked first."""

    WHOLE = 1  # the reply is one letter
    STATEMENT = 2  # an explicit final statement
    LEADING = 3  # letter and separator at the start
    VERDICT = 4  # options asserted, denied, eliminated
    ORDINAL = 5  # a place instead of a letter
    TEXT = 6  # the option's text without its letter
    SINGLE = 7  # a single letter in all


class Says(StrEnum):
    """What a match says about the options that it names."""

    ANSWER = "answer"  # this is the answer
    LIKELY = "likely"  # this is the answer, in words that also serve on the way to it
    REJECT = "reject"  # this is not the answer
    TRUE = "true"  # this fits the statement asked about
    FALSE = "false"  # this does not fit it


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which replies speak of options.

    Attributes:
        name: stable id, stored with every choice.
        tier: which rules are asked first.
        catches: what it is for.
        says: what a match says.
        pattern: regular expression over the shape; `@` is a mention.
        example: a reply that it must match.
        counter: a reply, near the example, that it must not match.
    """

    name: str
    tier: Tier
    catches: str
    says: Says
    pattern: str
    example: str
    counter: str


_GLUE = r"[\s:：=是为应该当选择就只能最终显然即乃填的故】\])）〕」』>》“\"#,，-]"

RULES: tuple[Rule, ...] = (
    Rule(
        "zh-answer",
        Tier.STATEMENT,
        "答案 with its verb, in brackets or not",
        Says.ANSWER,
        rf"案(?:可能|大概|肯定|一定|选项|选择)?{_GLUE}{{0,16}}@",
        "参考答案应该是 C。",
        "答案不是C。",
    ),
    Rule(
        "zh-choose",
        Tier.STATEMENT,
        "选 in all its forms",
        Says.LIKELY,
        r"选(?:择|取|定|了|出|的?是|为|答案|项)?[:：\s]{0,3}@",
        "综上，本题选B。",
        "不选B。",
    ),
    Rule(
        "zh-conclude",
        Tier.STATEMENT,
        "选 after a word of conclusion",
        Says.ANSWER,
        r"(?:故|因此|所以|综上|从而|应该?|应当|本题|此题|该题|最终|最后|我)[^\ue000。；\n]{0,4}选(?:择|取|定|了|出|的?是|为|答案|项)?[:：\s]{0,3}@",
        "A 说的是现象，故选B",
        "容易误选B",
    ),
    Rule(
        "zh-the-one",
        Tier.STATEMENT,
        "的是 and its kin: 正确的是, 不属于的是",
        Says.LIKELY,
        r"(?:的|选项|说法|一[项个]|表述|叙述|做法)[^\ue000。；\n，,]{0,4}(?:是|为|[:：])\s{0,3}@",
        "更准确的是B",
        "更准确的不是B",
    ),
    Rule(
        "zh-should-be",
        Tier.STATEMENT,
        "应为, 而是, 只能是, 就是",
        Says.LIKELY,
        r"(?:应该?|应当|而|就|只能|一定|必然|显然|还|才|即|改)(?:是|为|选)[:：\s]{0,3}@",
        "不对，应为C",
        "不应为C",
    ),
    Rule(
        "en-answer",
        Tier.STATEMENT,
        "answer, choice, option with its verb",
        Says.ANSWER,
        r"(?:answer|choice|option|solution|respuesta|réponse|reponse|antwort|resposta|risposta|ответ)"
        r"(?:[^\ue000.\n?!]{0,80}?\b(?:is|be|are|was|es|est|ist|è|é)\b|[^\ue000.\n?!:]{0,30}:)?(?:\s?(?:la|the|that|clearly|definitely|likely|probably)\b)?"
        r"[\s:=\"'(>\]】）)-]{0,8}@",
        "The correct answer to this question is (B).",
        "The answer is not B.",
    ),
    Rule(
        "en-choose",
        Tier.STATEMENT,
        "I choose, go with, opt for",
        Says.ANSWER,
        r"\b(?:choose|pick|select|go(?:ing)? with|opt for|settle on)\s(?:the\s)?@",
        "I would go with C.",
        "Do not choose C.",
    ),
    Rule(
        "en-conclude",
        Tier.STATEMENT,
        "so, therefore, it is",
        Says.LIKELY,
        r"\b(?:so|thus|therefore|hence|it is|it's|must be|should be|would be|leaves|left with|leaving|conclude(?: that)?|refers to|except"
        r"|(?:false|true|correct|incorrect|wrong|right) (?:one |statement )?is)[,:\s]{1,3}"
        r"(?:(?:it is|it's|the|only|is)\s)?@",
        "So it is C",
        "is it C",
    ),
    Rule(
        "boxed",
        Tier.STATEMENT,
        "a LaTeX box",
        Says.ANSWER,
        r"boxed\s?\{?[^\ue000{}\n]{0,12}@",
        r"\boxed{\text{B}}",
        r"\boxed{4} for B",
    ),
    Rule(
        "tag",
        Tier.STATEMENT,
        "an answer tag",
        Says.ANSWER,
        r"<(?:final_)?(?:answer|答案|ans|choice|选项|result|output|option)[^>\n]{0,20}>\s{0,3}@",
        "<answer>\nB\n</answer>",
        "<note>B</note>",
    ),
    Rule(
        "json",
        Tier.STATEMENT,
        "an answer field",
        Says.ANSWER,
        r"\"[^\"\n]{0,16}(?:answer|choice|option|result|答案|选项|letter|prediction|correct)"
        r"[^\"\n]{0,16}\"\s{0,3}:[\s\[{]{0,4}@",
        '{"final_answer": "B"}',
        '{"note": "B"}',
    ),
    Rule(
        "hashes",
        Tier.STATEMENT,
        "four hashes, as GSM8K writes",
        Says.ANSWER,
        r"####\s{0,3}@",
        "#### B",
        "# B",
    ),
    Rule(
        "zh-reject",
        Tier.VERDICT,
        "excluded by name",
        Says.REJECT,
        r"(?:排除|划掉|划去|去掉|剔除|淘汰|否定|不选|不是|并非|非|不能选|不应选|不会是|不可能是|可能是(?=x)|也不是)[了掉\s的项]{0,4}@",
        "先排除A",
        "选A",
    ),
    Rule(
        "zh-rejected",
        Tier.VERDICT,
        "named, then excluded",
        Says.REJECT,
        r"@[^\ue000。；;\n]{0,8}(?:排除|划掉|划去|剔除|淘汰|舍去|去掉)",
        "A可以排除",
        "A排在前面",
    ),
    Rule(
        "en-reject",
        Tier.VERDICT,
        "excluded by name, English",
        Says.REJECT,
        r"\b(?:not|neither|nor|rul(?:e|es|ed|ing) out|eliminat\w{1,4}|exclud\w{1,4}|"
        r"rather than|instead of|discard\w{0,3}|reject\w{0,3})\s(?:option |both |either )?@",
        "We rule out A",
        "We choose A",
    ),
    Rule("zh-false", Tier.VERDICT, "said to be wrong", Says.FALSE, r"", "A项错误", "A项正确"),
    Rule("zh-true", Tier.VERDICT, "said to be right", Says.TRUE, r"", "A项正确", "A项错误"),
)


def compiled(rules: Iterable[Rule]) -> re.Pattern[str]:
    """One pattern that finds the leftmost match of any rule, the rule's place in the name of the group."""
    return re.compile(
        "|".join(
            f"(?P<r{place}>{rule.pattern.replace('@', MENTION + '+')})" for place, rule in enumerate(rules)
        )
    )
