"""Reading CSV and TSV by pyarrow, with quotes as RFC 4180 has them.

pyarrow accepts a quote that is not closed, and text behind a closing one. So quotes are checked
first, by one regular expression; where one is broken, its line is named.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.csv

from coterie.corpus.corpus import USUAL_TEXT_COLUMNS, DataNote, is_number, unique_names
from coterie.corpus.source import Source, count_lines, longest, too_long, whole_lines
from coterie.errors import DataError

HEADER_SAMPLE = 100  # rows that tell whether the first one is a header
SENTENCE = 4  # words of a cell that is more than a name
YEAR = re.compile(r"(?:19|20)\d\d")
ABOVE = re.compile(r"\A[\r\n]*(?:sep=[,;\t|][\r\n]+)?")  # the header: a line that Excel reads
LINE_END = re.compile(r"\r\n?|\n")
QUOTED_CELL = re.compile(r'"(?<![^\t]")[^"]*(?:""[^"]*)*"(?=\t|\Z)')  # of a line of TSV


def quoted_fields(delimiter: str) -> re.Pattern[str]:
    """Fields in quotes, as many as stand side by side; a quote within a field is a letter.

    Group 1 is where the last of them opens, if there are several; group 2 where it closes, if it
    does so at its end.
    """
    ends = f"{re.escape(delimiter)}\\r\\n"
    return re.compile(rf'"(?<![^{ends}]")(?:[^"]*"(?:"|[{ends}]+(")))*[^"]*("(?=[{ends}]|\Z))?')


class Delimited:
    """The rows of a CSV or TSV file.

    ``header`` says whether the first row names the columns; by default that is guessed from the
    first rows. ``wanted`` are columns that the caller expects. ``quoted`` says whether quotes
    around a field belong to the file and not to the text; by default it is found out.
    """

    def __init__(
        self,
        source: Source,
        encoding: str,
        format: str,
        *,
        header: bool | None = None,
        wanted: Collection[str] = (),
        quoted: bool | None = None,
    ) -> None:
        self.source, self.encoding, self.format = source, encoding, format
        self.header, self.wanted = header, wanted
        self.names: list[str] = []
        self.notes: list[DataNote] = []  # known when the first table is there
        self.delimiter = "\t" if format == "tsv" else ","
        self.quoted = True if quoted is None else quoted
        if format == "tsv" and quoted is None and not source.is_pipe:
            self.quoted = self._tsv_is_quoted()
        self._unsure = format == "tsv" and source.is_pipe  # what quotes mean is seen row by row
        self._rows = self._lines = 0  # read so far; lines with the header

    def tables(self) -> Iterator[pa.Table]:
        """The rows as they come; a table without rows if there is a header alone."""
        open_row = list[str]()  # lines up to now, if they end in quotes
        text, before, quote = "", 0, 0  # new lines, those before them, line of an open quote
        for count, lines in chain(self._pieces(), [(0, "")]):  # "" is the end
            if lines and not text.strip():
                before = count - count_lines(text)
            text += lines
            if not open_row:
                if not text.strip() or (lines and not self.names and self._is_short(text)):
                    continue
                if not self.names and self.format == "csv":
                    self.delimiter, self.notes = find_delimiter(text)
                self._lines = before
            quote = self._open_quote(text, before, quote, final=not lines)
            open_row.append(text)
            text = ""
            if quote and sum(map(len, open_row[1:])) > longest():
                raise too_long(self.source.name, f"line {quote:,}")
            if not quote:
                rows, open_row = "".join(open_row), []
                yield self._table(rows)
                text = LINE_END.sub("", rows[len(rows.rstrip("\r\n")) :], count=1)  # blank lines

    def _pieces(self) -> Iterator[tuple[int, str]]:
        return whole_lines(self.source.texts(self.encoding), self.source.name, ("\n", "\r"))

    def _is_short(self, text: str) -> bool:
        """Whether it is too short to tell whether there is a header; a pipe is not waited for."""
        return not self.source.is_pipe and count_lines(text) <= HEADER_SAMPLE

    def _open_quote(self, text: str, before: int, quote: int, *, final: bool) -> int:
        """The line of a quote that more lines may close, else 0; refuses broken quotes.

        ``before`` is the number of lines before the text, ``quote`` the line of a quote that is
        open there, or 0.
        """
        inside = '"' if quote else ""
        fields = quoted_fields(self.delimiter).finditer(inside + text if self.quoted else "")
        broken = next((field for field in fields if field[2] is None), None)
        if broken is None:
            return 0
        begin = max(broken.start(), broken.start(1))
        if begin or not quote:
            quote = before + count_lines(text[: begin - len(inside)] if begin else "") + 1
        if broken.end() == len(inside + text) and not final:
            return quote
        hint = " Or save it to a file: then unquoted TSV is read, too." if self._unsure else ""
        raise DataError(
            f"{self.source.name}, line {quote}: a quote inside a quoted text must be doubled, and "
            f"every opening quote needs a closing one.{hint}"
        )

    def _table(self, text: str) -> pa.Table:
        """Whole rows as a table of texts; the first ones tell the names of the columns."""
        text = text.rstrip("\r\n")
        first = not self.names
        if first:
            begin = ABOVE.sub("", text)
            self._lines += count_lines(text[: len(text) - len(begin)])
            text = begin
            rows = [row for _, row in self._python_rows(text, HEADER_SAMPLE + 1)]
            self.names, self.header, notes = name_columns(rows, self.header, self.wanted)
            self.notes += notes
        if self._unsure:
            self._refuse_unclear(text)
        names = int(first and bool(self.header))  # rows of them
        table, ragged = self._parse(text)
        if ragged:
            raise self._ragged(text, ragged, names)
        self._rows += table.num_rows - names
        return table.slice(names)

    def _parse(self, text: str) -> tuple[pa.Table, list[Any]]:
        """The rows, and those of another width."""
        data, ragged = text.encode(), list[Any]()
        if data.startswith(codecs.BOM_UTF8):
            data = codecs.BOM_UTF8 + data  # pyarrow drops one, which would be of a text here

        def keep(row: Any) -> str:
            ragged.append(row)
            return "skip"

        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(
                column_names=self.names, use_threads=False, block_size=min(len(data) + 1, 2**31 - 1)
            ),
            pyarrow.csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char='"' if self.quoted else False,
                newlines_in_values=self.quoted,
                ignore_empty_lines=False,
                invalid_row_handler=keep,
            ),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()),
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
        return table, ragged

    def _python_rows(self, text: str, most: int) -> list[tuple[int, list[str]]]:
        """The first rows by Python's reader, each with the number of lines up to its end."""
        reader = csv.reader(
            io.StringIO(text.replace("\0", " "), newline=""),
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
        )
        limit = csv.field_size_limit(longest())  # of the whole process
        try:
            return [(reader.line_num, row) for row in islice(reader, most)]
        finally:
            csv.field_size_limit(limit)

    def _ragged(self, text: str, ragged: list[Any], names: int) -> DataError:
        number, fields, width = ragged[0].number, ragged[0].actual_columns, len(self.names)
        before = self._python_rows(text, number - 1)
        line = self._lines + (before[-1][0] if before else 0) + 1
        others = f"; {len(ragged) - 1} more rows differ from it" if ragged[1:] else ""
        what = "the header has" if self.header else "the first row has"
        remedy = (
            f"Put double quotes around texts that hold {self.delimiter!r}"
            if fields > width
            else f"Give every row as many {self.delimiter!r} as {what}"
        )
        return DataError(
            f"{self.source.name}: row {self._rows + number - names} (line {line}) has {fields} "
            f"fields where {what} {width}{others}. {remedy}; for a file of one text a line add "
            "`format='txt'`."
        )

    def _refuse_unclear(self, text: str) -> None:
        """Refuse a row of several lines in a pipe whose first line would be a row by itself."""
        lines, begin = LINE_END.split(text), 0
        for end, row in self._python_rows(text, len(lines)):
            if end - begin > 1 and lines[begin].count("\t") == len(row) - 1:
                raise DataError(
                    f"{self.source.name}, line {self._lines + begin + 1}: it is unclear whether an "
                    "unclosed quote is part of the text. Save the input to a file, so that all of "
                    "it can be checked."
                )
            begin = end

    def _tsv_is_quoted(self) -> bool:
        """Whether quotes around the cells of a TSV file are to be taken off.

        If every line has as many cells as the first, they are where every line can be read by
        itself so: a quote that is not closed on its line is part of a text. Else they are if the
        file can be read so.
        """
        alone, width = True, -1
        for _, lines in self._pieces():
            for line in filter(None, LINE_END.split(lines)):
                width = line.count("\t") if width < 0 else width
                if line.count("\t") != width:
                    return self._reads_quoted()
                if '"' in line:
                    bare = QUOTED_CELL.sub("", line).split("\t")
                    open_cell = any(cell.startswith('"') for cell in bare)
                    alone = alone and len(bare) == width + 1 and not open_cell
        return alone

    def _reads_quoted(self) -> bool:
        quoted = Delimited(self.source, self.encoding, "tsv", header=self.header, quoted=True)
        try:
            deque(quoted.tables(), maxlen=0)
        except DataError:
            return False
        return True


def find_delimiter(text: str) -> tuple[str, list[DataNote]]:
    """Comma, unless the header has none and has semicolons or tabs instead; then with a note."""
    found, header = ",", next(line for line in text.splitlines() if line.strip())
    if "," not in header:
        found = next((mark for mark in (";", "\t", "|") if mark in header), ",")
    if found == ",":
        return found, []
    return found, [DataNote("delimiter", 0, (), f"fields are separated by {found!r}")]


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
