"""One clustering out of several: texts that most of them keep together stay together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie._types import Floats, Ints


def memberships(labelings: Sequence[Ints]) -> Floats:
    """Which cluster of each clustering a text is in, side by side.

    The squared distance of two rows is twice the number of clusterings that keep them apart, so
    k-means on these rows looks for the partition that disagrees least with all of them (Wu et al.,
    2015, "K-means-based consensus clustering").

    Parameters
    ----------
    labelings : sequence of ndarrays of shape (n,)

    Returns
    -------
    ndarray of shape (n, clusters of all clusterings)
        Zeros and ones.

    Examples
    --------
    >>> memberships([np.array([0, 0, 1]), np.array([5, 3, 3])])
    array([[1., 0., 0., 1.],
           [1., 0., 1., 0.],
           [0., 1., 1., 0.]], dtype=float32)
    """
    parts = []
    for labels in labelings:
        numbers, rows = np.unique(labels, return_inverse=True)
        parts.append(np.eye(len(numbers), dtype=np.float32)[rows])
    return np.hstack(parts)
