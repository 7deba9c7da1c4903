"""Vectors spread along the graph of nearest neighbours: borders between clusters become empty.

Two texts are joined if either is among the nearest of the other, and each vector is replaced by
the mean of those it is joined with, a few times over the same graph. Looking for neighbours only
once keeps groups apart that would drift together if they were looked for among the means; joining
both ways keeps texts in that nobody has for a neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from coterie._types import Floats, Ints

CHUNK = 1 << 22  # similarities held at a time: more than fit into the processor's cache are slower
GROUP = 32  # columns that are looked at together when the largest are sought


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
    return nearest_beside(unit, unit[:, :0], [1.0], n_neighbors)[1.0]


def nearest_beside(
    one: Tensor, other: Tensor, lengths: Sequence[float], n_neighbors: int
) -> dict[float, Ints]:
    """The nearest rows by two views of the same texts, the second at each of several lengths.

    The same as :func:`nearest_rows` of ``[one, length * other]``, but the products, which take most
    of the time, are computed once for all lengths.

    Parameters
    ----------
    one : Tensor of shape (n, d)
    other : Tensor of shape (n, e)
    lengths : sequence of float
    n_neighbors : int

    Returns
    -------
    dict of float to ndarray of shape (n, min(n_neighbors, n))
    """
    n, k = len(one), min(n_neighbors, len(one))
    squares = {c: one.square().sum(1) + c * c * other.square().sum(1) for c in lengths}
    scales = {c: 1 / square.clamp(min=1e-12).sqrt() for c, square in squares.items()}
    out: dict[float, list[Tensor]] = {c: [] for c in lengths}
    rows = max(1, CHUNK // n)
    # Memory that is given back and asked for again costs more than what is computed in it.
    held = [one.new_empty(min(rows, n), n) for _ in range(3)]
    for begin in range(0, n, rows):
        end = min(begin + rows, n)
        own = torch.arange(end - begin, device=one.device)
        first, second, near = (part[: end - begin] for part in held)
        torch.mm(one[begin:end], one.T, out=first)
        if other.shape[1]:
            torch.mm(other[begin:end], other.T, out=second)
        for c in lengths:
            if c and other.shape[1]:
                torch.add(first, second, alpha=c * c, out=near).mul_(scales[c])
            else:
                torch.mul(first, scales[c], out=near)
            near[own, own + begin] = torch.inf  # first, also where another row is the same
            out[c].append(largest(near, k).cpu())
    return {c: torch.cat(parts).numpy() for c, parts in out.items()}


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
    return walk(_unit(np.asarray(x, dtype=np.float32)), joined(neighbors), rounds)


def joined(neighbors: Ints) -> Any:
    """The sparse graph in which two rows are joined if either names the other, twice if both do."""
    from scipy.sparse import csr_matrix

    n, k = neighbors.shape
    rows = np.repeat(np.arange(n), k)
    ones = np.ones(n * k, dtype=np.float32)
    graph = csr_matrix((ones, (rows, neighbors.ravel())), shape=(n, n))
    return (graph + graph.T).tocsr()


def walk(x: Floats, graph: Any, rounds: int) -> Floats:
    """So many rounds of :func:`spread` along a graph of :func:`joined`, from unit rows."""
    for _ in range(rounds):
        x = _unit(graph @ x)
    return x


def principal_part(x: Floats, dim: int) -> Floats:
    """Unit rows in the ``dim`` directions that keep most of their length, not centered.

    Angles between rows stay about what they were, so what follows costs less and sees the same.

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
