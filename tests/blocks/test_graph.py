"""Neighbours by cosine, and vectors spread along their graph."""

import numpy as np
import pytest
import torch

from coterie.blocks import graph
from coterie.blocks.graph import nearest_rows, spread


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_nearest_are_those_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    found = nearest_rows(x, 4)
    for i in range(30):
        cosines = [x[i] @ x[j] / np.linalg.norm(x[i]) / np.linalg.norm(x[j]) for j in range(30)]
        assert list(found[i]) == list(np.argsort(cosines)[::-1][:4])
    monkeypatch.setattr(graph, "CHUNK", 70)  # two rows at a time
    np.testing.assert_array_equal(nearest_rows(torch.from_numpy(x), 4), found)


def test_a_row_is_its_own_first_neighbour_also_among_equals() -> None:
    x = np.ones((5, 3), dtype=np.float32)
    np.testing.assert_array_equal(nearest_rows(x, 3)[:, 0], np.arange(5))
    assert nearest_rows(x, 9).shape == (5, 5)


def test_spread_is_the_mean_over_the_graph_joined_both_ways() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 4))
    neighbors = nearest_rows(x, 3)
    expected = unit(x)
    for _ in range(3):
        before = expected.copy()
        for i in range(20):
            total = sum(before[j] for j in neighbors[i])
            total = total + sum(before[j] for j in range(20) if i in neighbors[j])
            expected[i] = total / np.linalg.norm(total)
    np.testing.assert_allclose(spread(x, neighbors, 3), expected, atol=1e-5)
    np.testing.assert_allclose(spread(x, neighbors, 0), unit(x), atol=1e-6)


def test_worked_by_hand() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    # 0 names itself and 1; 1 names itself and 2; 2 names itself and 1.
    y = spread(x, np.array([[0, 1], [1, 2], [2, 1]]), 1)
    one = np.array([1.0, 4.0])  # itself twice, 0 once, 2 twice
    np.testing.assert_allclose(y[0], [2 / 5**0.5, 1 / 5**0.5], rtol=1e-6)
    np.testing.assert_allclose(y[1], one / np.linalg.norm(one), rtol=1e-6)
    np.testing.assert_allclose(y[2], [0.0, 1.0], rtol=1e-6)


def test_groups_that_share_no_edge_never_meet() -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal([5, 0, 0], 1, (40, 3)), rng.normal([0, 5, 0], 1, (40, 3))])
    neighbors = np.concatenate([nearest_rows(x[:40], 6), nearest_rows(x[40:], 6) + 40])
    y = spread(x, neighbors, 50)
    assert np.ptp(y[:40], axis=0).max() < 0.2 and np.ptp(y[40:], axis=0).max() < 0.2
    assert np.linalg.norm(y[0] - y[40]) > 1
