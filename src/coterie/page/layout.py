"""Where each text lies on the map: two coordinates from its vector.

Where there are enough texts, neighbours pull each other and others push (:func:`place`). Of fewer
every cluster becomes a disc: discs are arranged by the principal components of their centers and
pushed apart, members lie in their disc by its own principal components. Labels come before the map
and never depend on it.

Vectors of the same texts differ in their last digits, depending on what they were encoded with in
one batch. The map does not: places to begin with are rounded, as are the strengths of pulls,
and everything before that is computed with twice the digits. Of some thousand texts one value may
still lie on the border of two roundings; that is rare, and then the map is another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._util.random import derive_seed, numpy_generator, some_rows
from coterie._util.types import Floats, Ints
from coterie.arrays.metrics import cluster_means
from coterie.arrays.neighbors import nearest_rows, top_k, unit_rows
from coterie.arrays.pca import principal_map
from coterie.encoders.base import distinct

A, B = 1.414, 0.949  # of 1 / (1 + a d^2b), fitted to a least distance of 0.15
EPOCHS = 200
PUSHES = 5  # texts that push each pulled one
PART = 2.0  # ties of one text that move at once, on average; more would overshoot
LEVELS = 8  # that the strengths are rounded to


def tie(distances: Floats, neighbors: Ints) -> tuple[Ints, Ints, Floats]:
    """The ties of a neighbour graph and their strengths from 0 to 1.

    Parameters
    ----------
    distances, neighbors : ndarray of shape (n, k)
        Of the nearest others, the nearest first.

    Returns
    -------
    one, other : ndarray of shape (ties,)
        Each pair once.
    strength : ndarray of shape (ties,)
        ``a + b - a b`` of the strengths seen from both ends. Seen from one end it is 1 up to the
        nearest, and fades at a rate at which all add up to the logarithm (base 2) of ``k``.
    """
    from scipy.sparse import coo_matrix, triu

    n, k = neighbors.shape
    beyond = np.maximum(distances - distances[:, :1], 0.0)
    low, high = np.full(n, 1e-6), np.full(n, 1e3)
    wanted = np.log2(max(k, 2))
    for _ in range(40):
        middle = np.sqrt(low * high)
        more = np.exp(-beyond / middle[:, None]).sum(axis=1) > wanted
        high, low = np.where(more, middle, high), np.where(more, low, middle)
    strength = np.exp(-beyond / np.sqrt(low * high)[:, None])
    rows = np.repeat(np.arange(n), k)
    graph = coo_matrix((strength.ravel(), (rows, neighbors.ravel())), shape=(n, n)).tocsr()
    both = triu(graph + graph.T - graph.multiply(graph.T), k=1).tocoo()
    return both.row.astype(np.int64), both.col.astype(np.int64), np.asarray(both.data)


def place(
    start: Floats,
    ties: tuple[Ints, Ints, Floats],
    seed: int,
    epochs: int = EPOCHS,
    rate: float = 1.0,
) -> Floats:
    """Let the ties pull and random others push, with ever smaller steps.

    Parameters
    ----------
    start : ndarray of shape (n, 2)
    ties : tuple of ndarrays
        As :func:`tie` gives them.
    seed : int
    epochs : int, default=200
        A tie pulls in as many of them as its strength says, at even distances.
    rate : float, default=1
        Length of the first steps; less where the start is nearly right.

    Returns
    -------
    ndarray of shape (n, 2)
    """
    rng = numpy_generator(seed, "place")
    strength = ties[2] / max(float(ties[2].max(initial=0.0)), 1e-12)
    share = np.rint(LEVELS * strength) / LEVELS
    one, other, share = ties[0][share > 0], ties[1][share > 0], share[share > 0]
    x = np.array(start, dtype=np.float32)
    n = len(x)
    turn = _of_pairs(rng.random(n), one, other, 1.0)
    parts = max(1, round(2 * float(share.sum()) / (PART * n)))
    pulled = np.floor(turn)  # how often by now
    for epoch in range(epochs):
        step = np.float32(rate * (1 - epoch / epochs))
        due = np.floor((epoch + 1) * share + turn)
        drawn = np.flatnonzero(due > pulled)
        pulled = due
        chance = _Chance(rng, n)
        part = _of_pairs(chance.part, one[drawn], other[drawn], parts)
        for number in range(parts):
            rows = drawn[part == number]
            _move(x, one[rows], other[rows], chance, step)
    return x.astype(np.float64)


class _Chance:
    """What an epoch draws for each text; of a pair it is made from that of both ends."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.part = rng.integers(0, 1 << 20, n)
        self.end = rng.integers(0, 2, n)
        self.far = rng.integers(0, n, (2, PUSHES, n), dtype=np.int32)


def _of_pairs(drawn: Any, one: Ints, other: Ints, limit: float) -> Any:
    """A number from 0 to below ``limit`` for each pair, given one for each text."""
    return (drawn[one] + drawn[other]) % limit


def _move(x: Floats, one: Ints, other: Ints, chance: _Chance, step: np.float32) -> None:
    """Pull the ends of some ties together and push one end of each away from others, in place."""
    n = len(x)
    pull = step * _pull(x[one] - x[other])
    far = chance.far[0][:, one] + chance.far[1][:, other]
    far -= n * (far >= n)  # the rest of a division, without dividing
    near = np.where(_of_pairs(chance.end, one, other, 2), one, other)  # which end is pushed
    pushes = _push(x[near][None] - x[far])
    push = step * sum(pushes[1:], pushes[0])
    index = np.concatenate([one, other, near])
    moves = np.concatenate([pull, -pull, push])
    for axis in (0, 1):
        x[:, axis] += np.bincount(index, moves[:, axis], minlength=n).astype(np.float32)


def _square(gap: Floats) -> Floats:
    """Squared length in the plane, one number for each gap; a sum over so short an axis is slow."""
    return np.asarray(np.square(gap[..., :1]) + np.square(gap[..., 1:]))


def _pull(gap: Floats) -> Floats:
    """Step of one end of a tie towards the other; the gap points away from it."""
    square = _square(gap)
    power = np.power(np.maximum(square, 1e-12), B - 1)
    force = -2 * A * B * power / (1 + A * power * square)
    return np.asarray(np.clip(np.where(square > 0, force, 0) * gap, -4, 4))


def _push(gap: Floats) -> Floats:
    """Step away from a text drawn at random."""
    square = _square(gap)
    force = 2 * B / ((0.001 + square) * (1 + A * np.power(square, B)))
    return np.asarray(np.clip(force * gap, -4, 4))


POINTS = 20_000  # on the map; more would hide each other and make the page heavy
PER_CLUSTER = 20  # texts of a small cluster that are on the map whatever its share
FEW_TEXTS = 200  # texts below which neighbours say too little
DIMENSIONS = 50  # principal components that the layout looks at
WIDE = 1_000  # numbers of a vector up to which they are found exactly
FITTED = 5_000  # texts that they are found on
NEIGHBORS = 15
SPARE = 5  # more are looked for quickly, of which the nearest are then chosen exactly
GRID = 0.25  # places to begin with, within -10 and 10, are multiples of it
SIDE = 10_000  # coordinates are whole numbers from 0 to this
ROUNDS = 200
MARKS = 4_000  # texts that are placed first and thoroughly where there are more
JOINS = 5  # of them that draw each of the others
SETTLING = 15, 0.2  # epochs for the others, and how long their first step is


def sample_rows(labels: Ints, seed: int, limit: int | None = None) -> Ints:
    """Rows for the map: all that have a cluster, or a random choice from each by its share.

    Small clusters have at least ``PER_CLUSTER`` texts among them, if there is room.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        -1 marks texts without a cluster; they are not on the map.
    seed : int
    limit : int, optional
        Default: ``POINTS``.

    Returns
    -------
    ndarray
        In ascending order.

    Examples
    --------
    >>> sample_rows(np.array([0, -1, 1, 0]), seed=0)
    array([0, 2, 3])
    """
    rows = np.flatnonzero(labels >= 0)
    limit = POINTS if limit is None else limit
    if len(rows) <= limit:
        return rows
    rows = numpy_generator(seed, "map").permutation(rows)
    order = np.argsort(labels[rows], kind="stable")
    sizes = np.bincount(labels[rows])
    first = np.cumsum(sizes) - sizes
    own = labels[rows][order]
    rank = np.arange(len(rows)) - first[own]  # of a row in its cluster
    share = (rank + 0.5) / sizes[own]  # the same of every cluster is taken, so shares stay
    front = np.argsort(np.where(rank < PER_CLUSTER, rank - PER_CLUSTER, share), kind="stable")
    return np.sort(rows[order[front[:limit]]])


def first_of_equal(vectors: Floats) -> tuple[Ints, Ints]:
    """The first row of each kind, in ascending order, and for every row which of these is like it.

    In the order of the rows and not of the values, which last digits would change.

    Examples
    --------
    >>> first_of_equal(np.array([[2.0], [1.0], [2.0], [0.0]]))
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    plain = np.ascontiguousarray(vectors + 0.0)  # zero has one sign from here on
    first, back = distinct(row.tobytes() for row in plain)
    return np.asarray(first, dtype=np.int64), back


def map_texts(vectors: Floats, labels: Ints, seed: int) -> tuple[Ints, str]:
    """Coordinates of texts on the map.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
        Clusters from 0.
    seed : int

    Returns
    -------
    coordinates : ndarray of shape (n, 2)
        Whole numbers from 0 to ``SIDE``. Both axes are filled; their units mean nothing.
    layout : {"neighbors", "discs"}
    """
    varied = len(vectors) >= FEW_TEXTS and bool(np.ptp(vectors, axis=0).any())
    if not varied:
        return whole_numbers(discs(vectors, labels, seed)), "discs"
    return whole_numbers(by_neighbors(_reduce(vectors, DIMENSIONS, seed), seed)), "neighbors"


def whole_numbers(coordinates: Floats) -> Ints:
    """Stretch both axes to whole numbers from 0 to ``SIDE``.

    Examples
    --------
    >>> whole_numbers(np.array([[0.0, 5.0], [1.0, 5.0], [4.0, 5.0]])).tolist()
    [[0, 5000], [2500, 5000], [10000, 5000]]
    """
    if len(coordinates) == 0:
        return np.empty((0, 2), dtype=np.int64)
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    share = np.where(high > low, (coordinates - low) / span, 0.5)
    return np.asarray(np.rint(SIDE * share), dtype=np.int64)


def discs(vectors: Floats, labels: Ints, seed: int) -> Floats:
    """The layout of few texts: one disc per cluster, as large as its share."""
    out = np.zeros((len(vectors), 2))
    if len(vectors) == 0:
        return out
    means, sizes = cluster_means(vectors, labels)
    radius = np.sqrt(np.maximum(sizes, 1) / len(vectors))
    centers = _push_apart(_plane(means, seed), radius)
    for i in range(len(means)):
        members = np.flatnonzero(labels == i)
        if len(members) > 1:
            inside = _plane(vectors[members], seed)
            # By rank from the middle, so that one odd text does not crowd the others.
            far = np.linalg.norm(inside, axis=1)
            rank = np.empty(len(members))
            rank[np.argsort(far, kind="stable")] = np.arange(1, len(members) + 1) / len(members)
            length = 0.9 * radius[i] * np.sqrt(rank) / np.maximum(far, 1e-12)
            out[members] = inside * length[:, None]
        out[members] += centers[i]
    return out


def _push_apart(centers: Floats, radius: Floats) -> Floats:
    """Move overlapping discs apart, a little in each round, until none or few overlap."""
    k = len(centers)
    spread = max(float(np.abs(centers).max()), 1e-12)
    turn = 2.399963 * np.arange(k)  # the golden angle: no two directions alike
    centers = centers / spread + 1e-3 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    wanted = 1.05 * (radius[:, None] + radius[None, :])
    for _ in range(ROUNDS):
        gap = centers[:, None] - centers[None]
        distance = np.linalg.norm(gap, axis=2)
        overlap = np.maximum(wanted - distance, 0.0)
        np.fill_diagonal(overlap, 0.0)
        if overlap.max() < 1e-3:
            break
        step = 0.25 * overlap / np.maximum(distance, 1e-12)
        centers = centers + (gap * step[:, :, None]).sum(axis=1)
    return centers


def by_neighbors(vectors: Floats, seed: int) -> Floats:
    """The layout of many texts: those that are alike lie together.

    Of very many some are placed first; the others begin between the nearest of those and settle.
    """
    unit = unit_rows(vectors)
    marks = some_rows(len(vectors), MARKS, seed, "marks")
    near, distances = _neighbors(unit[marks])
    start = _plane(vectors[marks], seed)
    start = 10 * start / max(float(np.abs(start).max()), 1e-12)
    # Texts on one spot would feel no force between them, hence the shake.
    shake = numpy_generator(seed, "start").normal(scale=GRID / 4, size=start.shape)
    start = GRID * np.rint(start / GRID) + shake
    placed = place(start, tie(distances, near), derive_seed(seed, "layout"))
    if len(marks) < len(unit):
        placed = _settle(unit, marks, placed, seed)
    return np.clip(placed, *np.quantile(placed, [0.001, 0.999], axis=0))  # no lone far islands


def _neighbors(unit: Floats) -> tuple[Ints, Floats]:
    """The nearest others of each row and their distances, the nearest first."""
    near = nearest_rows(unit, NEIGHBORS + 1 + SPARE)[:, 1:]
    far = np.stack([1 - np.einsum("nd,nd->n", unit, unit[column]) for column in near.T], 1)
    order = np.argsort(far, axis=1, kind="stable")[:, :NEIGHBORS]
    return np.take_along_axis(near, order, 1), np.take_along_axis(far, order, 1)


def _settle(unit: Floats, marks: Ints, placed: Floats, seed: int) -> Floats:
    """Places of all texts, given those of some."""
    others = np.setdiff1d(np.arange(len(unit)), marks)
    found, cosines = (part.numpy() for part in top_k(unit[others], JOINS, unit[marks]))
    apart = 1 - cosines
    pull = 1 / (apart + 1e-3)
    pull /= pull.sum(axis=1, keepdims=True)
    # Between two marks that lie far apart there is nothing: begin at the nearest, lean to the rest.
    between = (pull[:, :, None] * placed[found]).sum(axis=1)
    out = np.zeros((len(unit), 2))
    out[marks] = placed
    shake = numpy_generator(seed, "settle").normal(scale=0.05, size=(len(others), 2))
    begun = 0.7 * placed[found[:, 0]] + 0.3 * between
    out[others] = GRID / 4 * np.rint(4 * begun / GRID) + shake
    strength = np.exp(-(apart - apart[:, :1]) / np.maximum(apart.mean(axis=1, keepdims=True), 1e-6))
    ties = np.repeat(others, JOINS), marks[found.ravel()], strength.ravel()
    epochs, rate = SETTLING
    return place(out, ties, derive_seed(seed, "settle"), epochs, rate)


def _plane(vectors: Floats, seed: int) -> Floats:
    """Two principal coordinates; zeros where the vectors span fewer directions."""
    found = _reduce(vectors, 2, seed)
    out = np.zeros((len(vectors), 2))
    out[:, : found.shape[1]] = found
    return out


def _reduce(vectors: Floats, dim: int, seed: int) -> Floats:
    """Principal coordinates of vectors."""
    vectors = np.asarray(vectors, dtype=np.float64)
    dim = min(dim, *vectors.shape)
    if dim == vectors.shape[1] and dim > 2:
        return vectors
    if len(vectors) < 2 or not np.ptp(vectors, axis=0).any():
        return np.zeros((len(vectors), dim))
    weight, bias = _projection(vectors, dim, seed)
    return np.asarray(vectors @ weight.T + bias, dtype=np.float64)


def _projection(vectors: Floats, dim: int, seed: int) -> tuple[Floats, Floats]:
    """Weight and bias that give principal coordinates.

    Of very many vectors a random choice is looked at. Directions of very wide vectors are found by
    random projections, which cost less then.
    """
    dim = min(dim, *vectors.shape)
    if dim == vectors.shape[1] and dim > 2:
        return np.eye(dim), np.zeros(dim)
    if len(vectors) > FITTED:
        drawn = numpy_generator(seed, "projection").choice(len(vectors), FITTED, replace=False)
        vectors = vectors[np.sort(drawn)]
    if vectors.shape[1] <= WIDE:
        weight, bias = principal_map(vectors, np.ones(len(vectors)), dim)
        return np.asarray(weight, np.float64), np.asarray(bias, np.float64)
    from sklearn.decomposition import PCA

    state = derive_seed(seed, "pca") % 2**31
    pca = PCA(dim, svd_solver="randomized", random_state=state).fit(vectors)
    weight = np.asarray(pca.components_, dtype=np.float64)
    return weight, -weight @ pca.mean_
