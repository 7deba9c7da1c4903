"""Tables out: every input column in its order, with new columns after them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from coterie._errors import UsageError
from coterie._files import atomic_path
from coterie.corpus.clean import value_to_text
from coterie.corpus.columns import cell_values
from coterie.corpus.excel import Sheet, write_workbook
from coterie.corpus.jsonlines import RAW, to_json, try_json

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")


def write_rows(
    path: Path, table: pa.Table, extra: Mapping[str, Sequence[Any]] | pa.Table
) -> list[str]:
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
        columns = [cell_values(batch.column(i)) for i in range(batch.num_columns)]
        yield from zip(*columns, strict=True)


def write_stream(
    file: TextIO,
    table: pa.Table,
    extra: Mapping[str, Sequence[Any]] | pa.Table,
    format: str,
    *,
    header: bool = True,
) -> None:
    """Write a table with further columns to an open text file, row by row."""
    whole = combine(table, extra)
    columns = [cell_values(column) for column in whole.columns]
    if format == "jsonl":
        for i, field in enumerate(whole.schema):
            if (field.metadata or {}).items() >= RAW.items():  # Parquet adds entries of its own
                columns[i] = [cell if cell is None else _value(cell) for cell in columns[i]]
        for row in zip(*columns, strict=True):
            record = dict(zip(whole.column_names, row, strict=True))
            file.write(to_json(record) + "\n")
        return
    writer = CsvWriter(file, "\t" if format == "tsv" else ",")
    if header:
        writer.writerow(whole.column_names)
    for row in zip(*columns, strict=True):
        writer.writerow([value_to_text(value) for value in row])


class CsvWriter:
    """Python's writer of CSV, with quotes around cells that hold a carriage return, too.

    Before Python 3.13 it leaves them bare where lines end in a new line, and readers take them for
    the end of a row.
    """

    def __init__(self, file: TextIO, delimiter: str = ",") -> None:
        self._file, self._delimiter = file, delimiter
        self._plain = csv.writer(file, delimiter=delimiter, lineterminator="\n")

    def writerow(self, row: Iterable[str]) -> None:
        """Write one row of texts."""
        cells = list(row)
        if not any("\r" in cell for cell in cells):
            self._plain.writerow(cells)
            return
        line = io.StringIO(newline="")
        csv.writer(line, delimiter=self._delimiter, lineterminator="\r\n").writerow(cells)
        self._file.write(line.getvalue().removesuffix("\r\n") + "\n")

    def writerows(self, rows: Iterable[Iterable[str]]) -> None:
        """Write rows of texts."""
        for row in rows:
            self.writerow(row)


def combine(table: pa.Table, extra: Mapping[str, Sequence[Any]] | pa.Table) -> pa.Table:
    """The table with the new columns behind its own."""
    if not isinstance(extra, pa.Table):
        extra = pa.table({name: pa.array(list(values)) for name, values in extra.items()})
    for field, column in zip(extra.schema, extra.columns, strict=True):
        free = field.name
        while free in table.column_names:
            free = f"coterie_{free}"
        table = table.append_column(field.with_name(free), column)
    return table


def _value(cell: str) -> Any:
    """What JSON says; the text itself if it is no JSON."""
    value = try_json(cell)
    return cell if value is None and cell != "null" else value
