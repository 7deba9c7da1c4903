"""Tables in files that are no text: Parquet, Arrow, sheets of Excel workbooks, SQLite databases.

Parquet, Arrow and databases are read in parts of bounded size, a sheet as a whole.
"""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa

from coterie._validation import did_you_mean, need
from coterie.corpus import jsonlines
from coterie.corpus.corpus import Note, as_array, unique_names, value_to_text
from coterie.corpus.delimited import SAMPLE, name_columns
from coterie.corpus.source import (
    DATABASE,
    Source,
    damaged,
    limited,
    longest,
    most_unpacked,
    too_long,
    unpacks_too_far,
)
from coterie.errors import CoterieError, DataError, UsageError, counted

ROWS = 10_000  # of a database, read at a time
SHEET_ROWS = 1_048_576  # of an Excel sheet, at most
SPARSE = 1_000_000  # cells; in a larger sheet, more than one in a hundred has to be filled
STREAM = b"\xff\xff\xff\xff"  # what an Arrow stream begins with; a file says ARROW1


def arrow_tables(source: Source, format: str) -> Iterator[pa.Table]:
    """The rows of a Parquet or Arrow file, or of an Arrow stream."""
    kind, done = {"parquet": "a Parquet", "arrow": "an Arrow"}[format], 0
    with source.open_anywhere() as file:
        try:
            for batch in _batches(file, format, source):
                table = pa.Table.from_batches([batch])
                _check_texts(table, source.name, done)
                done += table.num_rows
                yield table.rename_columns(unique_names(table.column_names))
        except (pa.ArrowException, OSError) as error:  # a broken footer is an OSError
            raise damaged(source.name, kind, error) from error


def count_rows(source: Source, format: str) -> int:
    """Rows of such a file, without reading them where it says how many; at most so many."""
    import pyarrow.parquet

    if format == "xlsx":
        return _sheet_rows(source)
    if format == "sqlite":
        return Database(source).count()
    with source.open_anywhere() as file:
        try:
            if format == "parquet":
                return int(pyarrow.parquet.read_metadata(file).num_rows)
            return sum(batch.num_rows for batch in _batches(file, format, source))
        except (pa.ArrowException, OSError) as error:
            kind = {"parquet": "a Parquet", "arrow": "an Arrow"}[format]
            raise damaged(source.name, kind, error) from error


def _batches(file: BinaryIO, format: str, source: Source) -> Iterator[pa.RecordBatch]:
    if format == "parquet":
        import pyarrow.parquet

        size, found = file.seek(0, io.SEEK_END), pyarrow.parquet.ParquetFile(file)
        groups = map(found.metadata.row_group, range(found.num_row_groups))
        if sum(group.total_byte_size for group in groups) > most_unpacked(size):
            raise unpacks_too_far(source.name, size)
        yield from found.iter_batches()
    elif source.head().startswith(STREAM):
        yield from pa.ipc.open_stream(file)
    else:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def _check_texts(table: pa.Table, name: str, before: int) -> None:
    """Reject texts that are not UTF-8, which Parquet and Arrow files may hold."""
    for column, values in zip(table.column_names, table.columns, strict=True):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid as error:
            row = next((i for i, cell in enumerate(values, 1) if not _is_text(cell)), 0)
            raise DataError(
                f"{name}: the column {column!r} has a text in row {before + row} that is not "
                f"UTF-8; write the file again with texts in UTF-8 ({error})."
            ) from error


def _is_text(cell: pa.Scalar) -> bool:
    try:
        cell.as_py()
    except UnicodeDecodeError:
        return False
    except (ValueError, OverflowError):
        pass
    return True


def read_sheet(
    source: Source, header: bool | None, wanted: Collection[str]
) -> tuple[pa.Table, bool, list[Note]]:
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
        names_of_sheets = list(sheets)
    if not rows:
        raise DataError(f"{source.name} is empty; give a file with texts.")
    begin = [[value_to_text(cell) for cell in row] for row in rows[: SAMPLE + 1]]
    names, header, notes = name_columns(begin, header, wanted)
    columns = zip(*rows[header:], strict=True) if rows[header:] else ([] for _ in names)
    table = pa.Table.from_arrays([as_array(list(cells)) for cells in columns], names)
    if len(names_of_sheets) > 1 and not source.inside:
        known = ", ".join(map(repr, names_of_sheets))
        said = f"read the sheet {chosen!r} of {known}; add #NAME to the file for another"
        notes.append(Note("sheet", 0, (), said))
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
    return [(*row, *[None] * (width - len(row)))[:width] for row in found[:end]]


class Database:
    """The rows of an SQLite database that a source names; the database is opened to be read only.

    They are those of a query, of a table, or of the only table.
    """

    def __init__(self, source: Source) -> None:
        self.name = source.name
        if source.path is None:
            kind, remedy = "an SQLite database that is packed or comes by a pipe", "give the file"
            raise DataError(f"{source.name} is {kind}; {remedy}.")
        self._path, inside = source.path.absolute(), source.inside
        kind, _, said = inside.partition("=")
        self.query = said.strip().rstrip(";")
        if kind != "query":
            self.query = f'SELECT * FROM "{self._table(said)}"'
        elif self.query.split(None, 1)[:1] and self.query.split()[0].lower() not in READS:
            raise UsageError(
                f"{self.name}: the query should be a SELECT, which only reads, not "
                f"{self.query[:60]!r}."
            )

    def count(self) -> int:
        """How many rows there are."""
        return int(next(self._rows(f"SELECT count(*) FROM ({self.query})"))[1][0][0])

    def tables(self) -> Iterator[pa.Table]:
        """The rows; read twice, since the rows decide of which kind a column is."""
        kinds: jsonlines.Kinds = {}
        for names, rows in self._rows(self.query):
            jsonlines.widen(kinds, (dict(zip(names, row, strict=True)) for row in rows))
        for names, rows in self._rows(self.query):
            records = [dict(zip(names, row, strict=True)) for row in rows]
            yield jsonlines.table_of(records, kinds)

    def _table(self, wanted: str) -> str:
        listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE "
        found = self._rows(listed + "'sqlite~_%' ESCAPE '~' ORDER BY name")
        known = [row[0] for _, rows in found for row in rows]
        if not known:
            raise DataError(f"{self.name}: the database has no table; give one that has.")
        if wanted not in known and (wanted or len(known) > 1):
            raise UsageError(
                f"{self.name}: say which table to read, such as "
                f"'{DATABASE}{self._path}?table={known[0]}'. Known: {', '.join(known)}."
            )
        return (wanted or known[0]).replace('"', '""')

    def _rows(self, query: str) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        """Names of the columns, and rows, a part at a time; one without rows if there are none."""
        done = 0
        try:
            address = f"{self._path.as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as connection:
                if hasattr(connection, "setlimit"):  # from Python 3.11 on
                    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest())
                cursor = connection.execute(query)
                names = unique_names([str(column[0]) for column in cursor.description])
                for rows in chain(
                    [cursor.fetchmany(ROWS)], iter(lambda: cursor.fetchmany(ROWS), [])
                ):
                    yield names, [tuple(map(_plain, row)) for row in rows]
                    done += len(rows)
        except sqlite3.DataError as error:  # too big
            raise too_long(self.name, f"a row behind row {done:,}") from error
        except sqlite3.Error as error:
            raise DataError(
                f"{self.name}: the database cannot be read ({error}); check the file and the query."
            ) from error


READS = ("select", "with", "values")  # how a query begins that only reads


def _plain(cell: object) -> Any:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
