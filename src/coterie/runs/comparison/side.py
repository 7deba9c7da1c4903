"""One of two clusterings to compare: rows with clusters, from a run folder, a table or lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._util.trust import inside
from coterie._util.types import Ints
from coterie._util.validation import whole_number
from coterie.errors import CoterieError, DataError, UsageError
from coterie.runs.page_data import cluster_columns
from coterie.runs.store import read
from coterie.texts import read_table
from coterie.texts.corpus import (
    as_table,
    as_whole,
    cell_values,
    check_column,
    clean_values,
    pick_text_column,
    value_to_text,
)


@dataclass(frozen=True)
class Side:
    """Rows with their clusters, and what is known about the clusters.

    Attributes
    ----------
    title : str
    labels : ndarray of shape (n,)
        Cluster of each row, -1 for none.
    names : dict of int to str
        Of every cluster in ``labels``.
    texts, ids : list of str, optional
        Of each row.
    model : Path, optional
        Folder of the saved model.
    notes : tuple of str
        What was taken and what was left out, in sentences.
    """

    title: str
    labels: Ints
    names: Mapping[int, str]
    texts: list[str] | None = None
    ids: list[str] | None = None
    model: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def clusters(self) -> list[int]:
        """Clusters that hold rows, by number."""
        return [int(i) for i in np.unique(self.labels) if i >= 0]


def make_side(
    source: Any,
    title: str,
    option: str,
    column: str | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
) -> Side:
    """A side from what a user has: a side, a run folder, a table, or one label for each row.

    ``title`` is for labels, which have no name of their own. The columns are those of a table:
    ``option`` names the argument that ``column`` is.
    """
    if isinstance(source, Side):
        return source
    if isinstance(source, (str, Path)):
        if Path(source).is_dir():
            return read_run_side(Path(source), id_column)
        return read_table_side(source, option, column, text_column, id_column)
    if (table := as_table(source)) is not None:
        return read_table_side(table, option, column, text_column, id_column, title)
    labels, names = read_labels(list(source))
    return Side(title, labels, names, ids=[str(i) for i in range(len(labels))])


def read_run_side(folder: Path, id_column: str | None = None) -> Side:
    """The clustering of a finished run."""
    run, model = read(folder), inside(folder, "model")
    chosen = id_column or run.id_column
    columns = run.table.column_names
    if chosen is not None and chosen not in columns:
        known = ", ".join(columns)
        raise DataError(f"`id_column`: {folder} has no column {chosen!r} (columns: {known}).")
    return Side(
        title=folder.name or str(folder),
        labels=run.labels,
        names={c.id: c.name for c in run.clusters},
        texts=run.texts,
        ids=None if chosen is None else [value_to_text(v) for v in run.column(chosen)],
        model=model if (model / "config.json").exists() else None,
    )


def read_table_side(
    source: str | Path | pa.Table,
    option: str,
    column: str | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    title: str = "",
) -> Side:
    """The clustering in a column of any table; default: that of the latest run in it."""
    if not isinstance(source, pa.Table):
        title, source = Path(source).name, read_table(source, header=True)[0]
    table = source
    column, called, sentence = cluster_columns(table.column_names, column)
    check_column(table, column, option)
    labels, names = read_labels(cell_values(table.column(column)))
    notes = [f"{title}: {sentence}."]
    if missing := int((labels < 0).sum()):
        notes.append(f"{title}: {missing:,} rows have no cluster.")
    if called and all(n.startswith("Cluster ") for n in names.values()):
        given = [value_to_text(v) for v in cell_values(table.column(called))]
        first = dict(zip(labels[::-1].tolist(), given[::-1], strict=True))
        names = {i: first.get(i) or name for i, name in names.items()}
    ids = None
    if id_column is not None:
        check_column(table, id_column, "`id_column`")
        ids = [value_to_text(v) for v in cell_values(table.column(id_column))]
    rest = table.drop_columns([column]) if table.num_columns > 1 else None
    texts = None
    if rest is not None:
        try:
            chosen = pick_text_column(rest, text_column, "`text_column`")
            texts = clean_values(cell_values(rest.column(chosen)))
        except CoterieError:
            if ids is None or text_column is not None:
                raise
    return Side(title, labels, names, texts, ids, notes=tuple(notes))


def read_labels(values: Sequence[Any]) -> tuple[Ints, dict[int, str]]:
    """Labels of any kind as numbers from 0, and what each is called.

    Whole numbers stay what they are; -1 and missing values mean no cluster. Other values are
    numbered in the order of the alphabet.

    Examples
    --------
    >>> read_labels(["7", "3", "-1"])
    (array([ 7,  3, -1]), {3: 'Cluster 3', 7: 'Cluster 7'})
    >>> read_labels(["late", "", "broken"])
    (array([ 1, -1,  0]), {0: 'broken', 1: 'late'})
    """
    plain = (value.item() if isinstance(value, np.generic) else value for value in values)
    texts = [value_to_text(as_whole(value)).strip() for value in plain]
    kinds = sorted({text for text in texts if text})
    whole = all(_whole(text) for text in kinds)
    if whole and any(int(text) < -1 for text in kinds):
        raise UsageError("labels: clusters are numbered from 0; -1 means no cluster.")
    if whole:
        labels = np.array([int(text) if text else -1 for text in texts], dtype=np.int64)
        return labels, {int(i): f"Cluster {i}" for i in np.unique(labels) if i >= 0}
    code = {kind: i for i, kind in enumerate(kinds)}
    labels = np.array([code[text] if text else -1 for text in texts], dtype=np.int64)
    return labels, dict(enumerate(kinds))


def _whole(text: str) -> bool:
    return whole_number(text.removeprefix("-")) is not None
