"""From what the user wants to the exact command that serves it; nothing is started here."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from m3ke_async.errors import UsageError
from m3ke_async.serving.checkpoint import hub_cache
from m3ke_async.serving.child import LOOPBACK
from m3ke_async.serving.engines import ENGINES, EngineName, find_program
from m3ke_async.serving.sizing import CPU_PROMPTS, size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3ke_async.serving.checkpoint import Checkpoint
    from m3ke_async.serving.engines import Engine, Option
    from m3ke_async.serving.machine import Machine
    from m3ke_async.serving.sizing import Demand, Sizing

#: The last release before maintenance mode that the documentation names.
_TGI_IMAGE = "ghcr.io/huggingface/text-generation-inference:3.3.5"
_TGI_NOTE = (
    "tgi: in maintenance mode since 2025-12-11, and its authors point to vLLM and SGLang; take --engine vllm "
    "unless you must"
)
#: Engines that `auto` looks for, the fastest first.
_AUTO = (EngineName.VLLM, EngineName.SGLANG, EngineName.TRANSFORMERS)
_SECRET = re.compile(r"(?<=--api-key[= ])\S+")


@dataclass(frozen=True, slots=True)
class Launch:
    """A server to be started.

    Attributes:
        engine: which.
        model: what the server calls the model.
        port: where it listens on this machine.
        command: argument by argument.
        variables: of its environment, beside those of this process.
        reasons: a line for everything that was chosen.
        missing: how the engine is installed, where it is not.
        slots: requests that it computes at a time; None where it takes what comes.
    """

    engine: Engine
    model: str
    port: int
    command: tuple[str, ...]
    variables: Mapping[str, str]
    reasons: tuple[str, ...]
    missing: str | None = None
    slots: int | None = None

    @property
    def address(self) -> str:
        """Where it listens, without a path."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def line(self) -> str:
        """The command for a POSIX shell; a key in it is not shown."""
        variables = (f"{name}={shlex.quote(value)}" for name, value in self.variables.items())
        return _SECRET.sub("...", " ".join((*variables, shlex.join(self.command))))


def choose_engine(
    wanted: str, machine: Machine, find: Callable[[Engine], Option | None] = find_program
) -> tuple[Engine, str]:
    """The engine for a checkpoint, and why; `auto` takes the fastest that is here."""
    if wanted != "auto":
        return ENGINES[EngineName(wanted)], "engine: as you said"
    passed: list[str] = []
    for name in _AUTO:
        if find(ENGINES[name]) is None:
            passed.append(f"{name} is not installed")
        elif name is EngineName.SGLANG and not machine.devices and not machine.unknown:
            passed.append(f"{name} wants a GPU")
        else:
            return ENGINES[name], f"engine: {name}" + (f", since {' and '.join(passed)}" if passed else "")
    best = EngineName.VLLM if machine.devices or machine.unknown else EngineName.TRANSFORMERS
    return ENGINES[best], f"engine: {best}, which has to be installed; none is"


def plan_launch(
    engine: Engine,
    program: Option | None,
    model: Checkpoint,
    machine: Machine,
    demand: Demand,
    *,
    port: int,
    extra: tuple[str, ...] = (),
) -> Launch:
    """The command for an engine.

    Args:
        engine: which.
        program: how it is started, as `find_program` says.
        model: what is served.
        machine: where.
        demand: the longest prompt and reply.
        port: where it is to listen.
        extra: arguments of the user; they stand last, and replace ours of the same name.

    Raises:
        UsageError: the model does not fit, or an extra argument is not the user's to give.
    """
    given = {argument.partition("=")[0] for argument in extra if argument.startswith("-")}
    if ours := given & {engine.host, "--port", "--served-model-name"}:
        raise UsageError(f"{min(ours)} after -- would lead requests astray: m3ke gives it itself")
    sizing = size(model, machine, demand, devices=_given_number(extra, engine.parallel))
    reasons = list(sizing.reasons)
    if engine.name is EngineName.TRANSFORMERS:
        reasons = [reason for reason in reasons if not reason.startswith("length:")]  # it grows as it goes
    docker = None
    if program is None and engine.name is EngineName.TGI:
        docker = shutil.which("docker")
        prefix, spec, options = _docker(docker or "docker", engine, model, sizing, port)
    else:
        prefix, spec = program or engine.program, model.spec
        options = ((engine.host, LOOPBACK), ("--port", str(port)), *engine.options(model, sizing))
    if engine.name is EngineName.TGI:
        reasons.insert(0, _TGI_NOTE)
    kept = (option for option in options if option[0] not in given)
    return Launch(
        engine=engine,
        model=engine.model_name(model),
        port=port,
        command=(*prefix, spec, *(part for option in kept for part in option), *extra),
        variables=_variables(engine, model, sizing),
        reasons=tuple(reasons),
        missing=None if program or docker else engine.install,
        slots=CPU_PROMPTS if sizing.devices == 0 else None,
    )


def _given_number(extra: tuple[str, ...], option: str | None) -> int | None:
    words = re.split(r"[= ]", " ".join(extra))
    for name, value in pairwise(words):
        if name == option and value.isdecimal():
            return int(value)
    return None


def _variables(engine: Engine, model: Checkpoint, sizing: Sizing) -> dict[str, str]:
    found = dict(engine.variables(sizing))
    if model.folder is not None:
        found["HF_HUB_OFFLINE"] = "1"  # nothing is missing, and asking takes long without a network
    return found


def _docker(
    docker: str, engine: Engine, model: Checkpoint, sizing: Sizing, port: int
) -> tuple[Option, str, tuple[Option, ...]]:
    """TGI comes as an image only."""
    # What the image downloads is kept in the folder that other engines use.
    folder, inside = (model.folder, "/model") if model.folder else (hub_cache(), "/data")
    prefix = (
        docker,
        "run",
        "--rm",
        *(() if sizing.devices == 0 else ("--gpus", "all")),
        "--shm-size",
        "1g",
        "-p",
        f"{LOOPBACK}:{port}:80",
        "-v",
        f"{folder}:{inside}",
        _TGI_IMAGE,
        "--model-id",
    )
    return prefix, inside if model.folder else model.spec, engine.options(model, sizing)
