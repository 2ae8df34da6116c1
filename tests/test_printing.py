"""What commands print: nothing that steers a terminal, and JSON that any stream can hold."""

from __future__ import annotations

import io
import json
import sys

import pytest

from m3ke_async.commands.printing import fail, print_json, print_lines, show_note

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b1m\u202e尾"


def test_lines_steer_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines([HOSTILE, "plain"])
    fail(f"one\n{HOSTILE}")
    show_note(HOSTILE)
    out, err = capsys.readouterr()
    assert out.splitlines() == ["\ufffd[2J\ufffd]0;title\ufffd\ufffd1m\ufffd尾", "plain"]
    assert [line.split("\ufffd")[0] for line in err.splitlines()] == ["m3ke: one ", "  | "]
    assert all(line.isprintable() for line in (out + err).splitlines())


@pytest.mark.parametrize("encoding", ["utf-8", "gbk", "ascii"])
def test_json_is_whole_in_any_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding, errors="strict")
    monkeypatch.setattr(sys, "stdout", stream)
    value = {"reply": f"题𠮷{HOSTILE}", "by shots": {0: 1}}
    print_json(value)
    assert isinstance(stream.buffer, io.BytesIO)
    written = stream.buffer.getvalue()
    assert b"\x1b" not in written
    assert json.loads(written.decode(encoding)) == {"reply": value["reply"], "by shots": {"0": 1}}
