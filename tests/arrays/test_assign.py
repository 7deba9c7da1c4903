"""Rules that turn vectors into clusters: consistent, saved and restored, calibrated."""

import numpy as np
import pytest
import torch

from coterie.arrays.assign import (
    ASSIGNERS,
    CenterAssigner,
    NeighborAssigner,
    StudentTAssigner,
    probabilities,
    scale_for,
)
from coterie.methods.losses.student_t import log_assignment


def cloud(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    centers = 4 * np.eye(3, 5)
    return (centers[labels] + rng.normal(size=(n, 5))).astype(np.float32), labels


def rules() -> list:
    x, labels = cloud()
    centers = np.stack([x[labels == i].mean(axis=0) for i in range(3)])
    return [
        CenterAssigner(centers, 2.0),
        CenterAssigner(
            centers / np.linalg.norm(centers, axis=1, keepdims=True), 0.5, normalize=True
        ),
        NeighborAssigner(x, labels, 1.5),
        StudentTAssigner(centers, 2.0),
    ]


@pytest.mark.parametrize("assigner", rules(), ids=lambda assigner: assigner.kind)
def test_saving_and_restoring_gives_the_same_logits(assigner) -> None:
    again = ASSIGNERS[assigner.kind](**assigner.arrays(), **assigner.numbers())
    x, _ = cloud(20, seed=1)
    np.testing.assert_array_equal(assigner.logits(x), again.logits(x))


@pytest.mark.parametrize("assigner", rules(), ids=lambda assigner: assigner.kind)
def test_reordering_permutes_the_columns(assigner) -> None:
    x, _ = cloud(20, seed=1)
    order = np.array([2, 0, 1])
    np.testing.assert_allclose(
        assigner.reordered(order).logits(x), assigner.logits(x)[:, order], rtol=1e-5
    )


def test_center_logits_by_hand() -> None:
    assigner = CenterAssigner(np.array([[0.0, 0], [3, 4]], dtype=np.float32), 5.0)
    np.testing.assert_allclose(
        assigner.logits(np.zeros((1, 2), dtype=np.float32)), [[0, -5]], atol=1e-6
    )


def test_student_rule_is_the_assignment_of_the_head() -> None:
    x, _ = cloud(10)
    mu = x[:4]
    expected = log_assignment(torch.from_numpy(x), torch.from_numpy(mu), 3.0).exp().numpy()
    np.testing.assert_allclose(
        probabilities(StudentTAssigner(mu, 3.0).logits(x)), expected, atol=1e-5
    )


def test_training_texts_keep_their_label_under_the_neighbor_rule() -> None:
    x, labels = cloud()
    labels = np.random.default_rng(5).permutation(labels)  # a clustering that makes no sense
    assigner = NeighborAssigner(x, labels)
    np.testing.assert_array_equal(assigner.logits(x).argmax(axis=1), labels)


def test_new_vectors_go_to_the_cluster_of_the_nearest_training_text() -> None:
    x, labels = cloud()
    new, _ = cloud(30, seed=7)
    nearest = ((new[:, None] - x[None]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(
        NeighborAssigner(x, labels).logits(new).argmax(axis=1), labels[nearest]
    )


def test_a_training_text_is_no_witness_for_itself() -> None:
    x, labels = cloud()
    odd = labels.copy()
    odd[0] = 2  # in the middle of cluster 0
    surest = probabilities(NeighborAssigner(x, odd).logits(x[:1]))
    assert surest[0, 2] < 0.6  # it keeps its label, but barely


def test_a_text_alone_in_its_cluster_has_finite_logits() -> None:
    x, _ = cloud(4)
    assigner = NeighborAssigner(x, np.arange(4))
    logits = assigner.logits(x)
    assert np.isfinite(logits).all()
    np.testing.assert_array_equal(logits.argmax(axis=1), np.arange(4))
    assert assigner.calibrated(np.arange(4)) == assigner  # nobody to ask


@pytest.mark.parametrize("confidence", [0.4, 0.6, 0.95])
def test_calibration_reaches_the_confidence_asked_for(confidence: float) -> None:
    distances = np.random.default_rng(0).uniform(0, 9, size=(200, 6))
    scale = scale_for(distances, confidence)
    reached = probabilities(-distances / scale).max(axis=1).mean()
    assert reached == pytest.approx(confidence, abs=1e-3)


def test_calibration_survives_impossible_wishes() -> None:
    assert np.isfinite(scale_for(np.random.default_rng(0).uniform(size=(9, 3)), 0.0))
    assert scale_for(np.zeros((5, 2)), 0.7) == 1.0
    assert scale_for(np.ones((5, 1)), 0.7) == 1.0


def test_neighbor_calibration_is_the_share_of_texts_found_by_others() -> None:
    x, labels = cloud(90)
    assigner = NeighborAssigner(x, labels).calibrated(np.arange(90))
    distances = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    right = (labels[distances.argmin(axis=1)] == labels).mean()
    left_out, _ = assigner.distances(x)
    assert probabilities(-left_out / assigner.scale).max(axis=1).mean() == pytest.approx(
        right, abs=2e-3
    )


def test_probabilities_sum_to_one_even_for_huge_logits() -> None:
    p = probabilities(np.array([[1e4, -1e4, 0.0], [0.0, 0.0, 0.0]], dtype=np.float32))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-15)


def test_the_neighbor_rule_measures_the_same_texts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x, labels = cloud(1200)
    assigner = NeighborAssigner(x, labels)
    alone = NeighborAssigner(x, labels).calibrated(np.arange(1200))
    made, measure = [], NeighborAssigner._distances

    def counted(self: NeighborAssigner, vectors: np.ndarray) -> object:
        made.append(len(vectors))
        return measure(self, vectors)

    monkeypatch.setattr(NeighborAssigner, "_distances", counted)
    first = assigner.logits(x)
    turned = assigner.reordered(np.array([2, 0, 1])).calibrated(np.arange(1200))
    last = turned.logits(x.copy())
    assert made == [1200]
    assert turned.scale == pytest.approx(alone.scale)
    np.testing.assert_allclose(last, alone.logits(x)[:, [2, 0, 1]], atol=1e-4)
    np.testing.assert_array_equal(last.argmax(axis=1), np.array([1, 2, 0])[first.argmax(axis=1)])
    assert not np.array_equal(turned.logits(x + 1), last)  # other texts are measured anew


def test_the_sample_of_a_calibration_is_measured_alone() -> None:
    x, labels = cloud(1200)
    rows = np.arange(0, 1200, 3)
    some = NeighborAssigner(x, labels).calibrated(rows)
    whole = NeighborAssigner(x, labels)
    whole.logits(x)
    assert some.scale == pytest.approx(whole.calibrated(rows).scale, rel=1e-4)


def test_training_texts_keep_their_labels_at_any_distance_and_scale() -> None:
    """A lead of 1e-3 is lost in the digits of a logit of some ten thousands."""
    rng = np.random.default_rng(0)
    blobs = rng.normal(0, 0.1, (100, 5)) + (np.arange(100) % 2)[:, None]
    x = np.vstack([blobs, np.full((1, 5), 300.0)]).astype(np.float32)
    labels = np.append(np.arange(100) % 2, 2)
    assigner = NeighborAssigner(x, labels)
    for scale in (1e-7, 1e-3, 1.0, 1e6):
        assert (NeighborAssigner(x, labels, scale).logits(x).argmax(axis=1) == labels).all()
    calibrated = assigner.calibrated(np.arange(len(x)))
    assert (calibrated.logits(x).argmax(axis=1) == labels).all()


def test_ties_do_not_drive_the_scale_to_an_end() -> None:
    """Texts that share no word are equally distant: no scale makes an assigner sure of them."""
    x = np.eye(4, dtype=np.float32)
    labels = np.array([0, 0, 0, 1])
    found = NeighborAssigner(x, labels).calibrated(np.arange(4))
    assert (found.logits(x).argmax(axis=1) == labels).all()
    assert probabilities(found.logits(x)).max() < 0.51
    half = np.array([[0.0, 0.0, 5.0], [0.0, 3.0, 5.0], [0.0, 4.0, 5.0]])  # one of three is tied
    scale = scale_for(half, 0.99)
    assert scale > 1e-3
    assert probabilities(-half / scale).max(axis=1).mean() == pytest.approx(2.5 / 3, abs=0.01)
