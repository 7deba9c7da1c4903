"""Tables that are written part by part: all that is there at any time can be read.

A table grows under the name ``NAME.partial.SUFFIX`` and gets its own name when it is whole. A stop
leaves the partial one behind, which says by its name what it is, and can be continued.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TextIO

import pyarrow as pa

from coterie._errors import DataError
from coterie._locks import keep_file
from coterie.corpus.read import csv_rows
from coterie.corpus.write import check_suffix, combine, write_stream

# Kinds of result columns; a part in which nothing has a value would leave them open.
KINDS = {
    "cluster": pa.int64(), "name": pa.string(), "confidence": pa.float64(), "margin": pa.float64(),
    "runner_up": pa.int64(), "outlier": pa.string(), "outlier_score": pa.float64(),
    "nearest_cluster": pa.int64(),
}  # fmt: skip
LAST = 20  # rows that are compared before a table is continued

Columns = Mapping[str, Sequence[Any]]


class StreamTable:
    """A table on an open text stream, such as standard output."""

    def __init__(self, file: TextIO, format: str = "csv") -> None:
        self.file, self.format, self.rows = file, format, 0

    def write(self, table: pa.Table, extra: Columns) -> None:
        """Add rows, and hand them on at once."""
        write_stream(self.file, table, extra, self.format, header=not self.rows)
        self.rows += table.num_rows
        self.file.flush()


class GrowingTable:
    """A table in a file, by its suffix: CSV, TSV, JSON lines or Parquet.

    Used as a context: at its end the file gets its name; after an exception the rows written so
    far stay in :attr:`partial`.

    Parameters
    ----------
    path : Path
        Of the finished table.
    resume : bool, default=False
        Go on behind the rows that a stopped run left; Parquet files cannot be continued.

    Attributes
    ----------
    rows : int
        Written so far.
    facts : dict of str to str
        What the footer of a Parquet file is to say; read at the end.
    """

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        self.path, self.suffix = path, check_suffix(path)
        self.partial = partial_path(path)
        self.rows = self._end = 0
        self.facts: dict[str, str] = {}
        self._last: list[list[str]] = []
        self._file: TextIO | None = None
        self._sink: IO[bytes] | None = None
        self._parquet: Any = None
        self._resume = resume and self.partial.exists()
        if self._resume and self.suffix == ".parquet":
            raise DataError(
                f"--resume: {self.partial} cannot be continued, as Parquet files are closed for "
                "good; delete it and start anew, or write CSV."
            )

    def __enter__(self) -> GrowingTable:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.suffix == ".parquet":
            self._sink = self.partial.open("ab")
            keep_file(self._sink, self.partial)
            self._sink.truncate(0)
            return self
        self._file = self.partial.open("a", encoding="utf-8", newline="")
        keep_file(self._file, self.partial)  # before anything of another process is touched
        if self._resume:
            self.rows, self._last = drop_half_row(self.partial)
        else:
            self._file.truncate(0)
        self._end = self.partial.stat().st_size
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
            if kind is not None:
                os.truncate(self.partial, self._end)  # an interrupted write may end within a row
        if self._parquet is not None:
            self._parquet.add_key_value_metadata(self.facts)
            self._parquet.close()
        if self._sink is not None:
            self._sink.close()
        if kind is None:
            with self.partial.open("rb") as written:
                os.fsync(written.fileno())
            self.partial.replace(self.path)
        elif not self.rows:
            self.partial.unlink(missing_ok=True)

    def write(self, table: pa.Table, extra: Columns) -> None:
        """Add rows; they are in the file when this returns."""
        if self._file is None:
            self._write_parquet(combine(table, extra))
        else:
            header = not self.rows
            write_stream(self._file, table, extra, self.suffix[1:], header=header)
            self._file.flush()
            self._end = self.partial.stat().st_size
        self.rows += table.num_rows

    @property
    def to_check(self) -> int:
        """How many of the last rows are known after ``resume``."""
        return len(self._last)

    def check(self, table: pa.Table, extra: Columns) -> None:
        """Refuse to go on behind rows of other texts, or of another model.

        Parameters
        ----------
        table, extra
            The last :attr:`to_check` rows, made anew.
        """
        text = io.StringIO(newline="")
        write_stream(text, table, extra, self.suffix[1:], header=False)
        lines = io.BytesIO(text.getvalue().encode("utf-8"))
        width = table.num_columns + 1  # the cluster; numbers behind it may differ in last digits
        made = [(fields or [])[:width] for _, fields in _measured(lines, self.suffix)]
        if made != [fields[:width] for fields in self._last]:
            raise DataError(
                f"--resume: {self.partial} was made from other texts or by another model; delete "
                "it to start anew."
            )

    def _write_parquet(self, whole: pa.Table) -> None:
        import pyarrow.parquet

        if self._parquet is None:
            fields = [pa.field(f.name, _settled(f)) for f in whole.schema]
            self._parquet = pyarrow.parquet.ParquetWriter(self._sink, pa.schema(fields))
        try:
            fitting = whole.cast(self._parquet.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise DataError(
                f"{self.path.name}: after {self.rows:,} rows a column changes its kind ({error}); "
                "write CSV or JSON lines instead."
            ) from error
        self._parquet.write_table(fitting)


def partial_path(path: Path) -> Path:
    """Where a table grows.

    Examples
    --------
    >>> partial_path(Path("out/labelled.csv")).name
    'labelled.partial.csv'
    """
    return path.with_name(f"{path.stem}.partial{path.suffix}")


def drop_half_row(path: Path, last: int = LAST) -> tuple[int, list[list[str]]]:
    """Cut off what a killed process left of a last row.

    Returns
    -------
    rows : int
        Without the header.
    last : list of list of str
        Fields of the last rows.
    """
    rows, end, width = 0, 0, 0
    kept: deque[list[str]] = deque(maxlen=last)
    with path.open("rb") as file:
        for size, fields in _measured(file, path.suffix.lower()):
            if fields is None or (width and len(fields) != width):
                break
            if width or path.suffix.lower() == ".jsonl":
                rows += 1
                kept.append(fields)
            else:
                width = len(fields)  # of the header
            end += size
    with path.open("rb+") as file:
        file.truncate(end if rows else 0)
    return rows, list(kept)


def _measured(file: Iterable[bytes], suffix: str) -> Iterator[tuple[int, list[str] | None]]:
    """Bytes and fields of each row of an open file; no fields if the row is not whole."""
    used = 0

    def lines() -> Iterator[str]:
        nonlocal used
        for line in file:
            used += len(line)
            yield line.decode("utf-8", "replace") if line.endswith(b"\n") else ""

    if suffix == ".jsonl":
        for line in lines():
            yield used, _json_fields(line)
            used = 0
        return
    try:
        for _, row in csv_rows(lines(), "\t" if suffix == ".tsv" else ",", csv.QUOTE_MINIMAL):
            yield used, row or None
            used = 0
    except csv.Error:  # the end is inside a quoted field
        yield used, None


def _json_fields(line: str) -> list[str] | None:
    try:
        return [str(value) for value in json.loads(line).values()]
    except (json.JSONDecodeError, AttributeError):
        return None


def _settled(field: pa.Field) -> pa.DataType:
    """The kind of a column, also where the first rows have no value in it."""
    if not pa.types.is_null(field.type):
        return field.type
    name = field.name
    while name.startswith("coterie_"):
        name = name.removeprefix("coterie_")
    return KINDS.get(name, pa.int64() if name.removeprefix("level_").isdigit() else pa.string())
