"""Vectors that the user brings: one for each row, from a column, a file or an array."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._types import Floats
from coterie.corpus.corpus import check_column
from coterie.corpus.read import read_table
from coterie.errors import DataError, UsageError

TABLES = (".parquet", ".pq", ".arrow", ".feather", ".jsonl")


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
            self._array = _read_numpy(path)
        elif path.suffix.lower() in TABLES:
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
            found = _matrix(table.column(self.column).to_pylist(), self.name, first, texts)
        else:
            found = np.asarray(self._array[first : first + len(texts)], dtype=np.float32)
            if len(found) < len(texts):
                self.check_rows(first + len(texts))
        self._width = self._width or found.shape[1]
        bad = ~np.isfinite(found).all(axis=1) & np.array([text != "" for text in texts], dtype=bool)
        if found.shape[1] != self._width or bad.any():
            row = first + (int(bad.argmax()) if bad.any() else 0) + 1
            raise DataError(
                f"`vectors`: {self.name}, row {row} is not a list of {self._width:,} finite "
                "numbers; mend or remove it."
            )
        return found

    def without(self, table: pa.Table) -> pa.Table:
        """The table without the column of vectors."""
        drop = self.column is not None and self.column in table.column_names
        return table.drop_columns([self.column]) if drop else table


def _as_matrix(given: object, name: str) -> Any:
    try:
        array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"`vectors`: {name} should be numbers of shape (rows, width), got rows of several "
            "lengths."
        ) from error
    if array.ndim != 2 or not array.shape[1] or array.dtype.kind not in "fiu":
        raise DataError(
            f"`vectors`: {name} should be numbers of shape (rows, width), got {array.dtype} "
            f"{array.shape}."
        )
    return array


def _read_numpy(path: Path) -> Any:
    """An array that is read from the disk where it is needed; pickles are not loaded."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}.") from error
    except (OSError, ValueError, EOFError) as error:
        raise DataError(
            f"`vectors`: {path} is not a file of numbers, or is damaged ({error}); save it with "
            "numpy.save, without objects."
        ) from error
    return _as_matrix(found, str(path))


def _read_column(path: Path) -> Floats:
    """The one column of a table that holds lists of numbers."""
    table, _ = read_table(path)
    lists = [f.name for f in table.schema if _is_list(f.type) or pa.types.is_string(f.type)]
    kept = [name for name in lists if _begins_with_vector(table.column(name))]
    if len(kept) != 1:
        raise UsageError(
            f"`vectors`: {path} should have one column with lists of numbers (columns: "
            f"{', '.join(table.column_names)})."
        )
    cells = table.column(kept[0]).to_pylist()
    return _matrix(cells, str(path), 0, ["-"] * len(cells))


def _begins_with_vector(column: pa.ChunkedArray) -> bool:
    first = next((cell.as_py() for cell in column if cell.is_valid), None)
    return first is not None and _numbers(first) is not None


def _matrix(cells: list[Any], name: str, first: int, texts: list[str]) -> Floats:
    """Lists, or their JSON, as a matrix; rows without a text may have none."""
    rows = [_numbers(cell) for cell in cells]
    width = next((len(row) for row in rows if row is not None), 0)
    for i, (row, text) in enumerate(zip(rows, texts, strict=True)):
        if (row is None and text) or (row is not None and len(row) != width):
            raise DataError(
                f"`vectors`: {name}, row {first + i + 1} is not a list of {width:,} finite "
                "numbers; mend or remove it."
            )
    nothing = np.zeros(width, dtype=np.float32)
    return np.stack([nothing if row is None else row for row in rows]).astype(np.float32)


def _numbers(cell: object) -> Floats | None:
    """The numbers of a cell; None if there are none."""
    try:
        values = json.loads(cell) if isinstance(cell, str) else cell
        row = np.asarray(values, dtype=np.float32)
    except (ValueError, TypeError):
        return None
    return row if row.ndim == 1 and len(row) else None


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
