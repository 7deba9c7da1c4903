"""Columns beside the texts: which hold dates or categories, and how clusters share them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._types import Ints
from coterie.corpus.corpus import cell_values

MOST_PERIODS = 40
UNITS = ("day", "week", "month", "quarter", "year")
YEARS = range(1900, 2101)  # others are mistakes, or stand for "never"
_TAIL = r"(?:[T\s日,].*)?$"
YEAR_FIRST = re.compile(r"(\d{4})[-/.年]\s?(\d{1,2})(?:[-/.月]\s?(\d{1,2}))?[月.]?" + _TAIL)
COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})" + r"(?:T.*)?$")
YEAR_LAST = re.compile(r"(\d{1,2})([-/.])\s?(\d{1,2})[-/.]\s?(\d{4}|\d{2})" + _TAIL)
DAY_WORD = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th|\.)?[\s-]+(?:de\s+)?([^\W\d_]{3,})\.?,?[\s-]+"
    r"(?:de\s+)?(\d{4})\b"
)
WORD_DAY = re.compile(r"([^\W\d_]{3,})\.?\s+(\d{1,2})(?:st|nd|rd|th)?\b,?.*?\b(\d{4})(?:\D*)$")
# Beginnings of the names of months: English, German, French, Spanish, Italian, Portuguese, Dutch.
MONTHS = (
    "jan ene gen",
    "feb fév fev",
    "mar mär mrz maa",
    "apr avr abr",
    "may mai mag mei",
    "jun juin giu",
    "jul juil lug",
    "aug aoû aou ago",
    "sep set",
    "oct okt ott out",
    "nov",
    "dec dez déc dic",
)
_MONTH = {begin: i + 1 for i, names in enumerate(MONTHS) for begin in names.split()}


@dataclass(frozen=True)
class Periods:
    """Dates sorted into periods of equal kind.

    Attributes
    ----------
    unit : str
        One of "day", "week", "month", "quarter", "year".
    names : list of str
        Every period from the first to the last, with or without texts, such as "2026-W09".
    of_row : ndarray of shape (n,)
        Number of the period of each row, -1 where there is none.
    missing : int
        Rows without a date.
    unread : int
        Rows whose date could not be read or lies far from all others.
    """

    unit: str
    names: list[str]
    of_row: Ints
    missing: int
    unread: int


def parse_dates(
    values: Iterable[Any], *, month_first: bool | None = None
) -> tuple[list[date | None], int, int]:
    """Read dates; those without or with an unreadable one become ``None``.

    Takes dates, times and texts such as 2026-03-01, 2026-03-01T10:00Z, 2026/3/1, 20260301,
    01.03.2026, 3/1/2026, "1 March 2026", "Mar 1, 2026", 2026年3月1日. In 3/1/2026 the day comes
    first unless other rows show the contrary (a second number above 12), or ``month_first`` is
    given. The date is the one written; time zones do not move it.

    Returns
    -------
    dates : list of date or None
    missing : int
        Values that are empty.
    unread : int
        Values that are there but no date.

    Examples
    --------
    >>> parse_dates(["2026-03-01", "1.3.2026", None, "soon"])
    ([datetime.date(2026, 3, 1), datetime.date(2026, 3, 1), None, None], 1, 1)
    """
    rows = list(values)
    texts = [None if isinstance(v, (date, np.datetime64)) else _plain(v) for v in rows]
    distinct = set(texts) - {None, ""}
    if month_first is None:
        month_first = sum(order_of_parts(distinct)) > 0
    known = {text: parse_text(text, month_first=month_first) for text in distinct if text}
    out: list[date | None] = []
    missing = 0
    for value, text in zip(rows, texts, strict=True):
        if text is None:
            found = _from_object(value)
            missing += found is None
        else:
            found = known.get(text)
            missing += text == ""
        out.append(found)
    return out, missing, sum(day is None for day in out) - missing


def parse_text(text: str, *, month_first: bool = False) -> date | None:
    """One date written as text, else ``None``."""
    if match := YEAR_FIRST.match(text) or COMPACT.match(text):
        year, month, day = match.group(1, 2, 3)
        return _date(int(year), int(month), int(day or 1))
    if match := YEAR_LAST.match(text):
        a, mark, b, year = match.groups()
        swap = (month_first and mark == "/") or int(b) > 12
        day, month = (b, a) if swap and int(a) <= 12 else (a, b)
        full = int(year) + (0 if len(year) == 4 else 2000 if int(year) < 70 else 1900)
        return _date(full, int(month), int(day))
    if match := DAY_WORD.search(text):
        return _date(int(match[3]), _month_number(match[2]), int(match[1]))
    for match in WORD_DAY.finditer(text):
        if found := _date(int(match[3]), _month_number(match[1]), int(match[2])):
            return found
        if match := WORD_DAY.search(text, match.end(1)):  # "Sun Mar 01": the day's name came first
            return _date(int(match[3]), _month_number(match[1]), int(match[2]))
    return None


def sort_into_periods(values: Iterable[Any]) -> Periods:
    """Put dates into the finest periods of which at most 40 are needed.

    Dates far outside the range of nearly all others (such as 1970-01-01 for "unknown") would
    stretch the axis to nothing; they count as unread.
    """
    dates, missing, unread = parse_dates(values)
    days = np.array([-1 if day is None else day.toordinal() for day in dates], dtype=np.int64)
    there = days >= 0
    if there.any():
        low, high = np.quantile(days[there], [0.01, 0.99])
        room = (high - low) + 7
        far = there & ((days < low - room) | (days > high + room))
        there &= ~far
        unread += int(far.sum())
    if not there.any():
        return Periods("day", [], np.full(len(days), -1), missing, unread)
    ends = (date.fromordinal(int(days[there].min())), date.fromordinal(int(days[there].max())))
    spans = [_number(ends[1], unit) - _number(ends[0], unit) + 1 for unit in UNITS]
    unit = next((u for u, n in zip(UNITS, spans, strict=True) if n <= MOST_PERIODS), "year")
    first = _number(ends[0], unit)
    names = [_name(first + i, unit) for i in range(spans[UNITS.index(unit)])]
    distinct, place = np.unique(days[there], return_inverse=True)
    period = np.array([_number(date.fromordinal(int(d)), unit) - first for d in distinct])
    of_row = np.full(len(days), -1, dtype=np.int64)
    of_row[there] = period[place]
    return Periods(unit, names, of_row, missing, unread)


def _number(day: date, unit: str) -> int:
    """Number of the period that holds a day, counted from the year 1."""
    if unit == "day":
        return day.toordinal()
    if unit == "week":
        return (day.toordinal() - 1) // 7  # the first of January of the year 1 was a Monday
    if unit == "month":
        return day.year * 12 + day.month - 1
    if unit == "quarter":
        return day.year * 4 + (day.month - 1) // 3
    return day.year


def _name(number: int, unit: str) -> str:
    if unit == "day":
        return date.fromordinal(number).isoformat()
    if unit == "week":
        year, week, _ = (date(1, 1, 1) + timedelta(days=7 * number)).isocalendar()
        return f"{year}-W{week:02d}"
    if unit == "month":
        return f"{number // 12}-{number % 12 + 1:02d}"
    if unit == "quarter":
        return f"{number // 4}-Q{number % 4 + 1}"
    return str(number)


def _plain(value: object) -> str:
    """A value as text; empty for what stands for nothing."""
    if value is None or value != value:  # not a number, not a time
        return ""
    text = str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
    text = text.strip()
    return "" if text.casefold() in ("", "nan", "nat", "none", "null", "n/a", "na", "-") else text


def _from_object(value: Any) -> date | None:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").astype(object)  # None where it is not a time
    if value is None or value != value:
        return None
    day = value.date() if isinstance(value, datetime) else value
    return _date(day.year, day.month, day.day)


def order_of_parts(texts: Iterable[Any]) -> tuple[int, int]:
    """Dates with slashes that can only name the month first, and, negative, the day first."""
    found = [m for m in (YEAR_LAST.match(text) for text in texts) if m and m[2] == "/"]
    return sum(int(m[3]) > 12 for m in found), -sum(int(m[1]) > 12 for m in found)


def _month_number(name: str) -> int:
    low = name.casefold()
    return _MONTH.get(low[:4]) or _MONTH.get(low[:3]) or 0


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day) if year in YEARS else None
    except ValueError:
        return None


MOST_VALUES = 20  # shown of a column
MOST_DISTINCT = 50  # beyond, a column is no category
LEAST_DATES = 0.8
ROWS = 1_000  # that are looked at together
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
    date, others = find_dates(table, text_column, id_column)
    return date, [name for name in others if is_category(_counted(table, name))]


def find_dates(
    table: pa.Table, text_column: str, id_column: str | None = None
) -> tuple[str | None, list[str]]:
    """The column of dates as in :func:`guess_columns`, and columns that hold no dates."""
    dates: list[str] = []
    others: list[str] = []
    for name in dict.fromkeys(table.column_names):
        if name in (text_column, id_column) or table.column_names.count(name) > 1:
            continue
        column = table.column(name)
        if not (pa.types.is_nested(column.type) or pa.types.is_binary(column.type)):
            (dates if _holds_dates(column) else others).append(name)
    named = [name for name in dates if any(word in name.lower() for word in DATE_NAMES)]
    return next(iter([*named, *dates]), None), others


def is_category(counts: Counter[str]) -> bool:
    """Whether these are the values of a category: 2 to 50, each in two rows on average."""
    return 2 <= len(counts) <= min(MOST_DISTINCT, sum(counts.values()) / 2)


def count_texts(counts: Counter[str], values: Iterable[Any]) -> None:
    """Count values of a column as they are shown; those that are missing do not count."""
    counts.update(map(as_text, values))
    del counts[MISSING]


def _counted(table: pa.Table, name: str) -> Counter[str]:
    """Values of a column; not all, where there are too many for a category."""
    counts: Counter[str] = Counter()
    for part in table.select([name]).to_batches(max_chunksize=ROWS):
        count_texts(counts, cell_values(part[0]))
        if len(counts) > MOST_DISTINCT:
            break
    return counts


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


def as_text(value: object) -> str:
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


def _holds_dates(column: pa.ChunkedArray) -> bool:
    kind = column.type
    if pa.types.is_temporal(kind):
        return not (pa.types.is_time(kind) or pa.types.is_duration(kind))
    begin = cell_values(column.slice(0, ROWS))
    if not all(value is None or isinstance(value, str) for value in begin):
        return False  # numbers may look like dates, as 20260301 does
    first, missing, _ = parse_dates(begin[:200])
    if sum(day is not None for day in first) < LEAST_DATES * (len(first) - missing) / 2:
        return False  # hopeless: do not read a long column of words
    dates, missing, _ = parse_dates(cell_values(column))
    there = len(dates) - missing
    return there > 0 and sum(day is not None for day in dates) >= LEAST_DATES * there
