"""What training did to a model: indices per stage, similarity of pairs, retrieval.

These are the analyses of the ClusterBERT paper (Figures 3 and 4, Table 5); all but the first work
with any method. True labels and relevance are used for scores and nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie._random import derive_seed
from coterie._types import Floats
from coterie._validation import check_device
from coterie.base import TextClusterer
from coterie.encoders import Encoder, VectorEncoder
from coterie.encoders.lexical import MixedEncoder
from coterie.errors import DataError, UsageError
from coterie.metrics import accuracy, cluster_means, nmi
from coterie.neighbors import unit_rows

BOTH = ("before", "after")


def stage_indices(
    model: TextClusterer, labels: Sequence[Any] | None = None
) -> list[dict[str, Any]]:
    """Silhouette and Dunn index after each stage, with NMI and ACC where labels are given.

    Parameters
    ----------
    model : ClusterBERT
        Fitted with ``record_stages=True``.
    labels : sequence, optional
        True label of each text that the model was fitted on.

    Returns
    -------
    list of dict
        ``stage``, ``silhouette``, ``dunn`` and, with labels, ``nmi`` and ``acc``.
    """
    recorded = getattr(model, "stages_", None)
    if not recorded:
        raise UsageError("the model has no recorded stages; fit it with record_stages=True.")
    if labels is not None and len(labels) != len(recorded[0]["labels"]):
        raise DataError(
            f"{len(labels)} labels for a model of {len(recorded[0]['labels'])} texts; "
            "give one label for each text it was fitted on."
        )
    out = []
    for stage in recorded:
        row = {key: value for key, value in stage.items() if key != "labels"}
        if labels is not None:
            found = np.asarray(stage["labels"])
            truth = np.asarray(labels)[found >= 0]
            row["nmi"] = nmi(truth, found[found >= 0])
            row["acc"] = accuracy(truth, found[found >= 0])
        out.append(row)
    return out


def pair_similarity(
    model: TextClusterer, pairs: Sequence[tuple[str, str]], *, start: Encoder | None = None
) -> dict[str, Floats]:
    """Cosine of each pair of texts under the encoder ``before`` and ``after`` training (Table 5).

    Parameters
    ----------
    model : TextClusterer
        Fitted or loaded.
    pairs : sequence of (str, str)
    start : Encoder, optional
        The encoder before training; by default it is made again as the model's parameters say.

    Returns
    -------
    dict of str to ndarray of shape (n_pairs,)
    """
    if not len(pairs):
        raise DataError("there are no pairs to compare.")
    texts = [text for pair in pairs for text in pair]
    units = _units(model, texts, start)
    return {when: (units[when][::2] * units[when][1::2]).sum(axis=1) for when in BOTH}


def retrieval(
    model: TextClusterer,
    queries: Sequence[str],
    candidates: Sequence[Sequence[str]],
    relevant: Sequence[Sequence[int]],
    *,
    start: Encoder | None = None,
) -> dict[str, dict[str, float]]:
    """Rank the candidates of each query by cosine, before and after training: MAP and MRR.

    Parameters
    ----------
    model : TextClusterer
        Fitted or loaded.
    queries : sequence of str
    candidates : sequence of sequences of str
        Texts to rank, for each query.
    relevant : sequence of sequences of 0 or 1
        Which of them are right.
    start : Encoder, optional
        The encoder before training; by default it is made again as the model's parameters say.

    Returns
    -------
    dict
        ``map`` and ``mrr`` under ``before`` and ``after``; ``used`` and ``all`` under ``queries``.
        Queries without a right candidate are left out, as they have no rank.
    """
    _check_lists(queries, candidates, relevant)
    texts = [*queries, *(text for row in candidates for text in row)]
    units = _units(model, texts, start)
    used = [any(row) for row in relevant]
    if not any(used):
        raise DataError("no query has a relevant candidate; MAP and MRR are not defined.")
    out: dict[str, dict[str, float]] = {}
    ends = len(queries) + np.cumsum([len(row) for row in candidates])
    for when in BOTH:
        scores = []
        for i, row in enumerate(relevant):
            if used[i]:
                block = units[when][ends[i] - len(row) : ends[i]]
                cosines = block @ units[when][i]
                scores.append((average_precision(cosines, row), reciprocal_rank(cosines, row)))
        values = np.mean(scores, axis=0)
        out[when] = {"map": float(values[0]), "mrr": float(values[1])}
    return {**out, "queries": {"used": sum(used), "all": len(used)}}


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


def _units(model: TextClusterer, texts: Sequence[str], start: Encoder | None) -> dict[str, Floats]:
    check_is_fitted(model, "assigner_")
    if model.encoder_.kind == "precomputed":
        raise UsageError(
            "the model was fitted on vectors (encoder='precomputed'): it has no texts."
        )
    before = start if start is not None else _start_encoder(model)
    out: dict[str, Floats] = {}
    for when, encoder in zip(BOTH, (before, model.encoder_), strict=True):
        items, rows = encoder.prepare(list(texts))
        out[when] = unit_rows(encoder.encode(items)[rows])
    return out


def _start_encoder(model: TextClusterer) -> Encoder:
    """The encoder as it was before training."""
    if isinstance(model.encoder_, VectorEncoder):
        encoder = copy.deepcopy(model.encoder_)
        encoder.map = None  # all that training adds to it
        return encoder
    if isinstance(model.encoder_, MixedEncoder):
        return model.encoder_  # is never trained
    made = model._make_encoder(derive_seed(model.seed_, "encoder"))
    if made.dim != model.encoder_.dim:  # an encoder object leaves no name in a saved model
        raise UsageError(
            f"the parameter encoder names one of width {made.dim}, but the trained one "
            f"has {model.encoder_.dim}; pass the encoder before training as start=."
        )
    return made.to(check_device(model.device))


def _check_lists(queries: Any, candidates: Any, relevant: Any) -> None:
    if not len(queries) == len(candidates) == len(relevant):
        raise DataError(
            f"{len(queries)} queries, {len(candidates)} lists of candidates and "
            f"{len(relevant)} of relevance; there should be one of each per query."
        )
    for number, (texts, marks) in enumerate(zip(candidates, relevant, strict=True), 1):
        if len(texts) != len(marks):
            raise DataError(
                f"query {number} has {len(texts)} candidates but {len(marks)} marks of relevance."
            )


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
