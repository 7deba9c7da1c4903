"""A ridge classifier that learns a clustering and predicts the same texts."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from coterie.base import ridge
from coterie.base.ridge import RidgeClassifier, calibrated
from coterie.blocks.assign import probabilities


def fit(x, labels, k, weights=None):
    return RidgeClassifier(x, weights).fit(labels, k)


def blobs(n: int = 300, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three clouds; their labels; and the labels with a share of them thrown anywhere."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, n)
    x = (4 * np.eye(3)[truth] + rng.normal(size=(n, 3))).astype(np.float32)
    wrong = rng.random(n) < noise
    return x, truth, np.where(wrong, rng.integers(0, 3, n), truth)


def test_it_is_the_ridge_regression_of_scikit_learn() -> None:
    x, labels, _ = blobs()
    weights = np.random.default_rng(1).integers(1, 5, len(x)).astype(np.float32)
    assigner = fit(x, labels, 3, weights)
    rows = np.hstack([x, np.ones((len(x), 1))])
    reference = Ridge(alpha=1.0, fit_intercept=False).fit(rows, np.eye(3)[labels], weights)
    np.testing.assert_allclose(assigner.weight, reference.coef_[:, :-1], atol=1e-5)
    np.testing.assert_allclose(assigner.bias, reference.coef_[:, -1], atol=1e-5)


def test_one_factor_serves_several_labels(monkeypatch) -> None:
    """Several labels on one factor, rows in parts: each as if solved on its own."""
    x, labels, noisy = blobs(noise=0.3)
    weights = np.random.default_rng(1).integers(1, 5, len(x)).astype(np.float32)
    whole = RidgeClassifier(x, weights)
    monkeypatch.setattr(ridge, "ROWS", 37)
    parts = RidgeClassifier(x, weights)
    rows = np.hstack([x, np.ones((len(x), 1))])
    for given in (labels, noisy):
        square = rows.T @ (weights[:, None] * rows) + np.eye(4)
        solved = np.linalg.solve(square, rows.T @ (weights[:, None] * np.eye(3)[given]))
        for classifier in (whole, parts):
            found = classifier.fit(given, 3)
            np.testing.assert_allclose(found.weight, solved[:-1].T, atol=1e-5)
            np.testing.assert_allclose(found.bias, solved[-1], atol=1e-5)


def test_worked_by_hand() -> None:
    # One text, one number: (x^2 + 1) w + x b = x and x w + (1 + 1) b = 1, with x = 2.
    assigner = fit(np.array([[2.0]], dtype=np.float32), np.array([0]), 1)
    np.testing.assert_allclose(assigner.weight, [[1 / 3]], rtol=1e-6)
    np.testing.assert_allclose(assigner.bias, [1 / 6], rtol=1e-6)


def test_a_weight_is_a_repetition() -> None:
    x, labels, _ = blobs(60)
    weights = np.random.default_rng(2).integers(1, 4, 60)
    often = fit(np.repeat(x, weights, axis=0), np.repeat(labels, weights), 3)
    np.testing.assert_allclose(
        fit(x, labels, 3, weights.astype(np.float32)).weight, often.weight, atol=1e-5
    )


def test_labels_come_back_cleaner() -> None:
    x, truth, given = blobs(noise=0.3)
    back = fit(x, given, 3).logits(x).argmax(axis=1)
    assert (given == truth).mean() < 0.85 and (back == truth).mean() > 0.97


@pytest.mark.parametrize("confidence", [0.45, 0.7, 0.95])
def test_the_mean_confidence_is_as_given_and_labels_stay(confidence: float) -> None:
    x, _, given = blobs(noise=0.3)
    assigner = fit(x, given, 3)
    scaled = calibrated(assigner, x, confidence)
    np.testing.assert_array_equal(
        scaled.logits(x).argmax(axis=1), assigner.logits(x).argmax(axis=1)
    )
    mean = probabilities(scaled.logits(x)).max(axis=1).mean()
    assert mean == pytest.approx(confidence, abs=0.01)
    alone = fit(x, np.zeros(len(x), dtype=np.int64), 1)
    assert calibrated(alone, x, 0.5) is alone
