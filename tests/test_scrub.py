from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3ke_async.scrub import MARK, scrub

KEY = "sk-test-SENTINEL-0123456789"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"key {KEY} is wrong", f"key {MARK} is wrong"),
        ("begins sk-test-SENTI", f"begins {MARK}"),
        ("ends EL-0123456789.", f"ends {MARK}."),
        ("middle SENTINEL-01 of it", f"middle {MARK} of it"),
        ("seven charac 3456789 stay", "seven charac 3456789 stay"),
        ("twice sk-test-SE and 23456789", f"twice {MARK} and {MARK}"),
        ("nothing here", "nothing here"),
        ("", ""),
    ],
)
def test_the_key_and_every_part_of_it_go(text: str, clean: str) -> None:
    assert scrub(text, KEY) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Incorrect API key provided: sk-ab***xyz. See", f"Incorrect API key provided: {MARK}. See"),
        ("sk-proj-********************abcd", MARK),
        ("gsk_a1b2c3d4e5", MARK),
        ("Authorization: Bearer abc123def456", f"Authorization: Bearer {MARK}"),
        ("'bearer a1b2c3d4e5'", f"'bearer {MARK}'"),
        ("Bearer authentication is required", "Bearer authentication is required"),
        ('{"api_key": "a1b2c3d4e5"}', f'{{"api_key": "{MARK}"}}'),
        ("api key: required", "api key: required"),
        ("https://me:pass@host/v1", f"https://{MARK}@host/v1"),
        ("https://host/v1?key=abc&x=1", f"https://host/v1?key={MARK}&x=1"),
        ("https://host/?a=1&access_token=abc#d", f"https://host/?a=1&access_token={MARK}#d"),
        ("https://host/v1?api-version=2024-10-21", "https://host/v1?api-version=2024-10-21"),
        ("AIzaSyA1b2c3d4e5f6", MARK),
        ("bce-v3/ALTAK-abc/def", MARK),
        ("eyJhbGci.eyJzdWIi.sig-nature", MARK),
        ("ab12******wxyz", MARK),
        ("task-force and disk-full stay", "task-force and disk-full stay"),
        ("max_tokens: 64 is too large", "max_tokens: 64 is too large"),
    ],
)
def test_what_looks_like_a_key_goes_without_knowing_it(text: str, clean: str) -> None:
    assert scrub(text, None) == clean


def test_a_key_in_an_address_goes_in_its_quoted_spelling_too() -> None:
    assert scrub("http://h/a%2Fb%2Bc%3D%3D", "a/b+c==") == f"http://h/{MARK}"


@pytest.mark.parametrize("key", ["", "x", "abc", None])
def test_placeholders_do_not_spoil_the_text(key: str | None) -> None:
    assert scrub("an example of text, abc", key) == "an example of text, abc"


keys = st.text("abcdefghijklmnopqrstuvwxyzABC0123456789-_", min_size=8, max_size=40)


@given(keys, st.text(max_size=20), st.text(max_size=20), st.data())
def test_no_eight_characters_of_the_key_survive(
    key: str, before: str, after: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(key) - 8))
    end = data.draw(st.integers(start + 8, len(key)))
    clean = scrub(before + key[start:end] + after, key)
    assert not any(key[at : at + 8] in clean.replace(MARK, "\0") for at in range(len(key) - 7))


@given(st.text(max_size=60), st.none() | keys)
def test_scrubbing_twice_changes_nothing_more(text: str, key: str | None) -> None:
    once = scrub(text, key)
    assert scrub(once, key) == once
