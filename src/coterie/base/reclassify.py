"""Clusters as a linear classifier sees them: texts that its others speak against move over.

A classifier is taught the labels that a clustering gave and then asked about the same texts. What
it cannot learn from so many examples was chance, so the labels it gives back are cleaner than those
it was taught. (Rakib et al., 2020, "Enhancement of short text clustering by iterative
classification", do so with another classifier and with texts held out.)
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie.blocks.assign import LinearRule, scale_for

RIDGE = 1.0  # weight of the penalty; a text weighs one
ROWS = 8_192  # that are weighed at a time


class Teacher:
    """Ridge regression of one column of zeros and ones per cluster; the bias is penalised too.

    The matrix that a regression has to invert does not depend on the labels: it is factorised once,
    and each question after that costs little.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    weights : ndarray of shape (n,), optional
        Row ``i`` counts ``weights[i]`` times.
    """

    def __init__(self, x: Floats, weights: Floats | None = None) -> None:
        self.x: Tensor = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
        n, d = self.x.shape
        self.weights = torch.ones(n) if weights is None else torch.from_numpy(weights).float()
        square = RIDGE * torch.eye(d + 1, dtype=torch.float64)
        for rows, weight in zip(self.x.split(ROWS), self.weights.split(ROWS), strict=True):
            weighted = rows * weight[:, None]
            square[:d, :d] += weighted.T @ rows
            square[d, :d] += weighted.sum(dim=0)
        square[:d, d] = square[d, :d]
        square[d, d] += self.weights.sum()
        self.factor = torch.linalg.cholesky(square)

    def __call__(self, labels: Ints, n_clusters: int) -> LinearRule:
        """The rule that learnt these labels."""
        sums = torch.zeros(n_clusters, self.x.shape[1] + 1)
        found = torch.from_numpy(np.asarray(labels, dtype=np.int64))
        parts = (part.split(ROWS) for part in (self.x, self.weights, found))
        for rows, weight, label in zip(*parts, strict=True):
            sums[:, :-1].index_add_(0, label, rows * weight[:, None])
            sums[:, -1].index_add_(0, label, weight)
        solved = torch.cholesky_solve(sums.T.double(), self.factor).float().numpy()
        return LinearRule(np.ascontiguousarray(solved[:-1].T), np.ascontiguousarray(solved[-1]))


def teach(x: Floats, labels: Ints, n_clusters: int, weights: Floats | None = None) -> LinearRule:
    """What a :class:`Teacher` makes of these labels.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
    n_clusters : int
    weights : ndarray of shape (n,), optional

    Returns
    -------
    LinearRule
        Its logits are near one for the cluster of a text and near zero for the others.

    Examples
    --------
    >>> x = np.array([[0.0, 3.0], [0.0, 2.0], [3.0, 0.0], [2.0, 0.0]], dtype=np.float32)
    >>> teach(x, np.array([0, 0, 1, 0]), 2).logits(x).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    return Teacher(x, weights)(labels, n_clusters)


def sure(rule: LinearRule, x: Floats, labels: Ints, seed: int) -> LinearRule:
    """The rule with probabilities: as sure as one taught by half of the texts is right elsewhere.

    Parameters
    ----------
    rule : LinearRule
    x : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
    seed : int
        Of the halves.
    """
    k = len(rule.bias)
    if k == 1 or len(x) < 2:
        return rule
    shuffled = numpy_generator(seed, "sure").permutation(len(x))
    halves = shuffled[::2], shuffled[1::2]
    right = []
    for known, asked in (halves, halves[::-1]):
        found = teach(x[known], labels[known], k).logits(x[asked]).argmax(axis=1)
        right.append(float((found == labels[asked]).mean()))
    scores = rule.logits(x)
    scale = scale_for(scores.max() - scores, float(np.mean(right)))
    return LinearRule(rule.weight / np.float32(scale), rule.bias / np.float32(scale))
