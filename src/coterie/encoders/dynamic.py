"""Word vectors through a dynamic convolution network: the encoder of STCC."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from coterie._errors import DataError
from coterie._files import save_arrays, write_json
from coterie._trust import read_json, read_tensors
from coterie._types import Features, Floats, Ints
from coterie.blocks.dynamic_cnn import DynamicCNN
from coterie.encoders.base import Encoder
from coterie.encoders.items import RaggedTokens, distinct
from coterie.words import Source, Vocabulary, make_word_vectors

MAX_WORDS = 20_000  # different words with a vector of their own
PADDING = 0  # the words count from one


class DynamicEncoder(Encoder):
    """Features of a dynamic convolution network over the words of a text.

    Parameters
    ----------
    word_vectors : str or Path, default="auto"
        Where they come from, see :func:`make_word_vectors`.
    word_dim : int, default=48
        Width of those learned from the texts; a multiple of four.
    max_length : int, default=128
        Words read of each text.
    seed : int, default=0
        Of the word vectors.
    """

    kind: ClassVar[str] = "word-cnn"

    def __init__(
        self,
        word_vectors: Source = "auto",
        word_dim: int = 48,
        max_length: int = 128,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.word_vectors, self.word_dim = word_vectors, word_dim
        self.max_length, self.seed = max_length, seed
        self.words = Vocabulary([])
        self.vectors: Floats = np.empty((0, word_dim), dtype=np.float32)
        self.embedding: nn.Embedding | None = None
        self.cnn: DynamicCNN | None = None

    def learn(self, texts: Sequence[str]) -> None:
        self.words = Vocabulary.build(texts, max_size=MAX_WORDS, min_count=1, stop_words=False)
        if not len(self.words):
            raise DataError("no text has a word in it; use another method.")
        self.vectors = make_word_vectors(
            self.word_vectors, texts, self.words, self.word_dim, self.seed
        )

    def prepare(self, texts: Any) -> tuple[RaggedTokens, Ints]:
        ids = [[i + 1 for i in self.words.ids(text)[: self.max_length]] for text in texts]
        ids = [found or [PADDING] for found in ids]
        first, items = distinct(map(tuple, ids))
        return RaggedTokens.build([ids[i] for i in first], PADDING), items

    def make_network(self) -> None:
        """A fresh network above the word vectors, which move with it from here on."""
        self._make(*self.vectors.shape)
        assert self.embedding is not None
        with torch.no_grad():
            self.embedding.weight[1:] = torch.from_numpy(self.vectors)
        self.vectors = self.vectors[:0]

    def _make(self, size: int, width: int) -> None:
        self.embedding = nn.Embedding(size + 1, width, padding_idx=PADDING)
        self.cnn = DynamicCNN(width)
        self.dim = self.cnn.dim

    def forward(self, features: Features) -> Tensor:
        assert self.embedding is not None and self.cnn is not None
        lengths = features["attention_mask"].sum(dim=1)
        vectors: Tensor = self.cnn(self.embedding(features["input_ids"]), lengths)
        return vectors.float()

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        settings = {"kind": self.kind, "max_length": self.max_length, "words": self.words.words}
        write_json(folder / "encoder.json", settings)
        weights = {name: tensor.cpu().numpy() for name, tensor in self.state_dict().items()}
        save_arrays(folder / "encoder.safetensors", weights)


def load_dynamic(folder: Path) -> DynamicEncoder:
    """Read back what :meth:`DynamicEncoder.save` wrote."""
    saved = read_json(folder / "encoder.json")
    weights = read_tensors(folder / "encoder.safetensors")
    encoder = DynamicEncoder(max_length=int(saved["max_length"]))
    encoder.words = Vocabulary(saved["words"])
    size, width = weights["embedding.weight"].shape
    encoder._make(size - 1, width)
    encoder.load_state_dict(weights)
    return encoder
