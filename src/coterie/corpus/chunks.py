"""Texts of any of the formats a part at a time, in memory that does not grow with the file.

The rows and their texts are those that :func:`read_corpus` gives. Two things a stream cannot know:
how many more rows are broken as the first one is, and which columns a JSON line far below brings.
A file is looked through once for the latter; from a pipe, the first rows decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.corpus.columns import cell_values, check_column, pick_text_column
from coterie.corpus.corpus import CleanTexts, Note, clean_values
from coterie.corpus.read import TableReader
from coterie.corpus.source import Source

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
        As for :func:`read_corpus`.
    **options
        ``format``, ``encoding`` and ``header``, as for :func:`read_corpus`.

    Attributes
    ----------
    text_column : str or None
        None until the first rows are read, unless it was given.

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
        **options: Any,
    ) -> None:
        self.text_column, self.id_column = text_column, id_column
        wanted = tuple(name for name in (text_column, id_column) if name is not None)
        self.reader = TableReader(source, wanted=wanted, **options)
        self.source, self.format = self.reader.source, self.reader.format
        if not self.source.head():
            raise self.reader.nothing()
        self._checked = False

    @property
    def notes(self) -> tuple[Note, ...]:
        """About the file; what is unusual about texts is noted by :func:`survey`."""
        return self.reader.notes

    def chunks(self, rows: int = ROWS) -> Iterator[Chunk]:
        """Parts of at most so many rows; fewer at first, and where a pipe has no more for now."""
        first = 0
        for table in self.reader.tables(rows):
            self._check(table)
            assert self.text_column is not None
            values = cell_values(table.column(self.text_column))
            yield Chunk(first, table, clean_values(values), values)
            first += table.num_rows
        if not first:
            raise self.reader.nothing()

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def _check(self, table: pa.Table) -> None:
        if not self._checked:
            self.text_column = pick_text_column(table, self.text_column)
            if self.id_column is not None:
                check_column(table, self.id_column, "--id-column")
            self._checked = True
