"""Of a table of any length, what the page needs: numbers of all rows, words of a few.

The page shows at most some thousand texts. So only their cells are kept; of the others, cluster,
confidence and margin, in eight bytes each.
"""

from __future__ import annotations

import csv
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TextIO

import numpy as np

from coterie._errors import DataError
from coterie._trust import ClusterId, check_file, damaged
from coterie._types import Floats, Ints

LONGEST = 1 << 24  # characters of a line


@dataclass(frozen=True)
class Skimmed:
    """What was kept of a table.

    Attributes
    ----------
    columns : dict of str to list of str
        Cells of the rows that were asked for, in their order.
    labels, confidence, margin : ndarray of shape (n,)
        Of all rows.
    marked : dict of str to list of str
        Cells of the rows that are outliers.
    scored : int
        Rows with an outlier score.
    """

    columns: dict[str, list[str]]
    labels: Ints
    confidence: Floats
    margin: Floats
    marked: dict[str, list[str]]
    scored: int


def skim(
    path: Path, rows: Sequence[int], own: Callable[[Sequence[str]], dict[str, str]]
) -> Skimmed:
    """Go through an ``assignments.csv`` once.

    Parameters
    ----------
    path : Path
    rows : sequence of int
        Ascending numbers of the rows to keep, from zero.
    own : callable
        From the names of all columns to those of the results, by what they are.
    """
    with reading(path) as (header, body):
        place = {name: header.index(column) for name, column in own(header).items()}
        kept = _Kept(place, rows)
        for number, row in enumerate(body):
            kept.take(number, row)
        highest = max(kept.labels, default=0)
        if min(kept.labels, default=0) < -1 or highest >= ClusterId.HIGHEST:
            raise DataError("report.unknown_cluster", path=path)
        if not all(np.isfinite(np.array(part)).all() for part in (kept.confidence, kept.margin)):
            raise DataError("report.not_finite", path=path)
    return Skimmed(
        columns=_columns(header, kept.shown),
        labels=np.array(kept.labels, dtype=np.int64),
        confidence=np.array(kept.confidence),
        margin=np.array(kept.margin),
        marked=_columns(header, kept.marked),
        scored=kept.scored,
    )


@dataclass
class _Kept:
    place: dict[str, int]
    rows: Sequence[int]
    shown: list[list[str]] = field(default_factory=list)
    marked: list[list[str]] = field(default_factory=list)
    labels: array[int] = field(default_factory=lambda: array("q"))
    confidence: array[float] = field(default_factory=lambda: array("d"))
    margin: array[float] = field(default_factory=lambda: array("d"))
    scored: int = 0

    def take(self, number: int, row: list[str]) -> None:
        place, shown = self.place, len(self.shown)
        self.labels.append(int(row[place["cluster"]]))
        self.confidence.append(float(row[place["confidence"]] or 0))
        self.margin.append(float(row[place["margin"]] or 0))
        if shown < len(self.rows) and self.rows[shown] == number:
            self.shown.append(row)
        if "nearest_cluster" in place:
            self.scored += bool(row[place["outlier_score"]])
            if row[place["outlier"]] == "yes":
                self.marked.append(row)


@contextmanager
def reading(path: Path) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The header and the rows of a CSV file, whatever the length of a field."""
    check_file(path)
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with damaged(path, "a table of coterie"), path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(_lines(file, path))
            header = next(rows, [])
            if not header or len(set(header)) != len(header):
                raise DataError("report.bad_header", path=path)
            yield header, _whole(rows, len(header), path)
    finally:
        csv.field_size_limit(before)


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    """The lines of a table, none of which is longer than any text is."""
    for number in count(1):
        line = file.readline(LONGEST)
        if not line:
            return
        if len(line) == LONGEST:
            raise DataError("report.line_too_long", path=path, number=number, most=LONGEST)
        yield line


def _whole(rows: Iterator[list[str]], width: int, path: Path) -> Iterator[list[str]]:
    """The rows; refuse one with more or fewer cells than the header."""
    try:
        for number, row in enumerate(rows, 1):
            if len(row) != width:
                raise DataError(
                    "report.bad_row", path=path, number=number, cells=len(row), width=width
                )
            yield row
    except csv.Error as error:
        raise DataError("report.bad_csv", path=path, error=error) from error


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}
