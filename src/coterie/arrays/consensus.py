"""A consensus of k-means runs after k-NN smoothing: for ``auto``, and for the start guard.

Vectors are smoothed over the graph of nearest neighbours, k-means runs from several starts, and
texts that most runs keep together are joined by average linkage. Where cluster sizes are very
unequal, linkage of the centers of one run takes its place (:func:`by_sizes`). The settings are the
same for all texts; they were chosen on the development sets (``results/pages/generalization.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coterie._util.random import derive_seed, some_rows
from coterie._util.torch import torch
from coterie._util.types import Floats, Ints
from coterie.arrays.graph import knn_smooth, modularity, principal_directions
from coterie.arrays.kmeans import KMeans
from coterie.arrays.linkage import agglomerate
from coterie.arrays.memberships import memberships
from coterie.arrays.metrics import cluster_means
from coterie.arrays.neighbors import nearest_by_distance, nearest_rows, unit_rows

NEIGHBORS = 4, 10  # fewest and most neighbours of the graph
ROUNDS, RESTART = 8, 0.1  # of smoothing
LEAST = 1e-3  # share of the largest deviation; below it there is only rounding
DIRECTIONS = 100  # in which vectors are smoothed
EXACT = 5_000  # rows; the neighbours of more are searched in fewer directions, which is quicker:
SEARCHED = 300  # so many
FLATTEN = 0.25  # exponent by which the directions with less variance are strengthened
RUNS = 20  # of k-means, for a reference
TINY = 3  # texts; a cluster of fewer is given up
COMPARED = 15  # neighbours of the graph by which consensus and linkage are compared
SOFT = 0.05  # a neighbour whose cosine is so much lower than the nearest one's counts 1 / e
FINE = 2  # centers for each cluster, before linkage joins them
# Linkage is taken where what it lacks to a modularity of one is less than this share of what the
# consensus lacks (``results/pages/auto.md``): 0.54 to 0.85 on the four development sets where it
# helps, by the seed, and 0.86 or more on the others.
UNEQUAL = 0.83
LINKED, PER_CLUSTER = (2_000, 5_000), 25  # rows that are joined: fewest, most, and per cluster


def n_neighbors(n: int, n_clusters: int) -> int:
    """How many neighbours a text is smoothed with: fewer where clusters are small.

    Examples
    --------
    >>> n_neighbors(6_000, 20), n_neighbors(1_000, 100), n_neighbors(5, 2), n_neighbors(9, 9)
    (10, 5, 1, 0)
    """
    fewest, most = NEIGHBORS
    return min(max(fewest, min(most, n // (2 * n_clusters))), n // n_clusters - 1)


def smoothed_runs(  # noqa: PLR0913 - what k-means needs, and a callback
    x: Floats,
    smoothed: Floats,
    n_clusters: int,
    runs: int,
    weights: Floats,
    seed: int,
    *,
    device: torch.device | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> tuple[Ints, list[Ints]]:
    """Run k-means several times on smoothed rows, and combine the runs.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        At least ``n_clusters`` different rows.
    smoothed : ndarray of shape (n, e)
        These rows after k-NN smoothing.
    n_clusters : int
    runs : int
    weights : ndarray of shape (n,)
        How often each row counts.
    seed : int
    device : torch.device, optional
        Of k-means.
    advance : callable, optional
        Is called with the number of runs that are done.

    Returns
    -------
    labels : ndarray of shape (n,)
        Exactly ``n_clusters`` are used.
    labelings : list of ndarray of shape (n,)
        The labels of the runs.
    """
    on_device = torch.from_numpy(smoothed).to(device)
    labelings = []
    for run in range(runs):
        kmeans = KMeans(n_clusters=n_clusters, seed=derive_seed(seed, "run", run), n_init=1)
        labelings.append(kmeans(on_device, weights).labels)
        advance(run + 1)
    labels = consensus(labelings, n_clusters, weights, seed)
    return force_k(x, labels, n_clusters, weights, seed), labelings


def reference(x: Floats, n_clusters: int, weights: Floats, seed: int) -> Ints:
    """The clusters of 20 runs as ``auto`` makes them, which those of a method are compared with."""
    rows = neighborhood(x, n_clusters, flatten=FLATTEN)
    labels, _ = smoothed_runs(x, rows.smoothed(), n_clusters, RUNS, weights, seed)
    return by_sizes(x, rows, labels, n_clusters, weights, seed)[0]


def by_sizes(  # noqa: PLR0913 - what k-means needs, and what is there
    x: Floats,
    rows: Neighborhood,
    labels: Ints,
    n_clusters: int,
    weights: Floats,
    seed: int,
    *,
    device: torch.device | None = None,
) -> tuple[Ints, dict[str, Any]]:
    """The labels, or those of :func:`linked` where cluster sizes are very unequal.

    With as many clusters as given, k-means cuts large ones up, and neighbours are parted. Linkage
    keeps them whole and finds small ones instead. Where sizes are even, it gives one giant
    cluster and many tiny ones, for which the modularity is low.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    rows : Neighborhood
        Of ``x``.
    labels : ndarray of shape (n,)
        The consensus of k-means runs.
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts.
    seed : int
    device : torch.device, optional
        Of k-means.

    Returns
    -------
    labels : ndarray of shape (n,)
    facts : dict
        ``sizes``, "even" or "unequal"; ``modularity`` of the consensus and of linkage on the graph
        of 15 neighbours; ``centers`` that were joined. Empty where a row has no neighbours.
    """
    if n_clusters < 2 or not rows.k:
        return labels, {}
    centers = min(FINE * n_clusters, len(x) // 2)
    other = linked(rows.smoothed(weighted=True), n_clusters, centers, weights, seed, device)
    other = force_k(x, other, n_clusters, weights, seed)
    near = rows.near[:, 1 : COMPARED + 1]
    before, after = modularity(labels, near), modularity(other, near)
    unequal = 1 - after < UNEQUAL * (1 - before)
    facts = {"sizes": "unequal" if unequal else "even", "centers": centers}
    return other if unequal else labels, {
        **facts,
        "modularity": [round(before, 4), round(after, 4)],
    }


def linked(
    x: Floats,
    n_clusters: int,
    centers: int,
    weights: Floats | None,
    seed: int,
    device: torch.device | None = None,
) -> Ints:
    """K-means with more centers, which average linkage joins: each counts the same.

    Examples
    --------
    >>> angles = np.radians([0, 2, 8, 10, 50, 52, 90, 92])
    >>> x = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    >>> found = linked(x, 3, 4, None, 0)
    >>> [np.flatnonzero(found == found[i]).tolist() for i in (0, 4, 6)]
    [[0, 1, 2, 3], [4, 5], [6, 7]]
    """
    kmeans = KMeans(n_clusters=centers, seed=derive_seed(seed, "linked"), n_init=1)
    found = kmeans(torch.from_numpy(x).to(device), weights)
    return np.asarray(agglomerate(found.centers, n_clusters, "average")[found.labels])


@dataclass(frozen=True)
class Neighborhood:
    """Rows in few directions, and the rows that are near to each.

    Attributes
    ----------
    unit : ndarray of shape (n, e)
        Unit rows in few directions.
    searched : ndarray of shape (n, d)
        The rows among which neighbours were searched.
    near : ndarray of shape (n, m)
        The nearest rows of each, itself first.
    k : int
        How many others a row is smoothed with.
    flatten : float
        How much the directions with less variance are strengthened, see :func:`flattened`.
    """

    unit: Floats
    searched: Floats
    near: Ints
    k: int
    flatten: float = 0.0

    @property
    def base(self) -> Floats:
        """The rows that are smoothed."""
        return flattened(self.unit, self.flatten)

    def suited(self, n_clusters: int) -> Neighborhood:
        """The same rows for another number of clusters, with all directions as they are."""
        return replace(self, k=n_neighbors(len(self.unit), n_clusters), flatten=0.0)

    def smoothed(self, *, weighted: bool = False) -> Floats:
        """The base, averaged over the graph of nearest neighbours.

        Parameters
        ----------
        weighted : bool, default=False
            Neighbours that are farther than the nearest one count less.
        """
        if not self.k:
            return self.base
        near = self.near[:, : self.k + 1]
        weights = self._nearness(near) if weighted else None
        return knn_smooth(self.base, near, ROUNDS, RESTART, weights)

    def _nearness(self, near: Ints) -> Floats:
        """Weights by the cosine: 1 for the row itself and the nearest other."""
        unit = unit_rows(self.searched)
        cosines = np.stack([(unit * unit[column]).sum(axis=1) for column in near.T], axis=1)
        return np.asarray(np.exp(np.minimum(cosines - cosines[:, 1:2], 0) / SOFT))


def neighborhood(
    x: Floats,
    n_clusters: int,
    *,
    flatten: float = 0.0,
    device: torch.device | None = None,
) -> Neighborhood:
    """Unit rows in 100 directions, and their neighbours, among many rows by 300 directions.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    n_clusters : int
        More clusters, fewer neighbours.
    flatten : float, default=0.0
        How much the directions with less variance are strengthened, see :func:`flattened`.
    device : torch.device, optional
        Of the neighbour search.
    """
    x = np.asarray(x, dtype=np.float32)
    searched = x
    if x.shape[1] > DIRECTIONS:
        many = len(x) > EXACT
        few = x @ principal_directions(x, SEARCHED if many else DIRECTIONS).T
        x, searched = few[:, :DIRECTIONS], few if many else x
    k = n_neighbors(len(x), n_clusters)
    on_device = torch.from_numpy(np.ascontiguousarray(searched)).to(device)
    near = nearest_rows(on_device, max(k, COMPARED) + 1)
    return Neighborhood(unit_rows(x), searched, near, k, flatten)


def flattened(x: Floats, exponent: float) -> Floats:
    """Columns multiplied by ``r ** -exponent``, with their shares ``r`` of the largest deviation.

    Examples
    --------
    >>> flattened(np.array([[4.0, 1.0], [-4.0, -1.0]]), 0.5)
    array([[ 4.,  2.],
           [-4., -2.]])
    """
    spread = x.std(axis=0)
    largest = spread.max(initial=0)
    if exponent == 0 or largest == 0:
        return x
    return np.asarray(x * np.maximum(spread / largest, LEAST) ** -exponent, dtype=x.dtype)


def consensus(labelings: list[Ints], n_clusters: int, weights: Floats, seed: int) -> Ints:
    """Average linkage of the share of runs that keep two rows together (evidence accumulation).

    It joins at most a few thousand rows. Then every row goes to the cluster in which its companions
    of all runs are (Fred and Jain, 2005, "Combining multiple clusterings using evidence
    accumulation", join all rows).

    Parameters
    ----------
    labelings : list of ndarray of shape (n,)
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts.
    seed : int

    Returns
    -------
    ndarray of shape (n,)
        Labels below ``n_clusters``; some may be left without a row.

    Examples
    --------
    >>> runs = [np.array([0, 0, 0, 1, 1]), np.array([2, 2, 3, 3, 3]), np.array([1, 1, 0, 0, 0])]
    >>> consensus(runs, 2, np.ones(5), 0)
    array([0, 0, 1, 1, 1])
    """
    found = memberships(labelings, sparse=True)  # (n, clusters of all runs)
    n = found.shape[0]
    most = min(max(LINKED[0], PER_CLUSTER * n_clusters), LINKED[1])
    rows = some_rows(n, most, seed, "consensus")
    stacked = np.stack([labels[rows] for labels in labelings], axis=1)
    _, first, kinds = np.unique(stacked, axis=0, return_index=True, return_inverse=True)
    kinds = kinds.ravel()
    sizes = np.bincount(kinds, weights[rows]).astype(np.float32)
    part = found[rows]
    # The product of two rows is the number of runs that keep them together.
    joined = agglomerate(part[first].toarray(), min(n_clusters, len(first)), "average", sizes)
    inside = np.zeros((len(rows), n_clusters), dtype=np.float32)
    inside[np.arange(len(rows)), joined[kinds]] = weights[rows]
    shares = np.asarray(part.T @ inside)  # (clusters of all runs, n_clusters)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray((found @ shares).argmax(axis=1), dtype=np.int64)


def force_k(x: Floats, labels: Ints, n_clusters: int, weights: Floats, seed: int) -> Ints:
    """Labels from 0 to ``n_clusters - 1``, all of them used.

    Rows without a cluster join that of the nearest row that has one. If there are too many
    clusters, the nearest are joined by Ward's criterion; if too few, the one with the largest sum
    of squares is cut in two by k-means, as often as needed.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        At least ``n_clusters`` different rows.
    labels : ndarray of shape (n,)
        -1 for rows without a cluster.
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts.
    seed : int

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [8.0], [9.0], [30.0]], dtype=np.float32)
    >>> ones = np.ones(5, dtype=np.float32)
    >>> force_k(x, np.array([0, 0, 1, -1, 2]), 2, ones, 0).tolist()
    [0, 0, 0, 0, 1]
    """
    labels = _join_unassigned(x, labels)
    numbers, labels = np.unique(labels, return_inverse=True)
    if len(numbers) > n_clusters:
        means, sizes = cluster_means(x, labels, weights=weights)
        joined = agglomerate(means.astype(np.float32), n_clusters, "ward", sizes)
        return np.asarray(joined[labels], dtype=np.int64)
    labels = labels.astype(np.int64)
    for number in range(len(numbers), n_clusters):
        labels = _split_largest(x, labels, number, weights, derive_seed(seed, "split", number))
    return labels


def without_tiny(
    x: Floats, labels: Ints, n_clusters: int, weights: Floats, seed: int, least: int = TINY
) -> Ints:
    """Labels in which the smallest clusters are given up, and the largest are cut in two instead.

    Nobody needs a cluster of two texts beside one of a hundred. Where a cluster of mean size has
    fewer than twice as many texts as it should have at least, small ones are to be expected.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts.
    seed : int
    least : int, default=3
        Texts of a cluster that is kept.

    Examples
    --------
    >>> x = np.array([[0], [0.1], [0.2], [4], [4.1], [4.2], [5], [5.1], [5.2], [9]])
    >>> labels, weights = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 2]), np.full(10, 2)
    >>> without_tiny(x.astype(np.float32), labels, 3, weights.astype(np.float32), 0).tolist()
    [0, 0, 0, 2, 2, 2, 1, 1, 1, 1]
    """
    tiny = np.bincount(labels, weights, minlength=n_clusters) < least
    if not tiny.any() or weights.sum() < 2 * least * n_clusters:
        return labels
    kept, out = np.flatnonzero(~tiny[labels]), np.full(len(labels), -1, dtype=np.int64)
    out[kept] = force_k(x[kept], labels[kept], n_clusters, weights[kept], seed)
    return _join_unassigned(x, out)


def _join_unassigned(x: Floats, labels: Ints) -> Ints:
    lost = labels < 0
    if not lost.any():
        return labels
    if lost.all():
        return np.zeros(len(labels), dtype=np.int64)
    out = labels.copy()
    out[lost] = labels[~lost][nearest_by_distance(x[lost], x[~lost])]
    return out


def _split_largest(x: Floats, labels: Ints, new: int, weights: Floats, seed: int) -> Ints:
    """Half of the cluster with the largest sum of squares becomes the cluster ``new``."""
    squares = np.zeros(new)
    for j in range(new):
        rows, w = x[labels == j].astype(np.float64), weights[labels == j, None]
        squares[j] = (w * np.square(rows - (w * rows).sum(axis=0) / w.sum())).sum()
    torn = np.flatnonzero(labels == squares.argmax())
    halves = KMeans(n_clusters=2, seed=seed)(x[torn], weights[torn]).labels
    out = labels.copy()
    out[torn[halves == 1]] = new
    return out
