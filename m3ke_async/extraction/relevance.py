"""Whether what a reply says beside an option's text answers the question, or speaks of something else."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from m3ke_async.extraction.hedges import clause_before, is_meant_otherwise
from m3ke_async.extraction.lazy import lazy
from m3ke_async.extraction.patterns import Pattern, Words
from m3ke_async.extraction.polarity import Asks
from m3ke_async.extraction.texts import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3ke_async.extraction.asked import Asked
    from m3ke_async.extraction.mentions import Mention

#: The verbs on which a question ends, as does what a reply says before its answer.
_VERBS = frozenset("是为有指即应该叫称作等于的在")
#: Words that say nothing of what a sentence is about.
EMPTY = _VERBS | frozenset(
    words(
        "the a an of is are was were be to in on at by for with from as and or that this it which what who"
        " whom following does do did one can how many much have has had"
    )
)
#: The words of a question that stand where its answer will.
_ASKING = Pattern(r"(?:下列|以下)(?:各[组项]中?)?|哪一?[位个种项些]?|什么|何者|多少|[(（]\s{0,4}[)）]")
_SENTENCE_END = Pattern(r"[。！；;!\n]|[.?？]\s")
_BLANKS = " ?？:：()（）_.。,，\n\u3000"
_BLANK = Pattern(r"_{2,}|[（(]\s{0,4}[)）]")
#: How many characters before its place a reply repeats that gives the answer there.
_LEAD = 6
#: The least words that are a question of their own.
_QUESTION = 4
#: The most words of a question's last sentence that are compared one by one.
_COMPARED = 200
#: The longest part that is exchanged for another one; what is longer says the same in other words.
_EXCHANGED = 8
#: How many words in a row make a repetition of the question.
_RUN = 4
#: The share of the question's words that makes a sentence about it.
_HALF = 0.5
#: The longest reply that is taken for a bare text, and the most characters in it that are not the question's.
_SHORT, _FEW = 40, 4

_CLAUSE = Pattern(r"[^。！!？?\n；;，,.]{1,40}")
_CLAUSES = Pattern(r"[^。！!？?\n；;]{1,60}")
_CLAUSE_BEFORE = Pattern(r"[^。！!？?\n；;，,.]{1,40}\Z")
#: Beside an option's text: it is one of several things.
_LISTED_BEFORE = Pattern(r"(?:、|(?<=[^\W共总])[和与及或](?!平|谐|解))[^\W是为在有不的]{0,2}\s?\Z")
_LISTED_AFTER = Pattern(r"\s?(?:[^\W是为在有不的]{0,3}、|[^\W是为在有不的]{0,2}[和与及或]|以及|and\b|or\b)")
_SENTENCE_BEFORE = Pattern(r"[^。！!？?\n；;.]{1,80}\Z")
_SENTENCE_AFTER = Pattern(r"[^。！!？?\n；;.]{0,80}[吗？?]?")
_REST = Pattern(r"的|[^\W一二三四五六七八九十等市省县区国了吧呢啊哦呀可]{2}|\w[^。！!？?\n；;.，,(（)）]{3}")
#: Before and after an option's text: where, or what, something else is beside it.
_BESIDE = Pattern(
    r"\b((?:north|south|east|west)[a-z]{0,5}|outside|near(?:er|est)?|far|away|close|next|than|beyond|across|opposite)"
    r"(?:\s(?:of|from|to))?\s(?:the\s)?\Z|([远距]?离|距|[靠邻临接]近|毗邻)\Z"
)
_SIDE = Pattern(r"(?:[以之]|的?[东西南北]?)([东西南北])(?:(?<=[以之].)|[边面方侧])")
_COMMA = Pattern(r"[，,]")
#: A place after the first.
_NEXT = frozenset(("第", rank) for rank in "二三四") | {("second", "most"), ("third", "most")}
_NEXT |= {
    (rank, size) for rank in ("second", "third") for size in ("largest", "longest", "highest", "biggest")
}
#: What a sentence speaks of, by its name; laws are only cited.
_NAMED = Pattern(r"《[^《》\n]{1,30}(?<![法例定释典])》|“[^“”\n]{1,30}”|\"[^\"\n]{1,30}\"")
_QUOTES = "”\"'》」』’ "
_TITLE = Pattern(r"《[^《》]{1,20}》")
_IN_BRACKETS = Pattern(r"[(（][^()（）]{0,40}[)）]?")
_POINTS = Pattern(r"\s?(?:这|本|该|此|答|应|故|所以|因此|(?i:this|the (?:answer|correct)))")
#: Before what others hold, and after what is granted or asked.
_WHO = "(?:学者|专家|观点|资料|教材|书|说法|意见)"
_ATTRIBUTED = Words(
    rf"很多人|不少人|许多人|普通人|人们(?![把将称叫所])|常被|误[为认]|以为|有(?:些?人|[的些]?{_WHO})|一(?:些{_WHO}|种(?:观点|说法|意见|看法))"
    rf"|部分{_WHO}|个别{_WHO}",
    r"people|mistak|misconcept|\bsome (?:scholars|experts|argue|say)",
)
_TURNS = Pattern(r"[，,]\s?(?:但|不过|然而|而不?是|却|(?i:but\b|however|not\b))|吗?[？?]|吗")
DENIES = Pattern(
    r"(?:不(?!仅|但|只|容|断|同|管|论|得不|愧|可[分或避缺]|言而喻)|非(?!常)|没(?!错)|无(?!疑|论|数|一例外)|未(?!来)).?"
    r"|\b(?:not|never)\b|n't\b"
)
#: The beginning of a clause that sets another answer beside the one before it.
_ALSO = Pattern(r"\s?(?:[也还亦又]|或者|同时|此外|also\b)")
#: What a word may add to the question's without asking another one.
_NEUTRAL = frozenset(
    "主要一般通常常见重基本根著名最很非我国们这首该此其它那句个种类使让令被把将会能可由与和以而且并"
)
#: A sentence with one of these says something of the option.
_PREDICATES = frozenset("是为在于有由不非没未") | {"is", "are", "was", "were", "not", "has"}


class Stem:
    """What a question asks in its last sentence.

    Attributes:
        text: the whole question in small letters.
    """

    def __init__(self, question: str) -> None:
        self.text = question.lower().rstrip(_BLANKS)

    @lazy
    def _sentence(self) -> str:
        return _last_sentence(_ASKING.sub("", self.text))

    @lazy
    def words(self) -> list[str]:
        """The words of its last sentence, without those that ask."""
        return words(self._sentence)

    @lazy
    def clause(self) -> list[str]:
        """The words of its last clause."""
        return words(_COMMA.split(self._sentence)[-1])

    @lazy
    def content(self) -> frozenset[str]:
        """Those of its words that say what it is about."""
        return frozenset(self.words) - EMPTY

    @lazy
    def is_of_first(self) -> bool:
        """Whether it asks for the first of a rank."""
        return "最" in self.text or any(word == "most" or word.endswith("est") for word in self.words)

    @lazy
    def runs(self) -> frozenset[tuple[str, ...]]:
        """All words in a row that make a repetition of it."""
        return frozenset(tuple(self.words[at : at + _RUN]) for at in range(len(self.words) - _RUN + 1))

    @lazy
    def lead(self) -> str:
        """The last characters before the place of the answer, without their verb."""
        before = _BLANK.split(self.text)[-2] if _BLANK.search(self.text) else self.text
        return before.rstrip(_BLANKS).rstrip("".join(_VERBS - {"的"})).replace(" ", "")[-_LEAD:]

    def ends_on(self, said: str) -> bool:
        """Whether the question ends on this, but for the words that ask."""
        return self.text.endswith(said) or _ASKING.sub("", self.text).rstrip(_BLANKS).endswith(said)

    @lazy
    def names(self) -> frozenset[str]:
        """The names of works and sayings in the question."""
        return _names(self.text)

    @lazy
    def end(self) -> list[str]:
        """Its last words before the verb on which it ends."""
        return _open_end(self.words)

    def is_taken_up(self, said: str) -> bool:
        """Whether this ends on the question's last two words that say what it is about."""
        last = [word for word in self.words if word not in EMPTY][-2:]
        return bool(last) and [word for word in words(said) if word not in EMPTY][-2:] == last

    def share(self, said: Sequence[str]) -> float:
        """How much of what it is about the words hold."""
        return len(self.content.intersection(said)) / len(self.content) if self.content else 0.0


def _names(text: str) -> frozenset[str]:
    return frozenset(_NAMED.findall(text))


def names_else(text: str, mention: Mention, stem: Stem) -> bool:
    """Whether the clause of a mention is about another work or saying than the question names."""
    if not stem.names:
        return False
    before = _SENTENCE_BEFORE.search(text, max(0, mention.start - 80), mention.start)
    after = _CLAUSE.match(text, mention.end)
    said = (before[0] if before else "").lower() + "\n" + (after[0] if after else "").lower()
    alike = {name for name in _names(said) if name[0] in {own[0] for own in stem.names}}
    return bool(alike) and not _POINTS.match(said) and not any(name[1:-1] in said for name in stem.names)


def _last_sentence(question: str) -> str:
    cuts = [cut.end() for cut in _SENTENCE_END.finditer(question)]
    start = next((cut for cut in reversed(cuts) if len(words(question[cut:])) >= _QUESTION), 0)
    return question[start:]


class _Claim(NamedTuple):
    mention: Mention
    strength: int
    beside: bool


def answers_question(text: str, mentions: Sequence[Mention], stem: Stem) -> Mention | None:
    """The only mention whose clause says the question's own words, as an answer in a whole sentence does."""
    if not stem.runs:
        return None
    best: dict[str, _Claim] = {}
    for index, mention in enumerate(mentions):
        until = mentions[index + 1].start if index + 1 < len(mentions) else len(text)
        claim = None if is_listed(text, mention) else _claim(text, mention, until, stem)
        known = best.get(mention.letters)
        if claim is not None and (known is None or claim.strength > known.strength):
            best[mention.letters] = claim
    if any(claim.beside for claim in best.values()) and len(best) > 1:
        return None
    most = max((claim.strength for claim in best.values()), default=0)
    meant = [claim.mention for claim in best.values() if claim.strength == most]
    return meant[0] if len(meant) == 1 and len(meant[0].letters) == 1 else None


def _claim(text: str, mention: Mention, until: int, stem: Stem) -> _Claim | None:
    """How strongly what stands around a mention, up to the next one, says the question's words."""
    before = _CLAUSE_BEFORE.search(text, max(0, mention.start - 40), mention.start)
    after = _CLAUSES.match(text, mention.end, until)
    left, right = (before[0].lower() if before else ""), (after[0].lower() if after else "")
    if (
        after
        and after.end() == until < len(text)
        and (comma := max(right.rfind("，"), right.rfind(", "))) >= 0
    ):
        right = right[:comma]  # the last clause belongs to the next mention
    parts = _COMMA.split(right)
    repeated = next((part for part in parts if _repeats(words(part), stem.runs)), None)
    if denies(left, stem.text) or denies(repeated or parts[0], stem.text):
        return None
    if is_beside(text, mention, stem):
        return None
    said_before = clause_before(text, mention.start, 2 * _SHORT).lower()
    if is_attributed(said_before) or is_meant_otherwise(text, mention.start):
        return None
    if _is_turned(text[mention.end : min(until, mention.end + 1 + len(right)) + 3], stem):
        return None
    said = words(left), words(right)
    if asks_else(said[0], stem) or asks_else(said[1], stem):
        return None
    shared = _weight(stem.content.intersection(said[0] + said[1]))
    if (
        shared >= max(_RUN, _HALF * _weight(stem.content))
        or _repeats(said[0][-_RUN - 1 :], stem.runs)
        or repeated
        or (left and _open_end(said[0]) == stem.end)
        or (left.rstrip()[-1:] in {":", "："} and len(said[0]) > 1 and stem.end[-len(said[0]) :] == said[0])
    ):
        return _Claim(mention, shared, _ALSO.match(left) is not None)
    return None


def _is_turned(said: str, stem: Stem) -> bool:
    """Whether what is said goes on against it: with a turn, or with the question's words after a denial."""
    turn = _TURNS.search(said)
    if turn is None or "不是" not in turn[0]:
        return turn is not None
    return not stem.content.isdisjoint(words(said[turn.end() : turn.end() + 16]))


def _weight(said: Iterable[str]) -> int:
    """How much words say: a Latin one as much as two characters."""
    return sum(2 if len(word) > 2 and word.isascii() else 1 for word in said)


def _open_end(said: Sequence[str]) -> list[str]:
    """The last words before the option, without their verb."""
    end = len(said)
    while end and said[end - 1] in _VERBS:
        end -= 1
    return list(said[max(0, end - 3) : end])


def _repeats(said: Sequence[str], runs: frozenset[tuple[str, ...]]) -> bool:
    """Whether the words hold one of the runs."""
    return any(tuple(said[place : place + _RUN]) in runs for place in range(len(said) - _RUN + 1))


def asks_else(said: Sequence[str], stem: Stem) -> bool:
    """Whether the words are the question's but for one part that another one stands for.

    最大的咸水湖 answers another question than 最大的淡水湖 does, and so do 最大的内脏器官 than 最大的器官
    and 第二大的 than 最大的.
    """
    if stem.is_of_first and any(pair in _NEXT for pair in pairwise(("", *said))):
        return True
    if len(stem.words) > _COMPARED or stem.share(said) < _HALF:
        return False
    from difflib import SequenceMatcher

    steps = SequenceMatcher(None, stem.words, list(said), autojunk=False).get_opcodes()
    for before, step, after in zip(steps, steps[1:], steps[2:], strict=False):
        if before[0] == after[0] == "equal" and step[0] in {"replace", "insert"}:
            shared = (said[block[3] : block[4]] for block in (before, after))
            other = [word for word in _telling(said[step[3] : step[4]]) if not _inflects(word, stem.words)]
            narrowed = step[0] == "insert" and len(other) <= 2 and stem.words[step[1] - 1] in {"的", "最"}
            if (
                0 < len(other) <= _EXCHANGED
                and all(map(_telling, shared))
                and (_telling(stem.words[step[1] : step[2]]) or narrowed)
            ):
                return True
    return False


def _inflects(word: str, known: Sequence[str]) -> bool:
    """Whether it is one of the known Latin words in another form: mix for mixing."""
    return len(word) > 2 and any(
        own.startswith(word) or word.startswith(own) for own in known if len(own) > 2
    )


def is_bare(text: str, mention: Mention, asked: Asked) -> bool:
    """Whether a reply is a lone option's text and hardly another word, none of them a verb.

    The question's own words count as none, unless they say of the option what the question denies.
    """
    if len(text) > _SHORT:
        return False
    around = text[: mention.start] + " " + _TITLE.sub("", _IN_BRACKETS.sub("", text[mention.end :]))
    said = words(around)
    known = asked.stem.content | EMPTY if asked.asks is Asks.RIGHT else EMPTY
    other = sum(len(word) for word in said if word not in known)
    return other <= _FEW and _PREDICATES.isdisjoint(said)


def _telling(said: Sequence[str]) -> list[str]:
    """The words that tell one question from another."""
    return [word for word in said if word not in EMPTY and word not in _NEUTRAL]


def speaks_of(text: str, mention: Mention, stem: Stem) -> bool:
    """Whether the sentence around a lone option is about the question, and means the option."""
    found = _SENTENCE_BEFORE.search(text, max(0, mention.start - 80), mention.start)
    before = found[0].lower() if found else ""
    rest = _SENTENCE_AFTER.match(text, mention.end)
    after = rest[0].lower().lstrip(_QUOTES) if rest else ""
    if _ATTRIBUTED.search(before) or _is_turned(after, stem):
        return False
    said = words(before), words(after)
    clause = before[max(before.rfind("，"), before.rfind(",")) + 1 :]
    around = words(clause) + words(_COMMA.split(after)[0])
    if any(asks_else(part, stem) for part in (*said, around)):
        return False
    if _REST.match(after) is None or _POINTS.match(clause) or _POINTS.match(before):
        return True
    return stem.share(said[0] + said[1]) >= _HALF


def is_beside(text: str, mention: Mention, stem: Stem) -> bool:
    """Whether something else is said to be near the option, or more than it."""
    before = text[max(0, mention.start - 24) : mention.start].lower()
    found = _BESIDE.search(before) or _SIDE.match(text, mention.end)
    return found is not None and found[found.lastindex or 0] not in stem.text


def is_listed(text: str, mention: Mention) -> bool:
    """Whether it is one of several things named in a row."""
    before = _LISTED_BEFORE.search(text, max(0, mention.start - 5), mention.start)
    return before is not None or _LISTED_AFTER.match(text, mention.end) is not None


def is_attributed(said: str) -> bool:
    """Whether this is what others hold."""
    return _ATTRIBUTED.search(said) is not None


def denies(said: str, known: str) -> bool:
    """Whether something is denied in other words than those that are known."""
    return any(found not in known for found in DENIES.findall(said))
