"""A finished run as a value, and functions that make one of another.

A verb (edit, update, rename, keep) is a function that takes a clustering and returns another; it
opens no file. :mod:`coterie.runs.store` reads and writes the folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._util.trust import inside
from coterie._util.types import Bools, Floats, Ints
from coterie.arrays.tree import Tree
from coterie.describe import Cluster, describe_numbered, guess_columns, rename_clusters
from coterie.describe.summary import count_clusters, measure
from coterie.describe.terms import Terms
from coterie.describe.tree import (
    LEVEL_COLUMN,
    TreeRows,
    by_number,
    node_names,
    rename_nodes,
    with_parents,
)
from coterie.errors import DataError
from coterie.models.clusterer import TextClusterer
from coterie.models.storage import read_config
from coterie.runs.table import check_known, own_columns, replace_columns
from coterie.texts.corpus import CleanTexts, cell_values, clean_values, combine

OWN = {"cluster", "name", "confidence", "margin"}  # result columns that every run has


@dataclass(frozen=True)
class Clustering:
    """Rows with their clusters, the tree that these are a cut of, and how all was made.

    Attributes
    ----------
    folder : Path
        Where it was read from, or is made; the model lies there.
    facts : dict
        The manifest: method, parameters, data, and what was edited, added and named. Numbers and
        names; the summary is made from them.
    table : pyarrow.Table
        Columns of the input, then those of coterie.
    clusters : list of Cluster
    tree : Tree
        The merge tree that the clusters are a cut of.
    nodes : mapping of int to Cluster
        All its clusters but the one that holds all texts, by their numbers.
    map : dict or None
        Where texts are on the map.
    fitted : TextClusterer or None
        The model, if it is not as the folder has it.
    version : str
        Tells the state of the folder from every other; see :attr:`coterie.Run.version`.
    stability : dict or None
        How stable the clusters are, as ``coterie stability`` has measured it.
    """

    folder: Path
    facts: dict[str, Any]
    table: pa.Table
    clusters: list[Cluster]
    tree: Tree
    nodes: Mapping[int, Cluster]
    map: dict[str, Any] | None = None
    fitted: TextClusterer | None = None
    version: str = ""
    stability: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        needed = {self.text_column, self.id_column or self.text_column}
        missing = [*needed - {*self.table.column_names}, *OWN - self.own.keys()]
        if self.marks and "outlier" not in self.own:
            missing.append("outlier")
        if self.tree.column not in self.own:
            missing.append(self.tree.column)
        if missing:
            raise DataError(f"{self.folder}: assignments.csv has no column {missing[0]!r}.")

    @property
    def text_column(self) -> str:
        """Column of the table with the texts."""
        return str(self.facts["data"]["text_column"])

    @property
    def id_column(self) -> str | None:
        """Column of the table that names the rows."""
        found: str | None = self.facts["data"].get("id_column")
        return found

    @property
    def seed(self) -> int:
        """Of the run."""
        return int(self.facts.get("seed") or 0)

    @property
    def names(self) -> dict[int, str]:
        """Names of the clusters by their numbers."""
        return {cluster.id: cluster.name for cluster in self.clusters}

    @property
    def all_names(self) -> dict[int, str]:
        """The same, with those of the clusters of the merge tree that are not shown."""
        return {**node_names(self.nodes), **self.names}

    @cached_property
    def own(self) -> dict[str, str]:
        """Result columns of the table by what they are; see :func:`own_columns`."""
        return own_columns(self.table.column_names)

    @property
    def input(self) -> pa.Table:
        """The columns of the input."""
        return self.table.drop_columns(list(self.own.values()))

    @property
    def marks(self) -> bool:
        """Whether texts may be outliers."""
        return "nearest_cluster" in self.own

    @cached_property
    def texts(self) -> CleanTexts:
        """The text of each row as the run read it: cleaned, empty where there is no word."""
        return clean_values(self.column(self.text_column))

    @cached_property
    def ids(self) -> list[Any] | None:
        """The ids of the rows; None where they have none."""
        return None if self.id_column is None else self.column(self.id_column)

    @cached_property
    def labels(self) -> Ints:
        """Cluster of each row; -1 for rows without a text and for outliers."""
        found = np.array(self.table[self.own["cluster"]].to_numpy(), dtype=np.int64)
        check_known(found.tolist(), self.clusters, self.folder)
        return found

    @cached_property
    def outliers(self) -> Bools:
        """Which rows fit no cluster."""
        if not self.marks:
            return np.zeros(len(self.table), dtype=bool)
        return np.array([value == "yes" for value in self.column(self.own["outlier"])], dtype=bool)

    @cached_property
    def nearest(self) -> Ints:
        """Cluster of each row; of outliers, the nearest one."""
        if not self.outliers.any():
            return self.labels
        near = self.table[self.own["nearest_cluster"]].fill_null(-1).to_numpy()
        found = np.where(self.outliers, near, self.labels)
        check_known(found.tolist(), self.clusters, self.folder)
        return found

    @cached_property
    def finest(self) -> Ints:
        """The finest cluster of each row in the merge tree; -1 for rows without a text."""
        if self.tree.column == "cluster":
            return self.nearest
        column = self.table[self.own[self.tree.column]]
        return np.array(column.fill_null(-1).to_numpy(), dtype=np.int64)

    def rows_in(self, cluster: int) -> Bools:
        """Which rows are in a cluster, that may be one of the merge tree; outliers are, too."""
        return np.isin(self.finest, self.tree.below(cluster))

    @cached_property
    def model(self) -> TextClusterer:
        """The fitted estimator."""
        from coterie.models.registry import load

        return self.fitted or load(inside(self.folder, "model"))

    @cached_property
    def config(self) -> dict[str, Any]:
        """The settings of the saved model, without loading it."""
        return read_config(inside(self.folder, "model"))

    @cached_property
    def vectors(self) -> Floats:
        """Vectors of all rows."""
        return np.asarray(self.model.transform(self.texts))

    @property
    def next_id(self) -> int:
        """The lowest number that no cluster ever had."""
        highest = self.tree.highest
        return int(self.facts.get("editing", {}).get("next_id", highest + 1))

    def column(self, name: str) -> list[Any]:
        """The cells of a column of the table."""
        return cell_values(self.table[name])

    def figures(self) -> dict[str, Any]:
        """Mean confidence, close calls, and how many rows of the last update each cluster has."""
        numbers = (
            self.table[self.own[name]].fill_null(0).to_numpy() for name in ("confidence", "margin")
        )
        found = measure(self.labels, *numbers)
        first = (self.facts.get("updates") or [{}])[-1].get("first", len(self.table))
        if first < len(self.table):
            found["added"] = count_clusters(self.labels[first:])
        return found


def describe_rows(  # noqa: PLR0913 - each is a fact about the rows
    table: pa.Table,
    columns: tuple[str, str | None],
    texts: Sequence[str],
    labels: Ints,
    vectors: Floats,
    probabilities: Floats,
    names: Mapping[int, str | None],
    topics: Mapping[int, Any] | None = None,
    said: Mapping[int, Cluster] = MappingProxyType({}),
    terms: Terms | None = None,
) -> list[Cluster]:
    """Clusters with all that texts, vectors and the columns of the input tell about them.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of the input.
    columns : tuple of str and str or None
        Those of texts and of ids, which are no categories.
    texts, labels, vectors, probabilities, names, topics, terms
        As for :func:`~coterie.describe.describe_numbered`.
    said : mapping of int to Cluster, optional
        Clusters whose descriptions, by a language model, still hold.
    """
    date, categories = guess_columns(table, *columns)
    found = describe_numbered(
        texts,
        labels,
        vectors,
        names,
        probabilities=probabilities,
        dates=None if date is None else table.column(date),
        columns={name: table.column(name) for name in categories},
        topics=topics,
        terms=terms,
    )
    return as_said(found, said)


def with_results(table: pa.Table, results: Mapping[str, Sequence[Any]]) -> pa.Table:
    """The table of a run with other values in its result columns, and with these levels."""
    table = replace_columns(table, results)
    own = own_columns(table.column_names)
    table = table.drop_columns([own[name] for name in own if LEVEL_COLUMN.fullmatch(name)])
    return combine(table, {n: results[n] for n in results if LEVEL_COLUMN.fullmatch(n)})


def renamed(
    run: Clustering,
    names: Mapping[int, str | None],
    said: Mapping[int, Cluster] = MappingProxyType({}),
) -> Clustering:
    """The same clustering with other names. Changes clusters, shown or not, and the table.

    Parameters
    ----------
    run : Clustering
    names : mapping of int to str or None
        Of clusters; others keep theirs.
    said : mapping of int to Cluster
        Clusters with names and descriptions, by a language model, to take over.
    """
    shown = {cluster.id for cluster in run.clusters}
    here = {i: name for i, name in names.items() if i in shown}
    clusters = as_said(rename_clusters(run.clusters, here), said)
    called = {c.id: c.name for c in clusters}
    nodes = by_number(run.nodes, said.values(), clusters)
    kept = {*run.facts.get("editing", {}).get("named", ()), *called, *said}
    nodes = rename_nodes(nodes, {i: c.name for i, c in nodes.items() if i in kept})
    clusters = with_parents(run.tree, nodes, clusters)
    nodes = by_number(nodes, clusters)
    if clusters == run.clusters and nodes == run.nodes:
        return run
    pairs = zip(run.labels.tolist(), run.column(run.own["name"]), strict=True)
    fresh: dict[str, list[Any]] = {"name": [called.get(i, old) for i, old in pairs]}
    rows = TreeRows(run.tree, node_names(nodes), run.finest)
    fresh |= rows.columns(run.labels.tolist(), fresh["name"])
    table = replace_columns(run.table, fresh)
    return replace(run, clusters=clusters, nodes=nodes, table=table)


def as_said(clusters: Sequence[Cluster], said: Mapping[int, Cluster]) -> list[Cluster]:
    """Clusters with the descriptions, by a language model, that others have."""
    return [replace(c, description=said[c.id].description) if c.id in said else c for c in clusters]
