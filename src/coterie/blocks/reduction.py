"""Fewer dimensions that keep neighbours together, by UMAP."""

from __future__ import annotations

import numpy as np

from coterie._threads import kept_threads
from coterie._types import Floats
from coterie._validation import need


def reduce_by_umap(vectors: Floats, dim: int = 5, n_neighbors: int = 15, seed: int = 0) -> Floats:
    """Reduce to ``dim`` dimensions for clustering, by cosine; fewer where there are few rows.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    dim, n_neighbors, seed : int

    Returns
    -------
    ndarray of shape (n, dim)
    """
    umap = need("umap", "umap")
    reducer = umap.UMAP(
        n_neighbors=min(n_neighbors, len(vectors) - 1),
        n_components=min(dim, len(vectors) - 2),
        min_dist=0.0,  # clusters may be dense
        metric="cosine",
        random_state=seed,
        n_jobs=1,  # a seed makes UMAP use one thread; saying so avoids its warning
    )
    with kept_threads():
        return np.asarray(reducer.fit_transform(vectors), dtype=np.float32)
