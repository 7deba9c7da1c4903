"""Agglomerative clustering (Ward, or average linkage on cosine) that counts repeated texts.

Written by hand because no library offers both things needed here: rows with weights, so that a
text that occurs ten times is worked once, and a memory bound. Both linkages can be computed from
one vector per cluster: Ward from the mean, average linkage on cosine from the sum of unit
vectors, since the mean of all pairwise cosines is the product of the two mean vectors. So the
nearest-neighbour chain needs either a matrix of all distances (fast, n^2 numbers) or just the
vectors (n * d numbers, slower); both give the same merges.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from coterie._util.types import Floats, Ints
from coterie._util.validation import check_memory
from coterie.arrays.neighbors import connected_parts, unit_rows

Method = Literal["average", "ward"]
MATRIX_BYTES = 2 << 30  # a full matrix of float32 up to here, that is 23,000 rows


class Space(Protocol):
    """Clusters that can say how far they are from all others, and can be joined."""

    def row(self, i: int) -> Floats:
        """Distances of cluster ``i`` to all; infinite to itself and to clusters that are gone."""

    def join(self, i: int, j: int) -> None:
        """Put cluster ``j`` into ``i``; ``j`` is gone."""


class VectorSpace:
    """Keeps one vector per cluster: bounded memory, one matrix-vector product per row."""

    def __init__(self, x: Floats, weights: Floats, method: Method) -> None:
        self.method = method
        self.size = weights.astype(np.float64)
        self.mean = x.astype(np.float32).copy()
        self.squares = np.einsum("nd,nd->n", self.mean, self.mean)
        self.gone = np.zeros(len(x), dtype=bool)

    def row(self, i: int) -> Floats:
        distances: Floats = self.block(slice(i, i + 1))[0]
        distances[self.gone] = np.inf
        return distances

    def block(self, rows: slice) -> Floats:
        """Distances of several clusters to all, infinite to themselves."""
        dots = self.mean[rows] @ self.mean.T
        if self.method == "average":
            distances = 1 - dots
        else:
            a, b = self.size[rows, None], self.size[None, :]
            squares = self.squares[rows, None] + self.squares[None, :] - 2 * dots
            distances = (2 * a * b / (a + b)) * np.maximum(squares, 0)
        own = np.arange(len(self.mean))[rows]
        distances[own - own[0], own] = np.inf
        return np.asarray(distances, dtype=np.float32)

    def join(self, i: int, j: int) -> None:
        total = self.size[i] + self.size[j]
        self.mean[i] = (self.size[i] * self.mean[i] + self.size[j] * self.mean[j]) / total
        self.squares[i] = self.mean[i] @ self.mean[i]
        self.size[i] = total
        self.gone[j] = True


class MatrixSpace:
    """Keeps all distances and updates them by the Lance-Williams formulas."""

    def __init__(self, x: Floats, weights: Floats, method: Method) -> None:
        self.method = method
        self.size = weights.astype(np.float64)
        self.gone = np.zeros(len(x), dtype=np.float32)  # infinite for clusters that are gone
        start = VectorSpace(x, weights, method)
        self.distances = np.empty((len(x), len(x)), dtype=np.float32)
        for first in range(0, len(x), 512):
            rows = slice(first, min(first + 512, len(x)))
            self.distances[rows] = start.block(rows)

    def row(self, i: int) -> Floats:
        return np.asarray(self.distances[i] + self.gone, dtype=np.float32)

    def join(self, i: int, j: int) -> None:
        a, b, size = self.size[i], self.size[j], self.size
        to_i, to_j = self.distances[i], self.distances[j]
        if self.method == "average":
            merged = (a * to_i + b * to_j) / (a + b)
        else:
            apart = to_i[j]
            merged = ((a + size) * to_i + (b + size) * to_j - size * apart) / (a + b + size)
        merged = merged.astype(np.float32)
        merged[[i, j]] = np.inf
        # A column lies scattered over the whole memory: write one, and let ``gone`` hide the other.
        self.distances[i] = self.distances[:, i] = merged
        self.gone[j] = np.inf
        self.size[i] = a + b


def agglomerate(
    x: Floats, n_clusters: int, method: Method = "average", weights: Floats | None = None
) -> Ints:
    """Merge the closest clusters until ``n_clusters`` are left.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        For "average" they are taken to unit length; zero rows stay as they are.
    n_clusters : int
    method : {"average", "ward"}, default="average"
        Average linkage on cosine distance, or Ward's on Euclidean distance.
    weights : ndarray of shape (n,), optional
        How often each row counts; equal to repeating it.

    Returns
    -------
    ndarray of shape (n,)
        Labels from 0 to ``n_clusters - 1``.
    """
    x = np.asarray(x, dtype=np.float32)
    if method == "average":
        x = unit_rows(x)
    check_memory(
        memory_needed(*x.shape),
        f"linkage of {len(x):,} texts",
        "take method 'kmeans', or fewer texts",
    )
    counts = np.ones(len(x), dtype=np.float32) if weights is None else weights
    kind = MatrixSpace if 4 * len(x) ** 2 <= MATRIX_BYTES else VectorSpace
    return cut(chain(kind(x, counts, method), len(x)), n_clusters, len(x))


def memory_needed(n: int, d: int) -> int:
    """Bytes that :func:`agglomerate` takes at its peak, about."""
    square = 4 * n * n
    return square if square <= MATRIX_BYTES else 12 * n * d


def chain(space: Space, n: int) -> list[tuple[float, int, int]]:
    """All ``n - 1`` merges as (height, kept, gone), by the nearest-neighbour chain."""
    merges: list[tuple[float, int, int]] = []
    alive, passed = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    path: list[int] = []
    while len(merges) < n - 1:
        if not path:
            path.append(int(alive.argmax()))
            passed[path[0]] = True
        row = space.row(path[-1])
        step = int(row.argmin())
        # On a tie with the cluster we came from, go back: otherwise the chain could circle. It
        # could, too, where i is a digit nearer to j than j to i; all on a circle are as near.
        if len(path) > 1 and (row[path[-2]] <= row[step] or passed[step]):
            height = float(row[path[-2]])
            kept, gone = sorted((path.pop(), path.pop()))
            passed[[kept, gone]] = False
            merges.append((height, kept, gone))
            space.join(kept, gone)
            alive[gone] = False
        else:
            path.append(step)
            passed[step] = True
    return merges


def cut(merges: list[tuple[float, int, int]], n_clusters: int, n: int) -> Ints:
    """Labels after the lowest ``n - n_clusters`` merges."""
    lowest = sorted(merges, key=lambda merge: merge[0])[: n - n_clusters]
    return connected_parts(n, [(kept, gone) for _, kept, gone in lowest])
