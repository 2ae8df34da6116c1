from __future__ import annotations

import pytest

from m3ke_async.published import PublishedRow, published_table
from m3ke_async.suite import Cluster

#: Averages that are not the mean of their row, and that mean: two roundings explain 0.001 at most.
EXCEPTIONS = {(0, "GLM-10B"): 0.1945}

ROWS = [(table.shots, row) for table in map(published_table, (0, 5)) for row in table.rows]


@pytest.mark.parametrize(("shots", "row"), ROWS, ids=[f"{shots}-{row.model}" for shots, row in ROWS])
def test_the_average_is_the_mean_of_the_four_clusters(shots: int, row: PublishedRow) -> None:
    mean = sum(row.clusters.values()) / 4
    assert mean == pytest.approx(EXCEPTIONS.get((shots, row.model), row.average), abs=0.00101)
    assert ((shots, row.model) in EXCEPTIONS) == (abs(mean - row.average) > 0.00101)


def test_each_row_has_all_four_clusters_as_shares() -> None:
    for _, row in ROWS:
        assert list(row.clusters) == list(Cluster)
        assert all(0 < share < 1 for share in (*row.clusters.values(), row.average))


@pytest.mark.parametrize(("shots", "models"), [(0, 13), (5, 13)])
def test_both_tables_are_whole(shots: int, models: int) -> None:
    names = [row.model for row in published_table(shots).rows]
    assert len(names) == len(set(names)) == models


def test_some_numbers_as_printed() -> None:
    zero, five = ({row.model: row for row in published_table(shots).rows} for shots in (0, 5))
    assert zero["GPT-4"].clusters[Cluster.SOCIAL] == 0.676
    assert zero["GPT-3.5-turbo"].average == 0.481
    assert five["GPT-3.5-turbo"].clusters[Cluster.OTHER] == 0.476
    assert five["baichuan-7B"].average == 0.237
    assert "GPT-4" not in five
    assert "baichuan-7B" not in zero


def test_only_the_gpt_models_are_closed() -> None:
    assert {row.model for _, row in ROWS if row.closed} == {"GPT-3.5-turbo", "GPT-4"}


@pytest.mark.parametrize(("asked", "table"), [(0, 0), (1, 5), (4, 5), (5, 5)])
def test_any_examples_are_compared_with_the_five_shot_table(asked: int, table: int) -> None:
    assert published_table(asked).shots == table


def test_the_source_is_named() -> None:
    assert published_table(0).source.endswith("tjunlp-lab/M3KE")
    assert published_table(0).commit == "b370aae"
