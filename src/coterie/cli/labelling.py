"""Putting texts into the clusters of a model, a part at a time, as columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._errors import DataError
from coterie._files import read_json
from coterie.base import TextClusterer
from coterie.base.outlying import Assessed
from coterie.cli.handover import add_columns, mark_new, read_hierarchy
from coterie.cli.run_folder import assignment_columns
from coterie.corpus import Chunk, TextStream
from coterie.corpus.corpus import no_words
from coterie.corpus.growing import GrowingTable
from coterie.description import Cluster, names_by_number
from coterie.hierarchy import Hierarchy
from coterie.methods import load


class Labeller:
    """A model with what its clusters are called.

    Parameters
    ----------
    model : TextClusterer
    clusters : sequence of Cluster, optional
        Those that have names; others are called by their number.
    hierarchy : Hierarchy, optional
    outlier_limit : float, optional
        Default: that of the model.

    Attributes
    ----------
    marked, placed : int
        Outliers and texts with a cluster among those labelled so far.
    """

    def __init__(
        self,
        model: TextClusterer,
        clusters: Sequence[Cluster] | None = None,
        hierarchy: Hierarchy | None = None,
        outlier_limit: float | None = None,
    ) -> None:
        self.model, self.hierarchy, self.outlier_limit = model, hierarchy, outlier_limit
        self.clusters = clusters
        self.marked = self.placed = 0
        self._width: int | None = None

    @classmethod
    def read(cls, folder: Path, outlier_limit: float | None = None) -> Labeller:
        """The model and the names of a run folder, or of the folder of a model alone."""
        inside = folder / "model"
        model_folder = inside if (inside / "config.json").exists() else folder
        if not (model_folder / "config.json").exists():
            raise DataError(f"{folder} holds no model (neither model/config.json nor config.json).")
        clusters = None
        if (folder / "clusters.json").exists():
            clusters = [Cluster.from_dict(c) for c in read_json(folder / "clusters.json")]
        return cls(load(model_folder), clusters, read_hierarchy(folder), outlier_limit)

    def __call__(self, texts: Sequence[str]) -> dict[str, list[Any]]:
        """The columns cluster, name, confidence and so on of some texts."""
        seen = self._assess(texts)
        width = seen.probabilities.shape[1]
        names: list[Any] = [f"Cluster {i}" for i in range(width)]
        if self.clusters is not None:
            names = names_by_number(self.clusters, width)
        marked, _ = mark_new(self.model, seen, self.outlier_limit)
        self.placed += int((seen.labels >= 0).sum())
        self.marked += 0 if marked is None else int(marked.sum())
        columns = assignment_columns(seen.labels, seen.probabilities, names)
        return add_columns(columns, seen.scores, marked, self.hierarchy)

    @property
    def sentence(self) -> str:
        """How many were outliers; empty where none could be."""
        if self.outlier_limit is None and self.model.outlier_limit_ is None:
            return ""
        share = 100 * self.marked / max(self.placed, 1)
        return f"{self.marked:,} of {self.placed:,} texts ({share:.1f} %) are none of these."

    def _assess(self, texts: Sequence[str]) -> Assessed:
        """What the model says; nothing about a part in which no row has a text."""
        if any(texts):
            found: Assessed = self.model.assess(list(texts))
            self._width = found.probabilities.shape[1]
            return found
        if self._width is None:
            self._width = self.model.assess(["0"]).probabilities.shape[1]
        n = len(texts)
        nothing = np.full(n, np.nan)
        return Assessed(
            np.zeros((n, self._width)), nothing, np.zeros((n, 0)), np.zeros(n, dtype=bool)
        )


def label(
    stream: TextStream, labeller: Labeller, table: GrowingTable | None = None
) -> Iterator[tuple[pa.Table, dict[str, list[Any]]]]:
    """Each part of the input with its new columns.

    Parameters
    ----------
    stream : TextStream
    labeller : Labeller
    table : GrowingTable, optional
        Rows that it has already are left out, after a look whether the last of them are as they
        would be now.
    """
    done = 0 if table is None else table.rows
    known: list[Chunk] = []
    rows = 0
    for chunk in stream:
        rows = chunk.first + len(chunk)
        old = min(max(done - chunk.first, 0), len(chunk))
        if old and table is not None:
            known.append(part_of(chunk, max(0, done - table.to_check - chunk.first), old))
            if rows >= done:
                _check(table, known, labeller)
        if old < len(chunk):
            new = part_of(chunk, old, len(chunk))
            yield new.table, labeller(new.texts)
    if rows < done:
        raise DataError(f"--resume: {done:,} rows are labelled, but only {rows:,} can be read.")
    if not labeller.placed and not done:
        raise no_words(rows, str(stream.text_column))


def part_of(chunk: Chunk, first: int, last: int) -> Chunk:
    """Some rows of a chunk."""
    return Chunk(
        chunk.first + first,
        chunk.table.slice(first, max(last - first, 0)),
        chunk.texts[first:last],
        chunk.values[first:last],
    )


def _check(table: GrowingTable, known: Sequence[Chunk], labeller: Labeller) -> None:
    rows = pa.concat_tables([chunk.table for chunk in known if len(chunk)])
    counted = labeller.marked, labeller.placed
    columns = labeller([text for chunk in known for text in chunk.texts])
    labeller.marked, labeller.placed = counted
    table.check(rows, columns)
