"""Tables in files that are no text: Parquet, Arrow, and sheets of Excel workbooks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, BinaryIO
from zipfile import ZipFile

import pyarrow as pa

from coterie._util.validation import did_you_mean, need
from coterie.errors import DataError, UsageError
from coterie.texts.corpus import CHUNK_ROWS, DataNote, as_array, unique_names, value_to_text
from coterie.texts.delimited import HEADER_SAMPLE, name_columns
from coterie.texts.source import MOST_BYTES, Source

ARROW_STREAM = b"\xff\xff\xff\xff"  # a file says ARROW1
CELL_BYTES = 8  # of a sheet in memory, at least


def arrow_tables(source: Source, format: str) -> Iterator[pa.Table]:
    """The rows of a Parquet or Arrow file, or of an Arrow stream."""
    with source.open_anywhere() as file:
        for batch in _batches(file, format):
            batch.validate(full=True)  # texts may be no UTF-8
            table = pa.Table.from_batches([batch])
            yield table.rename_columns(unique_names(table.column_names))


def count_rows(source: Source, format: str) -> int:
    """Rows of such a file; of a workbook, those that its largest sheet says it has."""
    with source.open_anywhere() as file:
        if format == "xlsx":
            return max((sheet.max_row or 0 for sheet in _sheets(source, file).values()), default=0)
        if format == "arrow":
            return sum(batch.num_rows for batch in _batches(file, format))
        return int(_parquet_file(file).metadata.num_rows)


def _batches(file: BinaryIO, format: str) -> Iterator[pa.RecordBatch]:
    if format == "parquet":
        yield from _parquet_file(file).iter_batches(CHUNK_ROWS)
        return
    stream = file.read(4) == ARROW_STREAM
    file.seek(0)
    if stream:
        yield from pa.ipc.open_stream(file)
    else:
        reader = pa.ipc.open_file(file)
        yield from map(reader.get_batch, range(reader.num_record_batches))


def _parquet_file(file: BinaryIO) -> Any:
    import pyarrow.parquet

    found = pyarrow.parquet.ParquetFile(file)
    groups = map(found.metadata.row_group, range(found.num_row_groups))
    if any(group.total_byte_size > MOST_BYTES for group in groups):
        raise OSError(f"a row group has more than {MOST_BYTES >> 30} GiB")
    return found


def read_sheet(
    source: Source, header: bool | None, wanted: Collection[str], notes: list[DataNote]
) -> Iterator[pa.Table]:
    """The sheet that the source names, else the first with a cell.

    Formulas give the value that the spreadsheet program saved with them.
    """
    with source.open_anywhere() as file:
        sheets = _sheets(source, file)
        for name in [source.inside] if source.inside else sheets:
            sheets[name].reset_dimensions()  # programs write wrong ones
            if rows := _filled(sheets[name].iter_rows(values_only=True), source.name):
                break
        else:
            return
    begin = [[value_to_text(cell) for cell in row] for row in rows[: HEADER_SAMPLE + 1]]
    names, header, told = name_columns(begin, header, wanted)
    notes += told
    if len(sheets) > 1 and not source.inside:
        said = f"read the sheet {name!r} of {', '.join(map(repr, sheets))}"
        notes.append(DataNote("sheet", 0, (), f"{said}; add #NAME to the file for another"))
    columns = zip(*rows[header:], strict=True) if rows[header:] else ([] for _ in names)
    yield pa.Table.from_arrays([_column(list(cells)) for cells in columns], names)


def _sheets(source: Source, file: BinaryIO) -> dict[str, Any]:
    """The sheets of a workbook by their names."""
    openpyxl: Any = need("openpyxl", "excel")
    if sum(entry.file_size for entry in ZipFile(file).infolist()) > MOST_BYTES:
        raise OSError(f"it has more than {MOST_BYTES >> 30} GiB")
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except (KeyError, ValueError, TypeError) as error:  # what it raises for another zip archive
        raise OSError(f"it is no workbook: {error}") from error
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if source.inside and source.inside not in sheets:
        raise UsageError(
            f"{source.name}: there is no sheet {source.inside!r} (sheets: "
            f"{', '.join(sheets)}).{did_you_mean(source.inside, sheets)}"
        )
    return sheets


def _filled(rows: Iterator[tuple[Any, ...]], name: str) -> list[tuple[Any, ...]]:
    """The rows from the first to the last with a cell, all as long as the longest."""
    found: list[tuple[Any, ...]] = []
    end = width = 0
    for row in rows:
        last = max((i for i, cell in enumerate(row, 1) if cell is not None), default=0)
        if last or found:
            found.append(row[:last])
        if last:
            end, width = len(found), max(width, last)
    if CELL_BYTES * end * width > MOST_BYTES:
        raise DataError(
            f"{name}: the sheet reaches to row {end:,} and column {width:,}. One cell far from the "
            "others is probably a mistake: delete its row and column and save the workbook."
        )
    return [(*row, *[None] * (width - len(row))) for row in found[:end]]


def _column(cells: list[Any]) -> pa.Array:
    """A column of a sheet; times that are all midnight are dates."""
    column = as_array(cells)
    if pa.types.is_timestamp(column.type):
        days = column.cast(pa.date32())
        return days if days.cast(column.type).equals(column) else column
    return column
