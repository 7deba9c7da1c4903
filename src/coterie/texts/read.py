"""Reading tables: every kind of file, one or several, whole or a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import TypedDict, Unpack

import pyarrow as pa

from coterie._util.validation import check_choice
from coterie.errors import DataError, UsageError
from coterie.texts.corpus import (
    CHUNK_ROWS,
    Chunk,
    Corpus,
    DataNote,
    build,
    cell_values,
    check_column,
    clean_values,
    pick_text_column,
)
from coterie.texts.delimited import read_delimited
from coterie.texts.jsonlines import Kinds, read_json
from coterie.texts.source import Source
from coterie.texts.tables import ARROW_STREAM, arrow_tables, count_rows, read_sheet

SUFFIXES = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "xlsx": (".xlsx", ".xlsm"),
    "txt": (".txt", ".text"),
}
FORMATS = ("auto", *SUFFIXES)
BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", ARROW_STREAM: "arrow", b"PK\x03\x04": "xlsx"}
PACKED = (".gz", ".bz2", ".xz", ".zst")


class TextStream:
    r"""The rows of a file or of standard input, in parts; it can be gone through repeatedly.

    Parameters
    ----------
    source : str, Path or Source
    text_column, id_column : str, optional
    format, encoding, header
        As for :func:`read_corpus`.

    Attributes
    ----------
    text_column : str or None
        None until the first rows are read, unless it was given.
    format : str
    notes : tuple of DataNote
        About the file, known when it is read; what is unusual about texts is noted by
        :func:`survey`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "texts.txt"
    ...     _ = file.write_text("where is my parcel?\n\nrefund please\n")
    ...     [chunk.texts for chunk in TextStream(file)]
    [['where is my parcel?', '', 'refund please']]
    """

    def __init__(
        self,
        source: str | Path | Source | Sequence[str | Path],
        *,
        text_column: str | None = None,
        id_column: str | None = None,
        format: str = "auto",
        encoding: str = "utf-8",
        header: bool | None = None,
    ) -> None:
        check_choice("format", format, FORMATS)
        self.source = source if isinstance(source, Source) else Source(source)
        self.text_column, self.id_column = text_column, id_column
        self.encoding, self.header = encoding, header
        self._wanted = [name for name in (text_column, id_column) if name is not None]
        self._checked = False
        if not self.source.head():
            raise self._nothing()
        self.format = format
        if format == "auto":
            first = self.source.parts[0] if self.source.parts else self.source
            self.format = find_format(first, columns=bool(self._wanted or header))
        self._notes: list[DataNote] = []
        self._kinds: Kinds = {}  # of the columns of a JSON file, once it was read

    @property
    def notes(self) -> tuple[DataNote, ...]:
        """What is unusual about the file, as the last reading of it has found."""
        windows = DataNote(
            "encoding", 0, (), "not UTF-8, read as Windows-1252; if that is wrong, add `encoding`"
        )
        read_so = any(part.windows for part in (self.source, *self.source.parts))
        return tuple(dict.fromkeys([*self._notes, *([windows] if read_so else [])]))

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def chunks(self) -> Iterator[Chunk]:
        """Parts of at most 10,000 rows."""
        first = 0
        for table in self.tables():
            column = self.check_columns(table)
            for begin in range(0, table.num_rows, CHUNK_ROWS):
                part = table.slice(begin, CHUNK_ROWS)
                values = cell_values(part.column(column))
                yield Chunk(first + begin, part, clean_values(values), values)
            first += table.num_rows
        if not first:
            raise self._nothing()

    def whole(self) -> pa.Table:
        """All rows at once."""
        tables = list(self.tables())
        if not tables:
            raise self._nothing()
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(
                f"{self.source.name}: a column has another type in each file ({error}); write "
                "all with one type."
            ) from error

    def check_columns(self, table: pa.Table) -> str:
        """The column of the texts, found in the first rows; refuses columns that are not there."""
        if not self._checked:
            self.text_column = pick_text_column(table, self.text_column, name=self.source.name)
            if self.id_column is not None:
                check_column(table, self.id_column, "`id_column`")
            self._checked = True
        return str(self.text_column)

    def tables(self) -> Iterator[pa.Table]:
        """The rows, in parts as they are read; those of several files one behind the other."""
        self._notes = []
        if not self.source.parts:
            yield from self._read(self.source)
            return
        columns = list[str]()
        for part in self.source.parts:
            if not part.head():  # as programs leave behind that had no row for it
                continue
            self._kinds = {}
            for table in self._read(part):
                columns = columns or table.column_names
                if table.column_names != columns:
                    raise DataError(
                        f"{part.name} has the columns {', '.join(table.column_names)}, but "
                        f"{self.source.parts[0].name} has {', '.join(columns)}; give files of one "
                        "table."
                    )
                yield table
            self._wanted = columns

    def most_rows(self) -> int:
        """No fewer than the rows in it, counted quickly."""
        parts = [part for part in self.source.parts or [self.source] if part.head()]
        if self.format in BINARY.values():
            return sum(count_rows(part, self.format) for part in parts)
        return sum(part.count_lines() for part in parts)

    def _read(self, file: Source) -> Iterator[pa.Table]:
        if self.format in ("parquet", "arrow"):
            return arrow_tables(file, self.format)
        if self.format == "xlsx":
            return read_sheet(file, self.header, self._wanted, self._notes)
        if self.format == "jsonl":
            return read_json(file, self.encoding, self._kinds, self._notes)
        if self.format == "txt":
            return _read_lines(file, self.encoding)
        return read_delimited(
            file,
            self.encoding,
            self.format,
            header=self.header,
            wanted=self._wanted,
            notes=self._notes,
        )

    def _nothing(self) -> DataError:
        return DataError(f"{self.source.name} is empty; give a file with texts.")


def _read_lines(source: Source, encoding: str) -> Iterator[pa.Table]:
    """One text a line."""
    lines = source.lines(encoding)
    while part := [line.rstrip("\r\n") for line in islice(lines, CHUNK_ROWS)]:
        yield pa.table({"text": pa.array(part, pa.string())})


def find_format(source: Source, *, columns: bool) -> str:
    """The format of a file, by its first bytes, else by its name.

    ``columns`` says whether the caller expects some; it decides what a pipe without a name is.
    """
    head = source.head()
    path = Path(source.name.lower() if source.path is None else source.path.name.lower())
    suffix = Path(path.stem).suffix if path.suffix in PACKED else path.suffix
    found = next((format for mark, format in BINARY.items() if head.startswith(mark)), None)
    found = found or next((f for f, named in SUFFIXES.items() if suffix in named), None)
    if found:
        return found
    if source.path is not None:
        raise UsageError(
            f"{source.name}: the suffix {suffix!r} is not a known format; add `format` with one "
            f"of {', '.join(SUFFIXES)}."
        )
    if head.lstrip()[:1] in (b"{", b"["):
        return "jsonl"
    return "csv" if columns else "txt"


class ReadOptions(TypedDict, total=False):
    """How a file is read; see :func:`read_corpus`."""

    format: str
    encoding: str
    header: bool | None


class ColumnOptions(ReadOptions, total=False):
    """The same, with its columns."""

    text_column: str | None
    id_column: str | None


def read_corpus(
    source: str | Path | Source | Sequence[str | Path],
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    header: bool | None = None,
) -> Corpus:
    """Read a file (or ``-`` for standard input) into a corpus.

    Parameters
    ----------
    source : str, Path, Source or sequence of paths
        A file; a folder or a pattern such as ``"parts/*.csv"`` for several files of one table;
        ``"book.xlsx#SHEET"``.
    text_column, id_column : str, optional
        Default for the text: a column with a usual name, else the one with most words by far.
    format : {"auto", "csv", "tsv", "jsonl", "parquet", "arrow", "xlsx", "txt"}, \
default="auto"
        "auto" goes by the file name. Standard input is taken as CSV when a column
        is named, as JSON lines when it begins with a brace, and as one text a line otherwise.
        Files that gzip, bzip2, xz or zstd have packed are unpacked on the way.
    encoding : str, default="utf-8"
        UTF-8, UTF-16 and UTF-32 byte order marks are recognised in any case. Bytes that are not
        UTF-8 are read as Windows-1252, with a note.
    header : bool, optional
        Whether the first row of a CSV, TSV or Excel file names the columns. By default it is
        guessed from the first rows; a note says so where it is not clear.
    """
    stream = TextStream(
        source,
        text_column=text_column,
        id_column=id_column,
        format=format,
        encoding=encoding,
        header=header,
    )
    table = stream.whole()
    return build(table, stream.check_columns(table), id_column, stream.notes, stream.source.name)


def read_table(
    source: str | Path | Source | Sequence[str | Path], **options: Unpack[ColumnOptions]
) -> tuple[pa.Table, list[DataNote]]:
    """All columns of a file, and what is unusual about it; options as for :func:`read_corpus`."""
    stream = TextStream(source, **options)
    return stream.whole(), list(stream.notes)


def sample() -> Corpus:
    """The support messages that come with the package; its authors wrote them.

    They have the columns id, date, channel, message and theme.
    """
    with resources.as_file(resources.files("coterie.texts") / "sample" / "support.csv") as path:
        return read_corpus(path, text_column="message", id_column="id")
