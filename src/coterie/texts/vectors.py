"""Vectors that the user brings: one for each row, from a column, a file or an array."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._util.types import Floats
from coterie.errors import DataError, UsageError
from coterie.texts.corpus import cell_values, check_column
from coterie.texts.read import read_table

TABLE_SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".jsonl")


class VectorRows:
    """The vectors of the rows of a table, checked a part at a time.

    Parameters
    ----------
    said : str, Path or array
        A column of the table; a file of numpy (``.npy``); a file with one column of vectors
        (``.parquet``, ``.arrow``, ``.feather``, ``.jsonl``); or an array of shape (rows, width).
    """

    def __init__(self, said: object) -> None:
        self.column: str | None = None
        self.name = "vectors"
        self._array: Any = None
        self._width: int | None = None
        if not isinstance(said, (str, Path)):
            self._array = _as_matrix(said, self.name)
            return
        path, self.name = Path(said), str(said)
        if path.suffix.lower() == ".npy":
            self._array = _as_matrix(path, self.name)
        elif path.suffix.lower() in TABLE_SUFFIXES:
            self._array = _read_column(path)
        else:
            self.column = self.name

    def check_rows(self, rows: int) -> None:
        """Reject a file or an array with another number of rows than the table."""
        if self._array is not None and len(self._array) != rows:
            raise DataError(
                f"`vectors`: {self.name} has {len(self._array):,} rows, but the table has "
                f"{rows:,}; give one vector a row."
            )

    def take(self, table: pa.Table, first: int, texts: list[str]) -> Floats:
        """Vectors of the rows of a table, of which ``first`` come before; zeros without a text."""
        if self.column is not None:
            check_column(table, self.column, "vectors")
            vectors = _matrix(table.column(self.column))
        else:
            vectors = np.array(self._array[first : first + len(texts)], dtype=np.float32)
            if len(vectors) < len(texts):
                self.check_rows(first + len(texts))
        self._width = self._width or vectors.shape[1]
        filled = np.array([text != "" for text in texts], dtype=bool)
        bad = filled & ~np.isfinite(vectors).all(axis=1)
        if vectors.shape[1] != self._width or bad.any():
            raise DataError(
                f"`vectors`: {self.name}, row {first + int(bad.argmax()) + 1} is not a list of "
                f"{self._width:,} finite numbers; correct or remove it."
            )
        vectors[~filled] = 0
        return vectors

    def without(self, table: pa.Table) -> pa.Table:
        """The table without the column of vectors."""
        drop = self.column is not None and self.column in table.column_names
        return table.drop_columns([self.column]) if drop else table


def _as_matrix(given: object, name: str) -> Any:
    """An array, or the file of one, which is read from the disk where it is needed."""
    try:
        if isinstance(given, Path):
            given = np.load(given, mmap_mode="r", allow_pickle=False)
        array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=np.float32)
        if array.ndim == 2 and array.shape[1] and array.dtype.kind in "fiu":
            return array
        error = ValueError(f"{array.dtype} {array.shape}")
    except FileNotFoundError as missing:
        raise UsageError(f"there is no file {name}.") from missing
    except (OSError, TypeError, ValueError, EOFError) as wrong:
        error = ValueError(wrong)
    raise DataError(f"`vectors`: {name} should be numbers of shape (rows, width): {error}.")


def _read_column(path: Path) -> Floats:
    """The one column of a table that holds lists of numbers."""
    table, _ = read_table(path)
    lists = [column for column in table.columns if _matrix(column.drop_null()[:1]).shape[1]]
    if len(lists) != 1:
        raise UsageError(
            f"`vectors`: {path} should have one column with lists of numbers (columns: "
            f"{', '.join(table.column_names)})."
        )
    return _matrix(lists[0])


def _matrix(column: pa.ChunkedArray) -> Floats:
    """Lists, or their JSON, as a matrix; what is none, or of another length, is not a number."""
    rows = [_numbers(cell) for cell in cell_values(column)]
    width = next((len(row) for row in rows if len(row)), 0)
    found = np.full((len(rows), width), np.nan, dtype=np.float32)
    for i, row in enumerate(rows):
        if len(row) == width:
            found[i] = row
    return found


def _numbers(cell: object) -> Floats:
    """The numbers of a cell; none if it is not a list of them."""
    try:
        values = json.loads(cell) if isinstance(cell, str) else cell
        row = np.asarray(values, dtype=np.float32)
    except (ValueError, TypeError):
        row = np.empty(0, dtype=np.float32)
    return row if row.ndim == 1 else np.empty(0, dtype=np.float32)
