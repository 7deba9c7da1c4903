"""As many clusters as were asked for, from a clustering that found another number."""

from __future__ import annotations

import numpy as np

from coterie._random import derive_seed
from coterie._types import Floats, Ints
from coterie.blocks.kmeans import KMeans
from coterie.blocks.linkage import agglomerate
from coterie.neighbors import top_k


def exactly(x: Floats, labels: Ints, n_clusters: int, weights: Floats, seed: int) -> Ints:
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
    >>> exactly(x, np.array([0, 0, 1, -1, 2]), 2, ones, 0).tolist()
    [0, 0, 0, 0, 1]
    """
    labels = _joined(x, labels)
    numbers, labels = np.unique(labels, return_inverse=True)
    if len(numbers) > n_clusters:
        sizes = np.bincount(labels, weights).astype(np.float64)
        sums = np.zeros((len(numbers), x.shape[1]))
        np.add.at(sums, labels, weights[:, None] * x)
        means = (sums / sizes[:, None]).astype(np.float32)
        return np.asarray(agglomerate(means, n_clusters, "ward", sizes)[labels], dtype=np.int64)
    labels = labels.astype(np.int64)
    for number in range(len(numbers), n_clusters):
        labels = _split(x, labels, number, weights, derive_seed(seed, "split", number))
    return labels


def _joined(x: Floats, labels: Ints) -> Ints:
    lost = labels < 0
    if not lost.any():
        return labels
    if lost.all():
        return np.zeros(len(labels), dtype=np.int64)
    nearest, _ = top_k(x[lost], 1, x[~lost], metric="euclidean")
    out = labels.copy()
    out[lost] = labels[~lost][nearest[:, 0].numpy()]
    return out


def _split(x: Floats, labels: Ints, new: int, weights: Floats, seed: int) -> Ints:
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
