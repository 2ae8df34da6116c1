"""One question of a run from the prompt to the letter, for reading."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from m3ke_async.choice import POLICIES
from m3ke_async.errors import UsageError
from m3ke_async.extraction.normalise import same_alphabet
from m3ke_async.extraction.table import RULES
from m3ke_async.plan import show_messages
from m3ke_async.request import Outcome
from m3ke_async.results import choose, make_answer
from m3ke_async.store import Failure
from m3ke_async.text import counted, one_line, printable
from m3ke_async.wire.letters import letter_shares

if TYPE_CHECKING:
    from m3ke_async.choice import Choice
    from m3ke_async.evaluation import Evaluation, Item
    from m3ke_async.replies import Find
    from m3ke_async.request import Reply

#: Marks around the choice in the reply; they do not occur in ordinary text.
_LEFT, _RIGHT = "⟦", "⟧"
#: What an outcome without a letter means, and what can be done about it.
_MEANS = {
    Outcome.AMBIGUOUS: "several letters stand, and none takes the others back",
    Outcome.UNPARSED: "no choice is found",
    Outcome.REFUSED: "no choice is found, and the model declines or asks for the question",
    Outcome.TRUNCATED: "it ends before a choice; a run with a larger --max-tokens asks it anew",
    Outcome.FILTERED: "the provider's content check took the place of an answer; --retry-filtered asks again",
}
#: Ids that are named where another was given.
_NEAR = 3


def explain(evaluation: Evaluation, find: Find, task_name: str, question_id: str) -> list[str]:
    """The question's prompt, reply, marked choice and rule, as printable lines.

    Raises:
        UsageError: no such task or question in the run.
    """
    lines: list[str] = []
    for item in _items(evaluation, task_name, question_id):
        lines += [*_which_ask(item), *_explain(item, evaluation, find)]
    return lines


def explain_json(
    evaluation: Evaluation, find: Find, task_name: str, question_id: str
) -> list[dict[str, Any]]:
    """The same for programs: of each ask its messages, and its line of answers.jsonl or None.

    Raises:
        UsageError: as of `explain`.
    """
    asks = ((item, find(item.request.key)) for item in _items(evaluation, task_name, question_id))
    return [
        {
            "messages": item.prompt.messages,
            "answer": None if found is None else make_answer(evaluation.settings, item, found).to_json(),
        }
        for item, found in asks
    ]


def _items(evaluation: Evaluation, task_name: str, question_id: str) -> list[Item]:
    """Every ask of the question."""
    task, *others = evaluation.suite.select(task_name).tasks
    if others:
        names = "; ".join(other.name for other in (task, *others))
        raise UsageError(f"{one_line(task_name)!r} is more than one task: {names}")
    by_id: dict[str, list[Item]] = {}
    for item in evaluation.items(task):
        by_id.setdefault(str(item.question.id), []).append(item)
    if not by_id:
        raise UsageError(f"the run asks no question of {task.name}; m3ke report RUN lists those that it asks")
    if question_id not in by_id:
        near = get_close_matches(question_id, by_id, n=_NEAR) or list(by_id)[:_NEAR]
        raise UsageError(
            f"the run asks no question with id {one_line(question_id)!r} in {task.name}: it asks "
            f"{counted(len(by_id), 'question')} there, such as {one_line(', '.join(near))}"
        )
    return by_id[question_id]


def _which_ask(item: Item) -> list[str]:
    """A heading, in a run that asks each question more than once."""
    named = {"rotation": item.rotation, "sample": item.sample}
    told = [f"{name} {number}" for name, number in named.items() if number is not None]
    return [f"## {', '.join(told)}"] if told else []


def _explain(item: Item, evaluation: Evaluation, find: Find) -> list[str]:
    lines = ["# Prompt", *_block(show_messages(item)), ""]
    reply = find(item.request.key)
    if reply is None:
        return [*lines, "# Reply", "not asked yet"]
    if isinstance(reply, Failure):
        return [*lines, "# Reply", f"failed: {reply.message} (attempts: {reply.attempts})"]
    choice = choose(item.shown, reply, evaluation.settings)
    policy = evaluation.settings.policy
    text = reply.text
    if choice.span is not None:
        start, end = choice.span
        text = text[:start] + _LEFT + text[start:end] + _RIGHT + text[end:]
    if reply.reasoning:
        lines += ["# Reasoning", *_block(reply.reasoning), ""]
    took = "time unknown" if reply.latency is None else f"{reply.latency:.2f} s"
    found = f"outcome {choice.outcome}, letter {choice.letter or 'none'}, rule {choice.rule or 'none'}"
    return [
        *lines,
        f"# Reply (finish_reason {reply.finish_reason}, {took}, attempt {reply.attempts})",
        *_block(text),
        "",
        "# Choice",
        f"{found}, key {item.shown.answer or 'unknown'}",
        *_probabilities(reply),
        *([f"{choice.outcome}: {_MEANS[choice.outcome]}"] if choice.outcome in _MEANS else []),
        *_catches(choice.rule),
        *_marked(choice, reply.text),
        *([f"read by --policy {policy}"] if policy != POLICIES[0] else []),
    ]


def _probabilities(reply: Reply) -> list[str]:
    """How likely each letter was, where that was asked for."""
    return [] if reply.letters is None else [f"where the answer begins: {letter_shares(reply.letters)}"]


def _block(text: str) -> list[str]:
    # split on \n alone: other line separators belong to the text and are made visible
    return [printable(line) for line in text.split("\n")]


def _catches(rule_id: str | None) -> list[str]:
    """What the rule is for, by the rule table."""
    name = (rule_id or "").removeprefix("text:")
    return [f"the rule catches: {rule.catches}" for rule in RULES if rule.name == name]


def _marked(choice: Choice, reply: str) -> list[str]:
    """What is marked, where it is not the chosen letter."""
    if choice.letter is None or choice.span is None:
        return []
    if (choice.rule or "").startswith("text:"):
        return ["marked is an option's text, place or number, read in place of its letter"]
    if choice.letter in same_alphabet(reply[slice(*choice.span)]).upper():
        return []
    return [f"marked is what the rule read last; {choice.letter} follows from it"]
