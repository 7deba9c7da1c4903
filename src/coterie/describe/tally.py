"""What the columns beside the texts say about clusters, counted while a large table goes by.

The result is that of :func:`describe_clusters` with all rows at hand, with one difference: whether
a column holds dates is judged by the first part of the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.describe.columns import (
    MISSING,
    Periods,
    as_text,
    order_of_parts,
    parse_dates,
    rank_values,
    sort_into_periods,
)
from coterie.describe.describe import Cluster, over_time
from coterie.errors import DataError
from coterie.texts.corpus import cell_values, check_column

MOST_DISTINCT = 50  # beyond, a column is no category
LEAST_DATES = 0.8
LOOKED_AT = 1_000  # rows that are looked at together
DATE_NAMES = ("date", "time", "created", "day", "datum", "fecha", "sent", "received", "when")


@dataclass(frozen=True)
class Kinds:
    """Which columns are worth counting, and how dates are written.

    Attributes
    ----------
    date : str or None
        A column of whose values at least 80% are dates; one that is called so, else the first.
    categories : list of str
        Columns of 2 to 50 different values, each of which stands in two rows on average.
    month_first : bool
    """

    date: str | None
    categories: list[str]
    month_first: bool


def guess_columns(
    table: pa.Table, text_column: str, id_column: str | None = None
) -> tuple[str | None, list[str]]:
    """A column of dates, and the columns that hold categories, as :class:`Kinds` has them."""
    look = ColumnLook(text_column, id_column)
    look.add(table)
    found = look.done()
    return found.date, found.categories


def find_periods(
    table: pa.Table, text_column: str, id_column: str | None, date_column: str | None
) -> tuple[str, Periods]:
    """The column of dates of an input, or the one that is named, and the periods of its rows."""
    if date_column is not None:
        column = check_column(table, date_column, "date_column")
    elif (found := guess_columns(table, text_column, id_column)[0]) is not None:
        column = found
    else:
        raise DataError(
            "no column of the table holds dates; name one with `date_column`. Columns: "
            f"{', '.join(table.column_names)}."
        )
    periods = sort_into_periods(cell_values(table[column]))
    if not periods.names:
        raise DataError(
            f"no date could be read in the column {column!r}; name another one with `date_column`."
        )
    return column, periods


class ColumnLook:
    """Finds the columns worth counting in a first pass over a table.

    Parameters
    ----------
    text_column, id_column : str
        Never chosen.
    """

    def __init__(self, text_column: str, id_column: str | None = None) -> None:
        self.text_column, self.id_column = text_column, id_column
        self._date: str | None = None
        self._values: dict[str, Counter[str]] | None = None
        self._votes = 0

    def add(self, table: pa.Table) -> None:
        """Look at the next rows; the first ones tell which column holds dates."""
        if self._values is None:
            self._date, others = self._find_dates(table)
            self._values = {name: Counter() for name in others}
        for name, counts in list(self._values.items()):
            for start in range(0, table.num_rows, LOOKED_AT):
                cells = cell_values(table.column(name).slice(start, LOOKED_AT))
                counts.update(map(as_text, cells))
                del counts[MISSING]
                if len(counts) > MOST_DISTINCT:
                    del self._values[name]
                    break
        if self._date is not None:
            texts = {str(value).strip() for value in cell_values(table.column(self._date))}
            self._votes += sum(order_of_parts(texts))

    def done(self) -> Kinds:
        """The columns found."""
        counted = (self._values or {}).items()
        categories = [name for name, c in counted if 2 <= len(c) <= sum(c.values()) / 2]
        return Kinds(self._date, categories, self._votes > 0)

    def _find_dates(self, table: pa.Table) -> tuple[str | None, list[str]]:
        """The column of dates, and columns that hold none."""
        dates: list[str] = []
        others: list[str] = []
        for name in dict.fromkeys(table.column_names):
            if name in (self.text_column, self.id_column) or table.column_names.count(name) > 1:
                continue
            column = table.column(name)
            if not (pa.types.is_nested(column.type) or pa.types.is_binary(column.type)):
                (dates if _holds_dates(column) else others).append(name)
        named = [name for name in dates if any(word in name.lower() for word in DATE_NAMES)]
        return next(iter([*named, *dates]), None), others


def _holds_dates(column: pa.ChunkedArray) -> bool:
    kind = column.type
    if pa.types.is_temporal(kind):
        return not (pa.types.is_time(kind) or pa.types.is_duration(kind))
    begin = cell_values(column.slice(0, LOOKED_AT))
    if not all(value is None or isinstance(value, str) for value in begin):
        return False  # numbers may look like dates, as 20260301 does
    # The first rows come first: a long column of words is not read.
    return _share_of_dates(begin[:200]) >= LEAST_DATES / 2 and (
        _share_of_dates(cell_values(column)) >= LEAST_DATES
    )


def _share_of_dates(cells: Sequence[Any]) -> float:
    """Share of dates among the cells that are not empty."""
    dates, missing, unread = parse_dates(cells)
    return 1 - unread / (len(dates) - missing) if len(dates) > missing else 0.0


class Tally:
    """Counts clusters, sure and unsure rows, dates and categories, part by part.

    Parameters
    ----------
    kinds : Kinds
    close : float
        A margin below this is a close call.
    finest : str, default="cluster"
        Result column with the finest cluster of each row.
    """

    def __init__(self, kinds: Kinds, close: float, finest: str = "cluster") -> None:
        self.kinds, self.close, self.finest = kinds, close, finest
        self.leaves: Counter[int] = Counter()  # rows of the finest clusters
        self.rows = self.outliers = 0
        self.unsure: Counter[int] = Counter()  # close calls of the clusters
        self.confidence = 0  # sum, in ten-thousandths, as tables have it: the same in any order
        self.sizes: Counter[int] = Counter()
        self._dates: Counter[tuple[date | None, int]] = Counter()
        self._pairs: dict[str, Counter[tuple[str, int]]] = {n: Counter() for n in kinds.categories}

    def add(self, table: pa.Table, columns: Mapping[str, Sequence[Any]]) -> None:
        """Count rows with their result columns."""
        labels = [int(label) for label in columns["cluster"]]
        self.rows += len(labels)
        self.sizes.update(labels)
        both = zip(columns[self.finest], labels, strict=True)
        self.leaves.update(int(leaf) for leaf, label in both if label >= 0)
        self.outliers += sum(value == "yes" for value in columns["outlier"])
        for label, confidence, margin in zip(
            labels, columns["confidence"], columns["margin"], strict=True
        ):
            if label >= 0:
                self.confidence += round(10_000 * float(confidence))
                self.unsure[label] += float(margin) < self.close
        for name, pairs in self._pairs.items():
            values = map(as_text, cell_values(table.column(name)))
            pairs.update(zip(values, labels, strict=True))
        if self.kinds.date is not None:
            cells = cell_values(table.column(self.kinds.date))
            dates, _, _ = parse_dates(cells, month_first=self.kinds.month_first)
            self._dates.update(zip(dates, labels, strict=True))

    def figures(self) -> dict[str, Any]:
        """Mean confidence and close calls, as :func:`coterie.describe.summary.measure` has them."""
        placed = max(self.placed, 1)
        return {
            "confidence": round(self.confidence / 10_000 / placed, 4),
            "close_calls": round(sum(self.unsure.values()) / placed, 4),
            "unsure": {str(c): count for c, count in sorted(self.unsure.items()) if count},
        }

    @property
    def placed(self) -> int:
        """Rows with a cluster."""
        return self.rows - self.sizes[-1]

    def apply(self, clusters: Sequence[Cluster]) -> list[Cluster]:
        """The same clusters with the sizes, periods and categories of all rows."""
        k = max([*self.sizes, *(cluster.id for cluster in clusters)]) + 1
        by = {name: rank_values(pairs, k) for name, pairs in self._pairs.items()}
        times: list[list[tuple[str, int]]] = [[] for _ in range(k)]
        if self.kinds.date is not None:
            rows = list(self._dates.elements())
            labels = np.array([label for _, label in rows], dtype=np.int64)
            times = over_time([day for day, _ in rows], labels, k)
        return [
            replace(
                self.resized(cluster, self.sizes[cluster.id]),
                over_time=times[cluster.id],
                by={name: counts[cluster.id] for name, counts in by.items()},
            )
            for cluster in clusters
        ]

    def resized(self, cluster: Cluster, size: int) -> Cluster:
        """A cluster of so many texts, and its share."""
        return replace(cluster, size=size, share=round(size / max(self.placed, 1), 4))
