"""Ties of a neighbour graph, and what pulls and pushes along them."""

import numpy as np
import pytest

from coterie._util.random import numpy_generator
from coterie.page import layout as module
from coterie.page.layout import PUSHES, A, B, _pull, _push, place


def graph(n: int = 30, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Distances and numbers of the nearest others of random points."""
    x = np.random.default_rng(0).normal(size=(n, 3))
    distances = np.linalg.norm(x[:, None] - x[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :k]
    return np.take_along_axis(distances, near, axis=1), near


def curve(gap: np.ndarray) -> float:
    return 1 / (1 + A * np.square(gap).sum() ** B)


@pytest.mark.parametrize("gap", [[0.3, -0.4], [1.0, 2.0], [-0.05, 0.02]])
def test_forces_are_the_slopes_of_the_cross_entropy(gap: list[float]) -> None:
    x, h = np.array(gap), 1e-6
    tied, free = [], []
    for axis in (0, 1):
        step = h * np.eye(2)[axis]
        above, below = curve(x + step), curve(x - step)
        tied.append((np.log(above) - np.log(below)) / (2 * h))
        free.append((np.log(1 - above) - np.log(1 - below)) / (2 * h))
    np.testing.assert_allclose(_pull(x), np.clip(tied, -4, 4), rtol=1e-4)
    distance = np.square(x).sum()
    softened = np.array(free) * distance / (0.001 + distance)  # no force without end
    np.testing.assert_allclose(_push(x), np.clip(softened, -4, 4), rtol=1e-4)


def test_the_layout_is_that_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tie and each push on its own; what is drawn for a pair comes from its two ends."""
    monkeypatch.setattr(module, "PART", 1.0)
    n, epochs = 8, 6
    start = np.random.default_rng(0).normal(size=(n, 2))
    one, other = np.array([0, 0, 1, 2, 4, 5, 3]), np.array([1, 2, 2, 3, 5, 6, 7])
    strength = np.array([1.0, 0.53, 0.26, 0.9, 0.62, 0.05, 0.4])  # the last but one: no eighth
    share = [1.0, 0.5, 0.25, 0.875, 0.625, 0.0, 0.375]
    parts = round(2 * sum(share) / n)
    assert parts == 1
    rng = numpy_generator(7, "place")
    x, turn = start.astype(np.float32).astype(float), rng.random(n)
    for epoch in range(epochs):
        rng.integers(0, 1 << 20, n)  # there is one part only
        end, far = rng.integers(0, 2, n), rng.integers(0, n, (2, PUSHES, n), dtype=np.int32)
        moves = np.zeros((n, 2))
        for a, b, s in zip(one, other, share, strict=True):
            phase = (turn[a] + turn[b]) % 1
            if int((epoch + 1) * s + phase) == int(epoch * s + phase):
                continue
            pull = _pull(x[a] - x[b])
            moves[a] += pull
            moves[b] -= pull
            pushed = a if (end[a] + end[b]) % 2 else b
            for p in range(PUSHES):
                moves[pushed] += _push(x[pushed] - x[(far[0, p, a] + far[1, p, b]) % n])
        x = x + (1 - epoch / epochs) * moves
    found = place(start, (one, other, strength), seed=7, epochs=epochs)
    np.testing.assert_allclose(found, x, rtol=1e-3, atol=1e-3)


def test_no_ties_and_points_on_one_spot() -> None:
    empty = np.empty(0, dtype=np.int64)
    points = place(np.zeros((3, 2)), (empty, empty, np.empty(0)), seed=0, epochs=3)
    np.testing.assert_array_equal(points, np.zeros((3, 2)))
