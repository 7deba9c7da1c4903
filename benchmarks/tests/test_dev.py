"""The suites of the development sets, and how much scores move with seed and noise."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from coterie.arrays.metrics import accuracy, correct
from coterie_bench.data import load_data
from coterie_bench.noise import add_noise
from coterie_bench.run import Options, run_suite
from coterie_bench.score import expected_calibration_error
from coterie_bench.suites import Suite


def test_lines_hold_confidence(small: Suite, tmp_path: Path) -> None:
    from coterie_bench.run import make

    (row,) = run_suite(
        replace(small, entries=small.entries[:1]), tmp_path / "r.jsonl", Options(), seeds=[0]
    )
    data = load_data("topics", None)
    model = make(small.entries[0], data, 0, Options()).fit(data.texts)
    right = correct(data.labels, model.labels_)
    sure = model.probabilities_.max(axis=1)
    assert row["confidence"]["ece"] == pytest.approx(
        expected_calibration_error(right, sure), abs=1e-5
    )
    area = roc_auc_score(right, sure) if 0 < right.mean() < 1 else None
    assert row["confidence"]["auc"] == (None if area is None else pytest.approx(area, abs=1e-5))
    assert row["confidence"]["mean"] == pytest.approx(sure.mean(), abs=1e-5)
    assert row["confidence"]["right"] == pytest.approx(accuracy(data.labels, model.labels_))


def test_noise_has_its_size_and_depends_on_vector_and_draw_alone() -> None:
    vectors = np.random.default_rng(0).standard_normal((50, 384)).astype(np.float32) * 3
    noisy = add_noise(vectors, 1e-3, 0)
    moved = np.linalg.norm(noisy - vectors, axis=1) / np.linalg.norm(vectors, axis=1)
    assert moved.mean() == pytest.approx(1e-3, rel=0.02) and moved.max() < 1.3e-3
    np.testing.assert_array_equal(add_noise(vectors[::-1], 1e-3, 0)[::-1], noisy)
    assert not np.array_equal(add_noise(vectors, 1e-3, 1), noisy)
    directions = (noisy - vectors)[0] @ (noisy - vectors)[1]
    assert abs(directions) < 0.3 * np.linalg.norm((noisy - vectors)[0]) ** 2
