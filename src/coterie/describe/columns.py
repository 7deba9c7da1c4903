"""Cells beside the texts: dates and their periods, and values of categories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from coterie._util.types import Ints
from coterie.texts.corpus import as_whole

MOST_PERIODS = 40
UNITS = ("day", "week", "month", "quarter", "year")
YEARS = range(1900, 2101)  # others are mistakes, or stand for "never"
NOTHING = ("(none)", "nan", "nat", "none", "null", "n/a", "na", "-")
_TAIL = r"(?:[T\s日,].*)?$"
YEAR_FIRST = re.compile(r"(\d{4})[-/.年]\s?(\d{1,2})(?:[-/.月]\s?(\d{1,2}))?[月.]?" + _TAIL)
ISO_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ]")
COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})" + r"(?:T.*)?$")
YEAR_LAST = re.compile(r"(\d{1,2})([-/.])\s?(\d{1,2})[-/.]\s?(\d{4}|\d{2})" + _TAIL)
WORDS = re.compile(r"\d+|[^\W\d_]{3,}")  # of "Sun Mar 01 10:00:00 2026"
LONGEST_DATE = 50  # characters
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
    texts = [_plain(value) for value in values]
    distinct = set(texts) - {""}
    if month_first is None:
        month_first = sum(order_of_parts(distinct)) > 0
    known = {text: parse_text(text, month_first=month_first) for text in distinct}
    out = [known.get(text) for text in texts]
    missing = texts.count("")
    return out, missing, out.count(None) - missing


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
    words = WORDS.findall(text) if len(text) <= LONGEST_DATE else []
    months = [i for i, word in enumerate(words) if _month_number(word)]
    if not months:
        return None
    place = months[-1]  # "mardi 3 avril": names of days come first
    near = [word for word in words[max(place - 1, 0) : place + 2] if len(word) < 3]
    years = [word for word in words if word.isdigit() and len(word) == 4]
    if not near or not years:
        return None
    return _date(int(years[-1]), _month_number(words[place]), int(near[0]))


def sort_into_periods(values: Iterable[Any]) -> Periods:
    """Put dates into the finest periods of which at most 40 are needed.

    Dates far outside the range of nearly all others (such as 1970-01-01 for "unknown") would
    stretch the axis to nothing; they count as unread.
    """
    dates, missing, unread = parse_dates(values)
    days = np.array(dates, dtype="datetime64[D]").astype(np.int64)
    there = np.array([day is not None for day in dates], dtype=bool)
    if there.any():
        low, high = np.quantile(days[there], [0.01, 0.99])
        room = (high - low) + 7
        far = there & ((days < low - room) | (days > high + room))
        there &= ~far
        unread += int(far.sum())
    of_row = np.full(len(days), -1, dtype=np.int64)
    for unit in UNITS:
        numbers = _numbers(days[there], unit)
        first, last = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, -1)
        if last - first < MOST_PERIODS:
            break
    of_row[there] = numbers - first
    return Periods(unit, [_name(i, unit) for i in range(first, last + 1)], of_row, missing, unread)


def _numbers(days: Ints, unit: str) -> Ints:
    """Number of the period that holds each day; days and periods are counted from 1970 on."""
    if unit == "day":
        return days
    if unit == "week":
        return (days + 3) // 7  # from Monday on; the first of January 1970 was a Thursday
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return months // {"month": 1, "quarter": 3, "year": 12}[unit]


def _name(number: int, unit: str) -> str:
    if unit == "week":
        year, week, _ = np.datetime64(7 * number - 3, "D").item().isocalendar()
        return f"{year}-W{week:02d}"
    if unit == "quarter":
        return f"{1970 + number // 4}-Q{number % 4 + 1}"
    if unit == "year":
        return str(1970 + number)
    return str(np.datetime64(number, "D" if unit == "day" else "M"))


def _plain(value: object) -> str:
    """A value as text; empty for what stands for nothing. Of an ISO time, the day."""
    text = as_text(value)
    if iso := ISO_TIME.match(text):
        return iso[1]
    return "" if text.casefold() in NOTHING else text


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
MISSING, REST = "(none)", "other"


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
    return str(as_whole(value)).strip() or MISSING
