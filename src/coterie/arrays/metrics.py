"""Scores of a clustering: against true labels, and from the vectors alone. Arrays only.

True labels may be of any kind (numbers, words). Outliers (-1) count as one more cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie._util.types import Floats, Ints
from coterie.errors import UsageError

Labels = Sequence[Any] | NDArray[Any]


def contingency(truth: Labels, labels: Labels) -> Ints:
    """How many texts of each true class (rows) went into each cluster (columns)."""
    if len(truth) != len(labels):
        raise UsageError(
            f"{len(truth)} true labels but {len(labels)} cluster labels; give one of each per text."
        )
    if len(truth) == 0:
        raise UsageError("no labels to score: both lists are empty.")
    rows = np.unique(np.asarray(truth), return_inverse=True)[1].ravel()
    columns = np.unique(np.asarray(labels), return_inverse=True)[1].ravel()
    table = np.zeros((rows.max() + 1, columns.max() + 1), dtype=np.int64)
    np.add.at(table, (rows, columns), 1)
    return table


def accuracy(truth: Labels, labels: Labels) -> float:
    """Share of texts that agree under the best one-to-one map of clusters to classes (ACC).

    The numbers of clusters and classes may differ; what finds no partner counts as wrong.

    Examples
    --------
    >>> accuracy(["a", "a", "b", "b"], [7, 7, 3, 7])
    0.75
    """
    return float(correct(truth, labels).mean())


def correct(truth: Labels, labels: Labels) -> NDArray[np.bool_]:
    """Which texts are right under the best one-to-one map of clusters to classes.

    Their share is :func:`accuracy`. Texts of a cluster without a partner are wrong.

    Examples
    --------
    >>> correct(["a", "a", "b", "b"], [7, 7, 3, 7])
    array([ True,  True,  True, False])
    """
    partners = best_partners(contingency(truth, labels))
    return np.asarray(partners[_codes(truth)] == _codes(labels))


def best_partners(value: NDArray[Any]) -> Ints:
    """The column that each row is matched with, one to one, for the largest sum; -1 for none.

    Examples
    --------
    >>> best_partners(np.array([[3, 2], [9, 3], [1, 0]]))
    array([ 1,  0, -1])
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(value, maximize=True)
    partners = np.full(len(value), -1, dtype=np.int64)
    partners[rows] = columns
    return partners


def purity(truth: Labels, labels: Labels) -> float:
    """Share of texts whose class is the most frequent one of their cluster.

    Never below :func:`accuracy`, and 1 when every text is its own cluster: not comparable to it.

    Examples
    --------
    >>> purity(["a", "a", "b", "b"], [0, 1, 2, 3])
    1.0
    """
    table = contingency(truth, labels)
    return float(table.max(axis=0).sum() / table.sum())


def nmi(
    truth: Labels, labels: Labels, average: Literal["arithmetic", "geometric"] = "arithmetic"
) -> float:
    """Mutual information over the mean of both entropies (NMI).

    The code of SCCL, AECL and RSTC takes the arithmetic mean, the papers of AECL and ClusterBERT
    print the geometric one. Both partitions with one single cluster: 1; only one of them: 0.
    """
    from sklearn.metrics import normalized_mutual_info_score

    table = contingency(truth, labels)
    if table.shape == (1, 1):
        return 1.0
    codes = _codes(truth), _codes(labels)
    return float(normalized_mutual_info_score(*codes, average_method=average))


def ari(truth: Labels, labels: Labels) -> float:
    """Adjusted Rand index: agreement on pairs, 0 for chance."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(_codes(truth), _codes(labels)))


def ami(truth: Labels, labels: Labels) -> float:
    """Adjusted mutual information: NMI less what chance gives."""
    from sklearn.metrics import adjusted_mutual_info_score

    return float(adjusted_mutual_info_score(_codes(truth), _codes(labels)))


def v_measure(truth: Labels, labels: Labels) -> float:
    """Harmonic mean of homogeneity and completeness; equal to NMI with the arithmetic mean."""
    from sklearn.metrics import v_measure_score

    return float(v_measure_score(_codes(truth), _codes(labels)))


def external_scores(truth: Labels, labels: Labels) -> dict[str, float]:
    """All scores against true labels, by name."""
    return {
        "acc": accuracy(truth, labels),
        "nmi": nmi(truth, labels),
        "nmi_geometric": nmi(truth, labels, "geometric"),
        "ari": ari(truth, labels),
        "ami": ami(truth, labels),
        "v_measure": v_measure(truth, labels),
        "purity": purity(truth, labels),
    }


def silhouette(vectors: Floats, labels: Labels, sample: int = 5000, seed: int = 0) -> float:
    """Mean silhouette (Euclidean): how much nearer the own cluster is than the next, -1 to 1.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    labels : sequence of length n
    sample : int, default=5000
        Rows used; the exact score costs ``n^2`` distances.
    seed : int, default=0
        Draws the sample.

    Returns
    -------
    float
        Not a number when there are fewer than two clusters or no cluster of two.
    """
    from sklearn.metrics import silhouette_score

    codes = _codes(labels)
    if len(codes) > sample:
        rows = np.random.default_rng(seed).choice(len(codes), sample, replace=False)
        vectors, codes = vectors[rows], codes[rows]
    if not 2 <= len(np.unique(codes)) < len(codes):
        return float("nan")
    return float(silhouette_score(vectors, codes))


def dunn(vectors: Floats, labels: Labels) -> float:
    """Smallest distance between two clusters over the largest diameter of one (Dunn, 1974).

    Exact, over all pairs, a block of rows at a time. Higher is better; one pair of close texts
    in different clusters is enough to bring it near zero.
    """
    import torch

    codes = torch.from_numpy(_codes(labels))
    # In float64 a product of matrices, which is many times as fast, loses nothing that matters.
    points = torch.as_tensor(vectors, dtype=torch.float64)
    points = points - points.mean(dim=0)
    between, diameter = float("inf"), 0.0
    for block, code in zip(points.split(512), codes.split(512), strict=True):
        distances = torch.cdist(block, points, compute_mode="use_mm_for_euclid_dist")
        same = code[:, None] == codes[None, :]
        diameter = max(diameter, float(distances[same].max()))
        if not bool(same.all()):
            between = min(between, float(distances[~same].min()))
    if not np.isfinite(between):
        return float("nan")
    return between / diameter if diameter > 0 else float("inf")


def cluster_means(
    vectors: Floats, labels: Ints, n_clusters: int = 0, weights: Floats | None = None
) -> tuple[Floats, NDArray[Any]]:
    """Mean vector of each cluster, in float64, and how many texts it has.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
        From 0.
    n_clusters : int, default=0
        At least so many rows; those of clusters without a text are zero.
    weights : ndarray of shape (n,), optional
        How often each row counts.

    Examples
    --------
    >>> cluster_means(np.array([[1.0], [3.0], [5.0]]), np.array([0, 0, 1]))
    (array([[2.],
           [5.]]), array([2, 1]))
    """
    from scipy.sparse import csr_matrix

    sizes = np.bincount(labels, weights, n_clusters)
    counts = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
    members = csr_matrix((counts, (labels, np.arange(len(labels)))), (len(sizes), len(labels)))
    return members @ vectors / np.where(sizes > 0, sizes, 1)[:, None], sizes


def size_entropy(labels: Labels, n_clusters: int | None = None) -> float:
    """Entropy of the cluster sizes over its maximum: 1 for equal sizes, 0 for one cluster."""
    sizes = np.unique(np.asarray(labels), return_counts=True)[1]
    share = sizes / sizes.sum()
    highest = np.log(n_clusters or len(sizes))
    return float(-(share * np.log(share)).sum() / highest) if highest > 0 else 0.0


def _codes(labels: Labels) -> Ints:
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    return codes.ravel().astype(np.int64)
