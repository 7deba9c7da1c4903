"""Texts that stand for a cluster: central ones, ones that cover it, ones at its border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie._types import Bools, Floats, Ints

MANY = 20  # members from which the farthest are held to be odd rather than typical
TYPICAL = 0.9  # share of the members, nearest to the middle, that examples are taken from


def once(rows: Ints, texts: Sequence[str], n: int) -> list[str]:
    """The first ``n`` texts of the rows, each once whatever its case and blanks."""
    chosen: dict[str, str] = {}
    for row in rows:
        if len(chosen) == n:
            break
        text = texts[row]
        chosen.setdefault(" ".join(text.casefold().split()), text)
    return list(chosen.values())


def by_distance(rows: Ints, vectors: Any) -> Ints:
    """The rows of a cluster, nearest to their mean first.

    ``vectors`` is an array or a sparse matrix with a row per text.
    """
    distance = _distance(vectors[rows], np.asarray(vectors[rows].mean(axis=0)).ravel())
    return rows[np.argsort(np.round(distance, 6), kind="stable")]


def spread(rows: Ints, vectors: Any, texts: Sequence[str], n: int) -> list[str]:
    """Texts that cover a cluster: each is the one farthest from all that are chosen already.

    Parameters
    ----------
    rows : ndarray of int
        Of the cluster, most central first; the first one starts. Of many members, the tenth
        farthest from the middle is left out, as those are odd rather than telling.
    vectors : ndarray or sparse matrix with a row per text
    texts : sequence of str
    n : int
    """
    kept = rows[: max(round(TYPICAL * len(rows)), 1)] if len(rows) >= MANY else rows
    members = vectors[kept]
    chosen = [0]
    gap = np.full(len(kept), np.inf)
    while len(chosen) < min(n, len(kept)):
        gap = np.minimum(gap, np.round(_distance(members, _row(members, chosen[-1])), 6))
        far = int(gap.argmax())
        if gap[far] <= 0:  # only repeats are left
            break
        chosen.append(far)
    return once(kept[chosen], texts, n) if len(kept) else []


def close_calls(rows: Ints, labels: Ints, probabilities: Floats) -> Ints:
    """The rows of a cluster, smallest lead over the runner-up first."""
    own = labels[rows]
    p = np.array(probabilities[rows], dtype=np.float64)
    here = p[np.arange(len(rows)), own]
    p[np.arange(len(rows)), own] = -np.inf
    return rows[np.argsort(np.round(here - p.max(axis=1), 9), kind="stable")]


def means(vectors: Any, labels: Ints, n_clusters: int) -> tuple[Floats, Bools]:
    """Mean vector of each cluster at unit length, and which clusters have texts."""
    x = np.asarray(vectors)
    out = np.zeros((n_clusters, x.shape[1]))
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    for i in np.flatnonzero(sizes):
        out[i] = x[labels == i].mean(axis=0, dtype=np.float64)
    norms = np.linalg.norm(out, axis=1, keepdims=True)
    return out / np.where(norms > 0, norms, 1), sizes > 0


def _row(members: Any, i: int) -> Floats:
    row = members[i]
    return np.asarray(row.toarray() if hasattr(row, "toarray") else row).ravel()


def _distance(members: Any, point: Floats) -> Floats:
    """Euclidean distance of each member to a point, without a dense copy of sparse members."""
    if hasattr(members, "toarray"):
        squares = np.asarray(members.multiply(members).sum(axis=1)).ravel()
        gap = squares + point @ point - 2 * np.asarray(members @ point).ravel()
        return np.asarray(np.sqrt(np.maximum(gap, 0)), dtype=np.float64)
    return np.asarray(np.linalg.norm(members - point, axis=1), dtype=np.float64)
