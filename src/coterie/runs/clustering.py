"""A finished run as a value: one reader, one writer, and verbs that make one of another.

:func:`read` gives the :class:`Clustering` in a folder. A verb (edit, update, rename, keep) is a
function that takes a clustering and returns another; it opens no file. :func:`save` lets the result
take the place of what was read: it is written on a copy of the folder (of links: nothing large is
copied), which then takes the folder's place, so readers see the old run or the new one, and a kill
leaves the one or the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._util.files import write_json
from coterie._util.folders import held, one_state
from coterie._util.trust import inside
from coterie._util.types import Bools, Floats, Ints
from coterie.describe import Cluster, describe_numbered, guess_columns, rename_clusters
from coterie.describe.hierarchy import LEVEL_COLUMN, Hierarchy, rename_levels
from coterie.describe.summary import count_clusters, measure, summarise
from coterie.describe.terms import Terms
from coterie.describe.tree import Tree
from coterie.errors import DataError
from coterie.models.clusterer import TextClusterer
from coterie.models.storage import read_config, save_clusters
from coterie.runs.exports import refresh, write_page
from coterie.runs.page_data import write_map
from coterie.runs.run_files import (
    MANIFEST,
    RunFiles,
    check_known,
    model_folder,
    own_columns,
    replace_columns,
    swap_run,
)
from coterie.runs.run_history import append_log, change_run, last_change
from coterie.texts import write_rows
from coterie.texts.corpus import CleanTexts, cell_values, clean_values, combine

OWN = {"cluster", "name", "confidence", "margin"}  # result columns that every run has


@dataclass(frozen=True)
class Clustering:
    """Rows with their clusters, the clusters, the levels above them, and how all was made.

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
    hierarchy : Hierarchy or None
        The coarser levels and which cluster lies where.
    tree : Tree or None
        The merge tree that the clusters are a cut of, if the run found their number itself.
    map : dict or None
        Where texts are on the map.
    fitted : TextClusterer or None
        The model, if it is not as the folder has it.
    version : str
        Tells the state of the folder from every other; see :attr:`coterie.Run.version`.
    """

    folder: Path
    facts: dict[str, Any]
    table: pa.Table
    clusters: list[Cluster]
    hierarchy: Hierarchy | None = None
    tree: Tree | None = None
    map: dict[str, Any] | None = None
    fitted: TextClusterer | None = None
    version: str = ""

    def __post_init__(self) -> None:
        needed = {self.text_column, self.id_column or self.text_column}
        missing = [*needed - {*self.table.column_names}, *OWN - self.own.keys()]
        if self.marks and "outlier" not in self.own:
            missing.append("outlier")
        if self.tree is not None and self.tree.column not in self.own:
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
        return self.names if self.tree is None else {**self.tree.names, **self.names}

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
        if self.tree is None or self.tree.column == "cluster":
            return self.nearest
        column = self.table[self.own[self.tree.column]]
        return np.array(column.fill_null(-1).to_numpy(), dtype=np.int64)

    def rows_in(self, cluster: int) -> Bools:
        """Which rows are in a cluster, that may be one of the merge tree; outliers are, too."""
        if self.tree is None:
            return np.asarray(self.nearest == cluster)
        return np.isin(self.finest, self.tree.below(cluster))

    @cached_property
    def model(self) -> TextClusterer:
        """The fitted estimator."""
        from coterie.models.registry import load

        return self.fitted or load(inside(self.folder, "model"))

    @cached_property
    def config(self) -> dict[str, Any]:
        """The settings of the saved model, without loading it."""
        return read_config(model_folder(self.folder))

    @cached_property
    def vectors(self) -> Floats:
        """Vectors of all rows."""
        return np.asarray(self.model.transform(self.texts))

    @property
    def next_id(self) -> int:
        """The lowest number that no cluster ever had."""
        highest = max(int(self.nearest.max(initial=-1)), self.config["n_clusters"] - 1)
        if self.tree is not None:
            highest = max(highest, self.tree.highest)
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


def with_results(
    table: pa.Table, results: Mapping[str, Sequence[Any]], hierarchy: Hierarchy | None
) -> pa.Table:
    """The table of a run with other values in its result columns, and with these levels."""
    table = replace_columns(table, results)
    if hierarchy is None:
        return table
    own = own_columns(table.column_names)
    table = table.drop_columns([own[name] for name in own if LEVEL_COLUMN.fullmatch(name)])
    return combine(table, {n: results[n] for n in results if LEVEL_COLUMN.fullmatch(n)})


def renamed(
    run: Clustering,
    names: Mapping[int, str | None],
    levels: Sequence[Mapping[int, Cluster]] = (),
    said: Mapping[int, Cluster] = MappingProxyType({}),
) -> Clustering:
    """The same clustering with other names. Changes clusters, hierarchy and table.

    Parameters
    ----------
    run : Clustering
    names : mapping of int to str or None
        Of clusters; others keep theirs.
    levels : sequence of mapping of int to Cluster
        For each coarser level, groups with names and descriptions to take over.
    said : mapping of int to Cluster
        The same for descriptions of clusters.
    """
    clusters = as_said(rename_clusters(run.clusters, names), said)
    called, hierarchy, tree = {c.id: c.name for c in clusters}, run.hierarchy, run.tree
    if tree is not None:
        given = [group for level in levels for group in level.values()]
        tree = tree.described(given).described(clusters)
        named = {*run.facts.get("editing", {}).get("named", ()), *called, *(g.id for g in given)}
        tree = tree.renamed({i: name for i, name in tree.names.items() if i in named})
        hierarchy = tree.above()
        clusters = hierarchy.parented(clusters)
        tree = tree.described(clusters)
    elif hierarchy is not None:
        hierarchy = rename_levels(hierarchy, run.names, called, levels)
        clusters = hierarchy.parented(clusters)
    if clusters == run.clusters and hierarchy == run.hierarchy:
        return run
    pairs = zip(run.labels.tolist(), run.column(run.own["name"]), strict=True)
    fresh: dict[str, list[Any]] = {"name": [called.get(i, old) for i, old in pairs]}
    if tree is not None:
        fresh |= tree.columns(run.finest, run.labels.tolist(), fresh["name"])
    elif hierarchy is not None:
        fresh |= hierarchy.columns(run.labels, fresh["name"])
    table = replace_columns(run.table, fresh)
    return replace(run, clusters=clusters, hierarchy=hierarchy, tree=tree, table=table)


def as_said(clusters: Sequence[Cluster], said: Mapping[int, Cluster]) -> list[Cluster]:
    """Clusters with the descriptions, by a language model, that others have."""
    return [replace(c, description=said[c.id].description) if c.id in said else c for c in clusters]


def read(folder: Path) -> Clustering:
    """The finished run in a folder, from one state of it; the model is loaded when it is needed."""

    def read_all() -> Clustering:
        files = RunFiles(folder)
        files.check()
        return Clustering(
            folder,
            files.manifest,
            files.cells,
            files.clusters,
            files.hierarchy,
            files.tree,
            files.map,
            version=files.version,
        )

    return one_state([folder], read_all)


@contextmanager
def opened(
    folder: Path, *, version: str | None = None, to_write: bool = True
) -> Iterator[Clustering]:
    """The run in a folder; if it is to be written, nobody else can change it inside the block.

    ``version`` refuses any other state than the one that the caller has seen.
    """
    RunFiles(folder).check()  # before a lock is put into it
    with held(folder) if to_write else nullcontext():
        check_version(folder, version)
        yield read(folder)


def check_version(folder: Path, version: str | None) -> None:
    """Refuse a run that is not in the state that the caller has seen; None is any state."""
    if version is not None and version != RunFiles(folder).version:
        raise DataError(
            f"{folder} is not in the state {version:.40} any more: somebody has changed it since "
            "you read it. Nothing was written; look at it again.",
            code="edit.other_version",
        )


def save(
    before: Clustering,
    after: Clustering,
    *,
    log: Mapping[str, Any] | None = None,
    beside: Callable[[Path], None] | None = None,
) -> None:
    """Let a clustering take the place of the one it was made of.

    Parameters
    ----------
    before, after : Clustering
    log : mapping, optional
        What was done. It is added to the log, and what it replaced is kept for an undo.
    beside : callable, optional
        Writes further files into the folder that it is given.
    """

    def change(fresh: Path) -> None:
        if RunFiles(fresh).version != before.version:
            raise DataError(
                f"{before.folder} was changed by another command in the meantime; try again.",
                code="edit.changed_meanwhile",
            )
        facts = write(fresh, after, before, beside)
        if after is not before:
            write_json(fresh / MANIFEST, facts)
        if log is not None:
            append_log(fresh, {"change": last_change(before.folder) + 1, **log})

    (swap_run if log is None else change_run)(before.folder, change)


def write(
    folder: Path,
    after: Clustering,
    before: Clustering | None = None,
    beside: Callable[[Path], None] | None = None,
) -> dict[str, Any]:
    """Write the files of a clustering, and return the manifest, which is for the caller to write.

    Parameters
    ----------
    folder : Path
        Which nobody reads yet.
    after : Clustering
    before : Clustering, optional
        Whose files are there: parts that are the same are not written. Default: none are.
    beside : callable, optional
        Writes further files, before the page.
    """

    def is_new(part: str) -> bool:
        return before is None or getattr(after, part) is not getattr(before, part)

    if after.fitted is not None and before is not None and is_new("fitted"):
        grown = len(after.table) > len(before.table)
        save_clusters(after.fitted, folder / "model", outliers=grown)
    if is_new("table"):
        write_rows(folder / "assignments.csv", after.table, {})
    if is_new("clusters") or is_new("hierarchy") or is_new("tree"):
        write_clusters(folder, after.clusters, after.hierarchy, after.tree)
    if after.map is not None and is_new("map"):
        write_map(folder, after.map)
    levels = {} if after.tree is None else {"levels": dict(after.tree.levels)}
    facts = {**after.facts, **levels}
    if is_new("table"):
        facts["figures"] = after.figures()
    facts["summary"] = summarise(facts, after.clusters, after.hierarchy)
    if beside is not None:
        beside(folder)
    if before is None:
        write_page(folder, facts, after.clusters)
    else:
        refresh(folder, facts, after.clusters)
    return facts


def write_clusters(
    folder: Path,
    clusters: Sequence[Cluster],
    hierarchy: Hierarchy | None,
    tree: Tree | None = None,
) -> None:
    """Write ``clusters.json``, with the merge tree if there is one, or else ``levels.json``."""
    saved: dict[str, Any] = {"clusters": [cluster.to_dict() for cluster in clusters]}
    if tree is not None:
        saved["tree"] = tree.to_dict(cluster.id for cluster in clusters)
    write_json(folder / "clusters.json", saved)
    if tree is None and hierarchy is not None:
        write_json(folder / "levels.json", hierarchy.to_dict())
