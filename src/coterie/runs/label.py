"""Putting texts into the clusters of a model, a part at a time, as columns of a table."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from coterie._util.folders import one_state
from coterie._util.random import numpy_generator
from coterie._util.types import Floats, Ints
from coterie.arrays.novelty import place_new
from coterie.arrays.outliers import OutlierLimit, choose_rows
from coterie.arrays.tree import Tree
from coterie.describe import Cluster, describe_clusters, names_by_number
from coterie.describe.drift import Drift, find_drift
from coterie.describe.tree import Nodes, TreeRows, node_names, with_parents
from coterie.encoders.given import given_vectors
from coterie.errors import UsageError
from coterie.models.clusterer import TextClusterer
from coterie.models.edited import edited
from coterie.models.outliers import Assessed
from coterie.models.registry import load
from coterie.runs.added import held_out
from coterie.runs.clustering import Clustering
from coterie.runs.store import model_folder, read_clusters
from coterie.runs.table import result_columns
from coterie.texts.vectors import VectorRows

DRIFT_TEXTS = 20_000  # texts that are compared with those of the run


class Observer(Protocol):
    """What a labeller shows the texts to, with their clusters and vectors."""

    def add(self, texts: Sequence[str], labels: Ints, vectors: Floats) -> None:
        """Look at the next texts."""


class DriftSample:
    """A random choice of the texts that were labelled, to compare them with those of a run.

    Parameters
    ----------
    run : Clustering
    model : TextClusterer
    """

    def __init__(self, run: Clustering, model: TextClusterer) -> None:
        self.run, self.model = run, model
        self.seen = 0
        self.rows: list[tuple[str, int, Floats]] = []  # text, cluster, vector
        self._random = numpy_generator(0, "drift")

    def add(self, texts: Sequence[str], labels: Ints, vectors: Floats) -> None:
        """Take texts in; of more than 20,000 each has the same chance to stay."""
        for i in np.flatnonzero(labels >= 0).tolist():
            self.seen += 1
            row = texts[i], int(labels[i]), vectors[i]
            if len(self.rows) < DRIFT_TEXTS:
                self.rows.append(row)
            elif (place := int(self._random.integers(self.seen))) < DRIFT_TEXTS:
                self.rows[place] = row

    def drift(self) -> Drift:
        """How the texts differ from those of the run."""
        known = self.model._outlier_index().vectors
        old = np.asarray(self.model.assigner_.logits(known).argmax(axis=1), dtype=np.int64)
        names = {cluster.id: cluster.name for cluster in self.run.clusters}
        texts = [text for text, _, _ in self.rows]
        labels = np.array([label for _, label, _ in self.rows], dtype=np.int64)
        strange, alarm = np.zeros(len(labels), dtype=bool), False
        if self.rows:
            different = {text: vector for text, _, vector in reversed(self.rows)}
            order = {text: i for i, text in enumerate(dict.fromkeys(texts))}
            new = np.array([different[text] for text in order], dtype=np.float32)
            placed = place_new(known, old, new, max([*names, int(old.max())]) + 1)
            places = [order[text] for text in texts]
            found, strange, alarm = placed.labels[places], placed.nowhere[places], placed.alarm
            inside = np.isin(found, placed.new)
            labels[inside] = found[inside]
            for cluster in placed.new:
                members = [t for t, c in zip(texts, labels, strict=True) if c == cluster]
                names[cluster] = describe_clusters(members, [0] * len(members))[0].name
        some = choose_rows(len(self.run.texts), None, DRIFT_TEXTS, 0)
        earlier, before = [self.run.texts[i] for i in some], self.run.labels[some]
        unseen = held_out(known, old)
        return find_drift(earlier, before, texts, labels, names, int(strange.sum()), alarm, unseen)


class Labeller:
    """A model with what its clusters are called; those without a name by their number.

    The outlier limit is by default that of the model. ``tree`` is the merge tree of the run with
    all its clusters, and ``level`` the name or the number of clusters of a cut of it; default: the
    one that is shown.
    """

    def __init__(
        self,
        model: TextClusterer,
        clusters: Sequence[Cluster] | None = None,
        tree: tuple[Tree, Nodes] | None = None,
        outlier_limit: float | None = None,
        level: int | str | None = None,
    ) -> None:
        if outlier_limit is not None and not 0 <= outlier_limit <= 1:
            raise UsageError(f"`outlier_limit` should be between 0 and 1, got {outlier_limit}.")
        if level is not None:
            if tree is None:
                raise UsageError("`level`: this is a model without a run; name the run's folder.")
            cut, nodes = tree[0].at_level(level), tree[1]
            model = copy.copy(model)
            model.assigner_ = replace(edited(model.assigner_, model.n_clusters_), cut=cut.cut())
            model.n_clusters_, tree = cut.at, (cut, nodes)
            clusters = with_parents(cut, nodes, [nodes[i] for i in cut.shown()])
        self.model, self.clusters, self.tree = model, clusters, tree
        given = None if outlier_limit is None else OutlierLimit(outlier_limit)
        self.limit = given or model.outlier_limit_
        self.observers: list[Observer] = []
        self.vectors: VectorRows | None = None
        self._width: int | None = None

    @classmethod
    def read(
        cls,
        folder: Path,
        outlier_limit: float | None = None,
        level: int | str | None = None,
    ) -> Labeller:
        """The model and the names of a run folder, or of the folder of a model alone."""

        def read() -> Labeller:
            model = load(model_folder(folder))
            if not (folder / "clusters.json").exists():
                return cls(model, outlier_limit=outlier_limit, level=level)
            clusters, tree, nodes = read_clusters(folder)
            return cls(model, clusters, (tree, nodes), outlier_limit, level)

        return one_state([folder], read)

    def use_vectors(self, said: object) -> None:
        """Take vectors of the user's own for the texts to come."""
        if given_vectors(self.model.encoder_) is None:
            raise UsageError("`vectors`: the model has an encoder and needs none; leave them out.")
        self.vectors = VectorRows(said)

    def give(self, table: pa.Table, first: int, texts: list[str]) -> pa.Table:
        """Take the vectors of some rows in; returns the rows without them."""
        encoder = given_vectors(self.model.encoder_)
        if self.vectors is None or encoder is None:
            return table
        encoder.give(texts, self.vectors.take(table, first, texts))
        return self.vectors.without(table)

    def __call__(self, texts: Sequence[str]) -> dict[str, list[Any]]:
        """The columns cluster, name, confidence and so on of some texts."""
        seen = self.assess(texts)
        for observer in self.observers:
            observer.add(texts, seen.labels, seen.vectors)
        return self.columns(seen)

    def columns(self, seen: Assessed) -> dict[str, list[Any]]:
        """The columns cluster, name, confidence and so on of what :meth:`assess` found."""
        width = seen.probabilities.shape[1]
        names: list[Any] = [f"Cluster {i}" for i in range(width)]
        if self.clusters is not None:
            names = names_by_number(self.clusters, width)
        marked = None if self.limit is None else seen.outliers(self.limit)
        levels = None
        if self.tree is not None:
            finest = seen.labels if seen.finest is None else seen.finest
            levels = TreeRows(self.tree[0], node_names(self.tree[1]), finest)
        return result_columns(seen.labels, seen.probabilities, names, seen.scores, marked, levels)

    def assess(self, texts: Sequence[str]) -> Assessed:
        """What the model says; nothing about a part in which no row has a text."""
        if any(texts):
            found: Assessed = self.model.assess(texts)
            self._width = found.probabilities.shape[1]
            return found
        if self._width is None:
            self._width = self.model.assess(["0"]).probabilities.shape[1]
        n = len(texts)
        nothing = np.full(n, np.nan)
        none = np.full(n, -1, dtype=np.int64)
        zeros = np.zeros((n, self._width)), nothing, np.zeros((n, 0)), np.zeros(n, dtype=bool)
        return Assessed(*zeros, finest=none)
