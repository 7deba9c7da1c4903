"""Runs on sentences: each row with its themes and shares."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pytest

from coterie import cluster, open_run
from coterie.errors import UsageError
from said import raises

WITH = {"method": "kmeans", "encoder": "tfidf", "split": "sentences"}
APPLE = ["Red apple pie tastes good.", "Green apple pie tastes sour.", "Old apple pie tastes bad."]
CAR = ["Fast car wheels turn round.", "Slow car wheels turn round.", "Big car wheels turn round."]
ROWS = [
    f"{APPLE[0]} {APPLE[1]} {CAR[0]}",
    f"{CAR[1]} {CAR[2]}",
    APPLE[2],
    "",
]


def test_rows_have_a_main_theme_and_shares(tmp_path: Path) -> None:
    run = cluster(ROWS, 2, folder=tmp_path / "run", **WITH)
    assert len(run.table) == 7 and run.manifest["split"]["rows"] == 4
    rows = run.rows.to_pylist()
    apple, car = int(run.labels[0]), int(run.labels[2])
    assert [row["cluster"] for row in rows] == [apple, car, apple, -1]
    assert [row["share"] for row in rows] == [0.6667, 1.0, 1.0, None]
    assert rows[0]["clusters"] == f"{apple}; {car}" and rows[0]["shares"] == "0.67; 0.33"
    assert rows[0]["text"] == ROWS[0] and rows[3]["themes"] == ""
    with (tmp_path / "run" / "rows.csv").open(encoding="utf-8", newline="") as file:
        saved = list(csv.DictReader(file))
    assert [row["name"] for row in saved] == [row["name"] or "" for row in rows]
    assert run.summary[0].startswith("4 rows were cut into 7 sentences")


def test_edits_reach_the_rows(tmp_path: Path) -> None:
    run = cluster(ROWS, 2, folder=tmp_path / "run", **WITH)
    run.edit([{"rename": {int(run.labels[0]): "Baking"}}])
    assert run.rows["name"].to_pylist()[0] == "Baking"
    assert "Baking" in (tmp_path / "run" / "rows.csv").read_text(encoding="utf-8")
    run.undo()
    assert "Baking" not in (tmp_path / "run" / "rows.csv").read_text(encoding="utf-8")
    assert len(open_run(tmp_path / "run").rows) == 4


def test_themes_of_sentences() -> None:
    run = cluster(ROWS, 2, themes=["apple pie"], **WITH)
    assert run.rows["themes"].to_pylist()[0].startswith("apple pie; ")


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"split": "words"}, "`split`"),
        ({"labels": ["a", None, None, None]}, "is about whole rows"),
        ({"must_link": [(0, 1)]}, "is about whole rows"),
        ({"fit_sample": 3}, "texts is fitted"),
    ],
)
def test_what_is_about_whole_rows_is_rejected(options, key, tmp_path: Path) -> None:
    with raises(UsageError, key):
        cluster(ROWS, 2, folder=tmp_path / "run", **(WITH | options))
    assert not (tmp_path / "run").exists()


def test_other_runs_have_no_such_rows() -> None:
    run = cluster(ROWS[:3], 2, method="kmeans", encoder="tfidf")
    with raises(UsageError, "the rows of this run were not"):
        _ = run.rows


def test_an_update_cuts_new_rows_into_sentences(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b", "c", "d"], "text": ROWS})
    run = cluster(table, 2, folder=tmp_path / "run", id_column="id", text_column="text", **WITH)
    before, rows = run.labels, run.rows.to_pylist()
    lines = (tmp_path / "run" / "assignments.csv").read_bytes()
    new = pa.table({"id": ["e", "f"], "text": [f"{APPLE[0]} {CAR[0]}", ""]})
    done = run.update(new)
    assert done.rows == 2 and done.moved == 0 and done.drift.texts == 2
    assert (tmp_path / "run" / "assignments.csv").read_bytes().startswith(lines)
    apple, car = int(before[0]), int(before[2])
    assert run.labels[len(before) :].tolist() == [apple, car, -1]
    assert run.table["row"].to_pylist()[-3:] == [5, 5, 6]
    after = run.rows.to_pylist()
    assert after[:4] == rows and len(after) == 6
    assert after[4]["shares"] == "0.50; 0.50" and after[4]["text"] == f"{APPLE[0]} {CAR[0]}"
    assert len((tmp_path / "run" / "rows.csv").read_text("utf-8").splitlines()) == 7
    assert run.summary[0].startswith("6 rows were cut into 10 sentences")
    assert run.manifest["updates"][-1]["rows"] == 2
    run.update(["One more apple pie here. Slow car wheels turn round."])
    assert run.table["row"].to_pylist()[-2:] == [7, 7]
    run.undo()
    run.undo()
    assert run.rows.to_pylist() == rows
    assert (tmp_path / "run" / "assignments.csv").read_bytes() == lines
