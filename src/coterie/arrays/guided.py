"""Clustering with what is known: seeded k-means in the metric of the labels, and a classifier.

- One label a class: the clustering that is found without labels gets the names of the classes.
- More labels: they tell which directions differ within classes and are no reason to separate texts.
  Vectors are whitened by this scatter (relevant component analysis), and k-means starts from the
  labelled texts. Four base scores are added: k-means of this kind before and after k-NN
  smoothing, the clustering without labels, and a ridge classifier. Their weights are those that
  predict labelled texts best that were left out (stacking).
- Labels for some clusters only: a classifier learns the labels, the clustering without labels, and
  seeded k-means that starts from it. Where the latter would put fewer of the labelled texts that
  were left out into their class, it is not used.

The settings were chosen on the development sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from coterie._util.random import derive_seed, numpy_generator
from coterie._util.torch import torch
from coterie._util.types import Floats, Ints
from coterie.arrays.assign import squared_distances
from coterie.arrays.consensus import force_k
from coterie.arrays.graph import symmetric_graph
from coterie.arrays.kmeans import nearest, plus_plus
from coterie.arrays.metrics import best_partners, cluster_means
from coterie.arrays.neighbors import nearest_rows, unit_rows
from coterie.arrays.ridge import RidgeClassifier

HEAVY = 10.0  # weight of a labelled text in the mean of its class, where few are labelled
PART = 0.25  # weight of all labelled texts of a class, in clusters of mean size
LOWER = 0.9  # inertia from the seeds, over that from the consensus, below which it is preferred
STARTS = 5  # of seeded k-means, where there are clusters without a label
ROUNDS = 100  # of Lloyd's algorithm
BESIDE = 10.0  # weight of a cluster, in labelled texts, where some clusters have no label
FOLDS = 5  # of the cross-validation
# Weights of base scores before any text is left out: two distances, clusters, the classifier.
EXPECTED = 0.03, 0.03, 1.0, 5.0
FIRMNESS = 1.5  # of these: a factor e costs as much as this much log likelihood
TINY = 1e-6  # share of the square of a vector; below it there is only rounding
NEIGHBORS, SMOOTHED, RESTART = 10, 8, 0.1  # of the scores of themes
LARGEST = 25_000  # rows whose scores are smoothed
FITS, FITS_BESIDE = 1.0, 1.5  # standard deviations above the mean; the latter beside other clusters
# Cosine of a theme and its best texts, over that of neighbours, below which no text fits.
ABSENT, ABSENT_BESIDE = 0.15, 0.25
NEAR = 0.8  # the same before smoothing, which dilutes the few words that short texts share
BEST = 10  # texts that decide about it


def theme_hints(x: Floats, themes: list[Floats], *, alone: bool) -> Ints:
    """The theme that each row seems to fit, -1 for rows that fit none.

    The cosine of a row and a theme is standardised over all rows, since some names are near to
    everything, and averaged over the graph of nearest neighbours. A theme whose best rows have a
    low cosine, compared with that of neighbouring rows, has none.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    themes : list of ndarray of shape (m, d)
        Vectors of the texts about each theme.
    alone : bool
        Whether there are no clusters beside the themes; then rows fit more easily.

    Examples
    --------
    >>> x = np.repeat(np.eye(3, dtype=np.float32), 2, axis=0)
    >>> theme_hints(x, [x[:1], x[2:3]], alone=True)
    array([ 0,  0,  1,  1, -1, -1])
    """
    rows = unit_rows(x)
    centers = unit_rows(np.stack([unit_rows(vectors).mean(axis=0) for vectors in themes]))
    cosines = np.asarray(rows @ centers.T, dtype=np.float32)  # (n, themes)
    deviations = np.maximum(cosines.std(axis=0), 1e-6)
    scores = (cosines - cosines.mean(axis=0)) / deviations
    smooth_cosines = cosines
    step = -(-len(x) // LARGEST)  # the first ones are no fair sample: rows are sorted
    near = nearest_rows(x[::step], 1 + max(1, min(NEIGHBORS, len(x) // 20)))
    places, some = near[:, 1:].T, rows[::step]
    level = np.mean([(some * some[place]).sum(axis=1).mean() for place in places])
    if len(x) <= LARGEST and len(places) > 1:
        graph = symmetric_graph(near)
        graph = graph.multiply(1 / graph.sum(axis=1)).tocsr()
        both = first = np.hstack([scores, cosines])
        for _ in range(SMOOTHED):
            both = (1 - RESTART) * (graph @ both) + RESTART * first
        scores, smooth_cosines = np.hsplit(both, 2)
    absent = ABSENT if alone else ABSENT_BESIDE
    best = scores.argmax(axis=1)
    fits = scores.max(axis=1) >= (FITS if alone else FITS_BESIDE)
    hints = np.full(len(x), -1, dtype=np.int64)
    count = min(BEST, max(1, len(x) // 50))
    for theme in range(len(themes)):
        top = np.argsort(-scores[:, theme], kind="stable")[:count]
        nearest = np.argsort(-cosines[:, theme], kind="stable")[:count]
        if (
            smooth_cosines[top, theme].mean() < absent * level
            and cosines[nearest, theme].mean() < NEAR * level
        ):
            continue
        own = top[best[top] == theme]
        hints[own] = theme
        hints[fits & (best == theme)] = theme
    return hints


def seeded_kmeans(  # noqa: PLR0913 - what k-means needs, and the labels
    x: Floats,
    k: int,
    weights: Floats,
    seeds: Ints,
    seed: int,
    *,
    n_init: int = STARTS,
    factor: float | Floats = HEAVY,
    found: Ints | None = None,
) -> tuple[Ints, Floats]:
    """K-means in which labelled rows stay in the cluster of their class.

    Centers of known classes start at the means of their rows, the others by k-means++.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    k : int
    weights : ndarray of shape (n,)
        How often each row counts.
    seeds : ndarray of shape (n,)
        Class of each row, -1 if unlabelled; classes are the first clusters.
    seed : int
    n_init : int
        Starts; one is enough if all clusters have labelled rows.
    factor : float or ndarray of shape (n,)
        How much more a labelled row counts than another.
    found : ndarray of shape (n,), optional
        A clustering without labels; its clusters, matched with the classes, are one more start.

    Returns
    -------
    labels : ndarray of shape (n,)
    centers : ndarray of shape (k, d)

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [5.0], [9.0], [10.0]], dtype=np.float32)
    >>> seeded_kmeans(x, 2, np.ones(5), np.array([-1, 0, -1, -1, 0]), 0)[0]
    array([1, 0, 0, 0, 0])
    """
    heavy = np.where(seeds >= 0, factor, 1.0) * weights
    known = int(seeds.max()) + 1
    rows, some = torch.from_numpy(x), seeds >= 0
    zeros = np.zeros((known, x.shape[1]))
    classes = torch.from_numpy(_means(x[some], heavy[some], seeds[some], known, zeros))
    starts = []
    for number in range(1 if known == k else n_init):
        generator = torch.Generator().manual_seed(derive_seed(seed, "seeded", number))
        weight = torch.from_numpy(heavy).float()
        starts.append(plus_plus(rows, weight, k, generator, classes).numpy())
    if found is not None:
        labels = match_classes(found, unit_rows(x), k, weights, seeds)
        labels = np.where(seeds >= 0, seeds, labels)
        starts.append(_means(x, heavy, labels, k, starts[0]))
    ends = [_lloyd(x, heavy, seeds, start) for start in starts]
    return min(ends, key=lambda end: _inertia(x, heavy, *end))


def class_factor(seeds: Ints, weights: Floats, k: int) -> Floats:
    """How much more a labelled row counts than another, so that its class counts enough.

    The labelled rows of a class count as much as a share of a cluster of mean size; each of them
    counts once at least.

    Examples
    --------
    >>> seeds = np.repeat([-1, 0, 1], [48, 2, 10])  # 60 rows: half of them in a cluster
    >>> class_factor(seeds, np.ones(60), 2)[[48, 50]]
    array([3.75, 1.  ])
    """
    rows = np.flatnonzero(seeds >= 0)
    sizes = np.bincount(seeds[rows], weights[rows], minlength=k)
    out = np.ones(len(seeds))
    part = PART * float(weights.sum()) / k
    out[rows] = np.maximum(1.0, part / np.maximum(sizes[seeds[rows]], 1e-12))
    return out


def class_metric(x: Floats, seeds: Ints) -> Floats | None:
    """A map after which the classes have the same scatter in all directions; None if unknown.

    The covariance within classes is estimated from the labelled rows and drawn to a sphere: with
    ``d`` directions and ``m`` labelled rows more than classes, the sphere counts ``d / (d + m)``.
    (Bar-Hillel et al., 2005, "Learning a Mahalanobis metric from equivalence constraints".) It is
    unknown without a class of two different rows.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    seeds : ndarray of shape (n,)
        Class of each row, -1 if unlabelled.

    Returns
    -------
    ndarray of shape (d, d) or None
        Symmetric: the root of the inverse covariance.

    Examples
    --------
    >>> x = np.array([[2.0, 0.0], [-2.0, 0.0], [5.0, 1.0]])
    >>> class_metric(x, np.array([0, 0, -1]))  # within: 8 and 0; drawn to (16, 8) / 3
    array([[0.4330127 , 0.        ],
           [0.        , 0.61237244]])
    """
    rows = np.flatnonzero(seeds >= 0)
    if not len(rows):
        return None
    labels, counts = np.unique(seeds[rows], return_inverse=True, return_counts=True)[1:]
    few = x[rows].astype(np.float64)
    within = few - cluster_means(few, labels)[0][labels]
    spare, width = len(rows) - len(counts), x.shape[1]
    level = np.square(within).sum() / max(spare, 1) / width  # mean variance of a direction
    if level <= TINY * np.square(few).sum() / len(rows) / width:
        return None
    covariance = within.T @ within + width * level * np.eye(width)
    values, directions = np.linalg.eigh(covariance / (spare + width))
    return np.asarray((directions / np.sqrt(values)) @ directions.T, dtype=x.dtype)


def examples(x: Floats, seeds: Ints) -> Ints:
    """The classes without those of equal rows, of which only the first keeps it.

    Equal rows do not show how a class scatters.
    """
    rows = np.flatnonzero(seeds >= 0)
    out = np.full(len(seeds), -1, dtype=np.int64)
    first = rows[np.unique(x[rows], axis=0, return_index=True)[1]] if len(rows) else rows
    out[first] = seeds[first]
    return out


def match_classes(found: Ints, x: Floats, k: int, weights: Floats, seeds: Ints) -> Ints:
    """A clustering with its clusters renumbered: each class is matched with one of them.

    Labelled rows vote; the likeness of a class to the rows of a cluster decides between equals.

    Parameters
    ----------
    found : ndarray of shape (n,)
        Labels below ``k``.
    x : ndarray of shape (n, d)
        Unit rows.
    k : int
    weights : ndarray of shape (n,)
    seeds : ndarray of shape (n,)
        Class of each row, -1 if unlabelled.
    """
    rows, known = np.flatnonzero(seeds >= 0), int(seeds.max()) + 1
    votes = np.zeros((k, known))
    np.add.at(votes, (found[rows], seeds[rows]), weights[rows])
    votes /= np.maximum(votes.sum(axis=0), 1e-12)
    zeros = np.zeros((known, x.shape[1]))
    means = _means(x[rows], weights[rows], seeds[rows], known, zeros)
    near = np.maximum(x @ means.T, 1e-3) ** 8
    near /= near.mean(axis=0)
    likeness = np.zeros((k, known))
    np.add.at(likeness, found, near)
    likeness /= np.maximum(np.bincount(found, minlength=k), 1)[:, None]
    place = best_partners(votes + 0.3 * likeness / likeness.max())
    place[place < 0] = np.arange(known, k)
    return np.asarray(place[found])


def _means(x: Floats, heavy: Floats, labels: Ints, k: int, before: Floats) -> Floats:
    """Weighted means of the clusters; an empty one stays where it was."""
    means, sizes = cluster_means(x, labels, k, heavy)
    return np.asarray(np.where(sizes[:, None] > 0, means, before), dtype=np.float32)


def _lloyd(x: Floats, heavy: Floats, seeds: Ints, centers: Floats) -> tuple[Ints, Floats]:
    labels = _nearest(x, centers, seeds)
    for _ in range(ROUNDS):
        centers = _means(x, heavy, labels, len(centers), centers)
        moved = _nearest(x, centers, seeds)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels, centers


def _nearest(x: Floats, centers: Floats, seeds: Ints) -> Ints:
    """The class of each labelled row, and the nearest center of the others."""
    found = nearest(torch.from_numpy(x), torch.from_numpy(centers))[0].numpy()
    return np.asarray(np.where(seeds >= 0, seeds, found))


def _inertia(x: Floats, heavy: Floats, labels: Ints, centers: Floats) -> float:
    return float((heavy * np.square(x - centers[labels]).sum(axis=1)).sum())


@dataclass
class Guided:
    """Spreads the labels of some rows to all of them.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    before : ndarray of shape (n, e)
        The same rows in few directions.
    smoothed : ndarray of shape (n, e)
        These after k-NN smoothing.
    found : ndarray of shape (n,)
        The clustering without labels; all of its ``k`` clusters are used.
    k : int
    weights : ndarray of shape (n,)
    seed : int
    """

    x: Floats
    before: Floats
    smoothed: Floats
    found: Ints
    k: int
    weights: Floats
    seed: int

    def __post_init__(self) -> None:
        self._features = np.hstack([self.x, self.smoothed]).astype(np.float32)

    def __call__(self, seeds: Ints, share: float | None = None) -> tuple[Ints, dict[str, Any]]:
        """Labels of all rows, and how they were found.

        Parameters
        ----------
        seeds : ndarray of shape (n,)
            Class of each row, -1 if unlabelled.
        share : float, optional
            How much a cluster of the clustering without labels counts, in labelled rows, if the
            classes are guesses. Default: labels are right.
        """
        facts: dict[str, Any] = {}
        if share is not None:
            start, structures = "themes", [self._named(seeds)]
            labels = self._spread_labels(seeds, structures, share)
        elif int(seeds.max()) + 1 < self.k:
            start, structures = self._structures(seeds)
            labels = self._spread_labels(seeds, structures, BESIDE)
        else:
            start, structures = self._structures(seeds)
            labels, facts = structures[0], self._weigh(seeds)
            if facts:
                start = "labels"
                labels = self._combined(seeds, np.array(facts["weights"]))
        labels = np.where(seeds >= 0, seeds, labels)
        return self._every_cluster(labels, structures[0], seeds), {"start": start, **facts}

    def _every_cluster(self, labels: Ints, structure: Ints, seeds: Ints) -> Ints:
        """The labels with all clusters used: one that the classifier gave up gets its rows back."""
        lost = np.setdiff1d(np.arange(self.k), labels)
        labels = np.where((seeds < 0) & np.isin(structure, lost), structure, labels)
        return force_k(self.x, labels, self.k, self.weights, self.seed)

    def _structures(self, seeds: Ints) -> tuple[str, list[Ints]]:
        """The clusterings that labels are spread by, and where they come from.

        Seeded k-means from the labels alone, if there are some for each cluster that show how
        classes scatter, or if its inertia is much lower than from the consensus. Otherwise the
        consensus, and beside it seeded k-means that starts from it, unless labels do not show how
        classes scatter or it predicts the class of labelled rows that were left out worse.
        """
        metric, known = self._metric(self.smoothed, seeds), int(seeds.max()) + 1
        free, _ = seeded_kmeans(metric, self.k, self.weights, seeds, self.seed)
        scatter = metric is not self.smoothed
        if known == self.k and scatter:
            return "seeds", [free]
        named, refined, heavy = self._named(seeds), self._refined(seeds), self._heavy(seeds)
        lowest, other = (
            _inertia(metric, heavy, labels, self._centers(metric, heavy, labels, seeds))
            for labels in (free, refined)
        )
        if lowest < LOWER * other:
            return "seeds", [free]
        if scatter and self._predicted(seeds, self._refined) >= self._predicted(seeds, self._named):
            return "consensus", [named, refined]
        return "consensus", [named]

    def _heavy(self, seeds: Ints) -> Floats:
        return np.asarray(np.where(seeds >= 0, HEAVY, 1.0) * self.weights)

    def _refined(self, seeds: Ints) -> Ints:
        """Seeded k-means in the metric of the labels, from the clustering without labels."""
        metric, heavy = self._metric(self.smoothed, seeds), self._heavy(seeds)
        start = self._centers(metric, heavy, self._named(seeds), seeds)
        return _lloyd(metric, heavy, seeds, start)[0]

    def _predicted(self, seeds: Ints, structure: Callable[[Ints], Ints]) -> int:
        """How many labelled rows get their class where a part of the labels is left out."""
        return sum(
            int((structure(fewer)[held] == seeds[held]).sum())
            for fewer, held in self._left_out(seeds)
        )

    def _metric(self, vectors: Floats, seeds: Ints) -> Floats:
        """The vectors in the metric of the classes; as they are where that is unknown."""
        scale = class_metric(vectors, examples(self.x, seeds))
        return vectors if scale is None else np.asarray(vectors @ scale)

    def _centers(self, x: Floats, heavy: Floats, labels: Ints, seeds: Ints) -> Floats:
        labels = np.where(seeds >= 0, seeds, labels)
        return _means(x, heavy, labels, self.k, np.zeros((self.k, x.shape[1]), dtype=np.float32))

    def _named(self, seeds: Ints) -> Ints:
        """The clustering without labels, each class matched with one of its clusters."""
        return match_classes(self.found, self.smoothed, self.k, self.weights, seeds)

    def _spread_labels(self, seeds: Ints, structures: list[Ints], share: float) -> Ints:
        """Classes by ridge regressions of the labels and of each structure, which counts ``share``.

        Their predictions are added.
        """
        scores = sum(self._spread_scores(seeds, structure, share) for structure in structures)
        return np.asarray(np.argmax(scores, axis=1), dtype=np.int64)

    def _spread_scores(self, seeds: Ints, structure: Ints, share: float) -> Floats:
        """Predictions of a ridge regression: (n, k).

        Each class of labelled rows counts the same; each cluster of the structure counts as much
        as ``share`` labelled rows. Clusters without a labelled row count as much more as a class
        has labelled rows: otherwise the classes would draw their texts away.
        """
        rows, even = self._even(seeds)
        mean = len(rows) / len(np.unique(seeds[rows]))
        every = np.where(structure > seeds.max(), share + mean, share)
        every = every * self.k / float(self.weights.sum()) * self.weights
        all_rows = np.arange(len(seeds))
        both = np.concatenate([rows, all_rows]), np.concatenate([even, every])
        return self._ridge(*both, np.concatenate([seeds[rows], structure]), all_rows)

    def _ridge(self, rows: Ints, weights: Floats, labels: Ints, wanted: Ints) -> Floats:
        """Scores of every class for the wanted rows, learned from others: (wanted, k)."""
        weight, bias = RidgeClassifier(self._features[rows], weights).fit(labels, self.k)
        return np.asarray(self._features[wanted] @ weight.T + bias)

    def _even(self, seeds: Ints) -> tuple[Ints, Floats]:
        """The labelled rows, and weights with which their classes count the same."""
        rows = np.flatnonzero(seeds >= 0)
        counts = np.bincount(seeds[rows], minlength=self.k)
        return rows, np.asarray(counts[counts > 0].mean() / counts[seeds[rows]])

    def _combined(self, seeds: Ints, weights: Floats) -> Ints:
        """Classes by the weighted sum of the base scores."""
        base = self._base_scores(seeds, np.arange(len(seeds)))
        scores = np.tensordot(weights.astype(np.float32), base, axes=1)
        return np.asarray(scores.argmax(axis=1), dtype=np.int64)

    def _base_scores(self, seeds: Ints, wanted: Ints) -> Floats:
        """Four scores of every class for the wanted rows: (4, wanted, k).

        Seeded k-means in the metric of the labels, before and after smoothing: log density of the
        rows around each center. The clustering without labels, its clusters matched with the
        classes. A ridge classifier.
        """
        scores = [self._nearness(part, seeds, wanted) for part in (self.before, self.smoothed)]
        cluster = np.zeros((len(wanted), self.k), dtype=np.float32)
        cluster[np.arange(len(wanted)), self._named(seeds)[wanted]] = math.log(self.k)
        rows, even = self._even(seeds)
        return np.stack([*scores, cluster, self._ridge(rows, even, seeds[rows], wanted)])

    def _nearness(self, vectors: Floats, seeds: Ints, wanted: Ints) -> Floats:
        metric, factor = self._metric(vectors, seeds), class_factor(seeds, self.weights, self.k)
        _, centers = seeded_kmeans(metric, self.k, self.weights, seeds, self.seed, factor=factor)
        distances = squared_distances(metric, centers)
        variance = distances.min(axis=1).mean() / metric.shape[1]
        return np.asarray(-distances[wanted] / (2 * max(float(variance), 1e-12)))

    def _weigh(self, seeds: Ints) -> dict[str, Any]:
        """Weights of the base scores, and the share of labelled rows left out that they get right.

        Nothing without enough different rows to leave out.
        """
        parts = list(self._left_out(seeds))
        if sum(len(held) for _, held in parts) < self.k:
            return {}
        base = [self._base_scores(fewer, held) for fewer, held in parts]
        truth = [seeds[held] for _, held in parts]
        scores, right = np.concatenate(base, axis=1), np.concatenate(truth)
        weights = fit_weights(scores, right)
        found = np.tensordot(weights, scores, axes=1).argmax(axis=1)
        return {
            "weights": [float(f"{weight:.3g}") for weight in weights],
            "score": round(float((found == right).mean()), 4),
        }

    def _left_out(self, seeds: Ints) -> Iterator[tuple[Ints, Ints]]:
        """The labels without a part of them, and the rows of this part, in turn.

        Of equal rows only one is left out or kept.
        """
        seeds = examples(self.x, seeds)
        rows = np.flatnonzero(seeds >= 0)
        folds = self._folds(seeds[rows], int(seeds.max()) + 1)
        for fold in np.unique(folds[folds >= 0]):
            held = rows[folds == fold]
            fewer = seeds.copy()
            fewer[held] = -1
            yield fewer, held

    def _folds(self, labels: Ints, known: int) -> Ints:
        """The part in which each labelled row is left out; -1 if it never is.

        Every class keeps a labelled row in every part.
        """
        rng = numpy_generator(self.seed, "folds")
        folds = np.full(len(labels), -1, dtype=np.int64)
        for label in range(known):
            rows = rng.permutation(np.flatnonzero(labels == label))
            if len(rows) > 1:
                folds[rows] = (np.arange(len(rows)) + rng.integers(FOLDS)) % FOLDS
        return folds


def fit_weights(scores: Floats, truth: Ints) -> Floats:
    """Weights of scores that give the right classes the highest likelihood.

    The weighted sum is the logarithm of a probability, up to a constant. The logarithms of the
    weights are drawn to those that are expected without any row.

    Parameters
    ----------
    scores : ndarray of shape (base scores, n, k)
    truth : ndarray of shape (n,)
    """
    scores = scores.astype(np.float64)
    expected = np.log(EXPECTED)
    right = scores[:, np.arange(len(truth)), truth].sum(axis=1)

    def loss(logs: Floats) -> tuple[float, Floats]:
        weights = np.exp(logs)
        sums = np.tensordot(weights, scores, axes=1)
        total = logsumexp(sums, axis=1, keepdims=True)
        mean = np.tensordot(scores, np.exp(sums - total), axes=((1, 2), (0, 1)))
        away = logs - expected
        value = float(total.sum() - weights @ right + FIRMNESS * away @ away)
        return value, weights * (mean - right) + 2 * FIRMNESS * away

    return np.asarray(np.exp(minimize(loss, expected, jac=True, method="L-BFGS-B").x))
