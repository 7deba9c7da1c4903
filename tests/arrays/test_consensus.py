"""Smoothing; and exactly as many clusters as asked for, by joining and by cutting."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import consensus
from coterie.arrays.consensus import (
    by_sizes,
    force_k,
    neighborhood,
    reference,
    smoothed_runs,
    without_tiny,
)
from coterie.arrays.graph import knn_smooth
from coterie.arrays.metrics import accuracy


def ones(n: int) -> np.ndarray:
    return np.ones(n, dtype=np.float32)


def test_rows_without_a_cluster_join_the_nearest() -> None:
    x = np.array([[0.0], [1.0], [2.4], [7.0], [10.0]], dtype=np.float32)
    labels = force_k(x, np.array([3, 3, -1, -1, 8]), 2, ones(5), 0)
    assert labels.tolist() == [0, 0, 0, 1, 1]


def test_the_pair_with_the_least_ward_cost_is_joined() -> None:
    # 2ab/(a+b) d^2 by hand: clusters of 1 and 1, 3 apart: 9; of 6 and 6, 2 apart: 24.
    x = np.array([[0.0], [3.0], [20.0], [22.0]], dtype=np.float32)
    weights = np.array([1.0, 1, 6, 6], dtype=np.float32)
    assert force_k(x, np.arange(4), 3, weights, 0)[:2].tolist() == [0, 0]
    assert force_k(x, np.arange(4), 3, ones(4), 0)[2:].tolist() == [2, 2]  # 4 against 9


def test_the_widest_cluster_is_cut() -> None:
    x = np.array([[0.0], [1], [50], [51], [100], [100.5]], dtype=np.float32)
    labels = force_k(x, np.array([0, 0, 0, 0, 1, 1]), 3, ones(6), 0)
    assert adjusted_rand_score(labels, [0, 0, 1, 1, 2, 2]) == 1


def test_clusters_of_two_texts_are_given_up_where_others_have_many() -> None:
    x = np.concatenate([np.linspace(0, 5, 20), np.linspace(10, 11, 10), [20, 21]])
    x, labels = x[:, None].astype(np.float32), np.repeat([0, 1, 2], [20, 10, 2])
    found = without_tiny(x, labels, 3, ones(32), 0)
    assert adjusted_rand_score(found, np.repeat([0, 1, 2], [10, 10, 12])) == 1
    few = x[-8:], labels[-8:] - 1, 2, ones(8), 0  # of which a mean cluster has four
    assert without_tiny(*few).tolist() == few[1].tolist()


@pytest.mark.parametrize("n_clusters", [1, 5, 12])
def test_nothing_but_noise_becomes_clusters(n_clusters: int) -> None:
    x = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    labels = force_k(x, np.full(12, -1), n_clusters, ones(12), 0)
    assert sorted(set(labels.tolist())) == list(range(n_clusters))


def test_neighbours_of_many_rows_are_searched_in_few_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With more than ``EXACT`` rows they are the nearest after a projection."""
    rng = np.random.default_rng(0)
    scales = 0.99 ** np.arange(150)
    x = (rng.standard_normal((300, 150)) * scales).astype(np.float32)
    exact = neighborhood(x, 3).smoothed()
    monkeypatch.setattr(consensus, "EXACT", 299)
    monkeypatch.setattr(consensus, "SEARCHED", 110)
    found = neighborhood(x, 3).smoothed()
    assert not np.allclose(found, exact, atol=1e-3)

    directions = np.linalg.svd(x, full_matrices=False)[2][:110]
    few = x @ directions.T
    unit = few / np.linalg.norm(few, axis=1, keepdims=True)
    near = np.argsort(-(unit @ unit.T), axis=1, kind="stable")[
        :, : consensus.n_neighbors(300, 3) + 1
    ]
    start = few[:, : consensus.DIRECTIONS]
    start = start / np.linalg.norm(start, axis=1, keepdims=True)
    wanted = knn_smooth(start, near, consensus.ROUNDS, consensus.RESTART)
    # Directions have no sign: distances between rows are what counts.
    np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=1e-4)


def test_neighbours_count_less_the_farther_they_are() -> None:
    """Angles in a plane: cosines to the nearest other, and to the second, by hand."""
    angles = np.radians([0.0, 10.0, 30.0, 180.0, 185.0, 210.0])
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    rows = neighborhood(x, 2)
    near, base = rows.near[:, : rows.k + 1], rows.base
    assert rows.k == 2 and near[0].tolist() == [0, 1, 2]
    weights = np.ones((6, 3))
    for i in range(6):
        first, second = np.cos(angles[near[i, 1:]] - angles[i])
        weights[i, 2] = np.exp((second - first) / 0.05)
    wanted = knn_smooth(base, near, consensus.ROUNDS, consensus.RESTART, weights)
    np.testing.assert_allclose(rows.smoothed(weighted=True), wanted, atol=1e-4)
    assert not np.allclose(rows.smoothed(), wanted, atol=1e-2)


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [(np.repeat([200, 4], [6, 40]), "unequal"), (np.repeat(30, 40), "even")],
    ids=["unequal", "even"],
)
def test_linkage_is_taken_where_sizes_are_unequal(sizes: np.ndarray, kind: str) -> None:
    rng, k = np.random.default_rng(0), len(sizes)
    truth = np.repeat(np.arange(k), sizes)
    centers = rng.normal(size=(k, 40))
    x = centers / np.linalg.norm(centers, axis=1, keepdims=True)
    x = (x[truth] + 0.8 * rng.normal(size=(len(truth), 40)) / 40**0.5).astype(np.float32)
    rows = neighborhood(x, k, flatten=consensus.FLATTEN)
    before, _ = smoothed_runs(x, rows.smoothed(), k, 20, ones(len(x)), 0)
    found, facts = by_sizes(x, rows, before, k, ones(len(x)), 0)
    lost = [1 - m for m in facts["modularity"]]
    assert facts["sizes"] == kind and facts["centers"] == 2 * k
    np.testing.assert_array_equal(reference(x, k, ones(len(x)), 0), found)
    if kind == "even":
        assert found is before and lost[1] >= consensus.UNEQUAL * lost[0]
    else:
        assert accuracy(truth, found) > 0.99 > 0.9 > accuracy(truth, before)
        assert len(np.unique(found)) == k and lost[1] < consensus.UNEQUAL * lost[0]


def test_sizes_are_not_tested_where_rows_have_no_neighbours() -> None:
    x = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    for k in (1, 6):
        labels = np.arange(9) % k
        assert by_sizes(x, neighborhood(x, k), labels, k, ones(9), 0) == (labels, {})
