"""Texts from Python objects: lists, numpy, pandas, polars, Arrow and Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie._errors import DataError, UsageError
from coterie.corpus.clean import value_to_text
from coterie.corpus.columns import cell_values, check_column, pick_text_column, usual_column
from coterie.corpus.corpus import CleanTexts, Corpus, build, clean_values


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
    return clean_values(_texts_of(data, text_column))


def make_corpus(data: Any, text_column: str | None = None) -> Corpus:
    """Turn any supported object into a :class:`Corpus`."""
    if _is_table(data):
        table = data if isinstance(data, pa.Table) else pa.table(data)
        return build(table, pick_text_column(table, text_column, "text_column"))
    values = [value_to_text(value) for value in _texts_of(data, text_column)]
    return build(pa.table({"text": pa.array(values, pa.string())}), "text")


def _texts_of(data: Any, text_column: str | None) -> list[Any]:
    """The values of the text column, or of the list itself."""
    if _is_table(data):
        table = data if isinstance(data, pa.Table) else pa.table(data)
        return cell_values(table.column(pick_text_column(table, text_column, "text_column")))
    if hasattr(data, "column_names") and hasattr(data, "features"):  # a Hugging Face dataset
        return _of_dataset(data, text_column)
    values = _values(data)
    if values and all(isinstance(value, Mapping) for value in values):
        names = list(dict.fromkeys(name for row in values for name in row))
        texts = [n for n in names if any(isinstance(row.get(n), str) for row in values)]
        chosen = _only_column(names, texts, text_column, "X is a list of dicts")
        return [row.get(chosen) for row in values]
    for i, value in enumerate(values):
        if isinstance(value, (list, tuple, Mapping, np.ndarray)):
            raise DataError(
                f"X[{i}] is a {type(value).__name__}, not a text. For an array of vectors set "
                "encoder='precomputed'."
            )
    return values


def _of_dataset(data: Any, text_column: str | None) -> list[Any]:
    if data.column_names is None:
        raise UsageError("X is a dataset that does not know its columns; pass a list of texts.")
    names = list(data.column_names)
    kinds = {name: str(getattr(data.features[name], "dtype", "")) for name in names}
    texts = [name for name in names if kinds[name] in ("string", "large_string", "string_view")]
    chosen = _only_column(names, texts, text_column, "X is a dataset")
    if hasattr(data, "select_columns"):  # no other column is decoded
        data = data.select_columns([chosen])
    return [row[chosen] for row in data]


def _only_column(names: list[str], texts: list[str], wanted: str | None, what: str) -> str:
    """The column asked for, else the only one of texts, else one with a usual name."""
    if wanted is not None:
        return check_column(names, wanted, "text_column")
    if len(texts) == 1:
        return texts[0]
    if (usual := usual_column(texts)) is not None:
        return usual
    raise UsageError(
        f"{what} with the columns {', '.join(map(str, names))}, and it is not clear which holds "
        'the texts; pass one column, such as [row["text"] for row in X].'
    )


def _is_table(data: Any) -> bool:
    return isinstance(data, pa.Table) or (
        hasattr(data, "columns") and hasattr(data, "__arrow_c_stream__")
    )


def _values(data: Any) -> list[Any]:
    if isinstance(data, (str, bytes)):
        raise UsageError("X is one single string; pass a list of texts.")
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return cell_values(data)
    if hasattr(data, "to_list"):  # pandas and polars Series
        return list(data.to_list())
    if isinstance(data, dict):
        raise UsageError("X is a dictionary; pass a list of texts or a table.")
    if isinstance(data, np.ndarray):
        return _column_of(data)
    try:
        return list(data)
    except TypeError as error:
        raise UsageError(f"X should be a list of texts, got {type(data).__name__}.") from error


def _column_of(array: NDArray[Any]) -> list[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise UsageError(
            f"X has shape {array.shape}; texts are a list. For an array of vectors set "
            "encoder='precomputed'."
        )
    return list(array.tolist())
