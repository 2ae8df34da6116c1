"""What a list of models tells, and where it is looked for."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.preflight import listed_models
from tests.asking import Notes, ask
from tests.questions import write_suite
from tests.server import error, right_reply

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.server import Act, Server


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b'{"data": [{"id": "a"}, {"id": "b"}]}', {"a", "b"}),
        (b'[{"id": "a"}]', {"a"}),
        (b'{"data": [{"id": 5}, null, "x", {"id": "a"}]}', {"a"}),
        (b'{"data": []}', set()),
        (b'{"data": null}', None),
        (b'{"error": "no"}', None),
        (b'{"model_id": "a"}', {"a"}),
        (b'"text"', None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_names_are_read_from_any_form_of_the_list(body: bytes, names: set[str] | None) -> None:
    assert listed_models(body) == (None if names is None else dict.fromkeys(names))


@pytest.mark.parametrize(
    ("said", "day"),
    [
        (b'"2026-10-23"', date(2026, 10, 23)),
        (b'"2026-10-23T00:00:00Z"', date(2026, 10, 23)),
        (b"null", None),
        (b'"soon"', None),
        (b'""', None),
        (b"20261023", None),
        (b'["2026-10-23"]', None),
    ],
)
def test_the_day_of_a_shutdown_is_read_from_the_list(said: bytes, day: date | None) -> None:
    assert listed_models(b'{"data": [{"id": "a", "shutdown_date": %s}]}' % said) == {"a": day}


# -- the neighbouring address --------------------------------------------------------------


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite")


async def test_an_address_that_lacks_its_version_is_found_once_and_reported(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.models, server.answers["/v1/models"] = None, {"data": [{"id": "m"}]}
    bare, notes = server.url.removesuffix("/v1"), Notes()
    result = await ask(suite, bare, tmp_path / "r", notes=notes)
    assert result.exit_code is ExitCode.COMPLETE
    assert {seen.path for seen in server.seen} == {"/v1/chat/completions"}
    assert server.looks == 2
    told = [line for line in notes.said if "nothing is at" in line]
    assert told == [f"nothing is at {bare}, so {server.url} is asked, which lists models"]
    # the identity stays the address that was given: the same command asks nothing again
    again = await ask(suite, bare, tmp_path / "r", fresh=False, limit=3)
    assert again.exit_code is ExitCode.COMPLETE
    assert len(server.seen) == 4


async def test_a_version_too_many_is_found_as_well(server: Server, suite: Path, tmp_path: Path) -> None:
    server.models, server.answers["/models"] = None, {"data": [{"id": "m"}]}
    result = await ask(suite, server.url, tmp_path / "r")
    assert result.exit_code is ExitCode.COMPLETE
    assert {seen.path for seen in server.seen} == {"/chat/completions"}


async def test_where_no_address_lists_models_the_given_one_is_asked(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    server.models, notes = None, Notes()
    bare = server.url.removesuffix("/v1")
    result = await ask(suite, bare, tmp_path / "r", notes=notes)
    assert result.exit_code is ExitCode.COMPLETE
    assert {seen.path for seen in server.seen} == {"/chat/completions"}
    assert server.looks == 2
    assert not any("nothing is at" in line for line in notes.said)


async def test_an_address_with_a_list_is_not_doubted(server: Server, suite: Path, tmp_path: Path) -> None:
    await ask(suite, server.url.removesuffix("/v1"), tmp_path / "r")
    assert server.looks == 1
    assert {seen.path for seen in server.seen} == {"/chat/completions"}


def only_at(path: str, server: Server) -> None:
    """No list of models, and a chat route at this path alone."""
    server.models = None
    answer = server.begin

    def begin(at: float, asked: str, headers: Mapping[str, str], body: bytes) -> tuple[str, Act]:
        mark, act = answer(at, asked, headers, body)
        return mark, act if asked == path else error(404, "Not Found")

    server.begin = begin  # type: ignore[method-assign, assignment]


@pytest.mark.parametrize(("given", "path"), [("", "/v1"), ("/v1", "")])
async def test_without_any_list_the_first_question_finds_the_neighbouring_address(
    server: Server, suite: Path, tmp_path: Path, given: str, path: str
) -> None:
    only_at(f"{path}/chat/completions", server)
    root, notes = server.url.removesuffix("/v1"), Notes()
    result = await ask(suite, f"{root}{given}", tmp_path / "r", notes=notes)
    assert result.exit_code is ExitCode.COMPLETE
    assert [seen.path for seen in server.seen].count(f"{given}/chat/completions") == 1
    told = [line for line in notes.warned if "nothing takes questions" in line]
    assert told == [f"nothing takes questions at {root}{given}, so {root}{path} is asked"]
    assert result.ledger.retries == {"wrong_address": 1}


async def test_where_nothing_is_at_either_address_the_run_stops_after_both(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    only_at("/elsewhere", server)
    result = await ask(suite, server.url, tmp_path / "r")
    assert result.exit_code is ExitCode.STOPPED
    assert [seen.path for seen in server.seen] == ["/v1/chat/completions", "/chat/completions"]
    root = server.url.removesuffix("/v1")
    assert str(result.stopped).startswith(f"{root}/v1/chat/completions and {root}/chat/completions: ")


async def test_a_list_at_an_address_without_a_chat_route_deceives_nobody(
    server: Server, suite: Path, tmp_path: Path
) -> None:
    only_at("/v1/chat/completions", server)
    server.models = ("m",)
    result = await ask(suite, server.url.removesuffix("/v1"), tmp_path / "r")
    assert result.exit_code is ExitCode.COMPLETE


@pytest.mark.parametrize(("concurrency", "alone"), [(4, False), ("auto", True)])
async def test_a_quick_list_lets_the_others_go_where_their_number_was_given(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, concurrency: int | str, alone: bool
) -> None:
    monkeypatch.setattr("m3ke_async.session._ALONE", 30.0)
    server.default = lambda mark: right_reply(mark).after(0.5)
    await ask(write_suite(tmp_path / "suite"), server.url, tmp_path / "r", concurrency=concurrency)
    first, second, *_ = (seen.at for seen in server.seen)
    assert (second - first >= 0.5) == alone
