"""A consensus of k-means runs after k-NN smoothing: for ``auto``, and for the start guard.

Vectors are smoothed over the graph of nearest neighbours, k-means runs from several starts, and the
runs are combined. The settings are the same for all texts; they were chosen on the development sets
(``docs/generalization.md``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from coterie._random import derive_seed
from coterie._types import Floats, Ints
from coterie.base.exact import exactly
from coterie.blocks.consensus import memberships
from coterie.blocks.graph import knn_smooth, principal_part
from coterie.blocks.kmeans import KMeans
from coterie.neighbors import nearest_rows

NEIGHBORS = 4, 10  # fewest and most neighbours of the graph
ROUNDS, RESTART = 8, 0.1  # of smoothing
DIRECTIONS = 100  # in which vectors are smoothed


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
    n_clusters: int,
    runs: int,
    weights: Floats,
    seed: int,
    *,
    device: torch.device | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> tuple[Ints, list[Ints]]:
    """Smooth the rows, run k-means several times, and combine the better half of the runs.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        At least ``n_clusters`` different rows.
    n_clusters : int
    runs : int
        Twice as many are made.
    weights : ndarray of shape (n,)
        How often each row counts.
    seed : int
    device : torch.device, optional
        Of the neighbour search and of k-means.
    advance : callable, optional
        Is called with the number of runs that are done.

    Returns
    -------
    labels : ndarray of shape (n,)
        Exactly ``n_clusters`` are used.
    labelings : list of ndarray of shape (n,)
        The labels of the runs that were combined: those of the least inertia.
    """
    k = n_neighbors(len(x), n_clusters)
    smoothed = principal_part(x, DIRECTIONS)
    if k:
        near = nearest_rows(torch.from_numpy(np.ascontiguousarray(x)).to(device), k + 1)
        smoothed = knn_smooth(smoothed, near, ROUNDS, RESTART)
    on_device = torch.from_numpy(smoothed).to(device)
    found = []
    for run in range(2 * runs):
        kmeans = KMeans(n_clusters=n_clusters, seed=derive_seed(seed, "run", run), n_init=1)
        found.append(kmeans(on_device, weights))
        advance(run + 1)
    found.sort(key=lambda clustering: clustering.inertia)
    labelings = [clustering.labels for clustering in found[:runs]]
    labels = consensus(labelings, n_clusters, weights, seed)
    return exactly(x, labels, n_clusters, weights, seed), labelings


def consensus(labelings: list[Ints], n_clusters: int, weights: Floats, seed: int) -> Ints:
    """The clustering that disagrees least with several: k-means on their memberships.

    Parameters
    ----------
    labelings : list of ndarray of shape (n,)
    n_clusters : int
    weights : ndarray of shape (n,)
    seed : int
    """
    from sklearn.decomposition import TruncatedSVD

    found = memberships(labelings, sparse=True)
    width = max(DIRECTIONS, n_clusters)
    if width < min(found.shape):
        svd = TruncatedSVD(width, n_iter=4, random_state=derive_seed(seed, "consensus", "svd"))
        x = svd.fit_transform(found)
    else:
        x = found.toarray()
    x = np.ascontiguousarray(x, dtype=np.float32)
    kmeans = KMeans(n_clusters=n_clusters, seed=derive_seed(seed, "consensus"), n_init=3)
    return kmeans(torch.from_numpy(x), weights).labels
