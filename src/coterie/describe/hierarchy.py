"""Nested levels over a clustering: few large clusters that hold many small ones.

The clusters are merged, not the texts: each cluster counts as its mean with its size, and Ward's
rule joins those whose union adds least to the spread. So every cluster of a finer level lies in
exactly one of each coarser level, whatever the method that found the clusters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from coterie._util.types import Floats, Ints
from coterie._util.validation import check_vectors, check_whole_numbers
from coterie.arrays.linkage import MatrixSpace, chain, cut
from coterie.arrays.metrics import cluster_means
from coterie.describe import (
    Cluster,
    describe_clusters,
    describe_numbered,
    rename_clusters,
    text_order,
)
from coterie.errors import UsageError

if TYPE_CHECKING:
    from coterie.describe.describe import DescribeOptions

LEVEL_COLUMN = re.compile(r"(level_\d+|broad|medium|fine)(_name)?")  # of the table


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy.

    Attributes
    ----------
    n_clusters : int
    labels : ndarray of shape (n,)
        Cluster of each text at this level, -1 where it has none. Empty if no labels were given.
    of_given : ndarray of shape (k,)
        For each cluster of the clustering that was given, its cluster at this level; -1 for
        clusters without texts.
    parents : list of int or None
        For each cluster of this level, its cluster at the next coarser one; None at the coarsest.
    sizes : list of int
        Texts in each cluster.
    """

    n_clusters: int
    labels: Ints
    of_given: Ints
    parents: list[int] | None
    sizes: list[int]


def nest(
    vectors: Floats,
    labels: Sequence[int] | Ints | None = None,
    sizes: Sequence[int] | Ints | None = None,
    *,
    levels: Sequence[int] = (5, 20, 80),
) -> list[Level]:
    """Merge the clusters of a clustering into coarser ones, level by level.

    Parameters
    ----------
    vectors : ndarray of shape (n, d) or (k, d)
        One row per text; or, with ``sizes``, one row per cluster: its mean.
    labels : sequence of int, optional
        Cluster of each text, -1 for none. May be left out if ``sizes`` are given.
    sizes : sequence of int, optional
        Texts in each cluster. If given, ``vectors`` are the means of the clusters.
    levels : sequence of int, default=(5, 20, 80)
        Clusters at each level, coarse to fine. A level of as many clusters as there are keeps the
        clustering and its numbers; others are numbered by size, largest first.

    Returns
    -------
    list of Level
        Coarse to fine.

    Examples
    --------
    >>> centers = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> coarse, fine = nest(centers, sizes=[1, 1, 5, 5], levels=[2, 4])
    >>> coarse.of_given.tolist(), coarse.sizes, fine.parents
    ([1, 1, 0, 0], [10, 2], [1, 1, 0, 0])
    """
    asked: list[int] = check_whole_numbers("levels", levels, "level").tolist()
    x = check_vectors("vectors", vectors, "text" if sizes is None else "cluster")
    codes = np.zeros(0, np.int64) if labels is None else check_whole_numbers("labels", labels)
    if sizes is not None:
        centers, counts = x, check_whole_numbers("sizes", sizes, "cluster")
        if len(counts) != len(centers):
            raise UsageError(f"sizes: {len(counts)} for {len(centers)} means; give one for each.")
        if codes.max(initial=-1) >= len(counts):
            raise UsageError(f"labels: cluster {codes.max()} has no mean; there are {len(counts)}.")
    elif len(codes) == len(x):
        centers, counts = cluster_means(x[codes >= 0], codes[codes >= 0])
    else:
        raise UsageError(
            f"nest: {len(x)} vectors but {len(codes)} labels; give one label for each vector, "
            "or sizes if the vectors are means of clusters."
        )
    used = np.flatnonzero(counts > 0)
    wanted = _check_levels(asked, len(used))
    merges = _merges(centers[used], counts[used])
    out: list[Level] = []
    for n in wanted:
        of_given = np.full(len(counts), -1, dtype=np.int64)
        # The clustering itself keeps its numbers, unless empty clusters leave gaps in them.
        same = n == len(used) == len(counts)
        merged = cut(merges, n, len(used))
        of_given[used] = np.arange(n) if same else _by_size(merged, counts[used])
        placed = np.append(of_given, -1)[codes]
        parents = None
        if out:
            first = np.unique(of_given[used], return_index=True)[1]  # a part of each
            parents = out[-1].of_given[used][first].tolist()
        totals = np.bincount(of_given[used], counts[used], n).astype(np.int64)
        out.append(Level(n, placed, of_given, parents, totals.tolist()))
    return out


def describe_levels(
    texts: Sequence[str],
    levels: Sequence[Level],
    vectors: Floats | None = None,
    finest: tuple[Sequence[int] | Ints, Mapping[int, str]] | None = None,
    **options: Unpack[DescribeOptions],
) -> list[list[Cluster]]:
    """Describe the clusters of each level, with their parents.

    The names of a level are made from the finest on: a cluster that holds several of the finer
    level is named by what they share, and never as one of them is; one that holds a single one is
    called as that is.

    Parameters
    ----------
    texts : sequence of str
    levels : sequence of Level
        From :func:`nest`, with labels.
    vectors : ndarray of shape (n, d), optional
    finest : tuple of sequence of int and mapping of int to str, optional
        Cluster of each text below the finest of these levels, and the names of these clusters.
    **options
        Of :func:`coterie.describe_clusters`. Probabilities and topics belong to the given clusters:
        hand them over only where the level is the clustering itself.

    Returns
    -------
    list of list of Cluster
        As the levels: coarse to fine.
    """
    out: list[list[Cluster]] = []
    parts = finest
    for level in reversed(levels):
        found = describe_clusters(
            texts, level.labels, vectors, parents=level.parents, parts=parts, **options
        )
        if parts is not None:
            found = rename_clusters(found, _names_of_single_parts(found, level.labels, *parts))
        out.insert(0, found)
        parts = (level.labels, {cluster.id: cluster.name for cluster in found})
    return out


def _names_of_single_parts(
    clusters: Sequence[Cluster],
    labels: Ints,
    inside: Sequence[int] | Ints,
    names: Mapping[int, str],
) -> dict[int, str | None]:
    """The names of parts that are alone in their cluster, unless another cluster is called so."""
    called = {cluster.id: cluster.name for cluster in clusters}
    pairs = np.unique(np.stack([labels, np.asarray(inside)]), axis=1)
    parts = {i: pairs[1][pairs[0] == i].tolist() for i in called}
    alone = {i: names.get(part[0]) for i, part in parts.items() if len(part) == 1}
    return {
        i: name
        for i, name in alone.items()
        if name not in {other for j, other in called.items() if j != i}
    }


@dataclass(frozen=True)
class Hierarchy:
    """Named levels above a clustering, which is the last and finest of them.

    Attributes
    ----------
    levels : list of list of Cluster
        Described clusters of the coarser levels, coarse to fine, each with its parent.
    above : list of dict of int to int
        For each of them, where the clusters of the clustering belong.
    called : tuple of str
        Names of the levels of a merge tree.
    """

    levels: list[list[Cluster]]
    above: list[dict[int, int]]
    called: tuple[str, ...] = ()

    def column_names(self) -> list[str]:
        """Columns with the numbers of the levels, coarse to fine; names end with ``_name``.

        That of the clustering itself is the last one.
        """
        if self.called:
            return list(self.called)
        return [f"level_{number}" for number in range(1, len(self.levels) + 2)]

    def columns(self, labels: Sequence[int] | Ints, names: Sequence[str]) -> dict[str, list[Any]]:
        """Columns ``level_1``, ``level_1_name`` and so on, from cluster and name of each row.

        A row without a cluster has none on any level, and keeps its name there.
        """
        out: dict[str, list[Any]] = {}
        columns = self.column_names()
        for column, described, above in zip(columns, self.levels, self.above, strict=False):
            called = {cluster.id: cluster.name for cluster in described}
            places = [above.get(int(label), -1) for label in labels]
            pairs = zip(places, names, strict=True)
            out[column] = places
            out[f"{column}_name"] = [called.get(place, name) for place, name in pairs]
        out[columns[-1]] = [int(label) for label in labels]
        out[f"{columns[-1]}_name"] = list(names)
        return out

    def extended(
        self, texts: Sequence[str], labels: Ints, vectors: Floats, near: Mapping[int, int]
    ) -> Hierarchy:
        """The same levels for all texts, old and new; numbers, names and descriptions stay.

        ``near`` has, for each new cluster, the old one whose place it shares on every level.
        """
        above = [{**known, **{c: known[old] for c, old in near.items()}} for known in self.above]
        levels = []
        for before, places in zip(self.levels, above, strict=True):
            codes = np.array([places.get(int(label), -1) for label in labels], dtype=np.int64)
            known = {group.id: group for group in before}
            names = {i: group.name for i, group in known.items()}
            fresh = describe_numbered(texts, codes, vectors, names)
            levels.append(
                [
                    replace(
                        _as_said(group, known[group.id]),
                        parent=known[group.id].parent,
                        parent_name=known[group.id].parent_name,
                    )
                    for group in fresh
                ]
            )
        return replace(self, levels=levels, above=above)

    def parts(self, number: int) -> dict[int, set[int]]:
        """The parts of each group of a level: groups of the next finer one, or clusters."""
        below = self.above[number + 1] if number + 1 < len(self.above) else None
        out: dict[int, set[int]] = {}
        for cluster, group in self.above[number].items():
            out.setdefault(group, set()).add(cluster if below is None else below[cluster])
        return out

    def parented(self, clusters: Sequence[Cluster]) -> list[Cluster]:
        """The clusters of the clustering with their parents on the finest level above."""
        if not self.levels:
            return list(clusters)
        placed = [replace(cluster, parent=self.above[-1].get(cluster.id)) for cluster in clusters]
        return _name_parents([self.levels[-1], placed])[-1]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the coarser levels."""
        return {
            "levels": [
                {
                    "n_clusters": len(described),
                    "of_cluster": {str(cluster): place for cluster, place in above.items()},
                    "clusters": [cluster.to_dict() for cluster in described],
                }
                for described, above in zip(self.levels, self.above, strict=True)
            ],
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Hierarchy:
        """What :meth:`to_dict` gave."""
        levels = saved["levels"]
        return cls(
            [[Cluster.from_dict(cluster) for cluster in level["clusters"]] for level in levels],
            [{int(c): int(place) for c, place in level["of_cluster"].items()} for level in levels],
        )


def build_hierarchy(
    texts: Sequence[str],
    labels: Ints,
    vectors: Floats,
    clusters: Sequence[Cluster],
    levels: Sequence[int],
) -> tuple[Hierarchy, list[Cluster]]:
    """Nest a described clustering and describe its coarser levels.

    Levels are numbers of clusters, coarse to fine. What is not fewer than the clusters that have
    texts is the clustering itself and left out. Returns the clusters with their parents, too.
    """
    texts, labels, vectors = _sorted(texts, labels, vectors)
    used = sum(cluster.size > 0 for cluster in clusters)
    coarse = [n for n in _check_levels(levels, max(*levels, used)) if n < used]
    nested = nest(vectors, labels, levels=coarse) if coarse else []
    return _described(texts, labels, vectors, nested, clusters)


def _sorted(
    texts: Sequence[str], labels: Ints, vectors: Floats
) -> tuple[Sequence[str], Ints, Floats]:
    """The same in the order of the texts, so that no level hangs on the order of the rows."""
    order = text_order(texts)
    return [texts[i] for i in order], np.asarray(labels)[order], vectors[order]


def _merges(centers: Floats, counts: Ints) -> list[tuple[float, int, int]]:
    """Merges of clusters by Ward's rule."""
    # Around their mean: the merges are the same, and squares lose fewer digits.
    middle = np.asarray(centers - centers.mean(axis=0, keepdims=True), np.float32)
    return chain(MatrixSpace(middle, counts.astype(np.float64), "ward"), len(counts))


def _described(
    texts: Sequence[str],
    labels: Ints,
    vectors: Floats,
    nested: Sequence[Level],
    clusters: Sequence[Cluster],
) -> tuple[Hierarchy, list[Cluster]]:
    """Coarser levels with names, and the clusters with their parents."""
    names = {cluster.id: cluster.name for cluster in clusters}
    described = describe_levels(texts, nested, vectors, (labels, names))
    above = [{i: int(p) for i, p in enumerate(level.of_given) if p >= 0} for level in nested]
    hierarchy = Hierarchy(_name_parents(described), above)
    return hierarchy, hierarchy.parented(clusters)


def rename_levels(
    hierarchy: Hierarchy,
    before: Mapping[int, str],
    after: Mapping[int, str],
    given: Sequence[Mapping[int, Cluster]] = (),
) -> Hierarchy:
    """The coarser levels with other names.

    ``before`` and ``after`` are the names of the clusters below: a group that holds one part alone
    is called as that is, others keep their names. ``given`` has, for each level, groups with names
    and descriptions to take over.
    """
    levels = list(hierarchy.levels)
    for number in reversed(range(len(levels))):
        level, parts = levels[number], hierarchy.parts(number)
        new = given[number] if number < len(given) else {}
        called, names = {group.id: group.name for group in level}, dict[int, str]()
        for group in level:
            inside = list(parts.get(group.id, ()))
            if len(inside) == 1 and group.name == before.get(inside[0]):
                names[group.id] = after.get(inside[0], group.name)
            elif group.id in new:
                names[group.id] = new[group.id].name
        levels[number] = [
            _as_said(group, new.get(group.id)) for group in rename_clusters(level, names)
        ]
        before, after = called, {**called, **names}
    return replace(hierarchy, levels=_name_parents(levels))


def _as_said(group: Cluster, known: Cluster | None) -> Cluster:
    """A group with the description that a language model gave to a known one."""
    return group if known is None else replace(group, description=known.description)


def _name_parents(levels: Sequence[list[Cluster]]) -> list[list[Cluster]]:
    """The same levels, coarse to fine, in which all know the name of their parent."""
    out = list(levels[:1])
    for level in levels[1:]:
        names = {group.id: group.name for group in out[-1]}
        out.append(
            [replace(c, parent_name=None if c.parent is None else names[c.parent]) for c in level]
        )
    return out


def _check_levels(levels: Sequence[int], k: int) -> Sequence[int]:
    if not levels or levels[0] < 1 or any(a >= b for a, b in pairwise(levels)) or levels[-1] > k:
        said = ", ".join(map(str, levels))
        raise UsageError(
            f"`levels` [{said}]: give increasing numbers of clusters from 1 to {k}, as 5,20,80."
        )
    return levels


def _by_size(labels: Ints, counts: Ints) -> Ints:
    """Number clusters by their texts, largest first; among equals, the one that comes first."""
    totals = np.bincount(labels, counts)
    first = np.unique(labels, return_index=True)[1]
    rank = np.empty(len(totals), dtype=np.int64)
    rank[np.lexsort((first, -totals))] = np.arange(len(totals))
    return np.asarray(rank[labels], dtype=np.int64)
