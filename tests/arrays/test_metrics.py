"""Scores: by hand, against brute force, and their invariants."""

import itertools
import math

import numpy as np
import pytest

from coterie.arrays import metrics
from coterie.errors import UsageError
from said import raises

TRUTH = ["a", "a", "a", "b", "b", "c"]
FOUND = [1, 1, 0, 0, 0, 2]


def brute_accuracy(truth: list, labels: list) -> float:
    classes, clusters = sorted(set(truth)), sorted(set(labels))
    size = max(len(classes), len(clusters))
    classes = classes + [None] * (size - len(classes))
    best = 0
    for order in itertools.permutations(classes):
        match = dict(zip(clusters, order, strict=False))
        best = max(best, sum(match[c] == t for t, c in zip(truth, labels, strict=True)))
    return best / len(truth)


def loop_nmi(truth: list, labels: list, geometric: bool) -> float:
    n = len(truth)
    entropies = []
    for part in (truth, labels):
        shares = [part.count(value) / n for value in set(part)]
        entropies.append(-sum(p * math.log(p) for p in shares))
    mutual = 0.0
    for t in set(truth):
        for c in set(labels):
            both = sum(a == t and b == c for a, b in zip(truth, labels, strict=True)) / n
            if both:
                mutual += both * math.log(both / (truth.count(t) / n * labels.count(c) / n))
    mean = math.sqrt(entropies[0] * entropies[1]) if geometric else sum(entropies) / 2
    return mutual / mean


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("k", "r"), [(3, 3), (3, 5), (5, 2), (1, 4)])
def test_accuracy_equals_trying_all_matches(seed: int, k: int, r: int) -> None:
    rng = np.random.default_rng(seed)
    truth, labels = rng.integers(k, size=30).tolist(), rng.integers(r, size=30).tolist()
    assert metrics.accuracy(truth, labels) == pytest.approx(brute_accuracy(truth, labels))


@pytest.mark.parametrize("average", ["arithmetic", "geometric"])
def test_nmi_equals_the_loop(average: str) -> None:
    expected = loop_nmi(TRUTH, FOUND, average == "geometric")
    assert metrics.nmi(TRUTH, FOUND, average) == pytest.approx(expected)


def test_nmi_of_constant_labels() -> None:
    assert metrics.nmi([0, 0, 0], [5, 5, 5]) == 1
    assert metrics.nmi([0, 1, 2], [5, 5, 5]) == pytest.approx(0)
    assert metrics.nmi([0, 0, 0], [5, 6, 7]) == pytest.approx(0)


def test_perfect_and_random_clusterings() -> None:
    assert all(v == pytest.approx(1) for v in metrics.external_scores(TRUTH, TRUTH).values())
    rng = np.random.default_rng(0)
    scores = metrics.external_scores(rng.integers(5, size=4000), rng.integers(5, size=4000))
    assert abs(scores["ari"]) < 0.01 and abs(scores["ami"]) < 0.01


def test_purity_by_hand_and_never_below_accuracy() -> None:
    # Cluster 1 holds a,a; cluster 0 holds a,b,b; cluster 2 holds c: 2 + 2 + 1 of 6.
    assert metrics.purity(TRUTH, FOUND) == pytest.approx(5 / 6)
    assert metrics.purity(["a", "b", "c", "c"], [0, 0, 0, 0]) == 0.5
    assert metrics.purity(["a", "a", "a", "a"], [0, 1, 2, 3]) == 1
    rng = np.random.default_rng(1)
    for _ in range(20):
        truth, labels = rng.integers(4, size=40), rng.integers(6, size=40)
        assert metrics.purity(truth, labels) >= metrics.accuracy(truth, labels)


def test_unequal_and_empty_lists_are_refused() -> None:
    with raises(UsageError, "cluster labels; give", "3", "2"):
        metrics.accuracy([1, 2, 3], [1, 2])
    with raises(UsageError, "no labels to score"):
        metrics.accuracy([], [])


def test_silhouette_by_hand() -> None:
    # Points 0, 1 and 10, 11 on a line: a = 1, b = 10.5 or 9.5.
    x = np.array([[0.0], [1], [10], [11]])
    expected = np.mean([1 - 1 / 10.5, 1 - 1 / 9.5, 1 - 1 / 9.5, 1 - 1 / 10.5])
    assert metrics.silhouette(x, [0, 0, 1, 1]) == pytest.approx(expected)


def test_silhouette_of_one_cluster_is_not_a_number() -> None:
    assert math.isnan(metrics.silhouette(np.ones((4, 2)), [0, 0, 0, 0]))
    assert math.isnan(metrics.silhouette(np.ones((3, 2)), [0, 1, 2]))


def test_dunn_by_hand() -> None:
    # Clusters {0, 1} and {4, 6}: nearest across 3, widest 2.
    x = np.array([[0.0], [1], [4], [6]])
    assert metrics.dunn(x, [0, 0, 1, 1]) == pytest.approx(1.5)
    assert math.isnan(metrics.dunn(x, [0, 0, 0, 0]))


def test_dunn_equals_the_loop_over_all_pairs() -> None:
    rng = np.random.default_rng(2)
    x, labels = rng.normal(size=(700, 3)), rng.integers(4, size=700)
    distances = np.linalg.norm(x[:, None] - x[None], axis=2)
    same = labels[:, None] == labels[None]
    expected = distances[~same].min() / distances[same].max()
    assert metrics.dunn(x, labels) == pytest.approx(expected, rel=1e-4)


def test_size_entropy() -> None:
    assert metrics.size_entropy([0, 0, 1, 1]) == pytest.approx(1)
    assert metrics.size_entropy([0, 0, 0]) == 0
    assert metrics.size_entropy([0, 1], n_clusters=4) == pytest.approx(0.5)


def test_correct_by_hand_and_its_mean_is_the_accuracy() -> None:
    assert metrics.correct(TRUTH, FOUND).tolist() == [True, True, False, True, True, True]
    rng = np.random.default_rng(0)
    for k, r in [(3, 3), (3, 6), (6, 2)]:
        truth, labels = rng.integers(k, size=50), rng.integers(r, size=50)
        right = metrics.correct(truth, labels)
        assert right.mean() == pytest.approx(metrics.accuracy(truth, labels))
        for cluster in range(r):  # one class for each cluster
            assert len(set(truth[(labels == cluster) & right])) <= 1
