"""Reading any of the formats a part at a time, in memory that does not grow with the file.

The rows and their texts are those that :func:`read_corpus` gives. Two things a stream cannot know:
how many more rows are broken as the first one is, and which columns a JSON line far below brings.
A file is looked through once for the latter; from a pipe, the first rows decide.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie._errors import DataError
from coterie._validation import check_choice
from coterie.corpus.columns import check_column, pick_text_column
from coterie.corpus.corpus import Note, clean_values
from coterie.corpus.read import (
    FORMATS,
    column_names,
    csv_rows,
    delimiter_of,
    guess_format,
    json_column,
    json_records,
    read_table,
)
from coterie.corpus.source import Lines, Source, not_parquet

ROWS = 10_000  # rows of a part
FIRST = 1_000  # rows that tell which column holds the texts, as in read_corpus


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file.

    Attributes
    ----------
    first : int
        Rows before these.
    table : pyarrow.Table
        Every column as it was read.
    texts : list of str
        Cleaned texts; the empty text where a row has none.
    values : list
        The cells of the text column.
    """

    first: int
    table: pa.Table
    texts: list[str]
    values: list[Any]

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, first: int, last: int) -> Chunk:
        """Some of the rows, counted in the chunk."""
        return Chunk(
            self.first + first,
            self.table.slice(first, max(last - first, 0)),
            self.texts[first:last],
            self.values[first:last],
        )


class TextStream:
    r"""The rows of a file or of standard input, in parts; a file can be gone through repeatedly.

    Parameters
    ----------
    source : str, Path or Source
    text_column, id_column : str, optional
        As for :func:`read_corpus`.
    format : {"auto", "csv", "tsv", "jsonl", "parquet", "txt"}, default="auto"
    encoding : str, default="utf-8"

    Attributes
    ----------
    text_column : str or None
        None until the first rows are read, unless it was given.
    notes : tuple of Note
        About the file; what is unusual about texts is noted by :func:`survey`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "texts.txt"
    ...     _ = file.write_text("where is my parcel?\n\nrefund please\n")
    ...     [chunk.texts for chunk in TextStream(file)]
    [['where is my parcel?', '', 'refund please']]
    """

    def __init__(
        self,
        source: str | Path | Source,
        *,
        text_column: str | None = None,
        id_column: str | None = None,
        format: str = "auto",
        encoding: str = "utf-8",
    ) -> None:
        check_choice("--format", format, FORMATS)
        self.source = source if isinstance(source, Source) else Source(source)
        self.text_column, self.id_column, self.encoding = text_column, id_column, encoding
        self.format, self.notes = format, tuple[Note, ...]()
        if format == "auto":
            self.format = guess_format(self.source.name, self.source.head(), text_column)
        if not self.source.head():
            raise self._nothing()
        if self.format == "parquet":
            self.source.take()  # it is read from its end
        self._checked = False
        self._kinds: dict[str, pa.DataType] | None = None
        self._quoted: bool | None = None

    def chunks(self, rows: int = ROWS) -> Iterator[Chunk]:
        """Parts of at most so many rows; fewer at first, and where a pipe has no more for now."""
        first = 0
        for table in self._tables(rows):
            self._check(table)
            assert self.text_column is not None
            values = table.column(self.text_column).to_pylist()
            yield Chunk(first, table, clean_values(values), values)
            first += table.num_rows
        if not first:
            raise self._nothing()

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def _check(self, table: pa.Table) -> None:
        if not self._checked:
            self.text_column = pick_text_column(table, self.text_column)
            if self.id_column is not None:
                check_column(table, self.id_column, "--id-column")
            self._checked = True

    def _nothing(self) -> DataError:
        return DataError(f"{self.source.name} is empty: there is nothing to read.")

    def _tables(self, rows: int) -> Iterator[pa.Table]:
        if self.format == "parquet":
            yield from self._parquet(rows)
        elif self.format == "jsonl":
            yield from self._jsonl(rows)
        elif self.format == "txt":
            lines = Lines(self.source, self.encoding)
            texts = (line.removesuffix("\n").removesuffix("\r") for line in lines)
            for part in _parts(texts, lines, rows):
                yield pa.table({"text": pa.array(part, pa.string())})
        else:
            yield from self._delimited(rows)

    def _parquet(self, rows: int) -> Iterator[pa.Table]:
        import pyarrow.parquet

        with self.source.open() as opened:
            try:
                file = pyarrow.parquet.ParquetFile(opened)
                for batch in file.iter_batches(rows):
                    yield pa.Table.from_batches([batch])
            except (pa.ArrowException, OSError) as error:  # a broken footer is an OSError
                raise not_parquet(self.source.name, error) from error

    def _delimited(self, rows: int) -> Iterator[pa.Table]:
        quoting = csv.QUOTE_MINIMAL
        if self.format == "tsv" and not self.source.is_pipe:
            self._quoted = self._is_quoted() if self._quoted is None else self._quoted
            quoting = csv.QUOTE_MINIMAL if self._quoted else csv.QUOTE_NONE
        lines = Lines(self.source, self.encoding, old_ends=True)
        begin = next(iter(lines), "")
        delimiter, notes = delimiter_of(begin, self.format)
        self.notes = tuple(notes)
        parsed = csv_rows(chain([begin], lines), delimiter, quoting)
        try:
            header = column_names(next(parsed)[1])
            for part in _parts(self._even(parsed, header, delimiter), lines, rows):
                cells = zip(*part, strict=True)
                columns = zip(header, cells, strict=True)
                yield pa.table({name: pa.array(column, pa.string()) for name, column in columns})
        except csv.Error as error:
            hint = " Or save it to a file: then unquoted TSV is read, too."
            more = hint if self.format == "tsv" and self.source.is_pipe else ""
            raise DataError(f"{self.source.name}, {error}{more}") from error

    def _even(
        self, parsed: Iterable[tuple[int, list[str]]], header: list[str], delimiter: str
    ) -> Iterator[list[str]]:
        """Rows with as many fields as the header; blank lines count, but not at the end."""
        blank, number = 0, 0
        for line, row in parsed:
            if not row:
                blank += 1
                continue
            for _ in range(blank):
                yield [""] * len(header)
            number, blank = number + blank + 1, 0
            if len(row) != len(header):
                raise DataError(
                    f"{self.source.name}: row {number} (line {line}) has {len(row)} fields where "
                    f"the header has {len(header)}. Put double quotes around texts that hold "
                    f"{delimiter!r}; for a file of one text a line add --format txt."
                )
            yield row

    def _is_quoted(self) -> bool:
        """Whether quotes are quotes; in most TSV files they are not."""
        lines = Lines(self.source, self.encoding, old_ends=True)
        try:
            for _ in csv_rows(lines, "\t", csv.QUOTE_MINIMAL):
                pass
        except csv.Error:
            return False
        return True

    def _jsonl(self, rows: int) -> Iterator[pa.Table]:
        if self.source.head().lstrip()[:1] == b"[":  # one list: it cannot be read in parts
            table, _ = read_table(self.source, format="jsonl", encoding=self.encoding)
            yield from (table.slice(a, rows) for a in range(0, table.num_rows, rows))
            return
        if self._kinds is None and not self.source.is_pipe:
            self._kinds = self._look_through()
        for first, part in _numbered(self._records(rows)):
            if self._kinds is None:  # a pipe: the first rows decide which columns there are
                self._kinds = dict.fromkeys(key for record in part for key in record)
            columns = {}
            for name, kind in self._kinds.items():
                columns[name] = _as_kind([record.get(name) for record in part], kind)
            for number, record in enumerate(part, first + 1):
                if new := record.keys() - self._kinds.keys():
                    raise DataError(
                        f"{self.source.name}: row {number} has a column {min(new)!r} that no row "
                        "before has; save it to a file, which is looked through first."
                    )
            yield pa.table(columns)

    def _records(self, rows: int) -> Iterator[list[dict[str, Any]]]:
        lines = Lines(self.source, self.encoding)
        return _parts(json_records(lines, self.source.name), lines, rows)

    def _look_through(self) -> dict[str, pa.DataType]:
        """The columns of all rows, and of which kind each is."""
        kinds: dict[str, pa.DataType] = {}
        for part in self._records(ROWS):
            for name in dict.fromkeys(key for record in part for key in record):
                found = json_column([record.get(name) for record in part]).type
                kinds[name] = found if name not in kinds else _common(kinds[name], found)
        return kinds


def _common(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """A kind that holds the values of both; texts if nothing else does."""
    if a.equals(b) or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (a, b))
    return pa.float64() if numbers else pa.string()


def _as_kind(values: list[Any], kind: pa.DataType | None) -> pa.Array:
    """The column, of the kind that the whole file asks for."""
    made = json_column(values)
    if kind is None or made.type.equals(kind):
        return made
    if pa.types.is_string(kind):  # mixed: as JSON texts, which a marker makes json_column choose
        return json_column([*values, "", 0]).slice(0, len(values))
    return made.cast(kind)


def _parts(items: Iterable[Any], lines: Lines, rows: int) -> Iterator[list[Any]]:
    """Lists of items: few at first, then up to ``rows``, or what a pipe has given so far."""
    part: list[Any] = []
    size = min(FIRST, rows)
    for item in items:
        part.append(item)
        if len(part) >= size or lines.waiting():
            yield part
            part, size = [], min(2 * size, rows)
    if part:
        yield part


def _numbered(parts: Iterable[list[Any]]) -> Iterator[tuple[int, list[Any]]]:
    first = 0
    for part in parts:
        yield first, part
        first += len(part)
