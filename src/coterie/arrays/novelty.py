"""New texts beside clustered ones: which cluster each joins, and which of them are a new cluster.

Old and new texts are compared in their first principal components, up to 200 and fewer where there
are few clusters, and smoothed together over the graph of their nearest neighbours, as ``auto`` does
it. The old texts keep their clusters, whatever the new ones are.

1. A new text is compared with the mean of its nearest cluster, as old texts are with theirs, each
   without itself. The share of old texts that are less similar is a conformal p-value.
2. The neighbours of a text of a new theme are new texts. Where the old themes go on, new texts are
   among the neighbours by chance: the second p-value, of a binomial test. A text fits nowhere if
   both are small.
3. These texts, and those just above the limit, are joined by average linkage, up to the similarity
   that texts of the looser old clusters have. Groups of five different texts or more are new
   clusters; five texts that fit nowhere in one of them are an alarm.
4. Where a typical cluster has fewer than five texts in such a part, smaller groups are new
   clusters, too, and the first p-value alone decides: few texts have no neighbours of their theme.
   For the same reason the vectors before smoothing stand beside those after it.
5. The other new texts go to the nearest mean, of an old cluster or a new one. The means of clusters
   then move with their new texts, a few times.

The limits were chosen on the development sets (``results/pages/updates.md``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie._util.torch import torch
from coterie._util.types import Bools, Floats, Ints
from coterie.arrays.consensus import ROUNDS, neighborhood
from coterie.arrays.graph import principal_part
from coterie.arrays.linkage import MatrixSpace, chain, cut
from coterie.arrays.neighbors import top_k, unit_rows

THEME_TEXTS = 5  # different texts of a new cluster that is an alarm; of any, if clusters are large
FEWEST_TEXTS = 2  # of a new cluster, if clusters are small ...
PART = 0.25  # ... or this share of a typical cluster's texts
STRANGE, TOGETHER = 0.5, 0.05  # largest p-values of a text that fits nowhere, by both tests ...
BOTH = 1e-3  # ... and of their product
JOINED = 1e-2  # largest product of texts that are joined to new clusters
ALONE = 0.3  # largest first p-value where small groups are clusters
UNSMOOTHED = 0.5  # length of the vectors before smoothing, beside those after it, there
NEIGHBORS = 15  # that are looked at
PER_CLUSTER, COMPONENT_LIMITS = 10, (30, 200)  # principal components that are compared
LOOSE = 0.25  # quantile of the similarity inside old clusters
MOVES = 3  # times that the means follow the new texts
MOST_JOINED = 4_000  # texts that are joined by linkage


@dataclass(frozen=True)
class Placement:
    """Where new texts went.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Cluster of each new text: an old number, or a new one.
    new : list of int
        Numbers of the clusters that are new.
    strange : ndarray of shape (n,)
        Whether each text fits nowhere, by both tests.
    fewest : int
        Texts that a new cluster has at least.
    """

    labels: Ints
    new: list[int]
    strange: Bools
    fewest: int = THEME_TEXTS

    @property
    def themes(self) -> list[int]:
        """New clusters that are a new theme: five texts or more fit nowhere by both tests."""
        return [i for i in self.new if (self.strange & (self.labels == i)).sum() >= THEME_TEXTS]

    @property
    def nowhere(self) -> Bools:
        """Texts that fit none of the old clusters: by both tests, or as part of a new theme.

        Texts of a small new cluster, which may be there by chance, do not count by themselves.
        """
        return np.asarray(self.strange | np.isin(self.labels, self.themes))

    @property
    def alarm(self) -> bool:
        """Whether there is a new theme."""
        return bool(self.themes)


def place_new(old: Floats, labels: Ints, new: Floats, next_id: int) -> Placement:
    """Put new texts into old clusters, or into new ones where enough of them fit nowhere.

    Parameters
    ----------
    old : ndarray of shape (m, d)
        Vectors of different texts that have a cluster.
    labels : ndarray of shape (m,)
        Their clusters, of any numbers.
    new : ndarray of shape (n, d)
        Vectors of other texts, each different.
    next_id : int
        Number of the first new cluster.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> themes = np.eye(20)[:3]
    >>> old = np.repeat(themes[:2], 40, axis=0) + 0.1 * rng.normal(size=(80, 20))
    >>> new = np.repeat(themes, 15, axis=0) + 0.1 * rng.normal(size=(45, 20))
    >>> placed = place_new(old, np.repeat([0, 1], 40), new, 2)
    >>> placed.new, np.bincount(placed.labels).tolist()
    ([2], [15, 15, 15])
    """
    ids, codes = np.unique(labels, return_inverse=True)
    k, m = len(ids), len(old)
    fewest = fewest_texts(m, len(new), k)
    x = principal_part(np.concatenate([old, new]), n_components(k))
    smoothed = neighborhood(x, k).smoothed()
    if fewest < THEME_TEXTS:  # few neighbours are of a text's own cluster
        smoothed = unit_rows(np.hstack([smoothed, UNSMOOTHED * x]))
    before, after = smoothed[:m], smoothed[m:]
    sums = _sums(before, codes, k)
    near = _neighbors(x, m)
    apart, together = _p_values(before, codes, sums, after), _among_new(near, m, len(x))
    odd = (apart <= STRANGE) & (together <= TOGETHER)
    strange = odd & (apart * together <= BOTH)
    candidates = odd & (apart * together <= JOINED) | (apart <= ALONE) & (fewest < THEME_TEXTS)
    groups = _join(after, np.flatnonzero(candidates), _looseness(codes, sums), fewest)
    centers = unit_rows(np.concatenate([sums, _sums(after, groups, groups.max(initial=-1) + 1)]))
    for _ in range(MOVES):
        nearest = _nearest(after, centers)
        moved = _sums(after, nearest, len(centers))
        moved[:k] += sums
        large = np.bincount(nearest, minlength=len(centers)) >= fewest
        large[:k] = True
        centers = unit_rows(moved)[large]
    nearest = _nearest(after, centers)
    if fewest == THEME_TEXTS:
        nearest = _follow(nearest, codes, near, k)
    counts = np.bincount(nearest, minlength=len(centers))
    used = [i for i in range(k, len(centers)) if counts[i] >= fewest]
    small = (nearest >= k) & ~np.isin(nearest, used)
    nearest[small] = _nearest(after[small], centers[:k])
    numbers = np.full(len(centers), -1, dtype=np.int64)
    numbers[:k] = ids
    numbers[used] = next_id + np.arange(len(used))
    return Placement(numbers[nearest], [int(i) for i in numbers[used]], strange, fewest)


def n_components(k: int) -> int:
    """Principal components in which texts of ``k`` clusters are compared.

    Few clusters differ in few of them; in the others, texts differ inside a cluster.

    Examples
    --------
    >>> n_components(2), n_components(8), n_components(50)
    (30, 80, 200)
    """
    return int(np.clip(PER_CLUSTER * k, *COMPONENT_LIMITS))


def fewest_texts(old: int, new: int, k: int) -> int:
    """Texts that a new cluster has at least: as many as a typical cluster gets, from two to five.

    It is the mean number of new texts per cluster, or a quarter of that of old texts if more.

    Parameters
    ----------
    old, new : int
        Texts.
    k : int
        Old clusters.

    Examples
    --------
    >>> fewest_texts(900, 30, 17), fewest_texts(70, 115, 62), fewest_texts(78, 145, 41)
    (5, 2, 4)
    """
    return int(np.clip(round(max(new, PART * old) / k), FEWEST_TEXTS, THEME_TEXTS))


def _p_values(before: Floats, codes: Ints, sums: Floats, after: Floats) -> Floats:
    """Share of old texts that are less similar to their nearest cluster than each new text is.

    An old text is no part of the mean of its own cluster when it is compared with it.
    """
    rows = np.arange(len(before))
    similar = before @ unit_rows(sums).T
    similar[rows, codes] = (before * unit_rows(sums[codes] - before)).sum(axis=1)
    usual = np.sort(similar.max(axis=1))
    found = (after @ unit_rows(sums).T).max(axis=1)
    below = np.searchsorted(usual, found, side="right")
    return np.asarray((1 + below) / (1 + len(usual)))


def _neighbors(x: Floats, m: int) -> Ints:
    """The nearest other texts of each new one, old or new."""
    unit, n = torch.from_numpy(unit_rows(x)), len(x) - m
    near, _ = top_k(unit[m:], min(NEIGHBORS, len(x) - 1), unit, itself=m + np.arange(n))
    return np.asarray(near.numpy())


def _among_new(near: Ints, m: int, total: int) -> Floats:
    """The chance that so many neighbours of each new text would be new if old themes went on."""
    from scipy.stats import binom

    count = (near >= m).sum(axis=1)
    return np.asarray(binom.sf(count - 1, near.shape[1], (len(near) - 1) / (total - 1)))


def _follow(labels: Ints, codes: Ints, near: Ints, k: int) -> Ints:
    """Let new texts join, or leave, new clusters by their neighbours; others stay.

    A neighbour counts the more, the smaller its cluster is, and the more new texts are in it: old
    clusters are large, but may have no part in the new texts.
    """
    width = int(labels.max(initial=0)) + 1
    if width <= k:
        return labels
    out = labels.copy()
    for _ in range(ROUNDS):
        both = np.concatenate([codes, out])
        sizes = np.bincount(both, minlength=width)
        shares = np.bincount(out, minlength=width) + 1.0
        votes = np.zeros((len(out), width))
        np.add.at(votes, (np.arange(len(out))[:, None], both[near]), 1.0)
        best = (votes * shares / np.maximum(sizes, 1)).argmax(axis=1)
        out = np.where((best >= k) | (labels >= k), best, labels)
    return np.asarray(out, dtype=np.int64)


def _looseness(codes: Ints, sums: Floats) -> float:
    """The least mean similarity of new texts that are joined.

    It is half-way between that of two texts of one cluster, in a cluster looser than most, and that
    of texts of two neighbouring clusters.
    """
    sizes = np.bincount(codes, minlength=len(sums)).astype(np.float64)
    several = sizes > 2
    if not several.any():
        return 0.5
    means = sums[several].astype(np.float64) / sizes[several, None]
    similar = means @ means.T
    n = sizes[several]
    inside = np.quantile((similar.diagonal() * n - 1) / (n - 1), LOOSE)
    if len(n) == 1:
        return float(inside)
    np.fill_diagonal(similar, -1)
    return float((inside + min(inside, np.median(similar.max(axis=1)))) / 2)


def _join(after: Floats, rows: Ints, least: float, fewest: int) -> Ints:
    """Group of each new text, -1 for none: average linkage down to the least mean similarity."""
    out = np.full(len(after), -1, dtype=np.int64)
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_JOINED)).astype(np.int64)]
    if len(rows) < fewest:
        return out
    merges = chain(MatrixSpace(after[rows], np.ones(len(rows)), "average"), len(rows))
    near = sum(height <= 1 - least for height, _, _ in merges)
    found = cut(merges, len(rows) - near, len(rows))
    large = np.flatnonzero(np.bincount(found) >= fewest)
    inside = np.isin(found, large)
    out[rows[inside]] = np.searchsorted(large, found[inside])
    return out


def _sums(x: Floats, codes: Ints, k: int) -> Floats:
    """Sum of the rows of each group; rows of group -1 are in none."""
    out = np.zeros((k, x.shape[1]), dtype=np.float32)
    np.add.at(out, codes[codes >= 0], x[codes >= 0])
    return out


def _nearest(x: Floats, centers: Floats) -> Ints:
    return np.asarray((x @ centers.T).argmax(axis=1), dtype=np.int64)
