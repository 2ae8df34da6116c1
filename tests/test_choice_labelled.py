"""Real replies that people labelled, where the folder beside the checkout holds them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.choice import extract_choice

if TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, Any]


@pytest.fixture(scope="module")
def records(shared: Path) -> list[Record]:
    file = shared / "extraction" / "public.jsonl"
    if not file.is_file():
        pytest.skip("the labelled replies are not here")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def letter_of(record: Record, reply: str) -> str:
    return extract_choice(reply, record["options"], record["question"]).letter or "NONE"


def test_labelled_replies_are_read_as_people_read_them(records: list[Record]) -> None:
    found = [(record["label"], letter_of(record, record["raw"])) for record in records]
    lettered = [(label, letter) for label, letter in found if label != "NONE"]
    wrong = [letter for label, letter in lettered if letter not in (label, "NONE")]
    invented = [letter for label, letter in found if label == "NONE" and letter != "NONE"]
    assert sum(label == letter for label, letter in found) >= 0.98 * len(found)
    assert len(wrong) <= 0.005 * len(lettered)
    assert len(invented) <= 0.03 * (len(found) - len(lettered))


@pytest.mark.parametrize("wrap", ["**{}**", "> {}", "\u200b{}", "\n\n{}\n\n", "<think>A? B? C? D?</think>{}"])
def test_markup_around_a_real_reply_changes_nothing(records: list[Record], wrap: str) -> None:
    changed = [
        record["id"]
        for record in records
        if "think" not in record["raw"]
        and record["raw"].strip()
        and letter_of(record, wrap.format(record["raw"])) != letter_of(record, record["raw"])
    ]
    assert len(changed) <= 0.01 * len(records), changed


def test_bold_letters_in_a_real_reply_change_next_to_nothing(records: list[Record]) -> None:
    changed = [
        (record["id"], letter_of(record, bold))
        for record in records
        for bold in [re.sub(r"(?<![A-Za-z])[ABCD](?![A-Za-z])", r"**\g<0>**", record["raw"])]
        if letter_of(record, bold) != letter_of(record, record["raw"])
    ]
    assert len(changed) <= 0.005 * len(records), changed
    assert {letter for _, letter in changed} <= {"NONE"}


@pytest.mark.parametrize("places", [1, 2, 3])
def test_the_choice_follows_when_the_letters_of_a_real_reply_change_places(
    records: list[Record], places: int
) -> None:
    new = dict(zip("ABCD", "ABCD"[places:] + "ABCD"[:places], strict=True))
    followed, lost = 0, []
    for record in records:
        choice = extract_choice(record["raw"], record["options"], record["question"])
        if choice.span is None or record["raw"][slice(*choice.span)] != choice.letter:
            continue  # named by its text, its place or a letter of another alphabet
        said = re.sub(r"(?<![A-Za-z0-9])[A-D](?![A-Za-z0-9])", lambda letter: new[letter[0]], record["raw"])
        texts = {new[letter]: text for letter, text in (record["options"] or {}).items()}
        moved = extract_choice(said, dict(sorted(texts.items())), record["question"]).letter
        if moved == new[choice.letter or ""]:
            followed += 1
        else:
            lost.append((record["id"], moved))
    assert followed > 250
    assert len(lost) <= 0.03 * followed, lost


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("正确答案", "参考答案"),
        ("故选", "因此选择"),
        ("答案是", "答案应该为"),
        ("[正确答案]", "【答案】"),
        ("The answer is", "The correct option is"),
        ("**Answer:**", "Final answer:"),
    ],
)
def test_other_words_for_the_same_change_nothing(records: list[Record], words: str, others: str) -> None:
    using = [record for record in records if words in record["raw"]]
    changed = [
        record["id"]
        for record in using
        if letter_of(record, record["raw"].replace(words, others)) != letter_of(record, record["raw"])
    ]
    assert using
    assert changed == []
