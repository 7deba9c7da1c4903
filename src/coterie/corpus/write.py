"""Tables out: every input column in its order, with new columns after them.

In Excel workbooks cells are values, never formulas. A text that begins with ``=``, ``+``, ``-`` or
``@`` is a formula to a spreadsheet that may guess. Here texts are written as texts, and those that
look like formulas are also marked as such (Excel's "quote prefix"), so that editing the cell does
not turn it into one.

A table that is written part by part (:class:`GrowingTable`) grows under the name
``NAME.partial.SUFFIX`` and gets its own name when it is whole. A stop leaves the partial one
behind, which can be continued. A record beside it says what it was made from and, after every
part, how many rows and bytes there are, with a digest of all rows read and one of all bytes
written so far.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import sha256
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import IO, Any, TextIO

import pyarrow as pa

from coterie._files import append, atomic_path, is_locked, open_own, take_lock
from coterie._validation import need
from coterie.corpus.corpus import CHUNK_ROWS, Columns, cell_values, combine, value_to_text
from coterie.corpus.jsonlines import RAW, to_json, try_json
from coterie.errors import DataError, UsageError

FORMATS = ("csv", "tsv", "jsonl", "parquet", "xlsx")
SUFFIXES = tuple(f".{name}" for name in FORMATS)
SHEET_ROWS = 1_048_576  # of a sheet, the header among them
SHEET_COLUMNS = 16_384
LONGEST_CELL = 32_767  # characters of a cell, as UTF-16 counts them
EXACT_FLOAT = 2**53  # Excel's numbers are floats: larger whole numbers would lose digits
COLUMN_WIDTHS = (8, 60)  # of a column, in characters
MEASURED_ROWS = 200  # rows that decide how wide the columns are
FORMULA = re.compile(r"[=+\-@\t\r\n]")
ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
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
BLOCK = 1 << 20  # bytes read at a time


def write_rows(path: Path, table: pa.Table, extra: Columns) -> list[str]:
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
    """The suffix of a table to write; rejects those that tell no format."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"--out {path}: the suffix should be one of {', '.join(SUFFIXES)}.")
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
    if format == "jsonl":  # Parquet adds entries of its own to those of a field
        raw = [(field.metadata or {}).items() >= RAW.items() for field in whole.schema]
        for row in table_rows(whole):
            pairs = zip(row, raw, strict=True)
            cells = [_value(c) if is_raw else None if c != c else c for c, is_raw in pairs]
            file.write(to_json(dict(zip(names, cells, strict=True))) + "\n")  # JSON has no NaN
        return
    rows = ([value_to_text(value) for value in row] for row in table_rows(whole))
    write_csv(file, chain([names] if header else [], rows), "\t" if format == "tsv" else ",")


def write_csv(file: TextIO, rows: Iterable[Sequence[str]], delimiter: str = ",") -> None:
    """Write rows of texts as CSV.

    Before Python 3.13 its writer leaves a carriage return bare, which readers take for the end of
    a row. So all cells of a row that has one are quoted.
    """
    plain = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        (quoted if any("\r" in cell for cell in row) else plain).writerow(row)


def bare_name(column: str) -> str:
    """What a result column is called if the input has no column of that name."""
    return re.sub("^(coterie_)+", "", column)


def result_kind(column: str) -> pa.DataType:
    """The kind of a result column, also where no row has a value in it."""
    name = bare_name(column)
    return RESULT_TYPES.get(name, pa.int64() if LEVEL_NUMBER.fullmatch(name) else pa.string())


def _value(cell: str | None) -> Any:
    """What JSON says; the text itself if it is no JSON."""
    value = None if cell is None else try_json(cell)
    return cell if value is None and cell != "null" else value


@dataclass(frozen=True)
class Sheet:
    """A table for a workbook."""

    name: str  # at most 28 characters, so that a number fits behind it
    header: Sequence[str]
    rows: Iterable[Sequence[Any]]  # gone through once


@dataclass
class ExcelLosses:
    """What did not fit, counted while cells are written."""

    cut: int = 0
    replaced: int = 0
    sheets: list[str] = field(default_factory=list)

    def sentences(self, file: str) -> list[str]:
        """In words, for whoever gets the workbook."""
        out = []
        if self.cut:
            cells = "cell is" if self.cut == 1 else "cells are"
            out.append(
                f"{file}: {self.cut:,} {cells} longer than Excel's {LONGEST_CELL:,} characters and "
                "cut; the CSV has all of them whole."
            )
        if self.replaced:
            cells = "cell has" if self.replaced == 1 else "cells have"
            out.append(
                f"{file}: {self.replaced:,} {cells} characters that Excel cannot hold; they are "
                "replaced by pictures of themselves."
            )
        for name in self.sheets:
            out.append(
                f"{file}: {name!r} has more than Excel's {SHEET_ROWS:,} rows and goes on in the "
                f"sheets '{name} 2' and on."
            )
        return out


def write_workbook(path: Path, sheets: Sequence[Sheet]) -> list[str]:
    """Write sheets with a frozen bold header, a filter and readable widths.

    Returns
    -------
    list of str
        What did not fit, in sentences; empty if all did.
    """
    xlsxwriter: Any = need("xlsxwriter", "excel")
    for sheet in sheets:
        if len(sheet.header) > SHEET_COLUMNS:
            raise DataError(
                f"{path.name}: {len(sheet.header):,} columns are more than Excel's "
                f"{SHEET_COLUMNS:,}; write Parquet or CSV instead."
            )
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "nan_inf_to_errors": False,
    }
    losses = ExcelLosses()
    with atomic_path(path) as temporary:
        workbook = xlsxwriter.Workbook(str(temporary), options)
        looks = {
            "head": workbook.add_format({"bold": True, "bottom": 1, "quote_prefix": True}),
            "quoted": workbook.add_format({"quote_prefix": True}),
            "date": workbook.add_format({"num_format": "yyyy-mm-dd"}),
            "time": workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        }
        for sheet in sheets:
            _write_sheet(workbook, sheet, looks, losses)
        workbook.close()
    return losses.sentences(path.name)


def spreadsheet_text(text: str) -> str:
    """A CSV cell that no spreadsheet takes for a formula: an apostrophe before what looks like one.

    Examples
    --------
    >>> spreadsheet_text("=1+1"), spreadsheet_text("-5.2"), spreadsheet_text("- a point")
    ("'=1+1", '-5.2', "'- a point")
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _write_sheet(workbook: Any, sheet: Sheet, looks: dict[str, Any], losses: ExcelLosses) -> None:
    rows: Iterator[Sequence[Any]] = iter(sheet.rows)
    first = list(islice(rows, MEASURED_ROWS))
    widths = [_width(name, [row[i] for row in first]) for i, name in enumerate(sheet.header)]
    rest = chain(first, rows)
    number = 0
    while True:
        batch = islice(rest, SHEET_ROWS - 1)
        head = next(batch, None)
        if head is None and number:
            return
        number += 1
        if number == 2:
            losses.sheets.append(sheet.name)
        page = workbook.add_worksheet(sheet.name if number == 1 else f"{sheet.name} {number}")
        for i, width in enumerate(widths):
            page.set_column(i, i, width)
        for i, name in enumerate(sheet.header):
            page.write_string(0, i, _fit(name, losses), looks["head"])
        page.freeze_panes(1, 0)
        last = 0
        for last, row in enumerate(batch if head is None else chain([head], batch), 1):
            for i, value in enumerate(row):
                _write_cell(page, (last, i), value, looks, losses)
        if sheet.header:
            page.autofilter(0, 0, last, len(sheet.header) - 1)


def _write_cell(
    page: Any, place: tuple[int, int], value: object, looks: dict[str, Any], losses: ExcelLosses
) -> None:
    if isinstance(value, bool):
        page.write_boolean(*place, value)
    elif isinstance(value, (int, float)) and isfinite(value) and abs(value) <= EXACT_FLOAT:
        page.write_number(*place, value)
    elif isinstance(value, date) and value.year >= 1900 and not getattr(value, "tzinfo", None):
        look = looks["time"] if isinstance(value, datetime) else looks["date"]
        page.write_datetime(*place, value, look)
    else:
        text = value_to_text(value)
        if text:
            look = (looks["quoted"],) if FORMULA.match(text) else ()
            page.write_string(*place, _fit(text, losses), *look)


def _fit(text: str, losses: ExcelLosses) -> str:
    """The text as Excel can hold it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if ILLEGAL.search(text):
        losses.replaced += 1
        text = ILLEGAL.sub(_picture, text)
    if len(text) * 2 > LONGEST_CELL and _units(text) > LONGEST_CELL:
        losses.cut += 1
        note = f" … [cut: {len(text):,} characters]"
        raw = text.encode("utf-16-le")[: 2 * (LONGEST_CELL - _units(note))]
        text = raw.decode("utf-16-le", errors="ignore") + note
    return text


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _width(name: str, values: Sequence[Any]) -> int:
    longest = max((len(value_to_text(value)) for value in values), default=0)
    return min(max(len(name) + 3, longest + 1, COLUMN_WIDTHS[0]), COLUMN_WIDTHS[1])


class GrowingTable:
    """A table in a file, by its suffix: CSV, TSV, JSON lines or Parquet.

    Used as a context: at its end the file gets its name; after an exception the rows written so
    far stay in :attr:`partial`. With ``resume`` it goes on behind the rows that a stopped run
    left; Parquet files cannot be continued.

    ``made_from`` gives what decides the rows besides the input: the model, the settings. It is
    asked when the first rows are there, and kept in the record. Without it there is no record, and
    the table cannot be continued.
    """

    def __init__(
        self,
        path: Path,
        made_from: Callable[[], Mapping[str, Any]] | None = None,
        *,
        resume: bool = False,
    ) -> None:
        self.path, self.suffix = path, check_suffix(path)
        self.partial, self.record = partial_path(path), record_path(path)
        self.rows = self._end = 0  # written so far
        self.facts: dict[str, str] = {}  # for the footer of a Parquet file; read at the end
        self._made_from, self._resume = made_from, resume
        self._known: dict[str, Any] = {}  # of the record, when a table is continued
        self._read, self._written = sha256(), sha256()
        self._skipped, self._begun = 0, False
        self._file: IO[bytes] | None = None
        self._parquet: Any = None
        if made_from is not None:
            refuse_partial(path, resume=resume)

    def __enter__(self) -> GrowingTable:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._made_from is not None:
            append(self.record, b"")  # from now on the partial table is known as coterie's
        self._file = open_own(self.partial)
        try:
            if not take_lock(self._file):  # before anything of another process is touched
                raise _in_use(self.partial)
            kept = self._go_on(self._file) if self._resume else []
            self._file.truncate()
            if self._made_from is not None:
                os.truncate(self.record, sum(len(json.dumps(entry)) + 1 for entry in kept))
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        assert self._file is not None
        if self._parquet is not None:
            self._parquet.add_key_value_metadata(self.facts)
            self._parquet.close()
        self._file.close()
        if self._parquet is None:
            os.truncate(self.partial, self._end)  # an interrupted write may end within a row
        if kind is None:
            with self.partial.open("rb") as written:
                os.fsync(written.fileno())
            self.partial.replace(self.path)
            self.record.unlink(missing_ok=True)
        elif not self.rows:
            self.discard()

    def discard(self) -> None:
        """Delete what is written so far."""
        self.partial.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)

    def write(self, table: pa.Table, extra: Columns) -> None:
        """Add rows; they are in the file when this returns."""
        assert self._file is not None
        self._note_source(table)
        if self.suffix == ".parquet":
            self._write_parquet(combine(table, extra))
        else:
            text = io.StringIO(newline="")
            write_stream(text, table, extra, self.suffix[1:], header=not self.rows)
            data = text.getvalue().encode("utf-8")
            self._file.write(data)
            self._file.flush()
            self._written.update(data)
            self._end += len(data)
        self.rows += table.num_rows
        self._note()

    def skip(self, table: pa.Table) -> None:
        """Rows of the input that are labelled already; rejects others than those that were."""
        self._note_source(table)
        self._skipped += table.num_rows
        if self._skipped == self.rows and self._read.hexdigest() != self._known.get("read"):
            raise DataError(
                f"--resume: {self.partial} was made from other texts: the first {self.rows:,} "
                "rows of the input have changed. Delete it to start again."
            )

    def _note_source(self, table: pa.Table) -> None:
        """Take rows of the input into the digest; before the first ones, what else decides."""
        if self._made_from is None:
            return
        if not self._begun:
            self._begin({**self._made_from(), "columns": table.column_names})
        lines = json.dumps(list(table_rows(table)), default=str)[1:-1]
        self._read.update(lines.encode("ascii") + b", ")

    def _begin(self, now: dict[str, Any]) -> None:
        """Write what the table is made from into the record, or compare with what is there."""
        self._begun = True
        if not self._known:
            self._add({"made_from": now})
            return
        before = self._known["made_from"]
        for key, value in json.loads(json.dumps(now)).items():
            if before.get(key) != value:
                there, here = (str(v)[:60] for v in (before.get(key), value))
                raise DataError(
                    f"--resume: {self.partial} was made with another {key.replace('_', ' ')} "
                    f"({there} there, {here} now). Repeat the same command, or delete the file "
                    "to start again."
                )

    def _note(self) -> None:
        if self._made_from is not None:
            digests = {"read": self._read.hexdigest(), "written": self._written.hexdigest()}
            self._add({"rows": self.rows, "bytes": self._end, **digests})

    def _add(self, entry: dict[str, Any]) -> None:
        append(self.record, json.dumps(entry).encode() + b"\n")

    def _go_on(self, file: IO[bytes]) -> list[dict[str, Any]]:
        """Go behind the last part that is whole in the file; returns the record up to there."""
        entries, size = read_record(self.record), file.seek(0, io.SEEK_END)
        while entries and entries[-1].get("bytes", size + 1) > size:
            entries.pop()
        file.seek(0)
        if not entries:
            return []
        self._known = {**entries[0], **entries[-1]}
        self.rows, self._end = self._known["rows"], self._known["bytes"]
        while block := file.read(min(BLOCK, self._end - file.tell())):
            self._written.update(block)
        if self._written.hexdigest() != self._known["written"]:
            raise DataError(
                f"--resume: {self.partial} was changed since coterie wrote it. Move it to start "
                "again."
            )
        return entries

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


def partial_path(path: Path) -> Path:
    """Where a table grows.

    Examples
    --------
    >>> partial_path(Path("out/labelled.csv")).name
    'labelled.partial.csv'
    """
    return path.with_name(f"{path.stem}.partial{path.suffix}")


def record_path(path: Path) -> Path:
    """Where the record of a table lies while that grows.

    Examples
    --------
    >>> record_path(Path("out/labelled.csv")).name
    '.labelled.partial.csv.record'
    """
    return path.with_name(f".{partial_path(path).name}.record")


def refuse_partial(path: Path, *, resume: bool) -> None:
    """Reject to write the table ``path`` where a partial one lies that would be lost."""
    partial, record = partial_path(path), record_path(path)
    if not os.path.lexists(partial):
        return
    if is_locked(partial):
        raise _in_use(partial)
    if not record.exists():
        raise UsageError(
            f"{partial} is in the way: {path.name} would be written there first, and coterie has "
            "no record of having written it. Move it, or choose another --out."
        )
    rows = max((entry.get("rows", 0) for entry in read_record(record)), default=0)
    if resume and path.suffix.lower() == ".parquet":
        raise DataError(
            f"--resume: {partial} cannot be continued, because Parquet files cannot be extended; "
            "repeat the command without --resume, or write CSV."
        )
    if rows and not resume and path.suffix.lower() != ".parquet":
        raise UsageError(
            f"{partial} has {rows:,} rows of a command that was stopped; --resume continues "
            "after them. Delete it to start again."
        )


def _in_use(partial: Path) -> UsageError:
    return UsageError(
        f"another process is writing {partial}; wait until it is done, or choose another name."
    )


def read_record(record: Path) -> list[dict[str, Any]]:
    """The entries of a record; a line that a crash cut off ends it."""
    entries: list[dict[str, Any]] = []
    for line in record.read_text("utf-8", "replace").split("\n") if record.exists() else []:
        entry = try_json(line)
        if not isinstance(entry, dict):
            break
        entries.append(entry)
    return entries
