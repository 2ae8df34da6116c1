from __future__ import annotations

import asyncio
import io
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from m3ke_async.progress import Live, Plain, Silent, describe, duration, make_display
from m3ke_async.request import Outcome
from m3ke_async.tally import Ledger, Tally
from tests import fake_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3ke_async.progress import Display

NOTHING: Counter[Outcome] = Counter()

_COLOUR = re.compile(r"\x1b\[[\d;]*3\d[\d;]*m")
_CONTROL = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def stream(encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding, errors="strict", newline="")


def written(text: io.TextIOWrapper) -> str:
    text.flush()
    assert isinstance(text.buffer, io.BytesIO)
    return text.buffer.getvalue().decode(text.encoding)


def watch(
    display: Display, *, total: int, seconds: float, step: Callable[[Tally, float], None] | None = None
) -> None:
    """Watch a run in which all questions are answered evenly over made-up seconds."""
    tally = Tally(total=total)

    def evenly(tally: Tally, share: float) -> None:
        tally.answered = round(total * share)

    def recent() -> Counter[Outcome]:
        return Counter({Outcome.ANSWERED: min(100, tally.answered)})

    async def main() -> None:
        async with display.watch(tally, recent, lambda: None):
            for second in range(1, round(seconds) + 1):
                await asyncio.sleep(1)
                (step or evenly)(tally, second / seconds)

    fake_time.run(main())


# The state on one line


def test_the_line_says_what_there_is_to_say_and_no_more() -> None:
    assert describe(Tally(total=2000), 0.0, NOTHING, None) == "0 of 2,000 · 0.0/s"


def test_the_line_has_rate_outcomes_tokens_retries_the_next_wait_and_the_time_left() -> None:
    tally = Tally(
        total=2000,
        stored=500,
        answered=290,
        failed=10,
        waiting=3,
        ledger=Ledger(prompt_tokens=12345, completion_tokens=678, retries=Counter(timeout=4, rate_limit=5)),
    )
    recent = Counter({Outcome.UNPARSED: 10, Outcome.ANSWERED: 90})
    assert describe(tally, 60.0, recent, 12.4) == (
        "800 of 2,000 · 500 stored · 5.0/s · last 100: 90 answered, 10 unparsed · 10 failed · "
        "12,345+678 tokens · 9 retries · 3 waiting, next in 12 s · 4 min left"
    )


def test_stored_replies_do_not_make_the_rate_look_better() -> None:
    assert describe(Tally(total=2000, stored=1990), 10.0, NOTHING, None).endswith("1,990 stored · 0.0/s")


def test_replies_that_an_earlier_command_counted_are_none_of_the_time_left() -> None:
    begun = Tally(total=2000, stored=64, known=1000, answered=100)
    assert describe(begun, 10.0, NOTHING, None) == "1,100 of 2,000 · 1,000 stored · 10.0/s · 2 min left"


def test_no_time_is_foretold_from_nothing() -> None:
    assert "left" not in describe(Tally(total=100, answered=2), 5.0, NOTHING, None)
    assert "left" not in describe(Tally(total=100, answered=50), 0.0, NOTHING, None)
    assert "left" not in describe(Tally(total=100, answered=100), 5.0, NOTHING, None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (89.4, "89 s"),
        (90, "2 min"),
        (60 * 89, "89 min"),
        (60 * 90, "1 h 30 min"),
        (60 * 125, "2 h 05 min"),
        (3600 * 30, "30 h 00 min"),
    ],
)
def test_seconds_are_told_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# Which display


@pytest.mark.parametrize(
    ("terminal", "term", "quiet", "kind"),
    [
        (True, "xterm", False, Live),
        (True, "dumb", False, Plain),
        (False, "xterm", False, Plain),
        (True, "xterm", True, Silent),
        (False, "dumb", True, Silent),
    ],
)
def test_the_display_fits_the_stream(
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    term: str,
    quiet: bool,
    kind: type[Display],
) -> None:
    monkeypatch.setenv("TERM", term)
    assert type(make_display(quiet=quiet, stream=Terminal() if terminal else io.StringIO())) is kind


# Plain lines (C11)


@pytest.mark.parametrize(
    ("total", "seconds", "most"),
    [
        (2000, 4, 3),  # at most one in 2 s
        (2000, 100, 21),  # one per 5 %, and the last
        (2000, 3600, 141),  # an hour: one per 30 s or 5 %, and the last
        (3, 100, 7),
        (1, 29, 2),
        (0, 2, 1),
    ],
)
def test_a_pipe_gets_few_whole_lines_and_a_last_one(total: int, seconds: float, most: int) -> None:
    text = stream()
    watch(Plain(text), total=total, seconds=seconds)
    lines = written(text).splitlines()
    assert len(lines) <= most
    assert lines[-1].startswith(f"{total:,} of {total:,}")
    assert all(line.isprintable() for line in lines)
    assert written(text).endswith("\n")


def test_a_run_that_stands_still_says_so_twice_a_minute() -> None:
    text = stream()
    watch(Plain(text), total=2000, seconds=300, step=lambda tally, share: None)
    assert 10 <= len(written(text).splitlines()) <= 11


def test_the_last_line_comes_when_the_run_breaks_off() -> None:
    text = stream()

    async def main() -> None:
        async with Plain(text).watch(Tally(total=5), Counter, lambda: None):
            raise KeyError

    with pytest.raises(KeyError):
        fake_time.run(main())
    assert written(text) == "0 of 5 · 0.0/s\n"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "题①𠮷😀 �[31m"),
        ("gbk", "题①\\U00020bb7\\U0001f600 \\ufffd[31m"),
        ("ascii", "\\u9898\\u2460\\U00020bb7\\U0001f600 \\ufffd[31m"),
    ],
)
def test_what_a_stream_cannot_show_is_escaped_and_controls_are_taken_out(encoding: str, shown: str) -> None:
    text = stream(encoding)
    Plain(text).say("题①𠮷😀 \x1b[31m")
    Plain(text).warn("坏\ud83d")
    first, second = written(text).splitlines()
    assert first == shown
    assert second.endswith("\\ud83d")


def test_the_state_itself_can_be_written_in_any_encoding() -> None:
    text = stream("ascii")
    watch(Plain(text), total=10, seconds=3)
    assert "10 of 10" in written(text)


# On a terminal


def live(monkeypatch: pytest.MonkeyPatch, *, columns: int = 80, **environ: str) -> str:
    """What a terminal gets."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    display = make_display(quiet=False, stream=terminal)
    display.say("一" * 60)
    display.say("said [bold] \x1b]0;title\x07")
    display.warn("warned [bold] \x1b]0;title\x07")
    watch(display, total=2000, seconds=20)
    return terminal.getvalue()


def test_a_terminal_shows_a_bar_and_ends_with_the_last_state(monkeypatch: pytest.MonkeyPatch) -> None:
    text = live(monkeypatch)
    assert "━" in text
    frames = _CONTROL.sub("", text).split("\r")
    assert any("1,000 of 2,000" in frame and "10 s left" in frame for frame in frames)
    assert "2,000 of 2,000" in frames[-1]
    assert text.endswith("\x1b[?25h")  # the cursor is back


def test_no_color_means_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _COLOUR.search(live(monkeypatch, COLORTERM="truecolor"))
    assert not _COLOUR.search(live(monkeypatch, NO_COLOR="1"))


def test_forty_columns_are_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _CONTROL.sub("", live(monkeypatch, columns=40))
    shown = [line for line in re.split(r"[\r\n]+", text) if "一" not in line]
    assert max(cell_len(line) for line in shown) <= 40
    assert "answered" in text


def test_foreign_text_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = live(monkeypatch)
    assert "\x07" not in text
    assert ("said [bold] " in text, "warned [bold] " in text) == (True, True)  # no markup of rich's
    rest = _CONTROL.sub("", text)
    assert not [char for char in rest if unicodedata.category(char) == "Cc" and char not in "\r\n"]


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    display = make_display(quiet=True)
    display.say("x")
    display.warn("y")
    watch(display, total=10, seconds=60)
    assert capsys.readouterr() == ("", "")
