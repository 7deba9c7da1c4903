"""How many clusters? As many as the effective dimension of the smoothed vectors suggests.

After k-NN smoothing the texts of one theme lie close together, so that the vectors vary along
about as many principal components as there are themes. Their effective number is the participation
ratio of the variances. A regression on the development sets (``results/pages/generalization.md``)
turns it, with the number of texts, into a number of clusters.

Two cases are simpler. Where two halves of the texts, clustered on their own, agree on nearly every
text, the clusters are clear, and the number of the best agreement is taken. Vectors without texts
are not smoothed: the largest number within 3% of the best agreement of halves is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from coterie._util.progress import Progress
from coterie._util.random import derive_seed, numpy_generator, resolve_seed
from coterie._util.torch import torch
from coterie._util.types import Floats, Ints
from coterie._util.validation import check_integer, check_vectors
from coterie.arrays.consensus import DIRECTIONS, RESTART, ROUNDS, n_neighbors
from coterie.arrays.consensus import NEIGHBORS as SMOOTHED
from coterie.arrays.graph import knn_smooth, principal_part
from coterie.arrays.kmeans import KMeans, nearest
from coterie.arrays.metrics import accuracy, contingency
from coterie.arrays.neighbors import nearest_rows, unit_rows
from coterie.arrays.tree import find_levels
from coterie.encoders import (
    AUTO,
    BagOfWords,
    CharNgrams,
    LexicalEncoder,
    MixedEncoder,
    SentenceEncoder,
    load_encoder,
    look,
    universal_for,
)
from coterie.encoders.lexical import NGRAM_WEIGHT
from coterie.errors import DataError
from coterie.texts import texts_from

SAMPLE = 3_000  # texts that are looked at
LARGEST = 250  # clusters
TEXTS_PER_CLUSTER = 5  # at least
# log K = intercept + slope * log(effective dimension) + slope * log(texts), fitted on the
# development sets and on parts of them (``coterie-bench fit-number``).
COEFFICIENTS = 2.092, 1.951, -0.414
LEXICAL_COEFFICIENTS = 2.702, 0.750, -0.280  # for TF-IDF and its kind (``--encoder tfidf-svd``)
GRAPHS = 5, 10  # neighbours in the two graphs whose dimensions are averaged
CLEAR = 0.985  # agreement of halves from which clusters are clear ...
TIGHT = 0.05  # ... if the mean squared distance to their centres is no more than this
NEARLY = 0.97  # of the best agreement, for vectors without texts
RANGE = 2.6  # the range is the number divided and multiplied by this
# Levels: the nearest of the three is within a factor of 1.77 of the number of classes on all
# development sets, each left out of the fit (``coterie-bench fit-number``).
SPLITS = 2  # pairs of halves, for vectors without texts


Kind = Literal["embedding", "lexical", "precomputed"]


@dataclass(frozen=True)
class Choice:
    """A suggested number of clusters and why.

    Attributes
    ----------
    n_clusters : int
    low, high : int
        A range: the number divided and multiplied by 2.6. It holds the number of true classes on
        85% of the development sets, each left out of the fit in turn.
    curve : list of dict
        Of every number tried: ``n_clusters``; ``stability``, the share of texts that keep their
        cluster when half of the data is left out; ``agreement``, the same information adjusted for
        chance; ``spread``, the mean squared distance of a text to the centre of its cluster.
    reason : str
        The suggestion, its range and the stability, in words.
    levels : dict of str to int
        Clusters of the levels "broad", "medium" and "fine"; those that would be the same, or have
        too few texts, are left out.
    """

    n_clusters: int
    low: int
    high: int
    curve: list[dict[str, Any]]
    reason: str
    levels: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for manifests."""
        return asdict(self)


def choose_n_clusters(
    X: Any,
    *,
    encoder: Any = AUTO,
    embeddings: Floats | None = None,
    largest: int | None = None,
    random_state: Any = None,
    progress: Progress | None = None,
) -> Choice:
    """Estimate the number of clusters without labels.

    Parameters
    ----------
    X : list of str, Series, DataFrame, Arrow array; or array of shape (n, d)
        Texts, or vectors with ``encoder="precomputed"``.
    encoder : str, Path or Encoder, default="auto"
        "auto" is all-MiniLM-L6-v2 where it can read the texts, else "lexical".
    embeddings : ndarray of shape (n, d), optional
        Vectors of the texts by that encoder, of unit length, if they are there already.
    largest : int, optional
        Largest number to try. Default: 250, or a fifth of the different texts.
    random_state : int, Generator, RandomState or None, default=None
    progress : Progress, optional

    Returns
    -------
    Choice

    Examples
    --------
    >>> texts = [f"{a} {b}" for a in ("red", "ripe", "sweet", "fresh") for b in ("apple", "plum")]
    >>> choose_n_clusters(texts * 2, encoder="tfidf", random_state=0).n_clusters
    1
    """
    if largest is not None:
        check_integer("largest", largest)
    drawn = resolve_seed(random_state)
    vectors, kind = _prepare(X, encoder, drawn, embeddings)
    n = len(vectors)
    largest = min(largest or LARGEST, n // TEXTS_PER_CLUSTER)
    if largest < 2:
        return Choice(1, 1, 1, [], f"There are only {n} different texts: one cluster.")
    progress = progress or Progress()
    if kind == "precomputed":
        curve = _curve(lambda k: vectors, numbers_to_try(largest), drawn, SPLITS, progress)
        return _described(most_of_the_best(curve), curve, largest, n)
    smoothed = _Smoothed(vectors)
    coefficients = LEXICAL_COEFFICIENTS if kind == "lexical" else COEFFICIENTS
    estimate = round(expected_number(smoothed.dimension(), n, coefficients))
    estimate = min(max(2, estimate), largest)
    grid = numbers_to_try(min(largest, max(10, round(RANGE * estimate))))
    curve = _curve(smoothed, sorted({*grid, estimate}), drawn, 1, progress)
    if between := _between_the_best(curve):
        curve += _curve(smoothed, between, drawn, 1, progress)
        curve.sort(key=lambda row: int(row["n_clusters"]))
    clear = [r for r in curve if r["agreement"] >= CLEAR and r["spread"] <= TIGHT]
    if clear:
        estimate = max(clear, key=lambda row: (row["agreement"], row["n_clusters"]))["n_clusters"]
    return _described(estimate, curve, largest, n)


def _between_the_best(curve: list[dict[str, Any]]) -> list[int]:
    """Numbers beside the tight clusters of the best agreement that were passed over."""
    tight = [i for i, row in enumerate(curve) if row["spread"] <= TIGHT]
    if not tight:
        return []
    best = max(tight, key=lambda i: float(curve[i]["agreement"]))
    if curve[best]["agreement"] < NEARLY * CLEAR:
        return []
    tried = [int(row["n_clusters"]) for row in curve[max(0, best - 1) : best + 2]]
    return sorted(set(range(tried[0], tried[-1])) - set(tried))


def numbers_to_try(largest: int) -> list[int]:
    """All small numbers, then ever fewer, up to ``largest``.

    Examples
    --------
    >>> numbers_to_try(30)
    [2, 3, 4, 5, 6, 7, 9, 10, 12, 15, 18, 21, 26]
    """
    grid, k = [], 2.0
    while round(k) <= largest:
        grid.append(round(k))
        k = max(k + 1, k * 1.2)
    return grid


def effective_dimension(x: Floats) -> float:
    """In how many directions rows vary: the participation ratio, of order 3, of their variances.

    With variances of shares ``p`` of the principal components it is ``sum(p ** 3) ** (-1 / 2)``:
    ``d`` for equal variances in ``d`` directions, and little more where the others are small.

    Examples
    --------
    >>> round(effective_dimension(np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])), 6)
    2.0
    """
    centered = np.asarray(x, dtype=np.float64) - np.mean(x, axis=0)
    variances = np.linalg.eigvalsh(centered.T @ centered).clip(min=0)
    total = variances.sum()
    return float(((variances / total) ** 3).sum() ** -0.5) if total > 0 else 1.0


def expected_number(
    dimension: float, n_texts: int, coefficients: tuple[float, float, float] = COEFFICIENTS
) -> float:
    """The number of clusters that the development sets suggest.

    Examples
    --------
    >>> round(expected_number(10.0, 3_000), 1)
    26.3
    """
    intercept, slope, size = coefficients
    return float(np.exp(intercept + slope * np.log(dimension) + size * np.log(n_texts)))


def most_of_the_best(curve: list[dict[str, Any]]) -> int:
    """The largest number whose halves agree within 3% of the best agreement.

    Examples
    --------
    >>> rows = [{"n_clusters": k, "agreement": a} for k, a in ((2, 1.0), (5, 0.98), (9, 0.7))]
    >>> most_of_the_best(rows)
    5
    """
    best = max(float(row["agreement"]) for row in curve)
    if best <= 0:
        return int(curve[0]["n_clusters"])
    good = [row for row in curve if row["agreement"] >= NEARLY * best]
    return max(int(row["n_clusters"]) for row in good)


def _described(k: int, curve: list[dict[str, Any]], largest: int, n: int) -> Choice:
    """The choice, with a range around it and a sentence."""
    stability = next(row["stability"] for row in curve if row["n_clusters"] == k)
    low, high = max(1, round(k / RANGE)), min(round(k * RANGE), max(largest, k))
    levels = find_levels(k, n // TEXTS_PER_CLUSTER)
    reason = (
        f"About {k} clusters ({low} to {high} would be plausible). At {k}, "
        f"{100 * stability:.0f}% of the texts keep their cluster when half of the data is left out."
    )
    return Choice(k, low, high, curve, reason, levels)


def _prepare(
    X: Any, encoder: Any, seed: int, embeddings: Floats | None = None
) -> tuple[Floats, Kind]:
    """Vectors of at most 3,000 different texts, and of what kind they are."""
    rng = numpy_generator(seed, "choose", "sample")
    if isinstance(encoder, str) and encoder == "precomputed":
        distinct = np.unique(np.asarray(X, dtype=np.float32), axis=0)
        return distinct[rng.permutation(len(distinct))[:SAMPLE]], "precomputed"
    cleaned = texts_from(X)
    first = {text: row for row, text in enumerate(cleaned) if text}
    rows = [first[text] for text in sorted(first)]
    if not rows:
        raise DataError("all texts are empty: there is nothing to cluster.")
    rows = [rows[i] for i in rng.permutation(len(rows))[:SAMPLE]]
    texts = [cleaned[row] for row in rows]
    if embeddings is not None:
        embedded = check_vectors("embeddings", embeddings)[rows]
        return with_ngrams(embedded, texts, derive_seed(seed, "encoder")), "embedding"
    return text_vectors(texts, encoder, seed)


def with_ngrams(embeddings: Floats, texts: list[str], seed: int) -> Floats:
    """Embeddings with the character n-grams of their texts beside them."""
    ngrams = CharNgrams(seed=seed)
    ngrams.learn(texts)
    items, rows = ngrams.prepare(texts)
    beside = NGRAM_WEIGHT * unit_rows(ngrams.encode(items)[rows])
    return np.hstack([embeddings, beside]).astype(np.float32)


def text_vectors(texts: list[str], encoder: Any, seed: int) -> tuple[Floats, Kind]:
    """Vectors of texts, embeddings with n-grams beside them, and of what kind they are."""
    own = derive_seed(seed, "encoder")
    found = load_encoder(encoder, seed=own)
    if isinstance(found, SentenceEncoder):
        found.encode_precision = "int8"  # as in a fit that trains nothing
    if isinstance(encoder, str) and encoder == AUTO:
        seen = look(found, texts, own)
        if seen is not None and seen.level == "not":
            found = universal_for(found, seen, texts, own) or LexicalEncoder(own)
    lexical_alone = isinstance(found, (BagOfWords, LexicalEncoder))
    kind: Kind = "lexical" if lexical_alone else "embedding"
    if kind == "embedding":
        found = MixedEncoder(found, NGRAM_WEIGHT, own, CharNgrams(seed=own))
    found.learn(texts)
    prepared, numbers = found.prepare(texts)
    return found.encode(prepared)[numbers], kind


class _Smoothed:
    """Vectors after k-NN smoothing, with fewer neighbours where there are more clusters."""

    def __init__(self, vectors: Floats) -> None:
        self.first = principal_part(vectors, DIRECTIONS)
        self.near = nearest_rows(vectors, SMOOTHED[1] + 1)
        self.kept: dict[int, Floats] = {}

    def __call__(self, n_clusters: int) -> Floats:
        return self.with_neighbors(n_neighbors(len(self.near), n_clusters))

    def with_neighbors(self, k: int) -> Floats:
        if k not in self.kept:
            self.kept[k] = knn_smooth(self.first, self.near[:, : k + 1], ROUNDS, RESTART)
        return self.kept[k]

    def dimension(self) -> float:
        """Geometric mean of the effective dimensions over the two graphs."""
        found = [effective_dimension(self.with_neighbors(k)) for k in GRAPHS]
        return float(np.exp(np.log(found).mean()))


def _curve(
    vectors: Callable[[int], Floats],
    grid: list[int],
    seed: int,
    splits: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Cluster two halves of the texts and compare what both say of all texts, for each number."""
    progress.start("number of clusters", len(grid))
    curve = []
    try:
        for done, k in enumerate(grid, 1):
            found = [_halves(vectors(k), k, seed, split) for split in range(splits)]
            stability, agreement, spread = np.mean(found, axis=0)
            row = {"stability": stability, "agreement": agreement, "spread": spread}
            rounded = {name: round(float(value), 4) for name, value in row.items()}
            curve.append({"n_clusters": k, **rounded})
            progress.advance(done)
    finally:
        progress.stop()
    return curve


def _halves(vectors: Floats, k: int, seed: int, split: int) -> tuple[float, float, float]:
    """Stability, agreement and spread of one number of clusters, from one pair of halves."""
    x = torch.from_numpy(vectors)
    shuffled = numpy_generator(seed, "choose", k, split).permutation(len(vectors))
    labels: list[Ints] = []
    spread = 0.0
    for half in (shuffled[::2], shuffled[1::2]):
        start = derive_seed(seed, "choose", k, split, len(labels))
        found = KMeans(n_clusters=k, seed=start, n_init=1)(x[torch.from_numpy(half)])
        labels.append(nearest(x, torch.from_numpy(found.centers))[0].numpy())
        spread += found.inertia / len(vectors)
    one, other = labels
    return accuracy(one, other), adjusted_information(one, other, seed), spread


def adjusted_information(a: Ints, b: Ints, seed: int) -> float:
    """Mutual information of two clusterings over their mean entropy, both less chance.

    What :func:`coterie.arrays.metrics.ami` computes exactly, in seconds for hundreds of clusters,
    is here taken from one shuffle, in milliseconds.
    """
    chance = _mutual(a, numpy_generator(seed, "confirmed").permutation(b))
    most = (_mutual(a, a) + _mutual(b, b)) / 2  # the information of a clustering on itself
    return (_mutual(a, b) - chance) / (most - chance) if most > chance else 0.0


def _mutual(a: Ints, b: Ints) -> float:
    joint = contingency(a, b) / len(a)
    some = joint > 0
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return float((joint[some] * np.log(joint[some] / product[some])).sum())
