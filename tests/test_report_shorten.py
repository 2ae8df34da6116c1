from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.report.shorten import ROOM, room_for_each, shorten

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("room", [None, 10, 11])
def test_what_fits_stays_whole(room: int | None) -> None:
    assert shorten("0123456789", (3, 4), room) == ("0123456789", (3, 4), 0)


def test_a_choice_near_the_head_keeps_the_head() -> None:
    assert shorten("答案是B，因为" + "长" * 94, (3, 4), 20) == (
        "答案是B，因为" + "长" * 13 + " … ",
        (3, 4),
        81,
    )


def test_a_choice_at_the_end_keeps_head_and_end() -> None:
    text = "a" * 50 + "b" * 50 + "答案：C"
    assert shorten(text, (103, 104), 20) == ("a" * 10 + " … " + "b" * 6 + "答案：C", (22, 23), 84)


def test_a_text_without_a_choice_keeps_head_and_end() -> None:
    assert shorten("a" * 50 + "z" * 50, None, 10) == ("aaaaa … zzzzz", None, 90)


@given(st.text("ab", min_size=1, max_size=300), st.integers(0, 299), st.integers(1, 3), st.integers(4, 200))
def test_the_choice_is_the_same_text_wherever_it_stands(
    text: str, start: int, length: int, room: int
) -> None:
    span = (min(start, len(text) - 1), min(start + length, len(text)))
    short = shorten(text, (min(span), max(span)), room)
    assert short.span is not None
    assert short.text[slice(*short.span)] == text[slice(min(span), max(span))]
    assert len(short.text) <= max(len(text), room + 3 + 3 + length)
    assert short.left_out == len(text) - len(short.text.replace(" … ", ""))


def test_few_replies_are_never_shortened_and_many_long_ones_are(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    assert room_for_each(answers, 0) is None
    answers.write_bytes(b"x" * 1000)
    assert room_for_each(answers, 20_000) is None
    with answers.open("wb") as file:
        file.truncate(3 * ROOM + 1)
    assert room_for_each(answers, 20_000) == 450
    assert room_for_each(answers, 1) == ROOM
    assert room_for_each(answers, 10_000_000) == 200
