"""Texts placed on a plane so that neighbours lie together: the layout of UMAP, in numpy.

The same graph and the same forces as UMAP (McInnes et al., 2018): each text is tied to its nearest
ones by weights that fade with distance, tied texts pull each other, and texts drawn at random push
each other away. Written here because UMAP's own code is compiled when it is first used, which takes
longer than the layout of ten thousand texts, and is an extra to install.

Small differences grow without bound while texts push each other, so nothing small gets in:
strengths are rounded, and chance belongs to texts and pairs, not to places in a list. Two graphs
that differ in the last digits give the same map, to the last digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._random import numpy_generator
from coterie._types import Floats, Ints

A, B = 1.414, 0.949  # of 1 / (1 + a d^2b), fitted to a least distance of 0.15
EPOCHS = 200
PUSHES = 5  # texts that push each pulled one
PART = 2.0  # ties of one text that move at once, in the mean; more would overshoot
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
