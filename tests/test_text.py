from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3ke_async.text import counted, escape_surrogates, normalised, one_line, printable

ANY_TEXT = st.text(st.characters(exclude_categories=[]))  # lone surrogates among them

HOSTILE = [
    "\x1b[31m",  # a colour
    "\x1b]0;title\x07",
    "\x9b2J",  # a C1 control sequence
    "\r",  # writes over the line
    "\b",
    "\x00",
    "\x7f",
    "\u202e",  # turns the text round
    "\u2066",
    "\u200b",  # invisible
    "\ufeff",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_could_steer_a_terminal_becomes_a_mark(text: str) -> None:
    shown = printable(f"前{text}后")
    assert "\ufffd" in shown
    assert shown.isprintable()


@pytest.mark.parametrize("text", ["答案：Ａ①𠮷", "é", "👍🏽", "a\tb\nc", "\u3000全角空格", "ﬁ"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0 questions, 0 replies have"),
        (1, "1 question, 1 reply has"),
        (2, "2 questions, 2 replies have"),
        (1_001, "1,001 questions, 1,001 replies have"),
    ],
)
def test_what_is_counted_has_the_form_that_fits_its_number(number: int, said: str) -> None:
    assert f"{counted(number, 'question')}, {counted(number, 'reply has', 'replies have')}" == said


@settings(deadline=None)
@given(ANY_TEXT)
def test_printable_text_has_no_controls_and_can_be_written_as_utf_8(text: str) -> None:
    shown = printable(text)
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cs"} and char not in "\t\n"]
    shown.encode()


@settings(deadline=None)
@given(ANY_TEXT, st.integers(1, 20))
def test_a_limit_is_kept(text: str, limit: int) -> None:
    assert len(printable(text, limit=limit)) <= limit
    assert len(one_line(text, limit=limit)) <= limit


def test_text_that_was_cut_says_so() -> None:
    assert printable("一二三四五", limit=4) == "一二三…"
    assert printable("一二三四", limit=4) == "一二三四"


@settings(deadline=None)
@given(ANY_TEXT)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_one_line_joins_lines_by_blanks() -> None:
    assert one_line("  a\r\n\tb\u2028c\n") == "a b c"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ｘ ＝ １", "x=1"),
        ("水的 沸点？", "水的沸点?"),
        ("ﬁ\u3000\n", "fi"),
        ("Straße", "STRASSE"),
        ("①", "1"),
    ],
)
def test_width_case_and_white_space_do_not_tell_questions_apart(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"), [("水，冰", "水。冰"), ("沸点", "熔点"), ("x1", "x2"), ("-1", "1")]
)
def test_other_characters_do(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_lone_surrogates_are_spelt_out_anywhere_in_a_value() -> None:
    value = {"a\ud83d": ["\udc00", {"b": "好\udfff"}], "n": 1, "none": None}
    assert escape_surrogates(value) == {"a\\ud83d": ["\\udc00", {"b": "好\\udfff"}], "n": 1, "none": None}


@settings(deadline=None)
@given(st.text())
def test_text_without_lone_surrogates_is_not_changed(text: str) -> None:
    assert escape_surrogates(text) == text
