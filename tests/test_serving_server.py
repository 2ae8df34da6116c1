"""An engine starts, is waited for, and leaves nothing behind, whatever ends it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from m3ke_async.errors import StoppedError, UsageError
from m3ke_async.serving import child, server
from m3ke_async.serving.causes import CAUSES, find_cause
from m3ke_async.serving.child import check_port, free_port
from m3ke_async.serving.engines import ENGINES, EngineName
from m3ke_async.serving.launch import Launch
from m3ke_async.serving.server import EngineServer

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups and signals are POSIX")

ROOT = Path(__file__).resolve().parents[1]
ENGINE = Path(__file__).with_name("fake_engine.py")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to who asks for them")

#: A program that starts an engine, says where it is, and waits to be killed.
PARENT = """
import asyncio, sys
from pathlib import Path
from tests.test_serving_server import served

async def main():
    async with served(sys.argv[1], Path(sys.argv[2])) as server:
        print(server.base_url, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def served(
    kind: str, log: Path, *, port: int | None = None, missing: str | None = None, **options: float
) -> EngineServer:
    port = port or free_port()
    command = (sys.executable, str(ENGINE), f"o/{kind}", "--port", str(port))
    launch = Launch(ENGINES[EngineName.VLLM], f"o/{kind}", port, command, {}, (), missing)
    return EngineServer(launch, log=log, say=lambda line: None, **options)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "run" / "server.log"


def talks(url: str) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", int(httpx.URL(url).port or 0))) == 0


def waits_until(condition: object, seconds: float = 10) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def lives(process: int) -> bool:
    """Whether a process runs; one that ended and was not looked after does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def grandchild(log: Path) -> int:
    found = re.search(r"child (\d+)", log.read_text())
    assert found
    return int(found[1])


async def test_the_engine_lives_inside_the_block(log: Path) -> None:
    async with served("good", log) as running:
        assert running.slots is None
        assert talks(running.base_url)
        assert "loading weights" in log.read_text()  # noqa: ASYNC240 - a few bytes
    assert not talks(running.base_url)


async def test_it_is_ready_when_it_is_healthy(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_PAUSE", 0.05)
    monkeypatch.setattr(server, "_TELL", 0.1)
    said: list[str] = []
    running = served("slow", log)
    running._say = said.append
    async with running, httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{running.base_url}/models")).is_success
    assert any(re.fullmatch(r"vllm loads \(\d+ s\): loading weights", line) for line in said)
    assert re.fullmatch(r"vllm answers after \d+ s", said[-1])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("oom", "vllm ended with status 1 while it loaded: it ran out of memory; take a smaller"),
        ("torn", "vllm ended with status 1 while it loaded: a weight file is torn; download it again"),
        ("strange", r"vllm ended with status 1 while it loaded \(log: "),
    ],
)
async def test_an_engine_that_fails_is_one_line_and_its_last_words(
    log: Path, kind: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        async with served(kind, log):
            pass
    assert str(caught.value).endswith(f"(log: {log})")
    assert caught.value.__notes__ == log.read_text().splitlines()  # noqa: ASYNC240 - a few bytes


async def test_a_silent_engine_is_given_up(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_PAUSE", 0.05)
    with pytest.raises(UsageError, match=r"vllm has printed nothing for 0 minutes while it loads"):
        async with served("silent", log, silence=0.3):
            pass


async def test_an_engine_that_is_not_installed_is_not_started(log: Path) -> None:
    with pytest.raises(UsageError, match="vllm is not installed: pip install vllm"):
        async with served("good", log, missing="pip install vllm"):
            pass
    assert not log.exists()  # noqa: ASYNC240 - a few bytes


async def test_a_program_that_cannot_be_run_is_one_line(log: Path) -> None:
    launch = Launch(ENGINES[EngineName.VLLM], "m", free_port(), ("/absent/vllm",), {}, ())
    with pytest.raises(UsageError, match="ended with status 127") as caught:
        async with EngineServer(launch, log=log, say=lambda line: None):
            pass
    assert caught.value.__notes__ == ["/absent/vllm: No such file or directory"]


async def test_a_port_in_use_is_refused_before_anything_starts(log: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=rf"cannot listen on port {port} .*give another --port"):
            async with served("good", log, port=port):
                pass
    assert not log.exists()  # noqa: ASYNC240 - a few bytes
    check_port(port)


async def test_an_engine_that_ends_in_the_run_is_reported(log: Path) -> None:
    async with served("dies", log) as running, httpx.AsyncClient(trust_env=False) as client:
        ended = asyncio.create_task(running.ended())
        with pytest.raises(httpx.TransportError):
            await client.get(running.base_url.removesuffix("/v1") + "/die")
        error = await ended
    assert isinstance(error, StoppedError)
    assert str(error).startswith("vllm ended with status 3 (log: ")
    assert error.__notes__[-1] == "the last words"


@LINUX
async def test_what_the_engine_started_ends_with_it(log: Path) -> None:
    async with served("children", log):
        process = grandchild(log)
        assert lives(process)
    assert not lives(process)


async def test_an_engine_that_does_not_end_is_killed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "stop", lambda process: child.stop(process, 0.3))
    async with served("stubborn", log) as running:
        assert talks(running.base_url)
    assert waits_until(lambda: not talks(running.base_url))


async def test_a_cancelled_start_stops_the_engine(log: Path) -> None:
    running = served("silent", log)

    async def enter() -> None:
        async with running:
            pytest.fail("it never answers")

    task = asyncio.create_task(enter())
    while not log.exists() or "loading" not in log.read_text():  # noqa: ASYNC240, ASYNC110 - another process
        await asyncio.sleep(0.02)
    assert running._process is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert running._process.returncode is not None


@LINUX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_parent_that_is_ended_takes_the_engine_and_its_children_with_it(
    log: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, "children", str(log)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        process = grandchild(log)
        assert lives(process)
        parent.send_signal(number)
    assert waits_until(lambda: not talks(url))
    assert waits_until(lambda: not lives(process))


@LINUX
async def test_a_killed_keeper_takes_the_engine_with_it(log: Path) -> None:
    async with served("good", log) as running:
        assert running._process is not None
        running._process.kill()
        error = await running.ended()
        assert waits_until(lambda: not talks(running.base_url))
    assert "was killed by the system" in str(error)


# -- causes --------------------------------------------------------------------------------

#: What engines print, shortened to the line that counts, by a word of what it means.
LOGS = [
    ("out of memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has"),
    ("out of memory", "ValueError: No available memory for the cache blocks. Try increasing"),
    ("out of memory", "ValueError: Free memory on device is less than desired GPU memory utilization"),
    ("out of memory", "RuntimeError: [enforce fail] err == 0. DefaultCPUAllocator: can't allocate memory"),
    (
        "no room for one prompt",
        "ValueError: ... (5.62 GiB KV cache is needed, which is larger than the available KV cache memory",
    ),
    ("its port is in use", "OSError: [Errno 98] Address already in use"),
    ("its port is in use", "ERROR: error while attempting to bind on address: address already in use"),
    ("daemon does not run", "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock."),
    ("the disk is full", "OSError: [Errno 28] No space left on device"),
    ("gated", "huggingface_hub.errors.GatedRepoError: 403 Client Error."),
    ("no such model", "OSError: o/m is not a local folder and is not a valid model identifier"),
    ("the hub is not reached", "OSError: We couldn't connect to 'https://huggingface.co' to load the files"),
    (
        "Python code of its own",
        "ValueError: The repository o/m contains custom code which must be executed to correctly load it.",
    ),
    ("architecture", "ValueError: Model architectures ['FooForCausalLM'] are not supported for now."),
    (
        "architecture",
        "ValueError: model type `foo` but Transformers does not recognize this architecture.",
    ),
    (
        "dropped the architecture",
        "ValueError: Model architecture X was supported in vLLM until v0.23.0, and is not supported anymore.",
    ),
    ("transformers lacks its server", "ImportError: Missing dependencies for serving. Install with `pip"),
    ("does not fit the devices", "RuntimeError: Failed to infer device type, please set the environment"),
    ("does not fit the devices", "RuntimeError: The NVIDIA driver on your system is too old (found 11040)."),
    ("does not know an option", "api_server.py: error: unrecognized arguments: --foo"),
    ("does not know an option", "Error: No such option: --foo"),
    ("torn", "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata"),
]


@pytest.mark.parametrize(("word", "log"), LOGS)
def test_a_cause_is_put_in_words(word: str, log: str) -> None:
    assert word in (find_cause(f"INFO loading\n{log}\nINFO bye") or "")


def test_every_cause_has_an_example() -> None:
    found = {find_cause(log) for _, log in LOGS}
    assert [cause.means for cause in CAUSES if cause.means not in found] == []


@pytest.mark.parametrize(
    "log",
    [
        "",
        "INFO non-default args: {'trust_remote_code': True, 'model': 'o/m'}",
        "Initializing an LLM engine with config: trust_remote_code=True, dtype=torch.bfloat16",
        'INFO 127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK',
    ],
)
def test_what_healthy_engines_print_is_no_cause(log: str) -> None:
    assert find_cause(log) is None
