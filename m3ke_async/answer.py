"""One line of answers.jsonl: a question, its reply, and what was read from it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import orjson

from m3ke_async.errors import DataError
from m3ke_async.request import Outcome, Usage
from m3ke_async.suite import LETTERS, Split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_OTHER_FORM = "not a line that this version writes"
_NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of answers.jsonl: a question, its reply, and what was read from it.

    Attributes:
        task: name of the task.
        split: where the question is from.
        id: the question's id, unique inside its task and split.
        rotation: by how many places the options were moved; None where the run does not rotate them.
        sample: number of the ask from 0; None where the run asks each question once.
        request: hex of the request's key.
        outcome: what became of the question.
        choice: the letter that the question itself has it under, where the outcome is answered.
        rule: name of the rule that found the choice.
        span: where the choice stands in `reply`, in characters, end excluded.
        key: the right letter where it is known.
        reply: what the model wrote; None where there is no reply.
        reasoning: thoughts that came in a field of their own.
        finish_reason: the provider's word for why the reply ended.
        usage: tokens of the reply.
        latency: seconds of the attempt that succeeded; None where none did.
        attempts: how many times the request was sent.
        failure: why there is no reply, in one line.
        letters: probabilities of A to D where the answer begins; None where they were not asked for.
    """

    task: str
    split: Split
    id: int | str
    request: str
    outcome: Outcome
    choice: str | None = None
    rule: str | None = None
    span: tuple[int, int] | None = None
    key: str | None = None
    reply: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: Usage = _NO_USAGE
    latency: float | None = None
    attempts: int = 1
    failure: str | None = None
    rotation: int | None = None
    sample: int | None = None
    letters: tuple[float, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """The answer as one JSON object; fields of some runs are there in those alone."""
        value = dict(zip(_ANSWER_FIELDS, _values(self), strict=True))
        value |= {name: given for name in _SOMETIMES if (given := getattr(self, name)) is not None}
        if self.letters is not None:
            value["letters"] = dict(zip(LETTERS, self.letters, strict=True))
        usage = value["usage"] = dict(zip(_TOKENS, _tokens(self.usage), strict=True))
        if self.usage.cost is not None:
            usage["cost"] = self.usage.cost
        return value

    @classmethod
    def from_json(cls, value: Any, *, file: str | Path | None = None, line: int | None = None) -> Self:
        """The answer that `to_json` wrote.

        Raises:
            DataError: where a field is missing, unknown or of the wrong kind; it names file, line and field.
        """
        if not isinstance(value, dict) or value.keys() - _SOMETIMES.keys() != _ANSWER_FIELDS.keys():
            raise DataError(_OTHER_FORM, file=file, line=line)
        for name, fits in (_ANSWER_FIELDS | _SOMETIMES).items():
            if not fits(value.get(name)):
                raise DataError(_OTHER_FORM, file=file, line=line, field=name)
        if (value["outcome"] == Outcome.ANSWERED) != (value["choice"] is not None):
            raise DataError("a choice and the outcome 'answered' go together", file=file, line=line)
        span, letters = value["span"], value.get("letters")
        return cls(
            **value
            | {
                "split": Split(value["split"]),
                "outcome": Outcome(value["outcome"]),
                "letters": None if letters is None else tuple(letters.values()),
                "span": None if span is None else tuple(span),
                "usage": Usage(**value["usage"]),
            }
        )


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _letter_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and len(value) == 1 and value in LETTERS)


def _letters_or_none(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict)
        and "".join(value) == LETTERS
        and all(type(share) in (int, float) and 0 <= share <= 1 for share in value.values())
    )


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole_or_none(value: Any) -> bool:
    return value is None or (_whole(value) and value >= 0)


def _amount_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, float | int) and value >= 0)


def _is_span(value: Any) -> bool:
    return value is None or (
        isinstance(value, list | tuple) and len(value) == 2 and all(_whole(end) for end in value)
    )


def _is_usage(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() - {"cost"} == _TOKENS.keys()
        and all(_whole_or_none(value[name]) for name in _TOKENS)
        and _amount_or_none(value.get("cost"))
    )


_SPLITS, _OUTCOMES = tuple(Split), tuple(Outcome)
#: Fields of the usage but for money, in order.
_TOKENS = dict.fromkeys(field.name for field in fields(Usage) if field.name != "cost")
#: The fields of a line in order, and what each one may hold.
_ANSWER_FIELDS = {
    "task": _text,
    "split": lambda value: value in _SPLITS,
    "id": lambda value: _text(value) or _whole(value),
    "request": _text,
    "outcome": lambda value: value in _OUTCOMES,
    "choice": _letter_or_none,
    "rule": _text_or_none,
    "span": _is_span,
    "key": _letter_or_none,
    "reply": _text_or_none,
    "reasoning": _text_or_none,
    "finish_reason": _text_or_none,
    "usage": _is_usage,
    "latency": _amount_or_none,
    "attempts": lambda value: _whole(value) and value >= 0,
    "failure": _text_or_none,
}
_values, _tokens = attrgetter(*_ANSWER_FIELDS), attrgetter(*_TOKENS)
#: Fields of runs that ask a question more than once, or for probabilities.
_SOMETIMES = {
    "rotation": lambda value: value is None or (_whole(value) and 0 <= value < len(LETTERS)),
    "sample": _whole_or_none,
    "letters": _letters_or_none,
}


def read_answers(path: Path, damaged: Callable[[str], None]) -> Iterator[Answer]:
    """The answers of an answers.jsonl file, one at a time; none where there is no such file.

    Args:
        path: of the file.
        damaged: is told of each line that cannot be read, which is left out.

    Raises:
        DataError: the file is there and cannot be read.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield Answer.from_json(orjson.loads(line), file=path, line=number)
                except orjson.JSONDecodeError:
                    damaged(f"{path}, line {number}: not JSON")
                except DataError as error:
                    damaged(str(error))
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from None
