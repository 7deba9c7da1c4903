"""Writing tables: everything that came in goes out."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from coterie._errors import UsageError
from coterie.corpus import read_corpus, write_rows

TABLE = pa.table({"text": ['say "hi", twice', None, "line\nbreak"], "cluster": [1, 2, 3]})
EXTRA = {"cluster": [0, -1, 0], "margin": [0.5, None, 0.25]}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_what_is_written_can_be_read_again(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    write_rows(path, TABLE, EXTRA)
    corpus = read_corpus(path, text_column="text")
    assert corpus.table.column_names == ["text", "cluster", "coterie_cluster", "margin"]
    assert corpus.texts == ['say "hi", twice', "", "line break"]
    assert [str(v) for v in corpus.table.column("coterie_cluster").to_pylist()] == ["0", "-1", "0"]


def test_cells_come_back_to_the_letter(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.csv", TABLE, EXTRA)
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[1][0] == 'say "hi", twice' and rows[3][0] == "line\nbreak"
    write_rows(tmp_path / "a.jsonl", TABLE, EXTRA)
    first = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0])
    assert first == {"text": 'say "hi", twice', "cluster": 1, "coterie_cluster": 0, "margin": 0.5}


def test_unknown_suffixes_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="suffix"):
        write_rows(tmp_path / "a.xml", TABLE, EXTRA)
    assert list(tmp_path.iterdir()) == []
