"""Reading tables: every kind of file, one or several, whole or a part at a time.

A kind of file is a line in :data:`KINDS` and a method of :class:`TableReader`. pyarrow reads what
it can; Python's readers take over where it cannot, and name the row that is broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pyarrow as pa
import pyarrow.compute

from coterie._validation import check_choice, checked
from coterie.corpus import jsonlines
from coterie.corpus.corpus import (
    CleanTexts,
    Corpus,
    Note,
    build,
    cell_values,
    check_column,
    clean_values,
    mask_table,
    pick_text_column,
)
from coterie.corpus.delimited import Delimited, tsv_is_quoted
from coterie.corpus.source import STDIN, Blocks, Source, check_content, longest, too_long
from coterie.corpus.tables import STREAM, Database, arrow_tables, count_rows, read_sheet
from coterie.errors import DataError, UsageError
from coterie.masking import Masker

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Kind:
    """How a kind of file is recognised: by suffixes, or by the bytes that all of them begin with.

    Files with such a ``mark`` are read by Arrow, from any place in them.
    """

    name: str
    suffixes: tuple[str, ...]
    mark: bytes = b""

    @property
    def article(self) -> str:
        """The name with its article."""
        return f"{'an' if self.name[0] in 'AEIOU' else 'a'} {self.name}"


KINDS = {
    "csv": Kind("CSV", (".csv",)),
    "tsv": Kind("TSV", (".tsv", ".tab")),
    "jsonl": Kind("JSON lines", (".jsonl", ".ndjson", ".json")),
    "parquet": Kind("Parquet", (".parquet", ".pq"), b"PAR1"),
    "arrow": Kind("Arrow", (".arrow", ".feather", ".ipc", ".arrows"), b"ARROW1"),
    "xlsx": Kind("Excel", (".xlsx", ".xlsm"), b"PK\x03\x04"),
    "sqlite": Kind("SQLite", (".db", ".sqlite", ".sqlite3"), b"SQLite format 3\0"),
    "txt": Kind("plain text", (".txt", ".text")),
}
FORMATS = ("auto", *KINDS)
SUFFIXES = {suffix: format for format, kind in KINDS.items() for suffix in kind.suffixes}
PACKED = (".gz", ".bz2", ".xz", ".zst")
FIRST = 1_000  # rows of the first part; they tell which column holds the texts
ROWS = 10_000  # rows of a part


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
            CleanTexts(self.texts[first:last]),
            self.values[first:last],
        )


class TextStream:
    r"""The rows of a file or of standard input, in parts; a file can be gone through repeatedly.

    Parameters
    ----------
    source : str, Path or Source
    text_column, id_column : str, optional
    format, encoding, header, masker
        As for :func:`read_corpus`.

    Attributes
    ----------
    text_column : str or None
        None until the first rows are read, unless it was given.
    format : str
    notes : tuple of Note
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
    def __init__(  # noqa: PLR0913 - how tables are written
        self,
        source: str | Path | Source | Sequence[str | Path],
        *,
        text_column: str | None = None,
        id_column: str | None = None,
        format: str = "auto",
        encoding: str = "utf-8",
        header: bool | None = None,
        masker: Masker | None = None,
    ) -> None:
        check_choice("format", format, FORMATS)
        self.source = source if isinstance(source, Source) else Source(source)
        self.text_column, self.id_column = text_column, id_column
        self.encoding, self.header, self.masker = encoding, header, masker
        self.notes: tuple[Note, ...] = ()
        self._wanted = tuple(name for name in (text_column, id_column) if name is not None)
        self._checked = False
        head = self.source.head()
        if not head:
            raise self._nothing()
        check_content(self.source.parts[0] if self.source.parts else self.source, head, format)
        self.format, note = find_format(self.source, head, format, bool(self._wanted or header))
        self._found_by_content = note
        if KINDS[self.format].mark:
            self.source.take()  # it is read from any place
        self._kinds: jsonlines.Kinds | None = None
        self._quoted: bool | None = None

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def chunks(self, rows: int = ROWS) -> Iterator[Chunk]:
        """Parts of at most so many rows; fewer at first, and where a pipe has no more for now."""
        first = 0
        if self.masker is not None:
            self.masker.counts.clear()
        for table in self.tables(rows):
            self._check(table)
            assert self.text_column is not None
            if self.masker is not None:
                table = mask_table(table, self.text_column, self.id_column, self.masker)
            values = cell_values(table.column(self.text_column))
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

    def _check(self, table: pa.Table) -> None:
        if not self._checked:
            self.text_column = pick_text_column(table, self.text_column, name=self.source.name)
            if self.id_column is not None:
                check_column(table, self.id_column, "--id-column")
            self._checked = True

    def tables(self, rows: int | None = None) -> Iterator[pa.Table]:
        """The rows in parts of at most so many.

        Parts are small at first, and where a pipe has no more for now. Without ``rows``, a part is
        what was read at a time.
        """
        if not self.source.parts and self._is_blank():
            raise self._nothing()
        read = {
            "parquet": lambda: arrow_tables(self.source, "parquet"),
            "arrow": lambda: arrow_tables(self.source, "arrow"),
            "sqlite": lambda: Database(self.source).tables(),
            "xlsx": self._sheet,
            "jsonl": self._json,
            "txt": self._txt,
        }.get(self.format, self._delimited)
        found = self._several() if self.source.parts else self._short(read())
        self.notes = self._found_by_content
        return found if rows is None else self._sized(found, rows)

    def most_rows(self) -> int:
        """No fewer than the rows in it, counted quickly."""
        if self.source.parts:
            parts = (part for part in self.source.parts if part.head())
            return sum(TextStream(part, format=self.format).most_rows() for part in parts)
        if KINDS[self.format].mark:
            return count_rows(self.source, self.format)
        return self.source.count_lines()

    def _short(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The rows, unless a cell is far too long."""
        rows = 0
        for table in tables:
            for name, column in zip(table.column_names, table.columns, strict=True):
                if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                    sizes = pa.compute.binary_length(column)
                    if (pa.compute.max(sizes).as_py() or 0) > longest():
                        row = rows + sizes.index(pa.compute.max(sizes)).as_py() + 1
                        raise too_long(self.source.name, f"row {row:,}, column {name!r}")
            rows += table.num_rows
            yield table

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
            self.header, self._quoted = reader.header, None
            self.notes = tuple(dict.fromkeys((*self.notes, *reader.notes)))

    def _nothing(self) -> DataError:
        return DataError(f"{self.source.name} is empty; give a file with texts.")

    def _sized(self, tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
        """Few rows at first, then up to ``rows``, or what a pipe has given so far."""
        held: list[pa.Table] = []
        count, size = 0, min(FIRST, rows)
        for table in tables:
            if count and table.schema != held[0].schema:  # later rows of a pipe, another file
                yield pa.concat_tables(held)
                held, count = [], 0
            held.append(table)
            count += table.num_rows
            done = 0
            while count - done >= size:
                held = [pa.concat_tables(held)]
                yield held[0].slice(done, size)
                done, size = done + size, min(2 * size, rows)
            if done:
                held, count = [held[0].slice(done)], count - done
            if count and self.source.waiting():
                yield pa.concat_tables(held)
                held, count, size = [], 0, min(2 * size, rows)
        if count:
            yield pa.concat_tables(held)

    def _blocks(self) -> Blocks:
        return Blocks(self.source, self.encoding)

    def _is_blank(self) -> bool:
        head = self.source.head()
        if KINDS[self.format].mark or self.source.is_pipe:
            return not head.strip() and not self.source.is_pipe
        marks = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"
        return not head.strip(marks) and not any(block.strip() for block in self._blocks())

    def _delimited(self) -> Iterator[pa.Table]:
        pipe, name = self.source.is_pipe, self.source.name
        if self.format == "tsv" and not pipe and self._quoted is None:
            self._quoted = tsv_is_quoted(self._blocks(), name)
        parsed = Delimited(
            self._blocks(),
            name,
            self.format,
            quoted=self._quoted is not False,
            pipe=pipe,
            header=self.header,
            wanted=self._wanted,
        )
        for table in parsed.tables():
            self.notes = (*self._found_by_content, *parsed.notes)
            self.header = parsed.header
            yield table

    def _txt(self) -> Iterator[pa.Table]:
        for _, data in jsonlines.line_parts(self._blocks(), self.source.name):
            lines = data.decode().removesuffix("\n").split("\n")
            texts = [line.removesuffix("\r") for line in lines]
            yield pa.table({"text": pa.array(texts, pa.string())})

    def _json(self) -> Iterator[pa.Table]:
        name = self.source.name
        if self.source.head().lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
            self.source.take()
            whole = jsonlines.try_json(b"".join(self._blocks()).decode())
            if isinstance(whole, list):  # one list: it cannot be read in parts
                rows = [jsonlines.as_record(value, name, i) for i, value in enumerate(whole, 1)]
                kinds: jsonlines.Kinds = {}
                jsonlines.widen(kinds, rows)
                yield jsonlines.table_of(rows, kinds)
                return
        if self.source.is_pipe:
            yield from self._json_pipe()
            return
        if self._kinds is None:
            self._kinds = jsonlines.find_kinds(self._lines(), name)
        for before, data in self._lines():
            yield jsonlines.make_table(before, data, self._kinds, name)

    def _json_pipe(self) -> Iterator[pa.Table]:
        """A pipe: the first rows decide which columns there are."""
        name, kinds, done = self.source.name, dict[str, str](), 0
        for before, data in self._lines():
            rows = list(jsonlines.records(before, data, name))
            if not done:
                jsonlines.widen(kinds, rows)
            for number, row in enumerate(rows, done + 1):
                if new := row.keys() - kinds.keys():
                    raise DataError(
                        f"{name}: row {number} has a column {min(new)!r} that no earlier row "
                        "has; save the input to a file, which is read completely first."
                    )
            now = dict(kinds)
            jsonlines.widen(now, rows)
            done += len(rows)
            yield jsonlines.table_of(rows, now)

    def _lines(self) -> Iterator[jsonlines.Part]:
        return jsonlines.line_parts(self._blocks(), self.source.name)

    def _sheet(self) -> Iterator[pa.Table]:
        table, self.header, notes = read_sheet(self.source, self.header, self._wanted)
        self.notes = (*self._found_by_content, *notes)
        yield table


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
def read_corpus(  # noqa: PLR0913 - how tables are written
    source: str | Path | Source | Sequence[str | Path],
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    header: bool | None = None,
    masker: Masker | None = None,
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
    masker : Masker, optional
        Masks personal data, in the table as well.
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
    stream._check(table)
    assert stream.text_column is not None
    return build(table, stream.text_column, id_column, stream.notes, opened.name, masker)


def read_table(
    source: str | Path | Source | Sequence[str | Path], **options: Unpack[ColumnOptions]
) -> tuple[pa.Table, list[Note]]:
    """All columns of a file, and what is unusual about it; options as for :func:`read_corpus`."""
    opened = source if isinstance(source, Source) else Source(source, again=True)
    opened.take()
    stream = TextStream(opened, **options)
    return stream.whole(), list(stream.notes)


def find_format(
    source: Source, head: bytes, asked: str, columns: bool
) -> tuple[str, tuple[Note, ...]]:
    """The format of a file, and a note if the content tells another one than the name.

    ``head`` are its first bytes, ``asked`` is "auto" to find it, and ``columns`` says whether the
    caller expects some.
    """
    marked = next((f for f, kind in KINDS.items() if kind.mark and head.startswith(kind.mark)), "")
    marked = marked or ("arrow" if head.startswith(STREAM) else "")
    if asked != "auto":
        if marked and asked != marked:
            raise UsageError(f"`format` {asked}: {source.name} is {KINDS[marked].article} file.")
        return asked, ()
    if source.parts:
        return find_format(source.parts[0], head, asked, columns)
    suffix = suffix_of(source.name if source.path is None else source.path.name)
    named = SUFFIXES.get(suffix, "")
    found = marked or _format_of_text(head, named)
    if named and found and found != named:
        message = f"by its content this is {KINDS[found].name}, not {KINDS[named].name}"
        return found, (Note("format", 0, (), message),)
    if named or marked:
        return named or marked, ()
    if source.name != STDIN and not source.name.startswith("/dev/fd/"):
        raise UsageError(
            f"{source.name}: the suffix {suffix!r} is not a known format; add `format` with one "
            f"of {', '.join(FORMATS[1:])}."
        )
    if head.lstrip()[:1] in (b"{", b"["):
        return "jsonl", ()
    return ("csv" if columns else "txt"), ()


def suffix_of(name: str) -> str:
    """The suffix that tells the format, in lower case.

    Examples
    --------
    >>> suffix_of("tickets.CSV.gz"), suffix_of("tickets.jsonl")
    ('.csv', '.jsonl')
    """
    path = Path(name)
    return Path(path.stem).suffix.lower() if path.suffix.lower() in PACKED else path.suffix.lower()


def _format_of_text(head: bytes, named: str) -> str:
    """What a text file is if its name is wrong, such as JSON lines named as CSV; else nothing."""
    line, ended, _ = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    text = line.decode("utf-8", "replace").strip()
    binary = bool(KINDS[named].mark) if named else False
    if binary and (b"\0" in head or "\ufffd" in text[:-1]):
        return ""  # damaged, and no text
    if (named in ("csv", "tsv") and ended) or binary:
        if text.startswith("{") and isinstance(jsonlines.try_json(text), dict):
            return "jsonl"
    if binary or (named == "jsonl" and text and text[0] not in '{["'):
        if jsonlines.try_json(text) is None:
            return "tsv" if "\t" in text else "csv" if "," in text or ";" in text else ""
    return ""
