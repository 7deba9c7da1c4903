"""SIF: a text as the weighted mean of word vectors, without what all texts share.

Arora et al. (2017), "A Simple but Tough-to-Beat Baseline for Sentence Embeddings": a word of
probability ``p(w)`` counts ``a / (a + p(w))`` times, and what all texts share, the direction of
the first singular vector, is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from coterie._errors import DataError
from coterie._trust import check_shape
from coterie._types import Floats, Ints
from coterie.encoders.items import Rows, distinct
from coterie.encoders.vectors import VectorEncoder
from coterie.words import Source, Vocabulary, make_word_vectors

MAX_WORDS = 50_000
PREFIX = "sif:"  # before a file of word vectors


def word_weights(counts: Floats, a: float) -> Floats:
    """Weight ``a / (a + p(w))`` of each word.

    Parameters
    ----------
    counts : ndarray of shape (v,)
        How often each word occurs in all texts.
    a : float
        Small values make frequent words count less.

    Returns
    -------
    ndarray of shape (v,)
        Between 0 and 1; one for a word that never occurs.

    Examples
    --------
    >>> word_weights(np.array([1.0, 3.0]), a=0.25)
    array([0.5 , 0.25])
    """
    share = counts / max(float(counts.sum()), 1.0)
    return np.asarray(a / (a + share))


def weighted_means(bags: Any, vectors: Floats, weights: Floats) -> Floats:
    """Mean of the weighted vectors of the words of each text.

    Parameters
    ----------
    bags : csr_matrix of shape (n, v)
        Word counts.
    vectors : ndarray of shape (v, d)
    weights : ndarray of shape (v,)

    Returns
    -------
    ndarray of shape (n, d)
        Divided by the number of words, not by the sum of their weights; zero without any word.
    """
    sums = bags @ (weights[:, None] * vectors)  # (n, d)
    words = np.asarray(bags.sum(axis=1)).ravel()
    return np.asarray(sums / np.maximum(words, 1)[:, None], dtype=np.float32)


def common_direction(rows: Floats) -> Floats:
    """First right singular vector of the rows as they are, not centred; of unit length, or zero.

    Parameters
    ----------
    rows : ndarray of shape (n, d)

    Returns
    -------
    ndarray of shape (d,)
        Its sign is arbitrary, and does not matter for :func:`without_direction`.
    """
    gram = rows.astype(np.float64).T @ rows.astype(np.float64)  # (d, d): n may be large
    if not gram.any():
        return np.zeros(rows.shape[1], dtype=np.float32)
    return np.asarray(np.linalg.eigh(gram)[1][:, -1], dtype=np.float32)


def without_direction(rows: Floats, direction: Floats) -> Floats:
    """The rows less their projection on a unit vector, ``x - u u' x``."""
    return np.asarray(rows - np.outer(rows @ direction, direction), dtype=np.float32)


class SIFEncoder(VectorEncoder):
    """Smooth inverse frequency (Arora et al., 2017) on word vectors.

    Parameters
    ----------
    word_vectors : {"auto", "skipgram", "ppmi"} or file, default="auto"
        Learned from the texts, or read from a file with a word and its numbers on each line.
    a : float, default=1e-3
        A word of probability p counts ``a / (a + p)`` times; the paper's value.
    dim : int, default=300
        Width of word vectors that are learned from the texts.
    seed : int, default=0
        Of the word vectors.

    Notes
    -----
    Probabilities of words are those of the corpus. Words that it does not have are passed over
    in new texts, even if a file has vectors for them.
    """

    kind: ClassVar[str] = "sif"

    def __init__(
        self, word_vectors: Source = "auto", a: float = 1e-3, dim: int = 300, seed: int = 0
    ) -> None:
        super().__init__()
        self.word_vectors, self.a, self.width, self.seed = word_vectors, a, dim, seed
        self.vocabulary = Vocabulary([])
        self.vectors: Floats = np.zeros((0, dim), dtype=np.float32)  # already weighted
        self.common: Floats = np.zeros(dim, dtype=np.float32)

    def learn(self, texts: Sequence[str]) -> None:
        self.vocabulary = Vocabulary.build(texts, max_size=MAX_WORDS, min_count=1, stop_words=False)
        if not len(self.vocabulary):
            raise DataError("no text has a word in it; use another encoder.")
        bags = self.vocabulary.counts(texts)
        vectors = make_word_vectors(
            self.word_vectors, texts, self.vocabulary, self.width, self.seed
        )
        weights = word_weights(np.asarray(bags.sum(axis=0), dtype=np.float64).ravel(), self.a)
        self.vectors = (weights[:, None] * vectors).astype(np.float32)
        self.dim = self.vectors.shape[1]
        self.common = common_direction(self._means(bags))

    def prepare(self, texts: Sequence[str]) -> tuple[Rows, Ints]:
        rows = without_direction(self._means(self.vocabulary.counts(texts)), self.common)
        first, numbers = distinct(row.tobytes() for row in rows)
        return Rows(rows[first]), numbers

    def _means(self, bags: Any) -> Floats:
        return weighted_means(bags, self.vectors, np.ones(len(self.vocabulary)))

    def settings(self) -> dict[str, Any]:
        return {"a": self.a, "words": self.vocabulary.words}

    def arrays(self) -> dict[str, Floats]:
        return {"vectors": self.vectors, "common": self.common}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        check_shape(saved, {"a": float, "words": [str]}, "encoder.json")
        self.a, self.vocabulary = float(saved["a"]), Vocabulary(saved["words"])
        self.vectors, self.common = arrays["vectors"], arrays["common"]
        if self.vectors.shape != (len(self.vocabulary), saved["dim"]):
            raise DataError(
                f"encoder.json is damaged: {len(self.vocabulary)} words of {saved['dim']} numbers "
                f"do not fit vectors of shape {self.vectors.shape}."
            )
        super().restore(saved, arrays)
