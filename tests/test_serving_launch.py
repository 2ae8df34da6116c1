"""The exact command for each engine."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import UsageError
from m3ke_async.serving.checkpoint import Checkpoint
from m3ke_async.serving.engines import ENGINES, Engine, EngineName, find_program
from m3ke_async.serving.launch import choose_engine, plan_launch
from m3ke_async.serving.machine import Machine
from tests.test_serving_sizing import FIVE_SHOTS, GB, QWEN_05B, QWEN_7B, QWEN_72B, cards

if TYPE_CHECKING:
    from m3ke_async.serving.engines import Option
    from m3ke_async.serving.launch import Launch

HUB = Checkpoint("Qwen/Qwen3-8B", "Qwen/Qwen3-8B", None, QWEN_7B)
FOLDER = Checkpoint("/models/qwen", "qwen", Path("/models/qwen"), QWEN_05B)
CPU, TWO_CARDS = Machine(16 * GB), cards(2, 24)


def launch(
    name: str,
    model: Checkpoint = HUB,
    machine: Machine = TWO_CARDS,
    program: Option | None = ("engine", "serve"),
    extra: tuple[str, ...] = (),
) -> Launch:
    return plan_launch(ENGINES[EngineName(name)], program, model, machine, FIVE_SHOTS, port=8123, extra=extra)


@pytest.mark.parametrize(
    ("found", "command"),
    [
        pytest.param(
            launch("vllm"),
            "VLLM_NO_USAGE_STATS=1 engine serve Qwen/Qwen3-8B --host 127.0.0.1 --port 8123 "
            "--served-model-name Qwen/Qwen3-8B --dtype bfloat16 --tensor-parallel-size 1 "
            "--max-model-len 5120 --gpu-memory-utilization 0.9 --generation-config vllm "
            "--enable-prompt-tokens-details",
            id="vllm",
        ),
        pytest.param(
            launch("vllm", FOLDER, CPU),
            "VLLM_NO_USAGE_STATS=1 VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 engine serve /models/qwen "
            "--host 127.0.0.1 --port 8123 --served-model-name qwen --dtype bfloat16 --max-model-len 5120 "
            "--generation-config vllm --enable-prompt-tokens-details",
            id="vllm on a processor",
        ),
        pytest.param(
            launch("sglang", Checkpoint("o/m", "o/m", None, QWEN_72B), cards(4, 80)),
            "engine serve o/m --host 127.0.0.1 --port 8123 --served-model-name o/m --dtype bfloat16 "
            "--tp-size 4 --context-length 5120 --mem-fraction-static 0.9 --enable-cache-report",
            id="sglang",
        ),
        pytest.param(
            launch("transformers", FOLDER, CPU),
            "HF_HUB_OFFLINE=1 engine serve /models/qwen --host 127.0.0.1 --port 8123 --device cpu "
            "--dtype bfloat16 --continuous-batching --cb-num-blocks 256 --cb-max-batch-tokens 512",
            id="transformers on a processor",
        ),
        pytest.param(
            launch("transformers"),
            "engine serve Qwen/Qwen3-8B --host 127.0.0.1 --port 8123 --device auto --dtype bfloat16 "
            "--continuous-batching",
            id="transformers",
        ),
        pytest.param(
            launch("tgi"),
            "engine serve Qwen/Qwen3-8B --hostname 127.0.0.1 --port 8123 --dtype bfloat16 --num-shard 1 "
            "--max-input-tokens 5119 --max-total-tokens 5120 --cuda-memory-fraction 0.9",
            id="tgi's own launcher",
        ),
    ],
)
def test_the_command(found: Launch, command: str) -> None:
    assert found.line == command
    assert found.address == "http://127.0.0.1:8123"


def test_tgi_comes_as_an_image_and_is_not_recommended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", "/cache")
    found = launch("tgi", program=None)
    assert found.line == (
        "docker run --rm --gpus all --shm-size 1g -p 127.0.0.1:8123:80 -v /cache:/data "
        "ghcr.io/huggingface/text-generation-inference:3.3.5 --model-id Qwen/Qwen3-8B --dtype bfloat16 "
        "--num-shard 1 --max-input-tokens 5119 --max-total-tokens 5120 --cuda-memory-fraction 0.9"
    )
    assert found.missing == "docker and the NVIDIA container toolkit"
    assert "maintenance mode" in found.reasons[0]
    assert "--engine vllm" in found.reasons[0]
    folder = shlex.split(launch("tgi", FOLDER, CPU, program=None).line)
    assert "/models/qwen:/model" in folder
    assert folder[folder.index("--model-id") + 1] == "/model"
    assert "--gpus" not in folder
    (tmp_path / "docker").touch(mode=0o755)
    assert launch("tgi", program=None).missing is None


def test_what_the_user_gives_replaces_ours() -> None:
    line = launch("vllm", extra=("--max-model-len=9000", "--dtype", "half", "--trust-remote-code")).line
    assert line.endswith(" --max-model-len=9000 --dtype half --trust-remote-code")
    assert line.count("--max-model-len") == line.count("--dtype") == 1


def test_a_layout_of_the_users_own_is_taken() -> None:
    for extra in (("--tensor-parallel-size", "2"), ("--tensor-parallel-size=2",)):
        big = Checkpoint("o/m", "o/m", None, QWEN_72B)
        assert launch("vllm", big, cards(2, 24), extra=extra).line.count("--tensor-parallel-size") == 1


@pytest.mark.parametrize("argument", ["--port", "--host=0.0.0.0", "--served-model-name"])
def test_what_would_lead_requests_astray_is_refused(argument: str) -> None:
    with pytest.raises(UsageError, match="m3ke gives it itself"):
        launch("vllm", extra=(argument, "x"))


def test_a_key_is_not_shown() -> None:
    for extra in (("--api-key", "sk-secret"), ("--api-key=sk-secret",)):
        found = launch("vllm", extra=extra)
        assert "sk-secret" not in found.line
        assert "sk-secret" in " ".join(found.command)


@pytest.mark.parametrize(
    ("installed", "machine", "chosen", "why"),
    [
        ({"vllm", "sglang", "transformers"}, cards(1, 24), "vllm", "engine: vllm"),
        (
            {"sglang", "transformers"},
            cards(1, 24),
            "sglang",
            "engine: sglang, since vllm is not installed",
        ),
        (
            {"sglang", "transformers"},
            CPU,
            "transformers",
            "engine: transformers, since vllm is not installed and sglang wants a GPU",
        ),
        ({"vllm"}, CPU, "vllm", "engine: vllm"),
        (set(), cards(1, 24), "vllm", "engine: vllm, which has to be installed; none is"),
        (set(), CPU, "transformers", "engine: transformers, which has to be installed; none is"),
    ],
)
def test_auto_takes_the_fastest_that_is_here(
    installed: set[str], machine: Machine, chosen: str, why: str
) -> None:
    def find(engine: Engine) -> Option | None:
        return (engine.name,) if engine.name in installed else None

    engine, reason = choose_engine("auto", machine, find)
    assert (engine.name, reason) == (chosen, why)


def test_transformers_takes_no_more_memory_than_it_needs_where_there_may_be_no_gpu() -> None:
    unknown = launch("transformers", FOLDER, Machine(16 * GB, unknown="torch is not installed")).line
    assert "--device auto --dtype auto" in unknown
    assert "--cb-num-blocks 256" in unknown


def test_a_processor_is_not_flooded() -> None:
    assert launch("vllm", FOLDER, CPU).slots == 16
    assert launch("vllm").slots is None


def test_a_named_engine_is_taken_as_it_is() -> None:
    assert choose_engine("tgi", CPU, lambda engine: None)[0].name == "tgi"


def test_an_engine_beside_m3ke_comes_before_one_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = ENGINES[EngineName.SGLANG]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program(engine) is None
    program = tmp_path / "sglang"
    program.touch(mode=0o755)
    assert find_program(engine) == (str(program), "serve", "--model-path")
    (tmp_path / "sglang.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_program(engine) == (sys.executable, "-m", "sglang.launch_server", "--model-path")


def test_every_engine_that_can_be_named_is_described() -> None:
    assert set(ENGINES) == set(EngineName) - {EngineName.LLAMA_CPP}
    for name, engine in ENGINES.items():
        assert engine.name is name
