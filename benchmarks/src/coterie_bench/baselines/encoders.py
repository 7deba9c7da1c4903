"""What only baselines encode with: SIF on word vectors, and the topics of LDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from coterie._util.trust import is_count, is_finite
from coterie._util.types import Floats, Ints
from coterie.encoders import BagOfWords, Rows, VectorEncoder
from coterie.encoders.lexical import MAX_WORDS
from coterie.errors import DataError
from coterie.methods.word_vectors import Source, make_word_vectors
from coterie.texts.words import Vocabulary

SIF_WORDS = 50_000


class TopicShares(BagOfWords):
    """Shares of the topics of a text, from the counts of its words (LDA).

    A small ``prior`` of the topics of a text (alpha) gives a short text few topics. ``components``
    are the counts that each topic has of each word, the prior's included.
    """

    kind: ClassVar[str] = "lda"
    saved: ClassVar[dict[str, Any]] = {**BagOfWords.saved, "n_topics": is_count, "prior": is_finite}

    def __init__(
        self, n_topics: int = 50, prior: float = 0.1, max_iter: int = 20, seed: int = 0
    ) -> None:
        super().__init__("counts", max_features=MAX_WORDS, seed=seed, stop_words=True)
        self.n_topics, self.prior, self.max_iter = n_topics, prior, max_iter

    def learn(self, texts: Sequence[str]) -> None:
        super().learn(texts)
        model = self._make(random_state=self.seed % 2**32).fit(self._counts(texts))
        self.components = model.components_
        self.dim = self.n_topics

    def reduced(self, counts: Any) -> Floats:
        """Shares of the topics of each row, as inferred by the topics found."""
        from scipy.special import psi

        assert self.components is not None
        model = self._make()
        model.components_, model.n_features_in_ = self.components, counts.shape[1]
        expected = psi(self.components) - psi(self.components.sum(axis=1))[:, None]
        model.exp_dirichlet_component_, model.doc_topic_prior_ = np.exp(expected), self.prior
        return np.asarray(model.transform(counts), dtype=np.float32)

    def _make(self, **more: Any) -> Any:
        from sklearn.decomposition import LatentDirichletAllocation

        return LatentDirichletAllocation(
            self.n_topics,
            doc_topic_prior=self.prior,
            max_iter=self.max_iter,
            learning_method="batch",
            **more,
        )


def word_weights(counts: Floats, a: float) -> Floats:
    """Weight ``a / (a + p(w))`` of each word, from how often each occurs.

    Examples
    --------
    >>> word_weights(np.array([1.0, 3.0]), a=0.25)
    array([0.5 , 0.25])
    """
    share = counts / max(float(counts.sum()), 1.0)
    return np.asarray(a / (a + share))


def mean_vectors(bags: Any, vectors: Floats) -> Floats:
    """Sum of the vectors (v, d) of the words of each text over their number; zero without any.

    ``bags`` is a sparse matrix of counts, (n, v).
    """
    sums = bags @ vectors.astype(np.float64)  # (n, d)
    words = np.asarray(bags.sum(axis=1)).ravel()
    return np.asarray(sums / np.maximum(words, 1)[:, None], dtype=np.float32)


def common_direction(rows: Floats) -> Floats:
    """First right singular vector of the rows as they are, not centred; of unit length, or zero."""
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
    saved: ClassVar[dict[str, Any]] = {"a": float, "words": [str]}
    saved_arrays: ClassVar[tuple[str, ...]] = ("vectors", "common")

    def __init__(
        self, word_vectors: Source = "auto", a: float = 1e-3, dim: int = 300, seed: int = 0
    ) -> None:
        super().__init__()
        self.word_vectors, self.a, self.width, self.seed = word_vectors, a, dim, seed
        self.vocabulary = Vocabulary([])
        self.vectors: Floats = np.zeros((0, dim), dtype=np.float32)  # already weighted
        self.common: Floats = np.zeros(dim, dtype=np.float32)

    def learn(self, texts: Sequence[str]) -> None:
        self.vocabulary = Vocabulary.build(texts, max_size=SIF_WORDS, min_count=1, stop_words=False)
        if not len(self.vocabulary):
            raise DataError("no text has a word in it; use another encoder.")
        bags = self.vocabulary.counts(texts)
        vectors = make_word_vectors(
            self.word_vectors, texts, self.vocabulary, self.width, self.seed
        )
        weights = word_weights(np.asarray(bags.sum(axis=0), dtype=np.float64).ravel(), self.a)
        self.vectors = (weights[:, None] * vectors).astype(np.float32)
        self.dim = self.vectors.shape[1]
        self.common = common_direction(mean_vectors(bags, self.vectors))

    def prepare(self, texts: Sequence[str]) -> tuple[Rows, Ints]:
        means = mean_vectors(self.vocabulary.counts(texts), self.vectors)
        return super().prepare(without_direction(means, self.common))

    @property
    def words(self) -> list[str]:
        """The words that have a vector, as they are saved."""
        return self.vocabulary.words

    @words.setter
    def words(self, words: list[str]) -> None:
        self.vocabulary = Vocabulary(words)
