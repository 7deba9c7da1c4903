"""What training did to a model: indices per stage, similarity of pairs, retrieval.

These are the analyses of the ClusterBERT paper (Figures 3 and 4, Table 5); all but the first work
with any method. True labels and relevance are used for scores and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie._util.types import Floats
from coterie.arrays.metrics import accuracy, cluster_means, nmi


def stage_indices(model: Any, labels: Sequence[Any]) -> list[dict[str, Any]]:
    """``silhouette``, ``dunn``, ``nmi`` and ``acc`` after each stage that a model has recorded."""
    out = []
    for stage in model.stages_:
        row = {key: value for key, value in stage.items() if key != "labels"}
        found = np.asarray(stage["labels"])
        truth = np.asarray(labels)[found >= 0]
        row["nmi"] = nmi(truth, found[found >= 0])
        row["acc"] = accuracy(truth, found[found >= 0])
        out.append(row)
    return out


def average_precision(scores: Sequence[float] | Floats, relevant: Sequence[int]) -> float:
    """Mean, over the right candidates, of the share of right ones down to their rank.

    Candidates of equal score keep their order. Not a number if no candidate is right.

    Examples
    --------
    >>> average_precision([0.9, 0.8, 0.7], [1, 0, 1]) == (1 / 1 + 2 / 3) / 2
    True
    """
    ranks = _ranks(scores, relevant)
    return float((np.arange(1, len(ranks) + 1) / ranks).mean()) if len(ranks) else float("nan")


def reciprocal_rank(scores: Sequence[float] | Floats, relevant: Sequence[int]) -> float:
    """One over the rank of the first right candidate; not a number if there is none.

    Examples
    --------
    >>> reciprocal_rank([0.9, 0.8, 0.7], [0, 1, 1])
    0.5
    """
    ranks = _ranks(scores, relevant)
    return float(1 / ranks[0]) if len(ranks) else float("nan")


def _ranks(scores: Sequence[float] | Floats, relevant: Sequence[int]) -> Floats:
    """Ranks of the right candidates, from 1, best first."""
    order = np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")
    return np.flatnonzero(np.asarray(relevant, dtype=bool)[order]) + 1.0


def cluster_distances(vectors: Floats, labels: Any) -> dict[str, float]:
    """Mean distance of texts to their centroid, and of centroids to the nearest other one.

    Both are averaged over clusters, as in Figure 4 of SCCL: ``intra`` and ``inter``.
    """
    from scipy.spatial.distance import cdist

    codes = np.unique(np.asarray(labels), return_inverse=True)[1].ravel()
    centroids, sizes = cluster_means(vectors, codes)
    k = len(sizes)
    own = np.linalg.norm(vectors - centroids[codes], axis=1)
    intra = float((np.bincount(codes, weights=own, minlength=k) / sizes).mean())
    if k < 2:
        return {"intra": intra, "inter": float("nan")}
    apart = cdist(centroids, centroids)
    np.fill_diagonal(apart, np.inf)
    return {"intra": intra, "inter": float(apart.min(axis=1).mean())}
