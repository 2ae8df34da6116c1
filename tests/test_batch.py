"""Runs by batches: each reply by its key, nothing lost or billed twice, wherever a command ended."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.batch.asking import Steps
from m3ke_async.batch.request_files import Filling
from m3ke_async.batch.state import Batches, Stage
from m3ke_async.errors import ExitCode, IncompleteError, StoppedError, UsageError
from m3ke_async.profile import BatchKind
from m3ke_async.providers import load_profile, profile_names
from m3ke_async.request import Outcome
from m3ke_async.run import run
from tests.asking import lines, settings
from tests.batch_server import BatchServer, Fault, all_right, answered, not_asked, refused
from tests.batching import KEY, RIGHT, Bench, Killed, killed_before, letters, quick
from tests.questions import marks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
async def server() -> AsyncIterator[BatchServer]:
    async with BatchServer() as started:
        yield started


@pytest.fixture
def bench(tmp_path: Path, server: BatchServer) -> Bench:
    return Bench(tmp_path, server)


async def test_a_run_is_submitted_waited_for_and_collected(bench: Bench, server: BatchServer) -> None:
    result = await bench.run()
    assert result.exit_code == ExitCode.COMPLETE
    assert letters(result) == RIGHT
    assert server.bills.total() == len(server.bills) == 6
    assert server.calls["create"] == server.calls["upload"] == 1
    assert result.ledger.replies == result.ledger.requests == 6
    assert (result.ledger.batch_prompt_tokens, result.ledger.batch_completion_tokens) == (60, 12)
    assert all(line["latency"] is None for line in lines(result))
    assert not list(bench.results.glob("r/batch"))


async def test_the_lines_are_the_live_requests_to_the_byte(bench: Bench, server: BatchServer) -> None:
    await bench.run()
    (content,) = (content for name, content in server.files.values() if name.endswith(".jsonl"))
    from m3ke_async.evaluation import make_evaluation
    from m3ke_async.suite import load_suite

    given = settings(bench.suite, server.url, bench.results, model="openai/m")
    evaluation = make_evaluation(given, load_suite(bench.suite), load_profile("openai"), "m", server.url)
    requests = [item.request for task in evaluation.suite.tasks for item in evaluation.items(task)]
    assert content == b"".join(
        b'{"custom_id":"%b","method":"POST","url":"/v1/chat/completions","body":%b}\n'
        % (request.key.hex().encode(), request.body)
        for request in requests
    )


async def test_what_a_batch_answered_a_live_run_does_not_ask(bench: Bench, server: BatchServer) -> None:
    await bench.run()
    given = settings(bench.suite, server.url, bench.results, model="openai/m", name="live")
    result = await run(given, display=bench.notes, environ={"OPENAI_API_KEY": KEY})
    assert letters(result) == RIGHT
    assert not server.live


async def test_files_are_cut_by_the_providers_limits(
    bench: Bench, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from m3ke_async.batch import client, submitting

    real, server.stages = client.batch_api, ["completed"]
    await bench.run(Steps.SUBMIT)
    size = max(len(content) for _, content in server.files.values()) // 6
    await bench.run(Steps.COLLECT)
    assert len(server.batches) == 1
    for limits, cuts in (({"max_requests": 4}, [4, 2]), ({"max_bytes": 2 * size + 20}, [2, 2, 2])):
        small = lambda target, limits=limits: replace(real(target), **limits)  # noqa: E731
        monkeypatch.setattr(submitting, "batch_api", small)
        before = len(server.batches)
        result = await bench.run(fresh=True)
        assert [part.requests for part in bench.batches.parts.values()][-len(cuts) :] == cuts
        assert len(server.batches) - before == len(cuts)
        assert letters(result) == RIGHT


async def test_submit_returns_and_collect_takes_what_has_ended(bench: Bench, server: BatchServer) -> None:
    await bench.run(Steps.SUBMIT)
    assert server.calls["retrieve"] == 0
    result = await bench.run(Steps.COLLECT)
    assert isinstance(result.stopped, IncompleteError)
    assert "under way" in str(result.stopped)
    server.stages = ["completed"]
    result = await bench.run(Steps.COLLECT)
    assert letters(result) == RIGHT
    assert server.bills.total() == 6


# -- results in any order, partial, refused, twice ---------------------------------------


async def test_expired_batches_leave_their_rest_to_the_next_command(
    bench: Bench, server: BatchServer
) -> None:
    server.stages = ["in_progress", "expired"]
    server.results = lambda lines: (
        all_right(lines)[0][:2],
        [not_asked(line["custom_id"]) for line in lines[:4]],
    )
    result = await bench.run()
    assert result.exit_code == ExitCode.INCOMPLETE
    assert result.scores.total.outcomes[Outcome.FAILED] == 4
    assert "4 of 6 questions have no reply; submit them again, or ask them now by --then live" in bench.said
    server.results = all_right
    result = await bench.run()
    assert letters(result) == RIGHT
    assert sorted(server.bills.values()) == [1, 1, 2, 2, 2, 2]


async def test_then_live_asks_the_rest_at_once(bench: Bench, server: BatchServer) -> None:
    server.stages = ["expired"]
    server.results = lambda lines: (all_right(lines)[0][:2], [])
    result = await bench.run(then="live")
    assert letters(result) == RIGHT
    assert server.live == Counter(dict.fromkeys(marks(2, 3)[:4], 1))
    assert result.ledger.batch_prompt_tokens == 20
    assert result.ledger.prompt_tokens == 60


@pytest.mark.parametrize("steps", [Steps.ALL, Steps.COLLECT])
async def test_then_live_asks_the_rest_of_what_an_earlier_command_submitted(
    bench: Bench, server: BatchServer, steps: Steps
) -> None:
    await bench.run(Steps.SUBMIT)
    server.stages = ["expired"]
    server.results = lambda lines: (all_right(lines)[0][:2], [])
    result = await bench.run(steps, then="live")
    assert letters(result) == RIGHT
    assert server.live.total() == 4
    assert server.bills.total() == 6


async def test_errors_become_failures_of_their_kinds_and_filtered_is_an_outcome(
    bench: Bench, server: BatchServer
) -> None:
    def mixed(lines: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
        ids = [line["custom_id"] for line in lines]
        errors = [
            refused(ids[0], 400, "This model's maximum context length is 8", "context_length_exceeded"),
            refused(ids[1], 500, "The server had an error"),
            refused(ids[2], 400, "blocked", "content_filter"),
            {"custom_id": ids[3], "response": None, "error": {"message": "odd", "code": "server_error"}},
        ]
        blank = answered(ids[4], "")
        return [blank, answered(ids[5], "答案：D")], errors

    server.results = mixed
    result = await bench.run()
    failures = {line["id"]: line["failure"] for line in lines(result) if line["task"].startswith("Task 00")}
    assert failures[0].startswith("too_long: OpenAI: the prompt is too long")
    assert failures[1].startswith("server_error: ")
    outcomes = [line["outcome"] for line in lines(result)]
    assert outcomes == ["failed", "failed", "filtered", "failed", "failed", "answered"]
    assert result.ledger.requests == 6


async def test_lines_that_are_twice_unknown_or_broken_are_counted_and_harm_nothing(
    bench: Bench, server: BatchServer
) -> None:
    def odd(lines: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
        first = lines[0]["custom_id"]
        replies = all_right(lines)[0]
        strange = [
            answered("ff" * 16, "答案：A"),
            answered("../../etc/passwd", "答案：A"),
            b'{"custom_id": 3}',
            b"<html>",
            b'{"custom_id":"%b","response":{"body":%b}}'
            % (first.encode(), b'{"a":' * 300 + b"1" + b"}" * 300),
        ]
        return [refused(first, 500, "no"), *strange, *replies, answered(first, "答案：C"), b'{"cut'], []

    server.results = odd
    result = await bench.run()
    assert letters(result) == RIGHT
    assert result.ledger.replies == 6
    assert "lines that cannot be read, and were left out: 4" in bench.said
    assert "lines about requests that were not sent, and were left out: 2" in bench.said
    assert "lines that are there twice, and count once: 1" in bench.said


async def test_results_that_were_stored_in_part_are_taken_again(
    bench: Bench, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from m3ke_async.batch.storing import Storer

    take, taken = Storer.take, 0

    def killed(self: Storer, raw: bytes) -> None:
        nonlocal taken
        taken += 1
        if taken == 4:
            raise KeyboardInterrupt
        take(self, raw)

    monkeypatch.setattr(Storer, "take", killed)
    with pytest.raises(KeyboardInterrupt):
        await bench.run(fresh=True)
    monkeypatch.setattr(Storer, "take", take)
    result = await bench.run(fresh=True)
    assert letters(result) == RIGHT
    assert result.ledger.replies == 6
    assert server.bills.total() == 6


# -- no second bill -----------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 500, 503])
@pytest.mark.parametrize("after", [False, True])
async def test_an_unclear_answer_to_create_makes_no_second_batch(
    bench: Bench, server: BatchServer, status: int, *, after: bool
) -> None:
    server.faults["create"] = [Fault(status, after=after)]
    result = await bench.run()
    assert letters(result) == RIGHT
    assert set(server.bills.values()) == {1}
    assert server.calls["create"] == (1 if after else 2)


async def test_a_create_that_answers_nonsense_makes_no_second_batch(
    bench: Bench, server: BatchServer
) -> None:
    shape, server.shape = server.shape, lambda batch: ["made"]

    async def mend(call: str) -> None:
        if call == "list":
            server.shape = shape

    server.on_call = mend
    result = await bench.run()
    assert letters(result) == RIGHT
    assert set(server.bills.values()) == {1}


@pytest.mark.parametrize("left", ["nothing", "half"])
async def test_while_nobody_knows_what_is_in_a_batch_nothing_more_is_asked(
    bench: Bench, server: BatchServer, left: str
) -> None:
    await bench.run(Steps.SUBMIT)
    (file,) = bench.results.glob("r/batch/*.jsonl")
    if left == "half":
        file.write_bytes(file.read_bytes()[:-2000])
    else:
        file.unlink()
    with pytest.raises(UsageError, match=r"m3ke-\w+\.jsonl: is not whole.* first m3ke batch collect .*/r"):
        await bench.run()
    live = settings(bench.suite, server.url, bench.results, model="openai/m", name="live")
    with pytest.raises(UsageError, match="is not whole"):
        await run(live, display=bench.notes, environ={"OPENAI_API_KEY": KEY})
    server.stages = ["completed"]
    assert letters(await bench.run(Steps.COLLECT)) == RIGHT
    assert not server.live
    assert set(server.bills.values()) == {1}


async def test_each_step_is_on_the_disk_by_its_name_before_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[Path, str]] = []

    def sync(folder: Path) -> None:
        synced.append((folder, json.loads((folder / "batch.json").read_text())["parts"][0]["stage"]))

    monkeypatch.setattr("m3ke_async.batch.state.sync_folder", sync)
    await bench.run(Steps.SUBMIT)
    assert synced == [(bench.results / "r", stage) for stage in [*Stage][:5]]


@pytest.mark.parametrize("when", range(1, 19))
async def test_killed_before_or_after_any_step_it_goes_on_without_a_second_bill(
    bench: Bench, server: BatchServer, monkeypatch: pytest.MonkeyPatch, when: int
) -> None:
    """Every write of batch.json is a place to be killed: before it, and after it."""
    save, saves = Batches._save, 0

    def save_or_die(self: Batches) -> None:
        nonlocal saves
        saves += 1
        if saves == (when + 1) // 2 and when % 2:
            raise Killed
        save(self)
        if saves == (when + 1) // 2:
            raise Killed

    monkeypatch.setattr(Batches, "_save", save_or_die)
    with pytest.raises(Killed):
        await bench.run()
    monkeypatch.setattr(Batches, "_save", save)
    result = await bench.run()
    assert letters(result) == RIGHT
    assert set(server.bills.values()) == {1}
    assert server.calls["upload"] == server.calls["create"] == 1
    assert not bench.batches.open


@pytest.mark.parametrize("dead", [(), ("batch-that-found-no-room",)])
async def test_a_batch_that_a_killed_command_made_is_found_and_collected_at_once(
    bench: Bench, server: BatchServer, dead: tuple[str, ...]
) -> None:
    with killed_before(Stage.SUBMITTED):
        await bench.run(Steps.SUBMIT)
    (part,) = bench.batches.open
    bench.batches.put(part, dead=dead, submitted_at=part.submitted_at - 300)
    server.stages = ["completed"]
    result = await bench.run(Steps.COLLECT)
    assert letters(result) == RIGHT
    assert "found batch-2 (validating), which an earlier command made of 6 questions" in bench.said
    assert "batch-2: completed, 6 of 6 done, 5 min after it was submitted" in bench.said
    assert "submitted 6 questions" not in bench.said


async def test_a_lost_upload_is_found_by_its_name_on_any_page(bench: Bench, server: BatchServer) -> None:
    with killed_before(Stage.UPLOADED):
        await bench.run()
    for number in range(5):
        server.files[f"other-{number}"] = (f"other-{number}.jsonl", b"")
    server.page = 2
    assert letters(await bench.run()) == RIGHT
    assert server.calls["upload"] == 1


async def test_while_the_list_cannot_be_read_nothing_is_made(
    bench: Bench, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults["create"] = [Fault(0, after=True)]
    server.faults["list"] = [Fault(404)]
    result = await bench.run()
    assert isinstance(result.stopped, StoppedError)
    server.list_shape = lambda entries, more: {"batches": entries}
    result = await bench.run(max_attempts=2)
    assert isinstance(result.stopped, IncompleteError)
    assert server.calls["create"] == 1
    server.list_shape = lambda entries, more: entries  # the bare list, as at Together
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


async def test_a_list_that_begins_anew_on_every_page_does_not_pass_for_its_end(
    bench: Bench, server: BatchServer
) -> None:
    other = {"id": "batch-other", "status": "completed", "input_file_id": "file-other"}
    server.batches["batch-other"] = other
    server.faults["create"] = [Fault(0, after=True)]
    listed, server.list_shape = server.list_shape, lambda entries, more: {"data": [other], "has_more": True}
    result = await bench.run()
    assert "begins anew on every page" in str(result.stopped)
    server.list_shape = listed
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


async def test_a_live_run_does_not_ask_what_is_in_a_batch(bench: Bench, server: BatchServer) -> None:
    await bench.run(Steps.SUBMIT)
    given = settings(bench.suite, server.url, bench.results, model="openai/m", name="r")
    with pytest.raises(UsageError, match=r"6 questions of this run are in batches .*m3ke batch collect"):
        await run(given, display=bench.notes, environ={"OPENAI_API_KEY": KEY})
    assert not server.live
    result = await bench.run()
    assert letters(result) == RIGHT
    assert server.bills.total() == 6


async def test_another_run_does_not_submit_what_is_under_way(bench: Bench, server: BatchServer) -> None:
    await bench.run(Steps.SUBMIT)
    given = settings(bench.suite, server.url, bench.results, model="openai/m", batch=True, name="s", limit=2)
    result = await run(given, display=bench.notes, environ={"OPENAI_API_KEY": KEY})
    assert result.exit_code == ExitCode.INCOMPLETE
    assert server.bills.total() == 6
    await bench.run()
    assert (await run(given, display=bench.notes, environ={"OPENAI_API_KEY": KEY})).exit_code == 0
    assert server.bills.total() == 6


async def test_runs_that_share_questions_and_submit_at_once_submit_them_once(
    bench: Bench, server: BatchServer
) -> None:
    named = (
        settings(bench.suite, server.url, bench.results, model="openai/m", batch=True, name=name)
        for name in ("a", "b", "c")
    )
    asked = [run(one, display=bench.notes, environ={"OPENAI_API_KEY": KEY}) for one in named]
    results = await asyncio.gather(*asked)
    assert set(server.bills.values()) == {1}
    assert sorted(result.scores.total.missing for result in results) == [0, 6, 6]


# -- failure and refusal ------------------------------------------------------------------


async def test_a_wrong_key_stops_at_once_and_stands_nowhere(bench: Bench, server: BatchServer) -> None:
    said = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    server.faults["upload"] = [Fault(401, said)]
    result = await bench.run()
    assert isinstance(result.stopped, StoppedError)
    assert "the key was refused" in str(result.stopped)
    assert KEY not in str(result.stopped) + bench.said
    assert all(KEY.encode() not in file.read_bytes() for file in bench.results.rglob("*") if file.is_file())
    assert server.calls["upload"] == 1
    assert letters(await bench.run()) == RIGHT


async def test_a_key_in_a_batchs_trouble_stands_nowhere(bench: Bench, server: BatchServer) -> None:
    server.stages, server.trouble = ["failed"], {"data": [{"message": f"Incorrect key: {KEY}"}]}
    result = await bench.run()
    assert "failed (Incorrect key: [key])" in bench.said
    assert KEY not in str(result.stopped) + bench.said
    assert all(KEY.encode() not in file.read_bytes() for file in bench.results.rglob("*") if file.is_file())


async def test_rate_limits_are_waited_out_at_every_call(bench: Bench, server: BatchServer) -> None:
    said = {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}
    for call in ("upload", "create", "retrieve", "download"):
        server.faults[call] = [Fault(429, said, headers={"Retry-After": "0.01"})] * 2
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


async def test_a_download_that_breaks_off_begins_anew(bench: Bench, server: BatchServer) -> None:
    server.faults["download"] = [Fault(0), Fault(502, {"error": "bad gateway"})]
    assert letters(await bench.run()) == RIGHT


async def test_a_full_disk_is_no_broken_connection(
    bench: Bench, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("m3ke_async.batch.client.whole_file", full)
    result = await bench.run()
    assert isinstance(result.stopped, IncompleteError)
    assert "No space left on device; see to that, then run the same command again" in str(result.stopped)
    monkeypatch.undo()
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


async def test_a_batch_that_fails_says_why_and_its_questions_are_owed(
    bench: Bench, server: BatchServer
) -> None:
    server.stages_of[0] = ["validating", "failed"]
    server.trouble = {"data": [{"code": "invalid_json_line", "line": 3, "message": "This line is not JSON"}]}
    result = await bench.run()
    assert result.exit_code == ExitCode.INCOMPLETE
    assert "failed (invalid_json_line: line 3: This line is not JSON): 6 of 6 questions" in bench.said
    assert letters(await bench.run()) == RIGHT


async def test_a_batch_that_finds_no_room_is_submitted_again_when_others_have_ended(
    bench: Bench, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Filling, "add", lambda self, size: size and _every(self, 3))
    server.trouble = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}
    server.stages_of[1] = ["validating", "failed"]
    result = await bench.run()
    assert letters(result) == RIGHT
    assert len(server.batches) == 3
    assert server.calls["upload"] == 2


def _every(filling: Any, count: int) -> bool:
    begins = not filling.files or filling.requests >= count
    if begins:
        filling.files, filling.requests = filling.files + 1, 0
    filling.requests += 1
    return bool(begins)


async def test_a_batch_that_never_finds_room_ends_the_command_with_advice(
    bench: Bench, server: BatchServer
) -> None:
    server.trouble = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}
    server.stages = ["failed"]
    result = await bench.run()
    assert f"m3ke batch submit {result.path} --max-requests N submits fewer" in str(result.stopped)
    assert len(server.batches) == 4
    server.stages = ["completed"]
    assert letters(await bench.run()) == RIGHT


async def test_what_never_finds_room_is_asked_live_where_that_follows(
    bench: Bench, server: BatchServer
) -> None:
    server.trouble = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}
    server.stages = ["failed"]
    assert letters(await bench.run(then="live")) == RIGHT
    assert "6 questions are too many at once (token_limit_exceeded: Enqueued" in bench.said
    assert server.live.total() == 6


async def test_what_the_model_refuses_in_every_line_is_sent_otherwise(
    bench: Bench, server: BatchServer
) -> None:
    def results(lines: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
        if "temperature" not in lines[0]["body"]:
            return all_right(lines)
        message = "Unsupported value: 'temperature' does not support 0 with this model."
        return [], [
            refused(line["custom_id"], 400, message, "unsupported_value", param="temperature")
            for line in lines
        ]

    server.results = results
    result = await bench.run()
    assert letters(result) == RIGHT
    assert "no temperature is sent" in bench.said
    assert len(server.batches) == 2
    assert letters(await bench.run()) == RIGHT
    assert len(server.batches) == 2


async def test_what_the_model_refuses_in_every_line_is_asked_live_otherwise_where_that_follows(
    bench: Bench, server: BatchServer
) -> None:
    await bench.run(Steps.SUBMIT)
    server.stages = ["completed"]
    message = "Unsupported value: 'temperature' does not support 0 with this model."
    server.results = lambda lines: (
        [],
        [
            refused(line["custom_id"], 400, message, "unsupported_value", param="temperature")
            for line in lines
        ],
    )
    assert letters(await bench.run(Steps.COLLECT, then="live")) == RIGHT
    assert "no temperature is sent" in bench.said
    assert server.live.total() == 6


async def test_a_fresh_run_that_was_not_submitted_is_not_complete(
    bench: Bench, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.stages = ["completed"]
    await bench.run()
    save = Batches._save
    monkeypatch.setattr(Batches, "_save", _die)
    with pytest.raises(Killed):
        await bench.run(Steps.SUBMIT, fresh=True)
    monkeypatch.setattr(Batches, "_save", save)
    result = await bench.run(Steps.COLLECT, fresh=True)
    assert "6 questions could not be asked anew" in str(result.stopped)
    server.results = lambda lines: ([answered(line["custom_id"], "答案：D") for line in lines], [])
    assert {*letters(await bench.run(fresh=True)).values()} == {"D"}


def _die(batches: Batches) -> None:
    raise Killed


async def test_what_a_batch_says_is_filtered_is_not_asked_once_more(
    bench: Bench, server: BatchServer
) -> None:
    server.stages = ["completed"]
    server.results = lambda lines: (
        all_right(lines[:4])[0],
        [refused(line["custom_id"], 400, "blocked", "content_filter") for line in lines[4:]],
    )
    await bench.run()
    server.results = lambda lines: ([], [refused(lines[0]["custom_id"], 400, "blocked", "content_filter")])
    result = await bench.run(retry_filtered=True, then="live")
    assert sorted(server.bills.values()) == [1, 1, 1, 1, 2, 2]
    assert server.live.total() == 1
    assert result.scores.total.outcomes[Outcome.FILTERED] == 1


async def test_a_provider_that_is_away_for_a_while_is_waited_for(bench: Bench, server: BatchServer) -> None:
    server.faults["retrieve"] = [Fault(503)] * 5
    result = await bench.run(max_attempts=2)
    assert letters(result) == RIGHT
    assert "asked again in" in bench.said


async def test_a_batch_that_is_gone_is_forgotten_by_cancel_alone(bench: Bench, server: BatchServer) -> None:
    await bench.run(Steps.SUBMIT)
    said = {"error": {"message": "No batch found with that id", "code": None}}
    server.faults["retrieve"] = [Fault(404, said), Fault(404, said)]
    result = await bench.run(Steps.COLLECT)
    assert isinstance(result.stopped, StoppedError)
    assert "forget it: m3ke batch cancel" in str(result.stopped)
    assert bench.batches.open
    await bench.run(Steps.CANCEL)
    assert not bench.batches.open
    assert letters(await bench.run()) == RIGHT


@pytest.mark.parametrize(
    ("call", "status"), [("retrieve", 404), ("retrieve", 503), ("download", 403), ("download", 500)]
)
async def test_a_batch_that_cannot_be_had_holds_back_no_other(
    bench: Bench, server: BatchServer, monkeypatch: pytest.MonkeyPatch, call: str, status: int
) -> None:
    monkeypatch.setattr(Filling, "add", lambda self, size: size and _every(self, 3))
    await bench.run(Steps.SUBMIT)
    server.stages = ["completed"]
    attempts = 2 if status >= 500 else 1
    server.faults[call] = [Fault(status)] * attempts
    first = bench.batches.open[0]
    result = await bench.run(Steps.COLLECT, max_attempts=2)
    assert isinstance(result.stopped, IncompleteError if status >= 500 else StoppedError)
    assert [part.name for part in bench.batches.open] == [first.name]
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


async def test_a_batch_that_cannot_be_made_holds_back_no_results(bench: Bench, server: BatchServer) -> None:
    await bench.run(Steps.SUBMIT, max_requests=3)
    server.faults["create"] = [Fault(400), Fault(400)]
    await bench.run(Steps.SUBMIT)
    server.stages = ["completed"]
    result = await bench.run(Steps.COLLECT)
    assert isinstance(result.stopped, StoppedError)
    assert [part.stage for part in bench.batches.open] == [Stage.CREATING]
    assert result.scores.usage.replies == 3
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


@pytest.mark.parametrize(
    ("steps", "call", "status"),
    [
        (Steps.SUBMIT, "upload", 400),
        (Steps.SUBMIT, "create", 400),
        (Steps.COLLECT, "create", 400),
        (Steps.COLLECT, "upload", 503),
    ],
)
async def test_a_part_that_the_provider_does_not_take_holds_back_none_behind_it(
    bench: Bench, server: BatchServer, steps: Steps, call: str, status: int
) -> None:
    server.faults["upload"] = [Fault(401) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Filling, "add", lambda self, size: size and _every(self, 2))
        await bench.run(Steps.SUBMIT)
    assert [part.stage for part in bench.batches.open] == [Stage.UPLOADING] * 3
    server.faults[call] = [Fault(status)]
    result = await bench.run(steps, max_attempts=1)
    assert isinstance(result.stopped, StoppedError if status == 400 else IncompleteError)
    first, *others = bench.batches.open
    assert first.batch_id is None
    assert [part.stage for part in others] == [Stage.SUBMITTED] * 2
    server.stages = ["completed"]
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


async def test_what_is_owed_is_submitted_beside_a_part_in_doubt_and_nothing_twice(
    bench: Bench, server: BatchServer
) -> None:
    server.faults["create"], listed = [Fault(0, after=True)], server.list_shape
    server.list_shape = lambda entries, more: {"batches": entries}
    await bench.run(Steps.SUBMIT, max_requests=2, max_attempts=1)
    result = await bench.run(Steps.SUBMIT, max_attempts=1)
    assert "so it is not known whether a batch was made" in str(result.stopped)
    assert [(part.stage, part.requests) for part in bench.batches.open] == [
        (Stage.CREATING, 2),
        (Stage.SUBMITTED, 4),
    ]
    server.list_shape, server.stages = listed, ["completed"]
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


async def test_a_batch_that_is_gone_does_not_hold_back_what_was_begun(
    bench: Bench, server: BatchServer
) -> None:
    await bench.run(Steps.SUBMIT, max_requests=3)
    server.faults["upload"] = [Fault(401)]
    await bench.run(Steps.SUBMIT)
    server.stages, server.faults["retrieve"] = ["completed"], [Fault(404)]
    result = await bench.run(Steps.COLLECT)
    assert "forget it: m3ke batch cancel" in str(result.stopped)
    assert (result.scores.usage.replies, len(bench.batches.open)) == (3, 1)


@pytest.mark.parametrize("given", ["", "/v1/v1"])
async def test_the_neighbouring_address_is_called_where_nothing_is(
    bench: Bench, server: BatchServer, given: str
) -> None:
    bench.url, server.stages = server.url.removesuffix("/v1") + given, ["completed"]
    await bench.run(Steps.SUBMIT)
    assert f"no batches are at {bench.url}, so {server.url} is called" in bench.said
    assert letters(await bench.run(Steps.COLLECT)) == RIGHT
    assert server.bills.total() == 6
    assert (await bench.run()).ledger.requests == 6  # the given address is the run's


async def test_a_batch_that_is_gone_does_not_lead_to_the_neighbouring_address(
    bench: Bench, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from m3ke_async.batch import client, submitting

    real = client.batch_api
    monkeypatch.setattr(submitting, "batch_api", lambda target: replace(real(target), max_requests=3))
    await bench.run(Steps.SUBMIT)
    _, second = bench.batches.open
    server.faults["retrieve"] = [Fault(404)]
    await bench.run(Steps.CANCEL)
    assert "and it is forgotten here" in bench.said
    assert [part.batch_id for part in bench.batches.open] == [second.batch_id]
    assert "is called" not in bench.said


async def test_where_nothing_is_at_either_address_the_given_one_is_named(
    bench: Bench, server: BatchServer
) -> None:
    bench.url = server.url.replace("/v1", "/nowhere")
    result = await bench.run()
    assert isinstance(result.stopped, StoppedError)
    assert "uploading a file" in str(result.stopped)
    assert "is called" not in bench.said


async def test_results_that_are_gone_leave_their_questions_owed(bench: Bench, server: BatchServer) -> None:
    server.faults["download"] = [Fault(404)]
    result = await bench.run()
    assert result.exit_code == ExitCode.INCOMPLETE
    assert not bench.batches.open
    assert letters(await bench.run()) == RIGHT


async def test_cancel_keeps_what_was_answered_for_the_next_collect(bench: Bench, server: BatchServer) -> None:
    await bench.run(Steps.SUBMIT)
    server.results = lambda lines: (
        all_right(lines)[0][:3],
        [not_asked(lines[0]["custom_id"], "batch_cancelled")],
    )
    await bench.run(Steps.CANCEL)
    assert server.calls["cancel"] == 1
    await bench.run(Steps.COLLECT)
    result = await bench.run(Steps.COLLECT)
    assert result.scores.usage.replies == 3
    assert not bench.batches.open


async def test_bounds_hold_before_anything_is_sent(bench: Bench, server: BatchServer) -> None:
    result = await bench.run(max_requests=4)
    assert result.exit_code == ExitCode.INCOMPLETE
    assert server.bills.total() == 4
    assert "not everything is submitted now: 4 requests were sent" in bench.said
    await bench.run(price="1000000,1000000", max_cost=0.001)
    assert server.bills.total() == 4
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}


# -- other machines -----------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["nothing", "create"])
async def test_another_machine_with_the_same_results_folder_goes_on(
    bench: Bench, server: BatchServer, tmp_path: Path, lost: str
) -> None:
    server.faults[lost] = [Fault(0, after=True)]
    await bench.run(Steps.SUBMIT, max_attempts=1)
    there = tmp_path / "elsewhere"
    there.mkdir()
    bench.results = bench.results.rename(there / "results")
    bench.suite = bench.suite.rename(there / "suite")
    assert letters(await bench.run()) == RIGHT
    assert set(server.bills.values()) == {1}
    assert server.calls["upload"] == server.calls["create"] == 1


# -- other providers ----------------------------------------------------------------------

FILES = [
    name
    for name in profile_names()
    if (batch := load_profile(name).batch) is not None and batch.kind is BatchKind.FILES
]


def test_the_providers_that_copy_openais_batches_are_known() -> None:
    assert {"openai", "azure-openai", "dashscope", "zhipu", "siliconflow", "together"} <= {*FILES}


@pytest.mark.parametrize("provider", FILES)
async def test_every_provider_is_asked_by_its_own_file(
    bench: Bench, server: BatchServer, provider: str
) -> None:
    batch = load_profile(provider).batch
    assert batch is not None
    if provider == "azure-openai":  # files and batches lie beside the deployment
        bench.url = f"{server.url}/deployments/m?api-version=2026-01-01"
    if provider == "together":
        server.upload_route = "/files/upload"
    server.stages = ["in_progress", "expired"]
    server.results = lambda lines: (
        all_right(lines)[0][:3],
        [refused(lines[0]["custom_id"], 429, "slow down"), not_asked(lines[1]["custom_id"])],
    )
    result = await bench.run(provider=provider)
    assert (result.scores.usage.replies, result.exit_code) == (3, ExitCode.INCOMPLETE)
    server.stages, server.results = ["completed"], all_right
    assert letters(await bench.run(provider=provider)) == RIGHT
    assert [asked["endpoint"] for asked in server.batches.values()] == [
        batch.url or "/v1/chat/completions"
    ] * 2
    assert sorted(server.bills.values()) == [1, 1, 1, 2, 2, 2]


async def test_together_has_statuses_in_capitals_a_job_and_a_route_of_its_own(
    bench: Bench, server: BatchServer
) -> None:
    server.stages, server.upload_route = ["VALIDATING", "IN_PROGRESS", "completed"], "/files/upload"

    def shape(batch: dict[str, Any]) -> Any:
        kept = {key: value for key, value in batch.items() if key != "request_counts"}
        shaped = {**kept, "status": batch["status"].upper(), "completed_at": "2026-11-30T00:00:00Z"}
        return {"job": shaped} if batch["status"] == "validating" else shaped

    server.shape = shape
    result = await bench.run(provider="together")
    assert letters(result) == RIGHT
    assert server.forms == [{"purpose": "batch-api", "file_name": next(iter(server.files.values()))[0]}]


async def test_siliconflow_frames_what_it_says_of_files(bench: Bench, server: BatchServer) -> None:
    def framed(said: Any) -> dict[str, Any]:
        return {"code": 20000, "message": "Ok", "status": True, "data": said}

    server.file_shape = framed
    listed = server.list_shape
    server.list_shape = lambda entries, more: (
        framed({"data": entries, "object": "file"}) if "filename" in entries[0] else listed(entries, more)
    )
    with killed_before(Stage.UPLOADED):
        await bench.run(provider="siliconflow")
    assert letters(await bench.run(provider="siliconflow")) == RIGHT
    assert server.calls["upload"] == 1


async def test_results_at_an_address_are_fetched_without_the_key(bench: Bench, server: BatchServer) -> None:
    def shape(batch: dict[str, Any]) -> dict[str, Any]:
        file = batch.get("output_file_id")
        return {**batch, "output_file_id": file and server.url.replace("/v1", f"/results/{file}")}

    server.shape = shape
    assert letters(await bench.run()) == RIGHT
    assert [KEY in str(headers) for call, headers in server.seen if call == "download"] == [False]


async def test_results_that_lie_elsewhere_are_fetched_there_without_the_key(
    bench: Bench, server: BatchServer
) -> None:
    await bench.run(Steps.SUBMIT)
    server.stages = ["completed"]

    async def send_on(call: str) -> None:
        if call == "download" and server.calls[call] == 1:
            (results,) = (id_ for id_, (name, _) in server.files.items() if name == "results")
            server.faults[call] = [Fault(302, headers={"Location": f"/results/{results}"})]

    server.on_call = send_on
    assert letters(await bench.run()) == RIGHT
    assert [KEY in str(headers) for call, headers in server.seen if call == "download"] == [True, False]


async def test_the_key_goes_into_the_providers_own_header(bench: Bench, server: BatchServer) -> None:
    assert letters(await bench.run(provider="azure-openai")) == RIGHT
    assert all(headers.get("api-key") == KEY for _, headers in server.seen)
    assert not any("Authorization" in headers for _, headers in server.seen)


@pytest.mark.parametrize(
    ("provider", "options", "message"),
    [
        ("deepseek", {}, "takes no batches:"),
        ("openrouter", {}, "takes no batches in files"),
        ("openai", {"answer": "logprobs"}, "proven before the first question"),
    ],
)
async def test_what_cannot_go_by_batch_is_refused_before_anything_is_sent(
    bench: Bench, server: BatchServer, provider: str, options: dict[str, Any], message: str
) -> None:
    given = settings(
        bench.suite, server.url, bench.results, model=f"{provider}/m", batch=True, name="r", **options
    )
    names = ("OPENAI_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY")
    with pytest.raises(UsageError, match=message):
        await run(given, display=bench.notes, environ=dict.fromkeys(names, KEY))
    assert not server.calls
    assert not bench.results.exists()


async def test_a_damaged_batch_json_is_told_and_nothing_is_submitted(
    bench: Bench, server: BatchServer
) -> None:
    await bench.run(Steps.SUBMIT)
    file = bench.results / "r" / "batch.json"
    table = json.loads(file.read_text())
    table["parts"][0]["name"] = "../../x"
    for content in (b"{", json.dumps(table).encode()):
        file.write_bytes(content)
        with pytest.raises(UsageError, match=r"batch\.json: cannot be used"):
            await bench.run()
    assert server.bills.total() == 6
