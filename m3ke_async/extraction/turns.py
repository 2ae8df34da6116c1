"""Where a reply runs on: into another question, another speaker's turn, or an offer to say more."""

from __future__ import annotations

import re

from m3ke_async.extraction.patterns import Pattern

_FIGURES = "[一二三四五六七八九十]{1,2}"
_NUMBER = rf"(?:\s?\d{{1,3}}|{_FIGURES})?"
#: What heads another question: 题目：, 【练习2】, ### 指令：.
_HEAD = (
    r"(?:题目|题干|问题|指令|思考题|变式|(?:下|另)一[道个]?题|再来一题|例(?=[题\d一二三四五])题?|第\d{1,3}题|[单多]?项?选择?题"
    r"|(?:相关|类似|相似|同类|更多|补充|拓展|巩固|课[后堂]|强化|变式)?(?:练习|习题|试题|题目|例题|训练)题?)"
    + _NUMBER
)
#: The same in English, before its number: Exercise 2:, Similar question:.
_LATIN_HEAD = (
    r"(?:(?:similar|related|follow-?up|next|practice|new|another|bonus|additional|sample)\s)?"
    r"(?:question|q|exercise|problem|example|task|quiz|prompt|query|instruction|user|human|student)"
)
#: A blank to be filled in.
_GAP = r"[（(]\s{0,6}[)）]"
#: The rest of a line that asks.
_ASKS = rf"[^\n]{{0,160}}(?:[?？是为]|{_GAP})[。.]?\s{{0,3}}(?:\n|\Z)"
#: Options on one line, and on several.
_IN_LINE = r"\sA\s?[.、．:：)）][^\n]{1,80}\sB\s?[.、．:：)）]"
_IN_LINES = r"\n?\s{0,4}A\s?[.、．:：)）][^\n]{1,200}\n{1,2}\s{0,4}B\s?[.、．:：)）]"
#: At the start of a line.
_ON_A_LINE = (
    rf"(?:#{{1,6}}\s?)?[【\[]?{_HEAD}[】\]]?\s?[:：]",
    rf"[【\[]{_HEAD}[】\]]",
    rf"#{{1,6}}\s?{_HEAD}\s?\n",
    r"#{2,6}\s{0,3}\n",
    r"###\s?(?:question|instruction|input|problem|输入)",
    r"请(?:你|继续)?(?:回答|作答)(?:(?:下[面列]|以下)的?问题)?\s?[:：]",
    r"(?:用户|提问|问)\s?[:：]",
    rf"(?:#{{1,6}}\s?)?{_LATIN_HEAD}\s?(?:\d{{0,3}}\s?[:：]|\d{{1,3}}\s?[.)\n])",
    rf"\d{{1,3}}[.、．]\s?[^\n]{{4,200}}\n{_IN_LINES}",
    rf"\d{{1,3}}[.、．]\s?(?:下列|以下|关于|[^\n]{{4,120}}{_GAP})",
    rf"(?:[（(]?\d{{1,3}}[)）.]|{_FIGURES}[、.．])\s?(?:下列|以下|which of the following){_ASKS}",
)
#: The characters with which these begin, so that other lines are passed over at once.
_FIRST = (
    r"#【\[（(\d一二三四五六七八九十"
    "题问指思变下另再例第单多项选相类似同更补拓巩课强练习试训请用提qeptuhisrfnab"
)
_OFFER = (
    r"(?:是否)?需要我|要不要我|[你您]?还?想要?(?:我|了解|知道)|如果[你您]还?(?:需要|想|希望|愿意)"
    r"|would you like|do you want|want me to|shall i|should i|let me know"
    r"|if you(?:'d| would)? (?:like|want|need)|feel free"
)
#: Each begins with one of a few characters, so that all else is passed over at once. The `weak` ones end a
#: stretch only if it chooses one option.
RUNS_ON = Pattern(
    r"[\n题问<。\[】](?:(?<=[A-H]题)目|(?<=[A-H]问)题\s?[:：]|(?<=下一题)\s?[:：]"
    r"|(?<=。)(?=(?-i:[^。Aa]{0,127}+[Aa]))\s{0,2}[^\n。]{4,120}[?？)）是为]\s{0,3}A\s?[.、．:：)）][^\n]{1,80}?\sB\s?[.、．:：)）]"
    rf"|(?<=。)\d{{1,3}}[.、．]\s?[^\n]{{4,120}}{_GAP}"
    rf"|(?<=。)\s?(?:题目|问题|指令|请回答|练习){_NUMBER}\s?[:：]"
    rf"|(?<=\n)\s{{0,4}}(?=[{_FIRST}])(?:{'|'.join(_ON_A_LINE)})"
    rf"|(?:(?<=[?？]\n)|(?<=的是\n)|(?<=[（(][)）]\n)|(?<=[（(] [)）]\n))(?={_IN_LINES})"
    r"|(?<=<)(?:\|[a-z_]{2,24}\|>|/s>|eos_token>|end_of_turn>"
    rf"|eo[a-z]>(?=[^\n]{{4,160}}{_IN_LINE}))"
    r"|(?<=\[)inst\]"
    rf"|(?<=】)\s{{0,3}}【{_HEAD}】"
    rf"|(?P<weak>(?<=\n)\s{{0,4}}(?:以下是|下面是|以下为|下面为)|(?<=[\n。])\s{{0,4}}(?:{_OFFER})))",
    re.IGNORECASE,
)
