"""LDA: shares as clusters, and the method."""

from pathlib import Path

import numpy as np
import pytest
from conftest import TOPICS
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.arrays.assign import make_assigner, probabilities
from coterie_bench.baselines.lda import LDA, ShareAssigner, fair_handicap


def test_shares_are_the_probabilities() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(4), size=6)
    assigner = ShareAssigner(np.zeros(4), np.arange(4))
    np.testing.assert_allclose(probabilities(assigner.logits(shares)), shares)
    order = np.array([3, 1, 0, 2])
    moved = assigner.reordered(order)
    np.testing.assert_allclose(probabilities(moved.logits(shares)), shares[:, order])
    again = make_assigner(
        moved.arrays(), {"kind": moved.kind, **moved.numbers()}, {"shares": ShareAssigner}
    )
    np.testing.assert_array_equal(again.logits(shares), moved.logits(shares))


def test_by_hand() -> None:
    # Nobody's largest topic is the third; the second text lacks least: 0.5 against 0.4.
    shares = np.array([[0.9, 0.05, 0.05], [0.5, 0.1, 0.4], [0.1, 0.8, 0.1]])
    handicap = fair_handicap(shares)
    np.testing.assert_allclose(handicap, [0, 0, np.log(0.5 / 0.4)], atol=1e-5)
    assigner = ShareAssigner(handicap, np.arange(3))
    assert assigner.logits(shares).argmax(axis=1).tolist() == [0, 2, 1]


def test_every_topic_gets_a_text_and_none_is_raised_without_need() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        shares = rng.dirichlet(np.full(8, 0.1), size=30)
        handicap = fair_handicap(shares)
        labels = (np.log(np.maximum(shares, 1e-30)) + handicap).argmax(axis=1)
        assert len(set(labels.tolist())) == 8
        used = set(shares.argmax(axis=1).tolist())
        if len(used) == 8:
            assert not handicap.any()


def test_texts_that_cannot_be_told_apart_stay_together() -> None:
    shares = np.tile([[0.9, 0.1]], (3, 1))
    assert np.isfinite(fair_handicap(shares)).all()
    assert np.isfinite(
        ShareAssigner(np.zeros(2), np.arange(2)).logits(np.array([[1.0, 0.0]]))
    ).all()


def test_the_largest_topic_is_the_cluster(topics) -> None:
    texts, truth = topics
    model = LDA(3, random_state=0).fit(texts)
    assert adjusted_rand_score(truth, model.labels_) > 0.85
    np.testing.assert_allclose(np.sort(model.probabilities_), np.sort(model.vectors_), atol=1e-6)
    assert [len(cluster) for cluster in model.topics_] == [1, 1, 1]


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_topics_belong_to_their_clusters(seed: int, topics, tmp_path: Path) -> None:
    texts, truth = topics
    texts, truth = texts[:60] + texts[60::3], truth[:60] + truth[60::3]  # sizes differ
    model = LDA(3, random_state=seed).fit(texts)
    for cluster in range(3):
        (words,) = model.topics_[cluster]
        kinds = np.array(truth)[model.labels_ == cluster].tolist()
        kind = max(set(kinds), key=kinds.count)
        assert len(set(words) & set(TOPICS[kind])) >= 7, (words, kind)
    model.save(tmp_path / "model")
    assert coterie.load(tmp_path / "model").topics_ == model.topics_
    described = coterie.describe_clusters(texts, model.labels_, topics=model.topics_)
    assert [cluster.topics for cluster in described] == model.topics_


@pytest.mark.parametrize("cluster", ["kmeans", "ward"])
def test_shares_are_clustered(cluster: str, topics) -> None:
    texts, truth = topics
    model = LDA(3, cluster=cluster, random_state=0).fit(texts)
    assert model.vectors_.shape == (90, 6)  # twice as many topics as clusters
    assert adjusted_rand_score(truth, model.labels_) > 0.6
    assert [len(found) for found in model.topics_] == [3, 3, 3]
    own = model.vectors_[model.labels_ == 0].mean(axis=0)
    assert model.topics_[0][0] == model.encoder_.top_words(10)[int(own.argmax())]
    free = LDA(3, cluster=cluster, n_topics=4, random_state=0).fit(texts)
    assert free.vectors_.shape == (90, 4)
