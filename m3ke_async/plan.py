"""What a run would take, before anything is sent: requests, tokens, money, time, one prompt a template."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from m3ke_async.owed import Standing, standing
from m3ke_async.prompt import load_template, template_names
from m3ke_async.suites.layout import PUBLISHED, load_layout

if TYPE_CHECKING:
    from collections.abc import Container

    from m3ke_async.batch.request_files import Filling
    from m3ke_async.evaluation import Evaluation, Item
    from m3ke_async.store import ReplyStore
    from m3ke_async.tally import Price

#: Tokens a character: least and most that today's tokenizers take for Chinese questions.
#: Qwen2.5 takes 0.78 for M3KE's dev questions in the default template.
TOKENS_PER_CHAR = (0.6, 1.0)

#: Bytes of a batch file's line around the body: key, method, route.
_AROUND_BODY = 120


@dataclass(frozen=True, slots=True)
class Plan:
    """Counts of a run; token figures are (least, most).

    Attributes:
        questions: of the run.
        stored: asks that have a reply; with `--rotate` or `--samples` a question is asked more than once.
        under_way: asks that are in batches of any run, and left to them.
        repeated: of the rest, asks whose request equals an earlier one's.
        requests: that would be sent.
        prompt_tokens: of those requests, estimated from their characters.
        completion_tokens: from one token each to `--max-tokens` each.
        dropped_shots: examples left out because they equal the question.
        fewer_shots: asks for which there are fewer examples than asked for.
        prompts: one full prompt a template, by its name.
        batch_files: that a provider's batches would take; None for a live run.
    """

    questions: int
    stored: int
    under_way: int
    repeated: int
    requests: int
    prompt_tokens: tuple[int, int]
    completion_tokens: tuple[int, int]
    dropped_shots: int
    fewer_shots: int
    prompts: dict[str, str]
    batch_files: int | None = None

    def cost(self, price: Price) -> tuple[float, float]:
        """Least and most money."""
        low, high = zip(self.prompt_tokens, self.completion_tokens, strict=True)
        return price.cost(*low), price.cost(*high)

    def seconds(self, rpm: float | None, tpm: float | None) -> float | None:
        """Least wall time under the limits; None without limits, where the server decides."""
        times = [60 * self.requests / rpm] if rpm else []
        if tpm:
            times.append(60 * (self.prompt_tokens[0] + self.completion_tokens[0]) / tpm)
        return max(times) if times else None

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def make_plan(
    evaluation: Evaluation,
    store: ReplyStore | None,
    since: float,
    elsewhere: Container[bytes],
    filling: Filling | None = None,
) -> Plan:
    """Go through all questions of a run as it would.

    Args:
        evaluation: what is asked.
        store: replies that are there already; None where there is no store yet.
        since: Unix time in seconds; with `--fresh`, older replies do not count.
        elsewhere: keys of the requests that are in batches under way.
        filling: counts the files of a run by batches; None for a live run.
    """
    settings = evaluation.settings
    asks = stored = held = repeated = chars = dropped = fewer = 0
    seen: set[bytes] = set()
    first: Item | None = None
    for task in evaluation.suite.tasks:
        for item in evaluation.items(task):
            first = first or item
            asks += 1
            dropped += item.prompt.dropped
            fewer += item.prompt.shots + item.prompt.dropped < settings.shots
            stands = standing(settings, store, item.request.key, since)
            if stands is Standing.ANSWERED:
                stored += 1
            elif stands is Standing.LEFT_OUT:
                continue
            elif item.request.key in elsewhere:
                held += 1
            elif item.request.key in seen:
                repeated += 1
            else:
                seen.add(item.request.key)
                chars += item.request.prompt_chars
                if filling is not None:
                    filling.add(len(item.request.body) + _AROUND_BODY)
    low, high = (round(chars * rate) for rate in TOKENS_PER_CHAR)
    return Plan(
        questions=asks // len(evaluation.variants),
        stored=stored,
        under_way=held,
        repeated=repeated,
        requests=len(seen),
        prompt_tokens=(low, high),
        completion_tokens=(len(seen), len(seen) * settings.max_tokens),
        dropped_shots=dropped,
        fewer_shots=fewer,
        prompts=_prompts(evaluation, first) if first else {},
        batch_files=None if filling is None else filling.files,
    )


def _prompts(evaluation: Evaluation, first: Item) -> dict[str, str]:
    """The first question in every template, the run's own before the others; not in other suites' words."""
    others = {load_layout(name).template for name in PUBLISHED} - {evaluation.whole.layout.template}
    names = [name for name in template_names() if name not in others]
    templates = [evaluation.template, *map(load_template, names)]
    prompts: dict[str, str] = {}
    for template in templates:
        if template.name not in prompts:
            item = next(replace(evaluation, template=template).items(first.task))
            prompts[template.name] = show_messages(item)
    return prompts


def show_messages(item: Item) -> str:
    """A prompt as it is sent; the role stands before each message where there are several."""
    sent = orjson.loads(item.request.body)
    messages = sent.get("messages", ())
    if len(messages) < 2:
        plain: str = messages[0]["content"] if messages else sent.get("prompt") or sent["inputs"]
        return plain
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in messages)
