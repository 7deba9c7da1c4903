"""Tables out: every input column in its order, with new columns after them."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from coterie._errors import UsageError
from coterie._files import atomic_path
from coterie.corpus.clean import value_to_text


def write_rows(path: Path, table: pa.Table, extra: Mapping[str, Sequence[Any]]) -> None:
    """Write a table with further columns as CSV, TSV, JSON lines or Parquet, by the suffix.

    A new column whose name the input already uses is written as ``coterie_<name>``.
    """
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".tsv", ".jsonl", ".parquet"}:
        raise UsageError(f"--out {path}: the suffix should be .csv, .tsv, .jsonl or .parquet.")
    with atomic_path(path) as temporary:
        if suffix == ".parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(combine(table, extra), temporary)
            return
        with temporary.open("w", encoding="utf-8", newline="") as file:
            write_stream(file, table, extra, suffix[1:])


def write_stream(
    file: TextIO, table: pa.Table, extra: Mapping[str, Sequence[Any]], format: str
) -> None:
    """Write a table with further columns to an open text file, row by row."""
    whole = combine(table, extra)
    columns = [whole.column(i).to_pylist() for i in range(whole.num_columns)]
    if format == "jsonl":
        for row in zip(*columns, strict=True):
            record = dict(zip(whole.column_names, row, strict=True))
            file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
        return
    writer = csv.writer(file, delimiter="\t" if format == "tsv" else ",", lineterminator="\n")
    writer.writerow(whole.column_names)
    for row in zip(*columns, strict=True):
        writer.writerow([value_to_text(value) for value in row])


def combine(table: pa.Table, extra: Mapping[str, Sequence[Any]]) -> pa.Table:
    """The table with the new columns behind its own."""
    for name, values in extra.items():
        free = name
        while free in table.column_names:
            free = f"coterie_{free}"
        table = table.append_column(free, pa.array(list(values)))
    return table
