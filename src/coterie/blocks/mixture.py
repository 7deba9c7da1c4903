"""Clusters as bell curves: a mixture of Gaussians, by scikit-learn."""

from __future__ import annotations

from typing import Literal

import numpy as np

from coterie._types import Floats, Ints

Covariance = Literal["diag", "full", "spherical", "tied"]


def mixture_labels(
    x: Floats,
    n_clusters: int,
    weights: Floats,
    *,
    covariance: Covariance = "diag",
    n_init: int = 1,
    seed: int = 0,
) -> Ints:
    """The most probable part of a mixture for each row.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts; scikit-learn knows no weights, so rows are repeated.
    covariance : {"diag", "full", "spherical", "tied"}, default="diag"
        What the parts may look like.
    n_init, seed : int

    Returns
    -------
    ndarray of shape (n,)
        From 0 to ``n_clusters - 1``; a part that is most probable nowhere has no row.
    """
    from sklearn.mixture import GaussianMixture

    if len(x) == 1:  # scikit-learn asks for two rows
        return np.zeros(1, dtype=np.int64)
    repeated = np.repeat(x, weights.astype(np.int64), axis=0).astype(np.float64)
    model = GaussianMixture(
        n_clusters, covariance_type=covariance, n_init=n_init, random_state=seed
    ).fit(repeated)
    return np.asarray(model.predict(x.astype(np.float64)), dtype=np.int64)
