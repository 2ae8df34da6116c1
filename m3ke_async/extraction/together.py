"""What a reply says of several options at once: all that one sentence denies, all that one list names."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.events import Event
from m3ke_async.extraction.noise import LETTERS
from m3ke_async.extraction.patterns import Pattern
from m3ke_async.extraction.polarity import NOT
from m3ke_async.extraction.rules import FAILS, FALSE, REJECT
from m3ke_async.extraction.texts import words

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from m3ke_async.extraction.asked import Asked
    from m3ke_async.extraction.mentions import Mention, Shape

#: The rules of the table that stand for the two.
OF_ALL, LEFT_OUT = "of-all", "left-out"
#: What is said of all: that they are wrong, are not what is asked for, or are of some kind.
_OF_ALL = Pattern(
    r"[都均皆全](?<!不都)(?!部)(?:(?P<false>是?错(?:误)?的?|不(?:正确|对|准确|恰当|合适|成立|妥)|有误)"
    r"|(?:[不没未非无并](?!同|止|仅|少|错|误|一样|可分)|并非))"
    r"|剩[下余]的?(?:[那一]?[个项]|选项)?[就才便即]?(?:是|为)(?P<left>[^。\n]{0,4}(?:答案|正确|符合))"
    r"|\b(?:none of (?:them|these|the three)|neither)\b"
)
#: Before it: all three that were named, in sentences before as well.
_THE_THREE = Pattern(r"(?:[这那以上述前此]{0,2}三(?:者|[个项种条]|位)|它们|[他她]们|这些)[^。\n，,]{0,6}\Z")
_SENTENCE_END = "。!！?？\n"
_SENTENCE_AFTER = Pattern(r"(?:[，,]\s?(?=[它他这三以都均皆]))?[^。！!？?\n；;，,]{0,60}")
_CLAUSE_BEFORE = Pattern(r"[^。！!？?\n；;]{1,40}\Z")
#: All that stands between two options of one list: other members, remarks in brackets, numbers.
_JOINS = Pattern(
    r"(?:\s?[(（][^()（）\n]{0,16}[)）])?\s?(?:[、，,；;/]|以?及|[和与或]|\band\b|\bor\b)"
    r"(?:[^。！!？?\n；;：:是为不没非未无而却但]{0,20}[、，,和与及])?"
    r"\s?(?:第?[一二三四五其次再][是为、，,：:]?)?[\s“《\"]{0,2}(?:and |or )?"
)
#: After an option that a comma joins to a list; else it begins a sentence of its own.
_ENDS = Pattern(r"\s?(?:[，,、。；;.!！（(\n]|[和与及等都均皆]|\Z)")
_DENIES = Pattern(r"[不没未非无](?!论|产)|除|\bnot\b|n['’]t\b|except|neither")
#: Before or after a list: what it names is of the question's kind.
_NAMED = Pattern(
    r"(?:包括|包含|含有|具有|有|分为|分成|即|是|为|如|应当?|应该|做到|可以?在|由|[:：]|\b(?:are|include|includes|including))"
    r"[了着：:\s“《\"]{0,3}\Z"
)
#: Before or after a list: it is told for what it leaves out.
_ALL_BEFORE = Pattern(r"(?:包括|包含|分为|分成|\binclud(?:e|es|ing))[了着：:\s“《\"]{0,3}\Z")
_ALL = Pattern(
    r"[，,]?[^，,]{0,12}[都均皆全](?:是|属|为|对|正确|能|可|有|在|符合|具|算|成立)"
    r"|.{0,16}\b(?:are|is|were) all\b"
)
#: The reply says that no option, or none alone, is the answer.
_NO_ANSWER = Pattern(r"四[个项]|无法|没有正确|都不|none of")
_ALSO = Pattern(r"[也还亦又]|同样|此外|\balso\b|as well")
#: All that stands above holds, or none of it does; before it, and after it, what takes that back.
_ALL_ABOVE = Pattern(
    r"(?:(?:以上|上述|前面|[这那][三四些]个?|[三四][个项者种]|所有|全部)"
    r"(?:的|选项|说法|答案|表述|描述|观点|情况|内容|陈述|各?项|说的|[三四]?[项者个点]){0,3}"
    r"[^。，,；;\n不非没未无]{0,3}[都均皆全]部?(?:(?P<none>不(?:对|正确|成立|符合|是)|是?错误?的?)"
    r"|(?:是|为|可以|能)?(?:对|正确|成立|符合|合理|适[合用]|包括|属于|是|可以))的?"
    r"|\b(?:all|(?P<not>none))(?: of)?(?: the)? (?:above|these|three|four|them)"
    r"(?: (?:options|statements|choices|answers))?(?: (?:are|is) (?:correct|true|right))?)"
    r"(?=[”\"]?\s?(?:[。.，,；;:：!！?？吗）)\n]|\Z))"
)
_TAKES_BACK = Pattern(r"(?:不|未必|并非|是否|如果|难道|若|\bnot|n['’]t)[^，,。\n]{0,4}\Z")
_ASKS = Pattern(r"[”\"]?\s?(?:[吗?？]|不成立)")
_HALF = 0.5
#: The most sentences that are read so, and how far before such words the first option may stand.
_MOST, _BACK = 32, 240


def of_all(
    shape: Shape, mentions: Sequence[Mention], known: Container[int], asked: Asked
) -> dict[int, Event]:
    """By a mention's index, what its sentence says of all that it names; those in `known` are left out."""
    found: dict[int, Event] = {}
    form = shape.text
    for said in islice(_OF_ALL.finditer(form), _MOST):
        place = said.start()
        start = max(form.rfind(end, max(0, place - _BACK), place) for end in _SENTENCE_END) + 1
        own = range(bisect_left(shape.places, start), bisect_left(shape.places, place))
        if not own and _THE_THREE.search(form, start, place):
            own = range(own.start)
        named = {letter for index in own for letter in mentions[index].letters}
        says = REJECT if said["left"] else FALSE if said["false"] else FAILS
        if not 1 < len(named) < len(LETTERS):
            continue
        for index in own:
            if index not in known and index not in found:
                at = shape.places[index]
                found[index] = Event(at, mentions[index].letters, says, OF_ALL, mentions[index])
    return found


class OfAll(NamedTuple):
    """That all holds, or that nothing does, and where the reply says so."""

    holds: bool
    start: int
    end: int


def says_of_all(text: str) -> OfAll | None:
    """What the reply says at last of all that stands above."""
    low = text.lower()
    found = next(reversed(list(islice(_ALL_ABOVE.finditer(low), _MOST))), None)
    if found is None or _TAKES_BACK.search(low, max(0, found.start() - 8), found.start()):
        return None
    return (
        None if _ASKS.match(low, found.end()) else OfAll(not (found["none"] or found["not"]), *found.span())
    )


def left_out(text: str, mentions: Sequence[Mention], asked: Asked) -> tuple[str, Mention] | None:
    """The option that a list of what the question's answer is not leaves out, and the last of the list."""
    if _NO_ANSWER.search(text):
        return None
    told = {letter for mention in mentions for letter in mention.letters}
    added = {letter for mention in mentions if _is_added(text, mention) for letter in mention.letters}
    for row in _rows(text, mentions):
        missing = set(LETTERS).difference(*(mention.letters for mention in row))
        if len(missing) == 1 and not missing & added and _excludes(text, row, asked, told=missing <= told):
            return missing.pop(), row[-1]
    return None


def _excludes(text: str, row: Sequence[Mention], asked: Asked, *, told: bool) -> bool:
    """Whether a list is of the kind that the question excludes, and told for the option that it leaves out.

    `told` says that this option is named as well, outside the list.
    """
    before = _CLAUSE_BEFORE.search(text, max(0, row[0].start - 40), row[0].start)
    after = _SENTENCE_AFTER.match(text, row[-1].end)
    lead, rest = (before[0].lower() if before else ""), (after[0].lower() if after else "")
    if _DENIES.search(lead) or _DENIES.search(rest):
        return False
    if _ALL.match(rest) or _ALL_BEFORE.search(lead):
        return True
    about = asked.stem.share(words(lead + rest)) >= _HALF
    return (about and asked.asks is NOT) or (told and (about or _NAMED.search(lead) is not None))


def _rows(text: str, mentions: Sequence[Mention]) -> list[list[Mention]]:
    """The mentions, those of one list together."""
    rows: list[list[Mention]] = []
    for mention in mentions:
        joint = _JOINS.fullmatch(text, rows[-1][-1].end, mention.start) if rows else None
        if joint and (joint[0][:1] not in {"，", ","} or _ENDS.match(text, mention.end)):
            rows[-1].append(mention)
        else:
            rows.append([mention])
    return rows


def _is_added(text: str, mention: Mention) -> bool:
    """Whether the options are named as more of the kind."""
    before = _ALSO.search(text, max(0, mention.start - 6), mention.start)
    return before is not None or _ALSO.match(text, mention.end) is not None
