"""Agglomerative clustering: against scipy, with weights, and in bounded memory."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import linkage as module
from coterie.arrays.linkage import MatrixSpace, VectorSpace, agglomerate, chain, memory_needed


def points(n: int, d: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("method", ["average", "ward"])
@pytest.mark.parametrize("kind", [MatrixSpace, VectorSpace])
@pytest.mark.parametrize("k", [1, 2, 9, 80])
def test_equals_scipy(method: str, kind: type, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MATRIX_BYTES", 1 << 40 if kind is MatrixSpace else 0)
    x = points(80)
    metric = "cosine" if method == "average" else "euclidean"
    expected = fcluster(linkage(x, method, metric), k, "maxclust")
    assert adjusted_rand_score(expected, agglomerate(x, k, method)) == 1


@pytest.mark.parametrize("method", ["average", "ward"])
def test_merge_heights_equal_scipy(method: str) -> None:
    x = points(40, seed=1)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    metric = "cosine" if method == "average" else "euclidean"
    expected = np.sort(linkage(x, method, metric)[:, 2])
    space = VectorSpace(unit if method == "average" else x, np.ones(40), method)
    heights = np.sort([height for height, _, _ in chain(space, 40)])
    if method == "ward":
        heights = np.sqrt(heights)  # ours are squares
    np.testing.assert_allclose(heights, expected, rtol=1e-3)


@pytest.mark.parametrize("method", ["average", "ward"])
@pytest.mark.parametrize("limit", [0, 1 << 40])
def test_weights_are_repetitions(method: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MATRIX_BYTES", limit)
    x = points(30, seed=2)
    weights = np.random.default_rng(3).integers(1, 5, size=30)
    repeated = np.repeat(np.arange(30), weights)
    labels = agglomerate(x, 5, method, weights.astype(np.float32))
    whole = agglomerate(x[repeated], 5, method)
    assert adjusted_rand_score(whole, labels[repeated]) == 1


def test_zero_rows_and_equal_rows_are_fine() -> None:
    x = np.concatenate([np.zeros((3, 4)), np.ones((3, 4)), np.eye(4)]).astype(np.float32)
    labels = agglomerate(x, 3)
    assert len(set(labels[3:6].tolist())) == 1


def test_memory_is_bounded() -> None:
    assert memory_needed(20_000, 384) <= 2 << 30
    assert memory_needed(1_000_000, 384) <= 12 * 384 * 1_000_000


class Unequal:
    """Three clusters, each a digit nearer to the next one than the next is to it."""

    def __init__(self) -> None:
        self.near = np.array([[np.inf, 1.0, 1.1], [1.1, np.inf, 1.0], [1.0, 1.1, np.inf]])
        self.asked = 0

    def row(self, i: int) -> np.ndarray:
        self.asked += 1
        assert self.asked < 100, "the chain goes round in a circle"
        return self.near[i]

    def join(self, kept: int, gone: int) -> None:
        self.near[gone], self.near[:, gone] = np.inf, np.inf


def test_a_chain_does_not_circle_where_distances_are_not_symmetric_to_the_last_digit() -> None:
    merges = chain(Unequal(), 3)
    assert len(merges) == 2 and {gone for _, _, gone in merges} <= {1, 2}
    assert all(1.0 <= height <= 1.1 for height, _, _ in merges)
