"""Reading CSV, TSV, JSON lines, Parquet and plain text, from a file or from standard input."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie._errors import DataError, UsageError
from coterie._validation import check_choice
from coterie.corpus.columns import check_column, pick_text_column
from coterie.corpus.corpus import Corpus, Note, build
from coterie.corpus.source import (
    STDIN,
    Source,
    encoding_of,
    not_parquet,
    undecodable,
    unknown_encoding,
)

FORMATS = ("auto", "csv", "tsv", "jsonl", "parquet", "txt")
SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "jsonl", ".parquet": "parquet", ".pq": "parquet", ".txt": "txt", ".text": "txt",
}  # fmt: skip
FIELD_LIMIT = 2**31 - 1  # the csv module refuses fields over 128 kB unless told otherwise


def read_corpus(
    source: str | Path | Source,
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
) -> Corpus:
    """Read a file (or ``-`` for standard input) into a corpus.

    Parameters
    ----------
    source : str, Path or Source
    text_column, id_column : str, optional
        Default for the text: a column with a usual name, else the one with the longest texts.
    format : {"auto", "csv", "tsv", "jsonl", "parquet", "txt"}, default="auto"
        "auto" goes by the file name; standard input is taken as CSV when a column is named, as
        JSON lines when it begins with a brace, and as one text a line otherwise.
    encoding : str, default="utf-8"
        UTF-8 and UTF-16 byte order marks are recognised in any case.
    """
    table, notes = read_table(source, format=format, encoding=encoding, named=text_column)
    chosen = pick_text_column(table, text_column)
    if id_column is not None:
        check_column(table, id_column, "--id-column")
    return build(table, chosen, id_column, notes)


def read_table(
    source: str | Path | Source,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    named: str | None = None,
) -> tuple[pa.Table, list[Note]]:
    """Read all columns of a file; ``named`` is a column the caller expects, a hint for stdin."""
    check_choice("--format", format, FORMATS)
    name, data = _bytes(source)
    if format == "auto":
        format = guess_format(name, data, named)
    if format == "parquet" and data.strip():
        return _parquet(data, name), []
    text = _decode(data, encoding, name)
    if not text.strip():  # also a mark of the byte order and nothing behind it
        raise DataError(f"{name} is empty: there is nothing to read.")
    if format == "jsonl":
        return _jsonl(text, name), []
    if format == "txt":
        return _lines(text), []
    return _delimited(text, name, format)


def _bytes(source: str | Path | Source) -> tuple[str, bytes]:
    opened = source if isinstance(source, Source) else Source(source)
    file = opened.open()
    try:
        return opened.name, file.read()
    finally:
        if not opened.is_pipe:
            file.close()


def guess_format(name: str, data: bytes, named: str | None) -> str:
    """The format that a file name tells, or, of standard input, the first bytes."""
    suffix = Path(name).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if suffix in {".xlsx", ".xls", ".ods"}:
        raise UsageError(f"{name} is a spreadsheet; save it as CSV (UTF-8) and give that file.")
    if name != STDIN:
        raise UsageError(
            f"{name}: the suffix {suffix!r} tells no format; add --format with one of "
            f"{', '.join(FORMATS[1:])}."
        )
    if data[:4] == b"PAR1":
        return "parquet"
    if data.lstrip()[:1] in (b"{", b"["):
        return "jsonl"
    return "csv" if named else "txt"


def _decode(data: bytes, encoding: str, name: str) -> str:
    encoding = encoding_of(data, encoding)
    try:
        return data.decode(encoding)
    except LookupError as error:
        raise unknown_encoding(encoding) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise undecodable(name, line, error, encoding) from error


def _delimited(text: str, name: str, format: str) -> tuple[pa.Table, list[Note]]:
    delimiter, notes = delimiter_of(text.split("\n", 1)[0], format)
    lines = io.StringIO(text, newline="")
    try:
        rows = list(csv_rows(lines, delimiter, csv.QUOTE_MINIMAL))
    except csv.Error as error:
        if format != "tsv":
            raise DataError(f"{name}, {error}") from error
        lines.seek(0)
        rows = list(csv_rows(lines, delimiter, csv.QUOTE_NONE))  # most TSV files do not quote
    header, body = column_names(rows[0][1]), rows[1:]
    while body and not body[-1][1]:
        body.pop()  # blank lines at the end of the file
    filled = [(line, row or [""] * len(header)) for line, row in body]
    ragged = [(i, line, len(row)) for i, (line, row) in enumerate(filled, 1)
              if len(row) != len(header)]  # fmt: skip
    if ragged:
        row, line, fields = ragged[0]
        others = f"; {len(ragged) - 1} more rows differ from it" if len(ragged) > 1 else ""
        remedy = (
            f"Put double quotes around texts that hold {delimiter!r}"
            if fields > len(header)
            else f"Give every row as many {delimiter!r} as the header has"
        )
        raise DataError(
            f"{name}: row {row} (line {line}) has {fields} fields where the header has "
            f"{len(header)}{others}. {remedy}; for a file of one text a line add --format txt."
        )
    columns = {n: [row[i] for _, row in filled] for i, n in enumerate(header)}
    return pa.table({n: pa.array(v, pa.string()) for n, v in columns.items()}), notes


def delimiter_of(header: str, format: str) -> tuple[str, list[Note]]:
    """Comma, unless the header has none and has semicolons or tabs instead; then with a note."""
    if format == "tsv":
        return "\t", []
    found = ","
    if "," not in header:
        found = next((mark for mark in (";", "\t", "|") if mark in header), ",")
    if found == ",":
        return found, []
    return found, [Note("delimiter", 0, (), f"fields are separated by {found!r}")]


def csv_rows(lines: Iterable[str], delimiter: str, quoting: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields); errors name the line on which the row begins."""
    limit = csv.field_size_limit(FIELD_LIMIT)
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quoting=quoting,  # type: ignore[arg-type]
        strict=True,
    )
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(
            f"line {line}: {error}. A quote inside a quoted text must be doubled, and every "
            "opening quote needs a closing one."
        ) from error
    finally:
        csv.field_size_limit(limit)


def column_names(fields: list[str]) -> list[str]:
    """Unique, non-empty column names."""
    names = [field.strip() or f"column_{i}" for i, field in enumerate(fields, 1)]
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return unique


def _jsonl(text: str, name: str) -> pa.Table:
    whole = _try_json(text) if text.lstrip().startswith("[") else None
    if isinstance(whole, list):
        records = [as_record(value, name, i) for i, value in enumerate(whole, 1)]
    else:
        records = list(json_records(text.split("\n"), name))
    names = list(dict.fromkeys(key for record in records for key in record))
    return pa.table({n: json_column([record.get(n) for record in records]) for n in names})


def json_records(lines: Iterable[str], name: str) -> Iterator[dict[str, Any]]:
    """A record for every line that is not blank."""
    for number, line in enumerate(lines, 1):
        if content := line.strip():
            value = _try_json(content)
            if value is None and content != "null":
                raise DataError(f"{name}, line {number}: this is not JSON: {content[:60]!r}")
            yield as_record(value, name, number)


def as_record(value: Any, name: str, line: int) -> dict[str, Any]:
    """An object as it is, a text as the column ``text``."""
    record = {"text": value} if isinstance(value, str) else value
    if not isinstance(record, dict):
        raise DataError(f"{name}, line {line}: expected an object or a text, got {value!r}.")
    return record


def _try_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # nested without end, or a number of thousands of digits
        return None


def json_column(values: list[Any]) -> pa.Array:
    """An Arrow array of the values' own type, or of JSON texts when types are mixed."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        safe = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
        return pa.array([_encodable(v) for v in safe], pa.string())


def _encodable(value: str | None) -> str | None:
    return None if value is None else value.encode("utf-8", "replace").decode("utf-8")


def _lines(text: str) -> pa.Table:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    return pa.table({"text": pa.array(lines, pa.string())})


def _parquet(data: bytes, name: str) -> pa.Table:
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError) as error:  # a broken footer is an OSError
        raise not_parquet(name, error) from error
