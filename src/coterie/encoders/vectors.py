"""Encoders over plain numbers: vectors that the user brings, and bags of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from coterie._emoji import EMOJI_PATTERN
from coterie._errors import DataError
from coterie._files import save_arrays, write_json
from coterie._trust import Count, check_shape, read_arrays, read_json
from coterie._types import Features, Floats, Ints
from coterie.encoders.base import Encoder
from coterie.encoders.items import Rows, distinct
from coterie.words import ENGLISH

WORD = re.compile(rf"\b\w\w+\b|{EMOJI_PATTERN}")


class VectorEncoder(Encoder):
    """Rows of numbers pass through; in training a square map that starts as the identity moves.

    Dropout on the numbers gives two different views of the same row in training.
    """

    kind: ClassVar[str] = "precomputed"

    def __init__(self, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.dim = 0
        self.dropout = nn.Dropout(dropout)
        self.map: nn.Linear | None = None

    def prepare(self, texts: Any) -> tuple[Rows, Ints]:
        matrix = np.ascontiguousarray(texts, dtype=np.float32)
        self.dim = matrix.shape[1]
        first, rows = distinct(row.tobytes() for row in matrix)
        return Rows(matrix[first]), rows

    def forward(self, features: Features) -> Tensor:
        vectors = features["vectors"]
        return vectors if self.map is None else self.map(self.dropout(vectors))

    def make_trainable(self) -> None:
        self.map = nn.Linear(self.dim, self.dim, bias=False)
        nn.init.eye_(self.map.weight)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "encoder.json", {"kind": self.kind, "dim": self.dim, **self.settings()})
        arrays = self.arrays()
        if self.map is not None:
            arrays["map"] = self.map.weight.detach().cpu().numpy()
        save_arrays(folder / "encoder.safetensors", arrays)

    def settings(self) -> dict[str, Any]:
        """Plain settings to save beside the arrays."""
        return {}

    def arrays(self) -> dict[str, Any]:
        """Arrays to save besides the trained map."""
        return {}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Take back what :meth:`settings` and :meth:`arrays` gave, and the trained map."""
        self.dim = check_shape(saved["dim"], Count, "encoder.json.dim")
        if "map" in arrays:
            self.make_trainable()
            assert self.map is not None
            self.map.weight.data = torch.from_numpy(arrays["map"])


class BagOfWords(VectorEncoder):
    """Bag of words, weighted by rarity (TF-IDF) or not, optionally reduced by SVD (LSA).

    Parameters
    ----------
    weighting : {"tfidf", "counts", "log-max"}, default="tfidf"
        TF-IDF rows have unit length; counts are plain, as in the papers' BoW rows; "log-max" is
        ``log(1 + n)`` over the largest of its row, as in KATE.
    max_features : int, default=1500
        The most frequent words are kept (1,500 in SCCL and DECCRL).
    svd : int, optional
        Reduce to so many dimensions by truncated SVD.
    seed : int, default=0
        Of the randomised SVD.
    stop_words : bool, default=False
        Leave out English words that tell nothing.
    """

    kind: ClassVar[str] = "bag-of-words"

    def __init__(
        self,
        weighting: str = "tfidf",
        max_features: int = 1500,
        svd: int | None = None,
        seed: int = 0,
        *,
        stop_words: bool = False,
    ) -> None:
        super().__init__()
        self.weighting = weighting
        self.max_features = max_features
        self.svd = svd
        self.seed = seed
        self.stop_words = stop_words
        self.vocabulary: list[str] = []
        self.idf: Floats = np.empty(0, dtype=np.float32)
        self.components: Floats | None = None  # (svd, words)

    def learn(self, texts: Sequence[str]) -> None:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import CountVectorizer

        if not any(WORD.search(text) for text in texts):
            raise DataError(
                "no text has a word of two or more letters, or an emoji; use another encoder."
            )
        stop = [word for word in ENGLISH if WORD.fullmatch(word)] if self.stop_words else None
        left = (word for text in texts for word in WORD.findall(text.lower()))
        if stop and not any(word not in stop for word in left):
            stop = None  # nothing would be left
        counter = CountVectorizer(
            max_features=self.max_features,
            stop_words=stop,
            token_pattern=WORD.pattern,
            dtype=np.float32,
        )
        counts = counter.fit_transform(texts)
        self.vocabulary = [str(word) for word in counter.get_feature_names_out()]
        present = (counts > 0).sum(axis=0)
        frequency = np.asarray(present).ravel()
        self.idf = np.log((1 + len(texts)) / (1 + frequency)).astype(np.float32) + 1
        self.dim = len(self.vocabulary)
        if self.svd is not None:
            self.dim = max(1, min(self.svd, len(self.vocabulary) - 1, len(texts) - 1))
            if len(self.vocabulary) == 1:  # nothing to reduce, which scikit-learn refuses
                self.components = np.ones((1, 1), dtype=np.float32)
                return
            model = TruncatedSVD(self.dim, random_state=self.seed).fit(self._weighted(counts))
            self.components = model.components_.astype(np.float32)

    def prepare(self, texts: Sequence[str]) -> tuple[Rows, Ints]:
        matrix = self._weighted(self._counts(texts))
        keys = (
            matrix.indices[a:b].tobytes() + matrix.data[a:b].tobytes()
            for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        )
        first, rows = distinct(keys)
        chosen = matrix[first]
        return Rows(chosen if self.components is None else self.reduced(chosen)), rows

    def reduced(self, weighted: Any) -> Floats:
        """Weighted counts in fewer dimensions."""
        assert self.components is not None
        return np.asarray(weighted @ self.components.T)

    def _counts(self, texts: Sequence[str]) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        counter = CountVectorizer(
            vocabulary=self.vocabulary, token_pattern=WORD.pattern, dtype=np.float32
        )
        return counter.transform(texts)

    def _weighted(self, counts: Any) -> Any:
        from sklearn.preprocessing import normalize

        if self.weighting == "counts":
            return counts
        if self.weighting == "log-max":
            return normalize(counts.log1p(), norm="max")
        return normalize(counts.multiply(self.idf).tocsr().astype(np.float32))

    def settings(self) -> dict[str, Any]:
        return {"weighting": self.weighting, "vocabulary": self.vocabulary}

    def arrays(self) -> dict[str, Floats]:
        return {"idf": self.idf} | (
            {} if self.components is None else {"components": self.components}
        )

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        shape = {"weighting": str, "vocabulary": [str], "dim": Count}
        check_shape(saved, shape, "encoder.json")
        self.weighting = saved["weighting"]
        self.vocabulary = list(saved["vocabulary"])
        self.idf = arrays["idf"]
        self.components = arrays.get("components")
        words = len(self.vocabulary)
        wide = (words,) if self.components is None else self.components.shape[1:]
        if not words == len(set(self.vocabulary)) or self.idf.shape != (words,) or wide != (words,):
            raise DataError(
                f"encoder.json is damaged: {words} words do not fit weights of shape "
                f"{self.idf.shape}."
            )
        if saved["dim"] != (words if self.components is None else len(self.components)):
            raise DataError(f"encoder.json is damaged: 'dim' should not be {saved['dim']}.")
        super().restore(saved, arrays)


def load_vector_encoder(folder: Path, *more: type[VectorEncoder]) -> VectorEncoder:
    """Read back what :meth:`VectorEncoder.save` wrote; ``more`` are kinds of other files."""
    file = folder / "encoder.json"
    saved = check_shape(read_json(file), {"kind": str, "dim": Count}, str(file))
    classes: list[type[VectorEncoder]] = [VectorEncoder, BagOfWords, *more]
    encoder = {cls.kind: cls for cls in classes}[saved["kind"]]()
    encoder.restore(saved, read_arrays(folder / "encoder.safetensors"))
    return encoder
