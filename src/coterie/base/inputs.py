"""From what the user passes to ``fit`` or ``predict`` to items of an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from coterie._types import Array, Bools, Ints
from coterie.augmentation import read_views
from coterie.corpus import CleanTexts, texts_from
from coterie.encoders import Encoder, Items
from coterie.errors import DataError


@dataclass(frozen=True)
class Inputs:
    """Items of the texts that are not empty.

    Attributes
    ----------
    items : Items
        Distinct inputs; those of the original texts come first.
    views : ndarray of shape (n_views, m)
        Item of each view of each of the ``m`` texts that are not empty.
    filled : ndarray of shape (n,)
        Which of the ``n`` rows passed in are not empty.
    texts : list of str or None
        The ``m`` texts; None if vectors were passed in.
    """

    items: Items
    views: Ints
    filled: Bools
    texts: list[str] | None = None

    @property
    def n_distinct(self) -> int:
        """How many different original texts there are."""
        return int(self.views[0].max(initial=-1)) + 1

    def spread(self, values: Array, empty: float) -> Array:
        """Values of distinct items back to all rows; rows without a text get ``empty``."""
        out = np.full((len(self.filled), *values.shape[1:]), empty, dtype=values.dtype)
        out[self.filled] = values[self.views[0]]
        return cast("Array", out)


def read_texts(encoder: Encoder, X: Any, views: Any = None, *, learn: bool = False) -> Inputs:
    """Clean the texts, find or check their views, and prepare all of them at once."""
    texts = texts_from(X)
    if not texts:
        raise DataError("model.no_samples")
    filled = np.array([text != "" for text in texts])
    if not filled.any() and learn:
        raise DataError("model.all_empty", texts=len(texts))
    if not filled.any():  # encode a placeholder, whose result no row gets
        items, rows = encoder.prepare(["-"])
        return Inputs(items, rows[None, :0], filled, [])
    kept = CleanTexts(text for text in texts if text)
    augmented = [_matching(view, texts, filled) for view in read_views(views, texts)]
    if learn:
        encoder.learn(kept)
    items, rows = encoder.prepare([text for view in (kept, *augmented) for text in view])
    return Inputs(items, rows.reshape(1 + len(augmented), len(kept)), filled, kept)


def read_vectors(encoder: Encoder, X: Any) -> Inputs:
    """Prepare an array of vectors, checked before by scikit-learn's rules."""
    items, rows = encoder.prepare(X)
    return Inputs(items, rows[None, :], np.ones(len(X), dtype=bool))


def _matching(view: Sequence[str], texts: Sequence[str], filled: Bools) -> list[str]:
    """Drop the rows without a text; an empty augmentation falls back to the text itself."""
    pairs = zip(view, texts, filled, strict=True)
    return [augmented or text for augmented, text, keep in pairs if keep]
