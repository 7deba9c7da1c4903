"""Average linkage on sparse similarities: against scipy on the full matrix, and a loop."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from coterie.blocks.linkage import cut
from coterie.blocks.sparse_linkage import sparse_average


def similarities(n: int, share: float, seed: int = 0) -> np.ndarray:
    """A symmetric matrix with zeros in most places and a few groups."""
    rng = np.random.default_rng(seed)
    group = rng.integers(5, size=n)
    s = np.where(group[:, None] == group[None, :], 0.5, 0.1) + 0.4 * rng.random((n, n))
    s = np.triu(s * (rng.random((n, n)) < share), 1)
    return s + s.T


def run(s: np.ndarray, weights: np.ndarray | None = None):
    first, second = np.nonzero(np.triu(s, 1))
    weights = np.ones(len(s)) if weights is None else weights
    return sparse_average(first, second, s[first, second], weights)


def labels(s: np.ndarray, n_clusters: int, weights: np.ndarray | None = None) -> np.ndarray:
    merges, _ = run(s, weights)
    return cut([(-height, a, b) for height, a, b in merges], n_clusters, len(s))


@pytest.mark.parametrize("seed", range(5))
def test_equals_scipy_on_the_full_matrix(seed: int) -> None:
    s = similarities(60, 0.4, seed)
    tree = linkage(squareform(1 - s - np.eye(60), checks=False), "average")
    merges, groups = run(s)
    assert groups.max() == 0
    heights = np.sort([1 - merge[0] for merge in merges])
    np.testing.assert_allclose(heights, np.sort(tree[:, 2]), atol=1e-9)
    for k in (2, 5, 12, 30):
        assert adjusted_rand_score(fcluster(tree, k, "maxclust"), labels(s, k)) == 1


def test_three_rows_by_hand() -> None:
    s = np.array([[0, 0.9, 0.6], [0.9, 0, 0], [0.6, 0, 0]])
    merges, groups = run(s)
    assert merges[0] == (0.9, 0, 1)
    assert merges[1][0] == pytest.approx((0.6 + 0) / 2)  # the missing pair counts as zero
    assert groups.tolist() == [0, 0, 0]


def test_rows_without_a_pair_stay_apart() -> None:
    s = np.zeros((5, 5))
    s[0, 1] = s[1, 0] = 0.5
    s[2, 3] = s[3, 2] = -0.5
    merges, groups = run(s)
    assert len(merges) == 1
    assert groups.tolist() == [0, 0, 1, 2, 3]


def test_ties_come_to_an_end() -> None:
    s = np.ones((9, 9)) - np.eye(9)
    merges, groups = run(s)
    assert len(merges) == 8 and groups.max() == 0
    assert all(merge[0] == pytest.approx(1) for merge in merges)


def test_a_weight_is_a_repeated_row() -> None:
    s = similarities(20, 0.6)
    weights = np.random.default_rng(1).integers(1, 4, 20)
    wide = np.repeat(np.repeat(s, weights, axis=0), weights, axis=1)
    owner = np.repeat(np.arange(20), weights)
    wide[(owner[:, None] == owner[None, :])] = 1.0
    np.fill_diagonal(wide, 0)
    first = np.cumsum(weights) - weights
    for k in (3, 8):
        assert adjusted_rand_score(labels(s, k, weights), labels(wide, k)[first]) == 1
