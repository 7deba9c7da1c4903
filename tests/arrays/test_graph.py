"""k-NN smoothing."""

import numpy as np
import pytest

from coterie.arrays.graph import knn_smooth, modularity, principal_part
from coterie.arrays.neighbors import nearest_rows


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("restart", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_smoothing_is_the_mean_over_the_symmetric_graph(restart: float, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 4))
    neighbors = nearest_rows(x, 3)
    weights = rng.random((20, 3)) if weighted else None
    w = np.ones((20, 3)) if weights is None else weights
    expected = unit(x)
    for _ in range(3):
        before = expected.copy()
        for i in range(20):
            total = sum(w[i, c] * before[j] for c, j in enumerate(neighbors[i]))
            for j, c in zip(*np.nonzero(neighbors == i), strict=True):
                total = total + w[j, c] * before[j]
            total = (1 - restart) * total / np.linalg.norm(total) + restart * unit(x)[i]
            expected[i] = total / np.linalg.norm(total)
    found = knn_smooth(x, neighbors, 3, restart, weights)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(knn_smooth(x, neighbors, 0), unit(x), atol=1e-6)


def test_worked_by_hand() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    # 0 names itself and 1; 1 names itself and 2; 2 names itself and 1.
    y = knn_smooth(x, np.array([[0, 1], [1, 2], [2, 1]]), 1)
    one = np.array([1.0, 4.0])  # itself twice, 0 once, 2 twice
    np.testing.assert_allclose(y[0], [2 / 5**0.5, 1 / 5**0.5], rtol=1e-6)
    np.testing.assert_allclose(y[1], one / np.linalg.norm(one), rtol=1e-6)
    np.testing.assert_allclose(y[2], [0.0, 1.0], rtol=1e-6)
    weights = np.array([[1.0, 0.5], [1.0, 1.0], [1.0, 0.25]])
    y = knn_smooth(x, np.array([[0, 1], [1, 2], [2, 1]]), 1, weights=weights)
    one = np.array([0.5, 3.25])  # itself 2, 0 by 0.5, 2 by 1 + 0.25
    np.testing.assert_allclose(y[0], np.array([2.0, 0.5]) / 4.25**0.5, rtol=1e-6)
    np.testing.assert_allclose(y[1], one / np.linalg.norm(one), rtol=1e-6)


def test_modularity_against_a_loop_and_by_hand() -> None:
    rng = np.random.default_rng(2)
    neighbors, labels = nearest_rows(rng.normal(size=(30, 3)), 6)[:, 1:], rng.integers(0, 4, 30)
    same = sum(labels[i] == labels[j] for i in range(30) for j in neighbors[i]) / 150
    chance = sum((labels == label).mean() ** 2 for label in range(4))
    assert modularity(labels, neighbors) == pytest.approx(same - chance)
    # Clusters of 3 and 1: two of the four name their own; 2 / 4 - (9 + 1) / 16.
    by_hand = modularity(np.array([0, 0, 0, 1]), np.array([[1], [0], [3], [2]]))
    assert by_hand == pytest.approx(-1 / 8)


def test_few_directions_keep_the_angles_that_lie_in_them() -> None:
    rng = np.random.default_rng(5)
    flat = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 20))  # rows of three directions
    seen = principal_part(flat, 3)
    np.testing.assert_allclose(seen @ seen.T, unit(flat) @ unit(flat).T, atol=1e-4)
    assert principal_part(flat, 25).shape == (50, 20)
    # By hand: of (3, 0), (3, 0), (0, 1) the first axis holds 18 of 19 parts of the squared length.
    by_hand = principal_part(np.array([[3.0, 0.0], [3.0, 0.0], [0.0, 1.0]]), 1)
    np.testing.assert_allclose(np.abs(by_hand.ravel()), [1, 1, 0], atol=1e-6)
