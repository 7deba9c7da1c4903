"""Giving the clusters of a new clustering the numbers of an older one (Hungarian matching)."""

from __future__ import annotations

import numpy as np

from coterie._types import Ints


def align(new: Ints, old: Ints, n_clusters: int) -> Ints:
    """Number in ``old`` for each cluster of ``new``, so that most texts keep their number.

    Parameters
    ----------
    new, old : ndarray of shape (n,)
        Labels from 0 to ``n_clusters - 1`` of the same texts.
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_clusters,)
        A permutation; ``align(...)[new]`` are the aligned labels.

    Examples
    --------
    >>> align(np.array([2, 2, 0, 1]), np.array([0, 0, 1, 2]), 3).tolist()
    [1, 2, 0]
    """
    from scipy.optimize import linear_sum_assignment

    overlap = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(overlap, (new, old), 1)
    return np.asarray(linear_sum_assignment(overlap, maximize=True)[1], dtype=np.int64)
