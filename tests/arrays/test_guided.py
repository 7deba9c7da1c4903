"""Seeded k-means, and labels that spread by clusters and a classifier."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from coterie.arrays.guided import (
    EXPECTED,
    FIRMNESS,
    Guided,
    class_factor,
    class_metric,
    fit_weights,
    seeded_kmeans,
)
from coterie.arrays.metrics import accuracy


def blobs(seed: int, sizes=(60, 60, 60, 60), spread: float = 0.25):
    """Unit vectors around random directions, and which one each is of."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centers = rng.normal(size=(len(sizes), 20))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    x = centers[truth] + spread * rng.normal(size=(len(truth), 20))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x.astype(np.float32), truth


def some(truth, count: int, classes: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    seeds = np.full(len(truth), -1)
    for label in range(classes):
        seeds[rng.permutation(np.flatnonzero(truth == label))[:count]] = label
    return seeds


def test_labelled_rows_stay_and_classes_come_first() -> None:
    x, truth = blobs(0)
    seeds = some(truth, 3, 2)
    seeds[np.flatnonzero(truth == 3)[0]] = 1  # against all its neighbours
    labels, centers = seeded_kmeans(x, 4, np.ones(len(x)), seeds, 0)
    assert (labels[seeds >= 0] == seeds[seeds >= 0]).all()
    for label in (0, 1):
        assert np.bincount(labels[truth == label]).argmax() == label
    assert centers.shape == (4, 20) and accuracy(truth, labels) > 0.9


def guided(x, found, k):
    return Guided(x, x, x, found, k, np.ones(len(x), dtype=np.float32), 0)


def test_one_label_each_names_the_clusters() -> None:
    x, truth = blobs(2)
    found = np.array([2, 0, 3, 1])[truth]
    labels, facts = guided(x, found, 4)(some(truth, 1, 4))
    assert facts == {"start": "consensus"}
    np.testing.assert_array_equal(labels, truth)


def test_many_labels_correct_a_wrong_structure() -> None:
    x, truth = blobs(3)
    found = np.random.default_rng(0).integers(4, size=len(truth))  # says nothing
    seeds = some(truth, 10, 4)
    labels, facts = guided(x, found, 4)(seeds)
    assert facts["start"] == "labels" and facts["score"] > 0.9
    assert facts["weights"][2] < facts["weights"][3]  # the clusters say less than the classifier
    assert (labels == truth).mean() > 0.9


def test_labels_part_what_the_structure_joins() -> None:
    x, truth = blobs(4, spread=0.1)
    found = np.array([0, 0, 1, 2])[truth]  # joins two classes and halves the last
    found[np.flatnonzero(truth == 3)[:30]] = 3
    labels, _ = guided(x, found, 4)(some(truth, 5, 4))
    assert (labels == truth).mean() > 0.98


@pytest.mark.parametrize("count", [1, 8])
def test_clusters_beside_the_known_classes(count: int) -> None:
    x, truth = blobs(5)
    labels, _ = guided(x, np.array([3, 2, 1, 0])[truth], 4)(some(truth, count, 2))
    assert (labels[truth < 2] == truth[truth < 2]).mean() > 0.95
    assert accuracy(truth, labels) > 0.95


def hidden(strength: float):
    """Four classes, beside a stronger grouping that has nothing to do with them."""
    rng = np.random.default_rng(2)
    truth, other = np.repeat(np.arange(4), 50), rng.integers(4, size=200)
    x = np.hstack([np.eye(4)[truth], strength * np.eye(4)[other]])
    return (x + 0.3 * rng.normal(size=x.shape)).astype(np.float32), truth, other


def test_labelled_rows_count_as_a_share_of_a_cluster() -> None:
    seeds = np.array([-1] * 30 + [0] * 2 + [1] * 8)
    weights = np.where(np.arange(40) < 20, 2.0, 1.0)  # 60 in all, 30 in a cluster
    factor = class_factor(seeds, weights, 2)
    assert factor.tolist() == [1.0] * 30 + [0.25 * 30 / 2] * 2 + [1.0] * 8


@pytest.mark.filterwarnings("error")
def test_all_rows_may_have_a_label() -> None:
    x, truth = blobs(8)
    labels, facts = guided(x, (truth + 1) % 4, 4)(truth.copy())
    np.testing.assert_array_equal(labels, truth)
    assert facts["start"] == "labels" and facts["score"] > 0.9


def test_fit_weights_by_another_search() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=40)
    scores = rng.normal(size=(4, 40, 3)) * np.array([20, 20, 1, 0.3])[:, None, None]
    scores[3, np.arange(40), truth] += 0.3

    def loss(logs) -> float:
        total = FIRMNESS * sum((a - math.log(b)) ** 2 for a, b in zip(logs, EXPECTED, strict=True))
        for row in range(40):
            sums = [float(np.exp(logs) @ scores[:, row, c]) for c in range(3)]
            total -= sums[truth[row]] - math.log(sum(map(math.exp, sums)))
        return total

    found = minimize(loss, np.log(EXPECTED), method="Nelder-Mead", options={"maxiter": 2_000})
    assert np.log(fit_weights(scores, truth)) == pytest.approx(found.x, abs=0.02)
    assert fit_weights(scores[:, :0], truth[:0]) == pytest.approx(EXPECTED)


def test_classes_count_the_same_in_the_classifier() -> None:
    x, truth = blobs(7)
    seeds = some(truth, 5, 4)
    seeds[np.flatnonzero(seeds == 1)[1:]] = -1  # a class with one row counts as much
    rows, weights = guided(x, truth, 4)._even(seeds)
    np.testing.assert_allclose(np.bincount(seeds[rows], weights), 16 / 4)


def test_metric_of_the_classes_by_a_loop() -> None:
    rng = np.random.default_rng(0)
    x, seeds = rng.normal(size=(30, 4)), np.full(30, -1)
    seeds[:9] = [0, 0, 0, 2, 2, 1, 1, 1, 1]
    within, spare = np.zeros((4, 4)), 0
    for label in range(3):
        few = x[seeds == label]
        spare += len(few) - 1
        for row in few:
            within += np.outer(row - few.mean(axis=0), row - few.mean(axis=0))
    sphere = np.trace(within / spare) / 4 * np.eye(4)
    covariance = (spare * within / spare + 4 * sphere) / (spare + 4)
    moved = x @ class_metric(x, seeds)
    for a in range(5):
        for b in range(5):
            between = x[a] - x[b]
            distance = between @ np.linalg.solve(covariance, between)
            assert np.square(moved[a] - moved[b]).sum() == pytest.approx(distance)


def test_start_from_labels_only_where_its_inertia_is_much_lower() -> None:
    """One label a class in the plane. The consensus joins two classes and halves the largest."""
    centers = np.array([[0, 0], [0, 40], [200, 0], [0, 200]], dtype=np.float32)
    truth = np.repeat(np.arange(4), [100, 100, 100, 4_000])
    noise = 3 * np.random.default_rng(0).normal(size=(len(truth), 2))
    x = (centers[truth] + noise).astype(np.float32)
    seeds = some(truth, 1, 4)
    joined = np.array([0, 0, 1, 2])[truth]
    joined[(truth == 3) & (noise[:, 1] > 0)] = 3
    start, (structure,) = guided(x, joined, 4)._structures(seeds)
    assert start == "seeds"
    np.testing.assert_array_equal(structure, truth)
    slightly = truth.copy()
    slightly[::20] = (slightly[::20] + 1) % 4
    slightly[seeds >= 0] = truth[seeds >= 0]
    start, (structure,) = guided(x, slightly, 4)._structures(seeds)
    assert start == "consensus"
    np.testing.assert_array_equal(structure, slightly)  # named, and otherwise as it was


@pytest.mark.parametrize("share", [None, 1.0])
def test_no_cluster_is_left_empty(share: float | None) -> None:
    x, truth = blobs(11, sizes=(60, 60, 60), spread=0.05)
    found = truth.copy()
    found[[5, 70]] = 3, 4  # like all others of their classes: no classifier finds them
    model, seeds = guided(x, found, 5), some(truth, 4, 2)
    seeds[[5, 70]] = -1
    labels, _ = model(seeds, share)
    assert np.unique(labels).tolist() == [0, 1, 2, 3, 4]
    assert (labels[seeds >= 0] == seeds[seeds >= 0]).all()


@pytest.mark.parametrize("method", ["kmeans", "auto"])  # both are k-means on vectors of your own
def test_kmeans_runs_in_the_metric_of_the_labels(method: str) -> None:
    """A grouping that has nothing to do with the classes is stronger than they are."""
    from coterie.models.registry import make_method

    x, truth, _ = hidden(2.0)
    seeds = some(truth, 10, 4)
    model = make_method(method, 4, encoder="precomputed", random_state=0)
    labels = model.fit(x, labels=np.where(seeds >= 0, seeds, -1)).labels_
    plain, _ = seeded_kmeans(x, 4, np.ones(len(x)), seeds, 0)
    assert (labels == truth).mean() > 0.9 > 0.8 > (plain == truth).mean()
    assert (labels[seeds >= 0] == seeds[seeds >= 0]).all()
    np.testing.assert_array_equal(model.predict(x[seeds < 0]), labels[seeds < 0])
    assert model.assigner_.kind == "mapped" and not hasattr(model, "cluster_centers_")
