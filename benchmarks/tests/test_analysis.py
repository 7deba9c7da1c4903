"""What training did: indices per stage, pairs before and after, and ranks by hand."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from coterie import ClusterBERT
from coterie.arrays.metrics import accuracy, nmi
from coterie_bench.analysis import (
    average_precision,
    cluster_distances,
    reciprocal_rank,
    stage_indices,
)

FAST = {"batch_size": 30, "lr": 1e-3, "head_lr": 1e-2, "random_state": 0, "guard": False}


@pytest.fixture(scope="module")
def model(tiny_encoder: Path, topics) -> ClusterBERT:
    return ClusterBERT(3, encoder=str(tiny_encoder), record_stages=True, **FAST).fit(topics[0])


def test_ranks_by_hand() -> None:
    # Order by score: c (right), a (wrong), d (right), b (right): precisions 1/1, 2/3, 3/4.
    scores, right = [0.8, 0.1, 0.9, 0.5], [0, 1, 1, 1]
    assert average_precision(scores, right) == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    assert reciprocal_rank(scores, right) == 1
    assert reciprocal_rank([0.3, 0.2, 0.1], [0, 0, 1]) == pytest.approx(1 / 3)
    assert average_precision([0.3, 0.2], [1, 1]) == 1
    assert np.isnan(average_precision([0.3], [0])) and np.isnan(reciprocal_rank([0.3], [0]))


def test_average_precision_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, right = rng.normal(size=12), rng.integers(2, size=12)
        right[3] = 1
        expected = average_precision_score(right, scores)
        assert average_precision(scores, right) == pytest.approx(expected)


def test_stage_indices_score_the_labels_of_each_stage(model: ClusterBERT, topics) -> None:
    scored = stage_indices(model, topics[1])
    assert [row["stage"] for row in scored] == [
        "start", "adapt", "cluster-1", "cluster-2", "harden",
    ]  # fmt: skip
    for row, stage in zip(scored, model.stages_, strict=True):
        assert row["nmi"] == pytest.approx(nmi(topics[1], stage["labels"]))
        assert row["acc"] == pytest.approx(accuracy(topics[1], stage["labels"]))


def test_cluster_distances_by_hand() -> None:
    # Centroids (0,1), (6,1), (6,9); texts are 1 away; nearest others 6, 6 and 8 away.
    x = np.array([[0.0, 0], [0, 2], [6, 0], [6, 2], [6, 8], [6, 10]])
    found = cluster_distances(x, [0, 0, 1, 1, 2, 2])
    assert found["intra"] == pytest.approx(1)
    assert found["inter"] == pytest.approx((6 + 6 + 8) / 3)
