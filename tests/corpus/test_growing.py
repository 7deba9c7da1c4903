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
from coterie.corpus.growing import GrowingTable, StreamTable, partial_path


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
                assert table.partial.read_bytes().endswith(b"\n")
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


def settings() -> dict[str, object]:
    return {"model": "m1", "outlier_limit": None}


def stopped(path: Path, *parts: int) -> Path:
    """A table that was stopped after parts of so many rows."""
    with pytest.raises(KeyboardInterrupt), GrowingTable(path, settings) as table:
        for n in parts:
            table.write(*part(table.rows, n))
        raise KeyboardInterrupt
    return partial_path(path)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize(("cut", "left"), [(0, 6), (0.01, 4), (0.1, 4), (0.5, 2), (1, 0)])
def test_a_stopped_table_is_continued(tmp_path: Path, suffix: str, cut: float, left: int) -> None:
    path = tmp_path / f"a.{suffix}"
    partial = stopped(path, 2, 2, 2)
    assert partial.exists() and not path.exists()
    whole = partial.read_bytes()
    partial.write_bytes(whole[: int(len(whole) * (1 - cut))])  # a crash may cut a row in two
    with GrowingTable(path, settings, resume=True) as table:
        assert table.rows == left
        for first in range(0, left, 2):
            table.skip(part(first, 2)[0])
        table.write(*part(table.rows, 9 - table.rows))
    write_rows(tmp_path / f"b.{suffix}", *part(0, 9))
    assert path.read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"a.{suffix}", f"b.{suffix}"]


def test_bytes_behind_the_record_do_not_count(tmp_path: Path) -> None:
    partial = stopped(tmp_path / "a.csv", 2)
    partial.write_bytes(partial.read_bytes() + b"written, but not noted before the kill\n")
    with GrowingTable(tmp_path / "a.csv", settings, resume=True) as table:
        assert table.rows == 2
        table.skip(part(0, 2)[0])
        table.write(*part(2, 2))
    write_rows(tmp_path / "b.csv", *part(0, 4))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_an_interrupted_write_leaves_whole_rows(tmp_path: Path) -> None:
    class Stop(dict):
        def items(self):
            yield "cluster", [1, 1, 1]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), GrowingTable(tmp_path / "a.csv") as table:
        table.write(*part(0))
        table._file.write(b'half a "row')
        table.write(part(3)[0], Stop())
    with partial_path(tmp_path / "a.csv").open(newline="") as file:
        assert len(list(csv.reader(file, strict=True))) == 4


def test_every_row_read_so_far_decides(tmp_path: Path) -> None:
    partial = stopped(tmp_path / "a.csv", 30, 30)
    before = partial.read_bytes()
    other = part(0, 60)[0].to_pydict()
    other["n"][3] = -1  # one cell, far from the last rows
    with (
        pytest.raises(DataError, match="first 60 rows of the input are not what they were"),
        GrowingTable(tmp_path / "a.csv", settings, resume=True) as table,
    ):
        table.skip(pa.table(other))
    with (
        pytest.raises(DataError, match=r"another outlier limit \(None there, 0.5 now\)"),
        GrowingTable(
            tmp_path / "a.csv", lambda: {"model": "m1", "outlier_limit": 0.5}, resume=True
        ) as table,
    ):
        table.skip(part(0, 60)[0])
    renamed = part(0, 60)[0].rename_columns(["text", "number"])
    with (
        pytest.raises(DataError, match="another columns"),
        GrowingTable(tmp_path / "a.csv", settings, resume=True) as table,
    ):
        table.skip(renamed)
    assert partial.read_bytes() == before


def test_a_record_without_a_table_is_nothing(tmp_path: Path) -> None:
    stopped(tmp_path / "a.csv", 2).unlink()
    with GrowingTable(tmp_path / "a.csv", settings, resume=True) as table:
        assert table.rows == 0
        table.write(*part(0))
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_a_partial_table_is_never_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    partial_path(path).write_text("somebody's own file\n")
    for resume in (False, True):
        with pytest.raises(UsageError, match=r"a\.partial\.csv is in the way"):
            GrowingTable(path, settings, resume=resume)
    assert partial_path(path).read_text() == "somebody's own file\n"
    partial_path(path).unlink()
    partial = stopped(path, 3)
    with pytest.raises(UsageError, match="holds 3 rows of a command that was stopped; --resume"):
        GrowingTable(path, settings)
    changed = partial.read_text().replace("please", "PLEASE")
    partial.write_text(changed)
    with (
        pytest.raises(DataError, match="was changed since coterie wrote it"),
        GrowingTable(path, settings, resume=True),
    ):
        pass
    assert partial.read_text() == changed


def test_parquet_says_what_it_cannot(tmp_path: Path) -> None:
    left = stopped(tmp_path / "a.parquet", 3)
    assert pyarrow.parquet.read_table(left).num_rows == 3  # valid, as it was closed
    with pytest.raises(DataError, match="cannot be continued"):
        GrowingTable(tmp_path / "a.parquet", settings, resume=True)
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
