"""Vectors spread along the graph of nearest neighbours: borders between clusters become empty.

Two texts are joined if either is among the nearest of the other, and each vector is replaced by
the mean of those it is joined with, a few times over the same graph. Looking for neighbours only
once keeps groups apart that would drift together if they were looked for among the means; joining
both ways keeps texts in that nobody has for a neighbour.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from coterie._types import Floats, Ints

CHUNK = 1 << 25  # most similarities held at a time


def nearest_rows(x: Floats | Tensor, n_neighbors: int) -> Ints:
    """The nearest rows of each row by cosine, itself first; all are compared with all.

    Parameters
    ----------
    x : array or Tensor of shape (n, d)
        On the GPU the work is done there.
    n_neighbors : int
        The row itself counts; at most n are there.

    Returns
    -------
    ndarray of shape (n, min(n_neighbors, n))
    """
    unit = F.normalize(torch.as_tensor(x, dtype=torch.float32), dim=1)
    k, out = min(n_neighbors, len(unit)), []
    begin = 0
    for part in unit.split(max(1, CHUNK // len(unit))):
        near = part @ unit.T
        own = torch.arange(len(part), device=near.device)
        near[own, own + begin] = 2.0  # first, also where another row is the same
        out.append(near.topk(k, dim=1).indices.cpu())
        begin += len(part)
    return torch.cat(out).numpy()


def spread(x: Floats, neighbors: Ints, rounds: int) -> Floats:
    """Replace each row by the mean of the rows it is joined with, ``rounds`` times.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    neighbors : ndarray of shape (n, k)
        As :func:`nearest_rows` gives them. A row that is named both ways counts twice.
    rounds : int

    Returns
    -------
    ndarray of shape (n, d)
        Rows of unit length.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> spread(x, np.array([[0, 1], [1, 0], [2, 0]]), 1).round(2)
    array([[0.97, 0.24],
           [1.  , 0.  ],
           [0.45, 0.89]], dtype=float32)
    """
    from scipy.sparse import csr_matrix

    n, k = neighbors.shape
    rows = np.repeat(np.arange(n), k)
    ones = np.ones(n * k, dtype=np.float32)
    graph = csr_matrix((ones, (rows, neighbors.ravel())), shape=(n, n))
    graph = (graph + graph.T).tocsr()
    out = _unit(np.asarray(x, dtype=np.float32))
    for _ in range(rounds):
        out = _unit(graph @ out)
    return out


def _unit(x: Floats) -> Floats:
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms > 0, norms, 1), dtype=np.float32)
