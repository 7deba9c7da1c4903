"""LDA: topics as clusters, and clusters of topic shares."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie import LDA
from coterie._errors import UsageError


def test_the_largest_topic_is_the_cluster(topics) -> None:
    texts, truth = topics
    model = LDA(3, random_state=0).fit(texts)
    assert adjusted_rand_score(truth, model.labels_) > 0.85
    np.testing.assert_allclose(np.sort(model.probabilities_), np.sort(model.vectors_), atol=1e-6)
    assert [len(cluster) for cluster in model.topics_] == [1, 1, 1]


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_topics_belong_to_their_clusters(seed: int, topics, tmp_path: Path) -> None:
    texts, truth = topics
    texts, truth = texts[:60] + texts[60::3], truth[:60] + truth[60::3]  # sizes differ
    model = LDA(3, random_state=seed).fit(texts)
    for cluster in range(3):
        (words,) = model.topics_[cluster]
        kinds = np.array(truth)[model.labels_ == cluster].tolist()
        kind = max(set(kinds), key=kinds.count)
        of_kind = {
            w for text, t in zip(texts, truth, strict=True) if t == kind for w in text.split()
        }
        often = sorted(of_kind, key=lambda w: -sum(w in t for t, k in zip(texts, truth, strict=True)
                                                   if k == kind))[:10]  # fmt: skip
        assert len(set(words) & set(often)) >= 7, (words, kind)
    model.save(tmp_path / "model")
    assert coterie.load(tmp_path / "model").topics_ == model.topics_
    described = model.describe(texts)
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


def test_every_cluster_has_a_text(topics) -> None:
    for seed in range(3):
        model = LDA(12, random_state=seed).fit(topics[0])
        assert len(set(model.labels_.tolist())) == 12


def test_wrong_parameters_are_refused(topics) -> None:
    wrong = {"n_topics": 5, "topic_prior": 0.0, "max_iter": 0, "cluster": "x", "encoder": "bow"}
    for name, value in wrong.items():
        with pytest.raises(UsageError, match=name):
            LDA(3, **{name: value}).fit(topics[0])
