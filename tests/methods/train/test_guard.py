"""The start guard: sees damage, lets good results pass, never needs labels."""

from pathlib import Path

import numpy as np
import pytest

from coterie import SCCL
from coterie._util.random import derive_seed
from coterie.arrays.consensus import FLATTEN, RUNS, neighborhood, smoothed_runs
from coterie.arrays.metrics import nmi
from coterie.encoders import ViewsEncoder, load_encoder
from coterie.methods.train import fitting
from coterie.methods.train.guard import (
    Diagnostics,
    Guard,
    _reason,
    nearest_neighbors,
    neighbor_agreement,
)
from encoded import encoded


def cloud(n: int = 300, k: int = 5, spread: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    centers = rng.normal(size=(k, 16))
    return (centers[labels] + spread * rng.normal(size=(n, 16))).astype(np.float32), labels


def test_a_good_result_passes() -> None:
    x, labels = cloud()
    moved = labels.copy()
    moved[:15] = (moved[:15] + 1) % 5
    result = Guard(x, labels, 5, seed=0).judge(moved)
    assert not result.fired and result.reason == ""
    assert 0.5 < result.agreement < 1


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda labels: np.zeros_like(labels), "1 clusters are in use"),
        (lambda labels: np.minimum(labels, 1), "2 clusters are in use"),
        (lambda labels: np.where(np.arange(len(labels)) % 8, 0, labels), "size entropy fell"),
        (lambda labels: np.random.default_rng(1).permutation(labels), "neighbour agreement fell"),
    ],
)
def test_damage_is_seen_and_named(damage, reason: str) -> None:
    x, labels = cloud()
    result = Guard(x, labels, 5, seed=0).judge(damage(labels))
    assert result.fired
    assert reason in result.reason


def test_neighbor_agreement_is_one_for_pure_and_zero_for_random_or_single_clusters() -> None:
    x, labels = cloud(600, spread=0.01)
    neighbors, anchors = nearest_neighbors(x, 0)
    assert neighbor_agreement(labels, neighbors, anchors) == pytest.approx(1)
    random = np.random.default_rng(0).permutation(labels)
    assert neighbor_agreement(random, neighbors, anchors) == pytest.approx(0, abs=0.03)
    assert neighbor_agreement(np.zeros(600, dtype=int), neighbors, anchors) == 0


def test_neighbors_equal_a_full_search_and_leave_out_the_text_itself() -> None:
    x, _ = cloud(50)
    neighbors, anchors = nearest_neighbors(x, 0)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    expected = np.sort(np.argsort(-similarity, axis=1)[:, :10], axis=1)
    np.testing.assert_array_equal(np.sort(neighbors, axis=1), expected)
    np.testing.assert_array_equal(anchors, np.arange(50))


def test_large_corpora_are_sampled() -> None:
    x = np.random.default_rng(0).normal(size=(5000, 4)).astype(np.float32)
    neighbors, anchors = nearest_neighbors(x, 0)
    assert neighbors.shape == (2000, 10)
    assert len(np.unique(anchors)) == 2000


def test_one_text_is_no_problem() -> None:
    guard = Guard(np.ones((1, 3), dtype=np.float32), np.zeros(1, dtype=int), 1, seed=0)
    assert not guard.judge(np.zeros(1, dtype=int)).fired


def worded(labels: np.ndarray) -> list[str]:
    """Texts with three words of their cluster and three of any."""
    rng = np.random.default_rng(0)
    own = [[f"w{k}x{i}" for i in range(20)] for k in range(5)]
    common = [f"c{i}" for i in range(40)]
    return [" ".join([*rng.choice(own[k], 3), *rng.choice(common, 3)]) for k in labels]


def test_the_texts_see_damage_that_the_vectors_approve_of() -> None:
    x, labels = cloud(600, spread=0.01)
    rng = np.random.default_rng(1)
    start = np.where(rng.random(600) < 0.05, rng.integers(5, size=600), labels)
    damaged = np.where(rng.random(600) < 0.1, (labels + 1) % 5, labels)
    blind = Guard(x, start, 5, seed=0)
    assert blind.start.consensus_agreement is None
    assert not blind.judge(damaged).fired
    guard = Guard(x, start, 5, seed=0, texts=worded(labels))
    result = guard.judge(damaged)
    assert result.fired and "consensus" in result.reason
    assert result.final.consensus_agreement < result.start.consensus_agreement
    assert not guard.judge(labels).fired


def test_a_gain_over_a_poor_start_is_kept() -> None:
    """A start that k-means got half wrong: training that finds the rest is not thrown away."""
    x, labels = cloud(600)
    start = np.where(labels == 3, 2, labels)
    start[labels == 0] = np.where(np.arange((labels == 0).sum()) % 2, 0, 3)
    guard = Guard(x, start, 5, seed=0, texts=worded(labels))
    result = guard.judge(labels)
    assert not result.fired
    assert result.final.consensus_agreement > result.start.consensus_agreement


def test_the_agreement_is_that_with_a_consensus_clustering() -> None:
    x, labels = cloud(600)
    texts = worded(labels)
    guard = Guard(x, labels, 5, seed=0, texts=texts)
    assert guard.reference is not None and guard.reference.shape == (600,)
    assert guard.start.consensus_agreement == round(nmi(guard.reference, labels), 5) > 0.8
    assert Guard(x[:30], labels[:30], 5, seed=0, texts=texts[:30]).reference is None


def test_the_reference_is_made_from_all_views_of_a_sentence_encoder(
    tiny_encoder: Path, topics
) -> None:
    texts, labels = list(topics[0]), np.unique(topics[1], return_inverse=True)[1]
    assert len(set(texts)) == len(texts)
    encoder = load_encoder(tiny_encoder)
    noise = np.random.default_rng(0).normal(size=(len(texts), 4)).astype(np.float32)
    guard = Guard(noise, labels, 3, seed=5, texts=texts, encoder=encoder)
    views = ViewsEncoder(encoder, derive_seed(5, "guard", "n-grams"))
    views.learn(texts)
    x = encoded(views, texts)
    ones = np.ones(len(texts), dtype=np.float32)
    smoothed = neighborhood(x, 3, flatten=FLATTEN).smoothed()
    wanted, _ = smoothed_runs(x, smoothed, 3, RUNS, ones, 5)
    np.testing.assert_array_equal(guard.reference, wanted)
    without = Guard(noise, labels, 3, seed=5, texts=texts).reference
    assert nmi(guard.reference, labels) > nmi(without, labels)  # which sees noise and n-grams


def test_training_gives_the_guard_its_encoder_as_it_was(
    tiny_encoder: Path, topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    class Spy(Guard):
        def __init__(self, *args, **more) -> None:
            super().__init__(*args, **more)
            seen.append(self.reference)

    monkeypatch.setattr(fitting, "Guard", Spy)
    texts = sorted(topics[0])
    SCCL(3, encoder=tiny_encoder, steps=2, batch_size=8, random_state=0).fit(texts)
    model = SCCL(3, encoder=tiny_encoder, steps=8, batch_size=8, lr=1e-2, random_state=0).fit(texts)
    np.testing.assert_array_equal(*seen)  # before training, so its length does not matter
    ones = np.zeros(len(texts), dtype=np.int64)
    encoder = load_encoder(tiny_encoder)
    again = Guard(np.zeros((len(texts), 2)), ones, 3, 0, texts, encoder).reference
    assert nmi(seen[0], again) == pytest.approx(1) and model.guard_ is not None


def test_an_agreement_below_zero_is_no_damage() -> None:
    x = np.eye(4, dtype=np.float32)  # no text is like another, so neighbours are chance
    labels = np.array([0, 0, 1, 1])
    guard = Guard(x, labels, 2, seed=0)
    assert guard.start.neighbor_agreement < 0
    assert not guard.judge(labels).fired


@pytest.mark.parametrize(
    ("lexical", "agreement", "fires"),
    [
        ((0.50, 0.48), (0.8, 0.9), True),
        ((0.50, 0.51), (0.8, 0.5), False),  # the texts decide where there are any
        ((0.50, 0.495), (0.8, 0.8), False),
        ((None, None), (0.8, 0.5), True),
        ((None, None), (0.8, 0.7), False),
    ],
)
def test_the_texts_decide_then_the_neighbours(lexical, agreement, fires: bool) -> None:
    before, after = (
        Diagnostics(5, 1.0, near, words) for near, words in zip(agreement, lexical, strict=True)
    )
    assert bool(_reason(before, after)) is fires
