"""When a model ends, by whose word, and how it is said."""

from __future__ import annotations

from datetime import date

import pytest

from m3ke_async.ending import ending_line, ending_of
from m3ke_async.profile import EndedModel, Hosting, Profile
from m3ke_async.providers import load_profile, profile_names
from m3ke_async.rules import Certainty

END = date(2026, 10, 23)
KNOWN = EndedModel("old", END, "new", ("azure-openai", "nowhere"), Certainty.VERIFIED, "https://example.org")
PROFILE = Profile("x", "X", Hosting.HOSTED, ended=(KNOWN, EndedModel("bare", END)))


def test_the_servers_own_list_comes_before_the_file() -> None:
    assert ending_of(PROFILE, "old", None) == KNOWN
    assert ending_of(PROFILE, "other", None) is None
    later = date(2027, 1, 1)
    assert ending_of(PROFILE, "old", later) == EndedModel(
        "old", later, "new", ("azure-openai", "nowhere"), Certainty.MEASURED, "its list of models"
    )
    assert ending_of(PROFILE, "other", END) == EndedModel(
        "other", END, None, (), Certainty.MEASURED, "its list of models"
    )


@pytest.mark.parametrize(
    ("model", "today", "line"),
    [
        (
            "old",
            END,
            (
                "X shut old down on 2026-10-23 (https://example.org); it names new in its place; it may "
                "still be reached through Azure OpenAI (azure-openai) or nowhere"
            ),
        ),
        ("bare", date(2026, 10, 22), "X will shut bare down on 2026-10-23, in 1 day (recalled)"),
        ("bare", date(2026, 9, 1), "X will shut bare down on 2026-10-23, in 52 days (recalled)"),
        ("bare", date(2026, 11, 1), "X shut bare down on 2026-10-23 (recalled)"),
    ],
)
def test_an_end_is_said_in_one_line(model: str, today: date, line: str) -> None:
    ending = ending_of(PROFILE, model, None)
    assert ending is not None
    assert ending_line(PROFILE, ending, today) == line


def test_a_models_name_cannot_break_the_line() -> None:
    line = ending_line(PROFILE, EndedModel("a\n\x1b[31mb", END), END)
    assert line.isprintable()


def test_shipped_files_name_only_providers_that_there_are() -> None:
    names = profile_names()
    for name in names:
        for ended in load_profile(name).ended:
            assert set(ended.elsewhere) <= {*names} - {name}
