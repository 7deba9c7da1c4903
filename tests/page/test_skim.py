"""What the page needs of a long table, against reading all of it."""

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from coterie.errors import DataError
from coterie.runs.page_data import skim
from coterie.runs.run_files import read_assignments
from said import raises


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
            length = 200_000 if i == 7 else 3_000
            writer.writerow([f"text {i}\nof two lines" + "x" * length, "mine",
                             -1 if odd else i % 5, round(rng.random(), 4), round(rng.random(), 4),
                             "yes" if odd else "no", "" if i % 50 == 3 else 0.5,
                             i % 5])  # fmt: skip
    return path


@pytest.mark.parametrize("rows", [[], [0, 5, 7, 120, 199]], ids=["none", "some"])
def test_finds_what_reading_all_finds(table: Path, rows: list[int]) -> None:
    found, whole = skim(table, rows), read_assignments(table.parent)
    odd = [i for i, marked in enumerate(whole["outlier"].to_pylist()) if marked == "yes"]
    assert found.shown == whole.take(pa.array(rows, pa.int64())) and found.marked == whole.take(odd)
    assert found.labels.tolist() == whole["coterie_cluster"].to_pylist()
    assert found.scored == 200 - whole["outlier_score"].null_count == 196


@pytest.mark.parametrize(
    ("content", "key", "reason"),
    [
        ("", "has no header, or", ""),
        ("text,name\na,b\n", "is it the assignments.csv", ""),
        ("text,cluster,name\na,0,x\nb,1\n", "it is damaged", "Row #3: Expected 3 columns"),
        ("text,cluster,name\na,-2,x\n", "the column 'cluster'", ""),
    ],
)
def test_a_damaged_table_is_refused_with_the_row(
    tmp_path: Path, content: str, key: str, reason: str
) -> None:
    (tmp_path / "assignments.csv").write_text(content)
    with raises(DataError, key) as caught:
        read_assignments(tmp_path)
    assert reason in str(caught.value)
