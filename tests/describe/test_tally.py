"""Counting while a table goes by: what describe finds with all rows at hand."""

import random

import numpy as np
import pyarrow as pa
import pytest

from coterie.describe import guess_columns
from coterie.describe.tally import ColumnLook, Kinds, Tally


@pytest.fixture(scope="module")
def table() -> pa.Table:
    draw = random.Random(1)
    n = 600
    return pa.table({
        "text": [f"text {draw.randint(0, 50)} about {draw.choice('abc')}" for _ in range(n)],
        "key": [f"T-{i}" for i in range(n)],
        "channel": [draw.choice(["web", "mail", "", None, "other"]) for _ in range(n)],
        "many": [draw.randint(0, 24) for _ in range(n)],
        "more": [draw.randint(0, 200) for _ in range(n)],
        "sent": [f"{draw.randint(1, 12)}/{draw.randint(1, 28)}/2026" for _ in range(n)],
    })  # fmt: skip


def parts(table: pa.Table, size: int = 70) -> list[pa.Table]:
    return [table.slice(first, size) for first in range(0, table.num_rows, size)]


def columns(labels: np.ndarray) -> dict[str, list]:
    n = len(labels)
    return {
        "cluster": labels.tolist(),
        "confidence": [0.5 if label >= 0 else 0.0 for label in labels],
        "margin": [0.05 if i % 3 else 0.4 for i in range(n)],
        "outlier": ["no"] * n,
    }


def test_columns_are_chosen_as_with_all_rows(table: pa.Table) -> None:
    look = ColumnLook("text", "key")
    for part in parts(table):
        look.add(part)
    found = look.done()
    assert (found.date, found.categories) == guess_columns(table, "text", "key")
    assert found.date == "sent" and found.categories == ["channel", "many"]
    assert found.month_first


def test_close_calls_are_those_of_placed_rows() -> None:
    tally = Tally(Kinds(None, [], False), close=0.1)
    rows = {"cluster": [0, 0, -1, 1], "confidence": [0.9, 0.5, 0.0, 0.7],
            "margin": [0.8, 0.05, 0.0, 0.1], "outlier": ["no", "no", "yes", "no"]}  # fmt: skip
    tally.add(pa.table({"text": list("abcd")}), rows)
    assert (tally.figures()["close_calls"], tally.outliers, tally.placed) == (0.3333, 1, 3)
    assert tally.figures()["confidence"] == 0.7


def test_counts_of_parts_add_up_to_those_of_all(table: pa.Table) -> None:
    labels = np.array([i % 4 - 1 for i in range(len(table))])
    look = ColumnLook("text", "key")
    look.add(table)
    whole, sums = Tally(look.done(), 0.1), Tally(look.done(), 0.1)
    whole.add(table, columns(labels))
    for first in range(0, len(table), 70):
        results = {n: values[first : first + 70] for n, values in columns(labels).items()}
        sums.add(table.slice(first, 70), results)
    assert vars(sums) == vars(whole)
