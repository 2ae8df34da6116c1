"""What a command owes: what has a reply is passed, claims go before looks, and others may run meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.lookup import find_evaluation, find_suite, run_directory
from m3ke_async.owed import left_to_others, owed, owes
from m3ke_async.replies import open_store
from m3ke_async.request import FILTERED, Reply
from m3ke_async.session import Session
from m3ke_async.store import Failure
from m3ke_async.tally import Tally
from m3ke_async.target import find_target
from tests.asking import Notes, settings
from tests.questions import marks, write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from m3ke_async.evaluation import Item
    from m3ke_async.store import ReplyStore


def begin(folder: Path, rows: int = 4, **options: Any) -> Session:
    """A command on a run of one task."""
    given = settings(write_suite(folder / "suite", 1, rows), "http://h/v1", folder / "results", **options)
    target = find_target(given, Notes(), {})
    evaluation = find_evaluation(given, find_suite(given.data), target)
    tally = Tally(total=evaluation.total)
    return Session(run_directory(evaluation), evaluation, target, Notes(), tally, None, 100.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplyStore]:
    with open_store(run_directory(begin(tmp_path).evaluation), lambda line: None) as opened:
        yield opened


def items(session: Session) -> list[Item]:
    return list(session.evaluation.items(session.evaluation.suite.tasks[0]))


def asked(session: Session, store: ReplyStore, *, claim: bool = False) -> list[str | None]:
    """Marks of the questions that are to be asked, None where others may run."""
    asks = owed(session, session.evaluation.suite.tasks[0], store, session.tally, claim=claim)
    return [None if ask is None else ask.question.question.split()[0] for ask in asks]


def test_what_has_a_reply_is_counted_and_the_rest_is_asked(tmp_path: Path, store: ReplyStore) -> None:
    session = begin(tmp_path)
    store.put(items(session)[1].request, Reply("A"))
    assert asked(session, store) == ["Q0-0", "Q0-2", "Q0-3"]
    assert (session.tally.stored, session.tally.total) == (1, 4)


def test_others_may_run_after_so_many_stored_replies(tmp_path: Path, store: ReplyStore) -> None:
    session = begin(tmp_path, 200)
    for item in items(session)[:150]:
        store.put(item.request, Reply("A"))
    assert asked(session, store) == [None, None, *marks(1, 200)[150:]]
    assert session.tally.stored == 150


def test_a_reply_that_another_process_keeps_before_it_lets_go_is_not_bought_twice(
    tmp_path: Path, store: ReplyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = begin(tmp_path)
    requests = {item.request.key: item.request for item in items(session)}

    def take(key: bytes) -> bool:
        store.put(requests[key], Reply("A"))  # it ends at this very moment
        return True

    released: list[bytes] = []
    monkeypatch.setattr(store.claims, "take", take)
    monkeypatch.setattr(store.claims, "release", released.append)
    assert asked(session, store, claim=True) == []
    assert released == list(requests)


@pytest.mark.parametrize(
    ("options", "marks"),
    [
        ({}, ["Q0-2", "Q0-3"]),
        ({"retry_failed": True}, ["Q0-2"]),
        ({"retry_filtered": True}, ["Q0-1", "Q0-2", "Q0-3"]),
        ({"fresh": True}, ["Q0-0", "Q0-1", "Q0-2", "Q0-3"]),
    ],
)
def test_what_is_asked_again_is_the_users_to_say(
    tmp_path: Path, store: ReplyStore, options: dict[str, bool], marks: list[str]
) -> None:
    session = begin(tmp_path, **options)
    right, filtered, failed, _ = (item.request for item in items(session))
    store.put(right, Reply("A", received_at=50.0))
    store.put(filtered, Reply("", finish_reason=FILTERED, received_at=50.0))
    store.put_failure(failed, Failure("timeout", "no answer came in time"))
    assert asked(session, store) == marks
    assert session.tally.total - session.tally.stored == len(marks)


@pytest.mark.parametrize("option", ["fresh", "retry_filtered"])
def test_what_came_since_the_command_began_is_fresh(tmp_path: Path, store: ReplyStore, option: str) -> None:
    session = begin(tmp_path, **{option: True})
    for item in items(session):
        store.put(item.request, Reply("", finish_reason=FILTERED, received_at=session.since))
    assert not owes(session, store, session.tally)


def test_what_batches_of_other_runs_hold_is_left_to_them_and_named(tmp_path: Path, store: ReplyStore) -> None:
    session = begin(tmp_path)
    keys = [item.request.key for item in items(session)]
    session.elsewhere = {keys[0]: Path("results/other run"), keys[1]: session.directory.path}
    assert asked(session, store) == ["Q0-2", "Q0-3"]
    assert left_to_others(session, store) == (
        "1 question is in batches of results/other run, and left to them: "
        "m3ke batch collect 'results/other run', then the same command again"
    )
    store.put(items(session)[0].request, Reply("A"))
    assert left_to_others(session, store) is None
