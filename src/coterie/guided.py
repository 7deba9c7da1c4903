"""Clustering with what is known: seeded k-means, and labels spread by structure and classifier.

With one label per class the structure of the texts has to decide: the clustering that is found
without labels gets the names of the classes. With many labels a classifier is better. The share of
each is chosen by cross-validation on the labelled texts, and structure is preferred in doubt.
The settings were chosen on the development sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie.blocks.graph import symmetric_graph
from coterie.neighbors import nearest_rows, unit_rows

HEAVY = 10.0  # weight of a labelled text in the mean of its class
LOWER = 0.9  # inertia from the seeds, over that from the consensus, below which it is preferred
STARTS = 5  # of seeded k-means, where there are clusters without a label
ROUNDS = 100  # of Lloyd's algorithm
SHARES = 0.0, 1.0, 3.0, 10.0, math.inf  # weight of a cluster of the structure, in labelled texts
FOLDS, ERRORS = 5, 2.2  # of the cross-validation; standard errors that are no difference
GAIN = 0.1  # of accuracy, for which the consensus is left for seeded k-means
WRONG = 1.5  # times as many wrong rows as the best share has are too many, in any case
PENALTY = 1.0
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
    smooth_cosines, first = cosines, scores
    near = nearest_rows(x[:LARGEST], 1 + max(1, min(NEIGHBORS, len(x) // 20)))
    places = near[:, 1:].T
    level = np.mean([(rows[:LARGEST] * rows[place]).sum(axis=1).mean() for place in places])
    if len(x) <= LARGEST and len(places) > 1:
        graph = symmetric_graph(near)
        graph = graph.multiply(1 / graph.sum(axis=1)).tocsr()
        for _ in range(SMOOTHED):
            scores = (1 - RESTART) * (graph @ scores) + RESTART * first
            smooth_cosines = (1 - RESTART) * (graph @ smooth_cosines) + RESTART * cosines
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
    factor: float = HEAVY,
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
    factor : float
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
    starts = []
    for number in range(1 if known == k else n_init):
        rng = numpy_generator(seed, "seeded", number)
        starts.append(_start(x, k, heavy, seeds, known, rng))
    if found is not None:
        labels = match_classes(found, unit_rows(x), k, weights, seeds)
        labels = np.where(seeds >= 0, seeds, labels)
        starts.append(_means(x, heavy, labels, k, starts[0]))
    ends = [_lloyd(x, heavy, seeds, start) for start in starts]
    return min(ends, key=lambda end: _inertia(x, heavy, *end))


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
    from scipy.optimize import linear_sum_assignment

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
    clusters, classes = linear_sum_assignment(-(votes + 0.3 * likeness / likeness.max()))
    place = np.full(k, -1, dtype=np.int64)
    place[clusters] = classes
    place[place < 0] = np.arange(known, k)
    return np.asarray(place[found])


def _start(
    x: Floats, k: int, heavy: Floats, seeds: Ints, known: int, rng: np.random.Generator
) -> Floats:
    """Means of the known classes, then centers by k-means++."""
    rows = seeds >= 0
    centers = list(_means(x[rows], heavy[rows], seeds[rows], known, np.zeros((known, x.shape[1]))))
    if not centers:
        centers = [x[rng.choice(len(x), p=heavy / heavy.sum())]]
    squares = np.square(x).sum(axis=1)
    closest = np.min([_to(x, squares, center) for center in centers], axis=0)
    for _ in range(len(centers), k):
        mass = np.maximum(closest * heavy, 1e-20)
        drawn = rng.choice(len(x), 2 + int(math.log(k)), p=mass / mass.sum())
        reduced = [np.minimum(closest, _to(x, squares, x[row])) for row in drawn]
        pick = int(np.argmin([float(heavy @ one) for one in reduced]))
        centers.append(x[drawn[pick]])
        closest = reduced[pick]
    return np.asarray(centers, dtype=np.float32)


def _to(x: Floats, squares: Floats, center: Floats) -> Floats:
    return np.maximum(squares - 2 * (x @ center) + center @ center, 0)


def _means(x: Floats, heavy: Floats, labels: Ints, k: int, before: Floats) -> Floats:
    """Weighted means of the clusters; an empty one stays where it was."""
    from scipy.sparse import csr_matrix

    shape = (k, len(x))
    member = csr_matrix((heavy.astype(np.float32), (labels, np.arange(len(x)))), shape=shape)
    sizes = np.bincount(labels, heavy, minlength=k)
    sums = np.asarray(member @ x)
    means = sums / np.maximum(sizes, 1e-12)[:, None]
    return np.asarray(np.where(sizes[:, None] > 0, means, before), dtype=np.float32)


def _nearest(x: Floats, centers: Floats) -> Ints:
    half = np.square(centers).sum(axis=1) / 2
    return np.asarray((x @ centers.T - half).argmax(axis=1), dtype=np.int64)


def _lloyd(x: Floats, heavy: Floats, seeds: Ints, centers: Floats) -> tuple[Ints, Floats]:
    labels = np.where(seeds >= 0, seeds, _nearest(x, centers))
    for _ in range(ROUNDS):
        centers = _means(x, heavy, labels, len(centers), centers)
        moved = np.where(seeds >= 0, seeds, _nearest(x, centers))
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels, centers


def _inertia(x: Floats, heavy: Floats, labels: Ints, centers: Floats) -> float:
    return float((heavy * np.square(x - centers[labels]).sum(axis=1)).sum())


@dataclass
class Guided:
    """Spreads the labels of some rows to all of them.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    smoothed : ndarray of shape (n, e)
        The same rows after k-NN smoothing.
    found : ndarray of shape (n,)
        The clustering without labels; all of its ``k`` clusters are used.
    k : int
    weights : ndarray of shape (n,)
    seed : int
    """

    x: Floats
    smoothed: Floats
    found: Ints
    k: int
    weights: Floats
    seed: int

    def __post_init__(self) -> None:
        ones = np.ones((len(self.x), 1), dtype=np.float32)
        self._features = np.hstack([self.x, self.smoothed, ones]).astype(np.float32)
        scaled = self._features * self.weights[:, None].astype(np.float32)
        self._square = (scaled.T @ self._features).astype(np.float64)
        self._factors: dict[float, Any] = {}

    def __call__(self, seeds: Ints, share: float | None = None) -> tuple[Ints, dict[str, Any]]:
        """Labels of all rows, and how they were found.

        Parameters
        ----------
        seeds : ndarray of shape (n,)
            Class of each row, -1 if unlabelled.
        share : float, optional
            How much the structure counts. Default: chosen by cross-validation, which needs labels
            that are right.
        """
        named = self._named(seeds)
        if share is not None:
            labels = self._spread_labels(seeds, named, share)
            return np.where(seeds >= 0, seeds, labels), {"start": "themes", "structure": share}
        free, _ = seeded_kmeans(self.smoothed, self.k, self.weights, seeds, self.seed)
        heavy = np.where(seeds >= 0, HEAVY, 1.0) * self.weights
        ratio = self._spread(free, heavy) / max(
            self._spread(self._refined(named, seeds), heavy), 1e-12
        )
        from_seeds = ratio < LOWER
        share, scores, from_seeds = self._choose(seeds, from_seeds)
        labels = self._spread_labels(seeds, free if from_seeds else named, share)
        facts = {
            "start": "seeds" if from_seeds else "consensus",
            "structure": None if math.isinf(share) else share,
            "accuracy": None if not scores else round(scores[share], 4),
        }
        return np.where(seeds >= 0, seeds, labels), facts

    def _named(self, seeds: Ints) -> Ints:
        """The clustering without labels, each class matched with one of its clusters."""
        return match_classes(self.found, self.smoothed, self.k, self.weights, seeds)

    def _refined(self, labels: Ints, seeds: Ints) -> Ints:
        heavy = np.where(seeds >= 0, HEAVY, 1.0) * self.weights
        labels = np.where(seeds >= 0, seeds, labels)
        zeros = np.zeros((self.k, self.smoothed.shape[1]), dtype=np.float32)
        return _lloyd(
            self.smoothed, heavy, seeds, _means(self.smoothed, heavy, labels, self.k, zeros)
        )[0]

    def _spread(self, labels: Ints, heavy: Floats) -> float:
        zeros = np.zeros((self.k, self.smoothed.shape[1]), dtype=np.float32)
        centers = _means(self.smoothed, heavy, labels, self.k, zeros)
        return _inertia(self.smoothed, heavy, labels, centers)

    def _spread_labels(
        self, seeds: Ints, structure: Ints, share: float, wanted: Ints | slice = slice(None)
    ) -> Ints:
        """Classes by a ridge regression of the labels and of the structure, which counts ``share``.

        Each class of labelled rows counts the same; each cluster of the structure counts as much
        as ``share`` labelled rows. Clusters without a labelled row count as much more as a class
        has labelled rows: otherwise the classes would draw their texts away.
        """
        if math.isinf(share):
            return structure[wanted]
        rows = np.flatnonzero(seeds >= 0)
        counts = np.bincount(seeds[rows], minlength=self.k)
        level = counts[counts > 0].mean() / np.maximum(counts, 1)
        labelled = self._features[rows]
        scaled = labelled * level[seeds[rows], None].astype(np.float32)
        every = share * self.k / float(self.weights.sum())
        right = _sums(scaled, seeds[rows], self.k)
        if every:
            heavy = self._features * (every * self.weights[:, None]).astype(np.float32)
            right = right + _sums(heavy, structure, self.k)
        new = np.flatnonzero(structure > seeds.max())
        if not len(new) and 2 * len(rows) < len(self._square):
            solved = self._low_rank(every, labelled, level[seeds[rows]], right.T)
        else:
            left = every * self._square + scaled.T @ labelled
            left[np.diag_indices_from(left)] += PENALTY
            if len(new):
                more = counts[counts > 0].mean() * self.k / float(self.weights.sum())
                theirs = self._features[new]
                heavy = theirs * (more * self.weights[new, None]).astype(np.float32)
                left += heavy.T @ theirs
                right = right + _sums(heavy, structure[new], self.k)
            solved = np.linalg.solve(left, right.T.astype(np.float64))
        scores = self._features[wanted] @ solved.astype(np.float32)
        return np.asarray(scores.argmax(axis=1), dtype=np.int64)

    def _low_rank(self, every: float, rows: Floats, weights: Floats, right: Floats) -> Floats:
        """Solve a regression with few labelled rows by what they change (Woodbury's identity).

        The matrix of the structure is factorised once for each share.
        """
        if every not in self._factors:
            left = every * self._square
            left[np.diag_indices_from(left)] += PENALTY
            self._factors[every] = cho_factor(left, lower=True)
        factor, few = self._factors[every], rows.astype(np.float64)
        both = cho_solve(factor, np.hstack([few.T, right]))
        across, alone = both[:, : len(few)], both[:, len(few) :]
        small = few @ across
        small[np.diag_indices_from(small)] += 1 / weights
        return np.asarray(alone - across @ np.linalg.solve(small, few @ alone))

    def _choose(self, seeds: Ints, from_seeds: bool) -> tuple[float, dict[float, float], bool]:
        """How much the structure counts, and which: by cross-validation.

        The consensus is left for seeded k-means where that is clearly better on rows left out; and
        the structure counts as much as it may. Where some clusters have no labelled row it has to
        count at least a little: only it knows them. Without enough labelled rows to leave some out
        it alone decides.

        Returns
        -------
        share : float
        scores : dict of float to float
            Accuracy on the rows left out, by share; empty if there are too few.
        from_seeds : bool
            Whether seeded k-means is the structure.
        """
        rows = np.flatnonzero(seeds >= 0)
        known = int(seeds.max()) + 1
        folds = self._folds(seeds[rows], known)
        if (folds >= 0).sum() < known:
            return math.inf, {}, from_seeds
        parts = [rows[folds == fold] for fold in range(FOLDS) if (folds == fold).any()]
        fewer = [np.where(np.isin(np.arange(len(seeds)), held), -1, seeds) for held in parts]
        free = [
            seeded_kmeans(self.smoothed, self.k, self.weights, part, self.seed)[0] for part in fewer
        ]
        named = [self._named(part) for part in fewer]

        def hits(structures: list[Ints], share: float) -> Floats:
            found = [
                self._spread_labels(part, structure, share, held) == seeds[held]
                for part, structure, held in zip(fewer, structures, parts, strict=True)
            ]
            return np.concatenate(found).astype(np.float64)

        alone, seeded = hits(named, math.inf), hits(free, math.inf)
        gains = seeded.mean() - alone.mean() >= GAIN and not _as_good(alone, seeded)
        from_seeds = from_seeds or gains
        shares = SHARES if known == self.k else SHARES[1:]
        right = {share: hits(free if from_seeds else named, share) for share in shares}
        scores = {share: float(found.mean()) for share, found in right.items()}
        best = right[max(shares, key=lambda share: scores[share])]
        return max(share for share in shares if _as_good(right[share], best)), scores, from_seeds

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


def _as_good(hits: Floats, best: Floats) -> bool:
    """Whether one way is not clearly worse than the best, from which of the same rows were right.

    Examples
    --------
    >>> _as_good(np.array([1.0, 1, 0, 1]), np.ones(4)), _as_good(np.zeros(6), np.ones(6))
    (True, False)
    """
    lost = best - hits
    unclear = lost.sum() <= ERRORS * math.sqrt(np.square(lost).sum())
    return bool(unclear and (1 - hits).sum() <= 1 + WRONG * (1 - best).sum())


def _sums(x: Floats, labels: Ints, k: int) -> Floats:
    out = np.zeros((k, x.shape[1]), dtype=np.float32)
    from scipy.sparse import csr_matrix

    ones = np.ones(len(x), dtype=np.float32)
    member = csr_matrix((ones, (labels, np.arange(len(x)))), shape=(k, len(x)))
    out += member @ x
    return out
