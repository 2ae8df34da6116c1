"""Runs in the forms of other programs, read by those programs where they are installed."""

from __future__ import annotations

import json
import math
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import m3ke
from tests.small_run import write_run
from tests.small_suite import ALGEBRA, COOKING

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="module")
def unlabelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("unlabelled"), labelled=False, split="test")


def written(run: Path, form: str) -> Path:
    ran = m3ke("report", run, "--format", form)
    assert (ran.code, ran.err) == (0, "")
    return run.parent / run.name / ran.out.strip().rpartition("/")[2]


def package(name: str) -> Any:
    """A heavy library of others, whose own warnings are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed here")


# -- inspect_ai ------------------------------------------------------------------------


def test_the_inspect_log_has_a_name_that_the_viewer_looks_for(run: Path) -> None:
    path = written(run, "inspect")
    written_at = json.loads((run / "run.json").read_bytes())["written_at"]
    assert path.parent == run
    assert path.name.startswith(f"{written_at.removesuffix('Z').replace(':', '-')}_m3ke-dev_")


def test_the_inspect_log_holds_each_question_with_its_score(run: Path) -> None:
    log = json.loads(written(run, "inspect").read_bytes())
    samples = {sample["id"]: sample for sample in log["samples"]}
    assert list(samples) == [f"{task}/{n}" for task in (ALGEBRA, COOKING) for n in range(3)]
    right, wrong = samples[f"{ALGEBRA}/0"], samples[f"{ALGEBRA}/1"]
    assert (right["target"], right["scores"]["choice"]["value"]) == ("A", "C")
    assert (wrong["scores"]["choice"]["answer"], wrong["scores"]["choice"]["value"]) == ("B", "I")
    assert right["messages"][-1]["content"] == "答案：A"
    failed = samples[f"{COOKING}/2"]
    assert "scores" not in failed
    assert failed["error"]["message"]


def test_the_inspect_log_is_read_by_inspect(run: Path) -> None:
    package("inspect_ai")
    from inspect_ai.log import list_eval_logs, read_eval_log

    path = written(run, "inspect")
    assert [info.name.endswith(path.name) for info in list_eval_logs(str(run))] == [True]
    log = read_eval_log(str(path))
    assert log.status == "cancelled"  # one question has failed
    assert log.eval.model == "custom/m"
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(0.5)
    assert log.samples is not None
    assert [sample.output.completion for sample in log.samples[:2]] == ["答案：A", "答案：B"]
    assert log.samples[0].scores is not None
    assert log.samples[0].scores["choice"].value == "C"
    assert log.eval.metadata is not None
    assert log.eval.metadata["settings"]["temperature"] == 0


def test_an_unlabelled_run_has_no_scores_for_inspect(unlabelled: Path) -> None:
    log = json.loads(written(unlabelled, "inspect").read_bytes())
    assert log["results"]["scores"] == []
    assert {"scores" in sample for sample in log["samples"]} == {False}


def test_inspect_reads_an_unlabelled_run(unlabelled: Path) -> None:
    package("inspect_ai")
    from inspect_ai.log import read_eval_log

    assert read_eval_log(str(written(unlabelled, "inspect"))).samples


def test_asks_of_one_question_are_epochs(tmp_path: Path) -> None:
    run = write_run(tmp_path, options=("--rotate",))
    log = json.loads(written(run, "inspect").read_bytes())
    epochs = [sample["epoch"] for sample in log["samples"] if sample["id"] == f"{ALGEBRA}/0"]
    assert epochs == [1, 2, 3, 4]


# -- lm-evaluation-harness -------------------------------------------------------------


def test_lm_eval_results_hold_tasks_and_groups(run: Path) -> None:
    path = written(run, "lm-eval")
    assert path.name.startswith("results_")
    found = json.loads(path.read_bytes())
    assert found["results"][ALGEBRA]["acc,none"] == pytest.approx(2 / 3)
    assert found["results"][ALGEBRA]["acc_stderr,none"] == pytest.approx(math.sqrt(2 / 9 / 2))
    assert found["groups"]["m3ke_dev"]["acc,none"] == pytest.approx(0.5)
    assert found["group_subtasks"] == {
        "m3ke_dev": ["m3ke_dev: Natural Sciences", "m3ke_dev: Other"],
        "m3ke_dev: Natural Sciences": [ALGEBRA],
        "m3ke_dev: Other": [COOKING],
    }
    assert found["n-samples"][ALGEBRA] == {"original": 3, "effective": 3}


def test_lm_eval_prints_its_table_of_it(run: Path) -> None:
    package("lm_eval")
    from lm_eval.utils import make_table

    found = json.loads(written(run, "lm-eval").read_bytes())
    table = make_table(found)
    assert "|acc" in table
    assert "0.6667" in table
    assert "0.5000" in make_table(found, "groups")


def test_the_error_of_a_group_is_lm_evals_own(run: Path) -> None:
    package("lm_eval")
    from lm_eval.api.metrics import mean_stderr, pooled_sample_stderr

    found = json.loads(written(run, "lm-eval").read_bytes())
    algebra, cooking = mean_stderr([1, 0, 1]), mean_stderr([1, 0, 0])
    assert found["results"][ALGEBRA]["acc_stderr,none"] == pytest.approx(algebra)
    pooled = pooled_sample_stderr([algebra, cooking], [3, 3])
    assert found["groups"]["m3ke_dev"]["acc_stderr,none"] == pytest.approx(pooled)


def test_an_unlabelled_run_has_no_accuracy_for_lm_eval(unlabelled: Path) -> None:
    found = json.loads(written(unlabelled, "lm-eval").read_bytes())
    assert set(found["groups"]["m3ke_test"]) == {"alias", "answered,none"}
