"""`m3ke batch` as a command: in this process, killed in another, two at once, and without a server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import tracemalloc
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.address import parse_address
from m3ke_async.batch.client import BatchClient
from m3ke_async.batch.storing import Storer, take_lines
from m3ke_async.errors import ExitCode
from m3ke_async.progress import Silent
from m3ke_async.settings_checks import make_settings
from m3ke_async.store import ReplyStore
from m3ke_async.target import Target, find_target
from tests.asking import ended, start
from tests.batch_server import BatchServer, Fault, all_right, answered, in_thread, mark_of, refused
from tests.command import m3ke
from tests.questions import marks, write_suite
from tests.server import in_thread as live_server
from tests.server import right

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("m3ke_async.batch.waiting._SOON", 0.01)
    monkeypatch.setattr("m3ke_async.batch.client._SETTLE", 0.01)


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with in_thread() as started:
        yield started


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite", tasks=1, rows=4)


def asked(suite: Path, url: str, *more: str) -> list[str]:
    """Arguments that begin a run by batches."""
    given = ["--base-url", url, "--data", str(suite), "--results", str(suite.parent / "results")]
    return ["openai/m", *given, "--name", "r", *more]


def at(suite: Path) -> list[str]:
    """Arguments that go on with it."""
    return ["r", "--results", str(suite.parent / "results")]


def letters(suite: Path) -> dict[str, str]:
    lines = (suite.parent / "results" / "r" / "answers.jsonl").read_text("utf-8").splitlines()
    return {f"Q0-{row['id']}": row["choice"] for row in map(json.loads, lines)}


RIGHT = {mark: right(mark) for mark in marks(1, 4)}


def test_submit_status_collect(server: BatchServer, suite: Path) -> None:
    server.stages = ["in_progress", "in_progress", "completed"]
    ran = m3ke("batch", "submit", *asked(suite, server.url))
    assert ran.code == ExitCode.COMPLETE
    assert "submitted 4 questions as batch-" in ran.err
    assert f"m3ke batch collect {suite.parent / 'results' / 'r'}" in ran.err
    ran = m3ke("batch", "status", *at(suite))
    assert ran.out.startswith("batch-2: in_progress, 0 of 4 done, 4 questions, ")
    ran = m3ke("batch", "collect", *at(suite), "--quiet")
    assert ran.code == ExitCode.INCOMPLETE
    assert "4 questions are in batches that are under way: collect again later" in ran.err
    ran = m3ke("batch", "collect", *at(suite), "--json", "--quiet")
    assert ran.code == ExitCode.COMPLETE, ran.err
    assert ran.json["scores"]["total"]["correct"] == 4
    assert letters(suite) == RIGHT
    (part,) = m3ke("batch", "status", *at(suite), "--json").json
    assert (part["stage"], part["status"], part["replies"]) == ("closed", "completed", 4)
    ran = m3ke("batch", "submit", *at(suite))
    assert ran.code == ExitCode.COMPLETE
    assert server.bills.total() == 4


def test_cancel_then_collect(server: BatchServer, suite: Path) -> None:
    server.stages = ["in_progress"]
    server.results = lambda lines: (all_right(lines)[0][:1], [])
    m3ke("batch", "submit", *asked(suite, server.url))
    ran = m3ke("batch", "cancel", *at(suite))
    assert ran.code == ExitCode.COMPLETE
    assert "cancelling; collect what was answered before" in ran.err
    m3ke("batch", "collect", *at(suite))
    ran = m3ke("batch", "collect", *at(suite), "--then", "live", "--json", "--quiet")
    assert letters(suite) == RIGHT
    assert server.live.total() == 3


def test_what_collect_leaves_is_asked_by_the_commands_that_it_names(server: BatchServer, suite: Path) -> None:
    server.stages, server.results = ["completed"], lambda lines: (all_right(lines)[0][:1], [])
    m3ke("batch", "submit", *asked(suite, server.url))
    run = suite.parent / "results" / "r"
    submit, live = f"m3ke batch submit {run}", f"m3ke batch collect {run} --then live"
    for left, then in ((3, ["collect", *at(suite)]), (3, ["submit", str(run)]), (2, ["collect", str(run)])):
        ran = m3ke("batch", "collect", *at(suite))
        assert ran.code == ExitCode.INCOMPLETE
        assert f"{left} questions have no reply; {submit} submits them again, {live} asks them now" in ran.err
        assert "same command" not in ran.err
        m3ke("batch", *then)
    assert m3ke(*live.split()[1:]).code == ExitCode.COMPLETE
    assert letters(suite) == RIGHT


def test_commands_that_are_named_run_as_written_where_the_folder_has_a_space(
    server: BatchServer, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "my suite" / "suite", tasks=1, rows=4)
    ran = m3ke("batch", "submit", *asked(suite, server.url))
    (command,) = re.findall(r"to collect: (m3ke batch .*)", ran.err)
    server.stages, server.faults["download"] = ["completed"], [Fault(200, b"<html>")] * 3
    ran = m3ke(*shlex.split(command)[1:])
    (command,) = re.findall(r"give the batch up by (m3ke batch .*)", ran.err)
    assert m3ke(*shlex.split(command)[1:]).code == ExitCode.COMPLETE


@pytest.mark.parametrize("complete", [True, False])
def test_where_nothing_is_under_way_nothing_is_to_cancel_or_collect(
    server: BatchServer, suite: Path, *, complete: bool
) -> None:
    server.stages = ["completed"] if complete else ["failed"]
    m3ke("run", *asked(suite, server.url, "--batch", "--quiet"))
    ran = m3ke("batch", "cancel", *at(suite))
    run = suite.parent / "results" / "r"
    assert (ran.code, ran.err) == (0, f"nothing to cancel: no batch of {run} is under way\n")
    ran = m3ke("batch", "collect", *at(suite))
    assert f"nothing to collect: no batch of {run} is under way\n" in ran.err
    assert ran.code == (ExitCode.COMPLETE if complete else ExitCode.INCOMPLETE)


def test_submit_tells_of_what_is_being_cancelled(server: BatchServer, suite: Path) -> None:
    server.stages = ["in_progress"]
    m3ke("batch", "submit", *asked(suite, server.url))
    m3ke("batch", "cancel", *at(suite))
    ran = m3ke("batch", "submit", *at(suite))
    assert (
        "4 questions are in batches that are being cancelled; to collect what was answered before" in ran.err
    )
    assert "24 hours" not in ran.err


@pytest.mark.parametrize(("call", "told"), [("upload", "not"), ("create", "perhaps not")])
def test_status_tells_that_what_was_begun_is_submitted_by_collect_and_dropped_by_cancel(
    server: BatchServer, suite: Path, call: str, told: str
) -> None:
    server.faults[call], server.stages = [Fault(401)], ["completed"]
    m3ke("batch", "submit", *asked(suite, server.url))
    out = m3ke("batch", "status", *at(suite)).out
    assert f": {told} submitted yet (" in out
    assert out.endswith("4 questions; m3ke batch collect submits it, m3ke batch cancel does not\n")
    assert m3ke("batch", "cancel", *at(suite)).code == ExitCode.COMPLETE
    m3ke("batch", "collect", *at(suite))
    assert not server.bills
    server.faults[call] = [Fault(401)]
    m3ke("batch", "submit", *at(suite))
    ran = m3ke("batch", "collect", *at(suite))
    assert "submitted 4 questions" in ran.err
    assert m3ke("batch", "collect", *at(suite)).code == ExitCode.COMPLETE


def test_a_run_that_has_begun_takes_no_other_questions(server: BatchServer, suite: Path) -> None:
    m3ke("batch", "submit", *asked(suite, server.url))
    ran = m3ke("batch", "submit", *at(suite), "--shots", "3")
    assert ran.code == ExitCode.USAGE
    assert "--shots is no option of going on with it" in ran.error
    ran = m3ke("batch", "collect", "nowhere", "--results", str(suite.parent))
    assert ran.code == ExitCode.USAGE
    assert "no run at 'nowhere'" in ran.error


def test_what_a_complete_run_was_told_once_is_not_done_again(server: BatchServer, suite: Path) -> None:
    server.stages = ["completed"]
    for _ in range(2):
        assert m3ke("run", *asked(suite, server.url, "--batch", "--fresh")).code == ExitCode.COMPLETE
    assert server.bills.total() == 8
    assert m3ke("batch", "submit", *at(suite)).code == ExitCode.COMPLETE
    assert server.bills.total() == 8


@pytest.mark.parametrize("option", ["--fresh", "--retry-filtered"])
def test_what_is_submitted_anew_is_collected_though_the_run_was_complete(
    server: BatchServer, suite: Path, option: str
) -> None:
    server.stages = ["completed"]
    server.results = lambda lines: (
        [],
        [refused(line["custom_id"], 400, "blocked", "content_filter") for line in lines],
    )
    assert m3ke("run", *asked(suite, server.url, "--batch")).code == ExitCode.COMPLETE
    server.results = all_right
    assert m3ke("batch", "submit", *asked(suite, server.url, option)).code == ExitCode.COMPLETE
    assert m3ke("batch", "collect", *at(suite)).code == ExitCode.COMPLETE
    assert letters(suite) == RIGHT
    assert server.bills.total() == 8


def test_what_is_submitted_anew_can_be_cancelled_though_the_run_was_complete(
    server: BatchServer, suite: Path
) -> None:
    server.stages = ["completed"]
    m3ke("run", *asked(suite, server.url, "--batch"))
    server.stages = ["in_progress"]
    m3ke("batch", "submit", *asked(suite, server.url, "--fresh"))
    ran = m3ke("batch", "collect", *at(suite), "--quiet")
    assert (ran.code, "collect again later" in ran.err) == (ExitCode.INCOMPLETE, True)
    ran = m3ke("run", *asked(suite, server.url, "--batch", "--fresh", "--max-time", "0.001", "--quiet"))
    assert (ran.code, "collect again later" in ran.err) == (ExitCode.INCOMPLETE, True)
    m3ke("batch", "cancel", *at(suite))
    assert server.calls["cancel"] == 1


def test_a_fresh_run_whose_batch_left_lines_out_is_not_complete(server: BatchServer, suite: Path) -> None:
    server.stages = ["completed"]
    m3ke("run", *asked(suite, server.url, "--batch"))
    server.results = lambda lines: (all_right(lines)[0][:1], [])
    ran = m3ke("run", *asked(suite, server.url, "--batch", "--fresh", "--quiet"))
    assert ran.code == ExitCode.INCOMPLETE
    assert "3 questions could not be asked anew" in ran.err
    server.results = all_right
    assert m3ke("run", *asked(suite, server.url, "--batch", "--fresh")).code == ExitCode.COMPLETE
    assert sorted(server.bills.values()) == [2, 3, 3, 3]


KEYS_IN_ADDRESSES = [
    ("http://{}?api_key=hidden-0123456789", "query"),
    ("http://me:hidden-0123456789@{}", "header"),
]


@pytest.mark.parametrize(("form", "where"), KEYS_IN_ADDRESSES)
def test_a_key_that_is_in_the_address_alone_is_given_once_more(
    server: BatchServer, suite: Path, form: str, where: str
) -> None:
    url = form.format(server.url.removeprefix("http://"))
    basic = "Basic " + b64encode(b"me:hidden-0123456789").decode()
    server.allows = lambda request: (
        request.query.get("api_key") == "hidden-0123456789"
        if where == "query"
        else request.headers.get("Authorization") == basic
    )
    server.stages = ["in_progress"]
    ran = m3ke("batch", "submit", "litellm-proxy/m", *asked(suite, url)[1:], "--limit", "1")
    assert ran.code == ExitCode.COMPLETE, ran.err
    assert "m3ke batch collect" in ran.err
    assert "with the address and its key by --base-url" in ran.err
    assert m3ke("batch", "collect", *at(suite), "--quiet").code == ExitCode.STOPPED
    again = [*at(suite), "--base-url", url]
    assert "in_progress" in m3ke("batch", "status", *again).out
    assert m3ke("batch", "cancel", *again).code == ExitCode.COMPLETE
    assert m3ke("batch", "collect", *again).code == ExitCode.COMPLETE
    assert m3ke("batch", "submit", *again).code == ExitCode.COMPLETE
    kept = [file.read_bytes() for file in (suite.parent / "results").rglob("*") if file.is_file()]
    assert not any(b"hidden-0123456789" in content for content in kept)


@pytest.mark.parametrize("step", ["submit", "status", "collect", "cancel"])
def test_another_address_than_the_runs_gets_no_key(server: BatchServer, suite: Path, step: str) -> None:
    m3ke("batch", "submit", *asked(suite, server.url))
    calls = server.calls.total()
    with in_thread() as other:
        ran = m3ke("batch", step, *at(suite), "--base-url", f"{other.url}?api_key=hidden-0123456789")
        assert ran.code == ExitCode.USAGE
        assert f"has begun at {server.url}, and --base-url is another address: give that one" in ran.error
        assert (other.calls.total(), server.calls.total()) == (0, calls)


def test_a_shard_goes_on_in_its_own_folder(server: BatchServer, suite: Path) -> None:
    server.stages = ["completed"]
    m3ke("batch", "submit", *asked(suite, server.url, "--shard", "1/2"))
    run = ["r-1of2", *at(suite)[1:]]
    assert m3ke("batch", "collect", *run).code == ExitCode.COMPLETE
    assert m3ke("batch", "submit", *run).code == ExitCode.COMPLETE
    assert server.bills.total() == 2
    assert [folder.name for folder in (suite.parent / "results").iterdir() if folder.is_dir()] == ["r-1of2"]


def test_status_of_what_found_no_room_names_the_command_that_submits_it(
    server: BatchServer, suite: Path
) -> None:
    server.stages, server.stages_of[0] = ["in_progress"], ["failed"]
    server.trouble = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}
    m3ke("batch", "submit", *asked(suite, server.url, "--max-requests", "2"))
    m3ke("batch", "submit", *at(suite))
    m3ke("batch", "collect", *at(suite))
    waiting, _ = m3ke("batch", "status", *at(suite)).out.splitlines()
    assert waiting.endswith(
        "token limit reached), 2 questions; m3ke batch collect submits it, m3ke batch cancel does not"
    )
    server.stages = ["completed"]
    for _ in range(2):
        ran = m3ke("batch", "collect", *at(suite))
    assert ran.code == ExitCode.COMPLETE
    assert letters(suite) == RIGHT


def test_status_tells_of_what_the_provider_does_not_know_beside_the_rest(
    server: BatchServer, suite: Path
) -> None:
    server.stages = ["in_progress"]
    m3ke("batch", "submit", *asked(suite, server.url, "--max-requests", "2"))
    m3ke("batch", "submit", *at(suite))
    server.faults["retrieve"] = [Fault(404)]
    gone, there = m3ke("batch", "status", *at(suite)).out.splitlines()
    assert gone == "batch-2: the provider does not know it, 2 questions; m3ke batch cancel forgets it"
    assert there.startswith("batch-4: in_progress, 0 of 2 done")


def test_the_plan_counts_files_and_the_discount_with_its_source(suite: Path) -> None:
    ran = m3ke("plan", "openai/m", "--data", suite, "--batch", "--price", "2,8")
    assert "batch files        1" in ran.out
    assert "time               within 24 hours" in ran.out
    assert "50% off in a batch (2026-11-30, secondary, " in ran.out
    ran = m3ke("plan", "openai/m", "--data", suite, "--batch")
    assert "price              unknown, 50% off in a batch (2026-11-30, secondary, " in ran.out
    assert "off in a batch" not in m3ke("plan", "openai/m", "--data", suite).out
    full = m3ke("plan", "openai/m", "--data", suite, "--price", "2,8", "--json").json
    half = m3ke("plan", "openai/m", "--data", suite, "--price", "2,8", "--batch", "--json").json
    assert half["cost"] == pytest.approx([cost / 2 for cost in full["cost"]])
    for model in ("groq/m", "together/m"):  # Together's is of selected models
        ran = m3ke("plan", model, "--data", suite, "--batch", "--price", "2,8")
        assert "what a batch saves is not known" in ran.out


def test_a_plan_leaves_out_what_is_in_batches_of_any_run(server: BatchServer, suite: Path) -> None:
    def planned(*more: str) -> tuple[int, int, int, int]:
        found = m3ke("plan", *asked(suite, server.url, *more, "--json", "--quiet")).json
        return found["requests"], found["under_way"], found["stored"], found["batch_files"] or 0

    assert planned("--batch") == (4, 0, 0, 1)
    m3ke("batch", "submit", *asked(suite, server.url, "--limit", "3"))
    assert planned("--batch") == planned("--batch", "--name", "other") == (1, 3, 0, 1)
    assert planned("--name", "live") == (1, 3, 0, 0)
    assert planned("--batch", "--limit", "3") == (0, 3, 0, 0)
    ran = m3ke("plan", *asked(suite, server.url, "--batch"))
    assert "not sent           0 are answered already, 3 are in batches under way, 0 repeat others" in ran.out
    server.stages = ["completed"]
    m3ke("batch", "collect", *at(suite))
    assert planned("--batch") == (1, 0, 3, 1)
    assert "under way" not in m3ke("plan", *asked(suite, server.url, "--batch")).out


def test_the_cost_of_a_run_knows_the_discount(server: BatchServer, suite: Path) -> None:
    server.stages = ["completed"]
    ran = m3ke("run", *asked(suite, server.url, "--batch", "--price", "1000000,0", "--quiet"))
    assert "By batches: 48 tokens, 50% off" in ran.out
    assert "Cost: 20.0000 by the given price" in ran.out


# -- killed -------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("call", ["upload", "create", "retrieve", "download"])
async def test_after_sigkill_in_any_call_the_same_command_goes_on(suite: Path, call: str) -> None:
    async with BatchServer() as server:
        server.stages = ["completed"]
        running: list[asyncio.subprocess.Process] = []
        done = asyncio.Event()

        async def kill(now: str) -> None:
            if now == call and not done.is_set():
                done.set()
                running[0].send_signal(signal.SIGKILL)

        server.on_call = kill
        arguments = ["run", *asked(suite, server.url, "--batch")]
        running.append(await start(*arguments, OPENAI_API_KEY=KEY))
        assert (await ended(running[0])).code == -signal.SIGKILL
        again = await ended(await start(*arguments, OPENAI_API_KEY=KEY))
        assert again.code == ExitCode.COMPLETE, again.err
        assert letters(suite) == RIGHT
        assert set(server.bills.values()) == {1}


async def test_two_commands_at_once_submit_once(suite: Path) -> None:
    async with BatchServer() as server:
        came, gate = asyncio.Event(), asyncio.Event()

        async def hold(call: str) -> None:
            if call == "create":
                came.set()
                await gate.wait()

        server.on_call, server.stages = hold, ["completed"]
        arguments = ["run", *asked(suite, server.url, "--batch")]
        first = await start(*arguments, OPENAI_API_KEY=KEY)
        await came.wait()
        second = await ended(await start(*arguments, OPENAI_API_KEY=KEY))
        gate.set()
        assert second.code == ExitCode.USAGE
        assert "another process is at work" in second.err
        assert (await ended(first)).code == ExitCode.COMPLETE
        assert set(server.bills.values()) == {1}


# -- large files --------------------------------------------------------------------------

_MIB = 1 << 20


def _target(url: str) -> Target:
    settings = make_settings("openai/m", {"base_url": url})
    return find_target(settings, Silent(), {"OPENAI_API_KEY": KEY})


async def _peak(work: Any) -> int:
    tracemalloc.start()
    try:
        await work
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def test_large_files_go_up_and_come_down_in_pieces(tmp_path: Path) -> None:
    size, received = 48 * _MIB, 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if head.startswith("post"):
            length = int(head.split("content-length: ")[1].split("\r\n")[0])
            while received < length:
                received += len(await reader.read(_MIB))
            body = b'{"id": "file-1"}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            for _ in range(size // _MIB):
                writer.write(b"x" * _MIB)
                await writer.drain()
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    file, results = tmp_path / "m3ke-large.jsonl", tmp_path / "results"
    with file.open("wb") as large:
        large.truncate(size)
    async with (
        listening,
        BatchClient(_target(url), parse_address(url), make_settings("openai/m", {}), warn=print) as client,
    ):
        assert await _peak(client.upload(file, begun=False)) < 12 * _MIB
        assert received > size
        assert await _peak(client.download("file-2", results)) < 12 * _MIB
    assert results.stat().st_size == size


async def test_large_results_are_read_line_by_line(tmp_path: Path) -> None:
    results, keys = tmp_path / "results", [b"%016d" % number for number in range(2000)]
    with results.open("w", encoding="utf-8") as file:
        for key in keys:
            file.write(json.dumps(answered(key.hex(), "答案：A" + "。" * 4000), ensure_ascii=False) + "\n")
        file.write("x" * (48 * _MIB))  # a line without an end
    with ReplyStore(tmp_path / "s.sqlite") as store:
        storer = Storer(store, _target("http://127.0.0.1:1/v1"), dict.fromkeys(keys, 1), lambda key: False)
        assert await _peak(take_lines(storer, results, lambda: None)) < 24 * _MIB
        assert (len(storer.replied), storer.malformed) == (2000, 12)


# -- without a server ---------------------------------------------------------------------


def test_files_for_vllm_run_batch_are_written_and_read(suite: Path, tmp_path: Path) -> None:
    with live_server() as server:
        begun: list[str | Path] = [
            "custom/m",
            "--base-url",
            server.url,
            "--data",
            suite,
            "--results",
            tmp_path / "results",
        ]
        requests, results = tmp_path / "requests.jsonl", tmp_path / "results.jsonl"
        ran = m3ke("batch", "write", *begun[:1], requests, *begun[1:], "--name", "r")
        assert ran.code == ExitCode.COMPLETE
        assert f"wrote 4 requests to {requests}; " in ran.err
        assert f"m3ke batch read {tmp_path / 'results' / 'r'} RESULTS" in ran.err
        lines = [json.loads(line) for line in requests.read_bytes().splitlines()]
        assert {line["url"] for line in lines} == {"/v1/chat/completions"}
        replies = [answered(line["custom_id"], f"答案：{right(mark_of(line))}") for line in lines]
        bare = replies[0]["response"]["body"]
        failed = {
            "custom_id": lines[1]["custom_id"],
            "response": {"status_code": 400, "request_id": "r"},
            "error": {
                "object": "error",
                "message": "maximum context length",
                "type": "BadRequestError",
                "code": 400,
            },
        }
        for content in ([{**replies[0], "response": bare}, failed, replies[2]], replies[1:]):
            results.write_text("\n".join(map(json.dumps, content)), "utf-8")
            ran = m3ke("batch", "read", "r", results, "--results", tmp_path / "results", "--json", "--quiet")
        assert ran.code == ExitCode.COMPLETE, ran.err
        assert letters(suite) == RIGHT
        assert m3ke("run", *begun, "--name", "r", "--quiet").code == ExitCode.COMPLETE
        assert not server.seen


def test_results_that_are_read_again_are_counted_once(suite: Path, tmp_path: Path) -> None:
    begun: list[str | Path] = ["custom/m", "--base-url", "http://127.0.0.1:1/v1", "--data", suite]
    begun += ["--results", tmp_path / "results", "--name", "r"]
    requests, results = tmp_path / "requests.jsonl", tmp_path / "results.jsonl"
    m3ke("batch", "write", begun[0], requests, *begun[1:])
    lines = [json.loads(line) for line in requests.read_bytes().splitlines()]
    replies = [answered(line["custom_id"], f"答案：{right(mark_of(line))}") for line in lines]
    for count in (3, 3, 4):
        results.write_text("\n".join(map(json.dumps, replies[:count])), "utf-8")
        ran = m3ke("batch", "read", "r", results, "--results", tmp_path / "results", "--json", "--quiet")
    assert ran.code == ExitCode.COMPLETE, ran.err
    assert letters(suite) == RIGHT
    assert ran.json["ledger"]["replies"] == ran.json["ledger"]["requests"] == 4
    m3ke("batch", "write", begun[0], requests, *begun[1:], "--fresh")
    changed = [answered(line["custom_id"], "答案：D") for line in lines]
    results.write_text("\n".join(map(json.dumps, changed)), "utf-8")
    ran = m3ke("batch", "read", "r", results, "--results", tmp_path / "results", "--quiet")
    assert ran.code == ExitCode.COMPLETE, ran.err
    assert set(letters(suite).values()) == {"D"}


def test_results_that_are_not_there_or_of_another_run_are_told(suite: Path, tmp_path: Path) -> None:
    begun: list[str | Path] = [
        "custom/m",
        tmp_path / "q",
        "--base-url",
        "http://127.0.0.1:1/v1",
        "--data",
        suite,
    ]
    m3ke("batch", "write", *begun, "--results", tmp_path / "results", "--name", "r", "--quiet")
    ran = m3ke("batch", "read", *at(suite)[:1], tmp_path / "none", *at(suite)[1:], "--quiet")
    assert ran.code == ExitCode.USAGE
    assert "cannot read" in ran.error
    (tmp_path / "other").write_text(json.dumps(answered("ab" * 16, "答案：A")), "utf-8")
    (tmp_path / "empty").touch()
    for wrong in ("other", "q", "empty"):  # the requests themselves are no results
        ran = m3ke("batch", "read", *at(suite)[:1], tmp_path / wrong, *at(suite)[1:], "--quiet")
        assert ran.code == ExitCode.USAGE
        assert (
            f"{tmp_path / wrong} holds no result of a question of {tmp_path / 'results' / 'r'}: " in ran.error
        )
        assert "give the file that came for what m3ke batch write" in ran.error


def test_what_read_leaves_is_written_again_by_the_command_that_it_names(suite: Path, tmp_path: Path) -> None:
    begun = ["--base-url", "http://127.0.0.1:1/v1", "--data", str(suite), *at(suite)[1:], "--name", "r"]
    requests, results = tmp_path / "requests", tmp_path / "results.jsonl"
    ran = m3ke("batch", "write", "custom/m", requests, *begun, "--json")
    assert (ran.code, ran.json["stopped"]) == (ExitCode.COMPLETE, None)
    lines = [json.loads(line) for line in requests.read_bytes().splitlines()]
    run = suite.parent / "results" / "r"
    for failed in (4, 3):
        content = [refused(line["custom_id"], 500, "no") for line in lines[:failed]]
        content += [answered(line["custom_id"], f"答案：{right(mark_of(line))}") for line in lines[failed:]]
        results.write_text("\n".join(map(json.dumps, content)), "utf-8")
        ran = m3ke("batch", "read", "r", results, *at(suite)[1:])
        assert ran.code == ExitCode.INCOMPLETE
        assert f"questions have no reply; m3ke batch write {run} FILE writes them again" in ran.err
        assert "same command" not in ran.err
    m3ke("batch", "write", run, requests)
    assert len(requests.read_bytes().splitlines()) == 3


def test_a_live_run_leaves_to_a_batch_of_another_what_it_holds(server: BatchServer, suite: Path) -> None:
    server.stages = ["completed"]
    m3ke("batch", "submit", *asked(suite, server.url, "--limit", "1"))
    live = [one if one != "r" else "live" for one in asked(suite, server.url)]
    ran = m3ke("run", *live, "--quiet")
    assert ran.code == ExitCode.INCOMPLETE
    held = suite.parent / "results" / "r"
    assert ran.error == (
        f"1 question is in batches of {held}, and left to them: "
        f"m3ke batch collect {held}, then the same command again"
    )
    assert sorted(server.live) == ["Q0-1", "Q0-2", "Q0-3"]
    m3ke("batch", "collect", *at(suite))
    assert m3ke("run", *live).code == ExitCode.COMPLETE
    assert server.live.total() == 3


def test_a_batch_of_another_run_is_told_by_this_runs_questions_and_who_has_them(
    server: BatchServer, suite: Path
) -> None:
    server.stages = ["in_progress"]
    m3ke("batch", "submit", *asked(suite, server.url))
    small = [one if one != "r" else "small" for one in asked(suite, server.url, "--limit", "1")]
    held = suite.parent / "results" / "r"
    told = f"1 question is in batches of {held}, and left to them: m3ke batch collect {held}, then the same"
    ran = m3ke("batch", "submit", *small)
    assert ran.code == ExitCode.COMPLETE
    assert told in ran.err
    assert "under way" not in ran.err
    for command in (
        ["run", *small],
        ["run", *small, "--batch"],
        ["batch", "collect", "small", *at(suite)[1:]],
    ):
        ran = m3ke(*command, "--quiet")
        assert (ran.code, told in ran.error) == (ExitCode.INCOMPLETE, True), ran.err
    server.stages = ["completed"]
    m3ke("batch", "collect", *at(suite))
    assert m3ke("run", *small, "--quiet").code == ExitCode.COMPLETE
    assert (server.bills.total(), server.live.total()) == (4, 0)
