"""`m3ke check`: models that ended, and addresses that are no API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp
import pytest

from m3ke_async.assets import asset
from m3ke_async.errors import ExitCode
from tests.command import m3ke
from tests.questions import write_suite
from tests.server import Act, error, in_thread, raw, right_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.command import Ran
    from tests.server import Server

PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body>Welcome</body></html>"


@pytest.fixture
def server() -> Iterator[Server]:
    with in_thread() as running:
        yield running


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setattr("m3ke_async.preflight._LOOK_PAUSE", 0.0)


@pytest.fixture
def check(server: Server, tmp_path: Path) -> Callable[..., Ran]:
    """`m3ke check` at the scripted server."""
    suite = write_suite(tmp_path / "suite", 1, 1)

    def run(*options: str, model: str = "vllm/m") -> Ran:
        return m3ke("check", model, "--base-url", server.url, "--data", suite, *options)

    return run


@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_key_that_the_server_repeats_is_not_shown(
    check: Callable[..., Ran], server: Server, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    key = "zq81SENTINELx0123456789"  # of no known form
    monkeypatch.setenv("THE_KEY", key)
    server.default = lambda mark: error(status, f"no: {key}, {key[:14]}")
    ran = check("--api-key-env", "THE_KEY")
    assert ran.code in {ExitCode.STOPPED, ExitCode.INCOMPLETE}
    assert "no: [key]" in ran.error
    assert "SENTINEL" not in ran.err


# Models that ended


def test_a_model_that_was_shut_down_is_named_as_such_where_nothing_answers() -> None:
    ran = m3ke("check", "openai/gpt-3.5-turbo", "--base-url", "http://127.0.0.1:1/v1", "--data", "sample")
    assert ran.code == ExitCode.INCOMPLETE
    assert "nothing answers" in ran.error
    assert "OpenAI shut gpt-3.5-turbo down on 2026-10-23" in ran.error


def test_a_model_that_was_shut_down_is_named_as_such_when_it_is_refused(
    check: Callable[..., Ran], server: Server
) -> None:
    server.default = lambda mark: error(
        404, "The model `gpt-3.5-turbo` does not exist", code="model_not_found"
    )
    ran = check("--quiet", model="openai/gpt-3.5-turbo")
    assert (ran.code, ran.out) == (ExitCode.STOPPED, "")
    assert "OpenAI shut gpt-3.5-turbo down on 2026-10-23" in ran.error
    assert "it names gpt-5.6-terra in its place" in ran.error
    assert "Azure OpenAI (azure-openai)" in ran.error
    assert "LiteLLM proxy (litellm-proxy)" in ran.error


def test_without_a_key_the_file_alone_says_that_a_model_was_shut_down(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    ran = m3ke("check", "openai/gpt-3.5-turbo")
    assert ran.code == ExitCode.STOPPED
    assert "OpenAI shut gpt-3.5-turbo down on 2026-10-23" in ran.error
    other = m3ke("check", "openai/gpt-99")
    assert other.code == ExitCode.USAGE
    assert "no key for OpenAI" in other.error


def test_a_model_that_answers_after_its_end_is_reported_with_its_end(
    check: Callable[..., Ran], server: Server
) -> None:
    ran = check(model="openai/gpt-3.5-turbo")
    assert ran.code == ExitCode.COMPLETE
    assert "advice       OpenAI shut gpt-3.5-turbo down on 2026-10-23" in ran.out


@pytest.mark.parametrize(
    ("day", "words"), [("2001-02-03", "shut m down on"), ("2999-01-01", "will shut m down on")]
)
def test_the_servers_list_tells_when_any_model_ends(
    check: Callable[..., Ran], server: Server, day: str, words: str
) -> None:
    server.answers["/v1/models"] = {"data": [{"id": "m", "shutdown_date": day}]}
    ran = check()
    assert f"vLLM {words} {day}" in ran.out
    assert "(its list of models)" in ran.out
    (one,) = check("--json").json
    assert (one["ending"]["model"], one["ending"]["on"]) == ("m", day)


def test_a_run_warns_of_a_model_that_ends(server: Server, tmp_path: Path) -> None:
    server.answers["/v1/models"] = {"data": [{"id": "m", "shutdown_date": "2999-01-01"}]}
    ran = m3ke(
        *("run", "vllm/m", "--base-url", server.url, "--data", write_suite(tmp_path / "s", 1, 1)),
        *("--results", tmp_path / "results"),
    )
    assert "vLLM will shut m down on 2999-01-01" in ran.err


def test_a_model_of_which_no_end_is_known_has_none(check: Callable[..., Ran], server: Server) -> None:
    (one,) = check("--json").json
    assert one["ending"] is None


def test_what_a_model_refuses_is_adapted_as_a_run_does_and_told(
    check: Callable[..., Ran], server: Server
) -> None:
    refusals = [
        error(400, "Use 'max_tokens' instead", code="unsupported_parameter", param="max_completion_tokens"),
        error(400, "'temperature' does not support 0", code="unsupported_value", param="temperature"),
    ]
    server.script["Q0-0"] = [*refusals, right_reply("Q0-0")]
    ran = check(model="openai/m")
    assert ran.code == ExitCode.COMPLETE
    assert "adapted      the limit of tokens goes by the name max_tokens\n" in ran.out
    assert "adapted      no temperature is sent, and the model takes its own\n" in ran.out
    assert {"temperature", "max_completion_tokens"}.isdisjoint(server.seen[-1].body)
    assert len(server.seen) == 3


def test_a_parameter_that_cannot_be_adapted_stops_the_check(
    check: Callable[..., Ran], server: Server
) -> None:
    server.default = lambda mark: error(400, "no", code="unsupported_parameter", param="messages")
    ran = check("--quiet")
    assert ran.code == ExitCode.STOPPED
    assert len(server.seen) == 1


# Addresses that are no API, and servers that are not ready


LOGIN = raw(PAGE, 302, location="https://login.example.org/?next=%2Fv1&token=SENTINEL99")
LOADING = raw({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, 503)


@pytest.mark.parametrize(
    ("act", "code", "words"),
    [
        (raw(PAGE), ExitCode.STOPPED, ["the answer is a web page", "Sign in", "check the base URL"]),
        (raw(PAGE, 404), ExitCode.STOPPED, ["takes such requests", "check the base URL"]),
        (LOGIN, ExitCode.STOPPED, ["redirects", "login.example.org", "login page"]),
        (LOADING, ExitCode.INCOMPLETE, ["still loading its model", "run the same command again"]),
        (error(401, "Incorrect API key provided"), ExitCode.STOPPED, ["the key was refused", "VLLM_API_KEY"]),
        (
            raw(
                {"error": {"message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404}},
                404,
            ),
            ExitCode.STOPPED,
            ["there is no such model", "--served-model-name"],
        ),
        (error(402, "pay"), ExitCode.STOPPED, ["no credit"]),
        (error(429, "slowly"), ExitCode.INCOMPLETE, ["the rate limit was reached"]),
    ],
)
@pytest.mark.parametrize("everywhere", [True, False])
def test_what_is_wrong_is_one_line_with_the_address(
    check: Callable[..., Ran], server: Server, act: Act, code: ExitCode, words: list[str], *, everywhere: bool
) -> None:
    server.default = lambda mark: act
    if everywhere:  # also where the list of models should be
        server.models, server.answers["/v1/models"] = None, act
    ran = check("--quiet")
    assert (ran.code, ran.out) == (code, "")
    assert ran.error.startswith(server.url)
    for word in words:
        assert word in ran.error
    assert "SENTINEL" not in ran.error
    paths = [seen.path for seen in server.seen]
    assert len(set(paths)) == len(paths)  # no address twice


def test_where_nothing_listens_the_line_asks_whether_the_server_runs() -> None:
    with in_thread() as gone:
        pass
    ran = m3ke("check", "vllm/m", "--base-url", gone.url, "--quiet")
    assert ran.code == ExitCode.INCOMPLETE
    assert "is the server running?" in ran.error


def test_where_the_host_has_no_address_the_line_asks_for_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **__: object) -> None:
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", unknown)
    ran = m3ke("check", "custom/m", "--base-url", "http://models.invalid/v1", "--quiet")
    assert ran.code == ExitCode.INCOMPLETE
    assert "is the address right?" in ran.error


def test_a_model_that_is_not_listed_is_told_with_the_nearest(
    check: Callable[..., Ran], server: Server
) -> None:
    server.models = ("mm",)
    ran = check()
    assert "does not list 'm', did you mean 'mm'?" in ran.err
    assert "not listed, but it answers" in ran.out


# A provider file of one's own


def test_the_documented_file_of_ones_own_works_as_documented(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = asset("docs", "providers.md").read_text("utf-8")
    file = text.split("For oneself")[1].split("```toml\n")[1].split("```")[0]
    assert "http://127.0.0.1:9000/v1" in file
    (tmp_path / "providers").mkdir()
    (tmp_path / "providers" / "gateway.toml").write_text(file.replace("http://127.0.0.1:9000/v1", server.url))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GATEWAY_KEY", "a-key")
    suite = write_suite(tmp_path / "suite", 1, 1)
    assert "My gateway" in m3ke("providers", "gateway").out
    assert m3ke("check", "gateway/m", "--data", suite).code == ExitCode.COMPLETE
    server.default = lambda mark: error(403, "You are too fast.")
    ran = m3ke("check", "gateway/m", "--data", suite, "--quiet")
    assert ran.code == ExitCode.INCOMPLETE
    assert "My gateway: the rate limit was reached" in ran.error


def test_a_run_goes_on_wherever_the_providers_file_lies(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = write_suite(tmp_path / "suite", 1, 2)
    beside, own = tmp_path / "work" / "providers", tmp_path / "config" / "providers"
    beside.mkdir(parents=True)
    own.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("M3KE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("MINE_KEY", "SENTINEL")
    file = (
        f'title = "Mine"\nhosting = "hosted"\n[address]\nbase_url = "{server.url}"\n[key]\nenv = "MINE_KEY"\n'
    )
    (beside / "mine.toml").write_text(file, "utf-8")
    assert m3ke("check", "mine/m", "--data", suite).code == ExitCode.COMPLETE
    assert server.seen[0].headers["authorization"] == "Bearer SENTINEL"
    first = m3ke("run", "mine/m", "--data", suite, "--results", tmp_path / "results", "--json")
    assert len(server.seen) == 3
    (beside / "mine.toml").rename(own / "mine.toml")
    again = m3ke("run", "mine/m", "--data", suite, "--results", tmp_path / "results", "--json")
    assert len(server.seen) == 3
    assert again.json["path"] == first.json["path"]
    # What the file says of requests by now changes none that was made, nor does it have to be there.
    text = (own / "mine.toml").read_text("utf-8")
    (own / "mine.toml").write_text(text + 'request.token_parameter = "max_completion_tokens"\n', "utf-8")
    m3ke("run", "mine/m", "--data", suite, "--results", tmp_path / "results", "--json")
    assert len(server.seen) == 3
    (own / "mine.toml").unlink()
    scored = m3ke("score", first.json["path"], "--json")
    assert (scored.code, scored.json["scores"]) == (ExitCode.COMPLETE, first.json["scores"])


def test_the_neighbouring_address_is_asked_and_advised(check: Callable[..., Ran], server: Server) -> None:
    root = server.url.removesuffix("/v1")
    server.models = None
    server.default = lambda mark: (
        right_reply(mark) if server.seen[-1].path == "/v1/chat/completions" else error(404, "Not Found")
    )
    ran = check("--base-url", root)
    assert ran.code == ExitCode.COMPLETE
    assert f"nothing takes questions at {root}: give --base-url {server.url}" in ran.out
