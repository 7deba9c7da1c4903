"""Texts from Python objects: lists, numpy, pandas, polars and Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie._errors import DataError, UsageError
from coterie.corpus.clean import clean_text, has_words, value_to_text
from coterie.corpus.columns import pick_text_column
from coterie.corpus.corpus import Corpus, build


def texts_from(data: Any, text_column: str | None = None) -> list[str]:
    """Cleaned texts of any supported object; rows without words become the empty text.

    Parameters
    ----------
    data : list, ndarray, Series, DataFrame, pyarrow Array or Table
        A table needs ``text_column`` unless one column is the obvious choice.
    text_column : str, optional
    """
    if _is_table(data):
        return make_corpus(data, text_column).texts
    texts = [clean_text(value_to_text(value)) for value in _values(data)]
    return [text if has_words(text) else "" for text in texts]


def make_corpus(data: Any, text_column: str | None = None) -> Corpus:
    """Turn any supported object into a :class:`Corpus`."""
    if _is_table(data):
        table = data if isinstance(data, pa.Table) else pa.table(data)
        return build(table, pick_text_column(table, text_column, "text_column"))
    values = [value_to_text(value) for value in _values(data)]
    return build(pa.table({"text": pa.array(values, pa.string())}), "text")


def _is_table(data: Any) -> bool:
    return isinstance(data, pa.Table) or (
        hasattr(data, "columns") and hasattr(data, "__arrow_c_stream__")
    )


def _values(data: Any) -> list[Any]:
    if isinstance(data, (str, bytes)):
        raise UsageError("X is one single string; pass a list of texts.")
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return list(data.to_pylist())
    if hasattr(data, "to_list"):  # pandas and polars Series
        return list(data.to_list())
    if isinstance(data, dict):
        raise UsageError("X is a dictionary; pass a list of texts or a table.")
    if isinstance(data, np.ndarray):
        return _column_of(data)
    try:
        values = list(data)
    except TypeError as error:
        raise UsageError(f"X should be a list of texts, got {type(data).__name__}.") from error
    for i, value in enumerate(values):
        if isinstance(value, (list, tuple, np.ndarray)):
            raise DataError(
                f"X[{i}] is a {type(value).__name__}, not a text. For an array of vectors set "
                "encoder='precomputed'."
            )
    return values


def _column_of(array: NDArray[Any]) -> list[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise UsageError(
            f"X has shape {array.shape}; texts are a list. For an array of vectors set "
            "encoder='precomputed'."
        )
    return list(array.tolist())
