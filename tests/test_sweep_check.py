"""What cannot work in a sweep is told before it begins: all of it, once for all cells that it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from m3ke_async.errors import ExitCode
from m3ke_async.sweep.cells import read_sweep
from m3ke_async.sweep.check import wrong_cells
from tests.command import m3ke

if TYPE_CHECKING:
    from pathlib import Path


def wrong(folder: Path, text: str, *, here: bool = True) -> list[str]:
    path = folder / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return wrong_cells(read_sweep(path, folder / "results"), here=here)


ADDRESS = 'base-url = "http://127.0.0.1:9/v1"\n'


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ('model = "a"', "'a' is not a model: write provider/model"),
        ('model = "custmo/b"', "there is no provider 'custmo': did you mean custom"),
        ('model = "custom/b"', "custom has no address of its own"),
        ('model = "custom/b"\nserve = true', "--serve starts no custom server"),
        ('model = "deepseek/b"', "no key for DeepSeek"),
        ('model = "vllm/b"\napi-key-env = "NOT_SET"', "the environment variable NOT_SET is not set"),
        (f'model = "custom/b"\n{ADDRESS}data = "smaple"', "smaple"),
        (f'model = "custom/b"\n{ADDRESS}tasks = "Nothing"', "no task matches 'Nothing'"),
        (f'model = "custom/b"\n{ADDRESS}max-cost = 1', "--max-cost needs a price"),
        (f'model = "custom/b"\n{ADDRESS}samples = 3', "--samples 3 tells nothing at temperature 0"),
    ],
)
def test_what_a_run_would_refuse_is_told_of_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str, reason: str
) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    data = "" if "data" in cell else 'data = "sample"'
    (line,) = wrong(tmp_path, f"[settings]\n{data}\n[[grid]]\n{cell}")
    assert reason in line


def test_a_cell_that_can_work_is_not_told_of(tmp_path: Path) -> None:
    text = f'[settings]\ndata = "sample"\n{ADDRESS}[[grid]]\nmodel = "custom/b"\nshots = [0, 1]'
    assert wrong(tmp_path, text) == []


def test_what_concerns_several_cells_is_told_once(tmp_path: Path) -> None:
    text = '[settings]\ndata = "sample"\n[[grid]]\nmodel = "a"\nshots = [0, 1, 2, 3, 4]'
    (line,) = wrong(tmp_path, text)
    assert line.startswith("a shots=0, a shots=1, a shots=2 and 2 more: 'a' is not a model")


def test_other_machines_may_have_other_suites_and_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    models = '"deepseek/b", "custmo/b", "vllm/b", "local/not-here"'
    (line,) = wrong(tmp_path, f'[[grid]]\ndata = "elsewhere"\nmodel = [{models}]', here=False)
    assert line.startswith("custmo/b: there is no provider")


def test_all_of_it_is_told_before_anything_begins(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text('[[grid]]\nmodel = ["a", "custmo/b"]\ndata = "smaple"', encoding="utf-8")
    ran = m3ke("sweep", path, "--results", tmp_path / "results")
    assert ran.code == ExitCode.USAGE
    *reasons, end = ran.err.splitlines()
    assert [line.removeprefix("m3ke: ").split(": ")[0] for line in reasons] == [
        "a",
        "a, custmo/b",
        "custmo/b",
    ]
    assert end == f"m3ke: {path}: cells cannot work as they are given, and nothing was begun; see above"
    assert not (tmp_path / "results").exists()
