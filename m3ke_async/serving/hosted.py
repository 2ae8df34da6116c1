"""A model that m3ke serves itself: for one run, or until it is told to stop.

    find_hosted(engine, MODEL) -> Hosted -> .server(demand) -> async with ... -> base_url

A GGUF file goes to llama.cpp, which is the extra `local`; everything else to an engine that
loads the files of transformers.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from m3ke_async.models import LocalModel, catalogue, resolve_model
from m3ke_async.serving.checkpoint import Checkpoint, find_checkpoint
from m3ke_async.serving.child import free_port
from m3ke_async.serving.engines import ENGINES, Engine, EngineName, find_program
from m3ke_async.serving.launch import Launch, choose_engine, plan_launch
from m3ke_async.serving.llamacpp import CONTEXT, LocalServer, identity
from m3ke_async.serving.machine import Machine, look_at_machine
from m3ke_async.serving.server import EngineServer
from m3ke_async.serving.sizing import Demand, rounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.evaluation import Evaluation
    from m3ke_async.progress import Display

AUTO = "auto"
#: M3KE's own longest prompt, with five shots in the default template: characters and bytes.
M3KE_LONGEST = (2_492, 4_775)


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """A GGUF file, for llama.cpp."""

    model: LocalModel
    provider: ClassVar[str] = "llamacpp"
    port: ClassVar[int] = 8080

    @property
    def name(self) -> str:
        """What requests call the model."""
        return self.model.name

    @property
    def identity(self) -> str:
        """What stands for the address in the requests' identity."""
        return identity(self.model.name, self.model.sha256)

    def preview(self, demand: Demand, port: int) -> list[str]:
        """The command that serves it, after the reasons for it as comments of a shell."""
        server = self.server(demand, log=Path(), say=lambda line: None, port=port)
        settings = server.settings
        length = (
            f"# length: {settings.slots} slots of {settings.context:,} tokens for the longest prompt "
            f"({demand.chars:,} characters) and {demand.reply:,} tokens of reply"
        )
        threads = f"# threads: {settings.threads}, the cores that may be used"
        return ["# engine: llama.cpp, which loads GGUF files", length, threads, shlex.join(server.command)]

    def server(
        self, demand: Demand, *, log: Path, say: Callable[[str], None], port: int | None = None
    ) -> LocalServer:
        """The server, not yet started. Its memory is taken at once, so characters are counted, not bytes."""
        context = max(CONTEXT, rounded(demand.chars + demand.reply))
        return LocalServer(self.model, log=log, context=context, port=port or 0)


@dataclass(frozen=True, slots=True)
class EngineModel:
    """A checkpoint of transformers, for an engine.

    Attributes:
        engine: which.
        checkpoint: what it loads.
        machine: where; None until somebody looks.
        reasons: why this engine.
        extra: arguments of the user for it.
    """

    engine: Engine
    checkpoint: Checkpoint
    machine: Machine | None = None
    reasons: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @property
    def provider(self) -> str:
        """The provider that the server is."""
        return self.engine.provider

    @property
    def name(self) -> str:
        """What requests call the model."""
        return self.engine.model_name(self.checkpoint)

    @property
    def identity(self) -> str:
        """What stands for the address in the requests' identity: a folder's files, wherever it lies."""
        facts = self.checkpoint.facts
        files = facts.fingerprint if self.checkpoint.folder is not None and facts is not None else "hub"
        return f"serve:{self.engine.name}:{files}"

    @property
    def port(self) -> int:
        """The usual port of such a server."""
        return self.engine.port

    def launch(self, demand: Demand, port: int) -> Launch:
        """The command that serves it."""
        return plan_launch(
            self.engine,
            find_program(self.engine),
            self.checkpoint,
            self.machine or look_at_machine(),
            demand,
            port=port,
            extra=self.extra,
        )

    def preview(self, demand: Demand, port: int) -> list[str]:
        """The command that serves it, after the reasons for it as comments of a shell."""
        launch = self.launch(demand, port)
        missing = (f"{launch.engine.name} is not installed here: {launch.missing}",) if launch.missing else ()
        return [*(f"# {line}" for line in (*self.reasons, *launch.reasons, *missing)), launch.line]

    def server(
        self, demand: Demand, *, log: Path, say: Callable[[str], None], port: int | None = None
    ) -> EngineServer:
        """The server, not yet started."""
        launch = self.launch(demand, port or free_port())
        for reason in (*self.reasons, *launch.reasons):
            say(reason)
        return EngineServer(launch, log=log, say=say)


Hosted: TypeAlias = LlamaCpp | EngineModel


def find_hosted(
    engine: str, spec: str, display: Display, *, extra: tuple[str, ...] = (), fetch: bool = True
) -> Hosted:
    """What serves a model.

    Args:
        engine: a name of `EngineName`, or `auto`.
        spec: a hub id, a folder, a GGUF file, or what `local/` takes.
        display: where to say how a download goes.
        extra: arguments for the engine.
        fetch: whether a model of the catalogue is downloaded.

    Raises:
        UsageError: no such model, or no engine for it.
    """
    is_gguf = spec in catalogue() or spec.endswith(".gguf")
    if engine == EngineName.LLAMA_CPP or (engine == AUTO and is_gguf):
        return LlamaCpp(_local_model(spec, display, fetch=fetch))
    checkpoint = find_checkpoint(spec)
    machine = look_at_machine() if engine == AUTO else None
    chosen, reason = choose_engine(engine, machine or Machine(None))
    return EngineModel(chosen, checkpoint, machine, (reason,), extra)


def _local_model(spec: str, display: Display, *, fetch: bool) -> LocalModel:
    from m3ke_async.downloading import shown

    known = catalogue().get(spec)
    if known is not None and not fetch:
        return LocalModel(known.path, known.name, known.sha256)
    with shown(display) as progress:
        return resolve_model(spec, progress, say=display.say)


def engine_of(provider: str) -> EngineName | None:
    """The engine that a provider's servers are; None where m3ke starts none."""
    names = {engine.provider: engine.name for engine in ENGINES.values()}
    return {**names, "llamacpp": EngineName.LLAMA_CPP, "local": EngineName.LLAMA_CPP}.get(provider)


def demand_of(evaluation: Evaluation) -> Demand:
    """The longest prompt of a run, and its replies."""
    chars = size = 0
    for task in evaluation.suite.tasks:
        for item in evaluation.items(task):
            text = "".join(message["content"] for message in item.prompt.messages)
            chars, size = max(chars, len(text)), max(size, len(text.encode("utf-8", "surrogatepass")))
    return Demand(chars, size, evaluation.settings.max_tokens)
