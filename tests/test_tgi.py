"""TGI's own protocol: its parameters, its answers, and a whole run against /generate and /info."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.errors import ExitCode, StoppedError
from m3ke_async.providers import load_profile
from m3ke_async.request import Reply, Usage
from m3ke_async.wire.protocol import Wanted
from m3ke_async.wire.tgi import body, parse, usage_of
from tests.asking import Notes, ask
from tests.questions import write_suite
from tests.server import raw, right

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server import Server

PROFILE = load_profile("tgi")


def generated(text: Any, finish: str = "eos_token", tokens: Any = 2) -> dict[str, Any]:
    details = {"finish_reason": finish, "generated_tokens": tokens, "seed": None, "prefill": [], "tokens": []}
    return {"generated_text": text, "details": details}


def parsed(answer: Any) -> Reply | None:
    return parse(json.dumps(answer).encode(), PROFILE)


def asked(temperature: float, stop: tuple[str, ...] = ()) -> dict[str, Any]:
    return body(Wanted("m", temperature, 8, stop=stop), [{"role": "user", "content": "问"}])


def test_greedy_sends_no_temperature_since_zero_is_refused() -> None:
    assert asked(0.0, ("\n\n",)) == {
        "inputs": "问",
        "parameters": {
            "max_new_tokens": 8,
            "do_sample": False,
            "details": True,
            "return_full_text": False,
            "stop": ["\n\n"],
        },
    }


def test_sampling_is_asked_for_in_words() -> None:
    parameters = asked(0.5)["parameters"]
    assert (parameters["do_sample"], parameters["temperature"]) == (True, 0.5)
    assert "stop" not in parameters


def test_every_parameter_is_one_that_the_server_takes(shared: Path) -> None:
    facts = json.loads((shared / "server-facts" / "tgi-from-repo.json").read_text("utf-8"))
    known = {*facts["generate_request"]["parameters"], "temperature"}
    assert asked(0.5, ("\n",))["parameters"].keys() <= known


def test_a_generation_is_a_reply() -> None:
    assert parsed(generated("A")) == Reply("A", finish_reason="eos_token", usage=Usage(completion_tokens=2))


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (generated(""), False),
        (generated("", "length"), True),
        (generated(None), False),
        ({"generated_text": "A"}, True),
        ({"generated_text": "A", "details": []}, True),
        ({"error": "overloaded", "error_type": "overloaded"}, False),
        ([{"generated_text": "A"}], False),
        ({}, False),
    ],
)
def test_what_is_no_text_is_no_reply(answer: Any, *, kept: bool) -> None:
    assert (parsed(answer) is not None) is kept


@pytest.mark.parametrize(("tokens", "known"), [(3, 3), (-1, None), (True, None), ("3", None)])
def test_odd_numbers_of_tokens_are_unknown(tokens: Any, known: int | None) -> None:
    assert usage_of(json.dumps(generated("", tokens=tokens)).encode(), PROFILE) == Usage(
        completion_tokens=known
    )
    assert usage_of(b"nothing", PROFILE) == Usage()


@pytest.mark.parametrize("given", ["/v1", "/v1/", "", "/generate"])
async def test_a_run_asks_generate_beside_the_v1_and_looks_at_info(
    server: Server, tmp_path: Path, given: str
) -> None:
    server.default = lambda mark: raw(generated(right(mark)))
    server.answers["/info"] = {"model_id": "m", "version": "3.3.6-dev0"}
    url, notes = server.url.removesuffix("/v1") + given, Notes()
    suite = write_suite(tmp_path / "suite")
    result = await ask(suite, url, tmp_path / "results", notes=notes, protocol="tgi")
    assert result.exit_code is ExitCode.COMPLETE
    assert result.scores.total.correct == 4
    assert {seen.path for seen in server.seen} == {"/generate"}
    assert notes.warned == []


async def test_two_models_at_one_address_share_no_reply(server: Server, tmp_path: Path) -> None:
    server.default = lambda mark: raw(generated(right(mark)))
    suite = write_suite(tmp_path / "suite")
    for model in ("custom/one", "custom/two", "custom/one"):
        await ask(suite, server.url, tmp_path / "results", model=model, protocol="tgi")
    assert len(server.seen) == 8


async def test_another_model_than_the_one_that_is_wanted_is_told_of(server: Server, tmp_path: Path) -> None:
    server.default = lambda mark: raw(generated(right(mark)))
    server.answers["/info"] = {"model_id": "org/other"}
    notes = Notes()
    await ask(write_suite(tmp_path / "suite"), server.url, tmp_path / "r", notes=notes, protocol="tgi")
    assert any("does not list 'm', but org/other" in warning for warning in notes.warned)


async def test_a_refusal_stops_the_run_with_the_servers_words(server: Server, tmp_path: Path) -> None:
    server.default = lambda mark: raw(
        {"error": "Input validation error: `stop` supports up to 4", "error_type": "validation"}, 422
    )
    result = await ask(
        write_suite(tmp_path / "suite"), server.url, tmp_path / "r", model="tgi/m", protocol="tgi"
    )
    assert isinstance(result.stopped, StoppedError)
    assert "`stop` supports up to 4" in str(result.stopped)
