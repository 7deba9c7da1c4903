"""A ridge classifier that learns a clustering: it reassigns texts, and assigns new ones.

The classifier is fitted to the labels that a clustering gave, and then predicts the same texts.
What it cannot learn from so many examples was chance, so the labels it predicts are cleaner than
those it was fitted to. (Rakib et al., 2020, "Enhancement of short text clustering by iterative
classification", do so with another classifier and with texts held out.)
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from coterie._types import Floats, Ints
from coterie.blocks.assign import LinearAssigner, scale_for

ROWS = 8_192  # rows in a matrix product
CALIBRATED = 5_000  # rows that the scale of confidence is found on


class RidgeClassifier:
    """Ridge regression of one column of zeros and ones per cluster; the bias is penalised too.

    The matrix that a regression has to invert does not depend on the labels: it is factorised once,
    and each fit after that is cheap.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    weights : ndarray of shape (n,), optional
        Row ``i`` counts ``weights[i]`` times.
    penalty : float, default=1.0
        Of squared weights; a text weighs one.

    Examples
    --------
    >>> x = np.array([[0.0, 3.0], [0.0, 2.0], [3.0, 0.0], [2.0, 0.0]], dtype=np.float32)
    >>> RidgeClassifier(x).fit(np.array([0, 0, 1, 0]), 2).logits(x).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    def __init__(self, x: Floats, weights: Floats | None = None, penalty: float = 1.0) -> None:
        self.x: Tensor = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
        n, d = self.x.shape
        self.weights = torch.ones(n) if weights is None else torch.from_numpy(weights).float()
        square = penalty * torch.eye(d + 1, dtype=torch.float64)
        for rows, weight in zip(self.x.split(ROWS), self.weights.split(ROWS), strict=True):
            weighted = rows * weight[:, None]
            square[:d, :d] += weighted.T @ rows
            square[d, :d] += weighted.sum(dim=0)
        square[:d, d] = square[d, :d]
        square[d, d] += self.weights.sum()
        self.factor = torch.linalg.cholesky(square)

    def fit(self, labels: Ints, n_clusters: int) -> LinearAssigner:
        """Fit these labels.

        Returns
        -------
        LinearAssigner
            Its logits are near one for the cluster of a text and near zero for the others.
        """
        sums = torch.zeros(n_clusters, self.x.shape[1] + 1)
        found = torch.from_numpy(np.asarray(labels, dtype=np.int64))
        parts = (part.split(ROWS) for part in (self.x, self.weights, found))
        for rows, weight, label in zip(*parts, strict=True):
            sums[:, :-1].index_add_(0, label, rows * weight[:, None])
            sums[:, -1].index_add_(0, label, weight)
        solved = torch.cholesky_solve(sums.T.double(), self.factor).float().numpy()
        return LinearAssigner(np.ascontiguousarray(solved[:-1].T), np.ascontiguousarray(solved[-1]))


def calibrated(assigner: LinearAssigner, x: Floats, confidence: float) -> LinearAssigner:
    """The assigner with ``confidence`` as the mean top probability of ``x``; labels do not change.

    Parameters
    ----------
    assigner : LinearAssigner
    x : ndarray of shape (n, d)
        The first 5,000 rows are enough.
    confidence : float
    """
    if len(assigner.bias) == 1 or len(x) == 0:
        return assigner
    scores = assigner.logits(x[:CALIBRATED])
    scale = np.float32(scale_for(scores.max() - scores, confidence))
    return LinearAssigner(assigner.weight / scale, assigner.bias / scale)
