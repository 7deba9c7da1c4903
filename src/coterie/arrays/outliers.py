"""Texts that fit no cluster: an outlier score for each text, and which ones to mark.

The score compares the mean distance of a text to its ten nearest texts with what is usual in the
corpus. With ``d`` that mean and ``m`` its median over all texts, ``rho = (d / m) ** 8`` says how
many times emptier its neighbourhood is than usual, and the score is ``rho / (1 + rho)``: 0.5 for
the middle text, 0.9 where it is nine times emptier.

Density falls with the distance to the power of the dimension. Vectors of short texts behave as if
they had a dozen dimensions or so; eight is a cautious choice that still tells far texts apart from
very far ones. It changes no ranking.

Why not one minus the confidence: that says which texts lie *between* clusters, while an odd text
may lie clearly nearest to one of them. Why not the distances usual in the text's own cluster: odd
texts gather in one loose cluster, where large distances are usual. Both were tried on planted
texts, see ``results/pages/outliers.md``.

A text is marked because it stands out, not to fill a share. The usual distances are described by a
normal distribution through their 10% and 80% quantiles. Texts are marked only as far down as there
are more of them than that distribution explains.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor, inf
from typing import Any

import numpy as np

from coterie._util.random import numpy_generator
from coterie._util.types import Bools, Floats, Ints
from coterie._util.validation import check_numbers, check_vectors, check_whole_numbers, share_of
from coterie.arrays.assign import squared_distances
from coterie.arrays.neighbors import row_blocks, smallest
from coterie.errors import UsageError

NEIGHBORS = 10  # few enough that a theme of a dozen texts is no outlier
POWER = 8
TEXTS = 5_000  # that new ones are compared with; all texts, if there are fewer
NUMBERS = 1 << 24  # in their vectors, which are saved with the model
PER_CLUSTER = 50  # texts of a small cluster that are among them, whatever its share
USUAL = 0.5  # score of the median text; lower ones are never marked
USUALLY = {0.1: -1.2816, 0.8: 0.8416}  # quantiles that tell what is usual, in standard deviations
EXCESS = 0.9  # texts beyond a limit that the usual distances explain, as a share of those there
NARROWEST = 0.01  # standard deviation of usual distances, at least, as a share of the median
LARGEST_SHARE = 0.5  # largest share of outliers that may be asked for
ROOM = 1e-4  # above a text's own score, for the last digits of its vector


@dataclass(frozen=True)
class NeighborIndex:
    """The texts that others are compared with, and how far apart they usually are.

    Attributes
    ----------
    vectors : ndarray of shape (m, d)
        Each different.
    counts : ndarray of shape (m,)
        How often each text occurs: copies are neighbours, too.
    typical : float
        Median of the mean distances of these texts to their nearest ones.
    n_neighbors : int
    own : ndarray of shape (n,) or None
        Mean distances of all vectors that it was fitted on; None if it was loaded.
    """

    vectors: Floats
    counts: Ints
    typical: float = 0.0
    n_neighbors: int = NEIGHBORS
    own: Floats | None = None

    @cached_property
    def _about(self) -> tuple[Floats, bool, float]:
        """Lengths of the vectors, whether these are one, and the squared distance of rounding."""
        norms = np.linalg.norm(self.vectors, axis=1)
        unit = bool(norms.any() and np.allclose(norms[norms > 0], 1, atol=1e-3))
        spread = np.square(self.vectors - self.vectors.mean(axis=0)).sum(axis=1).mean()
        return norms, unit, 1e-5 * float(spread)

    def distances(self, vectors: Floats, near: Ints | None = None) -> Floats:
        """Mean distance of each vector to the nearest texts; a text is not its own neighbour.

        ``near`` are the nearest of these texts, if they are known; else they are searched for.
        """
        norms, unit, same = self._about
        if near is not None:
            near = near[:, : self.n_neighbors + 1]
            apart = [np.square(vectors - self.vectors[column]).sum(axis=1) for column in near.T]
            return self._mean(np.stack(apart, axis=1), self.counts[near], same)
        parts = []
        for block in row_blocks(len(vectors), len(self.vectors)):
            far = squared_distances(vectors[block], self.vectors)
            if unit:  # a text without a known word points nowhere: it is like no other
                far[~vectors[block].any(axis=1)] = 2.0
                far[:, norms == 0] = 2.0
            which = smallest(far, min(self.n_neighbors + 1, len(self.vectors)))
            nearest = np.take_along_axis(far, which, axis=1)
            parts.append(self._mean(nearest, self.counts[which], same))
        return np.concatenate(parts) if parts else np.empty(0)

    def scores(self, vectors: Floats | None = None) -> Floats:
        """Outlier score of each vector, from 0 to 1; by default of those it was fitted on."""
        distances = self.own if vectors is None else self.distances(vectors)
        assert distances is not None
        emptier = (distances / self.typical) ** POWER
        return np.asarray(1 - 1 / (1 + emptier))

    def extended(self, vectors: Floats, total: int, seed: int = 0) -> NeighborIndex:
        """The same measure with more texts to compare with; what is usual stays as it is.

        Parameters
        ----------
        vectors : ndarray of shape (n, d)
            Each different.
        total : int
            Different texts that those here stand for: where all are too many, old and new texts are
            kept in proportion.
        seed : int, default=0
        """
        new = np.asarray(vectors, dtype=np.float32)
        most = most_texts(self.vectors.shape[1])
        room = most
        if len(self.vectors) + len(new) > most:
            room = round(most * len(new) / max(len(new) + total, 1))
        added = choose_rows(len(new), None, room, seed)
        kept = choose_rows(len(self.vectors), None, most - len(added), seed)
        return replace(
            self,
            vectors=np.concatenate([self.vectors[kept], new[added]]),
            counts=np.concatenate([self.counts[kept], np.ones(len(added), dtype=np.int64)]),
            own=None,
        )

    def _mean(self, squared: Floats, counts: Ints, same: float) -> Floats:
        itself = squared[:, 0] <= same
        counts[:, 0] -= itself
        distances = np.sqrt(np.where(squared <= same, 0.0, squared))
        taken = np.clip(self.n_neighbors - (counts.cumsum(axis=1) - counts), 0, counts)
        total = (taken * distances).sum(axis=1)
        return np.asarray(total / np.maximum(taken.sum(axis=1), 1))


@dataclass(frozen=True)
class OutlierLimit:
    """Scores above which a text belongs to none of the clusters.

    Attributes
    ----------
    limit : float
    kept : dict of int to float
        Higher limits of clusters that would have lost all their texts, and keep them.
    """

    limit: float
    kept: dict[int, float] = field(default_factory=dict)

    def marks(self, scores: Floats, labels: Ints) -> Bools:
        """Which texts are outliers; those without a cluster or score are not."""
        limits = np.full(len(scores), self.limit)
        for cluster, limit in self.kept.items():
            limits[labels == cluster] = limit
        return np.asarray((labels >= 0) & (scores > limits))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"limit": self.limit, "kept": {str(c): v for c, v in self.kept.items()}}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> OutlierLimit:
        """What :meth:`to_dict` gave."""
        return cls(float(saved["limit"]), {int(c): float(v) for c, v in saved["kept"].items()})


def fit_neighbor_index(
    vectors: Floats,
    counts: Ints | None = None,
    labels: Ints | None = None,
    seed: int = 0,
    near: Ints | None = None,
) -> NeighborIndex:
    """What outlier scores of a corpus are measured by.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
        Of different texts.
    counts : ndarray of shape (n,), optional
        How often each text occurs; default: once.
    labels : ndarray of shape (n,), optional
        Clusters; of more than 5,000 texts a random choice is kept that forgets no cluster.
    seed : int, default=0
    near : ndarray of shape (n, more than ``NEIGHBORS``), optional
        The nearest rows of each by cosine, itself first. They are used where they are the nearest
        by distance, too, that is, where all vectors are kept and have one length.
    """
    x = np.ascontiguousarray(vectors, dtype=np.float32)
    times = np.ones(len(x), dtype=np.int64) if counts is None else np.asarray(counts, np.int64)
    if not len(x):
        raise UsageError("outliers: give at least one vector.")
    rows = choose_rows(len(x), labels, most_texts(x.shape[1]), seed)
    times = times[rows]
    n_neighbors = max(1, min(NEIGHBORS, int(times.sum()) - 1))
    found = NeighborIndex(x[rows], times, n_neighbors=n_neighbors)
    serves = near is not None and len(near) == len(x) == len(rows) and near.shape[1] > n_neighbors
    own = found.distances(x, near if serves and _one_length(x) else None)
    distances = own[rows]
    # Where most texts are many copies of each other the median is zero.
    typical = float(np.median(distances)) or float(distances.mean()) or 1.0
    return replace(found, typical=typical, own=own)


def _one_length(x: Floats) -> bool:
    norms = np.linalg.norm(x, axis=1)
    return bool(norms.min() > 0 and np.ptp(norms) <= 1e-4 * norms.max())


def outlier_scores(vectors: Floats, labels: Ints | None = None) -> Floats:
    """Outlier score of each text, from 0 to 1.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    labels : ndarray of shape (n,), optional
        Clusters; texts of cluster -1 (without a word) are not neighbours and get no score.

    Returns
    -------
    ndarray of shape (n,)
        0.5 for the middle text; not a number where there is no cluster. Equal vectors have equal
        scores.

    Examples
    --------
    >>> x = np.append(np.linspace(0, 1, 30), 3.0)[:, None]
    >>> scores = outlier_scores(x)
    >>> int(scores.argmax()), bool(scores[30] > 0.99), round(float(np.median(scores)), 2)
    (30, True, 0.5)
    """
    x = np.ascontiguousarray(check_vectors("vectors", vectors), dtype=np.float32)
    codes = _codes(labels, len(x), "vectors")
    placed = codes >= 0
    out = np.full(len(x), np.nan)
    if placed.any():
        distinct, first, back, counts = np.unique(
            x[placed], axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        index = fit_neighbor_index(distinct, counts, codes[placed][first])
        out[placed] = index.scores()[back.ravel()]
    return out


def mark_outliers(
    scores: Floats, max_outliers: float | str, labels: Ints | None = None
) -> tuple[Bools, OutlierLimit]:
    """Mark the texts that stand out by their scores, at most as many as allowed.

    Of clean texts few or none are marked, however many are allowed. Equal scores are never split:
    texts that would cross the limit together all stay in. A cluster that would lose all its texts
    keeps them.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        From :func:`outlier_scores`; what is not a number is never marked.
    max_outliers : float, int or str
        A share, such as 0.05 or "5%", or a whole number of rows.
    labels : ndarray of shape (n,), optional

    Returns
    -------
    outliers : ndarray of shape (n,)
    limit : OutlierLimit
        Marks the same texts again, and new ones like them.

    Examples
    --------
    >>> scores = np.append(np.linspace(0.5, 0.505, 50), [0.98, 0.99])
    >>> [int(mark_outliers(scores, allowed)[0].sum()) for allowed in (1, 2, 9)]
    [1, 2, 2]
    """
    values = check_numbers("scores", scores)
    codes = np.where(np.isfinite(values), _codes(labels, len(values), "scores"), -1)
    allowed = allowed_rows(max_outliers, int((codes >= 0).sum()))
    standing_out = _standing_out(values[codes >= 0], allowed)
    kept: dict[int, float] = {}
    while True:
        free = (codes >= 0) & ~np.isin(codes, list(kept))
        limit = OutlierLimit(_cut(values[free], min(allowed, standing_out)), kept)
        marked = limit.marks(values, codes)
        emptied = np.setdiff1d(codes[marked], codes[(codes >= 0) & ~marked])
        if not len(emptied):
            return marked, limit
        highest = {int(c): float(values[codes == c].max()) for c in emptied}
        kept = kept | {c: max(top, min(1.0, top + ROOM)) for c, top in highest.items()}


def _codes(labels: Ints | None, n: int, what: str) -> Ints:
    codes = np.zeros(n, np.int64) if labels is None else check_whole_numbers("labels", labels)
    if len(codes) != n:
        raise UsageError(f"{n} {what} but {len(codes)} labels; give one label for each.")
    return codes


def allowed_rows(max_outliers: float | str, n: int, name: str = "max_outliers") -> int:
    """How many of ``n`` rows a share (0.05, "5%") or a whole number of rows allows.

    Examples
    --------
    >>> allowed_rows("5%", 50), allowed_rows(0.05, 50), allowed_rows("7", 50)
    (2, 2, 7)
    """
    share, rows = share_of(max_outliers), str(max_outliers).strip().removeprefix("+").isdigit()
    if not 0 <= share < inf:
        raise UsageError(
            f"{name} should be a share such as 5% or 0.05, or a number of rows; got "
            f"{max_outliers!r}."
        )
    count = int(share) if rows else floor(share * n + 1e-9)
    if (not rows and share > LARGEST_SHARE) or (n and count > LARGEST_SHARE * n):
        raise UsageError(
            f"{name}: {max_outliers} would allow more than half of the texts to be outliers; ask "
            "for 50% at most."
        )
    return count


def _standing_out(scores: Floats, allowed: int) -> int:
    """How many of the highest scores, up to ``allowed``, are more than usual distances explain."""
    from scipy.special import ndtr

    different, counts = np.unique(scores, return_counts=True)  # copies of a text have one say
    if not len(different) or not allowed:
        return 0
    distances = (different / np.maximum(1 - different, 1e-12)) ** (1 / POWER)
    low, high = np.quantile(distances, list(USUALLY))
    at_low, at_high = USUALLY.values()
    spread = max((high - low) / (at_high - at_low), NARROWEST * float(np.median(distances)))
    explained = len(different) * ndtr((high - distances) / spread - at_high)
    beyond = np.arange(len(different), 0, -1)  # different scores that are as high
    rows = counts[::-1].cumsum()[::-1]
    # Of n usual values the k-th highest has k - 1/2 above it on average, not k.
    good = (explained + 0.5 <= EXCESS * beyond) & (rows <= allowed) & (different > USUAL)
    return int(rows[good].max(initial=0))


def _cut(scores: Floats, allowed: int) -> float:
    """The limit above which there are at most ``allowed`` scores, half-way to the next one."""
    falling = np.sort(scores)[::-1]
    falling = falling[falling > USUAL]
    if not len(falling) or allowed == 0:
        return 1.0
    if len(falling) <= allowed:
        return float((falling[-1] + USUAL) / 2)
    above = falling[falling > falling[allowed]]
    if not len(above):
        return 1.0  # the highest score occurs more often than allowed
    return float((above[-1] + falling[allowed]) / 2)


def most_texts(width: int) -> int:
    """How many texts are kept to compare others with."""
    return max(1000, min(TEXTS, NUMBERS // max(width, 1)))


def choose_rows(n: int, labels: Ints | None, most: int, seed: int) -> Ints:
    """Rows of a random choice in which small clusters are whole."""
    if n <= most:
        return np.arange(n)
    shuffled = numpy_generator(seed, "outliers").permutation(n)
    if labels is not None:
        codes = labels[shuffled]
        order = np.argsort(codes, kind="stable")
        rank = np.empty(n, dtype=np.int64)  # of a row in its cluster
        rank[order] = np.arange(n) - np.searchsorted(codes[order], codes[order])
        shuffled = shuffled[np.argsort(np.minimum(rank, PER_CLUSTER), kind="stable")]
    return np.sort(shuffled[:most])
