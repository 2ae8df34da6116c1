from __future__ import annotations

from m3ke_async.backlog import Ask
from m3ke_async.recent import Recent
from m3ke_async.request import ChatRequest, Outcome, Reply
from m3ke_async.suite import Question

ASK = Ask(ChatRequest("mock", "http://127.0.0.1/v1", b"{}"), Question(1, "?", ("a", "b", "c", "d"), None))


def test_no_reply_is_read_before_somebody_looks_and_each_is_read_once() -> None:
    read: list[str] = []

    def outcome(ask: Ask, reply: Reply) -> Outcome:
        read.append(reply.text)
        return Outcome(reply.text)

    recent = Recent(outcome)
    for text in ("answered", "unparsed", "answered"):
        recent.add(ASK, Reply(text))
    assert read == []
    assert recent.outcomes() == {Outcome.ANSWERED: 2, Outcome.UNPARSED: 1}
    recent.add(ASK, Reply("refused"))
    assert recent.outcomes()[Outcome.REFUSED] == 1
    assert read == ["answered", "unparsed", "answered", "refused"]


def test_only_the_last_hundred_count_and_the_others_are_never_read() -> None:
    read = 0

    def outcome(ask: Ask, reply: Reply) -> Outcome:
        nonlocal read
        read += 1
        return Outcome(reply.text)

    recent = Recent(outcome)
    for _ in range(5000):
        recent.add(ASK, Reply("unparsed"))
    for _ in range(99):
        recent.add(ASK, Reply("answered"))
    assert recent.outcomes() == {Outcome.ANSWERED: 99, Outcome.UNPARSED: 1}
    assert read == 100
