"""Dates of many forms, and the periods they fall into."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from coterie.describe import parse_dates, sort_into_periods
from coterie.describe.columns import parse_text

FIRST = date(2026, 3, 1)


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-01", "2026-3-1", "2026/03/01", "2026.03.01", "2026.03.01.", "20260301", 20260301,
        "2026-03-01T10:00Z", "2026-03-01 23:59:59", "2026-03-01T10:00:00.123+02:00",
        "20260301T1000",
        "01.03.2026", "1.3.2026", "1.3.26", "01-03-2026", "01/03/2026", "01.03.2026 10:15",
        "1 March 2026", "1 Mar 2026", "01-Mar-2026", "1st March 2026", "March 1, 2026",
        "Mar 1 2026",
        "Sun, 01 Mar 2026 10:00:00 GMT", "Sun Mar 01 10:00:00 +0000 2026", "Sunday, March 1, 2026",
        "1. März 2026", "1 mars 2026", "1 de marzo de 2026", "2026年3月1日", " 2026-03-01 ",
        FIRST, datetime(2026, 3, 1, 23, tzinfo=UTC), np.datetime64("2026-03-01T10:00"),
        pd.Timestamp("2026-03-01 10:00"), "2026-03",
    ],
    ids=str,
)  # fmt: skip
def test_forms(value: object) -> None:
    assert parse_dates([value]) == ([FIRST], 0, 0)


@pytest.mark.parametrize(
    "value",
    ["soon", "12", "2026", "2026-13-01", "31.02.2026", "99/99/2026", "1.2", "0001-01-01",
     "9999-12-31", "3 parcels in 2026", "T-0001", "10:15", "555-1234", 1.5, True],
    ids=str,
)  # fmt: skip
def test_what_is_no_date_is_counted_and_not_raised(value: object) -> None:
    assert parse_dates([value]) == ([None], 0, 1)


@pytest.mark.parametrize(
    "value", [None, "", "  ", float("nan"), pd.NaT, np.datetime64("NaT"), "n/a"]
)
def test_missing_dates_are_not_unread(value: object) -> None:
    assert parse_dates([value]) == ([None], 1, 0)


def test_other_rows_show_whether_month_or_day_comes_first() -> None:
    american, _, _ = parse_dates(["03/01/2026", "12/31/2026"])
    assert american == [FIRST, date(2026, 12, 31)]
    european, _, _ = parse_dates(["01/03/2026", "31/12/2026"])
    assert european == [FIRST, date(2026, 12, 31)]
    assert parse_text("03.01.2026", month_first=True) == date(2026, 1, 3)  # dots: always day first


def days(n: int, step: int = 1) -> list[date]:
    return [date(2025, 1, 1) + timedelta(days=step * i) for i in range(n)]


@pytest.mark.parametrize(
    ("span", "unit"),
    [(6, "day"), (40, "day"), (50, "week"), (270, "week"), (300, "month"), (1100, "month"),
     (1400, "quarter"), (3500, "quarter"), (4000, "year"), (14000, "year")],
)  # fmt: skip
def test_periods_are_the_finest_that_fit(span: int, unit: str) -> None:
    periods = sort_into_periods(days(span))
    assert periods.unit == unit and 6 <= len(periods.names) <= 40
    assert np.bincount(periods.of_row).sum() == span


def test_names_of_periods() -> None:
    assert sort_into_periods(["2026-03-01", "2026-03-03"]).names == [
        "2026-03-01", "2026-03-02", "2026-03-03"
    ]  # fmt: skip
    weeks = sort_into_periods(["2025-12-29", "2026-01-04", "2026-03-01"])
    assert weeks.names[0] == "2026-W01" and weeks.names[-1] == "2026-W09"
    assert weeks.of_row.tolist() == [0, 0, 8]
    assert sort_into_periods(["2025-01-15", "2026-02-15"]).names[::13] == ["2025-01", "2026-02"]
    assert sort_into_periods(["2022-02-01", "2026-12-01"]).names[-1] == "2026-Q4"
    assert sort_into_periods(["2005-02-01", "2026-12-01"]).names[0] == "2005"


def test_every_day_is_in_the_iso_week_of_its_name() -> None:
    some = days(250)
    periods = sort_into_periods(some)
    for day, number in zip(some, periods.of_row, strict=True):
        year, week, _ = day.isocalendar()
        assert periods.names[number] == f"{year}-W{week:02d}"


def test_a_date_far_from_all_others_does_not_stretch_the_axis() -> None:
    periods = sort_into_periods([date(1970, 1, 1), *days(200), None, "soon"])
    assert periods.unit == "week" and (periods.missing, periods.unread) == (1, 2)
    assert periods.of_row[0] == -1


@pytest.mark.parametrize("values", [[], [None], ["soon", ""]])
def test_no_dates_no_periods(values: list[object]) -> None:
    periods = sort_into_periods(values)
    assert periods.names == [] and (periods.of_row == -1).all()
