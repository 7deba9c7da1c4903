"""Seeded k-means, and labels that spread by structure and classifier."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from coterie.guided import (
    BESIDE,
    SHARES,
    Guided,
    clustering_score,
    examples,
    seeded_kmeans,
    whitened,
)
from coterie.metrics import accuracy


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


def test_no_cluster_is_lost_and_the_seed_decides() -> None:
    x, truth = blobs(1)
    seeds = some(truth, 2, 1)
    labels, _ = seeded_kmeans(x, 7, np.ones(len(x)), seeds, 3)
    again, _ = seeded_kmeans(x, 7, np.ones(len(x)), seeds, 3)
    assert len(np.unique(labels)) == 7
    np.testing.assert_array_equal(labels, again)


def guided(x, found, k):
    return Guided(x, x, found, k, np.ones(len(x), dtype=np.float32), 0)


def test_one_label_each_names_the_clusters() -> None:
    x, truth = blobs(2)
    found = np.array([2, 0, 3, 1])[truth]
    labels, facts = guided(x, found, 4)(some(truth, 1, 4))
    assert facts == {"start": "consensus", "structure": None, "score": None}
    np.testing.assert_array_equal(labels, truth)


def test_many_labels_correct_a_wrong_structure() -> None:
    x, truth = blobs(3)
    found = np.random.default_rng(0).integers(4, size=len(truth))  # says nothing
    seeds = some(truth, 10, 4)
    labels, facts = guided(x, found, 4)(seeds)
    assert facts["start"] == "seeds" or facts["structure"] is not None
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


def test_structure_counts_alone_where_it_is_right() -> None:
    x, truth = blobs(6)
    model = guided(x, truth.copy(), 4)
    assert model._choose(some(truth, 5, 4)) == (math.inf, 1.0)
    assert model._choose(some(truth, 1, 4)) == (math.inf, None)  # none to leave out
    assert model._choose(some(truth, 5, 3)) == (BESIDE, None)  # they cannot tell about the fourth


@pytest.mark.parametrize("strength", [2.0, 3.0])
def test_largest_share_that_is_about_as_good(strength: float) -> None:
    """The classes, beside a stronger grouping that has nothing to do with them."""
    rng = np.random.default_rng(2)
    truth, other = np.repeat(np.arange(4), 50), rng.integers(4, size=200)
    x = np.hstack([np.eye(4)[truth], strength * np.eye(4)[other]])
    x = (x + 0.3 * rng.normal(size=x.shape)).astype(np.float32)
    model, seeds = guided(x, truth, 4), some(truth, 4, 4)
    share, score = model._choose(seeds)
    rows = np.flatnonzero(seeds >= 0)
    folds = model._folds(seeds[rows], 4)
    slow = {}
    for one in SHARES:
        right, answers = [], []
        for fold in range(5):
            held = rows[folds == fold]
            fewer = seeds.copy()
            fewer[held] = -1
            metric = whitened(x, fewer)
            structure = seeded_kmeans(metric, 4, model.weights, fewer, 0)[0]
            labels = model._spread_labels(fewer, structure, one)
            for row in held:
                right.append(seeds[row])
                answers.append(labels[row])
        acc = max(
            np.mean([order[a] == r for a, r in zip(answers, right, strict=True)])
            for order in permutations(range(4))
        )
        slow[one] = (acc + normalized_mutual_info_score(right, answers)) / 2
    close = [one for one in slow if slow[one] >= max(slow.values()) - 0.35 / len(rows) ** 0.5]
    assert share == max(close) and score == pytest.approx(slow[share])
    assert len(close) < len(SHARES) and slow[share] < max(slow.values())  # both limits decide


def test_whitened_by_a_loop() -> None:
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
    moved = whitened(x, seeds)
    for a in range(5):
        for b in range(5):
            between = x[a] - x[b]
            distance = between @ np.linalg.solve(covariance, between)
            assert np.square(moved[a] - moved[b]).sum() == pytest.approx(distance)


def test_nothing_is_whitened_without_two_different_rows_of_a_class() -> None:
    x, truth = blobs(9)
    assert whitened(x, np.full(len(x), -1)) is x
    assert whitened(x, some(truth, 1, 4)) is x
    x[1] = x[0]  # must be together, so both have the same vector
    seeds = np.full(len(x), -1)
    seeds[:2] = 0
    assert whitened(x, seeds) is x
    seeds[2] = 0
    assert examples(x, seeds)[:3].tolist() == [0, -1, 0]
    assert whitened(x, seeds) is not x


def test_labels_show_which_direction_says_nothing() -> None:
    """Two classes in one direction; another has ten times the variance and no meaning."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    x = np.stack([truth * 2.0 - 1, 3 * rng.normal(size=200)], axis=1)
    x = (x + 0.2 * rng.normal(size=x.shape)).astype(np.float32)
    seeds = some(truth, 10, 2)
    plain, _ = seeded_kmeans(x, 2, np.ones(200), seeds, 0, factor=1.0)
    better, _ = seeded_kmeans(whitened(x, seeds), 2, np.ones(200), seeds, 0, factor=1.0)
    assert accuracy(truth, plain) < 0.8 and accuracy(truth, better) > 0.95


def test_metric_of_known_classes_finds_the_others_too() -> None:
    """Four classes in four directions, and a fifth direction with far more variance."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 60)
    x = np.hstack([np.eye(4)[truth], 2 * rng.normal(size=(240, 1))])
    x = (x + 0.15 * rng.normal(size=x.shape)).astype(np.float32)
    found = KMeans(4, n_init=5, random_state=0).fit_predict(x)
    model, seeds = guided(x, found, 4), some(truth, 15, 2)
    start, structure = model._structure(seeds)
    labels, facts = model(seeds)
    assert facts == {"start": start, "structure": BESIDE, "score": None}
    assert accuracy(truth, found) < 0.6 < 0.9 < accuracy(truth, structure)
    assert accuracy(truth, labels) > 0.9 and (labels[truth < 2] == truth[truth < 2]).mean() > 0.9


def test_start_from_labels_only_where_its_inertia_is_much_lower() -> None:
    """One label a class in the plane. The consensus joins two classes and halves the largest."""
    centers = np.array([[0, 0], [0, 40], [200, 0], [0, 200]], dtype=np.float32)
    truth = np.repeat(np.arange(4), [100, 100, 100, 4_000])
    noise = 3 * np.random.default_rng(0).normal(size=(len(truth), 2))
    x = (centers[truth] + noise).astype(np.float32)
    seeds = some(truth, 1, 4)
    joined = np.array([0, 0, 1, 2])[truth]
    joined[(truth == 3) & (noise[:, 1] > 0)] = 3
    start, structure = guided(x, joined, 4)._structure(seeds)
    assert start == "seeds"
    np.testing.assert_array_equal(structure, truth)
    slightly = truth.copy()
    slightly[::20] = (slightly[::20] + 1) % 4
    slightly[seeds >= 0] = truth[seeds >= 0]
    start, structure = guided(x, slightly, 4)._structure(seeds)
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


def test_score_is_the_mean_of_acc_and_nmi() -> None:
    information = math.log(4) - 0.75 * math.log(3) - 0.5 * math.log(2)
    both = (math.log(2) + math.log(4) - 0.75 * math.log(3)) / 2
    truth, labels = np.array([0, 0, 1, 1]), np.array([1, 1, 1, 0])
    assert clustering_score(truth, labels) == pytest.approx((0.75 + information / both) / 2)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_few_labelled_rows_are_solved_as_many_are(share: float) -> None:
    x, truth = blobs(7)
    wide = np.hstack([x, np.random.default_rng(0).normal(size=(len(x), 80)).astype(np.float32)])
    found = np.where(np.arange(len(truth)) % 3, truth, 0)
    model, seeds = guided(wide, found, 4), some(truth, 3, 4)
    quick = model._spread_labels(seeds, found, share)
    every = share * 4 / len(truth)
    rows = np.flatnonzero(seeds >= 0)
    few, target = model._features[rows], np.eye(4)[seeds[rows]]
    left = every * model._square + few.T @ few + np.eye(len(model._square))
    right = few.T @ target + every * (model._features.T @ np.eye(4)[found])
    slow = (model._features @ np.linalg.solve(left, right)).argmax(axis=1)
    np.testing.assert_array_equal(quick, slow)
