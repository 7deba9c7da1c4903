"""The few similarities that matter: pairs that stand out among all of one of their two texts.

A pair of rows i and j with cosine s scores ``max((s - m_i) / sd_i, (s - m_j) / sd_j)``, where m
and sd are mean and standard deviation of all similarities of a row. The best pairs are kept, in
number as many as clusters of equal size would have inside: each row has ``n / k - 1`` others then
(Rakib et al., 2018, "Improving short text clustering by similarity matrix sparsification").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from coterie._types import Floats, Ints
from coterie.neighbors import top_k

CANDIDATES = 1 << 24  # pairs looked at in all; rows give their nearest where all are too many


@dataclass(frozen=True)
class Pairs:
    """Kept pairs of rows, each once.

    Attributes
    ----------
    first, second : ndarray of shape (m,)
        The rows; the first number is the smaller one.
    similarities : ndarray of shape (m,)
        Cosines.
    """

    first: Ints
    second: Ints
    similarities: Floats


def row_statistics(unit: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the cosines of each row with all others.

    Parameters
    ----------
    unit : Tensor of shape (n, d)
        Rows of unit length.
    weights : Tensor of shape (n,)
        How often each row counts; a row that occurs twice has itself for an other.

    Returns
    -------
    mean, deviation : Tensor of shape (n,)
        Found from sums and products of the rows, without the matrix of all pairs.
    """
    x, w = unit.double(), weights.double()
    others = w.sum() - 1
    own = x.square().sum(dim=1)  # one, or zero for rows of zeros
    total = x @ (w @ x) - own  # sums of cosines with all but itself
    squares = ((x @ (x.T @ (w[:, None] * x))) * x).sum(dim=1) - own.square()
    mean = total / others.clamp(min=1)
    variance = (squares / others.clamp(min=1) - mean.square()).clamp(min=0)
    return mean, variance.sqrt().clamp(min=1e-6)


def kept_pairs(x: Floats | Tensor, n_clusters: int, weights: Floats, factor: float = 1.0) -> Pairs:
    """The pairs that stand out most, ``factor`` times as many as equal clusters would have.

    Parameters
    ----------
    x : array or Tensor of shape (n, d)
        On the GPU the similarities are worked there.
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts; a pair counts as often as it occurs.
    factor : float, default=1.0

    Returns
    -------
    Pairs
        At most 2 ** 24 are looked at: beyond 4,096 rows each row brings its nearest ones.
    """
    unit = F.normalize(torch.as_tensor(x, dtype=torch.float32), dim=1)
    n = len(unit)
    w = torch.from_numpy(weights.astype(np.float32)).to(unit.device)
    mean, deviation = row_statistics(unit, w)
    rows, columns, similarities, scores = _candidates(unit, mean.float(), deviation.float())
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    # The better of the two scores of a pair comes first, so that it is the one kept.
    order = np.lexsort((high, low, -scores))
    _, first = np.unique(low[order] * n + high[order], return_index=True)
    best = order[np.sort(first)]  # by falling score
    counts = weights[low[best]].astype(np.float64) * weights[high[best]]
    total = float(weights.sum())
    inside = total * (total / n_clusters - 1) / 2  # pairs of equal clusters
    inside -= float((weights * (weights - 1)).sum()) / 2  # those of a row with itself
    number = int(np.searchsorted(np.cumsum(counts), factor * inside, side="right"))
    kept = best[: max(number, 1)]
    kept = kept[np.lexsort((high[kept], low[kept]))]
    return Pairs(low[kept], high[kept], similarities[kept])


def _candidates(unit: Tensor, mean: Tensor, deviation: Tensor) -> tuple[Ints, Ints, Floats, Floats]:
    """The nearest others of each row, with their cosines and how much they stand out in it."""
    n = len(unit)
    own = torch.arange(n, device=unit.device)
    columns, cosines = top_k(unit, min(n - 1, max(1, CANDIDATES // n)), itself=own)
    scores = (cosines - mean[:, None]) / deviation[:, None]
    rows = own[:, None].expand_as(columns)
    found = [part.reshape(-1).cpu().numpy() for part in (rows, columns, cosines, scores)]
    return found[0], found[1], found[2], found[3]
