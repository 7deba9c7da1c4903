"""Iterative classification: who teaches, and what it mends."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from coterie.blocks import iterative
from coterie.blocks.iterative import choose_teachers, iterative_classification, limits


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iterative, "TREES", 20)


def cloud(n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    return 4 * np.eye(3, 5)[truth] + rng.normal(scale=0.7, size=(n, 5)), truth


def test_labels_that_are_wrong_here_and_there_are_mended() -> None:
    x, truth = cloud()
    wrong = truth.copy()
    wrong[::6] = (wrong[::6] + 1) % 3
    mended = iterative_classification(x, wrong, 3, np.ones(90), 5, 0)
    assert (mended == truth).mean() > 0.97 > (wrong == truth).mean()


def test_limits_are_drawn_apart() -> None:
    found = limits(200, 0)
    assert all(abs(a - b) >= 5 for a, b in pairwise(found))
    assert min(found) >= 65 and max(found) <= 90 and len(set(found)) > 10
    assert limits(200, 0) == found != limits(200, 1)


def test_odd_texts_do_not_teach_and_clusters_teach_alike() -> None:
    x, labels = cloud(120)
    labels = np.where(np.arange(120) < 80, 0, 1 + labels % 2)  # one large cluster and two others
    x[labels == 0] *= 0.1
    x[0] = 50  # far from all of its cluster
    teachers = choose_teachers(x, labels, np.ones(120), 25.0, 0)
    assert 0 not in teachers
    sizes = np.bincount(labels[teachers])
    assert sizes[0] == 25
    for j in (1, 2):
        assert sizes[j] <= 0.9 * (labels == j).sum() + 1


def test_a_round_is_a_classifier_on_the_texts_it_was_not_taught() -> None:
    x, truth = cloud()
    wrong = np.roll(truth, 1)[np.random.default_rng(1).permutation(90)]
    weights = np.random.default_rng(2).integers(1, 3, 90).astype(float)
    most = limits(1, 3)[0] / 100 * weights.sum() / 3
    from coterie._random import derive_seed

    teachers = choose_teachers(x, wrong, weights, most, derive_seed(3, "teach", 0))
    model = LogisticRegression(max_iter=300)
    model.fit(x[teachers], wrong[teachers], sample_weight=weights[teachers])
    expected = model.predict(x)
    expected[teachers] = wrong[teachers]
    np.testing.assert_array_equal(iterative_classification(x, wrong, 3, weights, 1, 3), expected)


def test_no_cluster_runs_empty() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    labels = np.where(np.arange(40) < 6, np.arange(40), 6)  # six texts alone, the rest together
    found = iterative_classification(x, labels, 7, np.ones(40), 4, 0)
    assert sorted(set(found.tolist())) == list(range(7))
