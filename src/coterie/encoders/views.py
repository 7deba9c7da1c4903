"""Three views of a text from one pass of a sentence encoder, and its n-grams and words.

The mean of the token vectors of the last layer is what the encoder was trained for. Two more views
come from the same pass:

- *weighted*: the same mean, but a token that is frequent in the corpus counts less. Words that all
  texts share ("a bill to amend") tell nothing about their clusters.
- *middle*: the mean over the middle layers, which know more of the form and the words of a text.

Weights of tokens and the means that vectors are centred by are learnt from the corpus and saved
with the model, so that new texts get vectors of the same space.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from coterie._util.files import save_arrays
from coterie._util.progress import Progress
from coterie._util.trust import check_shape, is_finite, read_arrays
from coterie._util.types import Floats, Ints
from coterie.arrays.neighbors import unit_rows
from coterie.encoders.base import Encoder, RaggedTokens
from coterie.encoders.lexical import (
    MixedEncoder,
    MixedItems,
    NgramsAndWords,
    centred,
)
from coterie.encoders.reading import unread_texts
from coterie.encoders.sentence import SentenceEncoder
from coterie.errors import DataError

COMMON = 1e-2  # a token of this share of the corpus counts half
ROWS_AT_ONCE = 8_192  # vectors that are put together at a time
MIDDLE_WEIGHT = 0.5  # length of the middle layers beside the last one, whose length is one


def token_weights(flat: Ints, n_tokens: int) -> Floats:
    """Weight ``c / (c + p)`` of each token of a vocabulary, with its share ``p`` of the corpus.

    Parameters
    ----------
    flat : ndarray of int
        The tokens of all texts.
    n_tokens : int
        In the vocabulary. ``c`` is 0.01.

    Examples
    --------
    >>> token_weights(np.array([0, 0, 0, 2]), 3).round(4)
    array([0.0132, 1.    , 0.0385], dtype=float32)
    """
    share = np.bincount(flat, minlength=n_tokens) / max(len(flat), 1)
    return np.asarray(COMMON / (COMMON + share), dtype=np.float32)


class ViewsEncoder(MixedEncoder):
    """The views of a sentence encoder, n-grams and words, concatenated; not trainable.

    The embedding and the weighted mean are centred, brought to unit length and added. The middle
    layers are centred and have length 0.5.

    Parameters
    ----------
    inner : SentenceEncoder
    seed : int, default=0
        Of the lexical features.
    lexical : VectorEncoder, optional
        Default: character n-grams and words, :class:`coterie.encoders.NgramsAndWords`.
    weight : float, default=1.0
        Factor of the lexical features.
    gated : bool, default=False
        Whether a text that the encoder cannot read gets its lexical features alone, at the length
        that the vectors of the others have.
    """

    kind: ClassVar[str] = "views"
    inner: SentenceEncoder

    def __init__(
        self,
        inner: SentenceEncoder,
        seed: int = 0,
        lexical: Encoder | None = None,
        *,
        weight: float = 1.0,
        gated: bool = False,
    ) -> None:
        super().__init__(inner, weight, seed, lexical or NgramsAndWords(seed))
        self.gated = gated
        self.token_weights: Floats | None = None  # (vocabulary,)
        self.means: Floats | None = None  # (dim of all views,)

    def learn(self, texts: Sequence[str]) -> None:
        self.lexical.learn(texts)
        self.token_weights = self.means = None  # learnt from the tokens, once they are there

    def prepare(self, texts: Sequence[str]) -> tuple[MixedItems, Ints]:
        items, rows = super().prepare(texts)
        if self.gated:
            items.unread = np.zeros(len(items), dtype=bool)
            items.unread[rows] = unread_texts(self.inner, texts)
        if self.token_weights is None:
            assert isinstance(items.inner, RaggedTokens)
            self.token_weights = token_weights(items.inner.flat, self.inner.n_tokens)
        self.dim = self._dim()
        return items, rows

    def _dim(self) -> int:
        return self.inner.dim + self.lexical.dim + self.inner.width

    def encode(
        self, items: Any, index: Ints | None = None, *, progress: Progress | None = None
    ) -> Floats:
        assert self.token_weights is not None
        pairs = items.pairs if index is None else items.pairs[index]
        lost = items.unread
        if lost is not None and index is not None:
            lost = lost[index]
        read: Ints | slice = slice(None)
        if lost is None or lost.all():
            views = self.inner.encode_views(items.inner, self.token_weights, progress=progress)
        else:  # the others are not encoded at all
            read = rows = np.unique(pairs[~lost, 0])
            made = self.inner.encode_views(items.inner, self.token_weights, rows, progress=progress)
            views = [np.zeros((len(items.inner), v.shape[1]), dtype=np.float32) for v in made]
            for view, encoded in zip(views, made, strict=True):
                view[rows] = encoded
        if self.means is None:
            self.means = np.concatenate([v[read].mean(axis=0, dtype=np.float64) for v in views])
            self.means = self.means.astype(np.float32)
        means = np.split(self.means, np.cumsum([v.shape[1] for v in views[:-1]]))
        lexical = self.lexical.encode(items.lexical)
        out = np.empty((len(pairs), self.dim), dtype=np.float32)
        for first in range(0, len(pairs), ROWS_AT_ONCE):  # in parts: the vectors take enough memory
            part = slice(first, first + ROWS_AT_ONCE)
            some = (centred(v[pairs[part, 0]], m) for v, m in zip(views, means, strict=True))
            embedding, weighted, middle = some
            if self.inner.pools_mean:
                embedding = unit_rows(embedding + weighted)
            words = self.weight * lexical[pairs[part, 1]]
            out[part] = np.hstack([embedding, words, MIDDLE_WEIGHT * middle])
            if lost is not None and lost[part].any():
                lengths = np.sqrt(1 + np.square(words).sum(axis=1) + MIDDLE_WEIGHT**2)
                alone = np.hstack([0 * embedding, unit_rows(words), 0 * middle])
                out[part] = np.where(lost[part, None], lengths[:, None] * alone, out[part])
        items.embeddings = views[0].copy()
        return out

    def to_config(self) -> dict[str, Any]:
        return {"weight": self.weight, "gated": self.gated}

    def save_weights(self, folder: Path) -> None:
        assert self.token_weights is not None and self.means is not None
        arrays = {"token_weights": self.token_weights, "means": self.means}
        save_arrays(folder / "encoder.safetensors", arrays)

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> ViewsEncoder:
        check_shape(config, {"weight": is_finite, "gated": bool}, "encoder.json")
        inner, weight = inside["meaning"], float(config["weight"])
        if not isinstance(inner, SentenceEncoder):
            raise DataError(f"encoder.json is damaged: it has views of a {inner.kind} encoder.")
        encoder = cls(inner, 0, inside["words"], weight=weight, gated=config["gated"])
        arrays = read_arrays(source / "encoder.safetensors")
        encoder.token_weights, encoder.means = arrays["token_weights"], arrays["means"]
        encoder.dim = encoder._dim()
        return encoder
