"""Smooth inverse frequency: against loops, by hand, and what is taken out."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from coterie.blocks.sif import common_direction, weighted_means, without_direction, word_weights

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.7, size=(9, 6)).astype(np.float32)
COUNTS[4] = 0
VECTORS = RNG.normal(size=(6, 5))


def loop_sif(counts: np.ndarray, vectors: np.ndarray, a: float) -> np.ndarray:
    """Word by word, text by text, as Algorithm 1 of the paper has it."""
    total = counts.sum()
    rows = []
    for text in counts:
        row = np.zeros(vectors.shape[1])
        for word, times in enumerate(text):
            for _ in range(int(times)):
                p = counts[:, word].sum() / total
                row += a / (a + p) * vectors[word]
        rows.append(row / text.sum() if text.sum() else row)
    x = np.array(rows)
    u = np.linalg.svd(x)[2][0]
    return np.array([row - u * (u @ row) for row in x])


@pytest.mark.parametrize("a", [1e-3, 0.1])
def test_equals_the_loop(a: float) -> None:
    weights = word_weights(COUNTS.sum(axis=0), a)
    means = weighted_means(csr_matrix(COUNTS), VECTORS, weights)
    found = without_direction(means, common_direction(means))
    np.testing.assert_allclose(found, loop_sif(COUNTS, VECTORS, a), atol=1e-6)


def test_by_hand() -> None:
    # p = 1/4 and 3/4; with a = 1/4 the weights are 1/2 and 1/4.
    weights = word_weights(np.array([1.0, 3.0]), 0.25)
    np.testing.assert_allclose(weights, [0.5, 0.25])
    bags = csr_matrix(np.array([[1.0, 1.0]]))
    means = weighted_means(bags, np.array([[4.0, 0.0], [0.0, 8.0]]), weights)
    np.testing.assert_allclose(means, [[1.0, 1.0]])  # (2 + 0) / 2, (0 + 2) / 2
    assert abs(without_direction(means, common_direction(means))).max() < 1e-6  # nothing else


def test_what_is_taken_out_is_gone_and_the_rest_stays() -> None:
    x = RNG.normal(size=(20, 4)) + 3
    u = common_direction(x)
    assert np.linalg.norm(u) == pytest.approx(1)
    rest = without_direction(x, u)
    np.testing.assert_allclose(rest @ u, 0, atol=1e-5)
    np.testing.assert_allclose(without_direction(rest, u), rest, atol=1e-5)
    assert np.linalg.norm(rest) < np.linalg.norm(x)


def test_texts_without_a_word_are_zero_and_so_is_the_direction_of_nothing() -> None:
    assert not common_direction(np.zeros((3, 2))).any()
    means = weighted_means(csr_matrix(COUNTS), VECTORS, np.ones(6))
    assert not means[4].any()
