"""Tables out: every input column in its order, with new columns after them.

In Excel workbooks cells are values, never formulas. A text that begins with ``=``, ``+``, ``-`` or
``@`` is a formula to a spreadsheet that may guess. Here texts are written as texts, and those that
look like formulas are also marked as such (Excel's "quote prefix"), so that editing the cell does
not turn it into one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import IO, Any, TextIO

import pyarrow as pa

from coterie._util.files import atomic_path
from coterie._util.validation import need
from coterie.errors import DataError, UsageError
from coterie.texts.corpus import CHUNK_ROWS, Columns, cell_values, combine, value_to_text

FORMATS = ("csv", "jsonl", "parquet", "xlsx")
SUFFIXES = tuple(f".{name}" for name in FORMATS)
SHEET_ROWS = 1_048_576  # of a sheet, the header among them
SHEET_COLUMNS = 16_384
LONGEST_CELL = 32_767  # characters of a cell, as UTF-16 counts them
EXACT_FLOAT = 2**53  # Excel's numbers are floats: larger whole numbers would lose digits
COLUMN_WIDTHS = (8, 60)  # of a column, in characters
MEASURED_ROWS = 200  # rows that decide how wide the columns are
FORMULA = re.compile(r"[=+\-@\t\r\n]")
ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # in XML
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Kinds of result columns; a part in which nothing has a value would leave them open.
RESULT_TYPES = {
    "cluster": pa.int64(),
    "name": pa.string(),
    "confidence": pa.float64(),
    "margin": pa.float64(),
    "runner_up": pa.int64(),
    "outlier": pa.string(),
    "outlier_score": pa.float64(),
    "nearest_cluster": pa.int64(),
}
LEVEL_NUMBER = re.compile(r"level_\d+|theme|broad|medium|fine")


def write_rows(path: Path, table: pa.Table, extra: Columns) -> list[str]:
    """Write a table with further columns as CSV, JSON lines, Parquet or Excel, by the suffix.

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
    """The suffix of a table to write; rejects those that tell no format."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"`out` {path}: the suffix should be one of {', '.join(SUFFIXES)}.")
    return suffix


def table_rows(table: pa.Table | pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The rows of a table as Python values, a part at a time."""
    for first in range(0, table.num_rows, CHUNK_ROWS):
        columns = [cell_values(column) for column in table.slice(first, CHUNK_ROWS).columns]
        yield from zip(*columns, strict=True)


def write_stream(
    file: TextIO, table: pa.Table, extra: Columns, format: str, *, header: bool = True
) -> None:
    """Write a table with further columns to an open text file, row by row."""
    whole = combine(table, extra)
    names = whole.column_names
    if format == "jsonl":
        for row in table_rows(whole):
            cells = (None if cell != cell else cell for cell in row)  # JSON has no NaN
            file.write(to_json(dict(zip(names, cells, strict=True))) + "\n")
        return
    rows = ([value_to_text(value) for value in row] for row in table_rows(whole))
    write_csv(file, chain([names] if header else [], rows))


def to_json(value: object) -> str:
    """JSON of a row, with letters as they are."""
    return json.dumps(value, ensure_ascii=False, default=value_to_text)


def write_csv(file: TextIO, rows: Iterable[Sequence[str]]) -> None:
    """Write rows of texts as CSV.

    Before Python 3.13 its writer leaves a carriage return bare, which readers take for the end of
    a row. So all cells of a row that has one are quoted.
    """
    plain = csv.writer(file, lineterminator="\n")
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        (quoted if any("\r" in cell for cell in row) else plain).writerow(row)


def bare_name(column: str) -> str:
    """What a result column is called if the input has no column of that name."""
    return re.sub("^(coterie_)+", "", column)


def result_kind(column: str) -> pa.DataType:
    """The kind of a result column, also where no row has a value in it."""
    name = bare_name(column)
    return RESULT_TYPES.get(name, pa.int64() if LEVEL_NUMBER.fullmatch(name) else pa.string())


@dataclass(frozen=True)
class Sheet:
    """A table for a workbook."""

    name: str  # at most 28 characters, so that a number fits behind it
    header: Sequence[str]
    rows: Iterable[Sequence[Any]]  # gone through once


def write_workbook(path: Path, sheets: Sequence[Sheet]) -> list[str]:
    """Write sheets with a frozen bold header, a filter and readable widths.

    Returns
    -------
    list of str
        What did not fit, in sentences; empty if all did.
    """
    xlsxwriter: Any = need("xlsxwriter", "excel")
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "nan_inf_to_errors": False,
    }
    cut = 0
    with atomic_path(path) as temporary, xlsxwriter.Workbook(str(temporary), options) as workbook:
        looks = {
            "head": workbook.add_format({"bold": True, "bottom": 1, "quote_prefix": True}),
            "quoted": workbook.add_format({"quote_prefix": True}),
            "date": workbook.add_format({"num_format": "yyyy-mm-dd"}),
            "time": workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        }
        for sheet in sheets:
            cut += _write_sheet(workbook.add_worksheet(sheet.name), sheet, looks)
    if not cut:
        return []
    cells = "cell is" if cut == 1 else "cells are"
    return [f"{path.name}: {cut:,} {cells} cut at Excel's {LONGEST_CELL:,} characters."]


def spreadsheet_text(text: str) -> str:
    """A CSV cell that no spreadsheet takes for a formula: an apostrophe before what looks like one.

    Examples
    --------
    >>> spreadsheet_text("=1+1"), spreadsheet_text("-5.2"), spreadsheet_text("- a point")
    ("'=1+1", '-5.2', "'- a point")
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _write_sheet(page: Any, sheet: Sheet, looks: dict[str, Any]) -> int:
    """Write a sheet; returns how many cells were cut."""
    if len(sheet.header) > SHEET_COLUMNS:
        raise DataError(f"a sheet of Excel has at most {SHEET_COLUMNS:,} columns; write Parquet.")
    rows = iter(sheet.rows)
    first = list(islice(rows, MEASURED_ROWS))
    for i, name in enumerate(sheet.header):
        page.set_column(i, i, _width(name, [row[i] for row in first]))
        page.write_string(0, i, _fit(name), looks["head"])
    page.freeze_panes(1, 0)
    number = cut = 0
    for number, row in enumerate(chain(first, rows), 1):
        if number >= SHEET_ROWS:
            raise DataError(f"a sheet of Excel has at most {SHEET_ROWS:,} rows; write CSV.")
        cut += sum(_write_cell(page, (number, i), value, looks) for i, value in enumerate(row))
    if sheet.header:
        page.autofilter(0, 0, number, len(sheet.header) - 1)
    return cut


def _write_cell(page: Any, place: tuple[int, int], value: object, looks: dict[str, Any]) -> bool:
    """Write a cell; returns whether its text is cut."""
    if isinstance(value, bool):
        page.write_boolean(*place, value)
    elif isinstance(value, (int, float)) and isfinite(value) and abs(value) <= EXACT_FLOAT:
        page.write_number(*place, value)
    elif isinstance(value, date) and value.year >= 1900 and not getattr(value, "tzinfo", None):
        look = looks["time"] if isinstance(value, datetime) else looks["date"]
        page.write_datetime(*place, value, look)
    elif text := value_to_text(value):
        look = looks["quoted"] if FORMULA.match(text) else None
        page.write_string(*place, _fit(text), look)
        return _units(text) > LONGEST_CELL
    return False


def _fit(text: str) -> str:
    """The text as Excel can hold it: without characters that XML has not, and cut if it is long."""
    text = ILLEGAL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    if _units(text) > LONGEST_CELL:
        raw = text.encode("utf-16-le")[: 2 * (LONGEST_CELL - 1)]
        text = raw.decode("utf-16-le", errors="ignore") + "…"
    return text


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2


def _width(name: str, values: Sequence[Any]) -> int:
    longest = max((len(value_to_text(value)) for value in values), default=0)
    return min(max(len(name) + 3, longest + 1, COLUMN_WIDTHS[0]), COLUMN_WIDTHS[1])


@contextmanager
def open_table(path: Path) -> Iterator[TableWriter]:
    """A table to write part by part; the file is complete in the end, or not there."""
    check_suffix(path)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        table = TableWriter(path, file)
        try:
            yield table
        finally:
            table.close()


class TableWriter:
    """Writes parts of a table as CSV, JSON lines or Parquet, by the suffix of ``path``."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path, self.suffix = path, check_suffix(path)
        self.rows = 0  # written so far
        self._file = file
        self._parquet: Any = None

    def write(self, table: pa.Table, extra: Columns) -> None:
        """Add rows."""
        if self.suffix == ".parquet":
            self._write_parquet(combine(table, extra))
        else:
            text = io.StringIO(newline="")
            write_stream(text, table, extra, self.suffix[1:], header=not self.rows)
            self._file.write(text.getvalue().encode("utf-8"))
        self.rows += table.num_rows

    def close(self) -> None:
        """Write the footer of a Parquet file."""
        if self._parquet is not None:
            self._parquet.close()

    def _write_parquet(self, whole: pa.Table) -> None:
        import pyarrow.parquet

        if self._parquet is None:
            fields = [
                pa.field(f.name, result_kind(f.name) if pa.types.is_null(f.type) else f.type)
                for f in whole.schema
            ]
            self._parquet = pyarrow.parquet.ParquetWriter(self._file, pa.schema(fields))
        try:
            fitting = whole.cast(self._parquet.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise DataError(
                f"{self.path.name}: after {self.rows:,} rows a column changes its type "
                f"({error}); write CSV or JSON lines instead."
            ) from error
        self._parquet.write_table(fitting)
