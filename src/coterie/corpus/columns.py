"""Finding the column that holds the texts, and saying so when it is not there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from coterie._errors import DataError

USUAL = (
    "text", "message", "body", "content", "comment", "comments", "description", "title",
    "question", "query", "feedback", "answer", "response", "post", "tweet", "review", "subject",
    "summary", "sentence", "snippet",
)  # fmt: skip


def pick_text_column(table: pa.Table, wanted: str | None, option: str = "--text-column") -> str:
    """The column asked for, else one with a usual name, else the one with the longest texts."""
    names = [str(name) for name in table.column_names]
    if wanted is not None:
        return check_column(names, wanted, option)
    if len(names) == 1:
        return names[0]
    if not names:
        raise DataError("there is no column in the table, and so no texts.")
    if (usual := usual_column(names)) is not None:
        return usual
    longest = max(names, key=lambda name: _mean_length(table.column(name)))
    if _mean_length(table.column(longest)) == 0:
        raise DataError(
            f"no column holds text (columns: {', '.join(names)}); name it with {option}."
        )
    return longest


def usual_column(names: Sequence[str]) -> str | None:
    """The first name that columns of texts usually have."""
    by_name = {str(name).strip().lower(): name for name in reversed(names)}
    return next((by_name[usual] for usual in USUAL if usual in by_name), None)


def check_column(columns: pa.Table | Sequence[str], wanted: str, option: str) -> str:
    """Refuse a column that is not there, with the nearest name."""
    names = columns.column_names if isinstance(columns, pa.Table) else list(columns)
    if wanted in names:
        return wanted
    near = difflib.get_close_matches(wanted.lower(), [name.lower() for name in names], n=1)
    hint = next((f" Did you mean {n!r}?" for n in names if near and n.lower() == near[0]), "")
    raise DataError(f"{option}: there is no column {wanted!r} (columns: {', '.join(names)}).{hint}")


def cell_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The cells as Python values; those that Python has no type for as texts.

    Python's dates end with the year 9999, and its times with microseconds.

    Examples
    --------
    >>> cell_values(pa.array([0, 10**18], pa.timestamp("us")))[1]
    '33658-09-27 01:46:40'
    >>> cell_values(pa.array([1], pa.time64("ns")))
    ['00:00:00.000000001']
    """
    exact = not (pa.types.is_time64(column.type) and column.type.unit == "ns")
    try:
        return list(column.to_pylist()) if exact else [_cell(scalar) for scalar in column]
    except (ValueError, OverflowError, pa.ArrowException):
        return [_cell(scalar) for scalar in column]


def _cell(scalar: pa.Scalar) -> Any:
    kind = scalar.type
    try:
        if not (pa.types.is_time64(kind) and scalar.is_valid and scalar.value % 1000):
            return scalar.as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        pass
    if pa.types.is_date32(kind):
        return _moment(scalar.value * 86_400, 1)[:-9]
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(kind, "unit", "ms")]
        return _moment(scalar.value, unit) + ("+00:00" if getattr(kind, "tz", None) else "")
    if pa.types.is_time64(kind):
        return str(scalar.cast(pa.string()).as_py())
    return " ".join(pa.array([scalar], kind).to_string().split())


def _moment(value: int, unit: int) -> str:
    """A time as Python would write it, in any year; the calendar repeats every 400 years."""
    seconds, part = divmod(value, unit)
    cycles, rest = divmod(seconds, 146_097 * 86_400)
    moment = datetime(1970, 1, 1) + timedelta(seconds=rest)
    digits = f"{part * (10**9 // unit):09}".removesuffix("000")
    fraction = f".{digits}" if part else ""
    return f"{moment.year + 400 * cycles:04}-{moment:%m-%d %H:%M:%S}{fraction}"


def _mean_length(column: pa.ChunkedArray) -> float:
    """Mean length of the first texts; 0 for numbers, dates and other kinds."""
    values = cell_values(column.slice(0, 1000))
    texts = [value for value in values if isinstance(value, str)]
    return sum(map(len, texts)) / max(len(values), 1)
