"""The published schemas say exactly what the files hold."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from m3ke_async.assets import asset
from m3ke_async.request import Outcome
from m3ke_async.score import SCORES_VERSION
from tests.small_run import write_run

if TYPE_CHECKING:
    from pathlib import Path


def published(name: str) -> Any:
    return json.loads(asset("data", "schemas", f"{name}.schema.json").read_bytes())


def faults(name: str, value: Any) -> list[str]:
    schema = published(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]


def lines(run: Path) -> list[Any]:
    return [json.loads(line) for line in (run / "answers.jsonl").read_bytes().splitlines()]


def scores(run: Path) -> Any:
    return json.loads((run / "scores.json").read_bytes())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("schemas"))


def test_a_run_keeps_to_both(run: Path) -> None:
    assert [faults("answers", line) for line in lines(run)] == [[]] * 6
    assert faults("scores", scores(run)) == []


@pytest.mark.parametrize("options", [("--rotate",), ("--samples", "2", "--temperature", "1")])
def test_a_run_that_asks_several_times_keeps_to_both(tmp_path: Path, options: tuple[str, ...]) -> None:
    run = write_run(tmp_path, options=options)
    assert [fault for line in lines(run) for fault in faults("answers", line)] == []
    assert faults("scores", scores(run)) == []


def test_an_unlabelled_run_keeps_to_both(tmp_path: Path) -> None:
    run = write_run(tmp_path, labelled=False, split="test")
    assert [fault for line in lines(run) for fault in faults("answers", line)] == []
    assert faults("scores", scores(run)) == []


def test_every_field_is_named_and_none_may_be_missing(run: Path) -> None:
    line = lines(run)[0]
    for name in line:
        assert faults("answers", {key: value for key, value in line.items() if key != name})
    assert faults("answers", {**line, "other": 1})
    found = scores(run)
    for name in found["total"]:
        changed = copy.deepcopy(found)
        del changed["total"][name]
        assert faults("scores", changed)


@pytest.mark.parametrize(
    "change", [{"choice": "E"}, {"outcome": "skipped"}, {"span": [1]}, {"id": None}, {"attempts": -1}]
)
def test_wrong_values_are_found(run: Path, change: dict[str, Any]) -> None:
    assert faults("answers", {**lines(run)[0], **change})


def test_the_schemas_are_of_this_version() -> None:
    schema = published("scores")
    assert schema["properties"]["version"] == {"const": SCORES_VERSION}
    assert schema["$id"].endswith(f":{SCORES_VERSION}")
    assert published("answers")["properties"]["outcome"]["enum"] == [*Outcome]
