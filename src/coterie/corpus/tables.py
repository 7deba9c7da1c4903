"""Tables in files that are no text: Parquet, Arrow, sheets of Excel workbooks, SQLite databases.

Parquet, Arrow and databases are read in parts of bounded size, a sheet as a whole.
"""

from __future__ import annotations

import io
import re
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from typing import Any, BinaryIO

import pyarrow as pa

from coterie._validation import did_you_mean, need
from coterie.corpus import jsonlines
from coterie.corpus.corpus import DataNote, as_array, unique_names, value_to_text
from coterie.corpus.delimited import HEADER_SAMPLE, name_columns
from coterie.corpus.formats import ARROW_STREAM, KINDS, damaged
from coterie.corpus.source import (
    DATABASE,
    Source,
    limited,
    longest,
    most_unpacked,
    too_long,
    unpacks_too_far,
)
from coterie.errors import CoterieError, DataError, UsageError, counted

FETCHED_ROWS = 10_000  # of a database, read at a time
SHEET_ROWS = 1_048_576  # of an Excel sheet, at most
SPARSE = 1_000_000  # cells; in a larger sheet, more than one in a hundred has to be filled


def arrow_tables(source: Source, format: str) -> Iterator[pa.Table]:
    """The rows of a Parquet or Arrow file, or of an Arrow stream."""
    done = 0
    for batch in _batches(source, format):
        table = pa.Table.from_batches([batch])
        _check_texts(table, source.name, done)
        done += table.num_rows
        yield table.rename_columns(unique_names(table.column_names))


def count_rows(source: Source, format: str) -> int:
    """Rows of such a file, without reading them where it says how many; at most so many."""
    if format == "xlsx":
        return _sheet_rows(source)
    if format == "sqlite":
        return Database(source).count()
    if format == "arrow":
        return sum(batch.num_rows for batch in _batches(source, format))
    with _arrow_errors(source, format) as file:
        return int(_parquet_file(file, source.name).metadata.num_rows)


def _batches(source: Source, format: str) -> Iterator[pa.RecordBatch]:
    stream = source.head().startswith(ARROW_STREAM)
    with _arrow_errors(source, format) as file:
        if format == "parquet":
            yield from _parquet_file(file, source.name).iter_batches()
        elif stream:
            yield from pa.ipc.open_stream(file)
        else:
            reader = pa.ipc.open_file(file)
            yield from map(reader.get_batch, range(reader.num_record_batches))


@contextmanager
def _arrow_errors(source: Source, format: str) -> Iterator[BinaryIO]:
    try:
        with source.open_anywhere() as file:
            yield file
    except (pa.ArrowException, OSError) as error:  # a broken footer is an OSError
        raise damaged(source.name, KINDS[format].name, error) from error


def _parquet_file(file: BinaryIO, name: str) -> Any:
    import pyarrow.parquet

    size, found = file.seek(0, io.SEEK_END), pyarrow.parquet.ParquetFile(file)
    groups = map(found.metadata.row_group, range(found.num_row_groups))
    if sum(group.total_byte_size for group in groups) > most_unpacked(size):
        raise unpacks_too_far(name, size)
    return found


def _check_texts(table: pa.Table, name: str, before: int) -> None:
    """Reject texts that are not UTF-8, which Parquet and Arrow files may hold."""
    for column, values in zip(table.column_names, table.columns, strict=True):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid as error:
            row = re.search(r"index (\d+)", str(error))
            raise DataError(
                f"{name}: the column {column!r} has a text in row "
                f"{before + int(row[1]) + 1 if row else '?'} that is not UTF-8; write the file "
                f"again with texts in UTF-8 ({error})."
            ) from error


def read_sheet(
    source: Source, header: bool | None, wanted: Collection[str]
) -> tuple[pa.Table, bool, list[DataNote]]:
    """The sheet that the source names, else the first with a cell; whether it has a header.

    Formulas give the value that the spreadsheet program saved with them.
    """
    chosen, rows = "", list[tuple[Any, ...]]()
    with _opened(source) as sheets:
        for chosen in [source.inside] if source.inside else sheets:
            sheets[chosen].reset_dimensions()  # programs write wrong ones
            cells = sheets[chosen].iter_rows(values_only=True)
            rows = _filled(cells, f"{source.name}#{chosen}")
            if rows:
                break
        known = ", ".join(map(repr, sheets)) if len(sheets) > 1 and not source.inside else ""
    if not rows:
        raise DataError(f"{source.name} is empty; give a file with texts.")
    begin = [[value_to_text(cell) for cell in row] for row in rows[: HEADER_SAMPLE + 1]]
    names, header, notes = name_columns(begin, header, wanted)
    columns = zip(*rows[header:], strict=True) if rows[header:] else ([] for _ in names)
    table = pa.Table.from_arrays([as_array(list(cells)) for cells in columns], names)
    if known:
        said = f"read the sheet {chosen!r} of {known}; add #NAME to the file for another"
        notes.append(DataNote("sheet", 0, (), said))
    return table, header, notes


def _sheet_rows(source: Source) -> int:
    """Rows that a sheet says it has; as many as there can be if that tells nothing."""
    with _opened(source) as sheets:
        said = [sheets[source.inside]] if source.inside else sheets.values()
        most = max((sheet.max_row or SHEET_ROWS for sheet in said), default=0)
    return most if most > 1 else SHEET_ROWS


@contextmanager
def _opened(source: Source) -> Iterator[dict[str, Any]]:
    """The sheets of a workbook by their names."""
    openpyxl: Any = need("openpyxl", "excel")
    try:
        with source.open_anywhere() as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheets = {sheet.title: sheet for sheet in book.worksheets}
            if source.inside and source.inside not in sheets:
                raise UsageError(
                    f"{source.name}: there is no sheet {source.inside!r} (sheets: "
                    f"{', '.join(sheets)}).{did_you_mean(source.inside, sheets)}"
                )
            yield sheets
    except CoterieError:
        raise
    except Exception as error:  # openpyxl raises what its readers of zip and XML do
        raise damaged(source.name, "an Excel", error) from error


def _filled(rows: Iterator[tuple[Any, ...]], name: str) -> list[tuple[Any, ...]]:
    """The rows from the first to the last with a cell, all as long as the longest.

    A sheet with next to nothing in them is refused: a key pressed in its last cell would make it
    a million rows of 16,384 columns.
    """
    found: list[tuple[Any, ...]] = []
    end = width = filled = 0
    for number, row in enumerate(rows, 1):
        places = [i for i, cell in enumerate(row, 1) if cell is not None]
        if places or found:
            found.append(row[: places[-1]] if places else ())
        if places:
            end, width, filled = len(found), max(width, places[-1]), filled + len(places)
            if limited() and end * width > max(SPARSE, 100 * filled):
                letters: Any = need("openpyxl.utils", "excel")
                raise DataError(
                    f"{name}: only {counted(filled, 'cell')} up to row {number:,} and column "
                    f"{letters.get_column_letter(width)} hold something. One far from the others "
                    "is probably a mistake: delete its row and column and save the workbook. If "
                    "it is meant, set COTERIE_LIMITS=off."
                )
    return [(*row, *[None] * (width - len(row))) for row in found[:end]]


class Database:
    """The rows of an SQLite database that a source names; the database is opened to be read only.

    They are those of a query, of a table, or of the only table.
    """

    def __init__(self, source: Source) -> None:
        self.name = source.name
        if source.path is None:
            raise DataError(
                f"{source.name} is an SQLite database that is packed or comes by a pipe; give the "
                "file."
            )
        self._path = source.path.absolute()
        kind, _, said = source.inside.partition("=")
        self.query = said.strip().rstrip(";")
        if kind != "query":
            self.query = f'SELECT * FROM "{self._table(said)}"'
        elif self.query.lower().split(None, 1)[:1] not in (["select"], ["with"], ["values"]):
            raise UsageError(
                f"{self.name}: the query should be a SELECT, which only reads, not "
                f"{self.query[:60]!r}."
            )

    def count(self) -> int:
        """How many rows there are."""
        [[row]] = self._rows(f"SELECT count(*) AS n FROM ({self.query})")
        return int(row["n"])

    def tables(self) -> Iterator[pa.Table]:
        """The rows; read twice, since the rows decide of which kind a column is."""
        kinds: jsonlines.Kinds = {}
        for rows in self._rows(self.query):
            jsonlines.widen(kinds, rows)
        for rows in self._rows(self.query):
            yield jsonlines.table_of(rows, kinds)

    def _table(self, wanted: str) -> str:
        listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE "
        found = self._rows(listed + "'sqlite~_%' ESCAPE '~' ORDER BY name")
        known = [row["name"] for rows in found for row in rows]
        if not known:
            raise DataError(f"{self.name}: the database has no table; give one that has.")
        if wanted not in known and (wanted or len(known) > 1):
            raise UsageError(
                f"{self.name}: say which table to read, such as "
                f"'{DATABASE}{self._path}?table={known[0]}'. Known: {', '.join(known)}."
            )
        return (wanted or known[0]).replace('"', '""')

    def _rows(self, query: str) -> Iterator[list[dict[str, Any]]]:
        """Rows by the names of the columns, a part at a time."""
        done = 0
        try:
            address = f"{self._path.as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as connection:
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest())
                cursor = connection.execute(query)
                names = unique_names([str(column[0]) for column in cursor.description])
                while rows := cursor.fetchmany(FETCHED_ROWS):
                    yield [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
                    done += len(rows)
        except sqlite3.DataError as error:  # too big
            raise too_long(self.name, f"a row behind row {done:,}") from error
        except sqlite3.Error as error:
            raise DataError(
                f"{self.name}: the database cannot be read ({error}); check the file and the query."
            ) from error


def _plain(cell: object) -> Any:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
