"""The texts of one run with everything that came with them.

A cell of a table becomes a clean text; the original value is kept beside it. Texts come from a
column of a table or from Python objects: lists, numpy, pandas, polars, Arrow, Hugging Face
datasets.
"""

from __future__ import annotations

import hashlib
import json
import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._emoji import EMOJI
from coterie._errors import DataError, UsageError
from coterie._validation import did_you_mean

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")
SURROGATE = re.compile(r"[\ud800-\udfff]")  # half a character, as broken JSON escapes leave behind
USUAL = (  # names of columns of texts
    "text message body content comment comments description title question query feedback answer "
    "response post tweet review subject summary sentence snippet"
).split()
PLAIN = re.compile(r"(large_)?string|u?int|float|bool|date|time|decimal")  # kinds of a dataset
LONG = 10_000  # characters; encoders read far less
PLACEHOLDERS = frozenset(
    "|as discussed|asdf|n/a|na|nil|no|no comment|no comments|none|not applicable|nothing|null|ok|"
    "okay|see above|see attached|see attachment|see below|tbd|test|testing|unknown|x|xx|xxx".split(
        "|"
    )
)
LISTED = 3  # rows that a note names
MESSAGES = {
    "converted": "not text in the file, read as text",
    "empty": "no text (empty, missing or only punctuation), left without a cluster",
    "control": "line breaks or control characters, read as blanks",
    "long": f"longer than {LONG:,} characters; encoders read only the beginning",
    "duplicate": "repeats of an earlier text, in the same cluster",
    "boilerplate": "placeholders (such as n/a, none, test)",
}


class CleanTexts(list[str]):
    """Texts that were cleaned already: nobody cleans them again."""


def clean_text(text: str) -> str:
    r"""Replace control characters by blanks, fold white space, drop it at both ends.

    Case, punctuation, direction marks and all scripts stay as they are.

    Examples
    --------
    >>> clean_text("  two\x00 lines\r\n here ")
    'two lines here'
    """
    return " ".join(SURROGATE.sub("\ufffd", CONTROL.sub(" ", text)).split())


def has_words(text: str) -> bool:
    """Whether there is a letter, a digit or an emoji in it, in any script.

    Examples
    --------
    >>> has_words("n/a"), has_words("- ...?"), has_words("你好"), has_words("👍")
    (True, False, True, True)
    """
    return any(character.isalnum() for character in text) or EMOJI.search(text) is not None


def value_to_text(value: Any) -> str:
    """Text of a table cell: missing values become the empty text, nested ones JSON."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, numbers.Number) and value != value):  # not a number
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    return "" if text in {"<NA>", "NaT"} else text  # what pandas calls missing


def pick_text_column(table: pa.Table, wanted: str | None, option: str = "--text-column") -> str:
    """The column asked for, else one with a usual name, else the one with the longest texts."""
    names = [str(name) for name in table.column_names]
    if wanted is not None:
        return check_column(names, wanted, option)
    if len(names) == 1:
        return names[0]
    if not names:
        raise DataError("corpus.no_columns")
    if (usual := usual_column(names)) is not None:
        return usual
    longest = max(names, key=lambda name: _mean_length(table.column(name)))
    if _mean_length(table.column(longest)) == 0:
        raise DataError("corpus.no_text_column", columns=", ".join(names), option=option)
    return longest


def usual_column(names: Sequence[str]) -> str | None:
    """The first name that columns of texts usually have."""
    by_name = {str(name).strip().lower(): name for name in reversed(names)}
    return next((by_name[usual] for usual in USUAL if usual in by_name), None)


def check_column(columns: pa.Table | Sequence[str], wanted: str, option: str) -> str:
    """Reject a column that is not there, with the nearest name."""
    names = columns.column_names if isinstance(columns, pa.Table) else list(columns)
    if wanted in names:
        return wanted
    raise DataError(
        "corpus.no_column",
        option=option,
        column=wanted,
        columns=", ".join(names),
        hint=did_you_mean(wanted, names),
    )


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


@dataclass(frozen=True)
class Note:
    """Something a user should know about the data: what, how many rows, and the first of them."""

    kind: str
    count: int
    rows: tuple[int, ...]
    message: str


@dataclass(frozen=True)
class Corpus:
    """Texts, one per row of the input table, in its order.

    Attributes
    ----------
    texts : list of str
        Cleaned texts; the empty text where a row has none. Same length as ``table``.
    table : pyarrow.Table
        Every input column as it was read.
    text_column : str
    id_column : str or None
    notes : tuple of Note
        What reading noticed: empty rows, duplicates, control characters, very long texts, ...
    """

    texts: list[str]
    table: pa.Table
    text_column: str
    id_column: str | None = None
    notes: tuple[Note, ...] = field(default=(), compare=False)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def sha256(self) -> str:
        """Digest of the texts and their order."""
        digest = hashlib.sha256()
        for text in self.texts:
            digest.update(text.encode("utf-8") + b"\0")
        return digest.hexdigest()


def build(
    table: pa.Table,
    text_column: str,
    id_column: str | None = None,
    notes: Sequence[Note] = (),
) -> Corpus:
    """Clean the text column of a table and note what is unusual about it."""
    values = cell_values(table.column(text_column))
    if not values:
        raise DataError("corpus.no_rows", text_column=text_column)
    texts = clean_values(values)
    if not any(texts):
        raise no_words(len(texts), text_column)
    flags = row_flags(values, texts) | {"duplicate": _repeats(texts)}
    found = [
        make_note(kind, sum(flags[kind]), [i for i, flag in enumerate(flags[kind], 1) if flag])
        for kind in MESSAGES
    ]
    return Corpus(texts, table, text_column, id_column, (*notes, *(n for n in found if n)))


def clean_values(values: Sequence[Any]) -> CleanTexts:
    """Cleaned texts of the cells of a column; the empty text where there is no word."""
    texts = (clean_text(value_to_text(value)) for value in values)
    return CleanTexts(text if has_words(text) else "" for text in texts)


def row_flags(values: Sequence[Any], texts: Sequence[str]) -> dict[str, list[bool]]:
    """What is unusual about each row by itself, by the kind of note."""
    raw = (value_to_text(value).strip() for value in values)
    pairs = zip(values, texts, strict=True)
    return {
        "converted": [not isinstance(value, str) and text != "" for value, text in pairs],
        "empty": [text == "" for text in texts],
        "control": [CONTROL.search(text) is not None for text in raw],
        "long": [len(text) > LONG for text in texts],
        "boilerplate": [t != "" and t.casefold().strip(" .!?-") in PLACEHOLDERS for t in texts],
    }


def make_note(kind: str, count: int, rows: Sequence[int]) -> Note | None:
    """A note about so many rows, counted from one, of which the first are listed."""
    if not count:
        return None
    listed = ", ".join(map(str, rows[:LISTED])) + (", ..." if count > LISTED else "")
    plural = "rows" if count > 1 else "row"
    return Note(kind, count, tuple(rows), f"{count} {plural} ({listed}): {MESSAGES[kind]}")


def no_words(rows: int, column: str) -> DataError:
    """What to say where there is nothing to cluster."""
    return DataError("corpus.column_empty", rows=rows, column=column)


def _repeats(texts: list[str]) -> list[bool]:
    seen: set[str] = set()
    flags = []
    for text in texts:
        flags.append(text != "" and text in seen)
        seen.add(text)
    return flags


def texts_from(data: Any, text_column: str | None = None) -> list[str]:
    """Cleaned texts of any supported object; rows without words become the empty text.

    Parameters
    ----------
    data : list, ndarray, Series, DataFrame, pyarrow Array or Table, Dataset, or list of dict
        A table needs ``text_column`` unless one column is the obvious choice. Of a Hugging Face
        dataset and of a list of dicts, that is the one column of texts, or one with a usual name.
    text_column : str, optional
    """
    if isinstance(data, CleanTexts):
        return data
    columns, chosen = _columns_of(data, text_column, beside=False)
    values = columns[chosen]
    return clean_values(values if isinstance(values, list) else cell_values(values))


def make_corpus(data: Any, text_column: str | None = None) -> Corpus:
    """Turn any supported object into a :class:`Corpus` with all its columns."""
    columns, chosen = _columns_of(data, text_column, beside=True)
    arrays = [_array(values) if isinstance(values, list) else values for values in columns.values()]
    return build(pa.Table.from_arrays(arrays, list(map(str, columns))), chosen)


def _columns_of(data: Any, text_column: str | None, *, beside: bool) -> tuple[dict[str, Any], str]:
    """Columns by name, lists or Arrow's; the one of texts, with or without those beside it."""
    frame = hasattr(data, "columns") and hasattr(data, "__arrow_c_stream__")
    if frame or isinstance(data, pa.Table):
        table = data if isinstance(data, pa.Table) else pa.table(data)
        chosen = pick_text_column(table, text_column, "text_column")
        names = table.column_names if beside else [chosen]
        return {name: table.column(name) for name in names}, chosen
    if hasattr(data, "column_names") and (hasattr(data, "features") or isinstance(data, dict)):
        return _of_dataset(data, text_column, beside=beside)
    values = _values(data)
    if values and all(isinstance(value, Mapping) for value in values):
        names = list(dict.fromkeys(name for row in values for name in row))
        texts = [n for n in names if any(isinstance(row.get(n), str) for row in values)]
        chosen = _only_column(names, texts, text_column, "X is a list of dicts")
        return {n: [row.get(n) for row in values] for n in (names if beside else [chosen])}, chosen
    for i, value in enumerate(values):
        if isinstance(value, (list, tuple, Mapping, np.ndarray)):
            raise DataError("corpus.not_a_text", row=i, kind=type(value).__name__)
    return {"text": [value_to_text(v) for v in values] if beside else values}, "text"


def _of_dataset(data: Any, text_column: str | None, *, beside: bool) -> tuple[dict[str, Any], str]:
    """The columns of a Hugging Face dataset that hold plain values; pictures are not decoded."""
    if data.column_names is None:
        raise UsageError("corpus.dataset_without_columns")
    if isinstance(data.column_names, Mapping):
        splits = ", ".join(data.column_names)
        raise UsageError("corpus.which_split", known=splits)
    names = list(data.column_names)
    kinds = {name: str(getattr(data.features[name], "dtype", "")) for name in names}
    texts = [name for name in names if kinds[name] in ("string", "large_string", "string_view")]
    chosen = _only_column(names, texts, text_column, "X is a dataset")
    kept = [n for n in names if n == chosen or (beside and PLAIN.match(kinds[n]))]
    if hasattr(data, "select_columns"):
        data = data.select_columns(kept)
    rows = list(data)
    return {name: [row[name] for row in rows] for name in kept}, chosen


def _array(values: list[Any]) -> pa.Array:
    """A column of Python values; as texts where they are of several kinds."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        texts = (None if value is None else value_to_text(value) for value in values)
        plain = (t and SURROGATE.sub("\ufffd", t) for t in texts)
        return pa.array(list(plain), pa.string())


def _only_column(names: list[str], texts: list[str], wanted: str | None, what: str) -> str:
    """The column asked for, else the only one of texts, else one with a usual name."""
    if wanted is not None:
        return check_column(names, wanted, "text_column")
    if len(texts) == 1:
        return texts[0]
    if (usual := usual_column(texts)) is not None:
        return usual
    raise UsageError("corpus.which_column", what=what, columns=", ".join(map(str, names)))


def _values(data: Any) -> list[Any]:
    if isinstance(data, (str, bytes)):
        raise UsageError("corpus.single_string")
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return cell_values(data)
    if hasattr(data, "to_list"):  # pandas and polars Series
        return list(data.to_list())
    if isinstance(data, dict):
        raise UsageError("corpus.is_dictionary")
    if isinstance(data, np.ndarray):
        column = data[:, 0] if data.ndim == 2 and data.shape[1] == 1 else data
        if column.ndim != 1:
            raise UsageError("corpus.not_one_column", shape=data.shape)
        return list(column.tolist())
    try:
        return list(data)
    except TypeError as error:
        raise UsageError("corpus.not_a_list", kind=type(data).__name__) from error
