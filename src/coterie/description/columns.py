"""Columns beside the texts: which hold dates or categories, and how clusters share them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from coterie._types import Ints
from coterie.corpus.columns import cell_values
from coterie.description.dates import parse_dates

MOST_VALUES = 20  # shown of a column
MOST_DISTINCT = 50  # beyond, a column is no category
LEAST_DATES = 0.8
MISSING, REST = "(none)", "other"
DATE_NAMES = ("date", "time", "created", "day", "datum", "fecha", "sent", "received", "when")


def guess_columns(
    table: pa.Table, text_column: str, id_column: str | None = None
) -> tuple[str | None, list[str]]:
    """Find a column of dates, and the columns that hold categories.

    Parameters
    ----------
    table : pyarrow.Table
    text_column, id_column : str
        Never chosen.

    Returns
    -------
    date : str or None
        A column of whose values at least 80% are dates; one that is called so, else the first.
    categories : list of str
        Columns of 2 to 50 different values, each of which stands in two rows on average.
    """
    dates: list[str] = []
    categories: list[str] = []
    for name in dict.fromkeys(table.column_names):
        if name in (text_column, id_column) or table.column_names.count(name) > 1:
            continue
        column = table.column(name)
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            continue
        values = cell_values(column)
        if _holds_dates(column.type, values):
            dates.append(name)
        elif _holds_categories(values):
            categories.append(name)
    named = [name for name in dates if any(word in name.lower() for word in DATE_NAMES)]
    return next(iter([*named, *dates]), None), categories


def count_values(
    values: Iterable[Any], labels: Ints, n_clusters: int
) -> list[list[tuple[str, int]]]:
    """How often each value of a column is in each cluster, most frequent first.

    Values beyond the 20 most frequent ones of the column count as "other", which comes last.
    """
    pairs = Counter(
        (as_text(value), int(label)) for value, label in zip(values, labels, strict=True)
    )
    return rank_values(pairs, n_clusters)


def rank_values(
    pairs: Mapping[tuple[str, int], int], n_clusters: int
) -> list[list[tuple[str, int]]]:
    """As :func:`count_values`, from how often each value is in each cluster; -1 is left out.

    Examples
    --------
    >>> rank_values({("web", 0): 2, ("mail", 0): 3, ("web", 1): 1, ("web", -1): 9}, 2)
    [[('mail', 3), ('web', 2)], [('web', 1)]]
    """
    common: Counter[str] = Counter()
    for (text, label), count in pairs.items():
        if label >= 0:
            common[text] += count
    shown = set(sorted(common, key=lambda text: (-common[text], text))[:MOST_VALUES])
    counts: list[Counter[str]] = [Counter() for _ in range(n_clusters)]
    for (text, label), count in pairs.items():
        if label >= 0:
            counts[label][text if text in shown else REST] += count
    order = [sorted(c.items(), key=lambda p: (p[0] == REST, -p[1], p[0])) for c in counts]
    return [[(text, n) for text, n in row if n] for row in order]


def as_text(value: Any) -> str:
    """A value of a category as it is shown.

    Examples
    --------
    >>> as_text(" web "), as_text(3.0), as_text(True), as_text(None)
    ('web', '3', 'True', '(none)')
    """
    if value is None or value != value:
        return MISSING
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip() or MISSING


def _holds_dates(kind: Any, values: Sequence[Any]) -> bool:
    if pa.types.is_temporal(kind):
        return not (pa.types.is_time(kind) or pa.types.is_duration(kind))
    if not all(value is None or isinstance(value, str) for value in values[:1000]):
        return False  # numbers may look like dates, as 20260301 does
    first, missing, _ = parse_dates(values[:200])
    if sum(day is not None for day in first) < LEAST_DATES * (len(first) - missing) / 2:
        return False  # hopeless: do not read a long column of words
    dates, missing, _ = parse_dates(values)
    there = len(dates) - missing
    return there > 0 and sum(day is not None for day in dates) >= LEAST_DATES * there


def _holds_categories(values: Sequence[Any]) -> bool:
    distinct: Counter[str] = Counter()
    for value in values:
        text = as_text(value)
        if text != MISSING:
            distinct[text] += 1
            if len(distinct) > MOST_DISTINCT:
                return False
    return 2 <= len(distinct) <= sum(distinct.values()) / 2
