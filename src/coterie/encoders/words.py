"""An encoder of two faces over words: a code of counted stems first, a network over words later.

ADSL clusters the code of an autoencoder, and then trains a convolution network on word vectors
with the labels found. Both read the same texts, so both are prepared at once and are one encoder:
it starts with the face "code" and turns to the face "words" when it is made trainable.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._errors import DataError
from coterie._files import save_arrays, write_json
from coterie._trust import read_json, read_tensors
from coterie._types import Features, Floats, Ints
from coterie.blocks.dense_cnn import DenseCNN
from coterie.blocks.layers import mlp
from coterie.encoders.base import Encoder
from coterie.encoders.items import RaggedTokens, Rows, distinct
from coterie.words import Source, Vocabulary, make_word_vectors

Face = Literal["code", "words"]
MAX_WORDS = 20_000  # different words with a vector of their own
WORD_DIM = 300
MAPS = 128
PADDING = 0  # the words count from one


class WordItems:
    """Rows of weighted stems and the words of each text; either may be missing."""

    def __init__(self, rows: Rows | None, words: RaggedTokens | None) -> None:
        self.rows, self.words = rows, words
        longest = words if words is not None else rows
        assert longest is not None
        self.lengths = longest.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, index: Ints, step: int = 1) -> Features:
        features: Features = {}
        if self.rows is not None:
            features["rows"] = self.rows.batch(index)["vectors"]
        if self.words is not None:
            features["words"] = self.words.batch(index, step)["input_ids"]
        return features

    def to(self, device: torch.device) -> WordItems:
        rows = None if self.rows is None else self.rows.to(device)
        return WordItems(rows, None if self.words is None else self.words.to(device))

    def content(self) -> bytes:
        return b"".join(part.content() for part in (self.rows, self.words) if part is not None)


class WordEncoder(Encoder):
    """TF-IDF of stems into a code, or word vectors through a dense convolution network.

    Parameters
    ----------
    max_features : int, default=3000
        The most frequent stems that are counted.
    max_length : int, default=400
        Words read of each text by the network.
    word_vectors : str or Path, default="auto"
        Where the word vectors come from, see :func:`make_word_vectors`.
    dense_input : bool, default=False
        See :class:`DenseCNN`.
    normalize : bool, default=False
        Codes of unit length.
    seed : int, default=0
        Of the word vectors.
    """

    kind: ClassVar[str] = "words"

    def __init__(
        self,
        *,
        max_features: int = 3000,
        max_length: int = 400,
        word_vectors: Source = "auto",
        dense_input: bool = False,
        normalize: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.max_features, self.max_length, self.normalize = max_features, max_length, normalize
        self.word_vectors, self.dense_input, self.seed = word_vectors, dense_input, seed
        self.face: Face = "code"
        self.width = self.dim = 0  # of the rows, of the vectors
        self.stems, self.words = Vocabulary([], stems=True), Vocabulary([])
        self.idf: Floats = np.empty(0, dtype=np.float32)
        self.vectors: Floats = np.empty((0, WORD_DIM), dtype=np.float32)  # of the words
        self.layers: list[int] = []  # widths of the coder
        self.coder: nn.Sequential | None = None
        self.embedding: nn.Embedding | None = None
        self.cnn: DenseCNN | None = None

    # Texts ------------------------------------------------------------------------------------

    def learn(self, texts: Sequence[str]) -> None:
        size = {"max_size": self.max_features, "min_count": 1}
        self.stems = Vocabulary.build(texts, **size, stems=True)  # type: ignore[arg-type]
        if not len(self.stems):  # nothing but stop words: they are all there is
            self.stems = Vocabulary.build(texts, **size, stems=True, stop_words=False)
        if not len(self.stems):
            raise DataError("no text has a word in it; use another method.")
        present = np.asarray((self.stems.counts(texts) > 0).sum(axis=0)).ravel()
        self.idf = np.log((1 + len(texts)) / (1 + present)).astype(np.float32) + 1
        self.width = len(self.stems)
        self.words = Vocabulary.build(texts, max_size=MAX_WORDS, min_count=1, stop_words=False)
        self.vectors = make_word_vectors(
            self.word_vectors, texts, self.words, WORD_DIM, self.seed
        )  # (words, dim)

    def prepare(self, texts: Any) -> tuple[WordItems, Ints]:
        ids = [[i + 1 for i in self.words.ids(text)[: self.max_length]] for text in texts]
        ids = [found or [PADDING] for found in ids]
        if self.face == "words":
            first, items = distinct(map(tuple, ids))
            return WordItems(None, RaggedTokens.build([ids[i] for i in first], PADDING)), items
        matrix = self._weighted(texts)
        bounds = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        first, items = distinct(
            (tuple(found), matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes())
            for found, (a, b) in zip(ids, bounds, strict=True)
        )
        words = RaggedTokens.build([ids[i] for i in first], PADDING)
        return WordItems(Rows(matrix[first]), words), items

    def _weighted(self, texts: Sequence[str]) -> Any:
        """TF-IDF with a mean square of one per number, on which an autoencoder can learn."""
        from sklearn.preprocessing import normalize

        weighted = self.stems.counts(texts).multiply(self.idf).tocsr().astype(np.float32)
        return normalize(weighted) * np.float32(np.sqrt(self.width))

    # Network ----------------------------------------------------------------------------------

    def make_coder(self, *hidden: int) -> None:
        """A fresh network from rows to codes; the last of the widths is the code's."""
        self.layers = list(hidden)
        self.coder, self.dim = mlp(self.width, *hidden), hidden[-1]

    def make_trainable(self) -> None:
        """Turn to the face "words": from here on vectors come from the network over words."""
        self._make_words(len(self.words), self.vectors.shape[1])
        assert self.embedding is not None
        with torch.no_grad():
            self.embedding.weight[1:] = torch.from_numpy(self.vectors)
        self.vectors = self.vectors[:0]

    def _make_words(self, size: int, width: int) -> None:
        self.embedding = nn.Embedding(size + 1, width, padding_idx=PADDING)
        self._make_cnn(width)

    def _make_cnn(self, width: int) -> None:
        self.cnn = DenseCNN(width, MAPS, dense_input=self.dense_input)
        self.face, self.dim, self.coder = "words", MAPS, None

    def forward(self, features: Features) -> Tensor:
        if self.face == "code":
            assert self.coder is not None
            code: Tensor = self.coder(features["rows"])
            return F.normalize(code, dim=1) if self.normalize else code
        assert self.cnn is not None
        vectors: Tensor = self.cnn(*self._sequence(features))
        return vectors.float()

    def _sequence(self, features: Features) -> tuple[Tensor, Tensor]:
        """Word vectors of shape (n, m, width), and where there are words."""
        assert self.embedding is not None
        ids = features["words"]
        return self.embedding(ids), ids != PADDING

    # Saving -----------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(
            folder / "encoder.json",
            {
                "kind": WordEncoder.kind,
                "takes": self.kind,
                "face": self.face,
                "layers": self.layers,
                "width": self.width,
                "max_length": self.max_length,
                "dense_input": self.dense_input,
                "normalize": self.normalize,
                "stems": self.stems.words,
                "words": self.words.words,
            },
        )
        arrays = {name: tensor.cpu().numpy() for name, tensor in self.state_dict().items()}
        save_arrays(folder / "encoder.safetensors", {"idf": self.idf, **arrays})

    def restore(self, saved: dict[str, Any], arrays: dict[str, Tensor]) -> None:
        """Take back what :meth:`save` wrote."""
        self.width = int(saved["width"])
        self.stems, self.words = Vocabulary(saved["stems"], stems=True), Vocabulary(saved["words"])
        self.idf = arrays.pop("idf").numpy()
        if saved["face"] == "code":
            self.make_coder(*saved["layers"])
        else:
            self._make_words(len(self.words), arrays["cnn.convolutions.0.weight"].shape[1])
        self.load_state_dict(arrays)


class OneWordEncoder(WordEncoder):
    """The same for rows of numbers: each is both the row to code and a text of a single word."""

    kind: ClassVar[str] = "precomputed"

    def prepare(self, texts: Any) -> tuple[WordItems, Ints]:
        matrix = np.ascontiguousarray(texts, dtype=np.float32)
        self.width = matrix.shape[1]
        first, items = distinct(row.tobytes() for row in matrix)
        return WordItems(Rows(matrix[first]), None), items

    def make_trainable(self) -> None:
        self._make_words(0, self.width)

    def _make_words(self, size: int, width: int) -> None:
        self._make_cnn(width)

    def _sequence(self, features: Features) -> tuple[Tensor, Tensor]:
        rows = features["rows"]
        if not self.training:
            # Convolutions add up in an order that depends on the number of texts; in float64 that
            # does not show, and for texts of one word it costs little.
            rows = rows.double()
        return rows[:, None], torch.ones_like(rows[:, :1])


def load_word_encoder(folder: Path) -> WordEncoder:
    """Read back what :meth:`WordEncoder.save` wrote."""
    saved = read_json(folder / "encoder.json")
    cls = OneWordEncoder if saved["takes"] == OneWordEncoder.kind else WordEncoder
    encoder = cls(**{name: saved[name] for name in ("dense_input", "max_length", "normalize")})
    encoder.restore(saved, read_tensors(folder / "encoder.safetensors"))
    return encoder
