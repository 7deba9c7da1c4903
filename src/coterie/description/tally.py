"""What the columns beside the texts say about clusters, counted while a large table goes by.

The result is that of :func:`describe` with all rows at hand, with one difference: whether a column
holds dates is judged by the first rows.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._types import Ints
from coterie.corpus.corpus import cell_values
from coterie.description.columns import (
    MOST_DISTINCT,
    as_text,
    count_texts,
    find_dates,
    is_category,
    order_of_parts,
    parse_dates,
    rank_values,
)
from coterie.description.describe import Cluster, over_time


@dataclass(frozen=True)
class Kinds:
    """Which columns are worth counting, and how dates are written.

    Attributes
    ----------
    date : str or None
    categories : list of str
    month_first : bool
    """

    date: str | None
    categories: list[str]
    month_first: bool


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
        """Look at the next rows."""
        if self._values is None:
            self._date, others = find_dates(table, self.text_column, self.id_column)
            self._values = {name: Counter() for name in others}
        for name in list(self._values):
            count_texts(self._values[name], cell_values(table.column(name)))
            if len(self._values[name]) > MOST_DISTINCT:
                del self._values[name]
        if self._date is not None:
            texts = {str(value).strip() for value in cell_values(table.column(self._date))}
            self._votes += sum(order_of_parts(texts))

    def done(self) -> Kinds:
        """Columns of 2 to 50 values, each in two rows on average, and one of dates."""
        categories = [n for n, c in (self._values or {}).items() if is_category(c)]
        return Kinds(self._date, categories, self._votes > 0)


class Tally:
    """Counts clusters, sure and unsure rows, dates and categories, part by part.

    Parameters
    ----------
    kinds : Kinds
    close : float
        A margin below this is a close call.
    """

    def __init__(self, kinds: Kinds, close: float) -> None:
        self.kinds, self.close = kinds, close
        self.rows = self.close_calls = self.outliers = 0
        self.confidence = 0.0  # sum
        self.sizes: Counter[int] = Counter()
        self._labels, self._days = array("i"), array("i")
        self._pairs: dict[str, Counter[tuple[str, int]]] = {n: Counter() for n in kinds.categories}

    def add(self, table: pa.Table, columns: Mapping[str, Sequence[Any]]) -> None:
        """Count rows with their result columns."""
        labels = [int(label) for label in columns["cluster"]]
        self.rows += len(labels)
        self.sizes.update(labels)
        self.outliers += sum(value == "yes" for value in columns["outlier"])
        for label, confidence, margin in zip(
            labels, columns["confidence"], columns["margin"], strict=True
        ):
            if label >= 0:
                self.confidence += float(confidence)
                self.close_calls += float(margin) < self.close
        for name, pairs in self._pairs.items():
            values = map(as_text, cell_values(table.column(name)))
            pairs.update(zip(values, labels, strict=True))
        if self.kinds.date is not None:
            self._labels.extend(labels)
            dates = cell_values(table.column(self.kinds.date))
            found, _, _ = parse_dates(dates, month_first=self.kinds.month_first)
            self._days.extend(0 if day is None else day.toordinal() for day in found)

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
            times = over_time(self._dates(), np.array(self._labels, dtype=np.int64), k)
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

    def nested(self, level: Sequence[Cluster], above: Mapping[int, int]) -> list[Cluster]:
        """Clusters of a coarser level with the sizes of all rows."""
        sizes: Counter[int] = Counter()
        for label, size in self.sizes.items():
            sizes[above.get(label, -1)] += size
        return [self.resized(cluster, sizes[cluster.id]) for cluster in level]

    def _dates(self) -> list[date | None]:
        days: Ints = np.array(self._days, dtype=np.int64)
        known = {0: None} | {int(d): date.fromordinal(int(d)) for d in np.unique(days) if d}
        return [known[day] for day in days.tolist()]
