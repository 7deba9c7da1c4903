"""Reading CSV and TSV by the standard library's ``csv``, with quotes as RFC 4180 has them."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from coterie.errors import DataError
from coterie.texts.corpus import (
    CHUNK_ROWS,
    LISTED_ROWS,
    USUAL_TEXT_COLUMNS,
    DataNote,
    is_number,
    unique_names,
)
from coterie.texts.source import LONGEST_ROW, Source, too_long

HEADER_SAMPLE = 100  # rows that tell whether the first one is a header
SENTENCE = 4  # words of a cell that is more than a name
YEAR = re.compile(r"(?:19|20)\d\d")
SEPARATOR = re.compile(r"sep=([,;\t|])\s*$")  # a line above the header, which Excel reads
MOST_MALFORMED = 0.1  # of the lines; a file with more of them is refused


class Malformed:
    """Lines that cannot be read: they are left out, counted, and the first ones are named.

    Parameters
    ----------
    name : str
        Of the file.
    what : str
        What is wrong with the lines, for messages.
    remedy : str
    """

    def __init__(self, name: str, what: str, remedy: str) -> None:
        self.name, self.what, self.remedy = name, what, remedy
        self.count = 0
        self.first: list[int] = []

    def add(self, line: int, count: int = 1) -> None:
        """Count so many lines, the first of which has this number."""
        self.count += count
        self.first = [*self.first, line][:LISTED_ROWS]

    def check(self, rows: int) -> None:
        """Refuse a file if these are too many beside so many good rows."""
        if self.count > MOST_MALFORMED * (rows + self.count):
            raise DataError(f"{self.name}: {self.sentence}. {self.remedy}")

    @property
    def sentence(self) -> str:
        """How many lines there are, and what is wrong with them."""
        listed = ", ".join(map(str, self.first)) + (", ..." if self.count > len(self.first) else "")
        lines = "lines" if self.count > 1 else "line"
        return f"{self.count:,} {lines} ({listed}): {self.what}"

    def notes(self) -> list[DataNote]:
        """What to say about a file that was read."""
        said = f"{self.sentence}; left out"
        return [DataNote("malformed", self.count, tuple(self.first), said)] if self.count else []


def read_delimited(
    source: Source,
    encoding: str,
    format: str,
    *,
    header: bool | None,
    wanted: Collection[str],
    notes: list[DataNote],
) -> Iterator[pa.Table]:
    """The rows of a CSV or TSV file, in parts.

    Parameters
    ----------
    source : Source
    encoding, format : str
    header : bool or None
        Whether the first row names the columns; None to guess.
    wanted : collection of str
        Columns that the caller expects.
    notes : list of DataNote
        Takes what is unusual about the file.
    """
    lines, above, line, delimiter = source.lines(encoding), 0, "", ""
    for line in lines:
        if mark := SEPARATOR.match(line):
            delimiter = mark[1]
        elif line.strip():
            break
        above += 1
    else:
        return
    delimiter = "\t" if format == "tsv" else delimiter or find_delimiter(line)
    if format == "csv" and delimiter != ",":
        notes.append(DataNote("delimiter", 0, (), f"fields are separated by {delimiter!r}"))
    bad = Malformed(
        source.name,
        "a broken quote, or another number of fields than in the first line",
        f"Put double quotes around texts that hold {delimiter!r}, and double the quotes in them; "
        "for a file of one text a line add `format='txt'`.",
    )
    quoted = delimiter != "\t" or _is_quoted(source.lines(encoding))
    reader = csv.reader(
        chain([line], lines),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    rows = _even_rows(reader, above, bad)
    begin = list(islice(rows, HEADER_SAMPLE + 1))
    if not begin:
        bad.check(0)
        return
    names, header, told = name_columns(begin, header, wanted)
    notes += told
    done = 0
    body = chain(begin[header:], rows)
    while part := list(islice(body, CHUNK_ROWS)):
        done += len(part)
        bad.check(done)
        columns = zip(*part, strict=True)
        yield pa.Table.from_arrays([pa.array(cells, pa.string()) for cells in columns], names)
    bad.check(done)
    if not done:
        yield pa.table({name: pa.array([], pa.string()) for name in names})
    notes += bad.notes()


def _even_rows(reader: Any, above: int, bad: Malformed) -> Iterator[list[str]]:
    """The rows that have as many fields as the first; empty ones behind them do not count.

    Blank lines are rows only within a table of one column. ``above`` is the number of lines above
    the first row.
    """
    width, blank = 0, 0
    csv.field_size_limit(LONGEST_ROW)  # of the whole process; the default is 128 KiB
    while True:
        before = above + reader.line_num
        try:
            row = next(reader, None)
        except csv.Error as error:
            if "limit" in str(error):
                raise too_long(bad.name, before + 1) from error
            bad.add(before + 1, above + reader.line_num - before)
            continue
        if row is None:
            return
        width = width or len(row)
        if not row:
            blank += 1
        elif len(row) < width or any(row[width:]):
            bad.add(before + 1)
        else:
            yield from [[""]] * blank if width == 1 else ()
            blank = 0
            yield row[:width]


def _is_quoted(lines: Iterator[str]) -> bool:
    """Whether quotes around the cells of a TSV file are to be taken off.

    If every line has as many cells as the first, they are where every line can be read by itself
    so: a quote that is not closed on its line is part of a text. Else a cell goes over lines.
    """
    width, alone = 0, True
    for line in lines:
        if cells := line.count("\t") + 1 if line.strip() else 0:
            width = width or cells
            if cells != width:
                return True
            if alone and '"' in line:
                try:
                    [row] = csv.reader([line], delimiter="\t", strict=True)
                    alone = len(row) == width
                except csv.Error:
                    alone = False
    return alone


def find_delimiter(line: str) -> str:
    """Comma, unless the first line has none and has semicolons, tabs or bars instead.

    Examples
    --------
    >>> find_delimiter('id;"text, long"'), find_delimiter("text")
    (';', ',')
    """
    bare = re.sub(r'"[^"]*"', "", line)
    return next((mark for mark in ",;\t|" if mark in bare), ",")


def name_columns(
    rows: Sequence[Sequence[str]], header: bool | None, wanted: Collection[str] = ()
) -> tuple[list[str], bool, list[DataNote]]:
    """Names of the columns, whether the first row has them (None: guess), and notes on that."""
    notes: list[DataNote] = []
    if header is None:
        header, note = guess_header(rows, wanted)
        notes = [DataNote("header", 1, (1,), note)] if note else []
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
    if (
        not body
        or not names - {""}
        or names & {*USUAL_TEXT_COLUMNS, *(n.casefold() for n in wanted)}
    ):
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
            "header, add --header (coterie cluster: --set header=true)"
        )
    if any(len(cell.split()) >= SENTENCE for cell in first):
        return True, (
            f"the first row ({shown}) was taken as the header; if it is data, add --no-header "
            "(coterie cluster: --set header=false)"
        )
    return True, None
