"""Clusters by HDBSCAN of scikit-learn, near a number that is asked for."""

from __future__ import annotations

import numpy as np

from coterie._types import Floats, Ints

MIN_SAMPLES = 5  # neighbours that make a place dense; fixed, so that only the size is looked for


def dense_groups(
    x: Floats, n_clusters: int, weights: Floats, min_cluster_size: int | None = None
) -> Ints:
    """Dense groups of rows; rows between them are -1.

    HDBSCAN finds the number of groups itself. If no size is given, the largest least size is
    looked for, by bisection, that leaves at least ``n_clusters`` groups.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts.
    min_cluster_size : int, optional
        Rows that a group must have.

    Returns
    -------
    ndarray of shape (n,)
        Groups from 0, as many as were found.
    """
    counts = weights.astype(np.int64)
    first = np.cumsum(counts) - counts  # the place of each row among the repeated ones
    repeated = np.repeat(x, counts, axis=0)
    if n_clusters == 1 or len(repeated) < 4:
        return np.zeros(len(x), dtype=np.int64)
    if min_cluster_size is not None:
        return np.asarray(_groups(repeated, min_cluster_size)[first])
    low, high = 2, max(2, len(repeated) // n_clusters)
    best = _groups(repeated, low)
    while low < high:  # the number of groups falls as the least size grows
        middle = (low + high + 1) // 2
        found = _groups(repeated, middle)
        if found.max() + 1 >= n_clusters:
            low, best = middle, found
        else:
            high = middle - 1
    return np.asarray(best[first])


def _groups(x: Floats, min_cluster_size: int) -> Ints:
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(
        min_cluster_size=min(min_cluster_size, len(x)),
        min_samples=min(MIN_SAMPLES, len(x)),
        copy=True,
    )
    return np.asarray(model.fit_predict(x.astype(np.float64)), dtype=np.int64)
