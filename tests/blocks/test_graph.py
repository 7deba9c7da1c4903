"""k-NN smoothing."""

import numpy as np
import pytest

from coterie.blocks.graph import knn_smooth, principal_part
from coterie.neighbors import nearest_rows


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("restart", [0.0, 0.3])
def test_smoothing_is_the_mean_over_the_symmetric_graph(restart: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 4))
    neighbors = nearest_rows(x, 3)
    expected = unit(x)
    for _ in range(3):
        before = expected.copy()
        for i in range(20):
            total = sum(before[j] for j in neighbors[i])
            total = total + sum(before[j] for j in range(20) if i in neighbors[j])
            total = (1 - restart) * total / np.linalg.norm(total) + restart * unit(x)[i]
            expected[i] = total / np.linalg.norm(total)
    np.testing.assert_allclose(knn_smooth(x, neighbors, 3, restart), expected, atol=1e-5)
    np.testing.assert_allclose(knn_smooth(x, neighbors, 0), unit(x), atol=1e-6)


def test_worked_by_hand() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    # 0 names itself and 1; 1 names itself and 2; 2 names itself and 1.
    y = knn_smooth(x, np.array([[0, 1], [1, 2], [2, 1]]), 1)
    one = np.array([1.0, 4.0])  # itself twice, 0 once, 2 twice
    np.testing.assert_allclose(y[0], [2 / 5**0.5, 1 / 5**0.5], rtol=1e-6)
    np.testing.assert_allclose(y[1], one / np.linalg.norm(one), rtol=1e-6)
    np.testing.assert_allclose(y[2], [0.0, 1.0], rtol=1e-6)


def test_few_directions_keep_the_angles_that_lie_in_them() -> None:
    rng = np.random.default_rng(5)
    flat = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 20))  # rows of three directions
    seen = principal_part(flat, 3)
    np.testing.assert_allclose(seen @ seen.T, unit(flat) @ unit(flat).T, atol=1e-4)
    assert principal_part(flat, 25).shape == (50, 20)
    # By hand: of (3, 0), (3, 0), (0, 1) the first axis holds 18 of 19 parts of the squared length.
    by_hand = principal_part(np.array([[3.0, 0.0], [3.0, 0.0], [0.0, 1.0]]), 1)
    np.testing.assert_allclose(np.abs(by_hand.ravel()), [1, 1, 0], atol=1e-6)
