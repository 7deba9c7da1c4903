"""Confidence: from agreement, not from wishful thinking."""

import numpy as np
import torch

from coterie.arrays.assign import CenterAssigner, NeighborAssigner, StudentTAssigner, probabilities
from coterie.arrays.kmeans import KMeans
from coterie.models.confidence import calibrate, split_half_agreement

CPU = torch.device("cpu")


def cloud(spread: float, n: int = 400, k: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    x = 3 * np.eye(k, 12)[labels] + spread * rng.normal(size=(n, 12))
    return x.astype(np.float32), labels


def test_agreement_is_high_for_clear_clusters_and_low_for_noise() -> None:
    clear, noise = cloud(0.1)[0], np.random.default_rng(0).normal(size=(400, 12))
    assert split_half_agreement(clear, 6, 0, CPU) > 0.8
    assert split_half_agreement(noise.astype(np.float32), 6, 0, CPU) < 0.6


def test_mean_confidence_of_centers_is_the_agreement() -> None:
    x, _ = cloud(1.0)
    assigner = calibrate(CenterAssigner(KMeans(n_clusters=6, seed=0)(x).centers), x, 0, CPU)
    agreement = split_half_agreement(x, 6, 0, CPU)
    mean = probabilities(assigner.logits(x)).max(axis=1).mean()
    assert abs(mean - agreement) < 0.01


def test_calibration_does_not_change_labels() -> None:
    x, labels = cloud(1.0)
    for assigner in (
        CenterAssigner(KMeans(n_clusters=6, seed=0)(x).centers),
        NeighborAssigner(x, labels),
    ):
        after = calibrate(assigner, x, 0, CPU)
        assert after.scale != assigner.scale
        np.testing.assert_array_equal(
            after.logits(x).argmax(axis=1), assigner.logits(x).argmax(axis=1)
        )


def test_soft_heads_keep_their_own_probabilities() -> None:
    x, _ = cloud(1.0)
    assigner = StudentTAssigner(x[:4])
    assert calibrate(assigner, x, 0, CPU) is assigner


def test_corpora_too_small_for_halves_are_fine() -> None:
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    assert 0 < split_half_agreement(x, 4, 0, CPU) <= 1
    assert calibrate(CenterAssigner(x[:1]), x, 0, CPU).scale == 1.0
