"""What the page needs of a long table, against reading all of it."""

import csv
from pathlib import Path

import numpy as np
import pytest

from coterie.report import own_columns, read_columns
from coterie.report.folder import skim


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "assignments.csv"
    rng = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "cluster", "coterie_cluster", "confidence", "margin", "outlier",
                         "outlier_score", "nearest_cluster"])  # fmt: skip
        for i in range(200):
            odd = i % 17 == 0
            writer.writerow([f"text {i}\nof two lines" + "x" * 200_000 * (i == 7), "mine",
                             -1 if odd else i % 5, round(rng.random(), 4), round(rng.random(), 4),
                             "yes" if odd else "no", "" if i % 50 == 3 else 0.5,
                             i % 5])  # fmt: skip
    return path


def test_finds_what_reading_all_finds(table: Path) -> None:
    rows = [0, 5, 7, 120, 199]
    found, whole = skim(table, rows, own_columns), read_columns(table)
    for name, cells in whole.items():
        assert found.columns[name] == [cells[row] for row in rows]
        odd = [i for i in range(200) if whole["outlier"][i] == "yes"]
        assert found.marked[name] == [cells[row] for row in odd]
    assert found.labels.tolist() == [int(cell) for cell in whole["coterie_cluster"]]
    assert found.confidence.tolist() == [float(cell) for cell in whole["confidence"]]
    assert found.margin.tolist() == [float(cell) for cell in whole["margin"]]
    assert found.scored == sum(cell != "" for cell in whole["outlier_score"])


def test_no_rows_are_asked_for(table: Path) -> None:
    found = skim(table, [], own_columns)
    assert all(cells == [] for cells in found.columns.values()) and len(found.labels) == 200
