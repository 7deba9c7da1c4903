"""Reading JSON lines and lists of JSON objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from types import NoneType
from typing import Any

import pyarrow as pa

from coterie.errors import DataError
from coterie.texts.corpus import CHUNK_ROWS, DataNote, as_array, unique_names
from coterie.texts.delimited import Malformed
from coterie.texts.source import Source

Kinds = dict[str, set[type]]  # of the values of each column
TYPES = {
    frozenset[type](): pa.null(),
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
}


def read_json(
    source: Source, encoding: str, kinds: Kinds, notes: list[DataNote]
) -> Iterator[pa.Table]:
    """The rows of a file, in parts; nested values and columns of several kinds become texts.

    Parameters
    ----------
    source : Source
    encoding : str
    kinds : dict
        Of the columns; empty before the file is read for the first time.
    notes : list of DataNote
        Takes what is unusual about the file.
    """
    if not kinds:
        for row in _records(source, encoding, []):
            for key, value in row.items():
                kinds.setdefault(key, set()).add(_kind(value))
    rows = _records(source, encoding, notes)
    names = unique_names(list(kinds))
    while part := list(islice(rows, CHUNK_ROWS)):
        columns = [_column([row.get(key) for row in part], kinds[key]) for key in kinds]
        yield pa.Table.from_arrays(columns, names)


def _records(source: Source, encoding: str, notes: list[DataNote]) -> Iterator[dict[str, Any]]:
    """The objects of a list or of the lines; a text alone is the column ``text``."""
    bad = Malformed(
        source.name,
        "no JSON object, or one with a name twice",
        'Write one object a line, such as {"text": "..."}, or name another `format`.',
    )
    rows = 0
    for number, value in _values(source, encoding):
        row = {"text": value} if isinstance(value, str) else value
        if isinstance(row, dict):
            rows += 1
            yield row
        else:
            bad.add(number)
    bad.check(rows)
    notes += bad.notes()


def _values(source: Source, encoding: str) -> Iterator[tuple[int, Any]]:
    """What each line that is not blank holds, or each place of a list; None if it is not JSON."""
    if source.head().lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        values = _parse(source.read())
        if not isinstance(values, list):
            raise DataError(f"{source.name} begins as a list of JSON objects, but is none.")
        yield from enumerate(values, 1)
        return
    for number, line in enumerate(source.lines(encoding), 1):
        if line.strip():
            yield number, _parse(line)


def _parse(text: str | bytes) -> Any:
    try:
        if isinstance(text, bytes):
            return json.loads(text, object_pairs_hook=_unique)
        return DECODER.decode(text)
    except (ValueError, RecursionError):  # nested without end, or a number of thousands of digits
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that has a name twice is not JSON."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_unique)  # made once: this is many times faster


def _kind(value: object) -> type:
    """The type of a value; whole numbers beyond 64 bits are texts."""
    return str if type(value) is int and abs(value) >= 2**63 else type(value)


def _column(values: list[Any], kinds: set[type]) -> pa.Array:
    if kind := TYPES.get(frozenset(kinds - {NoneType})):
        real = kind == pa.float64()  # Arrow refuses whole numbers that a float rounds
        return pa.array([None if v is None else float(v) for v in values] if real else values, kind)
    plain = (str, NoneType)
    texts = (v if isinstance(v, plain) else json.dumps(v, ensure_ascii=False) for v in values)
    return as_array(list(texts), pa.string())
