"""HAC-SD: its parts put together."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from coterie import HACSD
from coterie._errors import UsageError
from coterie.blocks.kept_pairs import kept_pairs


def cloud(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 4
    x = 3 * np.eye(4, 7)[truth] + rng.normal(size=(n, 7)) + 0.5
    return x.astype(np.float32), truth


def test_is_average_linkage_on_the_sparse_matrix() -> None:
    x, _ = cloud()
    pairs = kept_pairs(x, 4, np.ones(80), 2.0)
    s = np.zeros((80, 80))
    s[pairs.first, pairs.second] = s[pairs.second, pairs.first] = pairs.similarities
    tree = linkage(squareform(1 - s - np.eye(80), checks=False), "average")
    assert tree[-4:, 2].max() < 1  # all parts are joined above zero
    model = HACSD(4, encoder="precomputed", kept_factor=2.0, random_state=0).fit(x)
    assert adjusted_rand_score(fcluster(tree, 4, "maxclust"), model.labels_) == 1


def test_parts_without_a_pair_are_joined_by_their_means() -> None:
    rng = np.random.default_rng(0)
    angles = np.repeat([0.0, 0.15, 1.4], 20) + rng.normal(scale=0.01, size=60)
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    model = HACSD(2, encoder="precomputed", kept_factor=0.05, random_state=0).fit(x)
    assert adjusted_rand_score(np.repeat([0, 0, 1], 20), model.labels_) == 1


@pytest.mark.parametrize("classify", ["words", "vectors"])
def test_classification_mends_clusters(classify: str, topics, monkeypatch) -> None:
    monkeypatch.setattr("coterie.blocks.iterative.TREES", 20)
    texts, truth = topics
    numbers = np.unique(truth, return_inverse=True)[1]
    wrong = np.where(np.arange(90) % 7 == 0, (numbers + 1) % 3, numbers)
    monkeypatch.setattr(HACSD, "_linked", lambda self, vectors, weights: wrong.copy())
    settings = {"encoder": "tfidf", "classify": classify, "random_state": 0}
    model = HACSD(3, iterations=5, **settings).fit(texts)
    plain = HACSD(3, **settings).fit(texts)
    assert len(model.distinct_vectors_) == 90
    scores = [adjusted_rand_score(truth, labels) for labels in (plain.labels_, model.labels_)]
    assert scores[0] < 0.7 and scores[1] > 0.9
    assert not hasattr(model, "_texts")


def test_the_words_are_what_the_classifier_sees(topics, monkeypatch) -> None:
    seen = []

    def note(x, labels, *rest):
        seen.append(x.shape)
        return labels

    monkeypatch.setattr("coterie.methods.hac_sd.iterative_classification", note)
    texts = topics[0]
    HACSD(3, encoder="tfidf-svd", iterations=1, random_state=0).fit(texts)
    model = HACSD(3, encoder="tfidf-svd", iterations=1, classify="vectors", random_state=0)
    model.fit(texts)
    assert seen[0] == (len(set(texts)), 30)  # the thirty words of the topics
    assert seen[1] == model.distinct_vectors_.shape


@pytest.mark.parametrize(
    "wrong", [{"classify": "letters"}, {"iterations": -1}, {"kept_factor": 0.0}]
)
def test_wrong_parameters_are_refused(wrong: dict) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        HACSD(2, encoder="tfidf", **wrong).fit(["a cat", "the dog"])
