"""k-NN smoothing: vectors are averaged over the graph of nearest neighbours.

Two texts are connected if either is among the nearest of the other. In each round a vector is
replaced by the mean of its neighbours, with a share of where it started. The graph stays the same
in all rounds: searching again among the means would draw separate groups together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._util.types import Floats, Ints
from coterie.arrays.neighbors import unit_rows


def knn_smooth(
    x: Floats, neighbors: Ints, rounds: int, restart: float = 0.0, weights: Floats | None = None
) -> Floats:
    """Replace each row by the mean of its neighbours, ``rounds`` times.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    neighbors : ndarray of shape (n, k)
        As :func:`coterie.arrays.neighbors.nearest_rows` gives them. Mutual neighbours count twice.
    rounds : int
    restart : float, default=0.0
        Share of its own first vector that a row keeps in each round.
    weights : ndarray of shape (n, k), optional
        How much each neighbour counts. Default: all the same.

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
    first = unit_rows(np.asarray(x, dtype=np.float32))
    graph = symmetric_graph(neighbors, weights)
    smoothed = first
    for _ in range(rounds):
        smoothed = unit_rows(graph @ smoothed)
        if restart:
            smoothed = unit_rows((1 - restart) * smoothed + restart * first)
    return smoothed


def symmetric_graph(neighbors: Ints, weights: Floats | None = None) -> Any:
    """The sparse graph in which two rows are connected if either names the other; twice if both do.

    Parameters
    ----------
    neighbors : ndarray of shape (n, k)
    weights : ndarray of shape (n, k), optional
        Of the connections; those of both directions are added.
    """
    from scipy.sparse import csr_matrix

    n, k = neighbors.shape
    rows = np.repeat(np.arange(n), k)
    values = np.ones(n * k, dtype=np.float32) if weights is None else weights.ravel()
    graph = csr_matrix((values, (rows, neighbors.ravel())), shape=(n, n))
    return (graph + graph.T).tocsr()


def modularity(labels: Ints, neighbors: Ints) -> float:
    """Share of a row's neighbours that have its label, less the share expected by chance.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    neighbors : ndarray of shape (n, k)
        Without the row itself.

    Examples
    --------
    >>> modularity(np.array([0, 0, 1, 1]), np.array([[1], [0], [3], [0]]))  # 3 / 4 - 1 / 2
    0.25
    """
    same = float((labels[neighbors] == labels[:, None]).mean())
    return same - float(np.square(np.bincount(labels) / len(labels)).sum())


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
    return unit_rows(x)


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
