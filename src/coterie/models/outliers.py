"""Outlier scores of a fitted model, and texts that fit none of its clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie._util.files import save_arrays
from coterie._util.trust import is_count, is_finite, read_arrays
from coterie._util.types import Bools, Floats, Ints
from coterie.arrays.assign import probabilities
from coterie.arrays.consensus import Neighborhood
from coterie.arrays.outliers import NeighborIndex, OutlierLimit, fit_neighbor_index, mark_outliers
from coterie.errors import DataError, UsageError
from coterie.models.core import ClustererCore
from coterie.models.edited import correct, finest_labels

FILE = "outliers.safetensors"
SHAPE = {
    "typical": is_finite,
    "n_neighbors": is_count,
    "limit?": {"limit": is_finite, "kept": {str: is_finite}},
}
UNCORRECTED = -2  # no person has said where the text belongs


@dataclass(frozen=True)
class Assessed:
    """Clusters, outlier scores and vectors of texts, row by row.

    Attributes
    ----------
    probabilities : ndarray of shape (n, k)
        Zero for texts without a word.
    scores : ndarray of shape (n,)
        Outlier scores; not a number for texts without a word.
    vectors : ndarray of shape (n, d)
    bound : ndarray of shape (n,)
        Whether a person has said where the text belongs; such a text is no outlier.
    finest : ndarray of shape (n,), optional
        The finest cluster of each text, of a model that shows a cut of a merge tree.
    """

    probabilities: Floats
    scores: Floats
    vectors: Floats
    bound: Bools
    finest: Ints | None = field(default=None, kw_only=True)

    @property
    def labels(self) -> Ints:
        """The most probable cluster of each text, -1 for texts without a word."""
        p = self.probabilities
        return np.asarray(np.where(p.any(axis=1), p.argmax(axis=1), -1), dtype=np.int64)

    def outliers(self, limit: OutlierLimit) -> Bools:
        """Which texts belong to none of the clusters; limits are those of the finest ones."""
        clusters = self.labels if self.finest is None else self.finest
        return np.asarray(limit.marks(self.scores, clusters) & ~self.bound)


class OutlierMixin(ClustererCore):
    """Outlier scores of a model: of its own texts, and of new ones."""

    outlier_limit_: OutlierLimit | None = None
    _neighbor_index: NeighborIndex | None = None
    _near: Neighborhood | None  # that the fit has searched; gone once scores have used it

    def outlier_scores(self, X: Any = None) -> Floats:
        """Outlier score of each text among those the model was fitted on, from 0 to 1.

        Parameters
        ----------
        X : as for fit, optional
            Default: the texts the model was fitted on.

        Returns
        -------
        ndarray of shape (n_samples,)
            0.5 is usual, 0.9 means a neighbourhood nine times emptier than usual; not a number for
            texts without a word. See :mod:`coterie.arrays.outliers`.
        """
        if X is not None:
            return np.asarray(self.assess(X).scores)
        self._check_training_texts("outlier_scores", "pass texts to it")
        scores = self._to_samples(self._outlier_index().scores())
        scores[self.rows_ < 0] = np.nan
        return np.asarray(scores)

    def mark_outliers(self, max_outliers: float | str) -> Bools:
        """Mark texts of the training that fit no cluster, and remember the limit for new ones.

        Parameters
        ----------
        max_outliers : float, int or str
            At most this share of the texts (0.05 or "5%"), or a whole number of them: those with
            the highest outlier scores. Identical texts are treated alike, and no cluster loses
            all its texts.

        Returns
        -------
        ndarray of shape (n_samples,)
            Whether each text is an outlier. ``labels_`` stays as it is; ``outlier_limit_`` is set,
            saved with the model, and used by ``predict(X, outliers=True)``.
        """
        self._check_training_texts("mark_outliers", "fit the method again")
        bound = correct(self, np.full(len(self.labels_), UNCORRECTED)) != UNCORRECTED
        scores = np.where(bound, np.nan, self.outlier_scores())
        marked, self.outlier_limit_ = mark_outliers(scores, max_outliers, self.labels_)
        return marked

    def _check_training_texts(self, name: str, remedy: str) -> None:
        """Reject a model that was loaded: it has no training texts."""
        check_is_fitted(self, "assigner_")
        if not hasattr(self, "distinct_vectors_"):
            raise UsageError(
                f"{name}: the model was loaded, and a saved model does not contain its training "
                f"texts; {remedy}."
            )

    def assess(self, X: Any) -> Assessed:
        """Clusters, outlier scores and vectors of texts, which are encoded once."""
        inputs, vectors = self._encoded(X)
        p = correct(self, inputs.spread(probabilities(self.assigner_.logits(vectors)), 0.0), inputs)
        scores = inputs.spread(self._outlier_index().scores(vectors), np.nan)
        bound = correct(self, np.full(len(p), UNCORRECTED), inputs) != UNCORRECTED
        finest = finest_labels(self, vectors, inputs)
        spread = np.asarray(inputs.spread(vectors, 0.0))
        return Assessed(p, np.asarray(scores), spread, bound, finest=finest)

    def _outlier_index(self) -> NeighborIndex:
        """The nearest-neighbour index of outlier scores, made on first use."""
        if self._neighbor_index is None:
            rows = self.rows_[self.rows_ >= 0]
            n = len(self.distinct_vectors_)
            labels = np.zeros(n, dtype=np.int64)
            labels[rows] = self.labels_[self.rows_ >= 0]
            counts = np.bincount(rows, minlength=n)
            around = self.__dict__.pop("_near", None)  # where the fit has searched already
            near = None if around is None else around.near
            self._neighbor_index = fit_neighbor_index(
                self.distinct_vectors_, counts, labels, self.seed_, near
            )
        return self._neighbor_index

    def _labels_without_outliers(self, X: Any, limit: bool | float) -> Ints:
        """Labels with -1 for outliers; ``limit`` is True for that of the model, or a number."""
        known = self.outlier_limit_
        if limit is not True:
            known = OutlierLimit(float(limit))
        elif known is None:
            raise UsageError(
                "outliers=True: the model has no limit; call mark_outliers first, or give a "
                "number, such as outliers=0.9."
            )
        found = self.assess(X)
        return np.where(found.outliers(known), -1, found.labels)

    def _forget_outliers(self) -> None:
        """What an earlier fit has left."""
        for name in ("outlier_limit_", "_neighbor_index", "_near"):
            self.__dict__.pop(name, None)


def save_outliers(model: OutlierMixin, folder: Path) -> dict[str, Any]:
    """Write the texts' vectors that scores are measured by; returns what the settings keep."""
    known = model._outlier_index()
    save_arrays(folder / FILE, {"vectors": known.vectors, "counts": known.counts})
    limit = model.outlier_limit_
    return {
        "typical": known.typical,
        "n_neighbors": known.n_neighbors,
        "limit": None if limit is None else limit.to_dict(),
    }


def load_outliers(model: OutlierMixin, folder: Path, saved: dict[str, Any]) -> None:
    """Take back what :func:`save_outliers` wrote."""
    arrays = read_arrays(folder / FILE)
    vectors, counts = arrays["vectors"], arrays["counts"]
    fits = vectors.shape == (len(counts), model.encoder_.dim) and counts.shape == (len(vectors),)
    usable = len(counts) and counts.dtype.kind == "i" and counts.min() > 0 and saved["typical"] > 0
    if not fits or not usable or saved["n_neighbors"] < 1:
        raise DataError(
            f"{folder / FILE} is damaged: vectors of shape {vectors.shape} and counts of shape "
            f"{counts.shape} do not fit the model."
        )
    model._neighbor_index = NeighborIndex(vectors, counts, saved["typical"], saved["n_neighbors"])
    if saved.get("limit") is not None:
        model.outlier_limit_ = OutlierLimit.from_dict(saved["limit"])
