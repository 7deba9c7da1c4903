"""k-NN smoothing: vectors are averaged over the graph of nearest neighbours.

Two texts are connected if either is among the nearest of the other. In each round a vector is
replaced by the mean of its neighbours, with a share of where it started. The graph stays the same
in all rounds: searching again among the means would draw separate groups together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from coterie._types import Floats, Ints

CHUNK = 1 << 22  # similarities held at a time: more than fit into the processor's cache are slower
GROUP = 32  # columns that are compared together when the largest are searched


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
    n, k = len(unit), min(n_neighbors, len(unit))
    size = max(1, CHUNK // n)
    held = unit.new_empty(min(size, n), n)  # allocating it for each block takes longer
    found = []
    for begin in range(0, n, size):
        block = unit[begin : begin + size]
        near = torch.mm(block, unit.T, out=held[: len(block)])
        own = torch.arange(len(block), device=unit.device)
        near[own, own + begin] = torch.inf  # first, also where another row is the same
        found.append(largest(near, k).cpu())
    return torch.cat(found).numpy()


def largest(x: Tensor, k: int) -> Tensor:
    """Places of the ``k`` largest of each row, largest first.

    The largest lie in the ``k`` groups of columns whose own largest are largest, and those are
    found by one quick pass: the search itself then sees few columns.

    Parameters
    ----------
    x : Tensor of shape (n, m)
    k : int

    Returns
    -------
    Tensor of shape (n, k)

    Examples
    --------
    >>> largest(torch.tensor([[3.0, 1.0, 4.0, 1.0, 5.0]]), 2)
    tensor([[4, 2]])
    """
    width = x.shape[1] // GROUP  # column j is in the group j % width; what is left over is apart
    if width < 2 * k:
        return x.topk(k, dim=1).indices
    even = x[:, : width * GROUP].unflatten(1, (GROUP, width))
    top = even.amax(dim=1).topk(k, dim=1, sorted=False).indices
    step = width * torch.arange(GROUP, device=x.device)
    rest = torch.arange(width * GROUP, x.shape[1], device=x.device).expand(len(x), -1)
    places = torch.cat([(top[:, :, None] + step).flatten(1), rest], dim=1)
    return places.gather(1, x.gather(1, places).topk(k, dim=1).indices)


def knn_smooth(x: Floats, neighbors: Ints, rounds: int, restart: float = 0.0) -> Floats:
    """Replace each row by the mean of its neighbours, ``rounds`` times.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    neighbors : ndarray of shape (n, k)
        As :func:`nearest_rows` gives them. Mutual neighbours count twice.
    rounds : int
    restart : float, default=0.0
        Share of its own first vector that a row keeps in each round.

    Returns
    -------
    ndarray of shape (n, d)
        Rows of unit length.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> knn_smooth(x, np.array([[0, 1], [1, 0], [2, 0]]), 1).round(2)
    array([[0.97, 0.24],
           [1.  , 0.  ],
           [0.45, 0.89]], dtype=float32)
    """
    first = _unit(np.asarray(x, dtype=np.float32))
    graph = symmetric_graph(neighbors)
    smoothed = first
    for _ in range(rounds):
        smoothed = _unit(graph @ smoothed)
        if restart:
            smoothed = _unit((1 - restart) * smoothed + restart * first)
    return smoothed


def symmetric_graph(neighbors: Ints) -> Any:
    """The sparse graph in which two rows are connected if either names the other; twice if both do.

    Parameters
    ----------
    neighbors : ndarray of shape (n, k)
    """
    from scipy.sparse import csr_matrix

    n, k = neighbors.shape
    rows = np.repeat(np.arange(n), k)
    ones = np.ones(n * k, dtype=np.float32)
    graph = csr_matrix((ones, (rows, neighbors.ravel())), shape=(n, n))
    return (graph + graph.T).tocsr()


def principal_part(x: Floats, dim: int) -> Floats:
    """Unit rows in the ``dim`` directions that keep most of their length, not centered.

    Angles between rows stay about the same, and what follows costs less.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    dim : int
        With ``d`` or more the rows stay where they are.
    """
    x = np.asarray(x, dtype=np.float32)
    if dim < x.shape[1]:
        x = x @ principal_directions(x, dim).T
    return _unit(x)


def principal_directions(x: Floats, dim: int) -> Floats:
    """Orthonormal directions that keep most of the rows' length, not centered.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    dim : int

    Returns
    -------
    ndarray of shape (min(dim, d), d)
    """
    directions = np.linalg.eigh((x.T @ x).astype(np.float64))[1][:, ::-1][:, :dim]
    return np.ascontiguousarray(directions.T, dtype=np.float32)


def _unit(x: Floats) -> Floats:
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms > 0, norms, 1), dtype=np.float32)
