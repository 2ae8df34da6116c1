from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

from m3ke_async import ExitCode, UsageError, read_run
from m3ke_async.frame import COLUMNS
from m3ke_async.suite import Cluster
from tests.small_run import write_run
from tests.small_suite import ALGEBRA, COOKING

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("frame"))


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """As if these libraries were not installed."""
    real = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> Any:
        return None if name in names else real(name, package)

    monkeypatch.setattr("m3ke_async.frame.find_spec", find_spec)


def check(rows: list[dict[str, Any]]) -> None:
    assert [list(row) for row in rows] == [list(COLUMNS)] * 6
    assert [row["task"] for row in rows] == [ALGEBRA] * 3 + [COOKING] * 3
    assert {row["subject"] for row in rows} == {"Algebra", "Cooking"}
    assert {(row["cluster"], row["level"]) for row in rows} == {
        ("Natural Sciences", "High school"),
        ("Other", "Other"),
    }
    assert [row["id"] for row in rows] == ["0", "1", "2"] * 2
    assert [row["correct"] for row in rows[:2]] == [True, False]
    assert rows[-1]["correct"] is False  # failed counts as wrong, as in the accuracy
    assert rows[-1]["reply"] is None
    assert rows[-1]["latency"] is None
    assert rows[0]["attempts"] == 1


def test_a_polars_frame_in_one_call(run: Path) -> None:
    pl = pytest.importorskip("polars")
    frame = read_run(run).frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.schema["correct"] == pl.Boolean
    assert frame.schema["prompt_tokens"] == pl.Int64
    check(frame.to_dicts())


def test_a_pandas_frame_where_polars_is_not(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd = pytest.importorskip("pandas")
    without(monkeypatch, "polars")
    frame = read_run(run).frame()
    assert isinstance(frame, pd.DataFrame)
    assert str(frame.dtypes["correct"]) == "boolean"
    assert str(frame.dtypes["attempts"]) == "Int64"
    check(frame.astype(object).where(frame.notna(), None).to_dict("records"))


def test_a_run_on_disk_is_a_typed_result(run: Path) -> None:
    result = read_run(run)
    assert result.scores.clusters[Cluster.NATURAL].accuracy == pytest.approx(2 / 3)
    assert result.scores.clusters["Natural Sciences"] is result.scores.clusters[Cluster.NATURAL]
    assert read_run("run", run.parent).ledger == result.ledger
    assert result.exit_code == ExitCode.INCOMPLETE


def test_neither_library_says_what_to_install(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "polars", "pandas")
    with pytest.raises(UsageError, match="needs polars or pandas: pip install polars"):
        read_run(run).frame()


def test_a_damaged_line_is_an_error_and_not_a_shorter_frame(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    run = write_run(tmp_path)
    result = read_run(run)
    with (run / "answers.jsonl").open("ab") as file:
        file.write(b"{\n")
    with pytest.raises(UsageError, match=r"line 7: not JSON; write it again"):
        result.frame()
