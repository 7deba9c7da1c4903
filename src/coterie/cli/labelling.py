"""Putting texts into the clusters of a model, a part at a time, as columns of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from coterie._errors import DataError
from coterie._files import sha256_file
from coterie._folders import one_state
from coterie.base import TextClusterer
from coterie.base.outlying import Assessed
from coterie.cli.handover import add_columns, mark_new
from coterie.cli.run_folder import assignment_columns
from coterie.corpus import TextStream
from coterie.corpus.corpus import no_words
from coterie.corpus.growing import GrowingTable
from coterie.description import Cluster, names_by_number
from coterie.hierarchy import Hierarchy
from coterie.methods import load
from coterie.run_files import model_folder, read_clusters, read_levels

if TYPE_CHECKING:
    from coterie.cli.large import LargeCorpus


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
    digest : str
        Of all that labels and names come from; empty if it was not read from a folder.
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
        self.digest = ""  # of the folder that it was read from
        self.marked = self.placed = 0
        self._width: int | None = None

    @classmethod
    def read(cls, folder: Path, outlier_limit: float | None = None) -> Labeller:
        """The model and the names of a run folder, or of the folder of a model alone."""

        def read() -> Labeller:
            model = load(model_folder(folder))
            clusters = read_clusters(folder) if (folder / "clusters.json").exists() else None
            found = cls(model, clusters, read_levels(folder), outlier_limit)
            found.digest = model_digest(folder)
            return found

        return one_state([folder], read)

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
        return f"{self.marked:,} of {self.placed:,} texts ({share:.1f}%) are none of these."

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


def model_digest(folder: Path) -> str:
    """Of everything that labels and names come from."""
    root = model_folder(folder)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    if root != folder:
        named = (folder / name for name in ("clusters.json", "levels.json"))
        files += [path for path in named if path.exists()]
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(folder).as_posix()} {sha256_file(path)}\n".encode())
    return digest.hexdigest()


def label(
    corpus: TextStream | LargeCorpus, labeller: Labeller, table: GrowingTable | None = None
) -> Iterator[tuple[pa.Table, dict[str, list[Any]]]]:
    """Each part of the input with its new columns.

    Parameters
    ----------
    corpus : TextStream or LargeCorpus
    labeller : Labeller
    table : GrowingTable, optional
        Rows that it has already are left out; they must be those that it was made from.
    """
    done = 0 if table is None else table.rows
    rows = 0
    for chunk in corpus:
        rows = chunk.first + len(chunk)
        old = min(max(done - chunk.first, 0), len(chunk))
        if old and table is not None:
            table.skip(chunk.part(0, old).table)
        if old < len(chunk):
            new = chunk.part(old, len(chunk))
            yield new.table, labeller(new.texts)
    if rows < done:
        raise DataError(f"--resume: {done:,} rows are labelled, but only {rows:,} can be read.")
    if not labeller.placed and not done:
        raise no_words(rows, str(corpus.text_column))
