"""The table of a run: its columns, those of the input and those of coterie, and frames of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie._util.types import Bools, Floats, Ints
from coterie._util.validation import need
from coterie.describe import Cluster
from coterie.describe.names import NO_CLUSTER, NONE_OF_THESE
from coterie.describe.tree import TreeRows
from coterie.errors import DataError
from coterie.texts.corpus import cell_values, value_to_text
from coterie.texts.write import bare_name, result_kind


def with_types(table: pa.Table, manifest: Mapping[str, Any]) -> pa.Table:
    """Columns of texts with the types that the run was given.

    A column that has become another one, as by an update with other cells, stays texts.
    """
    for name, said in manifest["data"].get("types", {}).items():
        zone = re.fullmatch(r"timestamp\[(s|ms|us|ns), tz=(.+)\]", said)
        with suppress(KeyError, ValueError, pa.ArrowException):
            column = table[name]
            filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            inside = re.match(r"dictionary<values=(\w+)", said)  # categories
            alias = inside[1] if inside else said
            typed = filled.cast(pa.timestamp(*zone.groups()) if zone else pa.type_for_alias(alias))
            typed = typed.dictionary_encode() if inside else typed
            table = table.set_column(table.column_names.index(name), name, typed)
    return table


def as_texts(table: pa.Table) -> pa.Table:
    """The table with the columns of the input as texts, as files have them."""
    own = own_columns(table.column_names).values()
    for place, name in enumerate(table.column_names):
        column = table[name]
        if name not in own and (column.null_count or not pa.types.is_string(column.type)):
            texts = pa.array(map(value_to_text, cell_values(column)), pa.string())
            table = table.set_column(place, name, texts)
    return table


def mark_outliers(table: pa.Table) -> pa.Table:
    """The table of a run with outliers as booleans; files say yes and no."""
    name = own_columns(table.column_names)["outlier"]
    marks = pc.equal(table[name], "yes")
    return table.set_column(table.column_names.index(name), name, marks)


def index_of(data: Any) -> tuple[Any, set[str]]:
    """The index of a frame or a series of pandas, and what Arrow calls it; None for others."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, (pandas.DataFrame, pandas.Series)):
        return None, set()
    names = {
        str(n) for i, name in enumerate(data.index.names) for n in (name, f"__index_level_{i}__")
    }
    return data.index, names - set(map(str, getattr(data, "columns", ())))


def as_frame(table: pa.Table, index: Any, names: Collection[str]) -> Any:
    """The table of a run as pandas, with the index that :func:`index_of` found; else as it is."""
    if index is None:
        return table
    frame = to_frame(table)
    if len(frame) != len(index):  # rows were added since
        return frame
    own = own_columns(table.column_names).values()
    return frame[[n for n in frame if n in own or n not in names]].set_axis(index)


def to_frame(table: pa.Table) -> Any:
    """The table of a run as pandas; whole numbers stay whole where some rows have none."""
    need("pandas", "pandas")
    frame = table.to_pandas(ignore_metadata=True)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_integer(column.type) and column.null_count:
            frame[name] = column.to_pandas(integer_object_nulls=True).astype("Int64")
    return frame


def result_columns(
    labels: Ints,
    probabilities: Floats,
    names: Sequence[str | None],
    scores: Floats,
    outliers: Bools | None = None,
    tree: TreeRows | None = None,
) -> dict[str, list[Any]]:
    """The columns that coterie adds to the input's own.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        The nearest cluster, also of outliers; -1 for rows without a text.
    probabilities : ndarray of shape (n, width)
    names : sequence of str or None
        By the number of the cluster; None for numbers that no cluster has.
    scores : ndarray of shape (n,)
        Outlier scores; not a number for rows without a text.
    outliers : ndarray of shape (n,), optional
        None where no text may be one: then there is no column ``nearest_cluster``.
    tree : TreeRows, optional
        For the columns of other levels.
    """
    order, rows = np.argsort(-probabilities, axis=1, kind="stable"), np.arange(len(labels))
    best = margin = probabilities[rows, order[:, 0]]
    runner_up: list[int | None] = [None] * len(labels)
    if probabilities.shape[1] > 1:
        margin = best - probabilities[rows, order[:, 1]]
        pairs = zip(order[:, 1].tolist(), labels, strict=True)
        runner_up = [None if i < 0 or names[second] is None else second for second, i in pairs]
    odd = np.zeros(len(labels), dtype=bool) if outliers is None else outliers
    out: dict[str, list[Any]] = {
        "cluster": np.where(odd, -1, labels).tolist(),
        "name": [
            NONE_OF_THESE if o else NO_CLUSTER if i < 0 else names[i] or f"Cluster {i}"
            for i, o in zip(labels, odd, strict=True)
        ],
        "confidence": [round(value, 4) for value in best.tolist()],
        "runner_up": runner_up,
        "margin": [round(value, 4) for value in margin.tolist()],
        "outlier": ["yes" if o else "no" for o in odd],
        "outlier_score": [None if s != s else round(s, 4) for s in scores.tolist()],
    }
    if outliers is not None:
        out["nearest_cluster"] = [None if i < 0 else i for i in labels.tolist()]
    if tree is not None:
        out |= tree.columns(out["cluster"], out["name"])
    return out


def replace_columns(table: pa.Table, fresh: Mapping[str, Sequence[Any]]) -> pa.Table:
    """The table of a run with other values in those result columns that it has."""
    own = own_columns(table.column_names)
    for name, values in fresh.items():
        if name in own:
            place = table.column_names.index(own[name])
            table = table.set_column(place, own[name], pa.array(values, result_kind(name)))
    return table


def result_column(columns: Sequence[str], name: str) -> str:
    """The name under which a result column was written: it stands behind the input's columns."""
    for column in reversed(list(columns)):
        if bare_name(column) == name:
            return column
    raise DataError(f"the table has no column {name!r}; is it the assignments.csv of a run?")


def own_columns(columns: Sequence[str]) -> dict[str, str]:
    """Result columns of a table by what they are: the name under which each was written.

    They begin with that of the cluster; whatever stands before it came with the texts.
    """
    names = list(columns)
    start = names.index(result_column(names, "cluster"))
    return {bare_name(name): name for name in names[start:]}


def check_known(labels: Iterable[int], clusters: Iterable[Cluster], folder: Path) -> None:
    """Refuse a table with clusters that are not described; -1 stands for none."""
    strange = set(labels) - {cluster.id for cluster in clusters} - {-1}
    if strange:
        raise DataError(
            f"{folder} is damaged: assignments.csv has rows in cluster {min(strange)}, which "
            "clusters.json does not describe."
        )


def given_numbers(guidance: Mapping[str, Any]) -> list[int]:
    """Clusters of the classes that were given to a run, in the order of their names."""
    return list(guidance.get("numbers", range(len(guidance["given"]))))
