"""What a run asks: from its settings and its suite to one request a question. Nothing is sent here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from m3ke_async.adaptation import Change, adapt, named, refused_by_file
from m3ke_async.errors import UsageError
from m3ke_async.manner import (
    FIRST_TOKENS,
    AnswerMode,
    ThinkingMode,
    constraints_of,
    thinking_fields,
    tokens_with_probability,
)
from m3ke_async.overlap import overlapping
from m3ke_async.prompt import Prompt, Prompter, load_template
from m3ke_async.request import ChatRequest, canonical_body
from m3ke_async.rotation import ROTATIONS, rotated
from m3ke_async.suite import Split
from m3ke_async.text import counted
from m3ke_async.wire.chat import CHAT
from m3ke_async.wire.protocol import Protocol, Wanted
from m3ke_async.wire.protocols import find_protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from m3ke_async.profile import Constraint, Profile
    from m3ke_async.prompt import Message, Template
    from m3ke_async.settings import RunSettings
    from m3ke_async.suite import Question, Suite, Task


@dataclass(frozen=True, slots=True)
class Item:
    """One question with what is sent for it.

    Attributes:
        task: it belongs to.
        question: as the suite has it.
        shown: the same as the model sees it, its options rotated where the run does that.
        prompt: its messages.
        request: what is sent.
        rotation: of `shown`; None where the run does not rotate.
        sample: number of the ask; None where the run asks each question once.
    """

    task: Task
    question: Question
    shown: Question
    prompt: Prompt
    request: ChatRequest
    rotation: int | None
    sample: int | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that decides which requests a run consists of.

    Attributes:
        settings: the run's.
        whole: the suite.
        suite: its tasks that are asked.
        profile: of the provider.
        model: its name at the provider.
        address: what stands for the address in the requests' identity.
        template: the wording.
        changes: what is sent otherwise, since the model refuses it as it was meant.
        left_out: ids, by task, of questions that are not asked although they are within the limit.
        constraint: how replies are held to one letter; None until that is proven, or where they are free.
    """

    settings: RunSettings
    whole: Suite
    suite: Suite
    profile: Profile
    model: str
    address: str
    template: Template
    changes: tuple[Change, ...] = ()
    left_out: Mapping[str, frozenset[int | str]] = field(default_factory=dict)
    constraint: Constraint | None = None

    def as_begun(self, record: Mapping[str, Any] | None) -> Evaluation:
        """The same as an earlier command sent it, by its run.json; None where there was none."""
        if record is None:
            return self
        profile = self.profile.as_sent(record["sent"])
        return replace(self, profile=profile, changes=named(record["adapted"]))

    def sent(self) -> dict[str, Any]:
        """What shapes the requests besides identity and adaptation, for `Profile.as_sent`."""
        return {
            "protocol": self.protocol.name,
            "token_parameter": self.profile.token_parameter.value,
            "thinking": self.thinking,
            "constraints": [constraint.value for constraint in self.constraints],
            "top_logprobs": self.profile.logprobs.top,
        }

    @property
    def protocol(self) -> Protocol:
        """How it is asked."""
        return find_protocol(self.settings.protocol, self.profile)

    @property
    def thinking(self) -> Mapping[str, Any]:
        """The fields that switch thinking as wanted."""
        return thinking_fields(self.settings.thinking, self.profile, self.model, self.protocol)

    @property
    def variants(self) -> tuple[tuple[int | None, int | None], ...]:
        """Rotation and sample of each ask of a question."""
        settings = self.settings
        rotations = range(ROTATIONS) if settings.rotate else (None,)
        samples = range(settings.samples) if settings.samples > 1 else (None,)
        return tuple(product(rotations, samples))

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Ways to hold replies to one letter that may be tried; the proven one alone where there is one."""
        if self.settings.answer is not AnswerMode.CONSTRAINED:
            return ()
        return (self.constraint,) if self.constraint else constraints_of(self.profile, self.protocol)

    def wanted(self, *, examples: bool) -> Wanted:
        """What the requests ask for, whose prompts hold examples or not."""
        settings, profile = self.settings, self.profile
        wanted = Wanted(
            model=self.model,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            token_parameter=profile.token_parameter.value,  # JSON takes no enum as a name
            fields=self.thinking,
        )
        match settings.answer:
            case AnswerMode.LOGPROBS:
                top = tokens_with_probability(profile, settings.thinking)
                tokens = min(settings.max_tokens, FIRST_TOKENS)
                return replace(wanted, logprobs=top, max_tokens=tokens)
            case AnswerMode.CONSTRAINED:
                return replace(wanted, constraint=self.constraints[0])
            case _:
                return replace(wanted, stop=self.template.stops(examples=examples))

    def request(self, wanted: Wanted, messages: Sequence[Message], *, sample: int = 0) -> ChatRequest:
        """The request that asks for it with these messages."""
        protocol = self.protocol
        # Two models served at one address one after the other must not share replies.
        address = self.address if protocol.names_model else f"{self.address}#{self.model}"
        return ChatRequest(
            self.profile.name,
            address,
            canonical_body(adapt(protocol.body(wanted, messages), self.changes)),
            sample,
            prompt_chars=sum(len(message["content"]) for message in messages),
        )

    @property
    def total(self) -> int:
        """What is to be asked: questions, times the asks of each."""
        left_out = sum(map(len, self.left_out.values()))
        return len(self.variants) * (_questions(self.settings, self.suite) - left_out)

    def items(self, task: Task) -> Iterator[Item]:
        """The questions of a task in file order, each with its requests; built as they are taken."""
        settings = self.settings
        if settings.split not in task.sizes:
            return
        prompter = Prompter(
            self.template,
            task,
            settings.split,
            shots=settings.shots,
            fewshot=settings.fewshot,
            system=settings.system,
        )
        wanted = [self.wanted(examples=examples) for examples in (False, True)]
        variants, left_out = self.variants, self.left_out.get(task.name, frozenset())
        within = settings.shard.of(task.name, islice(task.questions(settings.split), settings.limit))
        for question in (question for question in within if question.id not in left_out):
            for rotation, sample in variants:
                shown = rotated(question, rotation or 0)
                prompt = prompter.prompt(shown)
                request = self.request(wanted[prompt.shots > 0], prompt.messages, sample=sample or 0)
                yield Item(task, question, shown, prompt, request, rotation, sample)

    def identity(self) -> dict[str, Any]:
        """What must be equal for two commands to be the same run."""
        settings, template = self.settings, self.template
        return {
            "model": settings.model,
            "address": self.address,
            "suite": self.suite.fingerprint,
            "split": settings.split.value,
            "shots": settings.shots,
            "tasks": len(self.suite.tasks),
            "limit": settings.limit,
            "template": template.name,
            "wording": [template.zero_shot, template.few_shot, template.question.text, template.answer.text],
            "fewshot": settings.fewshot.value if settings.shots else None,
            "system": settings.system,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            # What came later stands here only where it is used, so that older runs keep their names.
            **({} if self.protocol is CHAT else {"protocol": self.protocol.name}),
            **({} if settings.shard.is_whole else {"shard": str(settings.shard)}),
            **({"skip_overlap": True} if settings.skip_overlap else {}),
            **({} if settings.answer is AnswerMode.TEXT else {"answer": settings.answer.value}),
            **({"thinking": self.thinking} if settings.thinking is not ThinkingMode.DEFAULT else {}),
            **({"rotate": True} if settings.rotate else {}),
            **({"samples": settings.samples} if settings.samples > 1 else {}),
        }


def make_evaluation(
    settings: RunSettings, suite: Suite, profile: Profile, model: str, address: str
) -> Evaluation:
    """Check that the suite has what the settings ask for.

    Raises:
        UsageError: no such split, no task that matches, no dev rows to take examples from, samples that
            would all be the same, or the model cannot be asked in this manner.
    """
    if settings.samples > 1 and not settings.temperature:
        raise UsageError(
            f"--samples {settings.samples} tells nothing at temperature 0, where every reply is the same:"
            " give a --temperature above 0, such as 0.7"
        )
    selected = suite.select(settings.tasks) if settings.tasks else suite
    if not selected.size(settings.split):
        raise UsageError(
            f"the {settings.split} split of {suite.path} holds no questions; give another --split or --data"
        )
    if not _questions(settings, selected):
        raise UsageError(f"--shard {settings.shard} holds no question: there are fewer than shards")
    bare = [task.name for task in selected.tasks if not task.labelled.get(Split.DEV)]
    if settings.shots and bare:
        raise UsageError(
            f"--shots {settings.shots} takes examples from labelled dev rows, and {len(bare)} of "
            f"{counted(len(selected.tasks), 'task has', 'tasks have')} none, such as {bare[0]}; "
            "give --shots 0, or --tasks that have"
        )
    wording = settings.template or suite.layout.template
    settings = replace(settings, suite=suite.layout.name.value, template=wording)
    template, refuses = load_template(wording), profile.parameters.refuses
    changes = refused_by_file(refuses)
    left_out = (
        overlapping(selected, suite, settings.split, settings.limit, settings.shard)
        if settings.skip_overlap
        else {}
    )
    evaluation = Evaluation(settings, suite, selected, profile, model, address, template, changes, left_out)
    evaluation.wanted(examples=False)  # what cannot be asked for is known before anything is sent
    return evaluation


def _questions(settings: RunSettings, suite: Suite) -> int:
    """How many questions are within the limit and the shard."""
    sizes = ((task.name, task.sizes.get(settings.split, 0)) for task in suite.tasks)
    limit = settings.limit
    return sum(settings.shard.size(name, size if limit is None else min(size, limit)) for name, size in sizes)
