"""Reading JSON lines and lists of JSON without changing a value.

A column is of one kind throughout the file. Numbers, texts and truth values have Arrow's types;
what Arrow would change (nested values, whole numbers beyond 64 bits, mixtures) is kept as its JSON
and written as JSON again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.json

from coterie.corpus.corpus import SURROGATE, unique_names, value_to_text
from coterie.corpus.source import Source, whole_lines
from coterie.errors import DataError

EXACT_FLOAT = 2**53  # whole numbers up to this are exact as floats
RAW = {b"coterie": b"json"}  # marks a field whose texts are JSON
TYPES = {
    "null": pa.null(),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "long": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "json": pa.string(),
    "mixed": pa.string(),
}

KINDS: dict[type, str] = {NoneType: "null", bool: "bool", float: "float", str: "text"}

Kinds = dict[str, str]  # of the columns


def read_json(source: Source, encoding: str, kinds: Kinds) -> Iterator[pa.Table]:
    """The rows of a file; ``kinds`` are those of its columns, or empty before it is read first.

    Of a pipe, the first rows decide which columns there are.
    """
    if source.head().lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
        source.take()
        whole = try_json("".join(source.texts(encoding)))
        if isinstance(whole, list):  # one list: it cannot be read in parts
            rows = [as_record(value, source.name, i) for i, value in enumerate(whole, 1)]
            widen(kinds, rows)
            yield table_of(rows, kinds)
            return
    if not kinds and not source.is_pipe:
        _find_kinds(source, encoding, kinds)
    columns = list(kinds)
    for before, text in whole_lines(source.texts(encoding), source.name):
        table = None if source.is_pipe else _parse(text, kinds)
        if table is None:
            rows = list(records(before, text, source.name))
            widen(kinds, rows)
            columns = columns or list(kinds)
            if len(kinds) > len(columns):
                raise DataError(
                    f"{source.name}: from line {before + 1} on there is a column "
                    f"{list(kinds)[len(columns)]!r} that no earlier row has; save the input to a "
                    "file, which is read completely first."
                )
            table = table_of(rows, kinds)
        yield pa.Table.from_arrays(table.columns, schema=_schema(kinds))


def _find_kinds(source: Source, encoding: str, kinds: Kinds) -> None:
    """Fill in the columns of all rows, and of which kind each is."""
    for before, text in whole_lines(source.texts(encoding), source.name):
        table = _parse(text, kinds)
        if table is None:
            widen(kinds, records(before, text, source.name))
            continue
        for key, column in zip(kinds, table.columns, strict=True):
            if kinds[key] == "int" and not _is_exact(column):
                kinds[key] = "long"


def records(before: int, text: str, name: str) -> Iterator[dict[str, Any]]:
    """A record for every line that is not blank; so many lines are before them."""
    for number, line in enumerate(text.split("\n"), before + 1):
        if content := line.strip():
            value = try_json(content)
            if value is None and content != "null":
                raise DataError(
                    f"{name}, line {number}: this is not JSON: {content[:60]!r}. Write one "
                    "object a line, or name another format with `format`."
                )
            yield as_record(value, name, number)


def as_record(value: object, name: str, line: int) -> dict[str, Any]:
    """An object as it is, a text as the column ``text``."""
    record = {"text": value} if isinstance(value, str) else value
    if not isinstance(record, dict):
        shown = repr(value)[:60]
        raise DataError(
            f"{name}, line {line}: expected an object or a text, got {shown}; write lines such "
            'as {"text": "..."}.'
        )
    return record


def widen(kinds: Kinds, rows: Iterable[Mapping[str, Any]]) -> None:
    """Make the kinds wide enough for these rows, too."""
    for row in rows:
        for key, value in row.items():
            new, old = _kind(value), kinds.get(key)
            if new != old:
                kinds[key] = new if old is None else _common(old, new)


def table_of(rows: list[dict[str, Any]], kinds: Kinds) -> pa.Table:
    """Records as a table of these kinds."""
    columns = [_column([row.get(key) for row in rows], kind) for key, kind in kinds.items()]
    return pa.Table.from_arrays(columns, schema=_schema(kinds))


def try_json(text: str) -> Any:
    """The value, or None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # nested without end, or a number of thousands of digits
        return None


def to_json(value: object) -> str:
    """JSON that can be written as UTF-8; halves of characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, default=value_to_text)
    return json.dumps(value, default=value_to_text) if SURROGATE.search(text) else text


def _kind(value: object) -> str:
    if type(value) is int:
        fits = -(2**63) <= value < 2**63
        return "int" if abs(value) <= EXACT_FLOAT else "long" if fits else "json"
    return KINDS.get(type(value), "json")


def _common(a: str, b: str) -> str:
    """A kind that holds the values of both and changes none.

    Examples
    --------
    >>> _common("int", "float"), _common("long", "float"), _common("bool", "text")
    ('float', 'json', 'mixed')
    """
    if a == b or b == "null":
        return a
    if a == "null":
        return b
    pair = {a, b}
    if pair & {"text", "mixed"}:
        return "mixed"
    if pair == {"int", "long"}:
        return "long"
    return "float" if pair == {"int", "float"} else "json"


def _schema(kinds: Kinds) -> pa.Schema:
    names = unique_names(list(kinds))
    return pa.schema(
        [
            pa.field(name, TYPES[kind], metadata=RAW if kind == "json" else None)
            for name, kind in zip(names, kinds.values(), strict=True)
        ]
    )


def _column(values: list[Any], kind: str) -> pa.Array:
    if kind == "json":
        values = [None if value is None else to_json(value) for value in values]
    elif kind == "mixed":
        values = [v if v is None or isinstance(v, str) else to_json(v) for v in values]
    try:
        return pa.array(values, TYPES[kind])
    except UnicodeEncodeError:  # half a character, as broken escapes leave behind
        return pa.array([v and v.encode("utf-8", "replace").decode() for v in values], pa.string())


def _parse(text: str, kinds: Kinds) -> pa.Table | None:
    """The rows by pyarrow; None if it cannot, or if a number would lose digits."""
    if not kinds or not {"json", "mixed"}.isdisjoint(kinds.values()):
        return None
    data = text.encode()
    try:
        schema = pa.schema([(key, TYPES[kind]) for key, kind in kinds.items()])
        table = pyarrow.json.read_json(
            pa.BufferReader(data),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            pyarrow.json.ParseOptions(
                explicit_schema=schema, newlines_in_values=True, unexpected_field_behavior="error"
            ),
        )
    except (pa.ArrowException, UnicodeEncodeError):
        return None
    floats = [column for column in table.columns if pa.types.is_floating(column.type)]
    lines = text.count("\n") + (not text.endswith("\n"))
    if table.num_rows != lines:  # blank lines are none; two records on one line are rejected
        lines = sum(1 for line in text.split("\n") if line.strip())
    return table if table.num_rows == lines and all(map(_is_exact, floats)) else None


def _is_exact(column: pa.ChunkedArray) -> bool:
    """Whether all numbers are those that floats tell from their neighbours."""
    ends = pyarrow.compute.min_max(column)
    least, most = ends["min"].as_py(), ends["max"].as_py()
    return least is None or (abs(least) <= EXACT_FLOAT and abs(most) <= EXACT_FLOAT)
