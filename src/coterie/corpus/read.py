"""Reading tables: every kind of file, one or several, whole or a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import TypedDict, Unpack

import pyarrow as pa
import pyarrow.compute

from coterie._validation import check_choice, checked
from coterie.corpus.corpus import (
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
from coterie.corpus.delimited import Delimited
from coterie.corpus.formats import FORMATS, KINDS, check_content, find_format
from coterie.corpus.jsonlines import Kinds, read_json
from coterie.corpus.source import Source, longest, too_long, whole_lines
from coterie.corpus.tables import Database, arrow_tables, count_rows, read_sheet
from coterie.errors import DataError

FIRST_ROWS = 1_000  # of the first part; they tell which column holds the texts


class TextStream:
    r"""The rows of a file or of standard input, in parts; a file can be gone through repeatedly.

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
        About the file, known when the first rows are read; what is unusual about texts is noted by
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

    @checked
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
        self._wanted = tuple(name for name in (text_column, id_column) if name is not None)
        self._checked = False
        head = self.source.head()
        if not head:
            raise self._nothing()
        check_content(self.source.parts[0] if self.source.parts else self.source, head, format)
        columns = bool(self._wanted or header)
        self.format, said = find_format(self.source, head, format, columns=columns)
        self.notes = (DataNote("format", 0, (), said),) if said else ()
        if KINDS[self.format].marks:
            self.source.take()  # it is read from any place
        self._kinds: Kinds = {}  # of the columns of a JSON file, once it was read
        self._quoted: bool | None = None  # whether the cells of a TSV file are, once it was read

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def chunks(self, rows: int = CHUNK_ROWS) -> Iterator[Chunk]:
        """Parts of at most so many rows; fewer at first, and where a pipe has no more for now."""
        first = 0
        for table in self._sized(self.tables(), rows):
            column = self.check_columns(table)
            values = cell_values(table.column(column))
            yield Chunk(first, table, clean_values(values), values)
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
                check_column(table, self.id_column, "--id-column")
            self._checked = True
        return str(self.text_column)

    def tables(self) -> Iterator[pa.Table]:
        """The rows, in parts as they are read."""
        if self.source.parts:
            yield from self._several()
            return
        rows = 0
        for table in () if self._is_blank() else self._read():
            for name, column in zip(table.column_names, table.columns, strict=True):
                if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                    sizes = pa.compute.binary_length(column)
                    if (pa.compute.max(sizes).as_py() or 0) > longest():
                        row = rows + sizes.index(pa.compute.max(sizes)).as_py() + 1
                        raise too_long(self.source.name, f"row {row:,}, column {name!r}")
            rows += table.num_rows
            yield table

    def most_rows(self) -> int:
        """No fewer than the rows in it, counted quickly."""
        if self.source.parts:
            parts = (part for part in self.source.parts if part.head())
            return sum(TextStream(part, format=self.format).most_rows() for part in parts)
        if KINDS[self.format].marks:
            return count_rows(self.source, self.format)
        return self.source.count_lines()

    def _read(self) -> Iterator[pa.Table]:
        if self.format in ("parquet", "arrow"):
            return arrow_tables(self.source, self.format)
        if self.format == "sqlite":
            return Database(self.source).tables()
        if self.format == "jsonl":
            return read_json(self.source, self.encoding, self._kinds)
        return {"xlsx": self._sheet, "txt": self._txt}.get(self.format, self._delimited)()

    def _delimited(self) -> Iterator[pa.Table]:
        parsed = Delimited(
            self.source,
            self.encoding,
            self.format,
            header=self.header,
            wanted=self._wanted,
            quoted=self._quoted,
        )
        self._quoted = parsed.quoted
        for table in parsed.tables():
            self._learn(parsed.header, parsed.notes)
            yield table

    def _sheet(self) -> Iterator[pa.Table]:
        table, header, notes = read_sheet(self.source, self.header, self._wanted)
        self._learn(header, notes)
        yield table

    def _txt(self) -> Iterator[pa.Table]:
        for _, text in whole_lines(self.source.texts(self.encoding), self.source.name):
            lines = text.removesuffix("\n").split("\n")
            texts = [line.removesuffix("\r") for line in lines]
            yield pa.table({"text": pa.array(texts, pa.string())})

    def _several(self) -> Iterator[pa.Table]:
        """The rows of several files, one behind the other; all have the same columns."""
        first: list[str] | None = None
        for part in self.source.parts:
            if not part.head():  # as programs leave behind that had no row for it
                continue
            reader = TextStream(
                part,
                text_column=self.text_column,
                id_column=self.id_column,
                format=self.format,
                encoding=self.encoding,
                header=self.header,
            )
            for table in reader.tables():
                first = first or table.column_names
                if table.column_names != first:
                    raise DataError(
                        f"{part.name} has the columns {', '.join(table.column_names)}, but "
                        f"{self.source.parts[0].name} has {', '.join(first)}; give files of one "
                        "table."
                    )
                yield table
            self._learn(reader.header, reader.notes)

    def _learn(self, header: bool | None, notes: Sequence[DataNote]) -> None:
        """Keep what the first rows told."""
        self.header, self.notes = header, tuple(dict.fromkeys((*self.notes, *notes)))

    def _nothing(self) -> DataError:
        return DataError(f"{self.source.name} is empty; give a file with texts.")

    def _is_blank(self) -> bool:
        if KINDS[self.format].marks or self.source.is_pipe:
            return not self.source.head().strip() and not self.source.is_pipe
        return not any(text.strip() for text in self.source.texts(self.encoding))

    def _sized(self, tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
        """Few rows at first, then up to ``rows``, or what a pipe has given so far."""
        held, size = pa.table({}), min(FIRST_ROWS, rows)
        for table in tables:
            if held.num_rows and table.schema != held.schema:  # later rows of a pipe, another file
                yield held
                held = table
            else:
                held = pa.concat_tables([held, table]) if held.num_rows else table
            while held.num_rows >= size:
                yield held.slice(0, size)
                held, size = held.slice(size), min(2 * size, rows)
            if held.num_rows and self.source.waiting():
                yield held
                held, size = held.slice(held.num_rows), min(2 * size, rows)
        if held.num_rows:
            yield held


class ReadOptions(TypedDict, total=False):
    """How a file is read; see :func:`read_corpus`."""

    format: str
    encoding: str
    header: bool | None


class ColumnOptions(ReadOptions, total=False):
    """The same, with its columns."""

    text_column: str | None
    id_column: str | None


@checked
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
        ``"book.xlsx#SHEET"``; ``"sqlite:///FILE?table=NAME"`` or ``"sqlite:///FILE?query=..."``.
    text_column, id_column : str, optional
        Default for the text: a column with a usual name, else the one with most words by far.
    format : {"auto", "csv", "tsv", "jsonl", "parquet", "arrow", "xlsx", "sqlite", "txt"}, \
default="auto"
        "auto" goes by the content and the file name. Standard input is taken as CSV when a column
        is named, as JSON lines when it begins with a brace, and as one text a line otherwise.
        Files that gzip, bzip2, xz or zstd have packed are unpacked on the way.
    encoding : str, default="utf-8"
        UTF-8, UTF-16 and UTF-32 byte order marks are recognised in any case.
    header : bool, optional
        Whether the first row of a CSV, TSV or Excel file names the columns. By default it is
        guessed from the first rows; a note says so where it is not clear.
    """
    opened = source if isinstance(source, Source) else Source(source, again=True)
    opened.take()
    stream = TextStream(
        opened,
        text_column=text_column,
        id_column=id_column,
        format=format,
        encoding=encoding,
        header=header,
    )
    table = stream.whole()
    return build(table, stream.check_columns(table), id_column, stream.notes, opened.name)


def read_table(
    source: str | Path | Source | Sequence[str | Path], **options: Unpack[ColumnOptions]
) -> tuple[pa.Table, list[DataNote]]:
    """All columns of a file, and what is unusual about it; options as for :func:`read_corpus`."""
    opened = source if isinstance(source, Source) else Source(source, again=True)
    opened.take()
    stream = TextStream(opened, **options)
    return stream.whole(), list(stream.notes)


def sample() -> Corpus:
    """The support messages that come with the package; its authors wrote them.

    They have the columns id, date, channel, message and theme.
    """
    with resources.as_file(resources.files("coterie") / "sample" / "support.csv") as path:
        return read_corpus(path, text_column="message", id_column="id")
