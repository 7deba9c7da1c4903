"""SIF and topics of LDA against loops and scikit-learn, and saved."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

from coterie_bench.baselines.encoders import (
    SIFEncoder,
    TopicShares,
    common_direction,
    mean_vectors,
    without_direction,
    word_weights,
)
from encoded import encoded

TEXTS = ["red apple pie", "green apple", "fast red car", "green apple", "car car car", "!"]
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.7, size=(9, 6)).astype(np.float32)
COUNTS[4] = 0
VECTORS = RNG.normal(size=(6, 5))


def test_shares_equal_scikit_learn(topics) -> None:
    texts, _ = topics
    encoder = TopicShares(3, seed=5, max_iter=8)
    encoder.learn(texts)
    counts = CountVectorizer().fit_transform(texts)
    model = LatentDirichletAllocation(
        3, doc_topic_prior=0.1, max_iter=8, learning_method="batch", random_state=5
    )
    wanted = model.fit(counts).transform(counts)
    np.testing.assert_allclose(encoded(encoder, texts), wanted, atol=1e-4)


def test_by_hand() -> None:
    # p = 1/4 and 3/4; with a = 1/4 the weights are 1/2 and 1/4.
    weights = word_weights(np.array([1.0, 3.0]), 0.25)
    np.testing.assert_allclose(weights, [0.5, 0.25])
    bags = csr_matrix(np.array([[1.0, 1.0]]))
    means = mean_vectors(bags, weights[:, None] * np.array([[4.0, 0.0], [0.0, 8.0]]))
    np.testing.assert_allclose(means, [[1.0, 1.0]])  # (2 + 0) / 2, (0 + 2) / 2
    assert abs(without_direction(means, common_direction(means))).max() < 1e-6  # nothing else


SIF_TEXTS = ["red apple", "green apple apple", "fast car", "the red car", "the the"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    words = sorted({word for text in SIF_TEXTS for word in text.split()})
    lines = [" ".join([word, *map(str, rng.normal(size=4).round(3))]) for word in words]
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def loop(file: Path, a: float) -> np.ndarray:
    """Word by word from the file and the texts."""
    known = {line.split()[0]: np.array(line.split()[1:], float) for line in file.open()}
    size = np.sqrt(np.mean([np.square(v).sum() for v in known.values()]))  # as all vectors here
    every = [word for text in SIF_TEXTS for word in text.split()]
    rows = []
    for text in SIF_TEXTS:
        words = text.split()
        weights = [a / (a + every.count(word) / len(every)) for word in words]
        parts = [w * known[word] / size for w, word in zip(weights, words, strict=True)]
        rows.append(np.sum(parts, axis=0) / len(words))
    x = np.array(rows)
    u = np.linalg.svd(x)[2][0]
    return x - np.outer(x @ u, u)


@pytest.mark.parametrize("a", [1e-3, 0.1])
def test_vectors_equal_the_loop(file: Path, a: float) -> None:
    encoder = SIFEncoder(file, a=a)
    encoder.learn(SIF_TEXTS)
    np.testing.assert_allclose(encoded(encoder, SIF_TEXTS), loop(file, a), atol=1e-5)
