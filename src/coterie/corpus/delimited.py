"""Reading CSV and TSV, in time that is linear in the size of the file.

Blocks in which every quote stands where the standard wants it (RFC 4180) are parsed by pyarrow. At
the first one that is otherwise (stray quotes, blank lines, rows of another width, old line ends),
Python's reader takes over, which reads it or names the row that is broken.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from coterie.corpus.corpus import USUAL, Note, is_number, unique_names
from coterie.corpus.source import Pieces, longest, too_long
from coterie.errors import DataError

SAMPLE = 100  # rows that tell whether the first one is a header
SENTENCE = 4  # words of a cell that is more than a name
ROWS = 10_000  # that Python's reader gathers at most
QUOTE, LF, CR = b'"'[0], b"\n"[0], b"\r"[0]
YEAR = re.compile(r"(?:19|20)\d\d")


class Delimited:
    """A CSV or TSV file, from blocks of UTF-8 that are gone through once.

    ``quoted`` says whether quotes around a field belong to the file and not to the text, ``pipe``
    whether the blocks can be had only once, ``header`` whether the first row names the columns (by
    default guessed from the first rows), and ``wanted`` names columns that the caller expects.
    """

    def __init__(  # noqa: PLR0913 - each is a property of the file
        self,
        blocks: Iterable[bytes],
        name: str,
        format: str,
        *,
        quoted: bool = True,
        pipe: bool = False,
        header: bool | None = None,
        wanted: Collection[str] = (),
    ) -> None:
        self.name, self.format, self.quoted, self.pipe = name, format, quoted, pipe
        self.header, self.wanted = header, wanted
        self.notes: list[Note] = []  # known when the first table is there
        self.delimiter = "\t" if format == "tsv" else ","
        self.names: list[str] = []
        self._blocks = iter(Pieces(blocks, name, line_end, (b"\r",)))
        self._quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
        self._unsure = format == "tsv" and pipe  # what quotes mean is seen row by row
        self._rows = self._lines = 0  # read so far; lines with the header

    def tables(self) -> Iterator[pa.Table]:
        """The rows, as the blocks come; a table without rows if there is a header alone."""
        blocks = self._begin()
        slowly = self._unsure or not self.names  # without a first row, to tell what is broken
        yield from self._slowly(blocks) if slowly else self._quickly(blocks)
        if self.names and not self._rows:
            yield self._table([])

    def _begin(self) -> Iterator[bytes]:
        """Settle delimiter, header and names by the first rows; returns what is behind the header.

        Of a pipe these are the rows that are there without waiting.
        """
        head, lines, enough = list[bytes](), 0, 0 if self.pipe else SAMPLE
        final = False
        while not (self.names or final):
            block = next(self._blocks, None)
            final = block is None
            head.append(block or b"")
            lines += head[-1].count(b"\n") + head[-1].count(b"\r")
            if final or lines > enough:
                text, enough = b"".join(head).decode(), 2 * lines
                rows, places = self._first_rows(text, final=final)
                if rows:
                    found = name_columns(rows, self.header, self.wanted)
                    self.names, self.header, notes = found
                    self.notes += notes
                    begin = text[: places[bool(self.header)]]
                    self._lines = _line_ends(begin.encode())
                    head = [text[len(begin) :].encode()]
                elif len(text) > longest():
                    raise too_long(self.name, "line 1")
        return chain(filter(None, head), self._blocks)

    def _first_rows(self, text: str, *, final: bool) -> tuple[list[list[str]], tuple[int, int]]:
        """The first rows from one with a field on; where the first of them begins and ends."""
        if self.format == "csv":
            line = next((line for line in text.splitlines() if line.strip()), "")
            self.delimiter, self.notes = find_delimiter(line)
        rows: list[list[str]] = []
        start = end = 0
        lines = io.StringIO(text, newline="")
        with suppress(csv.Error):  # told later, or not whole yet
            for row in csv_rows(((line, False) for line in iter(lines.readline, "")), *self._how):
                if row.fields or rows:
                    rows.append(row.fields)
                    end = end or lines.tell()
                else:
                    start = lines.tell()
                if len(rows) > SAMPLE:
                    break
        if not final and not text.endswith("\n") and len(rows) <= SAMPLE:
            rows = rows[:-1]
        return rows, (start, end)

    @property
    def _how(self) -> tuple[str, int]:
        return self.delimiter, self._quoting

    def _quickly(self, blocks: Iterable[bytes]) -> Iterator[pa.Table]:
        """Rows by pyarrow, as long as it reads them as Python would."""
        scanner = Scanner(self.delimiter, quoted=self.quoted)
        pieces = Pieces(blocks, self.name, scanner, (b'"', b"\r"), before=self._lines)
        for piece in pieces:
            parsed = None
            if not pieces.odd:
                parsed = _parse(piece, self.names, self.delimiter, quoted=self.quoted)
            if parsed is None:
                yield from self._slowly(chain([piece], pieces.left()))
                return
            self._rows += parsed.num_rows
            self._lines += _line_ends(piece)
            yield parsed

    def _slowly(self, blocks: Iterable[bytes]) -> Iterator[pa.Table]:
        """Rows by Python's reader, which tells what is broken."""
        found = csv_rows(text_lines(blocks, self.name), *self._how, self._lines)
        part: list[list[str]] = []
        width, blank = len(self.names), 0
        try:
            for line, row, begin, last in found:
                if self._unsure and begin and begin.count("\t") == width - 1:
                    raise DataError(
                        f"{self.name}, line {line}: it is unclear whether an unclosed quote is "
                        "part of the text. Save the input to a file, so that all of it can be "
                        "checked."
                    )
                if not row:  # blank lines count, but not at the end
                    blank += 1
                    continue
                part += [[""] * width] * blank
                if len(row) != width:
                    self._rows += len(part) + 1
                    raise self._ragged(line, len(row), width, found)
                part.append(row)
                blank = 0
                if len(part) >= ROWS or last:
                    yield self._table(part)
                    part = []
        except csv.Error as error:
            hint = " Or save it to a file: then unquoted TSV is read, too."
            raise DataError(f"{self.name}, {error}{hint if self._unsure else ''}") from error
        if part:
            yield self._table(part)

    def _table(self, rows: list[list[str]]) -> pa.Table:
        self._rows += len(rows)
        cells = zip(*rows, strict=True) if rows else [[] for _ in self.names]
        return pa.Table.from_arrays([pa.array(c, pa.string()) for c in cells], self.names)

    def _ragged(self, line: int, fields: int, width: int, found: Iterable[Row]) -> DataError:
        others = ""
        if not self.pipe:
            try:
                more = sum(len(row.fields) != width for row in found if row.fields)
            except csv.Error:
                more = 0
            others = f"; {more} more rows differ from it" if more else ""
        what = "the header has" if self.header else "the first row has"
        remedy = (
            f"Put double quotes around texts that hold {self.delimiter!r}"
            if fields > width
            else f"Give every row as many {self.delimiter!r} as {what}"
        )
        return DataError(
            f"{self.name}: row {self._rows} (line {line}) has {fields} fields where {what} "
            f"{width}{others}. {remedy}; for a file of one text a line add `format='txt'`."
        )


class Row(NamedTuple):
    """A row of Python's reader."""

    line: int  # number of its first one
    fields: list[str]
    begin: str  # its first line, if it has several
    last: bool  # whether nothing has been read behind it


class Scanner:
    """Finds where rows end, as long as every quote stands where it should."""

    def __init__(self, delimiter: str, *, quoted: bool) -> None:
        self.delimiter, self.quoted = ord(delimiter), quoted
        self._inside = 0  # 1 behind an odd number of quotes
        self._before = b"\n\n"  # the last two bytes

    def __call__(self, body: bytes, following: bytes) -> int | None:
        """Where the last row in it ends, else 0; None if something is odd, also at the end."""
        a = np.frombuffer(self._before + body + (following or b"\n"), np.uint8)
        data, behind = a[2:-1], a[3:]
        quotes = np.flatnonzero(data == QUOTE) if self.quoted else np.empty(0, np.int64)
        if len(quotes):
            opening = (np.arange(len(quotes)) + self._inside) % 2 == 0
            first, second = a[1 + quotes[opening]], behind[quotes[~opening]]
            fine = (first == self.delimiter) | (first == LF) | (first == QUOTE)
            closed = (second == self.delimiter) | (second == LF) | (second == CR)
            if not fine.all() or not (closed | (second == QUOTE)).all():
                return None
        returns = self._outside(np.flatnonzero(data == CR), quotes)
        if (behind[returns] != LF).any():  # line ends of old Macs
            return None
        ends = self._outside(np.flatnonzero(data == LF), quotes)
        one, two = a[1 + ends], a[ends]
        if ((one == LF) | ((one == CR) & (two == LF))).any():  # blank lines
            return None
        self._inside = (self._inside + len(quotes)) % 2
        self._before = bytes(a[-3:-1])
        if not following and (self._inside or body == b"\r"):
            return None
        return int(ends[-1]) + 1 if len(ends) else 0

    def _outside(self, places: Any, quotes: Any) -> Any:
        """Those places that are not between quotes."""
        if not len(quotes):
            return places[:0] if self._inside else places
        return places[(np.searchsorted(quotes, places) + self._inside) % 2 == 0]


def line_end(body: bytes, _: bytes) -> int:
    """Where the last line in it ends."""
    return max(body.rfind(b"\n"), body.rfind(b"\r")) + 1


def text_lines(blocks: Iterable[bytes], name: str) -> Iterator[tuple[str, bool]]:
    """Lines with their ends (new line, carriage return, or both); whether it is the last so far."""
    for piece in Pieces(blocks, name, line_end, (b"\r",)):
        *lines, last = io.StringIO(piece.decode(), newline="").readlines()
        yield from ((line, False) for line in lines)
        yield last, True


def _line_ends(data: bytes) -> int:
    """How many lines end in it, in any of the three ways."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def csv_rows(
    lines: Iterable[tuple[str, bool]], delimiter: str, quoting: int, before: int = 0
) -> Iterator[Row]:
    """Rows of Python's reader from :func:`text_lines`; errors name the line of the row."""
    taken: list[tuple[str, bool]] = []  # lines of the row at hand

    def watched() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line[0]

    reader = csv.reader(
        watched(),
        delimiter=delimiter,
        quoting=quoting,  # type: ignore[arg-type]
        strict=True,
    )
    while True:
        line = before + reader.line_num + 1
        taken.clear()
        limit = csv.field_size_limit(longest())  # of the whole process: set for one row only
        try:
            fields = next(reader, None)
        except csv.Error as error:
            meant = " If it is meant, set COTERIE_LIMITS=off." if "limit" in str(error) else ""
            raise csv.Error(
                f"line {line}: {error}. A quote inside a quoted text must be doubled, and every "
                f"opening quote needs a closing one.{meant}"
            ) from error
        finally:
            csv.field_size_limit(limit)
        if fields is None:
            return
        yield Row(line, fields, taken[0][0] if len(taken) > 1 else "", taken[-1][1])


def find_delimiter(header: str) -> tuple[str, list[Note]]:
    """Comma, unless the header has none and has semicolons or tabs instead; then with a note."""
    found = ","
    if "," not in header:
        found = next((mark for mark in (";", "\t", "|") if mark in header), ",")
    if found == ",":
        return found, []
    return found, [Note("delimiter", 0, (), f"fields are separated by {found!r}")]


def name_columns(
    rows: Sequence[Sequence[str]], header: bool | None, wanted: Collection[str] = ()
) -> tuple[list[str], bool, list[Note]]:
    """Names of the columns, whether the first row has them (None: guess), and notes on that."""
    notes: list[Note] = []
    if header is None:
        header, note = guess_header(rows, wanted)
        notes = [Note("header", 1, (1,), note)] if note else []
    fields = rows[0] if header else [""] * len(rows[0])
    names = [field.strip() or f"column_{i}" for i, field in enumerate(fields, 1)]
    return (unique_names(names) if header or len(names) > 1 else ["text"]), header, notes


def guess_header(
    rows: Sequence[Sequence[str]], wanted: Collection[str] = ()
) -> tuple[bool, str | None]:
    """Whether the first row names the columns, and what to say if that is not sure.

    It does not if one of its cells is a number above numbers, or a sentence above sentences, or
    comes again below; unless a cell is a usual name or one that the caller expects.

    Examples
    --------
    >>> guess_header([["id", "wording"], ["1", "my parcel is late"]])
    (True, None)
    >>> guess_header([["1", "my parcel is late"], ["2", "a refund please"]])[0]
    False
    """
    first, body = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    names = {cell.strip().casefold() for cell in first}
    if not body or not names - {""} or names & {*USUAL, *(n.casefold() for n in wanted)}:
        return True, None
    columns = list(zip(*body, strict=True))
    data = 0
    for cell, column in zip(first, columns, strict=True):
        filled = [c for c in column if c.strip()]
        number, below = is_number(cell), bool(filled) and all(map(is_number, filled))
        if below and not number and cell.strip():
            return True, None
        number = number and not YEAR.fullmatch(cell.strip())
        sentence = len(cell.split()) >= SENTENCE and not cell.rstrip().endswith(("?", ":"))
        words = sum(len(c.split()) for c in column) / len(column)
        data += (number and below) or (sentence and words >= 2)
        label = bool(cell.strip()) and column.count(cell) >= 2 and len(first) > 1
        data += label and any(len(c.split()) >= SENTENCE for c in first)
    shown = repr(max(first, key=len)[:60])
    if data:
        return False, (
            f"the first row ({shown}) looks like data, so there are no column names; if it is the "
            "header, add --header"
        )
    if any(len(cell.split()) >= SENTENCE for cell in first):
        return True, (
            f"the first row ({shown}) was taken as the header; if it is data, add --no-header"
        )
    return True, None


def tsv_is_quoted(blocks: Iterable[bytes], name: str) -> bool:
    """Whether quotes around the cells of a TSV file are to be taken off.

    They are if every row can be read by itself so; also if cells go over several lines, but not if
    every line by itself has as many cells as the first: then a quote that is not closed on its
    line is part of a text.
    """
    alone, even, width = True, True, -1
    for line, _ in text_lines(blocks, name):
        row = line.rstrip("\r\n")
        if not row:
            continue
        width = row.count("\t") if width < 0 else width
        even = even and row.count("\t") == width
        alone = alone and ('"' not in row or _reads_alone(row, width))
        if not even and not alone:
            break
    if alone or even:
        return alone
    try:
        for _ in csv_rows(text_lines(blocks, name), "\t", csv.QUOTE_MINIMAL):
            pass
    except csv.Error:
        return False
    return True


def _reads_alone(row: str, width: int) -> bool:
    try:
        first, *more = csv_rows([(row, True)], "\t", csv.QUOTE_MINIMAL)
    except csv.Error:
        return False
    return not more and len(first.fields) == width + 1


def _parse(data: bytes, names: list[str], delimiter: str, *, quoted: bool) -> pa.Table | None:
    """A table of texts; None if the rows do not fit."""
    import pyarrow.csv

    if not data:
        return pa.table({name: pa.array([], pa.string()) for name in names})
    if data.startswith(codecs.BOM_UTF8):
        data = codecs.BOM_UTF8 + data  # pyarrow drops one, which would be of a text here
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(
                column_names=names, use_threads=False, block_size=min(len(data) + 1, 2**31 - 1)
            ),
            pyarrow.csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
                ignore_empty_lines=False,
            ),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
