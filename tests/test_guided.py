"""Seeded k-means, and labels that spread by structure and classifier."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coterie.guided import Guided, seeded_kmeans
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
    assert facts == {"start": "consensus", "structure": None, "accuracy": None}
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


def test_share_is_chosen_on_rows_left_out() -> None:
    x, truth = blobs(6)
    model = guided(x, truth.copy(), 4)
    share, scores, _ = model._choose(some(truth, 5, 4), False)
    assert math.isinf(share) and scores[share] == 1.0  # structure is right: as much as it may
    assert model._choose(some(truth, 1, 4), False) == (math.inf, {}, False)
    model = guided(x, np.random.default_rng(0).integers(4, size=len(truth)), 4)
    assert model._choose(some(truth, 10, 4), False)[2]  # says nothing: from the seeds


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
