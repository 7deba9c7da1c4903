"""Finding the column that holds the texts, and saying so when it is not there."""

from __future__ import annotations

import difflib

import pyarrow as pa

from coterie._errors import DataError

USUAL = (
    "text", "message", "body", "content", "comment", "comments", "description", "title",
    "question", "query", "feedback", "answer", "response", "post", "tweet", "review", "subject",
    "summary", "sentence", "snippet",
)  # fmt: skip


def pick_text_column(table: pa.Table, wanted: str | None, option: str = "--text-column") -> str:
    """The column asked for, else one with a usual name, else the one with the longest texts."""
    names = table.column_names
    if wanted is not None:
        return check_column(table, wanted, option)
    if len(names) == 1:
        return str(names[0])
    by_name = {name.strip().lower(): name for name in reversed(names)}
    for usual in USUAL:
        if usual in by_name:
            return str(by_name[usual])
    if not names:
        raise DataError("there is no column in the table, and so no texts.")
    longest = max(names, key=lambda name: _mean_length(table.column(name)))
    if _mean_length(table.column(longest)) == 0:
        raise DataError(
            f"no column holds text (columns: {', '.join(names)}); name it with {option}."
        )
    return str(longest)


def check_column(table: pa.Table, wanted: str, option: str) -> str:
    """Refuse a column that is not there, with the nearest name."""
    names = table.column_names
    if wanted in names:
        return wanted
    near = difflib.get_close_matches(wanted.lower(), [name.lower() for name in names], n=1)
    hint = next((f" Did you mean {n!r}?" for n in names if near and n.lower() == near[0]), "")
    raise DataError(f"{option}: there is no column {wanted!r} (columns: {', '.join(names)}).{hint}")


def _mean_length(column: pa.ChunkedArray) -> float:
    """Mean length of the first texts; 0 for numbers, dates and other kinds."""
    values = column.slice(0, 1000).to_pylist()
    texts = [value for value in values if isinstance(value, str)]
    return sum(map(len, texts)) / max(len(values), 1)
