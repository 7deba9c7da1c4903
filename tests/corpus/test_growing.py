"""Tables that grow: whole at the end, valid at any time, continued where they stopped."""

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from coterie._errors import DataError, UsageError
from coterie.corpus import write_rows
from coterie.corpus.growing import GrowingTable, StreamTable, drop_half_row, partial_path


def part(first: int, n: int = 3) -> tuple[pa.Table, dict[str, list]]:
    numbers = range(first, first + n)
    table = pa.table({"text": [f'say "{i}",\nplease' for i in numbers], "n": list(numbers)})
    return table, {"cluster": [i % 2 for i in numbers], "runner_up": [None] * n}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_parts_make_the_table_that_is_written_at_once(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    with GrowingTable(path) as table:
        for first in (0, 3, 6):
            table.write(*part(first))
            assert not path.exists() and table.rows == first + 3
            if suffix != "parquet":  # all of it can be read now
                assert drop_half_row(table.partial)[0] == table.rows
    whole, extra = part(0, 9)
    other = tmp_path / f"b.{suffix}"
    write_rows(other, whole, extra)
    if suffix == "parquet":
        grown, once = map(pyarrow.parquet.read_table, (path, other))
        assert grown.to_pydict() == once.to_pydict()
        assert grown.schema.field("runner_up").type == pa.int64()
    else:
        assert path.read_bytes() == other.read_bytes()
    assert [p.name for p in tmp_path.iterdir()].count(partial_path(path).name) == 0


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("cut", [0, 1, 5, 20])
def test_a_stopped_table_is_continued(tmp_path: Path, suffix: str, cut: int) -> None:
    path = tmp_path / f"a.{suffix}"
    with pytest.raises(KeyboardInterrupt), GrowingTable(path) as table:
        table.write(*part(0, 6))
        raise KeyboardInterrupt
    partial = partial_path(path)
    assert partial.exists() and not path.exists()
    partial.write_bytes(partial.read_bytes()[: -cut or None])  # a crash may cut a row in two
    with GrowingTable(path, resume=True) as table:
        assert table.rows == (6 if not cut else 5)
        first = table.rows - table.to_check
        table.check(*part(first, table.to_check))
        table.write(*part(table.rows, 9 - table.rows))
    write_rows(tmp_path / f"b.{suffix}", *part(0, 9))
    assert path.read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_an_interrupted_write_leaves_whole_rows(tmp_path: Path) -> None:
    class Stop(dict):
        def items(self):
            yield "cluster", [1, 1, 1]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), GrowingTable(tmp_path / "a.csv") as table:
        table.write(*part(0))
        table._file.write('half a "row')
        table.write(part(3)[0], Stop())
    with partial_path(tmp_path / "a.csv").open(newline="") as file:
        assert len(list(csv.reader(file, strict=True))) == 4


def test_a_header_alone_is_nothing(tmp_path: Path) -> None:
    partial_path(tmp_path / "a.csv").write_text("text,n,cluster,runner_up\nhalf")
    with GrowingTable(tmp_path / "a.csv", resume=True) as table:
        assert table.rows == 0
        table.write(*part(0))
    write_rows(tmp_path / "b.csv", *part(0))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_other_rows_are_not_continued(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), GrowingTable(tmp_path / "a.csv") as table:
        table.write(*part(0, 6))
        raise KeyboardInterrupt
    rows, extra = part(0, 6)
    with GrowingTable(tmp_path / "a.csv", resume=True) as table:
        table.check(rows, extra | {"runner_up": [9] * 6})  # what may differ in last digits
        with pytest.raises(DataError, match="other texts or by another model"):
            table.check(rows, extra | {"cluster": [5] * 6})
        with pytest.raises(DataError, match="other texts"):
            table.check(part(1, 6)[0], extra)


def test_parquet_says_what_it_cannot(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), GrowingTable(tmp_path / "a.parquet") as table:
        table.write(*part(0))
        raise KeyboardInterrupt
    left = partial_path(tmp_path / "a.parquet")
    assert pyarrow.parquet.read_table(left).num_rows == 3  # valid, as it was closed
    with pytest.raises(DataError, match="cannot be continued"):
        GrowingTable(tmp_path / "a.parquet", resume=True)
    with (
        pytest.raises(DataError, match="after 3 rows a column changes its kind"),
        GrowingTable(tmp_path / "a.parquet") as table,
    ):
        table.write(*part(0))
        table.write(
            pa.table({"text": ["a"], "n": ["no number"]}), {"cluster": [0], "runner_up": [0]}
        )
    with pytest.raises(UsageError, match="suffix"):
        GrowingTable(tmp_path / "a.doc")


def test_a_table_without_rows_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError), GrowingTable(tmp_path / "a.csv"):
        raise ValueError
    assert not list(tmp_path.iterdir())


def test_stdout_has_one_header() -> None:
    out = io.StringIO()
    table = StreamTable(out)
    table.write(*part(0))
    table.write(*part(3))
    rows = list(csv.reader(io.StringIO(out.getvalue(), newline="")))
    assert rows[0] == ["text", "n", "cluster", "runner_up"] and len(rows) == 7
    lines = io.StringIO()
    StreamTable(lines, "jsonl").write(*part(0))
    assert json.loads(lines.getvalue().splitlines()[0])["n"] == 0
