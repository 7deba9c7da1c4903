"""Which clusters of two clusterings belong together: the definitions, on a table of counts.

Let ``C[a, b]`` be the rows that are in cluster ``a`` of A and in cluster ``b`` of B, and ``r[a]``,
``s[b]`` its sums over rows and columns.

- ``a`` and ``b`` are *linked* if they share more than half of the smaller one:
  ``C[a, b] > min(r[a], s[b]) / 2``.
- A cluster without a link has *died* (in A) or was *born* (in B).
- A cluster of A with two links or more was *split*; one of B with two links or more was *merged*.
- With one link, it is *matched* if the other one has only this link, too. Otherwise it is a part
  of what happened to the other one: ``a`` was *merged* with others, ``b`` is a part of a *split*.
- The *partner* of a cluster is the one that carries its number on: of all one-to-one choices of
  links, the one with the largest sum of ``C / (r + s - C)`` (Jaccard).

The first rule is symmetric, needs no number to tune, and is strict: a cluster that is made of two
equal halves of others continues none of them. It is the rule of MONIC (Spiliopoulou et al., 2006)
with its usual threshold of one half, applied to the smaller of both clusters.
"""

from __future__ import annotations

import numpy as np

from coterie._types import Bools, Floats, Ints

MATCHED, SPLIT, MERGED, DIED, BORN = "matched", "split", "merged", "died", "born"


def links(counts: Ints) -> Bools:
    """Which pairs share more than half of the smaller cluster.

    Parameters
    ----------
    counts : ndarray of shape (k_a, k_b)
        Rows that are in cluster ``a`` here and in cluster ``b`` there.

    Examples
    --------
    >>> links(np.array([[5, 5, 0], [0, 0, 8]])).astype(int).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """
    smaller = np.minimum(counts.sum(axis=1)[:, None], counts.sum(axis=0)[None, :])
    return np.asarray(2 * counts > smaller)


def similar(similarity: Floats, least: float) -> Bools:
    """Links where rows cannot be counted: to the most similar one, from either side.

    Parameters
    ----------
    similarity : ndarray of shape (k_a, k_b)
    least : float
        What is less similar than this is not linked.
    """
    if not similarity.size:
        return np.zeros(similarity.shape, dtype=bool)
    best = similarity == similarity.max(axis=1, keepdims=True)
    best |= similarity == similarity.max(axis=0, keepdims=True)
    return np.asarray(best & (similarity >= least))


def jaccard(counts: Ints) -> Floats:
    """Shared rows over all rows of both clusters; 0 where both are empty.

    Examples
    --------
    >>> jaccard(np.array([[3, 1], [0, 4]])).tolist()
    [[0.75, 0.125], [0.0, 0.8]]
    """
    union = counts.sum(axis=1)[:, None] + counts.sum(axis=0)[None, :] - counts
    return np.asarray(counts / np.maximum(union, 1), dtype=np.float64)


def partners(weights: Floats, linked: Bools) -> dict[int, int]:
    """The one-to-one choice of links with the largest sum of weights; first numbers win ties.

    Parameters
    ----------
    weights : ndarray of shape (k_a, k_b)
    linked : ndarray of shape (k_a, k_b)

    Returns
    -------
    dict of int to int
        Places in A to places in B.
    """
    from scipy.optimize import linear_sum_assignment

    if not linked.any():
        return {}
    late = np.arange(linked.size).reshape(linked.shape) / linked.size  # decides among equals
    value = np.where(linked, weights - 1e-9 * late, 0.0)
    rows, columns = linear_sum_assignment(value, maximize=True)
    return {int(a): int(b) for a, b in zip(rows, columns, strict=True) if linked[a, b]}


def statuses(linked: Bools) -> tuple[list[str], list[str]]:
    """What became of each cluster of A, and where each cluster of B comes from."""
    out_a, out_b = linked.sum(axis=1), linked.sum(axis=0)
    of_a = [_status(row, out_b, DIED, SPLIT, MERGED) for row in linked]
    of_b = [_status(column, out_a, BORN, MERGED, SPLIT) for column in linked.T]
    return of_a, of_b


def _status(mine: Bools, theirs: Ints, none: str, many: str, shared: str) -> str:
    count = int(mine.sum())
    if count == 0:
        return none
    if count > 1:
        return many
    return MATCHED if theirs[mine][0] == 1 else shared
