"""The one ridge regression: labels learned from vectors, by ``auto``, updates and guided fits."""

from __future__ import annotations

import numpy as np

from coterie._util.torch import torch
from coterie._util.types import Floats, Ints

BLOCK = 8_192  # rows in a matrix product


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
    >>> weight, bias = RidgeClassifier(x).fit(np.array([0, 0, 1, 0]), 2)
    >>> (x @ weight.T + bias).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    def __init__(self, x: Floats, weights: Floats | None = None, penalty: float = 1.0) -> None:
        self.x = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
        n, d = self.x.shape
        self.weights = torch.ones(n) if weights is None else torch.from_numpy(weights).float()
        square = penalty * torch.eye(d + 1, dtype=torch.float64)
        for rows, weight in zip(self.x.split(BLOCK), self.weights.split(BLOCK), strict=True):
            weighted = rows * weight[:, None]
            square[:d, :d] += weighted.T @ rows
            square[d, :d] += weighted.sum(dim=0)
        square[:d, d] = square[d, :d]
        square[d, d] += self.weights.sum()
        self.factor = torch.linalg.cholesky(square)

    def fit(self, labels: Ints, n_clusters: int) -> tuple[Floats, Floats]:
        """Weight of shape (n_clusters, d) and bias of a linear map that learns these labels.

        It gives near one for the cluster of a text and near zero for the others.
        """
        sums = torch.zeros(n_clusters, self.x.shape[1] + 1)
        found = torch.from_numpy(np.asarray(labels, dtype=np.int64))
        parts = (part.split(BLOCK) for part in (self.x, self.weights, found))
        for rows, weight, label in zip(*parts, strict=True):
            sums[:, :-1].index_add_(0, label, rows * weight[:, None])
            sums[:, -1].index_add_(0, label, weight)
        solved = torch.cholesky_solve(sums.T.double(), self.factor).float().numpy()
        return np.ascontiguousarray(solved[:-1].T), np.ascontiguousarray(solved[-1])
