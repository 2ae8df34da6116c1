"""sweep.toml: every combination is a cell, and nothing that is misspelt or said twice is passed over."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest

from m3ke_async.errors import DataError, ExitCode
from m3ke_async.sweep.cells import read_sweep
from m3ke_async.sweep.cluster import _Running
from tests.command import ROOT, m3ke

if TYPE_CHECKING:
    from pathlib import Path

    from m3ke_async.sweep.cells import Cell


def cells(folder: Path, text: str) -> tuple[Cell, ...]:
    path = folder / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return read_sweep(path, folder / "results")


def test_lists_are_combined_and_label_the_cells(tmp_path: Path) -> None:
    found = cells(
        tmp_path,
        """
        [settings]
        split = "test"
        max-tokens = 16
        [[grid]]
        model = ["vllm/a", "vllm/b"]
        shots = [0, 5]
        temperature = 0
        """,
    )
    assert [cell.label for cell in found] == [
        "vllm/a shots=0", "vllm/a shots=5", "vllm/b shots=0", "vllm/b shots=5",
    ]  # fmt: skip
    assert {(cell.settings.split, cell.settings.max_tokens) for cell in found} == {("test", 16)}
    assert {cell.settings.results for cell in found} == {str(tmp_path / "results")}


def test_several_grids_are_a_list_and_each_says_what_it_occupies(tmp_path: Path) -> None:
    found = cells(
        tmp_path,
        """
        gpus = 1
        [settings]
        serve = true
        [[grid]]
        model = "vllm/small"
        gpus = 0.5
        [[grid]]
        model = "vllm/large"
        gpus = 8
        cpus = 16
        [[grid]]
        model = "sglang/other"
        """,
    )
    occupied = [(cell.label, cell.gpus, cell.cpus) for cell in found]
    assert occupied == [("vllm/small", 0.5, 1), ("vllm/large", 8, 16), ("sglang/other", 1, 1)]


def test_suites_are_swept_as_any_option_is(tmp_path: Path) -> None:
    found = cells(tmp_path, '[[grid]]\nmodel = "vllm/a"\ndata = "folder"\nsuite = ["ceval", "cmmlu"]')
    assert [cell.settings.suite for cell in found] == ["ceval", "cmmlu"]


def test_a_cell_takes_its_gpus_and_processors_from_ray(tmp_path: Path) -> None:
    text = 'cpus = 2\n[[grid]]\nmodel = "vllm/a"\ngpus = 4\n[[grid]]\nmodel = "vllm/b"\ngpus = 0.5\ncpus = 1'
    ray, found = MagicMock(), cells(tmp_path, text)
    _Running(ray, found, [], keeper=None, shares=None)
    taken = [call.kwargs for call in ray.remote.return_value.options.call_args_list]
    assert [(task["num_gpus"], task["num_cpus"]) for task in taken] == [(4, 2), (0.5, 1)]


def test_cells_of_different_grids_are_told_apart(tmp_path: Path) -> None:
    text = '[[grid]]\nmodel = "vllm/a"\n[[grid]]\nmodel = "vllm/a"\nshots = 5\n[[grid]]\nmodel = "vllm/b"'
    assert [cell.label for cell in cells(tmp_path, text)] == ["vllm/a", "vllm/a shots=5", "vllm/b"]


def test_no_password_of_an_address_is_in_a_label(tmp_path: Path) -> None:
    text = '[[grid]]\nmodel = "vllm/a"\nbase-url = ["http://me:secret@one/v1", "http://two/v1?key=secret"]'
    labels = [cell.label for cell in cells(tmp_path, text)]
    assert labels == ["vllm/a base-url=http://one/v1", "vllm/a base-url=http://two/v1"]


def test_cells_that_may_have_requests_in_common_are_a_family(tmp_path: Path) -> None:
    found = cells(
        tmp_path,
        """
        [[grid]]
        model = ["vllm/a", "vllm/b"]
        limit = [1, 2]
        rotate = [true, false]
        [[grid]]
        model = "vllm/a"
        tasks = "Math*"
        concurrency = 8
        [[grid]]
        model = "vllm/a"
        shots = 5
        """,
    )
    a, b, shots = found[0].family, found[4].family, found[-1].family
    assert [cell.family for cell in found] == [a] * 4 + [b] * 4 + [a, shots]
    assert len({a, b, shots}) == 3


def test_a_list_inside_a_list_is_one_value(tmp_path: Path) -> None:
    found = cells(tmp_path, '[[grid]]\nmodel = "vllm/a"\ntasks = [["Math*", "*Law*"], "Art*"]')
    assert [cell.settings.tasks for cell in found] == [("Math*", "*Law*"), ("Art*",)]
    assert [cell.label for cell in found] == ["vllm/a tasks=Math*,*Law*", "vllm/a tasks=Art*"]


def test_a_suite_beside_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suite").mkdir()
    monkeypatch.chdir(tmp_path)
    found = cells(tmp_path, '[[grid]]\nmodel = "vllm/a"\ndata = ["suite", "sample"]')
    assert [cell.settings.data for cell in found] == [str(tmp_path / "suite"), "sample"]


def test_the_example_of_the_manual_is_a_sweep_and_says_what_cells_occupy(tmp_path: Path) -> None:
    manual = (ROOT / "docs" / "sweeps.md").read_text("utf-8")
    found = cells(tmp_path, manual.split("```toml\n")[1].split("```")[0])
    occupied = {(cell.settings.serve, cell.gpus, cell.cpus) for cell in found}
    assert occupied == {(True, 1, 1), (True, 4, 1), (False, 0, 0.25)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no cell"),
        ('[[grid]]\nshots = 1', r"grid\[1\].model': is missing"),
        ('[[grid]]\nmodel = "vllm/a"\nshot = 1', r"grid\[1\].shot': is no field here; did you mean shots"),
        ('[setting]\nshots = 1\n[[grid]]\nmodel = "vllm/a"', "'setting': is no field here"),
        ('[[grid]]\nmodel = "vllm/a"\nshots = [0, 6]', r"grid\[1\].*--shots must be a whole number"),
        ('[[grid]]\nmodel = "vllm/a"\nshots = [0, 0]', r"grid\[1\].*asks the same twice: vllm/a shots=0"),
        ('[[grid]]\nmodel = "a/b"\n[[grid]]\nmodel = "a/b"', r"grid\[2\].*asks the same twice: a/b"),
        (
            '[[grid]]\nmodel = "a/b"\nconcurrency = [1, 8]',
            "asks the same twice: a/b concurrency=8, which is the run of a/b concurrency=1",
        ),
        ('[[grid]]\nmodel = "a/b"\npolicy = ["strict", "careful"]', "asks the same twice"),
        ('[settings]\nshots = [0, 5]\n[[grid]]\nmodel = "a/b"', r"settings.shots': is a list; under"),
        ('[settings]\nshots = 6\n[[grid]]\nmodel = "a/b"', "field 'settings': --shots must be"),
        ('[[grid]]\nmodel = "a/b"\ngpus = 1.5', r"grid\[1\].gpus': must be a whole number, or a part of 1"),
        ('cpus = 0.00001\n[[grid]]\nmodel = "a/b"', "'cpus': must be a whole number, or a part of 1"),
        ('[[grid]]\nmodel = "vllm/a"\nshots = []', r"grid\[1\].shots': is empty"),
        ('[[grid]]\nmodel = "vllm/a"\nname = "x"', r"grid\[1\].name': is not allowed in a sweep"),
        ('[settings]\nretry-failed = true', "settings.retry-failed': is not allowed in a sweep"),
        ('[settings]\ngpus = 1', r"settings.gpus': is no option of a run: write it above"),
        ('[settings]\ncolour = 1', "settings.colour': is no field here; known are model, base-url, "),
        ('[[grid]]\nmodel = "vllm/a"\nresults = "x"', r"grid\[1\].results': is not allowed in a sweep"),
        ('[[grid]]\nmodel = "vllm/a"\ngpus = -1', r"grid\[1\].gpus': must be 0 or above"),
        ("grid = 1", "'grid': must be a list of tables"),
        ("[[grid]\n", "not valid TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        cells(tmp_path, text)


def test_without_ray_a_sweep_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    path = tmp_path / "sweep.toml"
    path.write_text('[[grid]]\nmodel = "vllm/a"\ndata = "sample"', encoding="utf-8")
    ran, other = m3ke("sweep", path, "--results", tmp_path), m3ke("sweep", "--results", tmp_path, path)
    assert ran.code == ExitCode.USAGE
    assert ran.error == other.error
    assert (
        ran.error
        == "a sweep runs on Ray, which is not installed: pip install '.[cluster]' in the clone of m3ke-async"
    )
