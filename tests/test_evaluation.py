"""What a run asks: the identity of requests and of runs, which stored replies depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async.evaluation import Evaluation, make_evaluation
from m3ke_async.providers import load_profile
from m3ke_async.rundir import run_name
from m3ke_async.settings_checks import make_settings
from m3ke_async.suite import load_suite
from tests.questions import write_suite

if TYPE_CHECKING:
    from pathlib import Path


def evaluation(folder: Path, provider: str, **options: Any) -> Evaluation:
    settings = make_settings(f"{provider}/m", options)
    suite = load_suite(folder if folder.exists() else write_suite(folder, rows=5))
    return make_evaluation(settings, suite, load_profile(provider), "m", "http://h/v1")


def key(made: Evaluation) -> str:
    return next(made.items(made.suite.tasks[0])).request.key.hex()


def name(made: Evaluation) -> str:
    return run_name(made.identity(), provider="p", model="m", split="dev", shots=0)


@pytest.mark.parametrize(
    ("provider", "options", "request_key", "digest"),
    [
        ("custom", {}, "5f87404f39a6e0350de1f5f0e02f44d7", "c1123b49"),
        ("openai", {"shots": 2, "system": "s"}, "21cd8080381f2154f6e8a1e3dd735152", "abcffa0e"),
    ],
)
def test_what_was_stored_by_earlier_versions_is_found_again(
    tmp_path: Path, provider: str, options: dict[str, Any], request_key: str, digest: str
) -> None:
    made = evaluation(tmp_path / "suite", provider, **options)
    assert key(made) == request_key
    assert name(made) == f"p-m-dev-0shot-{digest}"


def test_another_protocol_is_another_request_and_another_run(tmp_path: Path) -> None:
    made = [
        evaluation(tmp_path / "suite", "custom", protocol=word) for word in ("chat", "completions", "tgi")
    ]
    assert key(made[0]) == key(evaluation(tmp_path / "suite", "custom"))
    assert len({key(one) for one in made}) == len({name(one) for one in made}) == 3
