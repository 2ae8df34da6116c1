"""Real servers, started by `m3ke serve` and asked for real; `make test-servers` runs this.

Each server answers a few questions, its true error answers are decided as the
provider files say, and nothing of it is left behind.

    M3KE_SERVERS    folder with the environments `vllm` and `transformers`, and the folder `model`
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.faults import Action, Decision, decide
from m3ke_async.providers import load_profile
from m3ke_async.serving.child import free_port
from tests.command import m3ke
from tests.small_suite import write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SERVERS = Path(os.environ.get("M3KE_SERVERS", ROOT / ".venv-servers"))
MODEL = SERVERS / "model"
KEY = "secret-test"
#: Seconds for a server to load on busy cores.
PATIENCE = 1200

pytestmark = pytest.mark.timeout(2 * PATIENCE)


@dataclass(frozen=True)
class Running:
    """A server that was started.

    Attributes:
        engine: of the command line.
        model: provider and name, as a run is given them.
        url: with the /v1.
        log: its own.
    """

    engine: str
    model: str
    url: str
    log: Path

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]

    @property
    def name(self) -> str:
        return self.model.partition("/")[2]

    def ask(self, key: str = KEY, **fields: Any) -> httpx.Response:
        """One request, but for its fields."""
        asked = {"model": self.name, "messages": [{"role": "user", "content": "1+1=?"}], "max_tokens": 4}
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(trust_env=False, timeout=600, headers=headers) as client:
            return client.post(f"{self.url}/chat/completions", json=asked | fields)

    def decided(self, response: httpx.Response) -> Decision:
        """What the provider's file makes of an answer."""
        return decide(
            load_profile(self.provider),
            status=response.status_code,
            headers=dict(response.headers),
            body=response.content,
            exception=None,
            now=0.0,
        )


def command(engine: str) -> tuple[list[str], dict[str, str]]:
    """How `m3ke serve` is called for an engine, and its environment."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    match engine:
        case "vllm":  # m3ke is in its environment
            python = SERVERS / "vllm" / "bin" / "python"
            return [str(python), "-m", "m3ke_async", "serve", str(MODEL)], environ | {"VLLM_API_KEY": KEY}
        case "transformers":  # found on PATH
            environ["PATH"] = f"{SERVERS / 'transformers' / 'bin'}{os.pathsep}{environ['PATH']}"
            return [sys.executable, "-m", "m3ke_async", "serve", str(MODEL)], environ
        case _:
            return [sys.executable, "-m", "m3ke_async", "serve", "qwen2.5-coder-0.5b"], environ


#: vLLM's graphs take a minute to compile and gain nothing here.
EXTRA = {"vllm": ["--", "--enforce-eager"]}


def descendants(process: int) -> set[int]:
    """Every process below this one."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found: set[int] = {process}
    last: set[int] = set()
    while found != last:
        last = set(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found - {process}


@pytest.fixture(scope="module", params=["llama.cpp", "transformers", "vllm"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    engine = request.param
    arguments, environ = command(engine)
    needed = SERVERS / engine / "bin" / "python"
    if engine != "llama.cpp" and not (needed.exists() and MODEL.is_dir()):
        pytest.skip(f"{needed} or {MODEL} is not there: make test-servers installs them")
    folder = tmp_path_factory.mktemp("serve")
    port = free_port()
    options = ["--engine", engine, "--port", str(port), "--data", "sample", *EXTRA.get(engine, [])]
    started = time.monotonic()
    with subprocess.Popen(
        [*arguments, *options], stdout=subprocess.PIPE, text=True, env=environ, cwd=folder
    ) as serving:
        assert serving.stdout is not None
        told = dict(
            line.split(maxsplit=1) for line in (serving.stdout.readline() for _ in range(3)) if line.strip()
        )
        assert told, f"{engine} did not start: {serving.wait()}"
        print(f"\n{engine}: ready after {time.monotonic() - started:.0f} s")
        model = told["run"].split()[2]
        yield Running(engine, model, told["address"].strip(), Path(told["log"].strip()))
        below = descendants(serving.pid)
        assert below
        serving.send_signal(signal.SIGINT)
        assert serving.wait(60) == ExitCode.INTERRUPTED
    assert [process for process in below if Path(f"/proc/{process}").exists()] == []


def test_a_small_evaluation(running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    started = time.monotonic()
    suite = write_suite(tmp_path / "suite")
    asked: list[str | Path] = ["--data", suite, "--split", "test", "--shots", "1", "--max-tokens", "8"]
    kept: list[str | Path] = ["--results", tmp_path, "--name", "run", "--json", "--quiet"]
    done = m3ke("run", running.model, "--base-url", running.url, *asked, *kept)
    assert done.code == ExitCode.COMPLETE, done.err
    ledger = done.json["ledger"]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    counts = record["counts"]
    assert counts["answered"] == counts["total"] > 0
    assert counts["failed"] == 0
    assert ledger["prompt_tokens"] > 0
    seconds = time.monotonic() - started
    print(f"\n{running.engine}: {counts['total']} questions in {seconds:.0f} s, {ledger}")


def test_a_prompt_that_is_too_long_fails_alone(running: Running) -> None:
    if running.engine == "transformers":
        pytest.skip("transformers serve has no bound of its own")
    response = running.ask(messages=[{"role": "user", "content": "很长的题目。" * 4000}])
    assert running.decided(response).action is Action.FAIL_ITEM, response.text
    assert running.decided(response).kind == "too_long", response.text


def test_another_model_stops_the_run_where_the_name_counts(running: Running) -> None:
    response = running.ask(model="no/such-model")
    if running.engine == "llama.cpp":  # it does not look at the name
        assert response.is_success
        return
    decision = running.decided(response)
    assert (decision.action, decision.kind) == (Action.STOP_RUN, "no_model"), response.text


#: Fields that each engine refuses.
BAD_FIELDS: dict[str, list[dict[str, Any]]] = {
    "vllm": [{"temperature": -1}, {"temperature": "hot"}, {"logprobs": True, "top_logprobs": 99}],
    "llama.cpp": [{"response_format": {"type": "regex", "value": "[ABCD]"}}],
    "transformers": [{"structured_outputs": {"choice": ["A", "B"]}}],
}


def test_a_bad_parameter_stops_the_run(running: Running) -> None:
    for fields in BAD_FIELDS[running.engine]:
        response = running.ask(**fields)
        decision = running.decided(response)
        assert (decision.action, decision.kind) == (Action.STOP_RUN, "bad_parameter"), response.text


def test_a_wrong_key_stops_the_run(running: Running) -> None:
    if running.engine != "vllm":
        pytest.skip("started without a key")
    decision = running.decided(running.ask(key="wrong"))
    assert (decision.action, decision.kind) == (Action.STOP_RUN, "bad_key")


def test_a_reset_after_an_error_costs_nothing(running: Running) -> None:
    """After a bad value transformers serve resets the kept connection; a fresh one answers."""
    if running.engine != "transformers":
        pytest.skip("others keep it")
    with httpx.Client(trust_env=False, timeout=600) as client:
        url = f"{running.url}/chat/completions"
        bad = client.post(url, json={"model": running.name, "messages": []})
        assert running.decided(bad).action is Action.RETRY, bad.text
    assert running.ask().is_success
