"""What is known of the question that a reply answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from m3ke_async.extraction.lazy import lazy
from m3ke_async.extraction.normalise import is_plain, legible, same_alphabet
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.polarity import NOT, RIGHT, Asks, asks, denied_kind, denied_verb, denies
from m3ke_async.extraction.relevance import Stem
from m3ke_async.extraction.rules import FAILS, HOLDS, REJECT, TRUE, Says
from m3ke_async.extraction.texts import OptionTexts

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALL = Pattern(
    r"(?:以上|上述|前三[项者个])?(?:选项|各项|三[项者])?"
    r"(?:全部|全|都|均|皆|三[项者])+(?:是|对|正确|属于|包括|可以?|有)*[。.]?\Z|全部"
    r"|all (?:of )?the above|all of (?:these|them)|ABC",
    re.IGNORECASE,
)


_NONE = Pattern(
    r"(?:以上|上述|前三[项者个])?(?:选项|各项|说法|三[项者])?[都均皆](?:不|非|没|错)|none of|neither of",
    re.IGNORECASE,
)
_STANDING = Pattern(r"(?<![A-Za-z0-9_])[A-D](?![A-Za-z0-9_])")
#: An option that joins single letters, in at most so many characters, and the words that may join them.
_NAMES = Pattern(r"[A-Z](?<![A-Za-z0-9_].)\s?[和与及]\s?[A-Z](?![A-Za-z0-9_])")
_SHORT = 12
_AND_ANY = "[和与及、]"
_AND = Pattern(_AND_ANY)
#: What the question makes a name by a letter before it: 抗原 of A抗原.
_NAMED_AFTER = Pattern(r"(?<![A-Za-z0-9_])[A-D]([\u4e00-\u9fff]{2})")

#: What is read of a longer question, its first and its last characters, and of an option.
_HEAD, _TAIL, _OPTION = 500, 1_500, 1_000


class Asked:
    """What is known of the question, in one alphabet and without markup."""

    def __init__(self, question: str | None, options: Mapping[str, str] | None) -> None:
        self._question = question or ""
        if len(self._question) > _HEAD + _TAIL:
            self._question = self._question[:_HEAD] + "\n" + self._question[-_TAIL:]
        self._options = options or {}

    @property
    def has_options(self) -> bool:
        """Whether the options' texts are known."""
        return bool(self._options)

    @lazy
    def options(self) -> dict[str, str]:
        """The options' texts by letter."""
        if is_plain("\n".join(self._options.values())):
            return {letter: text[:_OPTION].strip() for letter, text in self._options.items()}
        return {letter: legible(text[:_OPTION]).strip() for letter, text in self._options.items()}

    @lazy
    def texts(self) -> OptionTexts:
        """The options' texts, ready to be found."""
        return OptionTexts(self.options, self.question)

    @lazy
    def question(self) -> str:
        """The question's text."""
        return same_alphabet(self._question)

    @lazy
    def stem(self) -> Stem:
        """What the question asks, ready to be found again in a reply."""
        return Stem(self.question)

    @lazy
    def names(self) -> str:
        """Question and options as one text."""
        return "\n".join([self.question, *self.options.values()])

    @lazy
    def texts_with_letters(self) -> re.Pattern[str] | None:
        """Options that hold a letter as a name of their own, as H与D does; None where none does."""
        if not _NAMES.search("\n".join(self.options.values())):
            return None
        own = [text for text in self.options.values() if 2 < len(text) <= _SHORT and _NAMES.search(text)]
        return re.compile("|".join(_AND.sub(f"{_AND_ANY}", re.escape(text)) for text in own)) if own else None

    @lazy
    def own_letters(self) -> frozenset[str]:
        """The letters that the question itself uses as names."""
        return frozenset(_STANDING.findall(self.question))

    @lazy
    def named_after(self) -> frozenset[str]:
        """The words that the question makes names by a letter before them, which another letter may take."""
        return frozenset(_NAMED_AFTER.findall(self.names))

    @lazy
    def all_of_them(self) -> str | None:
        """The letter of the option that says that the others all hold, if there is one."""
        return next((letter for letter, text in self.options.items() if _ALL.match(text)), None)

    @lazy
    def none_of_them(self) -> str | None:
        """The letter of the option that says that none of the others holds, if there is one."""
        return next((letter for letter, text in self.options.items() if _NONE.match(text)), None)

    @lazy
    def asks(self) -> Asks:
        """What the question asks for."""
        return asks(self.question)

    @lazy
    def denied(self) -> str:
        """The words that a question for what is not of a kind denies, empty for other questions."""
        return denied_verb(self.question) if self.asks is NOT else ""

    @lazy
    def denied_kind(self) -> str:
        """The kind of which such a question's answer is not, empty where none is named."""
        return denied_kind(self.question) if self.asks is NOT else ""

    def repeats_denial(self, said: str) -> bool:
        """Whether this is the denial that a question for what is not of a kind ends on, before its answer."""
        return self.asks is NOT and self.stem.ends_on(said.strip())

    def says_before(self, said: str) -> bool:
        """Whether the last word before a number is one of the question's, as in 输出12, or its very last."""
        if re.search(r"[\u4e00-\u9fff]{2}\Z", said) is None:
            return False
        return said[-2:] in self.question or self.stem.text.endswith(said[-1])

    def lacks_denial(self, said: str) -> bool:
        """Whether this repeats such a question without its denial, so that what follows is of the kind."""
        if self.asks is not NOT or not self.denied_kind:
            return False
        return self.denied_kind in said and not denies(said)

    def begins(self, letter: str, said: str) -> bool:
        """Whether this, in small letters, is the beginning of the option's text, which breaks off."""
        begun = said.strip(" .．、:：)）\n")
        own = self.options.get(letter, "").lower()
        return bool(begun) and begun != own and own.startswith(begun)

    def fits(self, says: Says) -> bool | None:
        """Whether an option of which this is said answers the question; None where it may or may not."""
        if says is REJECT:
            return False
        if self.asks is NOT:
            return True if says is FAILS else False if says is HOLDS else None
        return (says in (TRUE, HOLDS)) == (self.asks is RIGHT)
