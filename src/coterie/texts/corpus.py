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
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from coterie._util.emoji import EMOJI
from coterie._util.types import Ints
from coterie._util.validation import did_you_mean
from coterie.errors import DataError, UsageError

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")
TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")  # direction overrides and embeddings
BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters without ink
SURROGATE = re.compile(r"[\ud800-\udfff]")  # half a character, as broken JSON escapes leave behind
USUAL_TEXT_COLUMNS = (  # names of columns of texts
    "text message body content comment comments description title question query feedback answer "
    "response post tweet review subject summary sentence snippet"
).split()
PLAIN_TYPES = re.compile(
    r"(large_)?string|u?int|float|bool|date|time|decimal"
)  # kinds of a dataset
NUMBER = re.compile(r"[-+]?[\d.,:/ -]*\d[\d.,:/ -]*(?:[eE][-+]?\d+|\s?[%€$£])?")
VECTOR = re.compile(r"\s*\[[-+\d.,eE\s]*\]\s*")
PROSE_WORDS = 1.5  # mean of a column that holds more than names
CLEAR_LEAD = 2  # times as many words as another column: certainly the texts
EXAMPLE_LENGTH = 40  # characters of a cell in a message
CHUNK_ROWS = 10_000  # rows that are worked on at a time
LONG_TEXT = 10_000  # characters; encoders read far less
PLACEHOLDERS = frozenset(
    "|as discussed|asdf|n/a|na|nil|no|no comment|no comments|none|not applicable|nothing|null|ok|"
    "okay|see above|see attached|see attachment|see below|tbd|test|testing|unknown|x|xx|xxx".split(
        "|"
    )
)
UNNAMED = "the table"  # in messages, if it has no name
LISTED_ROWS = 3  # rows that a note names
NOTE_TEXTS = {
    "converted": "not text in the file, read as text",
    "empty": "no text (empty, missing or only punctuation), left without a cluster",
    "control": "line breaks or control characters, read as blanks",
    "long": f"longer than {LONG_TEXT:,} characters; encoders read only the beginning",
    "duplicate": "repeats of an earlier text, in the same cluster",
    "boilerplate": "placeholders (such as n/a, none, test)",
    "vectors": "repeats of an earlier text with another vector; that of the first is used",
}

Columns: TypeAlias = "Mapping[str, Sequence[Any]] | pa.Table"  # new ones, by their names


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


def clean_name(text: str) -> str:
    r"""A name as :func:`clean_text` has it, without signs that turn the direction of others.

    It is empty if there is nothing in it that can be seen.

    Examples
    --------
    >>> clean_name("\u202eRefunds"), clean_name("\u200b\u2060")
    ('Refunds', '')
    """
    name = clean_text(TURNING.sub("", text))
    seen = (c for c in name if unicodedata.category(c)[0] not in "CMZ" and c not in BLANK)
    return name if any(seen) else ""


def has_words(text: str) -> bool:
    """Whether there is a letter, a digit or an emoji in it, in any script.

    Examples
    --------
    >>> has_words("n/a"), has_words("- ...?"), has_words("你好"), has_words("👍")
    (True, False, True, True)
    """
    return any(character.isalnum() for character in text) or EMOJI.search(text) is not None


def as_whole(value: Any) -> Any:
    """A cell; whole numbers that pandas made floats, since one is missing, are whole again."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def value_to_text(value: Any) -> str:
    """Text of a table cell: missing values become the empty text, nested ones JSON."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, numbers.Number) and value != value):  # not a number
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=value_to_text)
    text = str(value)
    return "" if text in {"<NA>", "NaT"} else text  # what pandas calls missing


def pick_text_column(
    table: pa.Table, wanted: str | None, option: str = "`text_column`", name: str = UNNAMED
) -> str:
    """The column asked for, else one with a usual name, else the one with most words by far.

    Where that is not clear, an error lists the candidates, each with a cell.
    """
    names = [str(name) for name in table.column_names]
    if wanted is not None:
        return check_column(names, wanted, option)
    if len(names) == 1:
        return names[0]
    by_name = {column.strip().lower(): column for column in reversed(names)}
    if usual := next((by_name[word] for word in USUAL_TEXT_COLUMNS if word in by_name), None):
        return usual
    looks = {column: look for column in names if (look := _look(table.column(column)))}
    if not looks:
        columns = ", ".join(names)
        raise DataError(
            f"{name}: no column contains text (columns: {columns}); name it with {option}."
        )
    words = max(look[0] for look in looks.values()) >= PROSE_WORDS
    size = {column: look[0] if words else look[1] for column, look in looks.items()}
    likely = [column for column in looks if size[column] * CLEAR_LEAD > max(size.values())]
    if len(likely) > 1:
        shown = ", ".join(f"{column!r} ({looks[column][2]!r})" for column in likely)
        raise UsageError(
            f"{name}: it is not clear which column has the texts; name it with {option}. "
            f"Candidates, each with its first text: {shown}."
        )
    return likely[0]


def _look(column: pa.ChunkedArray) -> tuple[float, float, str] | None:
    """Mean words and characters of the first cells, and one of them; None if there is no text.

    Words of scripts without blanks have about three characters.
    """
    cells = [cell for cell in cell_values(column.slice(0, 1000)) if isinstance(cell, str)]
    filled = [cell for cell in cells if cell.strip()]
    texts = [cell for cell in filled if not is_number(cell) and not VECTOR.fullmatch(cell)]
    if len(texts) <= len(cells) // 2:
        return None
    words = [len(t.split()) if t.isascii() else max(len(t.split()), len(t) / 3) for t in texts]
    short = " ".join(texts[0].split())
    example = short if len(short) <= EXAMPLE_LENGTH else short[: EXAMPLE_LENGTH - 3] + "..."
    return sum(words) / len(texts), sum(map(len, texts)) / len(texts), example


def is_number(cell: str) -> bool:
    """Whether a cell is a number, a date or a time, perhaps with a unit."""
    return len(cell) < 40 and NUMBER.fullmatch(cell.strip()) is not None


def check_column(columns: pa.Table | Sequence[str], wanted: str, option: str) -> str:
    """Reject a column that is not there, with the nearest name."""
    names = columns.column_names if isinstance(columns, pa.Table) else list(columns)
    if wanted in names:
        return wanted
    raise DataError(
        f"{option}: there is no column {wanted!r} (columns: "
        f"{', '.join(names)}).{did_you_mean(wanted, names)}"
    )


def cell_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The cells as Python values; those that Python has no type for as Arrow's texts.

    Python's dates end with the year 9999, and its times with microseconds.

    Examples
    --------
    >>> cell_values(pa.array([0, 3_000_000], pa.date32()))
    ['1970-01-01', '10183-09-21']
    >>> cell_values(pa.array([1], pa.time64("ns")))
    ['00:00:00.000000001']
    """
    if pa.types.is_time64(column.type) and column.type.unit == "ns":
        column = column.cast(pa.string())
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, pa.ArrowException):
        return list(column.cast(pa.string()).to_pylist())


@dataclass(frozen=True)
class DataNote:
    """Something a user should know about the data: what, how many rows, and the first of them."""

    kind: str
    count: int
    rows: tuple[int, ...]
    message: str


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table."""

    first: int  # rows before these
    table: pa.Table  # every column as it was read
    texts: list[str]  # cleaned; the empty text where a row has none
    values: list[Any]  # the cells of the text column

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Survey:
    """What a look through a corpus found."""

    rows: int
    filled: int  # rows with a text
    distinct: int  # different texts
    sha256: str  # of the texts and their order, the same as that of a :class:`Corpus`
    notes: tuple[DataNote, ...]  # what is unusual; each lists the first rows only
    texts: list[str]  # the sample: different texts in the order of the corpus
    counts: Ints  # how often each of them occurs in the corpus
    first: Ints  # row in which each of them occurs first, counted from zero

    def repeated(self, most: int) -> list[str]:
        """The texts of the sample as often as they occur, but at most so many, or one of each.

        If there are too many, all are thinned alike, and none is lost.

        Examples
        --------
        >>> found = Survey(6, 6, 2, "", (), ["a", "b"], np.array([5, 1]), np.array([0, 3]))
        >>> found.repeated(9), found.repeated(3)
        (['a', 'a', 'a', 'a', 'a', 'b'], ['a', 'a', 'b'])
        """
        total, n = int(self.counts.sum()), len(self.texts)
        counts = self.counts
        if total > most:
            spare = max(most - n, 0) / max(total - n, 1)
            counts = 1 + np.floor((self.counts - 1) * spare).astype(np.int64)
        pairs = zip(self.texts, counts.tolist(), strict=True)
        return [text for text, count in pairs for _ in range(count)]


@dataclass(frozen=True)
class LargeTable:
    """All rows of a table of which a sample is fitted."""

    name: str  # for messages
    text_column: str
    read: Callable[[], Iterator[Chunk]]  # goes through the rows, in parts
    survey: Survey  # what the first look through them found
    columns: Any  # those that are worth counting
    files: Sequence[str] = ()  # of Parquet, where a cluster labels the rows

    def __iter__(self) -> Iterator[Chunk]:
        """The rows, as many as at the first look; else the file was changed since."""
        rows = 0
        for chunk in self.read():
            rows += len(chunk)
            yield chunk
        if rows != self.survey.rows:
            raise self.changed()

    def changed(self) -> DataError:
        """What to say if the rows are others than those of the first look."""
        return DataError(
            f"{self.name} was changed while it was read. Copy the file, and run the command on "
            "the copy."
        )


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
    notes : tuple of DataNote
        What reading noticed: empty rows, duplicates, control characters, very long texts, ...
    large : LargeTable, optional
        All rows of a table that is too large to fit: ``texts`` are then a sample of its different
        texts, repeated as they occur, and ``table`` has its columns but no rows.
    """

    texts: list[str]
    table: pa.Table
    text_column: str
    id_column: str | None = None
    notes: tuple[DataNote, ...] = field(default=(), compare=False)
    large: LargeTable | None = None

    def __len__(self) -> int:
        return len(self.texts) if self.large is None else self.large.survey.rows

    def values(self, column: str) -> list[Any]:
        """The cells of a column."""
        return cell_values(self.table.column(column))

    def chunks(self) -> Iterator[Chunk]:
        """The rows in parts, as ``TextStream`` has those of a file."""
        for first in range(0, len(self.texts), CHUNK_ROWS):
            table = self.table.slice(first, CHUNK_ROWS)
            values = cell_values(table.column(self.text_column))
            yield Chunk(first, table, CleanTexts(self.texts[first : first + CHUNK_ROWS]), values)

    @cached_property
    def sha256(self) -> str:
        """Digest of the texts and their order."""
        if self.large is not None:
            return self.large.survey.sha256
        return texts_digest(self.texts)


def texts_digest(texts: Iterable[str]) -> str:
    """Digest of texts and their order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8") + b"\0")
    return digest.hexdigest()


def build(
    table: pa.Table,
    text_column: str,
    id_column: str | None = None,
    notes: Sequence[DataNote] = (),
    name: str = UNNAMED,
) -> Corpus:
    """Clean the text column of a table, and note what is unusual about it."""
    values = cell_values(table.column(text_column))
    if not values:
        raise DataError(
            f"{name}: there are no texts; give at least one. If the first row of a file is a text, "
            "add `header=False`."
        )
    texts = clean_values(values)
    if not any(texts):
        raise no_words(len(texts), text_column, name)
    flags = row_flags(values, texts) | {"duplicate": _repeats(texts)}
    found = [
        make_note(kind, sum(flags[kind]), [i for i, flag in enumerate(flags[kind], 1) if flag])
        for kind in NOTE_TEXTS
        if kind in flags
    ]
    notes = (*notes, *(note for note in found if note))
    return Corpus(texts, table, text_column, id_column, notes)


def clean_values(values: Sequence[Any]) -> CleanTexts:
    """Cleaned texts of the cells of a column; the empty text where there is no word."""
    texts = (clean_text(value_to_text(value)) for value in values)
    return CleanTexts(text if has_words(text) else "" for text in texts)


def is_placeholder(text: str) -> bool:
    """Whether a text only stands where a text should be, such as n/a or "see above"."""
    return text != "" and text.casefold().strip(" .!?-") in PLACEHOLDERS


def row_flags(values: Sequence[Any], texts: Sequence[str]) -> dict[str, list[bool]]:
    """What is unusual about each row by itself, by the kind of note."""
    raw = (value_to_text(value).strip() for value in values)
    pairs = zip(values, texts, strict=True)
    return {
        "converted": [not isinstance(value, str) and text != "" for value, text in pairs],
        "empty": [text == "" for text in texts],
        "control": [CONTROL.search(text) is not None for text in raw],
        "long": [len(text) > LONG_TEXT for text in texts],
        "boilerplate": [is_placeholder(text) for text in texts],
    }


def make_note(kind: str, count: int, rows: Sequence[int]) -> DataNote | None:
    """A note about so many rows, counted from one, of which the first are listed."""
    if not count:
        return None
    listed = ", ".join(map(str, rows[:LISTED_ROWS])) + (", ..." if count > LISTED_ROWS else "")
    plural = "rows" if count > 1 else "row"
    return DataNote(kind, count, tuple(rows), f"{count} {plural} ({listed}): {NOTE_TEXTS[kind]}")


def no_words(rows: int, column: str, name: str = UNNAMED) -> DataError:
    """What to say where there is nothing to cluster."""
    return DataError(
        f"{name}: all {rows} rows of the column {column!r} are empty or have no letter, digit or "
        "emoji; choose another one with `text_column`."
    )


def _repeats(texts: list[str]) -> list[bool]:
    first = {text: i for i, text in reversed(list(enumerate(texts)))}
    return [text != "" and first[text] != i for i, text in enumerate(texts)]


def texts_from(data: Any, text_column: str | None = None) -> list[str]:
    """Cleaned texts of any supported object; rows without words become the empty text.

    Parameters
    ----------
    data : list, ndarray, Series, DataFrame, pyarrow Array or Table, Dataset, or list of dict
        A table needs ``text_column`` unless one column is the obvious choice.
    text_column : str, optional
    """
    if isinstance(data, CleanTexts):
        return data
    table = as_table(data)
    if table is None:
        return clean_values(_values(data))
    chosen = pick_text_column(table, text_column, "`text_column`")
    return clean_values(cell_values(table.column(chosen)))


def make_corpus(data: Any, text_column: str | None = None, id_column: str | None = None) -> Corpus:
    """Turn any supported object into a :class:`Corpus` with all its columns.

    Parameters
    ----------
    data : list, ndarray, Series, DataFrame, pyarrow Array or Table, Dataset, or list of dict
    text_column, id_column : str, optional
    """
    if isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__"):
        data = list(data)
    table = as_table(data)
    if table is None:
        table = pa.table({"text": as_array([value_to_text(value) for value in _values(data)])})
    if id_column is not None:
        check_column(table, id_column, "`id_column`")
    chosen = pick_text_column(table, text_column, "`text_column`")
    return build(table, chosen, id_column)


def as_table(data: Any) -> pa.Table | None:
    """The rows of what has columns: a frame, a dataset or a list of dicts; None for a list.

    Frames of any library come by the Arrow PyCapsule interface. The splits of a dataset are put
    one behind the other, with their names in a new column.
    """
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
        return table.rename_columns(unique_names(table.column_names))
    if hasattr(data, "column_names") and (hasattr(data, "features") or isinstance(data, dict)):
        return _of_dataset(data)
    if hasattr(data, "__arrow_c_stream__") and (
        hasattr(data, "columns") or hasattr(data, "schema")
    ):
        if not getattr(getattr(data, "columns", None), "is_unique", True):  # of pandas
            data = data.set_axis(unique_names([str(name) for name in data.columns]), axis=1)
        try:
            table = pa.table(data)
            if any(
                getattr(kind.type, "extension_name", "")[:7] == "pandas." for kind in table.schema
            ):
                raise TypeError  # a period would be a bare number
            return as_table(table)
        except (pa.ArrowException, TypeError, OverflowError, UnicodeError) as error:
            if not hasattr(data, "columns"):
                raise DataError(
                    f"the table cannot be read by Arrow ({error}); pass a list of texts."
                ) from error
            return _table_of({n: _column(data[n]) for n in data.columns})  # cells of many kinds
    if isinstance(data, (list, tuple)) and data and all(isinstance(v, Mapping) for v in data):
        names = dict.fromkeys(name for row in data for name in row)
        return _table_of({name: [row.get(name) for row in data] for name in names})
    return None


def is_frame(data: Any) -> bool:
    """Whether it is a frame of pandas, which is not imported for this."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _column(column: Any) -> Any:
    """A column of a frame as Arrow has it, or its cells where Arrow cannot hold them."""
    with suppress(pa.ArrowException, TypeError, OverflowError, UnicodeError):
        found = pa.array(column)
        if not isinstance(found.type, pa.BaseExtensionType):
            return found
    return list(column)


def _table_of(columns: dict[Any, Any]) -> pa.Table:
    names = unique_names([str(name) for name in columns])
    cells = (as_array(cell) if isinstance(cell, list) else cell for cell in columns.values())
    return pa.Table.from_arrays([*cells], names)


def unique_names(names: Sequence[str]) -> list[str]:
    """The names as Unicode, those that come again with a number that no other name has.

    Examples
    --------
    >>> unique_names(["text", "a", "a", "a_2"])
    ['text', 'a', 'a_3', 'a_2']
    """
    names = [name.encode("utf-8", "replace").decode() for name in names]  # no half characters
    taken, seen, unique = set(names), Counter[str](), list[str]()
    for name in names:
        seen[name] += 1
        free = name if seen[name] == 1 else f"{name}_{seen[name]}"
        while seen[name] > 1 and free in taken:
            seen[name] += 1
            free = f"{name}_{seen[name]}"
        taken.add(free)
        unique.append(free)
    return unique


def _of_dataset(data: Any) -> pa.Table:
    """The columns of a Hugging Face dataset that hold plain values; pictures are not decoded."""
    if data.column_names is None:
        raise UsageError("X is a dataset that does not know its columns; pass a list of texts.")
    if not isinstance(data.column_names, Mapping):
        kinds = {n: str(getattr(data.features[n], "dtype", "")) for n in data.column_names}
        kept = [name for name, kind in kinds.items() if PLAIN_TYPES.match(kind)]
        rows = list(data.select_columns(kept) if hasattr(data, "select_columns") else data)
        return _table_of({name: [row[name] for row in rows] for name in kept})
    splits = {name: _of_dataset(part) for name, part in data.items()}
    if len({tuple(table.column_names) for table in splits.values()}) != 1:
        raise UsageError(
            f"X is a dataset whose splits ({', '.join(splits)}) have different columns; pass one "
            "of them."
        )
    whole = pa.concat_tables(splits.values(), promote_options="permissive")
    marks = [split for split, table in splits.items() for _ in range(table.num_rows)]
    return combine(whole, {"split": marks})


def combine(table: pa.Table, extra: Columns) -> pa.Table:
    """The table with new columns behind its own; a name that is taken gets ``coterie_`` before."""
    if not isinstance(extra, pa.Table):
        extra = pa.table({name: pa.array(list(values)) for name, values in extra.items()})
    for kind, column in zip(extra.schema, extra.columns, strict=True):
        free = kind.name
        while free in table.column_names:
            free = f"coterie_{free}"
        table = table.append_column(kind.with_name(free), column)
    return table


def as_array(values: list[Any], kind: pa.DataType | None = None) -> pa.Array:
    """A column of Python values; as texts where they are of several kinds."""
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, UnicodeError):
        texts = (None if value is None else value_to_text(value) for value in values)
        plain = (t and SURROGATE.sub("\ufffd", t) for t in texts)
        return pa.array(list(plain), pa.string())


def _values(data: Any) -> list[Any]:
    """The values of a list or of a column."""
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return cell_values(data)
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 1:
        data = data[:, 0]
    try:
        if isinstance(data, (str, bytes, Mapping)):
            raise TypeError
        values = list(data)
    except TypeError as error:
        raise UsageError(
            f"the texts (X, data) should be a list of texts or a table, got {type(data).__name__}."
        ) from error
    for i, value in enumerate(values):
        if isinstance(value, (list, tuple, Mapping, np.ndarray, np.void, PurePath)):
            raise DataError(
                f"X[{i}] is a {type(value).__name__}, not a text. For an array of vectors set "
                "encoder='precomputed'; rows of a table are a list of dicts, files a list of Path."
            )
    return values
