"""JSON lines: no value is changed, whatever it is."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from coterie.corpus import TextStream, read_table, write_rows
from coterie.corpus import source as source_module
from said import raises


def put(folder: Path, *lines: str) -> Path:
    (folder / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "a.jsonl"


def same(path: Path, folder: Path) -> list[dict]:
    """The records after reading, and writing, and reading as JSON."""
    table, _ = read_table(path)
    stream = pa.concat_tables(part.table for part in TextStream(path).chunks(2))
    assert stream.schema.equals(table.schema, check_metadata=True)
    assert stream.to_pylist() == table.to_pylist()
    write_rows(folder / "out.jsonl", stream, {})
    return [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]


VALUES = [
    [{"a": 1}, {"b": 2.5}, {}], [[1, 2.5, "x"], [], [None]], [{"a": {"b": [1]}}, None, [1]],
    [2**53 + 1, 2**63 - 1, -(2**63)], [2**70, 1, None], [2**60 + 1, 0.5, 1],
    [True, 1, 0], [1, 2.5, -0.0], ["2026-01-05T10:00:00", "x", None], [None, None, None],
    [{"when": "2026-01-05"}, {"b": "\ud800"}, {"ü": "ü"}], [1e300, 1, 2.5], [1e-320, 0, 1],
]  # fmt: skip


@pytest.mark.parametrize("block", [7, 1 << 20])
@pytest.mark.parametrize("values", VALUES, ids=str)
def test_values_come_back(
    values: list, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "BLOCK", block)
    rows = [{"text": f"row {i}", "x": value} for i, value in enumerate(values)]
    path = put(tmp_path, *map(json.dumps, rows))
    assert same(path, tmp_path) == rows


def test_in_a_csv_nested_values_are_their_json(tmp_path: Path) -> None:
    path = put(tmp_path, '{"text": "a", "x": {"a": 1}}', '{"text": "b", "x": {"b": null}}')
    write_rows(tmp_path / "out.csv", read_table(path)[0], {"cluster": [0, 1]})
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == 'a,"{""a"": 1}",0'
    for suffix in ("parquet", "csv"):
        write_rows(tmp_path / f"out.{suffix}", read_table(path)[0], {})
        table, _ = read_table(tmp_path / f"out.{suffix}")
        assert table.column("x").to_pylist() == ['{"a": 1}', '{"b": null}']
        if suffix == "parquet":  # which remembers that these texts are JSON
            write_rows(tmp_path / "again.jsonl", table, {})
            first = (tmp_path / "again.jsonl").read_text().splitlines()[0]
            assert json.loads(first) == {"text": "a", "x": {"a": 1}}


def test_keys_that_are_no_text_and_collide(tmp_path: Path) -> None:
    path = put(
        tmp_path, '{"text": "a", "\\ud800": 1, "?": 2, "": 3}', '{"text": "b", "\\ud801": 4}'
    )
    table, _ = read_table(path)
    assert len(set(table.column_names)) == 5
    assert list(table.to_pylist()[0].values()) == ["a", 1, 2, 3, None]
    assert [part.table.num_rows for part in TextStream(path)] == [2]


def test_ids_beyond_floats_in_a_file_that_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "BLOCK", 64)
    ids = [random.Random(0).randrange(2**62) for _ in range(50)]
    rows = [{"text": "a b", "id": i} for i in ids] + [{"text": "c", "id": 0.5}]
    path = put(tmp_path, *map(json.dumps, rows))
    assert same(path, tmp_path) == rows
    assert sum(map(len, TextStream(path))) == 51


def test_two_records_on_a_line_and_one_on_two_are_refused(tmp_path: Path) -> None:
    from coterie.errors import DataError

    start = ['{"text": "a"}'] * 3
    for lines in ([*start, '{"text": "b"} {"text": "c"}'], [*start, '{"text":', '"b"}']):
        with raises(DataError, "Write one object", "4"):
            read_table(put(tmp_path, *lines))
