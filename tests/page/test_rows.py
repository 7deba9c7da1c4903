"""What the page needs of a long table, part by part, against all of it at once."""

import pyarrow as pa
import pytest

from coterie.runs.page_data import PageRows


@pytest.mark.parametrize("rows", [[], [0, 5, 7, 120, 199]], ids=["none", "some"])
def test_parts_give_what_the_whole_table_gives(rows: list[int]) -> None:
    odd = [i for i in range(200) if i % 17 == 0]
    whole = pa.table({
        "text": [f"text {i}\nof two lines" for i in range(200)],
        "cluster": ["mine"] * 200,
        "coterie_cluster": [-1 if i in odd else i % 5 for i in range(200)],
        "outlier": ["yes" if i in odd else "no" for i in range(200)],
        "outlier_score": [None if i % 50 == 3 else 0.5 for i in range(200)],
        "nearest_cluster": [i % 5 for i in range(200)],
    })  # fmt: skip
    found = PageRows(rows)
    for first in range(0, 200, 60):
        found.add(whole.slice(first, 60))
    assert pa.concat_tables(found.shown) == whole.take(pa.array(rows, pa.int64()))
    assert pa.concat_tables(found.marked) == whole.take(odd)
    assert [i for part in found.labels for i in part] == whole["coterie_cluster"].to_pylist()
    assert found.scored == 196
