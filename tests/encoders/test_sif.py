"""SIF: weights, means and the common direction by hand; the encoder over word vectors."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from coterie import TwoStep
from coterie._errors import DataError, UsageError
from coterie.encoders import SIFEncoder, load_encoder, load_saved
from coterie.encoders.load import saved_settings
from coterie.encoders.sif import common_direction, weighted_means, without_direction, word_weights

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


TEXTS = ["red apple", "green apple apple", "fast car", "the red car", "the the"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    words = sorted({word for text in TEXTS for word in text.split()})
    lines = [" ".join([word, *map(str, rng.normal(size=4).round(3))]) for word in words]
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def loop(file: Path, a: float) -> np.ndarray:
    """Word by word from the file and the texts."""
    known = {line.split()[0]: np.array(line.split()[1:], float) for line in file.open()}
    size = np.sqrt(np.mean([np.square(v).sum() for v in known.values()]))  # as all vectors here
    every = [word for text in TEXTS for word in text.split()]
    rows = []
    for text in TEXTS:
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
    encoder.learn(TEXTS)
    items, rows = encoder.prepare(TEXTS)
    np.testing.assert_allclose(encoder.encode(items)[rows], loop(file, a), atol=1e-5)


def test_new_texts_are_treated_alike_and_unknown_words_passed_over(file: Path) -> None:
    encoder = load_encoder(f"sif:{file}")
    encoder.learn(TEXTS)
    items, rows = encoder.prepare(["red apple", "red zebra apple", "zebra"])
    assert rows[0] == rows[1] and not encoder.encode(items)[rows[2]].any()


def test_saved_and_loaded(file: Path, tmp_path: Path) -> None:
    encoder = load_encoder(f"sif:{file}")
    encoder.learn(TEXTS)
    wanted = encoder.encode(encoder.prepare(TEXTS)[0])
    encoder.save(tmp_path / "e")
    again = load_saved(tmp_path / "e", saved_settings(encoder, "auto"))
    np.testing.assert_array_equal(again.encode(again.prepare(TEXTS)[0]), wanted)
    assert again.dim == 4


def test_wrong_files_and_empty_texts_are_refused() -> None:
    with pytest.raises(UsageError, match=r"no-such\.txt"):
        TwoStep(2, encoder="sif:no-such.txt").fit(TEXTS)
    with pytest.raises(DataError, match="no text has a word"):
        load_encoder("sif").learn(["+", "="])
