"""Reads a reply: stretch by stretch, first its letters, then the options' texts and places."""

from __future__ import annotations

import re
from functools import cache, cached_property
from typing import TYPE_CHECKING

from m3ke_async.extraction.clauses import NEGATIVE, Grammar
from m3ke_async.extraction.decide import NOTHING, Pick, contradicts, last_standing, odds, verdict
from m3ke_async.extraction.mentions import LETTERS, Mention, find_letters, listed, shape
from m3ke_async.extraction.normalise import same_alphabet, without_markup
from m3ke_async.extraction.rules import RULES, Rule
from m3ke_async.extraction.texts import OptionTexts, answers_question, is_weak, near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Where a reply runs on into another question or another speaker's turn.
_CUT = re.compile(
    r"(?<=[A-J])题目|(?:\n\s{0,4}|(?<=[A-J]))(?:[【\[]?(?:题目|问题|下一题)[】\]]?|第\d{1,3}题|例题|question\s?\d{0,3}|q\d{0,3}|用户|user|human|提问|instruction|请你回答)\s?[:：]"
    r"|\n\s{0,4}[【\[](?:题目|问题|下一题|例\d?)[】\]]|\n\s{0,4}(?:q|question\s)\d{1,3}[.)]|\n\s{0,3}\d{1,3}[.、．]\s?(?:下列|以下|关于)"
    r"|<\|im_start\|>|<\|endoftext\|>|<\|im_end\|>|</s>|<\|eot_id\|>|<eos_token>|<end_of_turn>",
    re.IGNORECASE,
)


#: After the only letter of a reply: a question back, or a heading without its text.
_ASKING = re.compile(r"[^。！!\n]{0,12}[吗呢?？]|[:：]\s{0,4}\Z")
_ALL = re.compile(
    r"(?:以上|上述|前三[项者个])?(?:选项|各项|三[项者])?(?:全部|全|都|均|皆|三[项者])+(?:是|对|正确|属于|包括|可以?|有)*[。.]?\Z|全部|all (?:of )?the above|all of (?:these|them)|ABC",
    re.IGNORECASE,
)


class Asked:
    """What is known of the question, in one alphabet and without markup."""

    def __init__(self, question: str | None, options: Mapping[str, str] | None) -> None:
        self._question = question or ""
        self._options = options or {}

    @cached_property
    def options(self) -> dict[str, str]:
        """The options' texts by letter."""
        return {
            letter: without_markup(same_alphabet(str(text))).strip() for letter, text in self._options.items()
        }

    @cached_property
    def texts(self) -> OptionTexts:
        """The options' texts, ready to be found."""
        return OptionTexts(self.options, self.question)

    @cached_property
    def question(self) -> str:
        """The question's text."""
        return same_alphabet(self._question)

    @cached_property
    def names(self) -> str:
        """Question and options as one text."""
        return "\n".join([self.question, *self.options.values()])

    @cached_property
    def all_of_them(self) -> str | None:
        """The letter of the option that says that the others all hold, if there is one."""
        return next((letter for letter, text in self.options.items() if _ALL.match(text)), None)

    @cached_property
    def negative(self) -> bool:
        """Whether the end of the question asks for the option that does not hold."""
        return NEGATIVE.search(self.question, max(0, len(self.question.rstrip()) - 40)) is not None


class Reader:
    """Reads replies by a table of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._grammar = Grammar(rules)

    def read(self, text: str, asked: Asked, *, complete: bool) -> Pick:
        """What the text, without thoughts, chooses; the first stretch that chooses counts.

        `complete` is false for a reply that ran out of tokens: only what it states counts then.
        """
        start = 0
        for cut in _CUT.finditer(text):
            pick = self._stretch(text[start : cut.start()], asked, complete=True)
            if pick.letters and set(pick.letters) <= set(LETTERS):
                return pick._replace(start=pick.start + start, end=pick.end + start)
            start = cut.end()
        pick = self._stretch(text[start:], asked, complete=complete)
        return pick._replace(start=pick.start + start, end=pick.end + start)

    def _stretch(self, text: str, asked: Asked, *, complete: bool) -> Pick:
        if not text.strip():
            return NOTHING
        letters = find_letters(text, asked.options, asked.names)
        pick = self._weigh(text, letters, asked, complete=complete)
        if pick.letters or not asked.options:
            return pick
        texts = asked.texts.find(text, letters)
        if len(texts) > len(letters):
            told = self._weigh(text, texts, asked, complete=complete)
            if len(told.letters) != 1 and complete and not asked.negative:
                echo = answers_question(text, texts, asked.question)
                if echo:
                    return Pick(echo.letters, "answers-question", *echo.core)
            if told.letters:
                return told._replace(rule=f"text:{told.rule}" if told.rule else "")
        elif complete and not letters:
            meant = near(text, asked.texts)
            if meant:
                return Pick(meant[0], "near", meant[1], meant[2])
        return pick

    def _weigh(self, text: str, mentions: list[Mention], asked: Asked, *, complete: bool) -> Pick:
        if not mentions:
            return NOTHING
        form = shape(text, mentions)
        whole = self._grammar.whole(form)
        if whole:
            letters = "".join(sorted({letter for mention in mentions for letter in mention.letters}))
            return Pick(letters, whole, *mentions[0].core)
        echoed = listed(mentions)
        events = self._grammar.events(form, mentions, echoed, negative=asked.negative)
        pick = odds(text, mentions) if len(mentions) > 2 else NOTHING
        if pick.letters:
            return pick
        pick = last_standing(form, events, mentions)
        if pick.letters:
            against = verdict(events, mentions, negative=asked.negative, names=self._grammar.names)
            if len(pick.letters) == len(against.letters) == 1 and contradicts(pick, against, events, asked.negative):
                return Pick("".join(sorted(pick.letters + against.letters)), pick.rule, pick.start, pick.end)
            return pick
        pick = verdict(events, mentions, negative=asked.negative, names=self._grammar.names)
        if len(pick.letters) == 3 and not asked.negative and pick.rule != "elimination":
            every = asked.all_of_them
            if every and every not in pick.letters:
                return pick._replace(letters=every, rule="all-of-them")
        if pick.letters:
            return pick
        named = {letter for mention in mentions for letter in mention.letters}
        denied = {letter for event in events for letter in event.letters}
        open_ = named - denied
        if complete and len(open_) == 1 and not denied and self._is_alone(text, mentions, asked):
            return Pick(mentions[0].letters[0], "single", *mentions[0].core)
        if len(open_) > 1 and not echoed:
            return Pick("".join(sorted(open_)))
        return NOTHING


    @staticmethod
    def _is_alone(text: str, mentions: Sequence[Mention], asked: Asked) -> bool:
        """Whether the only option named can be meant: a bare number or letter only at the end of a reply."""
        mention = mentions[-1]
        if mention.told and mention.core == (mention.start, mention.end):
            option = asked.texts.dense.get(mention.letters, "")
            return not is_weak(option) or len(text) < 40 or len(text.rstrip()) - mention.end < 6
        return _ASKING.match(text, mention.end) is None


@cache
def default_reader() -> Reader:
    """The reader of all rules, built on first use."""
    return Reader(RULES)
