"""Columns of dates and categories: found, and counted per cluster."""

from collections import Counter
from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from coterie.describe import guess_columns
from coterie.describe.columns import MOST_VALUES, count_values


def table(**columns: object) -> pa.Table:
    return pa.table({"text": [f"text {i}" for i in range(12)], **columns})


def test_dates_and_categories_are_found() -> None:
    found = guess_columns(
        table(
            id=[f"T{i}" for i in range(12)],
            sent=["2026-01-05"] * 10 + ["unknown", None],
            channel=["mail", "chat", None] * 4,
            stars=[1, 2, 3, 4] * 3,
            agent=[f"agent {i}" for i in range(12)],
            constant=["x"] * 12,
            length=[float(i) for i in range(12)],
            lists=[[1]] * 12,
            nothing=pa.nulls(12),
        ),
        "text",
        "id",
    )
    assert found == ("sent", ["channel", "stars"])


DAYS = pa.array([date(2026, 1, 1 + i) for i in range(12)])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (table(day=["2026-01-05"] * 9 + ["soon", "later", "never"]), (None, ["day"])),
        (table(birth=["2000-01-01"] * 12, created_at=DAYS), ("created_at", [])),
        (table(code=[20260301, 20260302] * 6), (None, ["code"])),
        (pa.table({"text": ["a", "b"] * 6}), (None, [])),
        (pa.table({"text": pa.array([], pa.string())}), (None, [])),
        (pa.Table.from_arrays([pa.array(["a", "b"] * 3)] * 3, ["text", "c", "c"]), (None, [])),
        (pa.table({"text": ["x"] * 120, "c": [f"v{i % 50}" for i in range(120)]}), (None, ["c"])),
        (pa.table({"text": ["x"] * 120, "c": [f"v{i % 51}" for i in range(120)]}), (None, [])),
    ],
    ids=["fewer than 80% dates", "name and type of a date", "numbers", "the text itself",
         "no rows", "one name twice", "fifty values", "more values"],
)  # fmt: skip
def test_what_is_chosen(given: pa.Table, expected: tuple[str | None, list[str]]) -> None:
    assert guess_columns(given, "text") == expected


def test_counts_equal_a_loop() -> None:
    rng = np.random.default_rng(0)
    labels, values = rng.integers(-1, 3, 200), [f"v{i}" for i in rng.integers(0, 5, 200)]
    for cluster, counted in enumerate(count_values(values, labels, 3)):
        loop = Counter(v for v, c in zip(values, labels, strict=True) if c == cluster)
        assert dict(counted) == loop
        assert [n for _, n in counted] == sorted(loop.values(), reverse=True)


def test_rare_values_are_other_and_come_last() -> None:
    values = [f"v{i:02d}" for i in range(25)] + [f"v{i:02d}" for i in range(20)] + [None]
    ((*shown, rest),) = count_values([*values, None], np.zeros(47, dtype=np.int64), 1)
    assert len(shown) == MOST_VALUES and rest == ("other", 7)  # five of one, one of two
    assert ("(none)", 2) in shown


def test_a_value_called_other_is_not_listed_twice() -> None:
    values = ["other"] * 3 + [f"v{i}" for i in range(30)]
    (counted,) = count_values(values, np.zeros(33, dtype=np.int64), 1)
    assert [name for name, _ in counted].count("other") == 1
    assert sum(n for _, n in counted) == 33
