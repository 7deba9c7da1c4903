"""Principal directions as a linear map, for layers that start where PCA ends."""

from __future__ import annotations

import numpy as np

from coterie._util.types import Floats


def principal_map(vectors: Floats, weights: Floats, dim: int) -> tuple[Floats, Floats]:
    """Weight and bias of the layer that projects onto the principal directions.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    weights : ndarray of shape (n,)
        Row ``i`` counts ``weights[i]`` times.
    dim : int
        Directions wanted; at most ``d`` and, as ``n`` centered rows span no more, ``n - 1``.

    Returns
    -------
    weight : ndarray of shape (min(dim, d, max(n - 1, 1)), d)
        Orthonormal rows, that of the largest variance first; the largest entry of each is positive.
    bias : ndarray
        Minus the projected mean, so that the projections have mean zero.
    """
    n, d = vectors.shape
    x = vectors.astype(np.float64)
    share = (weights / weights.sum()).astype(np.float64)
    mean = share @ x
    x = (x - mean) * np.sqrt(share)[:, None]
    if n > d:  # the covariance is small, the rows may be many
        rows = np.linalg.eigh(x.T @ x)[1][:, ::-1].T
    else:
        rows = np.linalg.svd(x, full_matrices=False)[2]
    rows = rows[: min(dim, d, max(n - 1, 1))]
    signs = np.sign(rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)])
    rows = rows * signs[:, None]  # the sign of a direction is arbitrary: fix it
    # Row by row in memory, as torch's optimisers expect of a weight.
    return np.ascontiguousarray(rows, dtype=np.float32), (-rows @ mean).astype(np.float32)
