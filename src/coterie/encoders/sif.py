"""SIF: a text as the weighted mean of word vectors, without what all texts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from coterie._errors import DataError
from coterie._trust import check_shape
from coterie._types import Floats, Ints
from coterie.blocks.sif import common_direction, weighted_means, without_direction, word_weights
from coterie.encoders.items import Rows, distinct
from coterie.encoders.vectors import VectorEncoder
from coterie.words import Source, Vocabulary, make_word_vectors

MAX_WORDS = 50_000
PREFIX = "sif:"  # before a file of word vectors


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
