"""Questions become messages: named templates, few-shot examples, leave-one-out.

The examples of a task are its labelled dev rows in file order. On dev the question
itself is left out, and everywhere an example with the question's own text is dropped,
so that no prompt holds the answer to what it asks.
"""

from __future__ import annotations

import os
import string
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from m3ke_async.assets import asset
from m3ke_async.errors import DataError
from m3ke_async.nearest import nearest
from m3ke_async.suite import Split
from m3ke_async.text import normalised, one_line
from m3ke_async.toml_file import load_toml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from m3ke_async.suite import Question, Task

#: Between the instruction, the examples and the question.
SEPARATOR = "\n\n"


class FewShot(StrEnum):
    """How examples are given: inside one message, or as turns of a chat."""

    MESSAGE = "message"
    TURNS = "turns"


class Message(TypedDict):
    """One chat message in the form of the chat completions API."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent for one question, and how many examples were dropped for equalling it."""

    messages: tuple[Message, ...]
    shots: int
    dropped: int


class Pattern:
    """A template text with `{name}` places; foreign text is joined in, never formatted."""

    __slots__ = ("_parts", "text")

    def __init__(self, text: str, names: frozenset[str], *, file: Path, field: str) -> None:
        parts: list[tuple[str, str | None]] = []
        try:
            for literal, name, spec, conversion in string.Formatter().parse(text):
                if name is not None and (name not in names or spec or conversion):
                    raise DataError(
                        f"unknown place {{{name}}}; known are {', '.join(sorted(names))}",
                        file=file,
                        field=field,
                    )
                parts.append((literal, name))
        except ValueError as error:
            raise DataError(f"{error}; write a brace itself twice", file=file, field=field) from None
        missing = names - {name for _, name in parts if name}
        if missing:
            raise DataError(f"the place {{{min(missing)}}} is missing", file=file, field=field)
        self.text = text
        self._parts = tuple(parts)

    @property
    def tail(self) -> str:
        """What follows the last place."""
        literal, name = self._parts[-1]
        return literal if name is None else ""

    def fill(self, values: dict[str, str]) -> str:
        """The text with every place filled."""
        return "".join([literal + (values[name] if name else "") for literal, name in self._parts])


_QUESTION_PLACES = frozenset({"question", "A", "B", "C", "D"})
_ANSWER_PLACES = frozenset({"answer"})


@dataclass(frozen=True, slots=True)
class Template:
    """A named, versioned wording.

    Attributes:
        name: such as `m3ke-zh/1`; another wording is another name.
        zero_shot: the instruction where no example follows; `{subject}` in it is the task's subject.
        few_shot: the same where examples follow.
        question: pattern of one question with its options and the suffix.
        answer: pattern of an example's answer, which follows the suffix.
    """

    name: str
    zero_shot: str
    few_shot: str
    question: Pattern
    answer: Pattern

    def ask(self, question: Question) -> str:
        """The question as it stands in a prompt."""
        a, b, c, d = question.options
        return self.question.fill({"question": question.question, "A": a, "B": b, "C": c, "D": d})

    def reply(self, question: Question) -> str:
        """The answer of an example."""
        return self.answer.fill({"answer": question.answer or ""})

    def stops(self, *, examples: bool) -> tuple[str, ...]:
        """Where a model that continues the prompt has begun a next question.

        The line that asks for the answer stands only there; after examples, so does the gap behind an
        answer. A shorter text, such as a line's end, would leave "A. ..." of a list of all options, which
        chooses nothing.
        """
        ask = self.question.tail.rstrip()
        asks = (ask,) if ask.startswith("\n") and ask.strip() else ()
        return (*asks, SEPARATOR) if examples else asks


def plain_text(messages: Iterable[Message]) -> str:
    """The messages as one text to be continued; the turns of a chat become the examples of one message."""
    return "".join(
        message["content"] + ("" if message["role"] == "user" else SEPARATOR) for message in messages
    )


def template_names() -> tuple[str, ...]:
    """Names of the templates that ship with the package."""
    return tuple(sorted(_shipped()))


def _shipped() -> dict[str, Path]:
    # m3ke-zh-1.toml holds m3ke-zh/1
    return {"/".join(path.stem.rsplit("-", 1)): path for path in asset("data", "templates").glob("*.toml")}


def load_template(name: str) -> Template:
    """A shipped template by name, or the user's own by the path of its TOML file.

    Raises:
        DataError: no such template, or its file is wrong (names file and field).
    """
    shipped = _shipped()
    path = shipped.get(name)
    if path is None:
        # os.path takes any text for a path; pathlib's own tests raise on what cannot be one
        given = os.path.expanduser(name)  # noqa: PTH111
        if not os.path.isfile(given):  # noqa: PTH113
            raise DataError(
                f"no template {one_line(name, limit=80)!r}{nearest(name, shipped)}; "
                f"known are {', '.join(sorted(shipped))}, or give the path of a TOML file"
            )
        path = Path(given)
    table = load_toml(path)
    wanted = [field.name for field in fields(Template)]
    for field, value in table.items():
        if field not in wanted:
            raise DataError(f"unknown field{nearest(field, wanted)}", file=path, field=field)
        if not isinstance(value, str):
            raise DataError("must be a string", file=path, field=field)
    for field in wanted:
        if field not in table:
            raise DataError("is missing", file=path, field=field)
    return Template(
        name=table["name"],
        zero_shot=table["zero_shot"],
        few_shot=table["few_shot"],
        question=Pattern(table["question"], _QUESTION_PLACES, file=path, field="question"),
        answer=Pattern(table["answer"], _ANSWER_PLACES, file=path, field="answer"),
    )


class Prompter:
    """Builds the prompts of one task; what its questions share is built once."""

    def __init__(
        self,
        template: Template,
        task: Task,
        split: Split,
        *,
        shots: int,
        fewshot: FewShot = FewShot.MESSAGE,
        system: str | None = None,
    ) -> None:
        self._template, self._split, self._shots, self._fewshot = template, split, shots, fewshot
        self._subject = task.subject
        self._system: tuple[Message, ...] = ({"role": "system", "content": system},) if system else ()
        pool = [row for row in task.dev if row.answer] if shots else []
        self._pool = tuple((row, normalised(row.question)) for row in pool)
        self._prefixes: dict[tuple[int, ...], tuple[tuple[Message, ...], str]] = {}

    def prompt(self, question: Question) -> Prompt:
        """The messages for one question of the task."""
        chosen, dropped = self._choose(question) if self._shots else ((), 0)
        prefix = self._prefixes.get(chosen)
        if prefix is None:
            prefix = self._prefixes[chosen] = self._prefix(chosen)
        messages, lead = prefix
        content = lead + self._template.ask(question)
        return Prompt((*messages, {"role": "user", "content": content}), len(chosen), dropped)

    def _choose(self, question: Question) -> tuple[tuple[int, ...], int]:
        """Places in the pool of the examples for this question, and how many were dropped."""
        asked = normalised(question.question)
        candidates = [
            place
            for place, (row, _) in enumerate(self._pool)
            if not (self._split is Split.DEV and row.id == question.id)
        ][: self._shots]
        kept = tuple(place for place in candidates if self._pool[place][1] != asked)
        return kept, len(candidates) - len(kept)

    def _prefix(self, chosen: tuple[int, ...]) -> tuple[tuple[Message, ...], str]:
        """The messages before the last one, and the start of the last one."""
        template = self._template
        examples = [self._pool[place][0] for place in chosen]
        # The name alone is looked for, so that an instruction may hold braces of its own.
        lead = (template.few_shot if examples else template.zero_shot).replace("{subject}", self._subject)
        lead += SEPARATOR
        if self._fewshot is FewShot.MESSAGE:
            shown = (template.ask(row) + template.reply(row) + SEPARATOR for row in examples)
            return self._system, lead + "".join(shown)
        turns: list[Message] = []
        for row in examples:
            turns.append({"role": "user", "content": lead + template.ask(row)})
            turns.append({"role": "assistant", "content": template.reply(row)})
            lead = ""
        return (*self._system, *turns), lead
