"""Nested levels over a clustering: few large clusters that hold many small ones.

The clusters are merged, not the texts: each cluster counts as its mean with its size, and Ward's
rule joins those whose union adds least to the spread. So every cluster of a finer level lies in
exactly one of each coarser level, whatever the method that found the clusters.

Broad themes are one such level, of 3 to 12 clusters, for runs that find the number of clusters
themselves. They are merged by means of vectors after k-NN smoothing. Their number is near the
square root of the number of clusters, where one more merge would cost most compared with the merge
before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie._validation import (
    check_integer,
    check_kind,
    check_vectors,
    check_whole_numbers,
    checked,
)
from coterie.blocks.graph import knn_smooth
from coterie.blocks.linkage import MatrixSpace, chain, cut
from coterie.description import (
    Cluster,
    describe,
    describe_numbered,
    final_names,
    rename_clusters,
    text_order,
)
from coterie.errors import UsageError
from coterie.metrics import cluster_means
from coterie.neighbors import nearest_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from coterie.description.describe import DescribeOptions

LEVEL_COLUMN = re.compile(r"(level_\d+|theme)(_name)?")  # of the table
READABLE = 10  # clusters that need no themes above them
FEWEST, MOST = 3, 12  # themes
REACH = 1.5  # factor by which the number of themes may differ from the square root of clusters
SMOOTHED = 3_000  # texts whose vectors are smoothed; more change the means by little
NEIGHBORS, ROUNDS = 15, 4  # of the smoothing


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


@checked
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
    x = check_vectors("vectors", vectors, "text" if sizes is None else "cluster")
    codes = np.zeros(0, np.int64) if labels is None else check_whole_numbers("labels", labels)
    centers, counts = _means(x, codes) if sizes is None else _given(x, codes, sizes)
    used = np.flatnonzero(counts > 0)
    wanted = _check_levels(levels, len(used))
    # Around their mean: the merges are the same, and squares lose fewer digits.
    middle = np.asarray(centers[used] - centers[used].mean(axis=0, keepdims=True), np.float32)
    space = MatrixSpace(middle, counts[used].astype(np.float64), "ward")
    merges = chain(space, len(used))
    out: list[Level] = []
    for n in wanted:
        of_given = np.full(len(counts), -1, dtype=np.int64)
        # The clustering itself keeps its numbers, unless empty clusters leave gaps in them.
        same = n == len(used) == len(counts)
        merged = cut(merges, n, len(used))
        of_given[used] = np.arange(n) if same else _by_size(merged, counts[used])
        placed = np.append(of_given, -1)[codes]
        parents = _parents(out[-1].of_given, of_given, n) if out else None
        totals = np.bincount(of_given[used], counts[used], n).astype(np.int64)
        out.append(Level(n, placed, of_given, parents, totals.tolist()))
    return out


@checked
def describe_levels(
    texts: Sequence[str],
    levels: Sequence[Level],
    vectors: Floats | None = None,
    finest: tuple[Sequence[int] | Ints, Mapping[int, str]] | None = None,
    **options: Unpack[DescribeOptions],
) -> list[list[Cluster]]:
    """Describe the clusters of each level, with their parents.

    The names of a level are made from the finest on: a cluster that holds several of the finer
    level is named by what they share, and never as one of them is.

    Parameters
    ----------
    texts : sequence of str
    levels : sequence of Level
        From :func:`nest`, with labels.
    vectors : ndarray of shape (n, d), optional
    finest : tuple of sequence of int and mapping of int to str, optional
        Cluster of each text below the finest of these levels, and the names of these clusters.
    **options
        Of :func:`coterie.describe`. Probabilities and topics belong to the given clusters: hand
        them over only where the level is the clustering itself.

    Returns
    -------
    list of list of Cluster
        As the levels: coarse to fine.
    """
    check_kind("levels", levels, Sequence, "levels from nest")
    for level in levels:
        check_kind("levels", level, Level, "levels from nest")
    out: list[list[Cluster]] = []
    parts = finest
    for level in reversed(levels):
        found = describe(
            texts, level.labels, vectors, parents=level.parents, parts=parts, **options
        )
        out.insert(0, found)
        names = {cluster.id: cluster.name for cluster in found}
        if parts is not None:  # a cluster of one part is called as that is
            pairs = np.unique(np.stack([level.labels, np.asarray(parts[0])]), axis=1)
            inside = {i: pairs[1][pairs[0] == i].tolist() for i in names}
            names |= {i: parts[1].get(p[0], names[i]) for i, p in inside.items() if len(p) == 1}
        parts = (level.labels, names)
    return out


@dataclass(frozen=True)
class Hierarchy:
    """Named levels above a clustering, which is the last and finest of them.

    Attributes
    ----------
    levels : list of list of Cluster
        Described clusters of the coarser levels, coarse to fine, each with its parent.
    above : list of dict of int to int
        For each of them, where the clusters of the clustering belong.
    themes : bool
        Whether the one level are broad themes; there may be none.
    """

    levels: list[list[Cluster]]
    above: list[dict[int, int]]
    themes: bool = False

    def column_names(self) -> list[str]:
        """Columns with the numbers of the levels, coarse to fine; names end with ``_name``.

        That of the clustering itself is the last one, except beside themes.
        """
        if self.themes:
            return ["theme"] * len(self.levels)
        return [f"level_{number}" for number in range(1, len(self.levels) + 2)]

    def columns(self, labels: Sequence[int] | Ints, names: Sequence[str]) -> dict[str, list[Any]]:
        """Columns ``level_1``, ``level_1_name`` and so on, from the clusters of the rows.

        Broad themes are the columns ``theme`` and ``theme_name``.

        Parameters
        ----------
        labels : sequence of int
            Cluster of each row; a row without one has none on any level, and keeps its name there.
        names : sequence of str
            Name of the cluster of each row.
        """
        out: dict[str, list[Any]] = {}
        columns = self.column_names()
        for column, described, above in zip(columns, self.levels, self.above, strict=False):
            called = {cluster.id: cluster.name for cluster in described}
            places = [above.get(int(label), -1) for label in labels]
            pairs = zip(places, names, strict=True)
            out[column] = places
            out[f"{column}_name"] = [called.get(place, name) for place, name in pairs]
        if not self.themes:
            out[columns[-1]] = [int(label) for label in labels]
            out[f"{columns[-1]}_name"] = list(names)
        return out

    def extended(
        self, texts: Sequence[str], labels: Ints, vectors: Floats, near: Mapping[int, int]
    ) -> Hierarchy:
        """The same levels with more texts and clusters; numbers, names and descriptions stay.

        Parameters
        ----------
        texts, labels, vectors : of length n
            Of all texts, old and new.
        near : mapping of int to int
            For each new cluster, the old one whose place it shares on every level.
        """
        above = [{**known, **{c: known[old] for c, old in near.items()}} for known in self.above]
        levels = []
        for before, places in zip(self.levels, above, strict=True):
            codes = np.array([places.get(int(label), -1) for label in labels], dtype=np.int64)
            known = {cluster.id: cluster for cluster in before}
            names = {i: cluster.name for i, cluster in known.items()}
            levels.append(
                [
                    replace(
                        c,
                        parent=known[c.id].parent,
                        parent_name=known[c.id].parent_name,
                        description=known[c.id].description,
                        quotes=known[c.id].quotes,
                    )
                    for c in describe_numbered(texts, codes, vectors, names)
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
        names = {cluster.id: cluster.name for cluster in self.levels[-1]}
        places = self.above[-1]
        return [
            replace(c, parent=places.get(c.id), parent_name=names.get(places.get(c.id, -1)))
            for c in clusters
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the coarser levels."""
        return {
            **({"themes": True} if self.themes else {}),
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
            bool(saved.get("themes", False)),
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


def build_themes(
    texts: Sequence[str],
    labels: Ints,
    vectors: Floats,
    clusters: Sequence[Cluster],
    n_themes: int | None = None,
    seed: int = 0,
) -> tuple[Hierarchy, list[Cluster]]:
    """Broad themes above a described clustering, named; see :func:`find_themes`.

    Where there are no themes the hierarchy has no level. Returns the clusters with their themes
    as parents, too.
    """
    texts, labels, vectors = _sorted(texts, labels, vectors)
    level = find_themes(vectors, labels, n_themes, seed)
    hierarchy, finest = _described(
        texts, labels, vectors, [] if level is None else [level], clusters
    )
    return replace(hierarchy, themes=True), finest


def _sorted(
    texts: Sequence[str], labels: Ints, vectors: Floats
) -> tuple[Sequence[str], Ints, Floats]:
    """The same in the order of the texts, so that no level hangs on the order of the rows."""
    order = text_order(texts)
    return [texts[i] for i in order], np.asarray(labels)[order], vectors[order]


def find_themes(
    vectors: Floats, labels: Sequence[int] | Ints, n_themes: int | None = None, seed: int = 0
) -> Level | None:
    """Merge the clusters of a clustering into a handful of broad themes.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    labels : sequence of int of length n
        Cluster of each text, -1 for none.
    n_themes : int, optional
        Default: 3 to 12, near the square root of the number of clusters, where the next merge is
        largest compared with the one before.
    seed : int, default=0
        Draws the texts that are smoothed, where there are more than 3,000.

    Returns
    -------
    Level or None
        None where there are ten clusters or fewer, or not more than ``n_themes``.
    """
    x, codes = np.asarray(vectors), np.asarray(labels, dtype=np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=1)
    k = int((counts > 0).sum())
    if n_themes is not None:
        check_integer("n_themes", n_themes)
    if k <= (READABLE if n_themes is None else n_themes):
        return None
    centers = _smoothed_means(x, codes, len(counts), seed)
    if n_themes is None:
        n_themes = _number_of_themes(centers, counts, k)
    return nest(centers, codes, counts, levels=[n_themes])[0]


def _smoothed_means(x: Floats, labels: Ints, k: int, seed: int) -> Floats:
    """Mean of each cluster, after k-NN smoothing of at most ``SMOOTHED`` texts."""
    placed = np.flatnonzero(labels >= 0)
    first = placed[np.unique(labels[placed], return_index=True)[1]]  # some of every cluster
    chosen = numpy_generator(seed, "themes").permutation(placed)[:SMOOTHED]
    rows = np.unique(np.concatenate([first, chosen]))
    smooth = knn_smooth(x[rows], nearest_rows(x[rows], NEIGHBORS), ROUNDS)
    return cluster_means(smooth, labels[rows], k)[0]


def _number_of_themes(centers: Floats, counts: Ints, k: int) -> int:
    """The number at which one more merge would cost most, compared with the merge before."""
    low = max(FEWEST, math.ceil(math.sqrt(k) / REACH))
    high = min(MOST, math.floor(math.sqrt(k) * REACH))
    within = {
        level.n_clusters: _within(centers, counts, level.of_given)
        for level in nest(centers, sizes=counts, levels=range(low - 1, high + 2))
    }
    cost = {n: within[n - 1] - within[n] for n in range(low, high + 2)}
    return max(range(low, high + 1), key=lambda n: (cost[n] / max(cost[n + 1], 1e-12), -n))


def _within(centers: Floats, counts: Ints, groups: Ints) -> float:
    """Sum of squared distances of the texts' clusters to the mean of their group."""
    total = 0.0
    for group in range(int(groups.max()) + 1):
        inside = groups == group
        mean = np.average(centers[inside], axis=0, weights=counts[inside])
        total += float((counts[inside] * np.square(centers[inside] - mean).sum(axis=1)).sum())
    return total


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
    parents = above[-1] if above else {}
    placed = [replace(cluster, parent=parents.get(cluster.id)) for cluster in clusters]
    finest = _name_parents(described, placed)
    return Hierarchy(described, above), finest


def rename_levels(
    hierarchy: Hierarchy,
    before: Mapping[int, str],
    after: Mapping[int, str],
    given: Sequence[Mapping[int, Cluster]] = (),
) -> tuple[Hierarchy, list[dict[int, str]]]:
    """The coarser levels with other names, and those that changed on each.

    Parameters
    ----------
    hierarchy : Hierarchy
    before, after : mapping of int to str
        Names of the clusters below. A group that holds one part alone is called as that is; others
        keep their names.
    given : sequence of mapping of int to Cluster
        For each level, groups with names, descriptions and quotes to take over.
    """
    levels, changed = list(hierarchy.levels), [dict[int, str]() for _ in hierarchy.levels]
    for number in reversed(range(len(levels))):
        level, parts = levels[number], hierarchy.parts(number)
        new = given[number] if number < len(given) else {}
        called, names = {group.id: group.name for group in level}, changed[number]
        for group in level:
            inside = list(parts.get(group.id, ()))
            if len(inside) == 1 and group.name == before.get(inside[0]):
                names[group.id] = after.get(inside[0], group.name)
            elif group.id in new:
                names[group.id] = new[group.id].name
        levels[number] = [
            replace(g, description=new[g.id].description, quotes=new[g.id].quotes)
            if g.id in new
            else g
            for g in rename_clusters(level, names)
        ]
        before, after = called, {**called, **names}
    for coarse, fine in pairwise(levels):
        named = {group.id: group.name for group in coarse}
        fine[:] = [
            replace(g, parent_name=named.get(-1 if g.parent is None else g.parent, g.parent_name))
            for g in fine
        ]
    return replace(hierarchy, levels=levels), changed


def carry_names(
    old: Hierarchy,
    new: Hierarchy,
    pairs: Sequence[Mapping[int, int]],
    clusters: Sequence[Cluster],
) -> tuple[Hierarchy, list[Cluster]]:
    """New levels with the names, descriptions and quotes of old groups.

    Parameters
    ----------
    old, new : Hierarchy
    pairs : sequence of mapping of int to int
        For each new level, its groups and the old ones that they are.
    clusters : sequence of Cluster
        The clustering below the new levels.

    Returns
    -------
    Hierarchy, list of Cluster
        The new levels, and the clusters with the names of their parents.
    """
    levels = []
    for number, (level, same) in enumerate(zip(new.levels, pairs, strict=True)):
        known = {group.id: group for group in old.levels[number]} if same else {}
        made = {group.id: group.name for group in level}
        names = final_names(made, {i: known[o].name for i, o in same.items()})
        levels.append(
            [
                replace(
                    g, description=known[same[g.id]].description, quotes=known[same[g.id]].quotes
                )
                if g.id in same
                else g
                for g in rename_clusters(level, names)
            ]
        )
    finest = _name_parents(levels, clusters)
    return replace(new, levels=levels), finest


def _name_parents(levels: list[list[Cluster]], clusters: Sequence[Cluster]) -> list[Cluster]:
    """Give groups of one part its name, and all the names of their parents; the clusters."""
    finest = below = list(clusters)
    for i in reversed(range(len(levels))):
        below = levels[i] = _same_names(levels[i], below)
    for coarse, fine in pairwise([*levels, finest]):
        names = {cluster.id: cluster.name for cluster in coarse}
        fine[:] = [
            replace(c, parent_name=None if c.parent is None else names[c.parent]) for c in fine
        ]
    return finest


def _same_names(level: Sequence[Cluster], below: Sequence[Cluster]) -> list[Cluster]:
    """A cluster that holds only one of the finer level is called as that one is."""
    inside: dict[int | None, list[str]] = {}
    for cluster in below:
        if cluster.size:
            inside.setdefault(cluster.parent, []).append(cluster.name)
    out = []
    for cluster in level:
        only = inside[cluster.id][0] if len(inside[cluster.id]) == 1 else cluster.name
        taken = {other.name for other in level if other is not cluster}
        out.append(cluster if only in taken else replace(cluster, name=only))
    return out


def _check_levels(levels: Sequence[int], k: int) -> list[int]:
    wanted: list[int] = check_whole_numbers("levels", levels, "level").tolist()
    said = ", ".join(map(str, wanted))
    if not wanted or wanted[0] < 1:
        raise UsageError(f"levels: [{said}] must be whole numbers from 1 on, such as 5,20,80.")
    if any(a >= b for a, b in pairwise(wanted)):
        raise UsageError(f"levels: {said} do not increase; name them coarse to fine, as 5,20,80.")
    if wanted[-1] > k:
        raise UsageError(
            f"levels: {wanted[-1]} clusters asked for, but there are only {k} to merge; ask for "
            f"at most {k} or make more clusters."
        )
    return wanted


def _means(x: Floats, labels: Ints) -> tuple[Floats, Ints]:
    """Mean and size of each cluster."""
    if len(labels) != len(x):
        raise UsageError(
            f"nest: {len(x)} vectors but {len(labels)} labels; give one label for each vector, "
            "or sizes if the vectors are means of clusters."
        )
    placed = labels >= 0
    return cluster_means(x[placed], labels[placed])


def _given(centers: Floats, labels: Ints, sizes: Sequence[int] | Ints) -> tuple[Floats, Ints]:
    counts = check_whole_numbers("sizes", sizes, "cluster")
    if len(counts) != len(centers):
        raise UsageError(f"sizes: {len(counts)} for {len(centers)} means; give one for each.")
    if labels.max(initial=-1) >= len(counts):
        raise UsageError(f"labels: cluster {labels.max()} has no mean; there are {len(counts)}.")
    return centers, counts


def _by_size(labels: Ints, counts: Ints) -> Ints:
    """Number clusters by their texts, largest first; among equals, the one that comes first."""
    totals = np.bincount(labels, counts)
    first = np.unique(labels, return_index=True)[1]
    rank = np.empty(len(totals), dtype=np.int64)
    rank[np.lexsort((first, -totals))] = np.arange(len(totals))
    return np.asarray(rank[labels], dtype=np.int64)


def _parents(coarse: Ints, fine: Ints, n: int) -> list[int]:
    out = np.full(n, -1, dtype=np.int64)
    out[fine[fine >= 0]] = coarse[fine >= 0]
    return [int(i) for i in out]
