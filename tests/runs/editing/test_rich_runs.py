"""Edits on runs with outliers, nested levels and tables in other forms."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest

from commands import rows
from commands import run as call
from coterie import edit, load
from coterie.runs.editing import undo
from trees import whole

from .conftest import cluster, clusters, content


@pytest.fixture
def run(rich: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rich, tmp_path / "run"))


def outliers(run: Path) -> list[dict[str, str]]:
    return [row for row in rows(run) if row["outlier"] == "yes"]


def check_whole(run: Path) -> None:
    """Every file tells the same story."""
    whole(run)
    table = rows(run)
    other = pyarrow.parquet.read_table(run / "assignments.parquet")
    assert other.column("cluster").to_pylist() == [int(row["cluster"]) for row in table]
    assert other.column("name").to_pylist() == [row["name"] for row in table]
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["outliers"]["marked"] == len(outliers(run))


def test_everything_follows_merges_splits_and_moves(run: Path, rich: Path) -> None:
    before = {row["ticket"]: row for row in rows(run)}
    odd = outliers(run)[0]
    near = int(odd["nearest_cluster"])
    to = next(i for i in clusters(run) if i != near)
    spare = next(i for i in clusters(run) if i not in (near, to))
    edit(run, [{"merge": [to, spare], "name": "Merged"}, {"split": near},
               {"move": {"rows": [odd["ticket"]], "to": to}}])  # fmt: skip
    check_whole(run)
    after = {row["ticket"]: row for row in rows(run)}
    moved = after[odd["ticket"]]
    assert (moved["cluster"], moved["name"], moved["outlier"]) == (str(to), "Merged", "no")
    assert moved["outlier_score"] == odd["outlier_score"]
    for ticket, row in before.items():
        if row["outlier"] == "yes" and row["text"] != odd["text"]:
            assert after[ticket]["cluster"] == "-1" and after[ticket]["outlier"] == "yes"
            assert after[ticket]["name"] == "(none of these)"
    undo(run)
    assert content(run) == content(rich)


def test_new_texts_are_marked_as_the_table_has_them(run: Path, tickets: Path, tmp_path) -> None:
    odd = outliers(run)[0]
    first, second, *_ = clusters(run)
    to = first if int(odd["nearest_cluster"]) != first else second
    edit(run, [{"split": to}, {"move": {"rows": [odd["ticket"]], "to": 11}}])
    call("predict", run, tickets, "--out", tmp_path / "p.csv")
    again = rows(tmp_path / "p.csv")
    for column in ("cluster", "name", "outlier", "nearest_cluster", "level_1", "level_2_name"):
        assert [r[column] for r in again] == [r[column] for r in rows(run)], column


def test_texts_inside_stay_inside_when_a_limit_of_their_own_is_gone(run: Path) -> None:
    config = json.loads((run / "model/config.json").read_text())
    odd = {row["text"] for row in outliers(run)}
    inside = max((r for r in rows(run) if r["cluster"] == "2"), key=lambda r: r["outlier_score"])
    limit = float(inside["outlier_score"]) - 1e-3  # the loneliest of cluster 2 is above it
    config["outliers"]["limit"] = {"limit": limit, "kept": {str(i): 1.0 for i in range(6)}}
    (run / "model/config.json").write_text(json.dumps(config))
    edit(run, [{"merge": [2, 3]}])
    model = load(run / "model")
    assert 2 not in model.outlier_limit_.kept and 0 in model.outlier_limit_.kept
    assert inside["text"] not in odd
    assert model.predict([inside["text"]], outliers=True).tolist() == [2]


def test_fewer_clusters_than_a_level_asked_for_drop_the_level(run: Path) -> None:
    edit(run, [{"merge": [0, 1, 2, 3, 4]}])  # two are left: the level of two is the clustering
    check_whole(run)
    assert not {"level_1", "level_2", "level_3"} & {*rows(run)[0]}


def test_a_later_run_has_levels_and_outliers_under_the_kept_numbers(run, tickets, tmp_path) -> None:
    edit(run, [{"merge": [4, 0]}, {"split": 1}])
    more = ["--levels", "2,4,6", "--max-outliers", "6", "--set", "write=parquet", "--keep", run]
    new = cluster(tickets, tmp_path / "new", *more, "--seed", 2)
    check_whole(new)
    assert 0 not in clusters(new) and set(clusters(new)) & set(clusters(run))
