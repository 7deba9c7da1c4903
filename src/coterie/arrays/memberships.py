"""One clustering out of several: texts that most of them keep together stay together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie._util.types import Ints


def memberships(labelings: Sequence[Ints], *, sparse: bool = False) -> Any:
    """One-hot columns of several clusterings, side by side.

    The squared distance of two rows is twice the number of clusterings that keep them apart, so
    k-means on these rows looks for the partition that disagrees least with all of them (Wu et al.,
    2015, "K-means-based consensus clustering").

    Parameters
    ----------
    labelings : sequence of ndarrays of shape (n,)
    sparse : bool, default=False

    Returns
    -------
    ndarray or csr_matrix of shape (n, clusters of all clusterings)
        Zeros and ones.

    Examples
    --------
    >>> memberships([np.array([0, 0, 1]), np.array([5, 3, 3])])
    array([[1., 0., 0., 1.],
           [1., 0., 1., 0.],
           [0., 1., 1., 0.]], dtype=float32)
    """
    from scipy.sparse import csr_matrix

    columns, width = [], 0
    for labels in labelings:
        numbers, rows = np.unique(labels, return_inverse=True)
        columns.append(width + rows)
        width += len(numbers)
    stacked = np.stack(columns, axis=1)  # (n, clusterings)
    n, count = stacked.shape
    ones, starts = np.ones(n * count, dtype=np.float32), count * np.arange(n + 1)
    found = csr_matrix((ones, stacked.ravel(), starts), shape=(n, width))
    return found if sparse else found.toarray()
