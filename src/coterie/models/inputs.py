"""From what the user passes to ``fit`` or ``predict`` to items of an encoder.

Rows are sorted first, texts by their characters and vectors by their bytes. All that comes after
sees them in this order, so that no result depends on the order in which they were passed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from coterie._util.types import Array, Ints
from coterie.encoders import Encoder, Items
from coterie.errors import DataError
from coterie.texts import CleanTexts, texts_from


@dataclass(frozen=True)
class Inputs:
    """Items of the texts that are not empty, sorted.

    Attributes
    ----------
    items : Items
        Distinct inputs; those of the original texts come first.
    views : ndarray of shape (n_views, m)
        Item of each view of each of the ``m`` texts that are not empty.
    rows : ndarray of shape (m,)
        The row that each of them was passed in as.
    n_rows : int
        Rows passed in.
    texts : list of str or None
        The ``m`` texts; None if vectors were passed in.
    """

    items: Items
    views: Ints
    rows: Ints
    n_rows: int
    texts: list[str] | None = None

    @property
    def n_distinct(self) -> int:
        """How many different original texts there are."""
        return int(self.views[0].max(initial=-1)) + 1

    def spread(self, values: Array, empty: float) -> Array:
        """Values of distinct items back to all rows; rows without a text get ``empty``."""
        out = np.full((self.n_rows, *values.shape[1:]), empty, dtype=values.dtype)
        out[self.rows] = values[self.views[0]]
        return cast("Array", out)


def read_texts(
    encoder: Encoder, X: Any, views: Sequence[Sequence[str]] = (), *, learn: bool = False
) -> Inputs:
    """Clean the texts, and prepare them and their views, one list per view, at once."""
    texts = texts_from(X)
    if not texts:
        raise DataError("X is empty (n_samples=0): there is nothing to cluster.")
    filled = [row for row, text in enumerate(texts) if text]
    if not filled and learn:
        raise DataError(f"all {len(texts)} texts are empty: there is nothing to cluster.")
    if not filled:  # encode a placeholder, whose result no row gets
        items, rows = encoder.prepare(["-"])
        return Inputs(items, rows[None, :0], rows[:0], len(texts), [])
    filled.sort(key=lambda row: (texts[row], *(view[row] for view in views)))
    kept = CleanTexts(texts[row] for row in filled)
    augmented = [[view[row] or texts[row] for row in filled] for view in views]
    if learn:
        encoder.learn(kept)
    items, places = encoder.prepare([text for view in (kept, *augmented) for text in view])
    rows = np.array(filled, dtype=np.int64)
    return Inputs(items, places.reshape(1 + len(augmented), -1), rows, len(texts), kept)


def read_vectors(encoder: Encoder, X: Any) -> Inputs:
    """Prepare an array of vectors, checked before by scikit-learn's rules."""
    x = np.ascontiguousarray(X)
    rows = np.argsort(x.view(f"V{x[:1].nbytes}").ravel(), kind="stable")
    items, places = encoder.prepare(x[rows])
    return Inputs(items, places[None, :], rows, len(x))
