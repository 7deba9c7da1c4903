"""Embeddings and lexical features side by side.

A sentence encoder knows what a text is about in general; lexical features know what it is about
here: product names, codes, jargon. Vectors of both, each of unit length, are concatenated.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from coterie._errors import UsageError
from coterie._files import write_json
from coterie._progress import Progress
from coterie._trust import check_shape, read_json
from coterie._types import Features, Floats, Ints
from coterie.encoders.base import Encoder
from coterie.encoders.items import Items, distinct
from coterie.encoders.ngrams import CharNgrams
from coterie.encoders.vectors import BagOfWords, VectorEncoder, load_vector_encoder

LSA = 200  # dimensions of the lexical features
MAX_WORDS = 20_000


class MixedItems:
    """Pairs of an item of the encoder and one of the lexical features."""

    def __init__(self, meaning: Items, words: Items, pairs: Ints) -> None:
        self.meaning, self.words, self.pairs = meaning, words, pairs
        self.lengths = meaning.lengths[pairs[:, 0]]

    def __len__(self) -> int:
        return len(self.pairs)

    def batch(self, index: Ints, step: int = 1) -> Features:
        raise UsageError("an encoder with lexical features beside it cannot be trained.")

    def to(self, device: torch.device) -> MixedItems:
        return MixedItems(self.meaning.to(device), self.words.to(device), self.pairs)

    def content(self) -> bytes:
        return self.meaning.content() + self.words.content() + self.pairs.tobytes()


class MixedEncoder(Encoder):
    """Embeddings and lexical features (an LSA of 200 dimensions) concatenated; not trainable.

    Parameters
    ----------
    meaning : Encoder
    weight : float
        Length of the lexical part; that of the embedding is one.
    seed : int, default=0
        Of the SVD.
    words : BagOfWords or CharNgrams, optional
        Makes the lexical features. Default: TF-IDF of words.
    """

    kind: ClassVar[str] = "mixed"

    def __init__(
        self, meaning: Encoder, weight: float, seed: int = 0, words: VectorEncoder | None = None
    ) -> None:
        super().__init__()
        self.meaning = meaning
        self.words: VectorEncoder = words or BagOfWords(
            "tfidf", max_features=MAX_WORDS, svd=LSA, seed=seed, stop_words=True
        )
        self.weight = weight

    def learn(self, texts: Sequence[str]) -> None:
        self.meaning.learn(texts)
        self.words.learn(texts)

    def prepare(self, texts: Sequence[str]) -> tuple[MixedItems, Ints]:
        meaning, rows = self.meaning.prepare(texts)
        words, others = self.words.prepare(texts)
        pairs = np.stack([rows, others], axis=1)
        first, numbers = distinct(map(tuple, pairs.tolist()))
        self.dim = self.meaning.dim + self.words.dim
        return MixedItems(meaning, words, pairs[first]), numbers

    def forward(self, features: Features) -> Tensor:
        raise UsageError("an encoder with lexical features beside it cannot be trained.")

    def encode(
        self, items: Any, index: Ints | None = None, *, progress: Progress | None = None
    ) -> Floats:
        pairs = items.pairs if index is None else items.pairs[index]
        meaning = self.meaning.encode(items.meaning, progress=progress)[pairs[:, 0]]
        words = self.words.encode(items.words)[pairs[:, 1]]
        return np.hstack([_unit(meaning), self.weight * _unit(words)]).astype(np.float32)

    def save(self, folder: Path) -> None:
        self.words.save(folder / "words")
        write_json(folder / "encoder.json", {"kind": self.kind, "weight": self.weight})
        if self.meaning.pointer() is None:
            self.meaning.save(folder / "meaning")


def load_mixed(folder: Path, meaning: Encoder) -> MixedEncoder:
    """Read back what :meth:`MixedEncoder.save` wrote, around an encoder that was found."""
    words = load_vector_encoder(folder / "words", CharNgrams)
    file = folder / "encoder.json"
    saved = check_shape(read_json(file), {"weight": float}, str(file))
    encoder = MixedEncoder(meaning, float(saved["weight"]), 0, words)
    encoder.dim = meaning.dim + words.dim
    return encoder


def _unit(x: Floats) -> Floats:
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms > 0, norms, 1))
