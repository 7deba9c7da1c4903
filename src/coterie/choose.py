"""How many clusters? The number that says most about the words and keeps neighbours together.

More clusters say more about the words of the texts (word information). Fewer of the nearest
neighbours of a text, by the embeddings alone, are then in its cluster. The number with the largest
product is taken. Where there are no words, two halves of the texts are clustered on their own, and
the largest number within 3% of the best agreement is taken.

The criteria were compared on the development sets: agreement of halves or of starts as further
factors, and other exponents, came no nearer to the number of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from coterie._errors import DataError
from coterie._progress import Progress, Silent
from coterie._random import derive_seed, numpy_generator, resolve_seed
from coterie._types import Floats, Ints
from coterie._validation import check_integer
from coterie.base.consensus import DIRECTIONS, RESTART, ROUNDS, n_neighbors
from coterie.base.consensus import NEIGHBORS as SMOOTHED
from coterie.blocks.graph import knn_smooth, principal_part
from coterie.blocks.kmeans import KMeans, nearest
from coterie.corpus import texts_from
from coterie.encoders import DEFAULT, BagOfWords, CharNgrams, MixedEncoder, load_encoder
from coterie.encoders.lexical import unit_rows
from coterie.metrics import accuracy, contingency
from coterie.neighbors import nearest_rows
from coterie.words import word_information, word_presence

SAMPLE = 3_000  # texts that are clustered
SPLITS = 2  # repetitions for the numbers near the best
LARGEST = 250  # clusters
FEWEST = 5  # texts per cluster
NEARLY = 0.97  # of the best agreement, where there are no words
WORTH = 0.8  # of the best score in one split, for the other to be computed
PATIENCE = 4  # numbers in a row that score less than that end the search
RANGE = 1.8  # the range is the number divided and multiplied by this
NEIGHBORS = 10  # whose cluster is compared
LEXICAL_WEIGHT = 0.5  # as in ``auto``, which this layer does not see


@dataclass(frozen=True)
class Choice:
    """A number of clusters and why.

    Attributes
    ----------
    n_clusters : int
    low, high : int
        A range: the number divided and multiplied by 1.8. It holds the number of true classes on
        three of five development sets.
    curve : list of dict
        Of every number tried: ``n_clusters``; ``stability``, the share of texts that keep their
        cluster when half of the data is left out; ``agreement``, the same adjusted for chance;
        ``together``, the share of nearest neighbours in the same cluster; ``information`` about
        words in nats, None where there are too few; and the ``score`` that decides.
    reason : str
        One sentence.
    """

    n_clusters: int
    low: int
    high: int
    curve: list[dict[str, Any]]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for manifests."""
        return asdict(self)


def choose_n_clusters(
    X: Any,
    *,
    encoder: Any = DEFAULT,
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
    encoder : str, Path or Encoder, default="all-MiniLM-L6-v2"
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
    seed = resolve_seed(random_state)
    vectors, width, texts = _prepare(X, encoder, seed, embeddings)
    n = len(vectors)
    if largest is not None:
        check_integer("largest", largest)
    largest = min(largest or LARGEST, n // FEWEST)
    if largest < 2:
        return Choice(1, 1, 1, [], f"There are only {n} different texts: one cluster.")
    presence = None if texts is None else word_presence(texts)
    progress = progress or Silent()
    neighbors = nearest_rows(vectors[:, :width], NEIGHBORS + 1)[:, 1:]
    smoothed = _Smoothed(vectors) if presence is not None else lambda k: vectors
    grid = numbers_to_try(largest)
    progress.start("number of clusters", len(grid))
    try:
        tried: dict[int, Criteria] = {}
        best, behind = 0.0, 0
        for done, k in enumerate(grid, 1):
            tried[k] = Criteria()
            tried[k].add(smoothed(k), neighbors, presence, (k, seed, 0))
            score = tried[k].row(k)["score"]
            best, behind = max(best, score), 0 if score >= WORTH * best else behind + 1
            progress.advance(done)
            if behind >= PATIENCE and presence is not None:
                break
        for k, criteria in tried.items():
            if criteria.row(k)["score"] >= WORTH * best:
                for split in range(1, SPLITS):
                    criteria.add(smoothed(k), neighbors, presence, (k, seed, split))
        curve = [criteria.row(k) for k, criteria in tried.items()]
    finally:
        progress.stop()
    return decide(curve)


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


def decide(curve: Sequence[dict[str, Any]]) -> Choice:
    """The number of the best score, and a range around it.

    Examples
    --------
    >>> rows = [{"n_clusters": k, "score": s, "stability": 0.9, "information": 1.0}
    ...         for k, s in ((2, 0.50), (4, 0.98), (8, 1.00), (16, 0.97), (32, 0.60))]
    >>> choice = decide(rows)
    >>> choice.n_clusters, choice.low, choice.high
    (8, 4, 14)
    """
    row = max(curve, key=lambda row: float(row["score"]))
    if row["information"] is None and row["score"] > 0:  # as stable with more: more is specific
        good = [other for other in curve if other["score"] >= NEARLY * row["score"]]
        row = max(good, key=lambda other: int(other["n_clusters"]))
    k = int(row["n_clusters"])
    low, high = max(1, round(k / RANGE)), round(k * RANGE)
    reason = (
        f"{k} clusters: {100 * row['stability']:.0f}% of the texts keep their cluster when half of "
        "the data is left out."
    )
    if row["information"] is not None:
        reason += " More clusters are more specific but less stable."
    return Choice(k, low, high, list(curve), f"{reason} A range to consider: {low} to {high}.")


def _prepare(
    X: Any, encoder: Any, seed: int, embeddings: Floats | None
) -> tuple[Floats, int, list[str] | None]:
    """Vectors of at most 3,000 different texts, the width of their embedding, and the texts."""
    rng = numpy_generator(seed, "choose", "sample")
    if isinstance(encoder, str) and encoder == "precomputed":
        distinct = np.unique(np.asarray(X, dtype=np.float32), axis=0)
        return distinct[rng.permutation(len(distinct))[:SAMPLE]], distinct.shape[1], None
    cleaned = texts_from(X)
    first = {text: row for row, text in reversed(list(enumerate(cleaned))) if text}
    rows = sorted(first.values())
    if not rows:
        raise DataError("all texts are empty: there is nothing to cluster.")
    rows = [rows[i] for i in rng.permutation(len(rows))[:SAMPLE]]
    texts = [cleaned[row] for row in rows]
    own = derive_seed(seed, "encoder")
    lexical = CharNgrams(seed=own)
    if embeddings is not None:
        lexical.learn(texts)
        counted, numbers = lexical.prepare(texts)
        beside = LEXICAL_WEIGHT * unit_rows(lexical.encode(counted)[numbers])
        both = np.hstack([embeddings[rows], beside]).astype(np.float32)
        return both, embeddings.shape[1], texts
    found = load_encoder(encoder, seed=own)
    if not isinstance(found, BagOfWords):
        found = MixedEncoder(found, LEXICAL_WEIGHT, own, lexical)
    found.learn(texts)
    prepared, numbers = found.prepare(texts)
    width = found.meaning.dim if isinstance(found, MixedEncoder) else found.dim
    return found.encode(prepared)[numbers], width, texts


def confirmed(a: Ints, b: Ints, seed: int) -> float:
    """Mutual information of two clusterings over their mean entropy, both less chance.

    What :func:`coterie.metrics.ami` computes exactly, in seconds for hundreds of clusters, is here
    taken from one shuffle, in milliseconds.
    """
    chance = _mutual(a, numpy_generator(seed, "confirmed").permutation(b))
    most = (_mutual(a, a) + _mutual(b, b)) / 2  # the information of a clustering on itself
    return (_mutual(a, b) - chance) / (most - chance) if most > chance else 0.0


def _mutual(a: Ints, b: Ints) -> float:
    joint = contingency(a, b) / len(a)
    some = joint > 0
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return float((joint[some] * np.log(joint[some] / product[some])).sum())


class _Smoothed:
    """Vectors after k-NN smoothing, with fewer neighbours where there are more clusters."""

    def __init__(self, vectors: Floats) -> None:
        self.first = principal_part(vectors, DIRECTIONS)
        self.near = nearest_rows(vectors, SMOOTHED[1] + 1)
        self.kept: dict[int, Floats] = {}

    def __call__(self, n_clusters: int) -> Floats:
        k = n_neighbors(len(self.near), n_clusters)
        if k not in self.kept:
            self.kept[k] = knn_smooth(self.first, self.near[:, : k + 1], ROUNDS, RESTART)
        return self.kept[k]


class Criteria:
    """Criteria of one number of clusters, collected over repetitions."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.agreements: list[float] = []
        self.together: list[float] = []
        self.information: list[float] = []

    def add(
        self, vectors: Floats, neighbors: Ints, presence: Any, draw: tuple[int, int, int]
    ) -> None:
        """Cluster all texts, and two halves; ``draw`` is the number, the seed, the repetition."""
        k, seed, split = draw
        x = torch.from_numpy(vectors)
        shuffled = numpy_generator(seed, "choose", k, split).permutation(len(vectors))
        labels: list[Ints] = []
        for rows in (shuffled[::2], shuffled[1::2], shuffled):
            start = derive_seed(seed, "choose", k, split, len(labels))
            found = KMeans(n_clusters=k, seed=start, n_init=1)(x[torch.from_numpy(rows)])
            labels.append(nearest(x, torch.from_numpy(found.centers))[0].numpy())
        one, other, whole = labels
        self.shares.append(accuracy(one, other))
        self.agreements.append(confirmed(one, other, seed))
        self.together.append(float((whole[neighbors] == whole[:, None]).mean()))
        if presence is not None:
            self.information.append(word_information(presence, whole, seed))

    def row(self, k: int) -> dict[str, Any]:
        """Means over the repetitions, and the score that decides."""
        information = float(np.mean(self.information)) if self.information else None
        score = float(np.mean(self.agreements))
        if information is not None:
            score = float(np.mean(self.together)) * information
        return {
            "n_clusters": k,
            "stability": round(float(np.mean(self.shares)), 4),
            "agreement": round(float(np.mean(self.agreements)), 4),
            "together": round(float(np.mean(self.together)), 4),
            "information": None if information is None else round(information, 5),
            "score": round(score, 5),
        }
