"""Average linkage on a sparse matrix of similarities; what is not in it counts as zero.

The similarity of two clusters is the sum of the kept similarities between them over the number of
pairs. Clusters that are each other's nearest are joined, all such pairs at once: for average
linkage a join brings no cluster nearer to another than its nearer half was, so that the same tree
comes out as by joining the best pair at a time. A round is one product of sparse matrices: memory
is that of the pairs that are kept, whatever the number of texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._types import Floats, Ints

Merge = tuple[float, int, int]  # similarity, the row that stands for a cluster, and the one gone


def sparse_average(
    first: Ints, second: Ints, similarities: Floats, weights: Floats
) -> tuple[list[Merge], Ints]:
    """All joins of clusters with a similarity above zero.

    Parameters
    ----------
    first, second : ndarray of shape (m,)
        Pairs of rows, each once.
    similarities : ndarray of shape (m,)
        Those at or below zero are as good as not there.
    weights : ndarray of shape (n,)
        How often each row counts.

    Returns
    -------
    merges : list of (similarity, kept, gone)
        In no order; ``kept`` is the smallest row of the joined cluster.
    groups : ndarray of shape (n,)
        Number of the connected part that each row ends in.
    """
    from scipy.sparse import coo_matrix

    n = len(weights)
    sizes = weights.astype(np.float64)
    able = similarities > 0
    first, second = first[able], second[able]
    sums = similarities[able].astype(np.float64) * sizes[first] * sizes[second]
    graph = coo_matrix((sums, (first, second)), shape=(n, n)).tocsr()
    graph = (graph + graph.T).tocsr()
    names = np.arange(n)  # the smallest row of each cluster
    groups = np.arange(n)
    merges: list[Merge] = []
    while graph.nnz:
        kept, gone, height = _mutual(graph, sizes)
        merges += zip(height.tolist(), names[kept].tolist(), names[gone].tolist(), strict=True)
        target = np.arange(len(sizes))
        target[gone] = kept
        alive, numbers = np.unique(target, return_inverse=True)
        sizes = np.bincount(numbers, sizes).astype(np.float64)
        names, groups = names[alive], numbers[groups]
        graph = _joined(graph, numbers, len(alive))
    return merges, groups


def _mutual(graph: Any, sizes: Floats) -> tuple[Ints, Ints, Floats]:
    """Pairs of clusters that are each other's nearest: lower number, higher number, similarity."""
    counts = np.diff(graph.indptr)
    rows = np.repeat(np.arange(len(sizes)), counts)
    values = graph.data / (sizes[rows] * sizes[graph.indices])
    some = np.flatnonzero(counts)
    best = np.zeros(len(sizes))
    best[some] = np.maximum.reduceat(values, graph.indptr[some])
    # An order of all pairs, by similarity and then by number, has no circles among the nearest.
    low, high = np.minimum(rows, graph.indices), np.maximum(rows, graph.indices)
    tied = np.flatnonzero(values == best[rows])
    order = tied[np.lexsort((high[tied], low[tied], rows[tied]))]
    chosen = order[np.unique(rows[order], return_index=True)[1]]
    nearest = np.full(len(sizes), -1)
    nearest[rows[chosen]] = graph.indices[chosen]
    at = np.flatnonzero(nearest >= 0)
    kept = at[(nearest[nearest[at]] == at) & (at < nearest[at])]
    return kept, nearest[kept], best[kept]


def _joined(graph: Any, numbers: Ints, n: int) -> Any:
    from scipy.sparse import coo_matrix

    wide = graph.tocoo()
    rows, columns = numbers[wide.row], numbers[wide.col]
    apart = rows != columns
    summed = coo_matrix((wide.data[apart], (rows[apart], columns[apart])), shape=(n, n)).tocsr()
    # Sums of many numbers depend on their order: without this, two clusters could disagree on how
    # near they are, and none would be another's nearest in turn.
    return (0.5 * (summed + summed.T)).tocsr()
