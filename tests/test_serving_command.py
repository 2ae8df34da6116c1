"""`m3ke serve`, and a run that starts its own server."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.serving.child import free_port
from tests.command import m3ke_outside

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in is a script with a shebang")

ROOT = Path(__file__).resolve().parents[1]
ENGINE = Path(__file__).with_name("fake_engine.py")
CONFIG = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """One where `vllm` is the stand-in, and no hub is reached."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "vllm"
    program.write_text(
        f'#!/bin/sh\nshift\nexec {shlex.quote(sys.executable)} {shlex.quote(str(ENGINE))} "$@"\n'
    )
    program.chmod(0o755)
    return {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "HF_HUB_CACHE": str(tmp_path / "hub"),
        "M3KE_CACHE": str(tmp_path / "cache"),
        "M3KE_DATA": "",
        "HOME": str(tmp_path),
    }


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder that looks like a model."""
    folder = tmp_path / "good"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "model.safetensors").write_bytes(b"0123456789")
    return folder


def run(model: Path, cwd: Path, environ: dict[str, str], name: str) -> subprocess.CompletedProcess[bytes]:
    arguments = ["run", f"vllm/{model}", "--serve", "--data", "sample", "--limit", "1", "--name", name]
    return m3ke_outside(*arguments, cwd=cwd, **environ)


def test_a_run_starts_its_server_and_stops_it(model: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    done = run(model, tmp_path, environ, "here")
    said = done.stderr.decode()
    assert done.returncode == ExitCode.COMPLETE, said
    assert "engine: as you said" in said
    assert re.search(r"vllm answers after \d+ s", said)
    folder = tmp_path / "results" / "here"
    record = json.loads((folder / "run.json").read_text())
    assert record["model"] == "good"
    assert record["identity"]["address"].startswith("serve:vllm:")
    assert record["counts"]["answered"] == record["counts"]["total"] > 0
    assert (folder / "server.log").read_text() == "loading weights\n"


def test_replies_are_the_models_wherever_it_lies_and_a_server_starts_only_to_be_asked(
    model: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    assert run(model, tmp_path, environ, "first").returncode == ExitCode.COMPLETE
    (tmp_path / "deep").mkdir()
    again = run(model.rename(tmp_path / "deep" / "good"), tmp_path, environ, "second")
    assert again.returncode == ExitCode.COMPLETE, again.stderr.decode()
    counts = json.loads((tmp_path / "results" / "second" / "run.json").read_text())["counts"]
    assert counts["stored"] == counts["total"] > 0
    assert not (tmp_path / "results" / "second" / "server.log").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["openai/gpt-4o", "--serve"], "--serve starts no openai server; give its address by --base-url"),
        (["vllm/o/m", "--serve", "--base-url", "http://h/v1"], "give one of them"),
        (["vllm//absent/folder", "--serve"], "there is no folder /absent/folder"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    tmp_path: Path, environ: dict[str, str], arguments: list[str], message: str
) -> None:
    done = m3ke_outside("run", *arguments, "--data", "sample", cwd=tmp_path, **environ)
    assert done.returncode == ExitCode.USAGE
    assert message in done.stderr.decode()
    assert len(done.stderr.decode().splitlines()) == 1


def test_a_server_that_fails_shows_its_last_words(tmp_path: Path, environ: dict[str, str]) -> None:
    done = m3ke_outside(
        "serve", "o/oom", "--engine", "vllm", "--port", str(free_port()), cwd=tmp_path, **environ
    )
    *_, first, second, last = done.stderr.decode().splitlines()
    assert done.returncode == ExitCode.USAGE
    assert first == "  | loading weights"
    assert second.startswith("  | torch.OutOfMemoryError: CUDA out of memory.")
    assert last.startswith("m3ke: vllm ended with status 1 while it loaded: it ran out of memory;")
    assert done.stdout == b""


def test_a_dry_run_prints_the_command_and_starts_nothing(
    model: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    done = m3ke_outside(
        "serve", model, "--engine", "vllm", "--dry-run", "--data", "sample", "--shots", "0",
        "--max-tokens", "16", "--", "--dtype", "half", cwd=tmp_path, **environ,
    )  # fmt: skip
    *reasons, command = done.stdout.decode().splitlines()
    assert done.returncode == ExitCode.COMPLETE, done.stderr.decode()
    assert all(reason.startswith("# ") for reason in reasons)
    program = f"{tmp_path}/bin/vllm serve {model} --host 127.0.0.1 --port 8000 --served-model-name good"
    assert program in command
    assert command.endswith(" --dtype half")
    assert not (tmp_path / "cache" / "servers").exists()


def test_a_gguf_file_goes_to_llama_cpp(tmp_path: Path, environ: dict[str, str]) -> None:
    done = m3ke_outside("serve", "smollm2-135m", "--dry-run", "--port", "8123", cwd=tmp_path, **environ)
    *reasons, command = done.stdout.decode().splitlines()
    assert reasons[0] == "# engine: llama.cpp, which loads GGUF files"
    settings = json.loads(shlex.split(command)[-1])
    assert (settings["name"], settings["port"], settings["context"]) == ("smollm2-135m", 8123, 2816)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serving_ends_at_a_signal_and_says_where_it_was(
    tmp_path: Path, environ: dict[str, str], number: signal.Signals
) -> None:
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "m3ke_async", "serve", "o/good", "--engine", "vllm", "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(ROOT)},
    ) as serving:
        assert serving.stdout is not None
        lines = [serving.stdout.readline().rstrip() for _ in range(3)]
        address = f"http://127.0.0.1:{port}/v1"
        log = tmp_path / "cache" / "servers" / f"vllm-{port}.log"
        assert lines == [
            f"address  {address}",
            f"log      {log}",
            f"run      m3ke run vllm/o/good --base-url {address}",
        ]
        assert httpx.get(f"{address}/models", trust_env=False).is_success
        serving.send_signal(number)
        _, said = serving.communicate(timeout=20)
    assert serving.returncode == ExitCode.INTERRUPTED
    assert said.splitlines()[-1] == "m3ke: the server was stopped"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/models", trust_env=False)
