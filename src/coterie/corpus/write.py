"""Tables out: every input column in its order, with new columns after them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from coterie._errors import UsageError
from coterie._files import atomic_path
from coterie.corpus.clean import value_to_text
from coterie.corpus.excel import Sheet, write_workbook

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")


def write_rows(path: Path, table: pa.Table, extra: Mapping[str, Sequence[Any]]) -> list[str]:
    """Write a table with further columns as CSV, TSV, JSON lines, Parquet or Excel, by the suffix.

    A new column whose name the input already uses is written as ``coterie_<name>``. Texts are
    written to the letter, also those that a spreadsheet would take for formulas: CSV is data for
    programs. In Excel files they are texts and nothing else.

    Returns
    -------
    list of str
        What an Excel file could not hold, in sentences.
    """
    suffix = check_suffix(path)
    if suffix == ".xlsx":
        whole = combine(table, extra)
        return write_workbook(path, [Sheet("texts", whole.column_names, table_rows(whole))])
    with atomic_path(path) as temporary:
        if suffix == ".parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(combine(table, extra), temporary)
            return []
        with temporary.open("w", encoding="utf-8", newline="") as file:
            write_stream(file, table, extra, suffix[1:])
    return []


def check_suffix(path: Path) -> str:
    """The suffix of a table to write; refuses those that tell no format."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"--out {path}: the suffix should be one of {', '.join(SUFFIXES)}.")
    return suffix


def table_rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """The rows of a table as Python values, a part at a time."""
    for batch in table.to_batches(max_chunksize=10_000):
        columns = [batch.column(i).to_pylist() for i in range(batch.num_columns)]
        yield from zip(*columns, strict=True)


def write_stream(
    file: TextIO,
    table: pa.Table,
    extra: Mapping[str, Sequence[Any]],
    format: str,
    *,
    header: bool = True,
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
    if header:
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
