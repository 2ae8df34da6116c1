"""What a list of models tells."""

from __future__ import annotations

from datetime import date

import pytest

from m3ke_async.preflight import listed_models


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b'{"data": [{"id": "a"}, {"id": "b"}]}', {"a", "b"}),
        (b'[{"id": "a"}]', {"a"}),
        (b'{"data": [{"id": 5}, null, "x", {"id": "a"}]}', {"a"}),
        (b'{"data": []}', set()),
        (b'{"data": null}', None),
        (b'{"error": "no"}', None),
        (b'{"model_id": "a"}', {"a"}),
        (b'"text"', None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_names_are_read_from_any_form_of_the_list(body: bytes, names: set[str] | None) -> None:
    assert listed_models(body) == (None if names is None else dict.fromkeys(names))


@pytest.mark.parametrize(
    ("said", "day"),
    [
        (b'"2026-10-23"', date(2026, 10, 23)),
        (b'"2026-10-23T00:00:00Z"', date(2026, 10, 23)),
        (b"null", None),
        (b'"soon"', None),
        (b'""', None),
        (b"20261023", None),
        (b'["2026-10-23"]', None),
    ],
)
def test_the_day_of_a_shutdown_is_read_from_the_list(said: bytes, day: date | None) -> None:
    assert listed_models(b'{"data": [{"id": "a", "shutdown_date": %s}]}' % said) == {"a": day}
