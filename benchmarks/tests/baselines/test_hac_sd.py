"""HAC-SD: kept pairs, linkage on them, iterative classification, and the method."""

import numpy as np
import pytest
import torch
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import neighbors
from coterie.arrays.linkage import cut
from coterie_bench.baselines import hac_sd as block
from coterie_bench.baselines.hac_sd import (
    choose_training,
    iterative_classification,
    kept_pairs,
    limits,
    row_statistics,
    sparse_average,
)


def unit(n: int, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n, 6)) + 1
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def loop(x: np.ndarray, number: int) -> list[tuple[int, int]]:
    """The best pairs by the larger of their two standard scores, from all pairs."""
    n = len(x)
    s = x.astype(np.float64) @ x.T.astype(np.float64)
    scores = {}
    for i in range(n):
        others = [s[i, j] for j in range(n) if j != i]
        m, sd = np.mean(others), np.std(others)
        for j in range(n):
            if j != i:
                pair = (min(i, j), max(i, j))
                scores[pair] = max(scores.get(pair, -np.inf), (s[i, j] - m) / sd)
    return sorted(sorted(scores, key=lambda pair: -scores[pair])[:number])


def test_statistics_of_rows_equal_their_loop() -> None:
    x, counts = unit(12), np.array([1, 2, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1])
    repeated = np.repeat(x, counts, axis=0).astype(np.float64)
    mean, deviation = row_statistics(torch.from_numpy(x), torch.from_numpy(counts))
    places = np.cumsum(counts) - counts
    for i, place in enumerate(places):
        others = np.delete(repeated @ repeated[place], place)
        assert mean[i] == pytest.approx(others.mean(), abs=1e-6)
        assert deviation[i] == pytest.approx(others.std(), abs=1e-6)


@pytest.mark.parametrize("n_clusters", [3, 5])
def test_the_pairs_kept_are_those_of_the_loop(n_clusters: int) -> None:
    x = unit(30)
    found = kept_pairs(x, n_clusters, np.ones(30))
    number = int(30 * (30 / n_clusters - 1) / 2)
    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == loop(x, number)
    expected = (x[found.first] * x[found.second]).sum(axis=1)
    np.testing.assert_allclose(found.similarities, expected, atol=1e-6)


def test_where_all_pairs_are_too_many_rows_bring_their_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = unit(40)
    whole = kept_pairs(x, 10, np.ones(40))
    monkeypatch.setattr(block, "CANDIDATES", 40 * 12)
    monkeypatch.setattr(neighbors, "BLOCK", 100)
    part = kept_pairs(x, 10, np.ones(40))
    np.testing.assert_array_equal(part.first, whole.first)
    np.testing.assert_array_equal(part.second, whole.second)
    monkeypatch.setattr(block, "CANDIDATES", 40)
    one = kept_pairs(x, 10, np.ones(40))
    nearest = {(min(i, j), max(i, j)) for i, j in enumerate((x @ x.T - 9 * np.eye(40)).argmax(1))}
    assert set(zip(one.first.tolist(), one.second.tolist(), strict=True)) == nearest


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


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "TREES", 20)


def cloud(n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    return 4 * np.eye(3, 5)[truth] + rng.normal(scale=0.7, size=(n, 5)), truth


def test_a_round_is_a_classifier_on_the_texts_it_was_not_taught() -> None:
    x, truth = cloud()
    wrong = np.roll(truth, 1)[np.random.default_rng(1).permutation(90)]
    weights = np.random.default_rng(2).integers(1, 3, 90).astype(float)
    most = limits(1, 3)[0] / 100 * weights.sum() / 3
    from coterie._util.random import derive_seed

    teachers = choose_training(x, wrong, weights, most, derive_seed(3, "teach", 0))
    model = LogisticRegression(max_iter=300)
    model.fit(x[teachers], wrong[teachers], sample_weight=weights[teachers])
    expected = model.predict(x)
    expected[teachers] = wrong[teachers]
    np.testing.assert_array_equal(iterative_classification(x, wrong, 3, weights, 1, 3), expected)
